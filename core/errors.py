"""The errors that a user may see: what was wrong, where, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .text import first_few, one_line

LONGEST_MESSAGE = 1_000
"""Characters of a message, and of a hint."""
LONGEST_REASON = 500
"""Characters of what is said of a line of a file."""
MOST_NAMES = 15
"""Names that the error for an unknown name lists."""
LONGEST_FILE = 200
"""Characters of a file's name in what is said of its lines."""
UNENDED = "the last line has no line end, so the file may be cut off"


@dataclass(frozen=True)
class Problem:
    """One refused or noteworthy line of a file; what it quotes is cut, and put on one line.

    Args:
        file: name of the file as the user knows it.
        line: line number from 1, or None where the problem is the whole file.
        code: the stable name of the kind of problem, in kebab-case.
        reason: what is wrong, as a sentence without a full stop.
    """

    file: str
    line: int | None
    code: str
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "file", one_line(self.file, LONGEST_FILE))
        object.__setattr__(self, "reason", one_line(self.reason, LONGEST_REASON))

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.reason}"


class WorkbenchError(Exception):
    """Base of every error that is shown to a user; whatever it quotes, it is one line and of bounded length.

    Args:
        code: the stable name of the kind of problem, in kebab-case. Programs and tests rely on it, not on the message.
        message: what was wrong and where, one sentence; a full stop is added where it has none, since the hint
            follows it.
        hint: what to do about it, one sentence; empty where nothing helps.
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        message, hint = one_line(message, LONGEST_MESSAGE), one_line(hint, LONGEST_MESSAGE)
        super().__init__(code, message, hint)
        self.code = code
        self.message = message if message.endswith((".", "!", "?")) else f"{message}."
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class InputError(WorkbenchError):
    """Input that cannot be used: a file, an argument, a value. Nothing was changed."""


def unknown_name(
    code: str,
    kind: str,
    value: object,
    available: Iterable[object],
    hint: str = "",
    *,
    error: type[WorkbenchError] = InputError,
) -> WorkbenchError:
    """Return the error for a name that does not exist: "Unknown run 'x'. Available: a, b, c."

    Args:
        code: as for every error.
        kind: the kind of thing that was named, in the singular: "run".
        value: the name that was given.
        available: the names that exist; at most `MOST_NAMES` of them are listed.
        hint: what else to do, a sentence; the only fix if no name exists.
        error: the class of the error.
    """
    names = list(available)
    listed = f"Available: {first_few(names, most=MOST_NAMES)}." if names else ""
    return error(code, f"Unknown {kind} '{value}'", f"{listed} {hint}".strip())


class FileError(InputError):
    """A file that was refused, with the lines that were the reason; its code is that of the first problem.

    Args:
        problems: at least one problem, in file order.
        hint: what to do about it.
        more: number of further problems that are not listed.
    """

    def __init__(self, problems: Sequence[Problem], hint: str = "", more: int = 0) -> None:
        rest = len(problems) - 1 + more
        message = str(problems[0]) + (f" (and {rest} more)" if rest else "")
        super().__init__(problems[0].code, message, hint)
        self.problems = tuple(problems)
        self.more = more


class ProjectError(WorkbenchError):
    """A project file that cannot be opened, upgraded or written."""


class EngineError(ProjectError):
    """The database engine gave up in the middle of work that could not be repeated; the project is open again."""


class NotAllowed(WorkbenchError):
    """An act that the role of whoever is logged in does not include. Nothing was changed, and nothing shown."""


class GradingError(WorkbenchError):
    """A grader or a grading job that cannot go on."""


KEPT = 100


class Report:
    """What was refused and what was remarkable in files, gathered while they are read.

    `problems` holds the first 100 refusals in file order and `count` the number of all of them.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.count = 0
        self._refused: set[str] = set()
        self._remarks: dict[tuple[str, str, str], tuple[int | None, int]] = {}

    def refuse(self, file: str, line: int | None, code: str, reason: str) -> None:
        """Record that a line (None: the whole file) cannot be used."""
        self.count += 1
        self._refused.add(file)
        if len(self.problems) < KEPT:
            self.problems.append(Problem(file, line, code, reason))

    def require(self, found: object, file: str, what: str) -> None:
        """Refuse a file in which nothing was found, unless something in it was refused already."""
        if not found and file not in self._refused:
            self.refuse(file, None, "nothing-found", f"the file contains no {what}")

    def stop(self, file: str, line: int, code: str, reason: str) -> None:
        """Record why a file is read no further: that is told, however much was refused before."""
        self.refuse(file, line, code, reason)
        self.problems[-1] = Problem(file, line, code, reason)

    def remark(self, file: str, line: int | None, code: str, reason: str, times: int = 1) -> None:
        """Record something understood but worth telling; equal reasons in a file become one note.

        Args:
            file: name of the file as the user knows it.
            line: where it happened (first), or None for the whole file.
            code: as for a problem.
            reason: a sentence without a full stop that is the same for every such line.
            times: how often it happened.
        """
        key = (file, code, reason)
        if key in self._remarks:
            first, before = self._remarks[key]
            self._remarks[key] = (first, before + times)
        elif len(self._remarks) < KEPT:
            self._remarks[key] = (line, times)

    def whole(self, file: str) -> None:
        """Take back that the last line has no end: a JSON document ends with its bracket, whatever follows."""
        self._remarks.pop((file, "no-line-end", UNENDED), None)

    @property
    def notes(self) -> list[Problem]:
        """One note per file and kind of thing, with its first line and how often it occurred."""
        return [
            Problem(file, line, code, reason if times == 1 else f"{reason} ({times} times, first here)")
            for (file, code, reason), (line, times) in self._remarks.items()
        ]

    def raise_if_refused(self, hint: str = "") -> None:
        """Raise FileError with the kept problems where anything was refused.

        Raises:
            FileError: at least one line or file was refused.
        """
        if self.problems:
            raise FileError(self.problems, hint, self.count - len(self.problems))
