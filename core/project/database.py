"""One DuckDB file in this process: opened, shared by threads, closed and opened again when the engine gives up."""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from ..atomic_files import WorkingFolder
from ..errors import InputError, ProjectError
from . import checkpoints
from .engine_errors import explained, fault, first_line, no_room
from .engine_memory import engine_config, spill_folder
from .holders import is_held
from .schema import check_schema
from .values import as_pattern, quoted_path

Connection = duckdb.DuckDBPyConnection

GIVEN_UP = (duckdb.FatalException, duckdb.InternalException)
"""After one of these the engine answers nothing more until the file was closed and opened again."""

PATIENCE = 5.0
"""Seconds that a process waits for another one to let go of the file."""
PAUSE = 0.1
"""Seconds between two looks whether it did."""
LAST_BLOCKS = 60.0
"""Seconds that the blocks which were under way may take to end, before the file is opened again."""

_ticks = itertools.count(1)
_last_commits: dict[Path, dict[str, int]] = {}
"""When each file was last written to by this process, whoever had it open; nobody else writes meanwhile.

By the word that every statement has in it which reads what was written; the empty word, which is in all, for the rest.
"""

LAST_WRITE = 5.0
"""Seconds that a change under way may take to end, when the process ends."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reopening:
    """That the file was closed and opened again: when, in local time, and what the engine had said."""

    at: datetime
    reason: str


class Database:
    """An open file, read and written by many threads, each block of work with a cursor of its own.

    When the engine gives up, blocks that are under way fail at their next statement and end; the first
    block after them finds the file opened again. Whatever was committed is in the file or in its log.

    Args:
        path: the file.
        connection: to it, as `connect` gives it; from here on nobody else's.
        read_only: whether it was opened beside other processes that read it too.
    """

    def __init__(self, path: Path, connection: Connection, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self.reopenings: tuple[Reopening, ...] = ()
        self._connection = connection
        self._gate = threading.Condition()
        self._blocks = 0
        self._mine = threading.local()
        self._given_up: str | None = None
        self._file = path.resolve()
        # One change at a time; a block inside a block of the same thread is let through.
        self.writing = threading.RLock()
        self._marked = False
        self._closed = False
        self._idle: checkpoints.Idle | None = None
        self.endings: list[Callable[[], None]] = []
        """What is done before the file is closed."""
        _open.add(self)

    @property
    def closed(self) -> bool:
        """Whether it let go of the file."""
        return self._closed

    @property
    def working_folder(self) -> Path:
        """A private folder for passing files, deleted when the file is closed."""
        return _working_folder(self.path)

    @property
    def in_block(self) -> bool:
        """Whether this thread is inside a block that has a cursor."""
        return bool(getattr(self._mine, "blocks", 0))

    def last_commit_for(self, sql: str | None) -> int:
        """A number that is another one after every transaction that may have changed what a statement gives."""
        commits = _last_commits.get(self._file, {})
        return max((at for word, at in commits.items() if sql is None or word in sql), default=0)

    def committed(self, only: str = "") -> None:
        """Take note that the file may have changed; `only` as `Project.transaction` takes it."""
        # Made anew, since others may be looking at the one that was.
        _last_commits[self._file] = {**_last_commits.get(self._file, {}), only: next(_ticks)}
        if self._idle is not None:
            self._idle.written()

    def before_change(self, cursor: Connection) -> None:
        """Let the file say that it is not closed, before its first change; to be called by who holds `writing`.

        Raises:
            duckdb.Error: it cannot be written.
        """
        if self._marked or self.read_only:
            return
        try:
            checkpoints.mark(cursor, self.path)
        except duckdb.TransactionException as error:
            # Something else in this process is writing to the file: the mark is in the log and goes with it.
            if "CHECKPOINT" not in str(error):
                raise
        self._marked = True

    def checkpoint_when_idle(self) -> None:
        """From now on let the log go into the file whenever nobody has written for a moment."""
        if self._idle is None and not self.read_only:
            self._idle = checkpoints.Idle(self.checkpoint)

    def checkpoint(self) -> bool:
        """Write what the log holds into the file; whether that was done.

        It is not while somebody is writing, where there is no room, nor as long as a read goes on that began before:
        it may still want the mark as it was.
        """
        if not self.writing.acquire(blocking=False):
            return False
        try:
            with self.cursor() as cursor:
                checkpoints.mark(cursor, self.path)
                self._marked = True
            return True
        except duckdb.TransactionException:
            # Something in this process is in the midst of a write that did not ask for `writing`: another time.
            return False
        except (ProjectError, duckdb.Error, OSError) as error:
            # Among them that the file is gone, which somebody deleted under the running program.
            _log.warning("%s: cannot write the log into the file now: %s", self.path, first_line(error))
            return False
        finally:
            self.writing.release()

    @contextmanager
    def cursor(self) -> Iterator[Connection]:
        """A cursor for the block, to be used by this thread.

        Raises:
            ProjectError: the file could not be opened again.
        """
        cursor = self._enter()
        given_up: str | None = None
        try:
            with cursor:
                yield cursor
        except GIVEN_UP as error:
            given_up = first_line(error)
            raise
        except duckdb.Error as error:
            if told := fault(self.path, error):
                raise told from error
            raise
        finally:
            self._leave(given_up)

    def _enter(self) -> Connection:
        with self._gate:
            # A block inside a block must not wait for the outer one to end.
            if self._given_up is not None and not self.in_block:
                if not self._gate.wait_for(lambda: self._given_up is None or not self._blocks, LAST_BLOCKS):
                    raise ProjectError(
                        "database-kept-open",
                        f"The database of {self.path.name} failed, and earlier work still keeps it open.",
                        "Restart the app or the command. Saved changes are not lost.",
                    )
                if self._given_up is not None:
                    self._reopen(self._given_up)
            cursor = self._connection.cursor()
            self._blocks += 1
            self._mine.blocks = getattr(self._mine, "blocks", 0) + 1
            return cursor

    def _leave(self, given_up: str | None) -> None:
        with self._gate:
            self._blocks -= 1
            self._mine.blocks -= 1
            self._given_up = self._given_up or given_up
            self._gate.notify_all()

    def _reopen(self, reason: str) -> None:
        _log.error("%s: database failed (%s), opening it again", self.path, reason)
        self._connection.close()
        self._connection = connect(self.path, self.read_only)
        if not self.read_only:
            try:
                # What the log held goes to where all else lies: some defects meet only rows that were in the log.
                self._connection.execute("CHECKPOINT")
            except duckdb.Error as error:
                _log.error("%s: cannot write the log into the file: %s", self.path, first_line(error))
                self._connection.close()
                self._connection = connect(self.path)
        # Where something else in this process has the file open, that keeps the engine as it was.
        self._connection.execute("SELECT 1")
        self.reopenings += (Reopening(datetime.now(), reason),)
        self._given_up = None

    def close(self) -> None:
        """Write everything out and let go of the file."""
        if self._closed:
            return
        self._closed = True
        for ending in self.endings:
            ending()
        if self._idle is not None:
            self._idle.end()
        if self._marked:
            self._unmark()
        disconnect(self.path, self._connection)

    def _unmark(self) -> None:
        # A change that is under way when the process ends is not waited for for ever: then the mark stays, and is true.
        if not self.writing.acquire(timeout=LAST_WRITE):
            return
        try:
            checkpoints.unmark(self._connection)
        except duckdb.Error as error:
            reason = "the disk is full" if no_room(self.path, error) else first_line(error)
            _log.warning("%s: cannot close the project properly: %s", self.path, reason)
        finally:
            self.writing.release()


_open: weakref.WeakSet[Database] = weakref.WeakSet()


@atexit.register
def close_all() -> None:
    """Close every file that this process has open; done when it ends, and before, where it ends in another way."""
    for database in list(_open):
        database.close()


def is_open(path: Path) -> bool:
    """Whether this process has a file open already; it shares the engine's log then."""
    # Unlike Path.resolve, it returns a link that leads to itself.
    file = Path(os.path.realpath(path))
    return any(database._file == file and not database._closed for database in list(_open))


def connect(
    path: Path,
    read_only: bool = False,
    readable: Path | None = None,
    patience: float = PATIENCE,
    made_here: bool = False,
) -> Connection:
    """Open a file whose schema is that of a project, or make a new one; nothing else in the file is read or run.

    The connection reaches no other file than this one and those in its working folder. The settings of memory and of
    the folder for what does not fit into memory may come from the environment: `engine_config`.

    Args:
        readable: a further folder whose files may be read.
        patience: seconds to wait for another process that has the file open.
        made_here: the file is new, or a copy of one that this process made: its schema is not compared.

    Raises:
        InputError: a setting of the environment is invalid, or the path contains a question mark.
        ProjectError: another process has the file open, a newer DuckDB wrote it, or it is no project.
    """
    if "?" in str(path):
        # DuckDB would look for the log of the file under a name in which the rest stands behind ".wal".
        raise InputError(
            "question-mark-in-path", f"Invalid path {path}: it contains '?'.", "Rename the file or its folder."
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
        # From here on the folder for what does not fit into memory is the only one, and that cannot be undone.
        connection.execute("SET enable_external_access = false")
        if not made_here:
            check_schema(path, connection)
    except BaseException as error:
        disconnect(path, connection)
        if isinstance(error, duckdb.Error):
            raise explained(path, error) from error
        raise
    return connection


def disconnect(path: Path, connection: Connection | None) -> None:
    """Close a connection that `connect` made. The working folder goes with the last one of the file."""
    if connection is not None:
        connection.close()
    if not is_open(path) and (folder := _working_folders.pop(Path(os.path.realpath(path)), None)) is not None:
        folder.close()


@contextmanager
def connected(path: Path, **how: Any) -> Iterator[Connection]:
    """A connection for the time of a block; arguments and errors as for `connect`."""
    connection = connect(path, **how)
    try:
        yield connection
    finally:
        disconnect(path, connection)


_working_folders: dict[Path, WorkingFolder] = {}
"""By file. All connections of a process to a file need the same one: DuckDB wants their settings to be equal."""


def _working_folder(path: Path) -> Path:
    """The private folder for passing files about a project, the only one that the engine may read and write.

    It is in the folder that EXAM_SPILL names, else beside the file, so that there is as much room as for the project.
    If it cannot be made there, it is in the system's folder for temporary files.
    """
    file = Path(os.path.realpath(path))
    if file not in _working_folders:
        beside = spill_folder() or file.parent
        try:
            # The engine takes some characters of a path for a pattern.
            made = WorkingFolder(beside if as_pattern(beside) == beside else None)
        except OSError:
            # A project on a full disk, or in a folder without write access, can still be read.
            made = WorkingFolder()
        _working_folders[file] = made
    return _working_folders[file].path
