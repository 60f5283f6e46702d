"""A project: a DuckDB file that one process opens, many threads read, and one thread writes at a
time.
"""

from __future__ import annotations

import copy
import getpass
import json
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

import duckdb
import lazy_loader

from ..errors import EngineError, InputError, NotAllowed
from ..grouping import group_pairs
from ..text import clean_text, one_line
from ._database import GIVEN_UP, Database, Reopening
from ._engine import first_line, no_room
from ._roles import (
    ACTS,
    DOING,
    MEMBERS,
    READERS,
    SPEAKING,
    TAKING_PART,
    ActName,
    Member,
    Queries,
    check_act,
    check_author,
    hold_value,
    no_role_error,
)
from ._sql_values import Parameters, written_in
from .cache import (
    HIDING,
    MISSING,
    SCORES,
    Cache,
    NotedCursor,
    tables_read,
    tables_written,
    with_views,
)

if TYPE_CHECKING:
    import pyarrow as pa


Cursor = duckdb.DuckDBPyConnection
T = TypeVar("T")
P = ParamSpec("P")

SCORELESS = ("publish qrels", "reproduce qrels")
"""Actions that change nothing from which results are computed, as exports do."""

CACHED_RESULTS = 250
"""Largest number of cached derived results."""
CACHED_ROWS = 300
"""Largest number of cached query results."""
SMALL_ANSWER = 500
"""Maximum number of rows of a cached query result."""
SHORT_ANSWER = 50_000
"""Maximum number of characters of all texts in a cached query result, and of its parameters."""
BATCH = 500_000
"""Rows per batch of a result that is streamed."""


class Project:
    """An open project. Make one with `create_project` or `open_project`; close it when done.

    After a fatal error of DuckDB the file is closed and opened again, and `reopenings` gains an
    entry. Reads are repeated, and an unfinished change is undone.

    Each person who works with it has a handle of the same open project. Without an identity
    everything is allowed. `acting_as` returns a handle for a person who is logged in. Reads and
    writes through that handle are refused if the role of the person does not allow them. A read
    counts as "read the bank" and a write as "organize", unless a surrounding block or function
    names another act.

    Attributes:
        path: the DuckDB file.
        read_only: whether it was opened for reading only.
        not_closed: a warning if the file was not closed after its last use; else it is empty.
    """

    def __init__(self, database: Database, not_closed: str = "") -> None:
        self.identity: str | None = None
        """The identity for which this handle acts; None for a person without a login."""
        self.reader: str | None = None
        """The name that a person without a login entered, see `seen_by`; None without one."""
        self.part: tuple[float, int, bool] | None = None
        """The judgments that this handle reads, see `judged_by_part`; None for all."""
        self._began: str | None = None
        self._find: Callable[[], Member | None] | None = None
        self.not_closed = not_closed
        self._database = database
        self._cursor: Callable[[], AbstractContextManager[Cursor]] = database.cursor
        self.path, self.read_only = database.path, database.read_only
        self._results, self._rows = Cache(CACHED_RESULTS), Cache(CACHED_ROWS)

    @property
    def working_folder(self) -> Path:
        """A private folder for passing files: the only one that statements may read and write."""
        return self._database.working_folder

    @property
    def name(self) -> str:
        """The file's name without its suffix, as shown to people."""
        return self.path.stem

    @property
    def closed(self) -> bool:
        """Whether it was closed, through any handle."""
        return self._database.closed

    @property
    def reopenings(self) -> tuple[Reopening, ...]:
        """The reopenings of the file after fatal errors since the opening, oldest first."""
        return self._database.reopenings

    @contextmanager
    def cursor(self) -> Iterator[Cursor]:
        """Yield a cursor for a block that only reads, for one thread. Prefer `read`, which repeats
        failed work.
        """
        self._check_reading()
        with self._cursor() as cursor:
            yield cursor

    def read(self, work: Callable[[Cursor], T]) -> T:
        """Call `work` with a cursor and return its result; repeat the call once if the database
        fails.

        Raises:
            EngineError: the database failed twice.
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
                "Saved changes are not lost. If this happens again, export the project (exam export"
                " project) and report this message.",
            ) from error

    def rows(self, sql: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        """Return every row of a query as tuples.

        Results are cached until data that the query could read is written, because screens repeat
        queries at every redraw.
        """
        self._check_reading()
        return self._unchecked_rows(sql, parameters)

    def _unchecked_rows(self, sql: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        key, version = _cache_key(sql, parameters), self._database.version(tables_read(sql))
        rows: Any = MISSING if key is None else self._rows.find(key, version)
        if rows is MISSING:
            written, left = written_in(sql, parameters)
            rows = self._read(lambda cursor: cursor.execute(written, left).fetchall())
            if key is not None and _can_be_kept(rows):
                self._rows.keep(key, version, rows)
        return list(rows)

    def table(self, sql: str, parameters: Parameters = None) -> pa.Table:
        """Return the result of a query as an Arrow table."""
        self._check_reading()
        written, left = written_in(sql, parameters)
        # Not `cursor.sql`: DuckDB computes a relation with parameters completely before reading it,
        # 30 times as slow.
        return self._read(lambda cursor: cursor.execute(written, left).to_arrow_table())

    def batches(
        self, sql: str, parameters: Parameters, take: Callable[[Iterable[pa.RecordBatch]], T]
    ) -> T:
        """Return the result of `take` on the record batches of a query, which are never in memory
        all at once.

        Args:
            take: must not use the project in other ways. It is called again after a fatal error of
                DuckDB.
        """
        self._check_reading()
        written, left = written_in(sql, parameters)
        return self._read(lambda cursor: take(cursor.execute(written, left).to_arrow_reader(BATCH)))

    def value(self, sql: str, parameters: Parameters = None) -> Any:
        """Return the first column of the first row of a query, or None without rows."""
        self._check_reading()
        rows = self._unchecked_rows(sql, parameters)
        return rows[0][0] if rows else None

    @contextmanager
    def transaction(
        self, act: ActName | None = None, queries: Queries = (), author: str | None = None
    ) -> Iterator[Cursor]:
        """Yield a cursor whose writes all take effect, or none of them if the block raises.

        Args:
            act: permission that it needs; None means that of the surrounding block, or "organize".
            queries, author: as in `require`.

        Raises:
            NotAllowed: the person may not do the act. Nothing was written.
            EngineError: DuckDB failed. Nothing was written, unless the commit itself failed: then
                this is unknown.
        """
        with self._writing_as(act, queries, author), self._transaction() as cursor:
            yield cursor

    @contextmanager
    def _transaction(self) -> Iterator[Cursor]:
        committing = False
        written: set[str] = set()
        try:
            with self.cursor() as cursor, self._database.writing:
                self._database.before_change(cursor)
                cursor.execute("BEGIN")
                try:
                    yield cast(
                        Cursor, NotedCursor(cursor, lambda sql: written.update(tables_written(sql)))
                    )
                except GIVEN_UP:
                    raise
                except BaseException:
                    cursor.execute("ROLLBACK")
                    raise
                committing = True
                try:
                    cursor.execute("COMMIT")
                finally:
                    self._database.committed(written)
        except GIVEN_UP as error:
            if self._database.in_block:
                raise
            full = no_room(self.path, error)
            reason = "the disk is full" if full else first_line(error)
            if committing:
                raise EngineError(
                    "change-in-doubt",
                    f"The database failed while saving this change: {reason}",
                    "The project is open again. Check whether the change was saved,"
                    " and repeat it if not.",
                ) from error
            raise full or EngineError(
                "change-not-saved",
                f"The database failed, and this change was not saved: {reason}",
                "The project is open again, and earlier changes are saved. Repeat this change.",
            ) from error

    def write(self, work: Callable[[Cursor], T]) -> T:
        """Call `work` in a transaction and return its result; repeat the call once if DuckDB fails.

        Args:
            work: must be safe to repeat, because the first attempt may have been saved.

        Raises:
            EngineError: DuckDB failed twice.
        """
        try:
            with self.transaction() as cursor:
                return work(cursor)
        except EngineError:
            with self.transaction() as cursor:
                return work(cursor)

    def version(self, tables: Collection[str] | None = None) -> int:
        """Return a number that grows with every commit to one of these tables; None stands for all
        tables.
        """
        return self._database.version(tables)

    def cached(self, key: Hashable, compute: Callable[[], T], reads: frozenset[str] = SCORES) -> T:
        """Return the result of `compute`, computed again only after a commit to a table that it
        reads.

        A result from tables with hidden rows is cached for each person from whom rows are hidden,
        and a result from judgments for each handle that reads only some of them.

        Args:
            key: identifies the result and all of its inputs other than the project's content.
            reads: the tables that it reads; a view includes the tables behind it. See `cache` for
                named sets.
        """
        self._check_reading()
        if not HIDING.isdisjoint(reads) and (person := self.limited_to()) is not None:
            key = person, key
        if self.part is not None and "judgments" in reads:
            key = self.part, key
        tables = with_views(reads)
        version = self.version(tables)
        result = self._results.find(key, version)
        if result is MISSING:
            try:
                result = compute()
            except Exception:
                # A commit may have changed one of several tables after the others were read.
                if self.version(tables) == version:
                    raise
                version = self.version(tables)
                result = compute()
            self._results.keep(key, version, result)
        return cast(T, result)

    def unchanging(self) -> AbstractContextManager[bool]:
        """Prevent writes to the file and its log during a block; reads continue."""
        return self._database.writing

    def checkpoint_when_idle(self) -> None:
        """Write the log into the file from now on whenever no changes arrive for a few seconds.

        Use it in a process that keeps the project open for long, so that copies of the file are
        complete.
        """
        self._database.checkpoint_when_idle()

    def when_closed(self, act: Callable[[], object]) -> None:
        """Call a function before the file is closed, for any reason."""
        self._database.endings.append(act)

    def close(self, when_unused: bool = False) -> bool:
        """Write changes and close the file; return whether it is closed, see `Database.close`."""
        return self._database.close(when_unused)

    def acting_as(self, identity: str, find: Callable[[], Member | None] | None = None) -> Self:
        """Return a handle of the same open project for a person who is logged in. Every act checks
        their current role.

        Args:
            identity: the identity of the login, see `project.identity_of`.
            find: looks the person up; None searches the members of the project.
        """
        return self._copy_with(identity=identity, _find=find)

    def seen_by(self, name: str) -> Self:
        """Return a handle of the same open project for a person without a login who entered their
        name.

        They may do everything. In their own double assignments the judgments of the other assessors
        are hidden.
        """
        return self._copy_with(reader=name or None)

    def judged_by_part(self, part: tuple[float, int, bool]) -> Self:
        """Return a handle of the same open project that reads only some judgments, see `held_out`.

        Args:
            part: share and seed of the judgments that are held out, and whether it reads these, or
                all others.
        """
        return self._copy_with(part=part)

    def unattended(self) -> Self:
        """Return a handle without permission checks, for a job that outlives the act that started
        it.
        """
        return self._copy_with(_began=self.caller, identity=None, reader=None)

    def _copy_with(self, **changed: object) -> Self:
        other = copy.copy(self)
        vars(other).update(changed)
        return other

    @property
    def caller(self) -> str | None:
        """The identity that pays for model calls: `identity`, or that of the act which started
        unattended work.
        """
        return self.identity or self._began

    def members(self) -> dict[str, Member]:
        """Return everyone who has a role in the project, by identity and ordered by name."""
        further: dict[str, list[str]] = group_pairs(self._unchecked_rows(TAKING_PART))
        return {
            identity: Member(
                identity,
                name,
                role,
                None if queries is None else tuple(json.loads(queries)),
                tuple(further.get(name, ())),
            )
            for identity, name, role, queries in self._unchecked_rows(MEMBERS)
            if role is not None
        }

    def organizers(self) -> list[str]:
        """Return the names of the organizers, whom other people can ask for a role."""
        return [one.name for one in self.members().values() if one.role == "organizer"]

    def member(self) -> Member | None:
        """Return the person for whom this handle acts, with their current role; None without a
        login.

        Raises:
            NotAllowed: they have no role in the project.
        """
        if self.identity is None:
            return None
        member = self.members().get(self.identity) if self._find is None else self._find()
        if member is None:
            raise no_role_error(self.identity, self.organizers())
        return member

    def require(self, act: ActName, queries: Queries = (), author: str | None = None) -> None:
        """Refuse an act if the role of the person does not include it.

        Args:
            act: a key of `ACTS`.
            queries: ids of the queries of the act, or a function that returns them; it is called
                only if needed.
            author: the name to record, if one was given.

        Raises:
            NotAllowed: the message names the role that is needed and the organizers to ask.
        """
        if (member := self.member()) is not None:
            check_act(member, act, queries, author, self.organizers())

    def allows(self, act: ActName, *queries: str) -> bool:
        """Return whether `require` would allow an act, so that a screen offers only these."""
        try:
            self.require(act, queries)
        except NotAllowed:
            return False
        return True

    @contextmanager
    def permit(
        self, act: ActName, queries: Queries = (), author: str | None = None
    ) -> Iterator[None]:
        """Check the role for an act, then run the block; its reads and writes need no further
        permission.

        Raises:
            NotAllowed: as in `require`.
        """
        if self.identity is None and self.reader is None:
            yield
            return
        self.require(act, queries, author)
        with hold_value(DOING, act):
            yield

    def _check_reading(self) -> None:
        if self.identity is not None and DOING.get() is None:
            self.require("read the bank")

    def limited_to(self) -> str | None:
        """Return the name of the reader from whom values are hidden now; None if nothing is hidden.

        The result is "" for a person without an open double assignment. Acts for organizers only,
        such as an export of everything, hide nothing.
        """
        act = DOING.get()
        if (self.identity is None and self.reader is None) or (
            act is not None and ACTS[act].role == "organizer"
        ):
            return None
        parts: dict[str, bool] = dict(self._unchecked_rows(READERS))
        if not parts:
            return None
        member = self.member()
        name = member.name if member is not None else self.reader or ""
        if member is not None and member.role != "organizer":
            return name if name in parts else ""
        return name if parts.get(name) else None

    def hides_judgments(self, name: str, adjudicator: str | None) -> bool:
        """Return whether the judgments of a person in an open double assignment are hidden from
        this reader.

        Args:
            name: the name of the assessor who judged.
            adjudicator: the person who decides on differences in that assignment.
        """
        reader = self.limited_to()
        return reader is not None and reader not in (name, adjudicator)

    @contextmanager
    def _writing_as(
        self, act: ActName | None, queries: Queries, author: str | None
    ) -> Iterator[None]:
        """Check the role before a transaction, and record the name of the member during it."""
        if self.identity is None and self.reader is None:
            yield
            return
        if act is None:
            around = DOING.get()
            act = around if around is not None and ACTS[around].writes else "organize"
        with self.permit(act, queries, author):
            member = self.member()
            with hold_value(SPEAKING, member.name if member else None):
                yield


def as_act(
    act: ActName, at_face: bool = True
) -> Callable[[Callable[Concatenate[Project, P], T]], Callable[Concatenate[Project, P], T]]:
    """Decorate a function of a project: the role is checked at its call, and its reads and writes
    belong to the act.

    Args:
        at_face: whether only calls through the face of its package are checked, see `attach_face`.
            A call from within the package belongs to the act of its caller.
    """

    def decorate(
        work: Callable[Concatenate[Project, P], T],
    ) -> Callable[Concatenate[Project, P], T]:
        @wraps(work)
        def checked_work(project: Project, /, *more: P.args, **named: P.kwargs) -> T:
            with project.permit(act):
                return work(project, *more, **named)

        if not at_face:
            return checked_work
        vars(work)[CHECKED] = checked_work
        return work

    return decorate


CHECKED = "checked_work"
"""Name of the attribute of a function with the check of its role."""


def attach_face(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose stub lists its names.

    A function that is decorated with `as_act` gets the check of its role.

    Args:
        package, file: name and file of the package.
    """
    find, list_names, names = lazy_loader.attach_stub(package, file)

    def find_checked(name: str) -> Any:
        known = find(name)
        return getattr(known, CHECKED, known)

    return find_checked, list_names, names


def cached(
    reads: frozenset[str] = SCORES,
) -> Callable[[Callable[Concatenate[Project, P], T]], Callable[Concatenate[Project, P], T]]:
    """Decorate a function of a project: `Project.cached` keeps its results by its arguments.

    An argument that has a `key`, such as an audit, stands for its key. The others must be hashable.
    """

    def caching(work: Callable[Concatenate[Project, P], T]) -> Callable[Concatenate[Project, P], T]:
        @wraps(work)
        def result(project: Project, /, *more: P.args, **named: P.kwargs) -> T:
            given = (getattr(value, "key", value) for value in (*more, *named.values()))
            key = (work.__module__, work.__qualname__, *named, *given)
            return project.cached(key, partial(work, project, *more, **named), reads)

        return result

    return caching


def _cache_key(sql: str, parameters: Parameters) -> Hashable | None:
    """Return the cache key of a query; None if it may write or has long parameters."""
    if not sql.lstrip().startswith(("SELECT", "WITH", "FROM")) or "nextval" in sql:
        return None
    written = repr(parameters)
    return (sql, written) if len(written) <= SHORT_ANSWER else None


def _can_be_kept(rows: list[tuple[Any, ...]]) -> bool:
    """Return whether a result is small and has only immutable cells."""
    if len(rows) > SMALL_ANSWER or (
        rows and any(isinstance(cell, (list, dict)) for cell in rows[0])
    ):
        return False
    return sum(len(cell) for row in rows for cell in row if isinstance(cell, str)) <= SHORT_ANSWER


LONGEST_AUTHOR = 256
"""Maximum number of characters of a person's name. The name of a source (a prefix and a name) may
have twice as many.
"""


def log_action(cursor: Cursor, author: str, act: str, **detail: Any) -> int:
    """Record an action in the transaction that executes it.

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
        "INSERT INTO activity VALUES (nextval('keys'), now()::TIMESTAMP, ?, ?, ?)"
        " RETURNING activity_key",
        # JSON escapes control characters; clean_text removes halves of surrogate pairs, which
        # cannot be stored.
        [who, act, clean_text(json.dumps(detail, ensure_ascii=False))],
    ).fetchall()
    return int(rows[0][0])


def log_readonly_action(project: Project, author: str, act: str, **detail: Any) -> None:
    """Log an action that changes no data, such as an export; in a read-only project do nothing."""
    if not project.read_only:
        with project.transaction(act="download") as cursor:
            log_action(cursor, author, act, **detail)


_recorded_as: ContextVar[str | None] = ContextVar("recorded as", default=None)


def recorded_as(name: str) -> AbstractContextManager[None]:
    """Record the actions of this thread under another person's name until the block ends."""
    return hold_value(_recorded_as, name)


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


def read_setting(project: Project, name: str) -> str | None:
    """Return the value of a setting; None if it was never set."""
    value: str | None = project.value("SELECT value FROM settings WHERE name = ?", [name])
    return value


def put_setting(cursor: Cursor, name: str, value: str | None) -> None:
    """Set a value; None removes the setting."""
    if value is None:
        cursor.execute("DELETE FROM settings WHERE name = ?", [name])
    else:
        cursor.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", [name, value])


Q = TypeVar("Q", bound=Hashable)


@dataclass
class _QueryParts:
    """The mark and part of each query, and the objects on which all parts depend. They are replaced
    together.
    """

    content: tuple[Mapping[Any, tuple[Hashable, Any]], tuple[object, ...]] = field(default=({}, ()))


def by_query(
    project: Project,
    key: Hashable,
    marks: Mapping[Q, Hashable],
    make: Callable[[Sequence[Q]], Mapping[Q, T]],
    made_of: Sequence[object] = (),
) -> dict[Q, T]:
    """Return the parts of a result by query; compute only those whose mark changed.

    Callers must not change a part, because later calls return the same object.

    Args:
        key: identifies the result with everything that its parts depend on, except `marks` and
            `made_of`.
        marks: by query, a value that changes if its part may change: content or a hash, never a
            state number.
        make: computes the parts of the given queries, some or all.
        made_of: objects on which every part depends. All parts are computed again if one of these
            objects was replaced by another object, such as a table that was read again.

    Returns:
        The part of each query of `marks`, in their order.
    """
    stored_parts = project.cached(("by query", key), _QueryParts, reads=frozenset())
    known_parts, before = stored_parts.content
    if len(before) != len(made_of) or any(
        old is not new for old, new in zip(before, made_of, strict=True)
    ):
        known_parts = {}
    changed = [
        query
        for query, mark in marks.items()
        if query not in known_parts or known_parts[query][0] != mark
    ]
    made = make(changed) if changed else {}
    parts = {
        query: (mark, made[query] if query in made else known_parts[query][1])
        for query, mark in marks.items()
    }
    stored_parts.content = parts, tuple(made_of)
    return {query: part for query, (_, part) in parts.items()}
