"""Snapshots ("freezes") of live targets: finished ones, which became runs, and the responses of unfinished ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ..errors import unknown_name
from ..store import Cursor, Project, as_name, log
from ._queries import check_new


@dataclass(frozen=True)
class Freeze:
    """A snapshot of a live target's responses to many queries.

    Args:
        name: name of the run, or of the responses, made from the snapshot.
        url: the target's address.
        asked: digest of the settings for the request and for reading its answer.
        system: name of the run of responses; None without responses.
        queries, failed: numbers of queries sent and of unusable responses; None for an unfinished snapshot.
        came: number of queries answered so far; 0 for a finished snapshot.
        ended_at: None for an unfinished snapshot.
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
        """Whether queries remain to be sent."""
        return self.ended_at is None


@dataclass(frozen=True)
class FrozenQuery:
    """The response of a target to a query.

    Args:
        words: text of the query as it was sent.
        given: JSON with the passages and the answer.
        seconds: response time.
    """

    query_id: str
    words: str
    given: str
    seconds: float


def freezes(project: Project) -> list[Freeze]:
    """Return every snapshot, newest first, including unfinished ones."""
    return [
        Freeze(*row)
        for row in project.rows(
            "SELECT freeze_key, name, url, asked, system, queries, failed, author, started_at, ended_at, coalesce(n, 0)"
            " FROM freezes LEFT JOIN (SELECT freeze_key, count(*) AS n FROM frozen_queries GROUP BY 1)"
            " USING (freeze_key) ORDER BY freeze_key DESC"
        )
    ]


def begin_freeze(project: Project, name: str, url: str, asked: str, author: str) -> int:
    """Start a snapshot.

    Returns:
        Its key.

    Raises:
        InputError: the name is not valid for a run.
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
    """Store responses of a target in an unfinished snapshot; they replace its earlier responses to these queries."""
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
    """Return the responses of an unfinished snapshot by query id. Compare `words`: the text of a
    query may have changed.
    """
    return {
        row[0]: FrozenQuery(*row)
        for row in project.rows(
            "SELECT query_id, words, given, seconds FROM frozen_queries JOIN queries USING (query_key)"
            " WHERE freeze_key = ? ORDER BY query_key",
            [key],
        )
    }


def end_freeze(cursor: Cursor, key: int, system: str | None, queries: int, failed: int) -> None:
    """Mark a snapshot as finished; its stored responses are deleted, because the run holds them now."""
    cursor.execute("DELETE FROM frozen_queries WHERE freeze_key = ?", [key])
    cursor.execute(
        "UPDATE freezes SET system = ?, queries = ?, failed = ?, ended_at = now()::TIMESTAMP WHERE freeze_key = ?",
        [system, queries, failed, key],
    )


def drop_freeze(project: Project, name: str, author: str) -> int:
    """Discard an unfinished snapshot with its responses.

    Returns:
        The number of queries with responses.

    Raises:
        InputError: no unfinished snapshot has this name.
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
