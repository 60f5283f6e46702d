"""Search for passages of the pool, in pages and in an assessor's order."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from ...bank import label_graders, speaking_passages
from ...choices import GradingState
from ...labels import Basis, Policy, basis, pool_summary
from ...records import source_of, visible_rows
from ...store import Cursor, Project

NONE: Literal["none"] = "none"
"""The filter for passages without a label or without a judgment. It is not a number, because
judgments can be negative.
"""

BEFORE_ALL = -1
"""A key or position that is less than every other."""

EXCERPT = 160
"""Number of characters of a passage that the list shows."""


@dataclass(frozen=True)
class Filters:
    """Filters of the pool's passages; a filter that is None, empty or False is off.

    Args:
        query_id: the passage belongs to this query.
        words: the text contains these words, ignoring case, or the id equals them.
        label: the passage has this label under the policy; NONE for no label.
        rating: an active question has this rating.
        source, judgment: this source has this judgment; NONE for no judgment. The source alone
            filters nothing.
        run, depth: the passage is among the first `depth` passages of this run.
        state: some pairs have failed, some pairs are ungraded, or all pairs have a rating.
        flagged: the label and the judgment of `source` disagree on relevance.
        overridden: an override counts for a pair of the passage.
        unjudged_by: this source has no judgment of the passage.
        assigned_to: this person judges the passage in an open double assignment.
        speaking: the text addresses the grader, see `speaking`.
    """

    query_id: str | None = None
    words: str = ""
    label: int | Literal["none"] | None = None
    rating: int | None = None
    source: str | None = None
    judgment: int | Literal["none"] | None = None
    run: str | None = None
    depth: int = 10
    state: GradingState | None = None
    flagged: bool = False
    overridden: bool = False
    unjudged_by: str | None = None
    assigned_to: str | None = None
    speaking: bool = False


@dataclass(frozen=True)
class ListedPassage:
    """A passage in the list. `place` counts from 1 over all pages. `judgment` is from the source in
    the filters.
    """

    place: int
    query_id: str
    query: str
    passage_id: str
    excerpt: str | None
    label: int | None
    judgment: int | None
    failed: int
    ungraded: int
    overridden: bool


@dataclass(frozen=True)
class SearchPage:
    """One page of the search results.

    Args:
        total: number of passages on all pages.
        page: number of this page, from 1.
        rows: the passages of the page.
        here: the open passage; None if it does not match the filters.
        before, after: the results before and after the open passage, even if the passage itself
            does not match.
    """

    total: int
    page: int
    rows: list[ListedPassage]
    here: ListedPassage | None
    before: ListedPassage | None
    after: ListedPassage | None


def search_passages(
    project: Project,
    policy: Policy | None,
    filters: Filters,
    size: int,
    page: int | None = None,
    opened: tuple[str, str | None] | None = None,
) -> SearchPage:
    """Search passages of the pool, in the order of the queries and of the pool.

    Args:
        policy: determines labels and ratings; None if nothing has been graded.
        size: passages per page.
        page: number of the page from 1; a larger number gives the last page. None selects the page
            of the open passage.
        opened: query id and passage id of the open passage. Without a passage id, the position
            before the query.

    Raises:
        InputError: the grader or version is unknown.
    """
    matches = search_table(project, policy, filters)
    total = len(matches)
    queries, positions = (matches[name].to_numpy() for name in ("query_key", "position"))
    query_key, position = _pool_position(project, opened)
    first, last = queries.searchsorted([query_key, query_key + 1]).tolist()
    at = first + int(np.searchsorted(positions[first:last], position))
    here = at < last and bool(positions[at] == position)
    page_shown = at // size if page is None and here else (page or 1) - 1
    page_shown = max(min(page_shown, (total - 1) // size), 0)
    beside = {"before": at - 1, "here": at if here else None, "after": at + here}
    neighbours = {name: i for name, i in beside.items() if i is not None and 0 <= i < total}
    on_page = range(page_shown * size, min((page_shown + 1) * size, total))
    rows = table_rows(project, matches, sorted({*on_page, *neighbours.values()}))
    return SearchPage(
        total=total,
        page=page_shown + 1,
        rows=[rows[i] for i in on_page],
        here=rows.get(neighbours.get("here", BEFORE_ALL)),
        before=rows.get(neighbours.get("before", BEFORE_ALL)),
        after=rows.get(neighbours.get("after", BEFORE_ALL)),
    )


def where_to_begin(
    project: Project, policy: Policy | None, filters: Filters, query_id: str | None = None
) -> tuple[str, str] | None:
    """Return the default passage to open: the first passage of a query that a run returned.

    Judged passages that no system returned are a poor start.

    Args:
        policy, filters: policy and filters of the list, as for `search_passages`.
        query_id: the query. If it is None, or the list has no passage of it, the first query of the
            list is used.

    Returns:
        Query id and passage id. If no run returned a passage of the query, its first passage; None
        without results.

    Raises:
        InputError: the grader or version is unknown.
    """
    matches = search_table(project, policy, filters)
    if not len(matches):
        return None
    queries, passages = (matches[name].to_numpy() for name in ("query_key", "passage_key"))
    asked = BEFORE_ALL if query_id is None else _pool_position(project, (query_id, None))[0]
    query_key = asked if asked in queries else int(queries[0])
    rows = project.rows(
        "SELECT query_id, passage_id FROM unnest(?) WITH ORDINALITY listed(passage_key, place)"
        " JOIN passages USING (passage_key), queries"
        " WHERE queries.query_key = ? ORDER BY NOT EXISTS (SELECT * FROM rankings r"
        "  WHERE r.query_key = queries.query_key"
        " AND r.passage_key = listed.passage_key), place LIMIT 1",
        [passages[queries == query_key].tolist(), query_key],
    )
    return rows[0][0], rows[0][1]


def search_table(project: Project, policy: Policy | None, filters: Filters) -> pa.Table:
    """Return the result of `_find_passages` from a cache, because moving from passage to passage
    repeats the same search.
    """
    base = basis(project, policy) if policy is not None and label_graders(project) else None
    key = "passages found", policy, None if base is None else base.key, filters
    return project.cached(key, lambda: _find_passages(project, base, filters))


def _find_passages(project: Project, base: Basis | None, filters: Filters) -> pa.Table:
    """Return the passages that match the filters, in order, with their data."""
    pool = pool_summary(project, base)
    judgments = visible_rows(project, "judgments")
    speaking = (
        speaking_passages(project, None if base is None else base.version)
        if filters.speaking
        else frozenset()
    )
    conditions, parameters = _sql_conditions(filters, base, judgments, speaking)

    def select_passages(cursor: Cursor) -> pa.Table:
        cursor.register("pool_summary", pool)
        return cursor.execute(
            "SELECT query_key, position, passage_key, label, judged.value AS judgment, failed,"
            " needed - rated - failed AS ungraded, overridden"
            f" FROM pool_summary d LEFT JOIN (SELECT query_key, passage_key, value FROM {judgments}"
            "  JOIN sources USING (source_key) WHERE name = $source) judged"
            " USING (query_key, passage_key)"
            f" WHERE {' AND '.join(conditions)} ORDER BY query_key, position",
            parameters,
        ).to_arrow_table()

    return project.read(select_passages)


def table_rows(project: Project, matches: pa.Table, at: Sequence[int]) -> dict[int, ListedPassage]:
    """Return passages of the list with their texts, by position in the list from 0."""
    rows = matches.take(at).to_pylist() if at else []
    queries = {
        key: (query_id, text)
        for key, query_id, text in project.rows(
            "SELECT query_key, query_id, text FROM queries WHERE query_key IN (SELECT unnest(?))",
            [sorted({row["query_key"] for row in rows})],
        )
    }
    texts = {
        key: (passage_id, excerpt)
        for key, passage_id, excerpt in project.rows(
            "SELECT passage_key, passage_id, left(text, ?) FROM passages"
            " LEFT JOIN passage_texts USING (text_key) WHERE passage_key IN (SELECT unnest(?))",
            [EXCERPT, [row["passage_key"] for row in rows]],
        )
    }
    return {
        i: ListedPassage(
            i + 1,
            *queries[row["query_key"]],
            *texts[row["passage_key"]],
            *(row[name] for name in ("label", "judgment", "failed", "ungraded", "overridden")),
        )
        for i, row in zip(at, rows, strict=True)
    }


def _pool_position(project: Project, opened: tuple[str, str | None] | None) -> tuple[int, int]:
    """Return the position of a passage in the whole pool; the position before its query if it is
    not pooled.
    """
    if opened is None:
        return BEFORE_ALL, BEFORE_ALL
    rows = project.rows(
        "SELECT query_key, coalesce((SELECT position FROM pool JOIN passages USING (passage_key)"
        " WHERE pool.query_key = queries.query_key AND passage_id = ?), ?) FROM queries"
        " WHERE query_id = ?",
        [opened[1], BEFORE_ALL, opened[0]],
    )
    return rows[0] if rows else (BEFORE_ALL, BEFORE_ALL)


_STATES: Mapping[GradingState, str] = {
    "failed": "failed > 0",
    "ungraded": "needed - rated - failed > 0",
    "complete": "needed > 0 AND needed = rated",
}


def _sql_conditions(
    filters: Filters, base: Basis | None, judgments: str, speaking: Collection[tuple[int, int]]
) -> tuple[list[str], dict[str, Any]]:
    """Return the filters as SQL conditions on columns of the pool's summary and `judged.value`,
    with parameters.

    Args:
        speaking: keys of query and passage for the filter `speaking`.
    """
    flagged = filters.flagged and base is not None
    rows: list[tuple[bool, str, dict[str, Any]]] = [
        (
            filters.query_id is not None,
            "d.query_key = (SELECT query_key FROM queries WHERE query_id = $in_query)",
            {"in_query": filters.query_id},
        ),
        (
            bool(filters.words.strip()),
            "(d.text_key IN (SELECT text_key FROM passage_texts"
            " WHERE contains(lower(text), lower($words)))"
            " OR d.passage_key = (SELECT passage_key FROM passages WHERE passage_id = $words))",
            {"words": filters.words.strip()},
        ),
        (filters.label == NONE, "label IS NULL", {}),
        (filters.label not in (None, NONE), "label = $label", {"label": filters.label}),
        (
            filters.rating is not None,
            "given & (1::INTEGER << $rating::INTEGER) > 0",
            {"rating": filters.rating},
        ),
        (filters.judgment == NONE, "judged.value IS NULL", {}),
        (
            filters.judgment not in (None, NONE),
            "judged.value = $judgment",
            {"judgment": filters.judgment},
        ),
        (
            filters.run is not None,
            "EXISTS (SELECT * FROM rankings r JOIN runs USING (run_key)"
            " WHERE runs.name = $run AND r.rank <= $depth"
            " AND r.query_key = d.query_key AND r.passage_key = d.passage_key)",
            {"run": filters.run, "depth": filters.depth},
        ),
        (filters.state is not None, _STATES[filters.state or "failed"], {}),
        (
            flagged,
            "(label >= $min_rating) <> (judged.value >= $min_judgment)",
            {"min_rating": base.min_rating, "min_judgment": base.policy.min_judgment}
            if base
            else {},
        ),
        (filters.overridden, "overridden", {}),
        (
            filters.unjudged_by is not None,
            f"NOT EXISTS (SELECT * FROM {judgments} own JOIN sources USING (source_key)"
            " WHERE sources.name = $me"
            " AND own.query_key = d.query_key AND own.passage_key = d.passage_key)",
            {"me": filters.unjudged_by},
        ),
        (
            filters.assigned_to is not None,
            "EXISTS (FROM doubles b JOIN double_people p USING (double_key) WHERE p.present"
            " AND p.name = $assigned AND b.ended_at IS NULL AND b.query_key = d.query_key"
            " AND (b.passage_keys IS NULL OR list_contains(b.passage_keys, d.passage_key)))",
            {"assigned": filters.assigned_to},
        ),
        (
            filters.speaking,
            "(d.query_key, d.passage_key) IN (SELECT (q, p)"
            " FROM (SELECT unnest($in_queries) AS q, unnest($speaking) AS p))",
            {
                "in_queries": [query for query, _ in speaking],
                "speaking": [passage for _, passage in speaking],
            },
        ),
    ]
    conditions, parameters = ["true"], {"source": filters.source}
    for is_on, condition, values in rows:
        if is_on:
            conditions.append(condition)
            parameters |= values
    return conditions, parameters


@dataclass(frozen=True)
class PassageToJudge:
    """A passage to judge.

    Args:
        listed: the passage; its label and judgment are None for blind judging.
        own: the assessor's judgment; None if the passage is unjudged.
    """

    listed: ListedPassage
    own: int | None


@dataclass(frozen=True)
class QueryToJudge:
    """The passages of a query to judge.

    Args:
        rows: the passages in the order of judging.
        following: the next query with unjudged passages; None without one.
    """

    query_id: str
    rows: list[PassageToJudge]
    following: str | None

    @property
    def judged(self) -> int:
        """Number of passages that the assessor has judged."""
        return sum(row.own is not None for row in self.rows)


def next_turn(
    project: Project,
    policy: Policy | None,
    filters: Filters,
    person: str,
    blind: bool,
    query_id: str | None = None,
) -> QueryToJudge | None:
    """Return the passages of a query for an assessor to judge; None if no passage matches the
    filters.

    Args:
        policy: determines labels; None if nothing has been graded.
        person: name of the assessor; empty if unknown.
        blind: whether the passages have no labels and no judgments of `filters.source`, and a
            random order that differs between assessors and stays the same for each. Otherwise they
            have the order of the pool.
        query_id: the query. If it is None or has no matching passage: the first query with unjudged
            passages.

    Raises:
        InputError: the grader or version is unknown.
    """
    if blind:
        policy, filters = None, replace(filters, source=None)
    table = search_table(project, policy, filters)
    if not len(table):
        return None
    queries, passages = (
        table[name].to_numpy().astype(np.int64) for name in ("query_key", "passage_key")
    )
    places = queries << 32 | passages
    own = _own_judgments(project, person) if person else {}
    waiting = np.unique(queries[~np.isin(places, np.fromiter(own, np.int64, len(own)))])
    ids = dict(project.rows("SELECT query_key, query_id FROM queries"))
    query_key = next(
        (key for key, name in ids.items() if name == query_id and key in queries), None
    )
    if query_key is None:
        query_key = int((waiting if len(waiting) else queries)[0])
    at = np.flatnonzero(queries == query_key).tolist()
    if blind:
        at.sort(key=lambda i: _random_order(person, query_key, int(passages[i])))
    listed = table_rows(project, table, at)
    following = [*waiting[waiting > query_key], *waiting[waiting < query_key]]
    rows = [PassageToJudge(listed[i], own.get(int(places[i]))) for i in at]
    return QueryToJudge(ids[query_key], rows, ids[int(following[0])] if following else None)


def _own_judgments(project: Project, person: str) -> dict[int, int]:
    """Return a person's judgments by place: the key of the query in the upper 32 bits, that of the
    passage below.
    """
    rows = project.rows(
        f"SELECT query_key, passage_key, value FROM {visible_rows(project, 'judgments')}"
        " JOIN sources USING (source_key) WHERE name = ?",
        [source_of(person)],
    )
    return {query << 32 | passage: value for query, passage, value in rows}


def _random_order(person: str, query_key: int, passage_key: int) -> bytes:
    """Return the place of a passage in a person's random order, which new passages of the pool
    leave unchanged.
    """
    return hashlib.blake2b(f"{person}\n{query_key}\n{passage_key}".encode()).digest()
