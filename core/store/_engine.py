"""DuckDB: its errors with a fix, its memory limit and spill folder, and the process that holds a
file.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

import duckdb

from ..atomic_files import FULL, WorkingFolder, full_disk
from ..errors import InputError, ProjectError

_IN_THE_WAY = re.compile(r"(?:held|already open) in\s+(?P<program>.+?) \(PID (?P<process>\d+)\)")


@dataclass(frozen=True)
class FileHolder:
    """A process that holds a file: its description for people, and the fix."""

    name: str
    hint: str


def is_held(reason: str) -> bool:
    """Return whether a DuckDB message says that another process holds a file, also in the wording
    of Windows.
    """
    return "set lock" in reason or "already open in" in reason


def find_holder(reason: str) -> FileHolder:
    """Return the process that holds a file; an unnamed one if the message names none.

    The process id comes from the system, which knows the holder of the lock; the description comes
    from its command line. No file next to the project is used, because it could outlive its writer.

    Args:
        reason: DuckDB's message about the lock.
    """
    found = _IN_THE_WAY.search(reason)
    if found is None:
        return FileHolder("another process", "Close that process, then try again.")
    return describe_process(int(found["process"]), PureWindowsPath(found["program"]).name)


def describe_process(process: int, program: str) -> FileHolder:
    """Describe a process.

    Args:
        process: its id.
        program: file name of its program, used if its command line cannot be read.
    """
    words = _command_line(process)
    names = [Path(word).name for word in words]
    # The interpreter, its options and the program are at the start; the rest may be anything.
    if "streamlit" in names[:3] and "app.py" in names[:5]:
        port = re.search(r" --server\.port[= ](\d+)( |$)", " ".join(words))
        name = f"the app on port {port[1]}" if port else f"the app (process {process})"
        return FileHolder(name, "Use the screens of the app, or close the app and try again.")
    if "exam" in names[:2]:
        after = words[names.index("exam") + 1 :]
        command = next((word for word in after if re.fullmatch("[a-z][a-z-]*", word)), "")
        return FileHolder(
            f"exam {command}".strip() + f" (process {process})",
            "Try again when that command has finished.",
        )
    return FileHolder(f"process {process} ({program})", "Close that process, then try again.")


def _command_line(process: int) -> list[str]:
    """Return the words of a command line; empty if the process has ended or the system refuses."""
    with suppress(OSError):
        return (
            Path(f"/proc/{process}/cmdline")
            .read_bytes()
            .decode(errors="replace")
            .rstrip("\0")
            .split("\0")
        )
    command = ["ps", "-o", "command=", "-p", str(process)]
    with suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(
            command, capture_output=True, text=True, timeout=2, check=False
        ).stdout.split()
    return []


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
    "Restore a backup (exam backup --list, exam restore), or import an export: exam import project"
    " FOLDER --project NEW.duckdb."
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

_NO_ROOM = re.compile(
    r"No space left on device|Disk quota exceeded|File too large|max_temp_directory_size"
)

_FAULTS = (
    _Fault(
        "cannot-write-file",
        re.compile(
            r"Permission denied|Read-only file system|Operation not permitted|read-only mode"
        ),
        "Cannot write {file}: you may not write to it or its folder, or the project is"
        " open for reading only.",
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


def explain_database_error(path: Path, error: duckdb.Error) -> ProjectError | None:
    """Translate an error of a full disk, an unwritable file or a damaged file; return None for
    other errors.
    """
    if full := no_room(path, error):
        return full
    reason = str(error)
    known_fault = next((one for one in _FAULTS if one.said.search(reason)), None)
    return (
        None
        if known_fault is None
        else ProjectError(
            known_fault.code,
            known_fault.sentence.format(file=_named_file(path, reason)),
            known_fault.hint,
        )
    )


def no_room(place: Path | str, error: BaseException) -> ProjectError | None:
    """Translate an error of DuckDB or the system about a full disk; return None for other errors.

    Args:
        place: a file or folder on that disk, used if the error does not name a file.
    """
    if isinstance(error, OSError):
        return full_disk(error.filename or place) if error.errno in FULL else None
    if isinstance(error, duckdb.Error) and _NO_ROOM.search(str(error)):
        return full_disk(_named_file(place, str(error)))
    return None


def _named_file(place: Path | str, reason: str) -> Path | str:
    """Return the file that a DuckDB error names, which may be on another disk than the project."""
    named = _FILE.search(reason)
    # The name of a project's log starts with the name of the project: an error about the log is
    # about the project.
    return place if named is None or Path(named[1]).name.startswith(Path(place).name) else named[1]


def check_kind(path: Path) -> None:
    """Refuse a file of another kind before DuckDB opens it: DuckDB would block on a pipe, or guess
    the format.

    Args:
        path: an existing path.

    Raises:
        ProjectError: it is a folder, a device, an empty file or a file of another kind, or it
            cannot be read.
    """
    if path.is_dir():
        raise ProjectError(
            "not-a-project",
            f"{path} is a folder, not a project.",
            f"Import an exported project: exam import project {shlex.quote(str(path))}"
            " --project NEW.duckdb.",
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
            "empty-project-file",
            f"{path} is an empty file.",
            "Delete it, then create the project with exam init.",
        )
    if header[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] == _MAGIC:
        return
    kind = next(
        (name for at, magic, name in _FOREIGN if header[at : at + len(magic)] == magic), None
    )
    if kind is not None:
        raise ProjectError("not-a-project", f"{path} is {kind}, not a project.", NAME_ANOTHER)
    raise ProjectError(
        "not-a-project",
        f"{path} is not a project, or its header is damaged.",
        f"{NAME_ANOTHER} {_BRING_BACK}",
    )


def explain_opening_error(path: Path, error: duckdb.Error) -> ProjectError:
    """Translate an error at the opening of a file to one with a fix."""
    reason = str(error)
    if is_held(reason):
        who = find_holder(reason)
        return ProjectError("project-in-use", f"{path} is in use by {who.name}.", who.hint)
    if "created with a newer version of DuckDB" in reason:
        return ProjectError(
            "other-database-version",
            f"{path} was written by {_writing_version(path)}. This program cannot read it with"
            f" DuckDB {duckdb.__version__}.",
            "On the computer that wrote it, run exam export project --project"
            f" {shlex.quote(str(path))} -o FOLDER."
            " Then run here: exam import project FOLDER --project NEW.duckdb.",
        )
    return explain_database_error(path, error) or ProjectError(
        "cannot-open-project", f"Cannot open {path} as a project: {first_line(error)}", _BRING_BACK
    )


def _writing_version(path: Path) -> str:
    """Return the name and version of the DuckDB that wrote a file; "a newer DuckDB" if the header
    lacks them.
    """
    with path.open("rb") as file:
        name = file.read(_VERSION_AT + _VERSION_LENGTH)[_VERSION_AT:].rstrip(b"\0")
    return (
        f"DuckDB {name[1:].decode()}"
        if re.fullmatch(rb"v\d+\.\d+[\w.+-]*", name)
        else "a newer DuckDB"
    )


def first_line(error: BaseException) -> str:
    """Return the message of an error without DuckDB's additions for its developers."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


Config = dict[str, str | bool | int | float | list[str]]

CONFIG: Config = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "storage_compatibility_version": "v1.3.0",
    "write_buffer_row_group_count": 1,
}
"""DuckDB never loads an extension, not even to inspect a file of another kind: the file alone is
the project.

New files have the storage format of DuckDB 1.3. They open in three quarters of the time of the
default format (1.0), which converts the statistics of every column at each opening and writing.
Compression of texts needs half the memory of earlier formats, about 50 MB for a row group of
passages. A file keeps the format in which it was created.

A transaction writes each row group (122,880 rows) to the disk, instead of five at once. Five row
groups of passages with their texts take some hundred megabytes.
"""

MEMORY, SPILL = "EXAM_MEMORY", "EXAM_SPILL"
"""Environment variables: the memory limit, such as 4GB, and the spill folder."""

_AMOUNT = re.compile(r"\d+(\.\d+)? ?(KB|MB|GB|TB|KiB|MiB|GiB|TiB)", re.IGNORECASE)


def engine_config(memory: str | None = None) -> Config:
    """Return the settings of DuckDB.

    Args:
        memory: limit such as `4GB`. None means the limit of the environment, or else four fifths of
            the computer's memory.

    Raises:
        InputError: invalid amount of memory.
    """
    memory = memory or os.environ.get(MEMORY)
    if memory and not _AMOUNT.fullmatch(memory.strip()):
        raise InputError(
            "invalid-memory",
            f"Invalid amount of memory '{memory}'.",
            f"Write it as 4GB or 500MB ({MEMORY}).",
        )
    return CONFIG | ({"memory_limit": memory.strip()} if memory else {})


def spill_folder(chosen: Path | None = None) -> Path | None:
    """Return the spill folder: the chosen folder, or else the folder of the environment; None
    without both.

    Raises:
        InputError: the folder does not exist.
    """
    folder = chosen or (Path(given) if (given := os.environ.get(SPILL)) else None)
    if folder is not None and not folder.is_dir():
        raise InputError(
            "unknown-folder",
            f"Unknown folder '{folder}'.",
            f"Create it, or name another folder ({SPILL}, --spill).",
        )
    return folder


HELD = 24 << 20
"""Bytes of evictable memory that DuckDB may hold before `release_memory` evicts them."""


def release_memory(cursor: duckdb.DuckDBPyConnection) -> None:
    """Evict DuckDB's cached memory if it is more than `HELD`, and release Arrow's reserve.

    Evicted data is in the file or in the spill folder, and is read again on demand. Otherwise a
    large transaction would hold its data in memory to its end: blocks already in the file, and
    incomplete row groups.

    The memory limit is lowered for a moment: DuckDB evicts as much as it can before it accepts a
    lower limit, and refuses a limit below the memory in use. Other work keeps its memory limit.

    Args:
        cursor: in a transaction that has written something, so that some memory is always in use.
    """
    import pyarrow as pa

    # Arrow's allocator keeps freed memory for reuse: dozens of megabytes after it held columns of
    # texts.
    pa.default_memory_pool().release_unused()
    # A separate cursor, because the refusal would end the transaction.
    with cursor.cursor() as other:
        used, before = other.execute(
            "SELECT sum(memory_usage_bytes), current_setting('memory_limit')"
            " FROM duckdb_memory() WHERE tag IN ('BASE_TABLE', 'IN_MEMORY_TABLE')"
        ).fetchall()[0]
        if used > HELD:
            _evict_memory(other, before)


def _evict_memory(cursor: duckdb.DuckDBPyConnection, before: str) -> None:
    """Make DuckDB evict all memory that is not in use; `before` is its memory limit."""
    back = f"SET memory_limit = '{before}'"
    memory_limit = engine_config().get("memory_limit")
    try:
        cursor.execute("SET memory_limit = '1B'")
    except (duckdb.OutOfMemoryException, duckdb.IOException):
        # After a refusal the setting shows the refused value, and the earlier value was rounded
        # down. On a full disk the data stays in memory.
        back = f"SET memory_limit = '{memory_limit}'" if memory_limit else "RESET memory_limit"
    finally:
        cursor.execute(back)


@contextmanager
def scratch_database(
    memory: str | None = None, spill: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a database on disk that is deleted after the block; its tables may be larger than
    memory.

    Args:
        memory: as in `engine_config`.
        spill: as in `spill_folder`; without a folder, the system's temporary folder.

    Raises:
        InputError: as in `engine_config` and `spill_folder`, or not enough memory or disk space.
    """
    config = engine_config(memory)
    with WorkingFolder(spill_folder(spill)) as made:
        # Queries that need an order ask for it.
        config |= {"temp_directory": str(made), "preserve_insertion_order": False}
        with duckdb.connect(str(made / "scratch.duckdb"), config=config) as connection:
            try:
                yield connection
            except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
                raise InputError(
                    "no-scratch-room",
                    f"Not enough memory or disk space: {first_line(error)}.",
                    f"Allow more memory ({MEMORY}, --memory), or name a folder on a larger disk"
                    f" ({SPILL}, --spill).",
                ) from error
