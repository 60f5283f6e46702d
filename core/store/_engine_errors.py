"""Errors of DuckDB, translated to messages with a fix."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ..atomic_files import FULL, full_disk
from ..errors import ProjectError
from ._file_holder import Holder, holder, is_held

_VERSION_AT, _VERSION_LENGTH = 52, 32  # position and length of DuckDB's version in a file header
_HEADER = 4096
_SHARING_VIOLATION = 32
"""Windows' error code for a file that another process has open."""
_MAGIC_AT, _MAGIC = 8, b"DUCK"

_FOREIGN = (
    (0, b"SQLite format 3\0", "a SQLite database"),
    (0, b"PAR1", "a Parquet file"),
    (0, b"PK\x03\x04", "a zip file"),
    (0, b"\x1f\x8b", "a gzip file"),
)
"""Offset, signature and name of other kinds of files."""

NAME_ANOTHER = "Name the .duckdb file of a project. Use exam import for other files."
_BRING_BACK = (
    "Restore a backup (exam backup --list, exam restore), or import an export: exam import project FOLDER"
    " --project NEW.duckdb."
)


@dataclass(frozen=True)
class _Fault:
    """An error that a file can cause at any moment.

    Args:
        code: code of the `ProjectError`.
        said: regular expression for DuckDB's message.
        sentence: the message for people, with a placeholder for the file.
        hint: the fix.
    """

    code: str
    said: re.Pattern[str]
    sentence: str
    hint: str


_FILE = re.compile(r'file "([^"]+)"')

_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|File too large|max_temp_directory_size")

_FAULTS = (
    _Fault(
        "cannot-write-file",
        re.compile(r"Permission denied|Read-only file system|Operation not permitted|read-only mode"),
        "Cannot write {file}: you may not write to it or its folder, or the project is open for reading only.",
        "Get write permission for both or work on a copy, then open the project again.",
    ),
    _Fault(
        "damaged-project",
        re.compile(
            r"Corrupt database file|[Cc]hecksum|Could not read (?:enough bytes|from file|all bytes)"
            r"|Failed to deserialize|[Ss]erialization Error|corrupt"
        ),
        "{file} is damaged: parts of the file cannot be read.",
        _BRING_BACK + " The undamaged parts can still be read.",
    ),
)
"""The known faults; the first that matches a message counts."""


def fault(path: Path, error: duckdb.Error) -> ProjectError | None:
    """Translate an error of a full disk, an unwritable file or a damaged file; return None for other errors."""
    if full := no_room(path, error):
        return full
    reason = str(error)
    found = next((one for one in _FAULTS if one.said.search(reason)), None)
    return (
        None
        if found is None
        else ProjectError(found.code, found.sentence.format(file=_named(path, reason)), found.hint)
    )


def no_room(place: Path | str, error: BaseException) -> ProjectError | None:
    """Translate an error of DuckDB or the system about a full disk; return None for other errors.

    Args:
        place: a file or folder on that disk, used if the error does not name a file.
    """
    if isinstance(error, OSError):
        return full_disk(error.filename or place) if error.errno in FULL else None
    if isinstance(error, duckdb.Error) and _NO_ROOM.search(str(error)):
        return full_disk(_named(place, str(error)))
    return None


def _named(place: Path | str, reason: str) -> Path | str:
    """Return the file that a DuckDB error names, which may be on another disk than the project."""
    named = _FILE.search(reason)
    # The name of a project's log starts with the name of the project: an error about the log is about the project.
    return place if named is None or Path(named[1]).name.startswith(Path(place).name) else named[1]


def check_kind(path: Path) -> None:
    """Refuse a file of another kind before DuckDB opens it: DuckDB would block on a pipe, or guess the format.

    Args:
        path: an existing path.

    Raises:
        ProjectError: it is a folder, a device, an empty file or a file of another kind, or it cannot be read.
    """
    if path.is_dir():
        raise ProjectError(
            "not-a-project",
            f"{path} is a folder, not a project.",
            f"Import an exported project: exam import project {shlex.quote(str(path))} --project NEW.duckdb.",
        )
    if not path.is_file():
        raise ProjectError("not-a-file", f"{path} is not a regular file.", NAME_ANOTHER)
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER)
    except OSError as error:
        if getattr(error, "winerror", None) == _SHARING_VIOLATION:
            # DuckDB's own message names the process that has the file open.
            return
        raise ProjectError(
            "cannot-read-file",
            f"Cannot read {path}: {error.strerror}.",
            "Check its permissions and the disk.",
        ) from error
    if not header:
        raise ProjectError(
            "empty-project-file", f"{path} is an empty file.", "Delete it, then create the project with exam init."
        )
    if header[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] == _MAGIC:
        return
    kind = next((name for at, magic, name in _FOREIGN if header[at : at + len(magic)] == magic), None)
    if kind is not None:
        raise ProjectError("not-a-project", f"{path} is {kind}, not a project.", NAME_ANOTHER)
    raise ProjectError(
        "not-a-project", f"{path} is not a project, or its header is damaged.", f"{NAME_ANOTHER} {_BRING_BACK}"
    )


def explained(path: Path, error: duckdb.Error) -> ProjectError:
    """Translate an error at the opening of a file to one with a fix."""
    reason = str(error)
    if is_held(reason):
        return _held(path, holder(reason))
    if "created with a newer version of DuckDB" in reason:
        return ProjectError(
            "other-database-version",
            f"{path} was written by {_writer(path)}. This program cannot read it with DuckDB {duckdb.__version__}.",
            f"On the computer that wrote it, run exam export project --project {shlex.quote(str(path))} -o FOLDER."
            " Then run here: exam import project FOLDER --project NEW.duckdb.",
        )
    return fault(path, error) or ProjectError(
        "cannot-open-project", f"Cannot open {path} as a project: {first_line(error)}", _BRING_BACK
    )


def _held(path: Path, who: Holder | None) -> ProjectError:
    if who is None:
        return ProjectError(
            "project-in-use", f"{path} is in use by another process.", "Close that process, then try again."
        )
    return ProjectError("project-in-use", f"{path} is in use by {who.name}.", who.hint)


def _writer(path: Path) -> str:
    """Return the name and version of the DuckDB that wrote a file; "a newer DuckDB" if the header lacks them."""
    with path.open("rb") as file:
        name = file.read(_VERSION_AT + _VERSION_LENGTH)[_VERSION_AT:].rstrip(b"\0")
    return f"DuckDB {name[1:].decode()}" if re.fullmatch(rb"v\d+\.\d+[\w.+-]*", name) else "a newer DuckDB"


def first_line(error: BaseException) -> str:
    """Return the message of an error without DuckDB's additions for its developers."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
