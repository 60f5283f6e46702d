"""Freezes of live targets in a project: those that became runs, and what came so far of those that are under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ..errors import unknown_name
from .project import Cursor, Project, as_name, log
from .queries import check_new


@dataclass(frozen=True)
class Freeze:
    """A live target as it was asked for many queries.

    Args:
        name: of the run, or of the responses, that it becomes.
        url: the target's address.
        asked: digest of what decides what is sent and how the answer is read.
        system: its run of responses; None where it has none.
        queries, failed: how many were asked, and how many gave nothing usable; None while it is open.
        came: queries that gave something, of an open one; 0 where it ended.
        ended_at: None while it is open.
    """

    key: int
    name: str
    url: str
    asked: str
    system: str | None
    queries: int | None
    failed: int | None
    author: str
    started_at: datetime
    ended_at: datetime | None
    came: int = 0

    @property
    def open(self) -> bool:
        """Whether queries are still to be asked."""
        return self.ended_at is None


@dataclass(frozen=True)
class FrozenQuery:
    """What a target gave for a query.

    Args:
        words: of the query as it was asked.
        given: JSON with the passages and the answer.
        seconds: that it took.
    """

    query_id: str
    words: str
    given: str
    seconds: float


def freezes(project: Project) -> list[Freeze]:
    """Every freeze, the newest first, the open ones as well."""
    return [
        Freeze(*row)
        for row in project.rows(
            "SELECT freeze_key, name, url, asked, system, queries, failed, author, started_at, ended_at, coalesce(n, 0)"
            " FROM freezes LEFT JOIN (SELECT freeze_key, count(*) AS n FROM frozen_queries GROUP BY 1)"
            " USING (freeze_key) ORDER BY freeze_key DESC"
        )
    ]


def begin_freeze(project: Project, name: str, url: str, asked: str, author: str) -> int:
    """Open a freeze.

    Returns:
        Its key.

    Raises:
        InputError: the name cannot be that of a run.
    """
    with project.transaction() as cursor:
        check_new(cursor, "run", [name])
        ((key,),) = cursor.execute(
            "INSERT INTO freezes (freeze_key, name, url, asked, author, started_at)"
            " VALUES (nextval('keys'), ?, ?, ?, ?, now()::TIMESTAMP) RETURNING freeze_key",
            [name, url, asked, as_name(author)],
        ).fetchall()
    return int(key)


def add_frozen(cursor: Cursor, key: int, some: Sequence[FrozenQuery]) -> None:
    """Keep what a target gave for queries of an open freeze, in the place of what it gave before."""
    for one in some:
        cursor.execute(
            "DELETE FROM frozen_queries WHERE freeze_key = ?"
            " AND query_key = (SELECT query_key FROM queries WHERE query_id = ?)",
            [key, one.query_id],
        )
        cursor.execute(
            "INSERT INTO frozen_queries SELECT ?, query_key, ?, ?, ? FROM queries WHERE query_id = ?",
            [key, one.words, one.given, one.seconds, one.query_id],
        )


def frozen_so_far(project: Project, key: int) -> dict[str, FrozenQuery]:
    """What came of an open freeze, by query id; of a query whose words changed since, it came for others."""
    return {
        row[0]: FrozenQuery(*row)
        for row in project.rows(
            "SELECT query_id, words, given, seconds FROM frozen_queries JOIN queries USING (query_key)"
            " WHERE freeze_key = ? ORDER BY query_key",
            [key],
        )
    }


def end_freeze(cursor: Cursor, key: int, system: str | None, queries: int, failed: int) -> None:
    """Say of a freeze what it became; what came query by query stands in the run from now on."""
    cursor.execute("DELETE FROM frozen_queries WHERE freeze_key = ?", [key])
    cursor.execute(
        "UPDATE freezes SET system = ?, queries = ?, failed = ?, ended_at = now()::TIMESTAMP WHERE freeze_key = ?",
        [system, queries, failed, key],
    )


def drop_freeze(project: Project, name: str, author: str) -> int:
    """Give up an open freeze: what came so far goes.

    Returns:
        The number of queries that had come.

    Raises:
        InputError: there is no open freeze of this name.
    """
    unfinished = {one.name: one for one in freezes(project) if one.open}
    found = unfinished.get(name)
    if found is None:
        hint = "A finished snapshot is a run and cannot be discarded."
        raise unknown_name("unknown-freeze", "unfinished snapshot", name, unfinished, hint)
    with project.transaction() as cursor:
        cursor.execute("DELETE FROM frozen_queries WHERE freeze_key = ?", [found.key])
        cursor.execute("DELETE FROM freezes WHERE freeze_key = ?", [found.key])
        log(cursor, author, "drop freeze", name=name, queries=found.came)
    return found.came
