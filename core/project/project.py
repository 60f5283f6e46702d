"""A project: a DuckDB file that one process opens, many threads read, and one thread writes at a time."""

from __future__ import annotations

import getpass
import json
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

import duckdb

from ..errors import EngineError, InputError
from ..text import clean_text, one_line
from .acting import Acting
from .database import GIVEN_UP, Database, Reopening, close_all
from .engine_errors import first_line, no_room
from .roles import SPEAKING, ActName, Queries, check_author
from .values import Parameters, written_in

if TYPE_CHECKING:
    import pyarrow as pa

Cursor = duckdb.DuckDBPyConnection
T = TypeVar("T")
P = ParamSpec("P")

SCORELESS = ("publish qrels", "reproduce qrels")
"""Actions that change nothing from which results are computed, as exports do."""

OVERRIDING = ("override", "withdraw override")
"""Actions that change only overrides."""
ABOUT_QUESTIONS = (*OVERRIDING, "save bank")
"""Actions that leave judgments, runs, passages and grades unchanged."""


_TOUCHED: ContextVar[list[bool] | None] = ContextVar("touched", default=None)
"""Grows if the present computation reads data that may be hidden from some people."""

REMEMBERED = 200
"""Largest number of cached derived results; the oldest is discarded first."""
KNOWN_ANSWERS = 300
"""Largest number of cached query results; the oldest is discarded first."""
SMALL_ANSWER = 500
"""Most rows of a cached query result, and most values of a list parameter."""
SHORT_ANSWER = 50_000
"""Most characters of all texts in a cached query result."""
BATCH = 500_000
"""Rows per batch of a result that is streamed."""


class Project(Acting):
    """An open project. Make one with `create` or `open_project`; close it when done.

    After a fatal error of DuckDB the file is closed and opened again, and `reopenings` gains an
    entry. Reads are repeated, and an unfinished change is undone. `not_closed` is a warning if the
    file was not closed after its last use; else it is empty.

    `Acting` defines the permissions of people who are logged in.
    """

    def __init__(self, database: Database, not_closed: str = "") -> None:
        super().__init__()
        self.not_closed = not_closed
        self._database = database
        self._remembering = threading.Lock()
        self._remembered: dict[Hashable, tuple[Hashable, Any, bool]] = {}
        self._states: dict[tuple[str, ...], tuple[int, tuple[int, int, int]]] = {}
        self._answers: dict[Hashable, tuple[int, list[tuple[Any, ...]]]] = {}

    @property
    def opened(self) -> object:
        """An object that all handles of this open project share, as a key for caches."""
        return self._database

    def limited_to(self) -> str | None:
        """Return the person whose view hides values of other assessors; None if nothing is hidden, see `visible`.

        A result of `remember` that depends on it is kept for this person alone.
        """
        if (touched := _TOUCHED.get()) is not None:
            touched.append(True)
        return self._blinded()

    @property
    def path(self) -> Path:
        """The DuckDB file."""
        return self._database.path

    @property
    def working_folder(self) -> Path:
        """A private folder for passing files: the only one that statements may read and write."""
        return self._database.working_folder

    @property
    def name(self) -> str:
        """The file's name without its suffix, as shown to people."""
        return self.path.stem

    @property
    def read_only(self) -> bool:
        """Whether it was opened for reading only."""
        return self._database.read_only

    @property
    def closed(self) -> bool:
        """Whether it was closed, through any handle."""
        return self._database.closed

    @property
    def reopenings(self) -> tuple[Reopening, ...]:
        """Each time that the file had to be opened again since the project was opened, oldest first."""
        return self._database.reopenings

    @contextmanager
    def cursor(self) -> Iterator[Cursor]:
        """Open a cursor for a block that only reads, for one thread. Prefer `read`, which repeats the block."""
        self._check_reading()
        with self._cursor() as cursor:
            yield cursor

    @contextmanager
    def _cursor(self) -> Iterator[Cursor]:
        with self._database.cursor() as cursor:
            yield cursor

    def read(self, work: Callable[[Cursor], T]) -> T:
        """Return the result of `work`. It is called again if the database failed meanwhile.

        Raises:
            EngineError: the database failed at the same work again.
        """
        self._check_reading()
        return self._read(work)

    def _read(self, work: Callable[[Cursor], T]) -> T:
        try:
            with self._cursor() as cursor:
                return work(cursor)
        except GIVEN_UP:
            if self._database.in_block:
                # The surrounding block still uses the old connection and must end first.
                raise
        try:
            with self._cursor() as cursor:
                return work(cursor)
        except GIVEN_UP as error:
            raise EngineError(
                "database-failed",
                f"The database failed twice at the same request: {first_line(error)}",
                "Saved changes are not lost. If this happens again, export the project (exam export project) and report"
                " this message.",
            ) from error

    def rows(self, sql: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        """Return every row of a query as tuples.

        Results are cached until data that the query could read is written, because screens repeat
        queries at every redraw.
        """
        self._check_reading()
        return self._known(sql, parameters)

    def _known(self, sql: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        commit, key = self._database.last_commit_for(sql), _question(sql, parameters)
        known = self._answers.get(key)
        if known is not None and known[0] == commit:
            return list(known[1])
        written, left = written_in(sql, parameters)
        rows: list[tuple[Any, ...]] = self._read(lambda cursor: cursor.execute(written, left).fetchall())
        if key is not None and _can_be_kept(rows):
            self._keep(self._answers, key, (commit, rows), KNOWN_ANSWERS)
            return list(rows)
        return rows

    def _stated(self, sql: str) -> list[tuple[Any, ...]]:
        return self._known(sql)

    def table(self, sql: str, parameters: Parameters = None) -> pa.Table:
        """Return the result of a query as an Arrow table."""
        self._check_reading()
        written, left = written_in(sql, parameters)
        # Not `cursor.sql`: DuckDB computes a relation with parameters completely before reading it, 30 times as slow.
        return self._read(lambda cursor: cursor.execute(written, left).to_arrow_table())

    def batches(self, sql: str, parameters: Parameters, take: Callable[[Iterable[pa.RecordBatch]], T]) -> T:
        """Return the result of `take` on the record batches of a query, which are never in memory all at once.

        Args:
            take: must not use the project otherwise; called again after a fatal error of DuckDB.
        """
        self._check_reading()
        written, left = written_in(sql, parameters)
        return self._read(lambda cursor: take(cursor.execute(written, left).to_arrow_reader(BATCH)))

    def value(self, sql: str, parameters: Parameters = None) -> Any:
        """Return the first column of the first row of a query, or None without rows."""
        rows = self.rows(sql, parameters)
        return rows[0][0] if rows else None

    @contextmanager
    def transaction(
        self, only: str = "", act: ActName | None = None, queries: Queries = (), author: str | None = None
    ) -> Iterator[Cursor]:
        """Yield a cursor whose writes all take effect, or none of them if the block raises.

        Args:
            only: states that it writes only to tables with this word in their names, which no other relation shows.
                Cached results of queries without the word stay valid.
            act: permission that it needs; None means that of the surrounding block, or "organize".
            queries, author: as in `require`.

        Raises:
            NotAllowed: the person may not do it. Nothing was written.
            EngineError: DuckDB failed. Nothing was written; after a failure of the commit itself that is unknown.
        """
        with self._writing_as(act, queries, author), self._transaction(only) as cursor:
            yield cursor

    @contextmanager
    def _transaction(self, only: str) -> Iterator[Cursor]:
        committing = False
        try:
            with self.cursor() as cursor, self._database.writing:
                self._database.before_change(cursor)
                cursor.execute("BEGIN")
                try:
                    yield cursor
                except GIVEN_UP:
                    raise
                except BaseException:
                    cursor.execute("ROLLBACK")
                    raise
                committing = True
                try:
                    cursor.execute("COMMIT")
                finally:
                    self._database.committed(only)
        except GIVEN_UP as error:
            if self._database.in_block:
                raise
            full = no_room(self.path, error)
            reason = "the disk is full" if full else first_line(error)
            if committing:
                raise EngineError(
                    "change-in-doubt",
                    f"The database failed while saving this change: {reason}",
                    "The project is open again. Check whether the change was saved, and repeat it if not.",
                ) from error
            raise full or EngineError(
                "change-not-saved",
                f"The database failed, and this change was not saved: {reason}",
                "The project is open again, and earlier changes are saved. Repeat this change.",
            ) from error

    def write(self, work: Callable[[Cursor], T]) -> T:
        """Return the result of `work`, done in a transaction; it is done again if DuckDB failed.

        Args:
            work: must be safe to repeat, because the first attempt may have been saved.

        Raises:
            EngineError: DuckDB failed again.
        """
        try:
            with self.transaction() as cursor:
                return work(cursor)
        except EngineError:
            with self.transaction() as cursor:
                return work(cursor)

    def state(self, but: tuple[str, ...] = ()) -> tuple[int, int, int]:
        """Return a value that changes whenever inputs of scores may have changed: a key for caches.

        Args:
            but: actions that leave the value unchanged.
        """
        # Caches use this number as a key, so only people who may read get it.
        self._check_reading()
        sql = _state_sql(SCORELESS + but)
        # Only this process writes, so without a commit since then the value is the same.
        last_commit, known = self._database.last_commit_for(sql), self._states.get(but)
        if known is not None and known[0] == last_commit:
            return known[1]
        # All actions count, also those that are hidden from the reader.
        row = self._stated(sql)[0]
        state = (int(row[0]), int(row[1]), int(row[2]))
        self._states[but] = last_commit, state
        return state

    def remember(self, key: Hashable, compute: Callable[[], T], but: tuple[str, ...] = (), given: Hashable = None) -> T:
        """Return the result of `compute`, computed again only after a change of inputs of scores.

        Args:
            key: identifies the result and all of its inputs other than the project's content.
            but: actions that do not change it.
            given: another input; only the result for its latest value is kept.
        """
        state, blinded = (self.state(but), given), self._blinded()
        touched = _TOUCHED.get()
        # A result that read nothing hidden is the same for all people.
        for at in (key,) if blinded is None else (key, ("seen by", blinded, key)):
            known = self._remembered.get(at)
            if known is not None and known[0] == state and (at is not key or blinded is None or not known[2]):
                if known[2] and touched is not None:
                    touched.append(True)
                return cast(T, known[1])
        mine: list[bool] = []
        token = _TOUCHED.set(mine)
        try:
            result = compute()
        finally:
            _TOUCHED.reset(token)
        if mine and touched is not None:
            touched.append(True)
        at = ("seen by", blinded, key) if blinded is not None and mine else key
        self._keep(self._remembered, at, (state, result, bool(mine)), REMEMBERED)
        return result

    def _keep(self, where: dict[Hashable, T], key: Hashable, what: T, most: int) -> None:
        with self._remembering:
            where.pop(key, None)
            where[key] = what
            while len(where) > most:
                where.pop(next(iter(where)))

    @contextmanager
    def unchanging(self) -> Iterator[None]:
        """Prevent writes to the file and its log during a block; reads continue."""
        with self._database.writing:
            yield

    def checkpoint_when_idle(self) -> None:
        """Write the log into the file from now on whenever no changes arrive for a few seconds.

        For a process that keeps the project open for long: a copy of the file made meanwhile is
        then complete.
        """
        self._database.checkpoint_when_idle()

    def checkpoint(self) -> bool:
        """Write the log into the file now; return whether that succeeded, see `Database.checkpoint`."""
        return self._database.checkpoint()

    def when_closed(self, act: Callable[[], None]) -> None:
        """Call a function before the file is closed, for any reason."""
        self._database.endings.append(act)

    def close(self) -> None:
        """Write all changes and close the file."""
        self._database.close()


def as_act(
    act: ActName,
) -> Callable[[Callable[Concatenate[Project, P], T]], Callable[Concatenate[Project, P], T]]:
    """Decorate a function of a project as an act: its role is checked, and its reads and writes belong to the act."""

    def doing(work: Callable[Concatenate[Project, P], T]) -> Callable[Concatenate[Project, P], T]:
        @wraps(work)
        def done(project: Project, /, *more: P.args, **named: P.kwargs) -> T:
            with project.doing(act):
                return work(project, *more, **named)

        return done

    return doing


def _state_sql(but: tuple[str, ...]) -> str:
    """Return a query for numbers that grow with every change of inputs of scores."""
    return (
        "SELECT (SELECT coalesce(max(activity_key), 0) FROM activity"
        f" WHERE NOT starts_with(act, 'export ') AND act NOT IN {but}),"
        " (SELECT count(*) FROM grades), (SELECT count(*) FROM failures)"
    )


def _question(sql: str, parameters: Parameters) -> Hashable | None:
    """Return the cache key of a query; None if it may write or has a long list as a parameter."""
    if not sql.lstrip().startswith(("SELECT", "WITH", "FROM")) or "nextval" in sql:
        return None
    values = parameters.values() if isinstance(parameters, dict) else parameters or ()
    if any(isinstance(value, (list, tuple)) and len(value) > SMALL_ANSWER for value in values):
        return None
    return sql, repr(parameters)


def _can_be_kept(rows: list[tuple[Any, ...]]) -> bool:
    """Return whether a result is small and has only immutable cells."""
    if len(rows) > SMALL_ANSWER or (rows and any(isinstance(cell, (list, dict)) for cell in rows[0])):
        return False
    return sum(len(cell) for row in rows for cell in row if isinstance(cell, str)) <= SHORT_ANSWER


def close_projects() -> None:
    """Close every project of this process. A server calls it on a signal, which skips Python's own exit handlers."""
    close_all()


LONGEST_AUTHOR = 256
"""Most characters of a person's name. A source is named after a person with a prefix, and may be twice as long."""


def log(cursor: Cursor, author: str, act: str, **detail: Any) -> int:
    """Record an action in the transaction that does it.

    Args:
        act: a verb and its object, such as "import run".
        detail: JSON values that describe it.

    Returns:
        The number of the action.

    Raises:
        NotAllowed: a person is logged in, and the name is not theirs.
        InputError: the name of the author is too long.
    """
    if (name := SPEAKING.get()) is not None:
        check_author(name, author)
    who = as_name(author)
    if len(who) > LONGEST_AUTHOR:
        raise InputError(
            "name-too-long",
            f"The author's name has {len(who):,} characters ({one_line(who, 40)}).",
            f"Use at most {LONGEST_AUTHOR}.",
        )
    rows = cursor.execute(
        "INSERT INTO activity VALUES (nextval('keys'), now()::TIMESTAMP, ?, ?, ?) RETURNING activity_key",
        # JSON escapes control characters; clean_text removes halves of surrogate pairs, which cannot be stored.
        [who, act, clean_text(json.dumps(detail, ensure_ascii=False))],
    ).fetchall()
    return int(rows[0][0])


def record(project: Project, author: str, act: str, **detail: Any) -> None:
    """Log an action that changes nothing, such as an export; in a read-only project do nothing."""
    if not project.read_only:
        with project.transaction(act="download") as cursor:
            log(cursor, author, act, **detail)


_recorded_as: ContextVar[str | None] = ContextVar("recorded as", default=None)


@contextmanager
def recorded_as(name: str) -> Iterator[None]:
    """Record the actions of this thread under another person's name until the block ends."""
    token = _recorded_as.set(name)
    try:
        yield
    finally:
        _recorded_as.reset(token)


def current_author() -> str:
    """Return the person for whom this thread works, else the user name of this process."""
    if (name := _recorded_as.get()) is not None:
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def as_name(text: str) -> str:
    """Return a name as it is recorded: on one line, without invisible characters."""
    return one_line(text)
