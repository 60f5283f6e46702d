"""The queue of open disagreements in pages, and the effect of an override on each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...bank import latest_version
from ...choices import DisagreementOrder
from ...grouping import group_pairs
from ...labels import Policy, basis, graded_pairs
from ...measures import Flags, Indices, match_scales
from ...records import readable_texts
from ...store import Project
from .._passages.passage_details import label_with, read_passage
from .check_next import Check, CheckNext, check_next, disagreeing_pairs
from .label_agreement import Labels, MatchedValues, Pair, Person, Side, match_sides
from .settling import CaseKey, Place, SettlingAction, settled_cases, side_name

if TYPE_CHECKING:
    import pandas as pd


Cell = tuple[Collection[int], Collection[int]]
"""Values of the left side and of the right side; in a merged table a side can have several."""


@dataclass(frozen=True)
class SupportingQuestion:
    """A question that supports a label: its rating is the label or higher."""

    question_id: str
    text: str
    rating: int


@dataclass(frozen=True)
class QueueRow:
    """A pair in the queue.

    Args:
        left_from, right_from: the questions that support the label of the side, highest rating
            first. Empty if the side's value is not a label, or the label is 0 or a mean over all
            questions.
        check: the possible effects of settling the disagreement; None unless the order needs it.
        settling: the action that settled the case; None for an open case.
    """

    pair: Pair
    left_from: tuple[SupportingQuestion, ...]
    right_from: tuple[SupportingQuestion, ...]
    check: Check | None
    settling: SettlingAction | None


@dataclass(frozen=True)
class Queue:
    """A page of the queue.

    Args:
        total: number of pairs in the queue.
        hidden: number of settled pairs, which the queue does not contain.
        first: position of the page's first row in the queue, from 0.
        rows: the rows of the page.
        next_up: the disagreements by effect, for the orders `board` and `kappa`; None for other
            orders.
    """

    total: int
    hidden: int
    first: int
    rows: list[QueueRow]
    next_up: CheckNext | None


def list_disagreements(
    project: Project,
    left: Side,
    right: Side,
    order: DisagreementOrder = "worst",
    cell: Cell | None = None,
    show_settled: bool = False,
    measure: str = "nDCG@10",
    limit: int = 10,
    offset: int = 0,
    query_id: str | None = None,
    case: Place | None = None,
) -> Queue:
    """Return a page of the pairs on which two sides disagree, or of the pairs in a cell of their
    cross table.

    Args:
        order: `worst`: by distance of the values. `left`, `right`: by distance, only pairs in which
            this side is higher. `board`, `kappa`: as in `check_next`, only the disagreements that
            it tried.
        cell: the pairs of this cell replace the disagreements, even if the sides agree in it.
        show_settled: whether settled cases are included.
        measure: measure of the leaderboard, for `board` and `kappa`.
        limit: number of rows of a page.
        offset: position of the first row of the page.
        query_id: restricts the pairs to this query; None for all.
        case: return the page with this case. If it is not in the queue, return the page at
            `offset`, or else the last page.

    Raises:
        InputError: as for `review.side_agreement`; for `board` and `kappa` also as for
            `check_next`.
    """
    matched = match_sides(project, left, right)
    checks: dict[int, Check] = {}
    next_up = None
    if order == "board" or order == "kappa":
        next_up = check_next(project, left, right, measure, order)
        checks = {check.row: check for check in next_up.checks}
        rows = np.array(list(checks), np.int64)
        if cell is not None:
            rows = rows[_in_cell(matched, cell)[rows]]
    else:
        rows = _order_pairs(matched, order, cell)
    if query_id is not None:
        rows = rows[(matched.pairs["query_id"].iloc[rows] == query_id).to_numpy(dtype=bool)]
    cases = settled_cases(project, side_name(project, left), side_name(project, right))
    is_settled = _pairs_of_cases(matched.pairs.iloc[rows], cases)
    if not show_settled:
        rows = rows[~is_settled]
    if case is not None:
        at = _place_of(matched, rows, case)
        at = min(offset, len(rows) - 1) if at is None else at
        offset = max(0, at - at % limit)
    return Queue(
        total=len(rows),
        hidden=0 if show_settled else int(is_settled.sum()),
        first=offset,
        rows=_queue_rows(
            project, (left, right), matched, rows[offset : offset + limit], checks, cases
        ),
        next_up=next_up,
    )


def count_open(project: Project, left: Side, right: Side) -> tuple[dict[str, int], int]:
    """Count the disagreements of two sides.

    Returns:
        The number of open disagreements by query id, for queries with any; and the number of
        settled cases, also those whose sides agree now.

    Raises:
        InputError: as for `review.side_agreement`.
    """
    found = match_sides(project, left, right)
    pairs = found.pairs[disagreeing_pairs(found)]
    cases = settled_cases(project, side_name(project, left), side_name(project, right))
    done = _pairs_of_cases(pairs, cases)
    return Counter(pairs["query_id"][~done].tolist()), len(cases)


def row_of(project: Project, left: Side, right: Side, case: Place) -> QueueRow | None:
    """Return the current values of two sides for a case, also if they agree or the case is settled.

    Returns:
        None if either side has no value.

    Raises:
        InputError: as for `review.side_agreement`.
    """
    matched = match_sides(project, left, right)
    at = _place_of(matched, np.arange(len(matched.pairs)), case)
    if at is None:
        return None
    cases = settled_cases(project, side_name(project, left), side_name(project, right))
    return _queue_rows(project, (left, right), matched, np.array([at]), {}, cases)[0]


def _queue_rows(
    project: Project,
    sides: tuple[Side, Side],
    matched: MatchedValues,
    positions: Indices,
    checks: Mapping[int, Check],
    cases: Mapping[CaseKey, SettlingAction],
) -> list[QueueRow]:
    """Return the pairs at positions of `MatchedValues.pairs`, with the questions behind them."""
    pairs = _read_pairs(project, matched.pairs.iloc[positions])
    left_from, right_from = (_given_by(project, side, pairs) for side in sides)
    return [
        QueueRow(
            pair,
            left_from.get((pair.query_id, pair.passage_id, pair.left), ()),
            right_from.get((pair.query_id, pair.passage_id, pair.right), ()),
            checks.get(int(row)),
            cases.get((pair.question_id or pair.query_id, pair.passage_id)),
        )
        for row, pair in zip(positions, pairs, strict=True)
    ]


def _in_cell(matched: MatchedValues, cell: Cell) -> Flags:
    inside = matched.pairs["left"].isin(list(cell[0])) & matched.pairs["right"].isin(list(cell[1]))
    return inside.to_numpy(dtype=bool)


def _order_pairs(matched: MatchedValues, order: DisagreementOrder, cell: Cell | None) -> Indices:
    """Return the positions of pairs in `MatchedValues.pairs`, ordered by distance. Values are
    shares of their scale's top.
    """
    chosen = disagreeing_pairs(matched) if cell is None else _in_cell(matched, cell)
    shares = [
        np.maximum(matched.pairs[name].to_numpy(), 0) / max((*rater.scale, 1))
        for name, rater in (("left", matched.left), ("right", matched.right))
    ]
    # Rounded, so that 1/5 against 3/3 is exactly as far as 4/5 against 0.
    surplus = np.round(shares[0] - shares[1], 9)
    distance = -surplus if order == "right" else surplus if order == "left" else np.abs(surplus)
    rows = np.flatnonzero(chosen & ((distance > 0) | (order == "worst")))
    return np.asarray(rows[np.argsort(-distance[rows], kind="stable")], np.int64)


_IDS = ("query_id", "passage_id", "question_id")
"""Columns of pairs that identify a case."""


def _place_of(matched: MatchedValues, rows: Indices, case: Place) -> int | None:
    query, passage, question = case
    places = np.flatnonzero(
        _pairs_of_cases(matched.pairs.iloc[rows], {(question or query, passage)})
    )
    return int(places[0]) if len(places) else None


def _pairs_of_cases(pairs: pd.DataFrame, cases: Collection[CaseKey]) -> Flags:
    if not cases:
        return np.zeros(len(pairs), bool)
    # There are far fewer settled cases than disagreements, so only pairs of their passages are
    # compared one by one.
    likely = np.array(pairs["passage_id"].isin({passage for _, passage in cases}), bool)
    part = pairs[likely]
    places = zip(*(part[name] for name in _IDS), strict=True)
    likely[likely] = [(question or query, passage) in cases for query, passage, question in places]
    return likely


def _read_pairs(project: Project, pairs: pd.DataFrame) -> list[Pair]:
    columns = [pairs[name].tolist() for name in (*_IDS, "left", "right")]
    queries, passages, questions = (
        dict(
            project.rows(
                sql.format(texts=readable_texts(project)), {"ids": list(dict.fromkeys(ids))} | more
            )
        )
        for sql, ids, more in zip(
            _TEXTS, columns[:3], ({}, {}, {"version": latest_version(project)}), strict=True
        )
    )
    return [
        Pair(
            query,
            queries[query] or query,
            passage,
            passages[passage],
            question,
            questions.get(question),
            *values,
        )
        for query, passage, question, *values in zip(*columns, strict=True)
    ]


_TEXTS = (
    "SELECT query_id, text FROM queries WHERE query_id IN (SELECT unnest($ids::VARCHAR[]))",
    "SELECT passage_id, text FROM passages LEFT JOIN passage_texts USING (text_key)"
    " WHERE passage_id IN (SELECT unnest($ids::VARCHAR[]))",
    "SELECT question_id, text FROM bank_at($version) JOIN questions USING (question_key)"
    " JOIN {texts} USING (text_key) WHERE question_id IN (SELECT unnest($ids::VARCHAR[]))",
)


def _given_by(
    project: Project, side: Side, pairs: Sequence[Pair]
) -> dict[tuple[str, str, int], tuple[SupportingQuestion, ...]]:
    """Return the questions that support a label, by (query id, passage id, label). Empty if a
    side's values are not labels, or are means."""
    if (
        not isinstance(side, Labels)
        or side.policy.label == "mean"
        or not pairs
        or pairs[0].question_id is not None
    ):
        return {}
    base = basis(project, side.policy)
    pairs_wanted = sorted({(pair.query_id, pair.passage_id) for pair in pairs})
    rows = project.rows(
        "WITH wanted AS (SELECT unnest($queries) AS query_id, unnest($passages) AS passage_id)"
        " SELECT query_id, passage_id, question_id, coalesce(t.text, question_id), rating"
        f" FROM ({graded_pairs(base)}) p JOIN queries USING (query_key)"
        " JOIN passages USING (passage_key) JOIN wanted USING (query_id, passage_id)"
        " JOIN questions USING (question_key) JOIN bank_at($version) r USING (question_key)"
        f" JOIN {readable_texts(project)} t ON t.text_key = r.text_key"
        " WHERE rating > 0 AND p.weight > 0 ORDER BY rating DESC, r.position, question_key",
        base.parameters
        | {
            "queries": [query for query, _ in pairs_wanted],
            "passages": [passage for _, passage in pairs_wanted],
        },
    )
    supporting = group_pairs(
        ((query, passage), SupportingQuestion(*question)) for query, passage, *question in rows
    )
    return {
        (*place, value): tuple(one for one in found if one.rating >= value)
        for place, found in supporting.items()
        for value in range(1, base.grader.spec.max_rating + 1)
    }


@dataclass(frozen=True)
class OverrideEffect:
    """The effect of an override on a pair.

    Args:
        before, after: the label under the policy, without and with the override; None for no label.
        also: other questions that also support the label `after`, highest rating first.
        left, right: the new values of the sides; None for a side without a label.
        agrees: whether the sides would then agree.
    """

    before: int | None
    after: int | None
    also: tuple[SupportingQuestion, ...]
    left: int | None
    right: int | None
    agrees: bool


def override_effect(
    project: Project,
    left: Side,
    right: Side,
    pair: Pair,
    policy: Policy,
    question_ids: Collection[str],
    rating: int,
    author: str,
) -> OverrideEffect:
    """Return the effect of a planned override on a pair, without storing it.

    Args:
        policy: the policy of the label.
        question_ids: the questions that all get the rating.
        author: the author of the override. If the author is a side, the rating is the new value of
            this side.

    Raises:
        InputError: as for `review.side_agreement` and `review.read_passage`.
    """
    matched = match_sides(project, left, right)

    def value_after(side: Side, value: int) -> int | None:
        if isinstance(side, Person):
            return rating if side.author == author and pair.question_id in question_ids else value
        # A grader's value stays if overrides do not count, or if the other side is a person.
        if (
            not isinstance(side, Labels)
            or not side.policy.overrides
            or pair.question_id is not None
        ):
            return value
        desk = read_passage(project, side.policy, pair.query_id, pair.passage_id)
        return label_with(project, side.policy, desk, dict.fromkeys(question_ids, rating))

    values = value_after(left, pair.left), value_after(right, pair.right)
    same = match_scales(matched.left.scale, matched.right.scale)
    desk = read_passage(project, policy, pair.query_id, pair.passage_id)
    after = label_with(project, policy, desk, dict.fromkeys(question_ids, rating))
    others = [
        SupportingQuestion(asked.question.question_id, asked.question.shown_text, asked.rating)
        for asked in desk.asked
        if after and policy.label != "mean" and asked.counts and asked.question.weight > 0
        if asked.question.question_id not in question_ids
        and asked.rating is not None
        and asked.rating >= after
    ]
    also = tuple(sorted(others, key=lambda asked: -asked.rating))
    agrees = values[0] is not None and values[1] in same.get(values[0], ())
    return OverrideEffect(desk.label, after, also, *values, agrees)
