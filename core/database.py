"""One DuckDB file in this process: opened, shared by threads, closed and opened again when the engine gives up."""

from __future__ import annotations

import itertools
import logging
import re
import shlex
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb

from core.errors import ProjectError
from core.holders import Holder, holder

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
_last_commits: dict[Path, int] = {}
"""When each file was last written to by this process, whoever had it open; nobody else writes meanwhile."""

_VERSION_AT, _VERSION_LENGTH = 52, 32  # of the version's name in a file's header
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

    @property
    def in_block(self) -> bool:
        """Whether this thread is inside a block that has a cursor."""
        return bool(getattr(self._mine, "blocks", 0))

    @property
    def last_commit(self) -> int:
        """A number that is another one after every transaction that may have changed the file."""
        return _last_commits.get(self._file, 0)

    def committed(self) -> None:
        """Take note that the file may have changed."""
        _last_commits[self._file] = next(_ticks)

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
        finally:
            self._leave(given_up)

    def _enter(self) -> Connection:
        with self._gate:
            # A block inside a block must not wait for the outer one to end.
            if self._given_up is not None and not self.in_block:
                if not self._gate.wait_for(lambda: self._given_up is None or not self._blocks, LAST_BLOCKS):
                    raise ProjectError(
                        f"The database of {self.path.name} failed, and work that had begun before keeps it open.",
                        "Nothing that was saved is lost. Start the app or the command again.",
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
        _log.error("%s: the database failed (%s); it is closed and opened again", self.path, reason)
        self._connection.close()
        self._connection = connect(self.path, self.read_only)
        if not self.read_only:
            try:
                # What the log held goes to where all else lies: some defects meet only rows that were in the log.
                self._connection.execute("CHECKPOINT")
            except duckdb.Error as error:
                _log.error("%s: the log could not be written into the file: %s", self.path, first_line(error))
                self._connection.close()
                self._connection = connect(self.path)
        # Where something else in this process has the file open, that keeps the engine as it was.
        self._connection.execute("SELECT 1")
        self.reopenings += (Reopening(datetime.now(), reason),)
        self._given_up = None

    def close(self) -> None:
        """Write everything out and let go of the file."""
        self._connection.close()


def connect(path: Path, read_only: bool = False) -> Connection:
    """A connection to a file; a new file where there is none and it may be written.

    Another process that is in the way is waited for, a few seconds long.

    Raises:
        ProjectError: another process holds it, it comes from a newer DuckDB, or it is no database.
    """
    # Nothing is ever loaded from outside, not even to look at a file of another kind: the file alone
    # is the project.
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return duckdb.connect(str(path), read_only=read_only, config=config)
        except duckdb.Error as error:
            if "set lock" not in str(error) or time.monotonic() >= deadline:
                raise explained(path, error) from error
        time.sleep(PAUSE)


def explained(path: Path, error: duckdb.Error) -> ProjectError:
    """An error of opening a file as one that says what to do."""
    reason = str(error)
    if "set lock" in reason:
        return _held(path, holder(reason))
    if "created with a newer version of DuckDB" in reason:
        return ProjectError(
            f"{path} was written by {_writer(path)}; this program has DuckDB {duckdb.__version__} and cannot read it.",
            f"In the environment that wrote it: exam export project --project {shlex.quote(str(path))} -o FOLDER."
            " Then here: exam import project FOLDER --project NEW.duckdb.",
        )
    return ProjectError(f"{path} cannot be opened as a project: {first_line(error)}")


def _held(path: Path, who: Holder | None) -> ProjectError:
    if who is None:
        return ProjectError(f"{path} is open in another process.", "Close what uses it, then try again.")
    return ProjectError(f"{path} is open in {who.name}.", who.hint)


def _writer(path: Path) -> str:
    """The engine that wrote a file, as far as its header tells."""
    with path.open("rb") as file:
        name = file.read(_VERSION_AT + _VERSION_LENGTH)[_VERSION_AT:].rstrip(b"\0")
    return f"DuckDB {name[1:].decode()}" if re.fullmatch(rb"v\d+\.\d+[\w.+-]*", name) else "a newer DuckDB"


def first_line(error: BaseException) -> str:
    """What an error says, without what the engine adds for its developers."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
