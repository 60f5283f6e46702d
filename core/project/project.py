"""A project: one DuckDB file, opened by one process, read by many threads and written by one at a time."""

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
"""Acts that leave everything as it is that results derive from, as exports do."""

OVERRIDING = ("override", "withdraw override")
"""Acts that change what people say of questions, and nothing else."""
ABOUT_QUESTIONS = (*OVERRIDING, "save bank")
"""Acts that leave judgments as they are, and runs, passages and grades."""


_TOUCHED: ContextVar[list[bool] | None] = ContextVar("touched", default=None)
"""Grows where what is being worked out reads something that may be hidden from somebody."""

REMEMBERED = 200
"""Derived results that are kept at most; the oldest goes when one more comes."""
KNOWN_ANSWERS = 300
"""Answers of the database that are kept at most until something is written; likewise."""
SMALL_ANSWER = 500
"""Rows of an answer that is kept, and values of a list that is asked with."""
SHORT_ANSWER = 50_000
"""Characters of all texts in an answer that is kept."""
BATCH = 500_000
"""Rows of a part of a result that comes part by part."""


class Project(Acting):
    """An open project. Make one with `create` or `open_project`; close it when done.

    Where the engine gives up, the file is closed and opened again: what only read is repeated, a change that was
    under way is undone, and `reopenings` tells that it happened. `not_closed` says what is to be known where the file
    was not closed when it was used last; it is empty otherwise.

    What somebody who is logged in may do with it is said by `Acting`.
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
        """What all handles of this open project have in common: a key for what is known of it."""
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
        """The file's name without its ending, as people call the project."""
        return self.path.stem

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written, because it was opened beside others that read it."""
        return self._database.read_only

    @property
    def closed(self) -> bool:
        """Whether it was closed, through whichever handle."""
        return self._database.closed

    @property
    def reopenings(self) -> tuple[Reopening, ...]:
        """When the file had to be closed and opened again since the project was opened, oldest first."""
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
        """Return what `work` reads. It is called again if the database failed meanwhile.

        Raises:
            EngineError: it failed at the same work again.
        """
        self._check_reading()
        return self._read(work)

    def _read(self, work: Callable[[Cursor], T]) -> T:
        try:
            with self._cursor() as cursor:
                return work(cursor)
        except GIVEN_UP:
            if self._database.in_block:
                # The block around this one has the old file open: it has to end first.
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
        """Every row of a query as tuples; one that was asked before is answered again without asking, where nothing
        was written since that it could read: a screen asks much the same at every redraw."""
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
        """The result of a query as an Arrow table."""
        self._check_reading()
        written, left = written_in(sql, parameters)
        # Not by `sql`: a relation with parameters is worked out whole before it is read, thirty times as long.
        return self._read(lambda cursor: cursor.execute(written, left).to_arrow_table())

    def batches(self, sql: str, parameters: Parameters, take: Callable[[Iterable[pa.RecordBatch]], T]) -> T:
        """What `take` makes of the result of a query, which comes to it part by part and never lies in memory whole.

        Args:
            take: asks nothing else of the project meanwhile; called again where the engine gave up.
        """
        self._check_reading()
        written, left = written_in(sql, parameters)
        return self._read(lambda cursor: take(cursor.execute(written, left).to_arrow_reader(BATCH)))

    def value(self, sql: str, parameters: Parameters = None) -> Any:
        """The first column of the first row of a query, or None where there is no row."""
        rows = self.rows(sql, parameters)
        return rows[0][0] if rows else None

    @contextmanager
    def transaction(
        self, only: str = "", act: ActName | None = None, queries: Queries = (), author: str | None = None
    ) -> Iterator[Cursor]:
        """A cursor whose writes all take effect, or, where the block raises, none of them.

        Args:
            only: where it writes to nothing but tables that have this word in their names, and no relation of another
                name shows them: what was asked without the word stays known.
            act: what is done; for None the act that is under way, or "organize".
            queries, author: as `require` takes them.

        Raises:
            NotAllowed: whoever it acts for may not do it. Nothing was written.
            EngineError: the engine gave up. Nothing was written, or, where it gave up at the very end, that is
                unknown.
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
                "The project is open again with all earlier changes. Repeat this change.",
            ) from error

    def write(self, work: Callable[[Cursor], T]) -> T:
        """What `work` gives, done in a transaction; done again where the engine gave up meanwhile.

        Args:
            work: changes nothing where what it writes is there already, since that may be unknown.

        Raises:
            EngineError: the engine gave up again.
        """
        try:
            with self.transaction() as cursor:
                return work(cursor)
        except EngineError:
            with self.transaction() as cursor:
                return work(cursor)

    def state(self, but: tuple[str, ...] = ()) -> tuple[int, int, int]:
        """A value that differs whenever anything that scores derive from may differ: a key for caches.

        Args:
            but: acts after which it stays as it was.
        """
        # What is known of a project is kept by this number, so that nobody comes by it who may not read.
        self._check_reading()
        sql = _state_sql(SCORELESS + but)
        # Nobody writes but through this process, so there is nothing to ask where it has not.
        last_commit, known = self._database.last_commit_for(sql), self._states.get(but)
        if known is not None and known[0] == last_commit:
            return known[1]
        # All acts count, those as well that are hidden from whoever asks.
        row = self._stated(sql)[0]
        state = (int(row[0]), int(row[1]), int(row[2]))
        self._states[but] = last_commit, state
        return state

    def remember(self, key: Hashable, compute: Callable[[], T], but: tuple[str, ...] = (), given: Hashable = None) -> T:
        """What `compute` gives, computed again only when something that scores derive from changed.

        Args:
            key: names the result together with everything but the project's content that it depends on.
            but: acts that change nothing of it.
            given: something else that it depends on, of which there is one at a time.
        """
        state, blinded = (self.state(but), given), self._blinded()
        touched = _TOUCHED.get()
        # What rests on nothing that is hidden from anybody is the same for all.
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
        """For the time of a block nothing is written, neither to the file nor to its log; reading goes on."""
        with self._database.writing:
            yield

    def checkpoint_when_idle(self) -> None:
        """From now on, whenever nobody has written for a few seconds, see to it that the file alone holds everything.

        For a process that keeps the project open for long: whoever copies the file meanwhile copies all of it.
        """
        self._database.checkpoint_when_idle()

    def checkpoint(self) -> bool:
        """Let the file alone hold everything, at once; whether it does: see `Database.checkpoint`."""
        return self._database.checkpoint()

    def when_closed(self, act: Callable[[], None]) -> None:
        """Do something before the file is let go of, however that comes about."""
        self._database.endings.append(act)

    def close(self) -> None:
        """Write everything out and let go of the file."""
        self._database.close()


def as_act(
    act: ActName,
) -> Callable[[Callable[Concatenate[Project, P], T]], Callable[Concatenate[Project, P], T]]:
    """Let a function of a project do an act: its role is checked, and what it reads and writes is part of the act."""

    def doing(work: Callable[Concatenate[Project, P], T]) -> Callable[Concatenate[Project, P], T]:
        @wraps(work)
        def done(project: Project, /, *more: P.args, **named: P.kwargs) -> T:
            with project.doing(act):
                return work(project, *more, **named)

        return done

    return doing


def _state_sql(but: tuple[str, ...]) -> str:
    """Numbers that grow with whatever scores derive from, as a query."""
    return (
        "SELECT (SELECT coalesce(max(activity_key), 0) FROM activity"
        f" WHERE NOT starts_with(act, 'export ') AND act NOT IN {but}),"
        " (SELECT count(*) FROM grades), (SELECT count(*) FROM failures)"
    )


def _question(sql: str, parameters: Parameters) -> Hashable | None:
    """What tells one question to the database from another; None where it may write, or has a long list in it."""
    if not sql.lstrip().startswith(("SELECT", "WITH", "FROM")) or "nextval" in sql:
        return None
    values = parameters.values() if isinstance(parameters, dict) else parameters or ()
    if any(isinstance(value, (list, tuple)) and len(value) > SMALL_ANSWER for value in values):
        return None
    return sql, repr(parameters)


def _can_be_kept(rows: list[tuple[Any, ...]]) -> bool:
    """Whether an answer is small, and nobody who gets it can change what is in its rows."""
    if len(rows) > SMALL_ANSWER or (rows and any(isinstance(cell, (list, dict)) for cell in rows[0])):
        return False
    return sum(len(cell) for row in rows for cell in row if isinstance(cell, str)) <= SHORT_ANSWER


def close_projects() -> None:
    """Close every project that this process has open: for a server, which a signal ends before Python's own end."""
    close_all()


LONGEST_AUTHOR = 256
"""The most characters of a person's name. With a prefix it is the name of a source, which may have twice as many."""


def log(cursor: Cursor, author: str, act: str, **detail: Any) -> int:
    """Record who did what, in the transaction that does it.

    Args:
        act: a verb and its object, such as "import run".
        detail: what it was about; JSON values.

    Returns:
        The number of the act.

    Raises:
        NotAllowed: somebody is logged in, and it is not their name.
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
        # JSON writes control signs out; halves of surrogate pairs, which cannot be stored, are all that is left.
        [who, act, clean_text(json.dumps(detail, ensure_ascii=False))],
    ).fetchall()
    return int(rows[0][0])


def record(project: Project, author: str, act: str, **detail: Any) -> None:
    """Log an act that changes nothing, as an export; a project that can only be read is read without a record."""
    if not project.read_only:
        with project.transaction(act="download") as cursor:
            log(cursor, author, act, **detail)


_recorded_as: ContextVar[str | None] = ContextVar("recorded as", default=None)


@contextmanager
def recorded_as(name: str) -> Iterator[None]:
    """Let what this thread does be recorded under a name until the block ends, as where it works for somebody else."""
    token = _recorded_as.set(name)
    try:
        yield
    finally:
        _recorded_as.reset(token)


def current_author() -> str:
    """The name under which the person at this machine is recorded, or whoever this thread works for."""
    if (name := _recorded_as.get()) is not None:
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def as_name(text: str) -> str:
    """What somebody gives for a name, as it is recorded: on one line, without signs that nobody sees."""
    return one_line(text)
