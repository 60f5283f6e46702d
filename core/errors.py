"""The errors that a user may see: what was wrong, where, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.text import one_line

LONGEST_MESSAGE = 1_000
"""Characters of a message, and of a hint."""
LONGEST_REASON = 500
"""Characters of what is said of a line of a file."""
LONGEST_FILE = 200
"""Characters of a file's name in what is said of its lines."""


@dataclass(frozen=True)
class Problem:
    """One refused or noteworthy line of a file; what it quotes is cut, and put on one line.

    Args:
        file: name of the file as the user knows it.
        line: line number from 1, or None where the problem is the whole file.
        reason: what is wrong, as a sentence without a full stop.
    """

    file: str
    line: int | None
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
        message: what was wrong and where, one sentence; a full stop is added where it has none, since the hint
            follows it.
        hint: what to do about it, one sentence; empty where nothing helps.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        message = one_line(message, LONGEST_MESSAGE)
        super().__init__(message)
        self.message = message if message.endswith((".", "!", "?")) else f"{message}."
        self.hint = one_line(hint, LONGEST_MESSAGE)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class InputError(WorkbenchError):
    """Input that cannot be used: a file, an argument, a value. Nothing was changed."""


class FileError(InputError):
    """A file that was refused, with the lines that were the reason.

    Args:
        problems: at least one problem, in file order.
        hint: what to do about it.
        more: number of further problems that are not listed.
    """

    def __init__(self, problems: Sequence[Problem], hint: str = "", more: int = 0) -> None:
        rest = len(problems) - 1 + more
        message = str(problems[0]) + (f" (and {rest} more)" if rest else "")
        super().__init__(message, hint)
        self.problems = tuple(problems)
        self.more = more


class ProjectError(WorkbenchError):
    """A project file that cannot be opened, upgraded or written."""


class EngineError(ProjectError):
    """The database engine gave up in the middle of work that could not be repeated; the project is open again."""


class GradingError(WorkbenchError):
    """A grader or a grading job that cannot go on."""
