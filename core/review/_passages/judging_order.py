"""The passages of a query in the order in which an assessor judges them, with the assessor's own judgments."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from ...labels import Policy
from ...records import source_of, visible
from ...store import Project
from .passage_search import Filters, Listed, search_table, table_rows


@dataclass(frozen=True)
class ToJudge:
    """A passage to judge.

    Args:
        listed: the passage; its label and judgment are None for blind judging.
        own: the assessor's judgment; None if the passage is unjudged.
    """

    listed: Listed
    own: int | None


@dataclass(frozen=True)
class Turn:
    """The passages of a query to judge.

    Args:
        rows: the passages in the order of judging.
        following: the next query with unjudged passages; None without one.
    """

    query_id: str
    rows: list[ToJudge]
    following: str | None

    @property
    def judged(self) -> int:
        """Number of passages that the assessor has judged."""
        return sum(row.own is not None for row in self.rows)


def next_turn(
    project: Project, policy: Policy | None, filters: Filters, person: str, blind: bool, query_id: str | None = None
) -> Turn | None:
    """Return the passages of a query for an assessor to judge; None if no passage matches the filters.

    Args:
        policy: determines labels; None if nothing has been graded.
        person: name of the assessor; empty if unknown.
        blind: whether the passages have no labels and no judgments of `filters.source`, and a random order that differs
            between assessors and stays the same for each. Otherwise they have the order of the pool.
        query_id: the query. If it is None or has no matching passage: the first query with unjudged passages.

    Raises:
        InputError: the grader or version is unknown.
    """
    if blind:
        policy, filters = None, replace(filters, source=None)
    table = search_table(project, policy, filters)
    if not len(table):
        return None
    queries, passages = (table[name].to_numpy().astype(np.int64) for name in ("query_key", "passage_key"))
    places = queries << 32 | passages
    own = _own(project, person) if person else {}
    waiting = np.unique(queries[~np.isin(places, np.fromiter(own, np.int64, len(own)))])
    ids = dict(project.rows("SELECT query_key, query_id FROM queries"))
    here = next((key for key, name in ids.items() if name == query_id and key in queries), None)
    if here is None:
        here = int((waiting if len(waiting) else queries)[0])
    at = np.flatnonzero(queries == here).tolist()
    if blind:
        at.sort(key=lambda i: _order(person, here, int(passages[i])))
    listed = table_rows(project, table, at)
    following = [*waiting[waiting > here], *waiting[waiting < here]]
    rows = [ToJudge(listed[i], own.get(int(places[i]))) for i in at]
    return Turn(ids[here], rows, ids[int(following[0])] if following else None)


def _own(project: Project, person: str) -> dict[int, int]:
    """Return a person's judgments by place: the key of the query in the upper 32 bits, that of the passage below."""
    rows = project.rows(
        f"SELECT query_key, passage_key, value FROM {visible(project, 'judgments')} JOIN sources USING (source_key)"
        " WHERE name = ?",
        [source_of(person)],
    )
    return {query << 32 | passage: value for query, passage, value in rows}


def _order(person: str, query_key: int, passage_key: int) -> bytes:
    """Return the place of a passage in a person's random order, which new passages of the pool leave unchanged."""
    return hashlib.blake2b(f"{person}\n{query_key}\n{passage_key}".encode()).digest()
