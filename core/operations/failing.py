"""The report of a failed operation: one line on stderr, and the exit code of the shell."""

from __future__ import annotations

import errno

import duckdb

from ..errors import LONGEST_MESSAGE, InputError, WorkbenchError
from ..store import no_room
from ..text import one_line
from .console import tell

_UNUSABLE = (errno.ENAMETOOLONG, errno.EACCES, errno.ELOOP)
"""Errors of the system for impossible or inaccessible file names."""


def as_workbench_error(error: BaseException) -> WorkbenchError | None:
    """Return the error to show in place of an exception; None if the exception is a fault of the program."""
    if isinstance(error, WorkbenchError):
        return error
    if not isinstance(error, OSError | duckdb.Error):
        return None
    if full := no_room("the project", error):
        return full
    if not isinstance(error, OSError) or error.errno not in _UNUSABLE or error.filename is None:
        return None
    return InputError("unusable-name", one_line(f"{error.filename}: {error.strerror}.", LONGEST_MESSAGE))


def tell_failure(error: BaseException) -> int:
    """Print why an operation failed.

    Returns:
        The exit code: 1 if the work failed, 2 for bad input.

    Raises:
        BaseException: the same error, if it is a fault of the program.
    """
    if isinstance(error, KeyboardInterrupt):
        tell("exam: stopped.")
        return 1
    known = as_workbench_error(error)
    if known is None:
        raise error
    tell(f"exam: {known}")
    return 2 if isinstance(known, InputError) else 1
