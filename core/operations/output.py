"""The result of an operation: a JSON object, and the same as lines, tables and notes for people; or
its failure.
"""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import duckdb

from ..errors import LONGEST_MESSAGE, InputError, WorkbenchError
from ..store import no_room
from ..text import one_line
from .console import print_json, print_message, print_text, table_lines

Part = Literal["text", "table", "note"]


@dataclass(eq=False)
class Output:
    """The result of an operation: one JSON object, or its parts in the order in which they were
    added.

    Args:
        value: the JSON object.
    """

    value: Any = None
    failure: WorkbenchError | None = field(default=None, init=False)
    _parts: list[tuple[Part, Iterable[str]]] = field(default_factory=list, init=False)

    def text(self, text: str) -> Self:
        """Add a text that has its own line ends, such as a CSV file."""
        self._parts.append(("text", [text]))
        return self

    def line(self, text: str = "") -> Self:
        """Add a line."""
        return self.text(f"{text}\n")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Self:
        """Add rows in columns. An empty line separates a table from a table directly before it."""
        if self._parts and self._parts[-1][0] == "table":
            self.line()
        self._parts.append(("table", table_lines(header, rows)))
        return self

    def note(self, *texts: str | None) -> Self:
        """Add lines on stderr, so that stdout has only the results. Empty texts are left out."""
        self._parts.append(("note", [f"{text}\n" for text in texts if text]))
        return self

    def failing(self, failure: WorkbenchError | None) -> Self:
        """Make the operation fail after its result is printed."""
        self.failure = failure
        return self

    def print(self, as_json: bool) -> None:
        """Print the JSON object if there is one, or all parts.

        Raises:
            WorkbenchError: the operation failed.
        """
        if as_json:
            if self.value is not None:
                print_json(self.value)
        else:
            for part, texts in self._parts:
                for text in texts:
                    print_text(text, "error" if part == "note" else "output")
        if self.failure is not None:
            raise self.failure


class TextOutput(Output):
    """The result of an operation that has no JSON object."""


def print_result(result: Any, as_json: bool) -> None:
    """Print the result of an operation: an `Output`, or a text for stderr.

    Raises:
        WorkbenchError: the operation failed.
    """
    if isinstance(result, Output):
        result.print(as_json)
    elif result is not None:
        print_message(result)


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def at_most_one(**options: str) -> Decorator:
    """Refuse a combination of parameters that exclude each other.

    Args:
        options: names of options as people write them, by names of parameters.
    """
    *first, last = options.values()
    said = f"{', '.join(first)} and {last} cannot be combined."
    return _limit_options(range(2), options, "options-exclude-each-other", said, "Use one of them.")


def exactly_one(code: str, hint: str, **options: str) -> Decorator:
    """Refuse a request that has several or none of some parameters.

    Args:
        code, hint: of the error.
        options: as in `at_most_one`.
    """
    return _limit_options(
        (1,), options, code, f"Exactly one of {' and '.join(options.values())} is needed.", hint
    )


def _limit_options(numbers: Collection[int], options: Collection[str], *error: str) -> Decorator:
    def with_check(operation: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(operation)
        def check_first(*args: Any, **given: Any) -> Any:
            values = [given[name] for name in options]
            if (
                sum(value is not None and value is not False and value != () for value in values)
                not in numbers
            ):
                raise InputError(*error)
            return operation(*args, **given)

        return check_first

    return with_check


_UNUSABLE = (errno.ENAMETOOLONG, errno.EACCES, errno.ELOOP)
"""Errors of the system for impossible or inaccessible file names."""


def as_workbench_error(error: BaseException) -> WorkbenchError | None:
    """Return the error to show in place of an exception; None if the exception is a fault of the
    program.
    """
    if isinstance(error, WorkbenchError):
        return error
    if not isinstance(error, OSError | duckdb.Error):
        return None
    if full := no_room("the project", error):
        return full
    if not isinstance(error, OSError) or error.errno not in _UNUSABLE or error.filename is None:
        return None
    return InputError(
        "unusable-name", one_line(f"{error.filename}: {error.strerror}.", LONGEST_MESSAGE)
    )


def print_failure(error: BaseException) -> int:
    """Print why an operation failed.

    Returns:
        The exit code: 1 if the work failed, 2 for bad input.

    Raises:
        BaseException: the same error, if it is a fault of the program.
    """
    if isinstance(error, KeyboardInterrupt):
        print_message("exam: stopped.")
        return 1
    known = as_workbench_error(error)
    if known is None:
        raise error
    print_message(f"exam: {known}")
    return 2 if isinstance(known, InputError) else 1
