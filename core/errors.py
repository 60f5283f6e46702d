"""Errors that are shown to users: the problem, the offending value and the fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .text import first_few, one_line

LONGEST_MESSAGE = 1_000
"""Maximum number of characters of a message, and of a hint."""
LONGEST_REASON = 500
"""Maximum number of characters of a problem's reason."""
MOST_NAMES = 15
"""Number of existing names that the error for an unknown name lists."""
LONGEST_FILE = 200
"""Maximum number of characters of a file's name in a problem."""
UNENDED = "the last line has no line end, so the file may be cut off"


@dataclass(frozen=True)
class Problem:
    """One refused or noteworthy line of a file. Quoted text is cut and put on one line.

    Args:
        file: name of the file as the user knows it.
        line: line number from 1, or None if the problem is the whole file.
        code: the stable name of the kind of problem, in kebab-case.
        reason: the problem, as a sentence without a full stop.
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
    """Base of every error that is shown to a user. Message and hint are one line each, of bounded
    length.

    Args:
        code: the stable name of the kind of problem, in kebab-case. Programs and tests rely on it,
            not on the message.
        message: the problem and its place, one sentence. A full stop is added if it is missing,
            because the hint follows.
        hint: the fix, one sentence; empty if nothing helps.
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
    """Input that cannot be used: a file, an argument, a value. No data was changed."""


def unknown_name(
    code: str,
    kind: str,
    value: object,
    available: Iterable[object],
    hint: str = "",
) -> InputError:
    """Return the error for a name that does not exist: "Unknown run 'x'. Available: a, b, c."

    Args:
        code: as in `WorkbenchError`.
        kind: the kind of name, in the singular: "run".
        value: the unknown name.
        available: the names that exist; at most `MOST_NAMES` of them are listed.
        hint: a further fix, one sentence; the only one if no name exists.
    """
    names = list(available)
    listed = f"Available: {first_few(names, most=MOST_NAMES)}." if names else ""
    return InputError(code, f"Unknown {kind} '{value}'", f"{listed} {hint}".strip())


def check_known(
    code: str,
    kind: str,
    available: Iterable[object],
    *values: object,
    hint: str = "",
) -> None:
    """Raise `unknown_name` for the first value that is not available; None stands for a value that
    is not given.
    """
    names = list(available)
    for value in values:
        if value is not None and value not in names:
            raise unknown_name(code, kind, value, names, hint)


def check_in_range(code: str, what: str, hint: str, allowed: bool) -> None:
    """Raise the error for a number out of range: "Depth 0 is out of range. Use 1 or more."

    Args:
        code: as in `WorkbenchError`.
        what: the kind of number with its value: "Depth 0".
        hint: the range, one sentence.
        allowed: whether the number is in its range.

    Raises:
        InputError: the number is not allowed.
    """
    if not allowed:
        raise InputError(code, f"{what} is out of range.", hint)


def check_rules(*rules: tuple[bool, WorkbenchError]) -> None:
    """Refuse input or an action that breaks a rule.

    Args:
        rules: whether it is broken, and the error.

    Raises:
        WorkbenchError: the error of the first broken rule.
    """
    for is_broken, error in rules:
        if is_broken:
            raise error


def check_not_empty(code: str, message: str, hint: str, text: str) -> str:
    """Return a text, such as a name that a person typed.

    Args:
        code, message, hint: as in `WorkbenchError`.
        text: without white space at its ends.

    Raises:
        InputError: the text is empty.
    """
    if not text:
        raise InputError(code, message, hint)
    return text


class FileError(InputError):
    """A refused file with the lines that caused the refusal; its code is that of the first problem.

    Args:
        problems: at least one problem, in file order.
        hint: the fix.
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
    """The database engine failed during work that cannot be repeated. The project is open again."""


class NotAllowed(WorkbenchError):
    """The role of the person or token does not allow this action. No data was changed or shown."""


class GradingError(WorkbenchError):
    """A grader or a grading job that cannot continue."""


KEPT = 100


@dataclass(eq=False)
class Report:
    """The refusals and remarks about files, gathered while they are read.

    `problems` holds the first 100 refusals in file order; `count` is the number of all refusals.
    """

    problems: list[Problem] = field(default_factory=list, init=False)
    count: int = field(default=0, init=False)
    _refused: set[str] = field(default_factory=set, init=False)
    _remarks: dict[tuple[str, str, str], tuple[int | None, int]] = field(
        default_factory=dict, init=False
    )

    def refuse(self, file: str, line: int | None, code: str, reason: str) -> None:
        """Record that a line (None: the whole file) cannot be used."""
        self.count += 1
        self._refused.add(file)
        if len(self.problems) < KEPT:
            self.problems.append(Problem(file, line, code, reason))

    def require(self, content: object, file: str, what: str) -> None:
        """Refuse a file if `content` is empty, unless the file has a refusal already."""
        if not content and file not in self._refused:
            self.refuse(file, None, "nothing-found", f"the file contains no {what}")

    def stop(self, file: str, line: int, code: str, reason: str) -> None:
        """Record why reading of a file stopped. This reason replaces the last problem if the list
        is full.
        """
        self.refuse(file, line, code, reason)
        self.problems[-1] = Problem(file, line, code, reason)

    def remark(self, file: str, line: int | None, code: str, reason: str, times: int = 1) -> None:
        """Record a line that was understood but is worth mentioning; equal reasons in a file become
        one note.

        Args:
            file: name of the file as the user knows it.
            line: the first such line, or None for the whole file.
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
        """Withdraw the remark about a missing last line end, since a JSON document ends with its
        closing bracket.
        """
        self._remarks.pop((file, "no-line-end", UNENDED), None)

    @property
    def notes(self) -> list[Problem]:
        """One note per file and reason, with its first line and its number of occurrences."""
        return [
            Problem(
                file, line, code, reason if times == 1 else f"{reason} ({times} times, first here)"
            )
            for (file, code, reason), (line, times) in self._remarks.items()
        ]

    def raise_if_refused(self, hint: str = "") -> None:
        """Raise the kept problems if there are any.

        Raises:
            FileError: at least one line or file was refused.
        """
        if self.problems:
            raise FileError(self.problems, hint, self.count - len(self.problems))
