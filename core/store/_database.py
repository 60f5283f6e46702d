"""A DuckDB file in this process: opened, shared by threads, closed, and reopened after a fatal
error of DuckDB.

DuckDB keeps the newest changes in a log next to the file, NAME.duckdb.wal. A copy of the file alone
would silently lack them. So the log is written into the file after `IDLE` seconds without a change.
A file with changes has a mark until it is closed.
"""

from __future__ import annotations

import atexit
import itertools
import json
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from ..atomic_files import WorkingFolder
from ..errors import InputError, ProjectError
from ._engine import (
    engine_config,
    explain_database_error,
    explain_opening_error,
    first_line,
    is_held,
    no_room,
    spill_folder,
)
from ._sql_values import as_pattern, quoted_path, quoted_text
from .cache import EVERY
from .migrations import check_schema

IDLE = 3.0
"""Seconds without a change after which the log is written into the file."""
LONGEST = 60.0
"""Seconds after which the log is written even if changes continue, as in a grading job."""

MARK = "not closed"
"""Name of the setting that a file has from its first change until it is closed. Exports leave it
out.
"""


def log_of(path: Path) -> Path:
    """Return the path of DuckDB's log of a file."""
    return path.with_name(f"{path.name}.wal")


def has_log(path: Path) -> bool:
    """Return whether the log of a file has any content."""
    try:
        return log_of(path).stat().st_size > 0
    except OSError:
        return False


def write_open_mark(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Mark a file as not closed, with the time up to which it holds all saved changes.

    Raises:
        duckdb.Error: the file cannot be written.
    """
    content = {
        "file": path.stat().st_ino,
        "saved_until": datetime.now().isoformat(timespec="seconds"),
    }
    connection.execute(
        f"INSERT OR REPLACE INTO settings VALUES ('{MARK}', {quoted_text(json.dumps(content))})"
    )
    connection.execute("CHECKPOINT")


def remove_open_mark(connection: duckdb.DuckDBPyConnection) -> None:
    """Remove the mark."""
    connection.execute(f"DELETE FROM settings WHERE name = '{MARK}'")


def unclosed_warning(connection: duckdb.DuckDBPyConnection, path: Path, had_log: bool) -> str:
    """Return a warning about a file that was not closed after its last use.

    Args:
        connection: to the file.
        path: the file.
        had_log: whether its log existed when it was opened.

    Returns:
        One or two sentences; empty if the file was closed or holds all saved changes anyway.
    """
    rows = connection.execute(f"SELECT value FROM settings WHERE name = '{MARK}'").fetchall()
    log = log_of(path).name
    is_copy, until = bool(rows), None
    if rows:
        with suppress(ValueError, TypeError, KeyError):
            content = json.loads(rows[0][0])
            until = datetime.fromisoformat(content["saved_until"])
            is_copy = content["file"] != path.stat().st_ino
    if had_log and is_copy:
        return (
            f"{path.name} is a copy of a project in use, and {log} was read. Changes saved during"
            " the copy may be missing. Run exam check, or close the project and copy it again."
        )
    if had_log:
        return (
            f"{path.name} was not closed properly. Nothing is lost: the remaining changes were"
            f" read from {log}."
        )
    # In a file that was not copied or moved, a missing log means that the log was empty.
    if not is_copy:
        return ""
    changes = (
        "The latest changes" if until is None else f"Changes saved after {until:%Y-%m-%d %H:%M:%S}"
    )
    return (
        f"{path.name} is a copy of a project in use, without {log}. {changes} may be missing."
        f" Close the project and copy it again, or copy {log} too."
    )


class RepeatingThread(threading.Thread):
    """A thread that calls a method every few seconds, until `end` or until the object of the method
    is deleted.

    Args:
        method: the thread has only a weak reference to its object.
        seconds: between two calls.
    """

    def __init__(self, method: Callable[[], object], seconds: float, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._method = weakref.WeakMethod(method)
        self._seconds = seconds
        self._ended = threading.Event()
        self.start()

    def run(self) -> None:
        """Call the method until the end."""
        while not self._ended.wait(self._seconds) and (method := self._method()) is not None:
            method()
            # The thread must not keep the object alive while it sleeps.
            del method

    def end(self, patience: float | None = None) -> None:
        """Stop calling the method; wait for a call that is running, at most `patience` seconds."""
        self._ended.set()
        if self is not threading.current_thread():
            self.join(patience)


Connection = duckdb.DuckDBPyConnection

GIVEN_UP = (duckdb.FatalException, duckdb.InternalException)
"""After one of these errors DuckDB refuses every statement until the file is closed and opened
again.
"""

PATIENCE = 5.0
"""Seconds to wait for another process to close the file."""
PAUSE = 0.1
"""Seconds between two attempts to open the file."""
LAST_BLOCKS = 60.0
"""Seconds to wait for running blocks before the file is opened again."""

_ticks = itertools.count(1)
_versions: dict[Path, dict[str, int]] = {}
"""The last commit of this process to each table of each file, as a number. Other processes cannot
write meanwhile.
"""

LAST_WRITE = 5.0
"""Seconds to wait for running work when the process ends, or when the file is closed to be moved.
"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reopening:
    """The time (local) at which the file was closed and opened again, and the error of DuckDB."""

    at: datetime
    reason: str


@dataclass(eq=False)
class Database:
    """An open file, read and written by many threads; each block of work has a cursor of its own.

    After a fatal error of DuckDB, running blocks fail at their next statement and end. The next new
    block opens the file again. Committed changes are in the file or in its log.

    Args:
        path: the file.
        _connection: a connection to the file from `open_connection`. Only this object may use it
            from now on.
        read_only: whether the file was opened for reading, so that other processes can read it too.
    """

    path: Path
    _connection: Connection
    read_only: bool = False
    reopenings: tuple[Reopening, ...] = field(default=(), init=False)
    closed: bool = field(default=False, init=False)
    writing: threading.RLock = field(default_factory=threading.RLock, init=False)
    """Allows one change at a time; a nested block of the same thread passes."""
    endings: list[Callable[[], object]] = field(default_factory=list, init=False)
    """Called before the file is closed."""
    _gate: threading.Condition = field(default_factory=threading.Condition, init=False)
    _blocks: int = field(default=0, init=False)
    _mine: threading.local = field(default_factory=threading.local, init=False)
    _given_up: str | None = field(default=None, init=False)
    _marked: bool = field(default=False, init=False)
    _idle: RepeatingThread | None = field(default=None, init=False)
    _unsaved: tuple[float, float] | None = field(default=None, init=False)
    """The times of the first and the last change since the log was written into the file."""

    def __post_init__(self) -> None:
        self._file = self.path.resolve()
        _open.add(self)

    @property
    def working_folder(self) -> Path:
        """A private folder for passing files, deleted when the file is closed."""
        return _working_folder(self.path)

    @property
    def in_block(self) -> bool:
        """Whether this thread is inside a block that has a cursor."""
        return bool(getattr(self._mine, "blocks", 0))

    def version(self, tables: Collection[str] | None = None) -> int:
        """Return a number that grows with every commit to one of these tables; None stands for all
        tables.
        """
        versions = _versions.get(self._file, {})
        read = versions.keys() if tables is None else versions.keys() & {*tables, EVERY}
        return max(map(versions.__getitem__, read), default=0)

    def committed(self, tables: Collection[str] = (EVERY,)) -> None:
        """Note that tables of the file may have changed."""
        # A new dictionary, because other threads may be reading the old one.
        _versions[self._file] = _versions.get(self._file, {}) | dict.fromkeys(tables, next(_ticks))
        now = time.monotonic()
        self._unsaved = (self._unsaved or (now, now))[0], now

    def before_change(self, cursor: Connection) -> None:
        """Mark the file as not closed before its first change; the caller must hold `writing`.

        Raises:
            duckdb.Error: the file cannot be written.
        """
        if self._marked or self.read_only:
            return
        try:
            write_open_mark(cursor, self.path)
        except duckdb.TransactionException as error:
            # Another write of this process is in progress. The mark is saved in the log, and a copy
            # of the file needs the log anyway.
            if "CHECKPOINT" not in str(error):
                raise
        self._marked = True

    def checkpoint_when_idle(self) -> None:
        """Write the log into the file from now on, after every few seconds without changes."""
        if self._idle is None and not self.read_only:
            self._idle = RepeatingThread(
                self._checkpoint_if_idle, min(IDLE, LONGEST) / 4, "checkpoints"
            )

    def _checkpoint_if_idle(self) -> None:
        unsaved, now = self._unsaved, time.monotonic()
        if unsaved is None or now < min(unsaved[1] + IDLE, unsaved[0] + LONGEST):
            return
        if not self.checkpoint():
            # After a failure, as on a full disk, try again after the next change or much later.
            self._unsaved = now, now + LONGEST
        elif self._unsaved is unsaved:
            self._unsaved = None

    def checkpoint(self) -> bool:
        """Write the log into the file; return whether that succeeded.

        It fails during a change, on a full disk, and during a read that started earlier, because
        the read may need the earlier mark.
        """
        if not self.writing.acquire(blocking=False):
            return False
        try:
            with self.cursor() as cursor:
                write_open_mark(cursor, self.path)
                self._marked = True
            return True
        except duckdb.TransactionException:
            # Another write of this process, made without `writing`, is in progress; a later call
            # will succeed.
            return False
        except (ProjectError, duckdb.Error, OSError) as error:
            # One cause is that the file was deleted while the program runs.
            _log.warning(
                "%s: cannot write the log into the file now: %s", self.path, first_line(error)
            )
            return False
        finally:
            self.writing.release()

    @contextmanager
    def cursor(self) -> Iterator[Connection]:
        """Yield a cursor for the block; only this thread may use it.

        Raises:
            ProjectError: the file could not be opened again.
        """
        with self._gate:
            if self.closed and not self.in_block:
                raise ProjectError(
                    "project-closed",
                    f"{self.path.name} was closed.",
                    "Reload the page and choose a project.",
                )
            # A block inside a block must not wait for the outer one to end.
            if self._given_up is not None and not self.in_block:
                self._wait_and_reopen(self._given_up)
            cursor = self._connection.cursor()
            self._blocks += 1
            self._mine.blocks = getattr(self._mine, "blocks", 0) + 1
        given_up: str | None = None
        try:
            with cursor:
                yield cursor
        except GIVEN_UP as error:
            given_up = first_line(error)
            raise
        except duckdb.Error as error:
            if told := explain_database_error(self.path, error):
                raise told from error
            raise
        finally:
            with self._gate:
                self._blocks -= 1
                self._mine.blocks -= 1
                self._given_up = self._given_up or given_up
                self._gate.notify_all()

    def _wait_and_reopen(self, reason: str) -> None:
        if not self._gate.wait_for(lambda: self._given_up is None or not self._blocks, LAST_BLOCKS):
            raise ProjectError(
                "database-kept-open",
                f"The database of {self.path.name} failed, and earlier work still keeps it open.",
                "Restart the app or the command. Saved changes are not lost.",
            )
        if self._given_up is None:
            return
        _log.error("%s: database failed (%s), opening it again", self.path, reason)
        self._connection.close()
        self._connection = open_connection(self.path, self.read_only)
        if not self.read_only:
            try:
                # Some defects of DuckDB affect only rows in the log, so the log is written into the
                # file first.
                self._connection.execute("CHECKPOINT")
            except duckdb.Error as error:
                _log.error(
                    "%s: cannot write the log into the file: %s", self.path, first_line(error)
                )
                self._connection.close()
                self._connection = open_connection(self.path)
        # If another connection of this process has the file open, DuckDB stays in its failed state
        # and raises here.
        self._connection.execute("SELECT 1")
        self.reopenings += (Reopening(datetime.now(), reason),)
        self._given_up = None

    def close(self, when_unused: bool = False) -> bool:
        """Write all changes and close the file; return whether it is closed.

        Args:
            when_unused: wait for running blocks. If one does not end in time, the file stays open.
        """
        with self._gate:
            if self.closed:
                return True
            # New blocks are refused from here on.
            self.closed = True
            if when_unused and not self._gate.wait_for(lambda: not self._blocks, LAST_WRITE):
                self.closed = False
                return False
        for ending in self.endings:
            ending()
        if self._idle is not None:
            self._idle.end()
        if self._marked:
            self._unmark()
        close_connection(self.path, self._connection)
        return True

    def _unmark(self) -> None:
        # The end of the process does not wait without limit for a running change. The mark then
        # stays, rightly.
        if not self.writing.acquire(timeout=LAST_WRITE):
            return
        try:
            remove_open_mark(self._connection)
        except duckdb.Error as error:
            reason = "the disk is full" if no_room(self.path, error) else first_line(error)
            _log.warning("%s: cannot close the project properly: %s", self.path, reason)
        finally:
            self.writing.release()


_open: weakref.WeakSet[Database] = weakref.WeakSet()


@atexit.register
def close_projects() -> None:
    """Close every project of this process. A server calls it on a signal, which skips Python's own
    exit handlers.
    """
    for database in list(_open):
        database.close()


def is_open(path: Path) -> bool:
    """Return whether this process has a file open; a second connection would share its log."""
    # Unlike Path.resolve, it accepts a link that leads to itself.
    file = Path(os.path.realpath(path))
    return any(database._file == file and not database.closed for database in list(_open))


def open_connection(
    path: Path,
    read_only: bool = False,
    readable: Path | None = None,
    patience: float = PATIENCE,
    made_here: bool = False,
) -> Connection:
    """Open a project's file, or create a new one. Its schema is checked before anything else in the
    file is read.

    The connection can access only this file and its working folder. Memory limit and spill folder
    may come from the environment, see `engine_config`.

    Args:
        readable: another folder whose files may be read.
        patience: seconds to wait for another process that has the file open.
        made_here: the file is new or a copy made by this process, so its schema is not checked.

    Raises:
        InputError: a setting of the environment is invalid, or the path contains a question mark.
        ProjectError: another process has the file open, a newer DuckDB wrote it, or it is not a
            project.
    """
    if "?" in str(path):
        # DuckDB would look for the log under another name: it puts ".wal" before the question mark.
        raise InputError(
            "question-mark-in-path",
            f"Invalid path {path}: it contains '?'.",
            "Rename the file or its folder.",
        )
    deadline = time.monotonic() + patience
    config = {**engine_config(), "temp_directory": str(_working_folder(path))}
    connection: Connection | None = None
    try:
        while connection is None:
            try:
                connection = duckdb.connect(str(path), read_only=read_only, config=config)
            except duckdb.Error as error:
                if not is_held(str(error)) or time.monotonic() >= deadline:
                    raise
                time.sleep(PAUSE)
        if readable is not None:
            allowed = f"{quoted_path(readable)}, {quoted_path(as_pattern(readable))}"
            connection.execute(f"SET allowed_directories = [{allowed}]")
        # This cannot be undone. From here on DuckDB can access only the file, its working folder
        # and `readable`.
        connection.execute("SET enable_external_access = false")
        if not made_here:
            check_schema(path, connection)
    except BaseException as error:
        close_connection(path, connection)
        if isinstance(error, duckdb.Error):
            raise explain_opening_error(path, error) from error
        raise
    return connection


def close_connection(path: Path, connection: Connection | None) -> None:
    """Close a connection from `open_connection`. The working folder is removed with the last one of
    the file.
    """
    if connection is not None:
        connection.close()
    if (
        not is_open(path)
        and (folder := _working_folders.pop(Path(os.path.realpath(path)), None)) is not None
    ):
        folder.close()


@contextmanager
def database_connection(path: Path, **how: Any) -> Iterator[Connection]:
    """Yield a connection for a block; arguments and errors as in `open_connection`."""
    connection = open_connection(path, **how)
    try:
        yield connection
    finally:
        close_connection(path, connection)


_working_folders: dict[Path, WorkingFolder] = {}
"""Working folder by file. All connections of a process to a file share it: DuckDB requires equal
settings.
"""


def _working_folder(path: Path) -> Path:
    """Return the private working folder of a project, the only folder that DuckDB may read and
    write.

    It is in the folder that EXAM_SPILL names, else next to the file, on a disk with room for a
    project. If it cannot be created there, it is in the system's temporary folder.
    """
    file = Path(os.path.realpath(path))
    if file not in _working_folders:
        beside = spill_folder() or file.parent
        try:
            # DuckDB reads some characters of a path as a pattern.
            folder = WorkingFolder(beside if as_pattern(beside) == beside else None)
        except OSError:
            # A project on a full disk or in a read-only folder can still be read.
            folder = WorkingFolder()
        _working_folders[file] = folder
    return _working_folders[file].path
