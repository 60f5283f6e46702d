"""Priorities for checking: the disagreements whose resolution could change the leaderboard or kappa
most.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ...errors import InputError
from ...grouping import group_pairs
from ...labels import Leaderboard, Policy, basis, label_qrels, leaderboard, score_runs
from ...measures import (
    Array,
    CrossTable,
    Flags,
    cohen_kappa,
    cross_table,
    match_scales,
    merge_values,
    order_signs,
    parse_measure,
    split_at_threshold,
    trec_order,
)
from ...records import Qrels, find_source, ranking_scores, source_judgments
from ...store import Project
from .label_agreement import Judgments, Labels, MatchedValues, Person, Rater, Side, match_sides

if TYPE_CHECKING:
    import pandas as pd

By = Literal["board", "kappa"]

TRIED = 500
"""Maximum number of disagreements that are tried on the leaderboard."""


@dataclass(frozen=True)
class Check:
    """The effects if one side adopts the other side's value for a passage.

    Args:
        row: row of the pair in `MatchedValues.pairs`.
        value, target: value of the adopting side, before and after.
        shift: sum over all systems of the absolute change of their mean score.
        moved: number of systems whose score changes.
        swaps: number of pairs of systems whose order changes.
        kappa: the change of Cohen's kappa of the merged table; None if kappa is undefined before or
            after.
    """

    row: int
    value: int
    target: int
    shift: float
    moved: int
    swaps: int
    kappa: float | None


@dataclass(frozen=True)
class CheckNext:
    """Disagreements ordered by the effect of checking them.

    Args:
        side: the adopting side: left or right.
        measure: measure of the leaderboard.
        checks: the tried disagreements, greatest effect first.
        disagreements: number of all disagreements.
    """

    side: Literal["left", "right"]
    measure: str
    checks: list[Check]
    disagreements: int


def check_next(
    project: Project, left: Side, right: Side, measure: str, by: By = "board", tried: int = TRIED
) -> CheckNext:
    """Return, for each disagreement, the effects on the leaderboard and on kappa if one side adopts
    the other's value.

    Labels adopt judgments; of two sides of the same kind, the left side adopts. The new value is
    the nearest value that agrees with the other side (`match_scales`), or else the value at the
    same share of its scale.

    Each change is tried alone: the adopting side's leaderboard is scored again with one replaced
    value, which affects one query. Let d(s) be the change of the score of system s on this query,
    divided by the number of queries in the mean. The shift is the sum of |d(s)|. Two systems swap
    if the difference of their means changes its sign. The change of kappa is computed from the
    merged table (`Agreement.merged`) and needs no scores.

    Only `tried` disagreements are scored. For `board`, these have the greatest value of (change as
    a share of the scale) * (sum over runs of 1 / log2(1 + rank)). For `kappa`, these have the
    greatest change of kappa.

    Args:
        measure: any measure that is computed from relevance values.
        by: the order. `board`: by swaps, then by shift. `kappa`: by the change of kappa, then as
            `board`.

    Raises:
        InputError: a side is a person, whose ratings are about questions; the measure is not
            computed from relevance values; or as for `review.side_agreement` and
            `leaderboard.leaderboard`.
    """
    if isinstance(left, Person) or isinstance(right, Person):
        raise InputError(
            "person-without-leaderboard",
            "Ratings of a person have no leaderboard.",
            "Compare labels or judgments, or choose another order.",
        )
    parsed = parse_measure(measure)
    if not parsed.takes_judgments:
        raise InputError(
            "not-a-label-measure",
            f"{parsed} is not a measure of labels.",
            "Use a measure such as nDCG@10.",
        )
    name = parsed.name
    matched = match_sides(project, left, right)
    side: Literal["left", "right"] = (
        "right" if isinstance(right, Labels) and not isinstance(left, Labels) else "left"
    )
    giving = left if side == "left" else right

    def compute() -> list[Check]:
        grid = _Grid.from_matched(matched, side)
        board, qrels = _board_of_side(project, giving, name, grid.giving)
        return _try_checks(project, matched, grid, board, qrels, by, tried)

    checks = project.cached(("check next", left, right, name, by, tried), compute)
    return CheckNext(side, name, checks, int(disagreeing_pairs(matched).sum()))


def disagreeing_pairs(matched: MatchedValues) -> Flags:
    """Return which pairs of two sides disagree, in their order; see `match_scales`."""
    agree = np.zeros(len(matched.pairs), dtype=bool)
    left, right = matched.pairs["left"].to_numpy(), matched.pairs["right"].to_numpy()
    for value, counterparts in match_scales(matched.left.scale, matched.right.scale).items():
        agree |= (left == value) & np.isin(right, counterparts)
    return ~agree


@dataclass(frozen=True)
class _Grid:
    """The effects of adopting values, by (value of the adopting side, value of the other side).

    Args:
        side: the adopting side.
        giving: rater of the adopting side.
        target: new value of the adopting side.
        kappa: the change of kappa.
    """

    side: Literal["left", "right"]
    giving: Rater
    target: dict[tuple[int, int], int]
    kappa: dict[tuple[int, int], float | None]

    @classmethod
    def from_matched(cls, matched: MatchedValues, side: Literal["left", "right"]) -> _Grid:
        giving, other = (
            (matched.left, matched.right) if side == "left" else (matched.right, matched.left)
        )
        says_same = match_scales(giving.scale, other.scale)
        target = {
            (v, o): _target_value(v, o, giving, other, says_same)
            for v in giving.scale
            for o in other.scale
        }
        own, others = (
            matched.pairs[column]
            for column in ((side, "right") if side == "left" else (side, "left"))
        )
        table = cross_table(own, others, giving.scale, other.scale)
        return cls(side, giving, target, _kappa_changes(table, giving, other, target))


def _target_value(
    value: int,
    other_value: int,
    giving: Rater,
    other: Rater,
    says_same: Mapping[int, Sequence[int]],
) -> int:
    fitting = [own for own in giving.scale if other_value in says_same[own]]
    if not fitting:
        share = max(other_value, 0) / max((*other.scale, 1)) * max((*giving.scale, 1))
        fitting = sorted(giving.scale, key=lambda own: (abs(own - share), -own))[:1]
    return min(fitting, key=lambda own: (abs(own - value), -own))


def _kappa_changes(
    table: CrossTable, giving: Rater, other: Rater, target: Mapping[tuple[int, int], int]
) -> dict[tuple[int, int], float | None]:
    groups = (
        split_at_threshold(giving.scale, giving.threshold),
        split_at_threshold(other.scale, other.threshold),
    )
    before = cohen_kappa(merge_values(table, *groups)).value
    changes: dict[tuple[int, int], float | None] = {}
    for row, own in enumerate(table.rows):
        for column, column_value in enumerate(table.columns):
            if table.counts[row, column]:
                counts = table.counts.copy()
                counts[row, column] -= 1
                counts[table.rows.index(target[own, column_value]), column] += 1
                after = cohen_kappa(merge_values(replace(table, counts=counts), *groups)).value
                changes[own, column_value] = (
                    None if before is None or after is None else after - before
                )
    return changes


def _board_of_side(
    project: Project, side: Side, measure: str, rater: Rater
) -> tuple[Leaderboard, Qrels]:
    """Return the leaderboard from a side's values, and the values."""
    if isinstance(side, Labels):
        board = leaderboard(project, measure, policy=side.policy, with_ungraded=True)
        return board, label_qrels(project, basis(project, side.policy))
    if not isinstance(side, Judgments):
        raise TypeError(f"{side} makes no leaderboard")
    source = find_source(project, side.source)
    policy = Policy(min_judgment=rater.threshold)
    return leaderboard(project, measure, source, policy), source_judgments(project, source)


def _try_checks(
    project: Project,
    matched: MatchedValues,
    grid: _Grid,
    board: Leaderboard,
    qrels: Qrels,
    by: By,
    tried: int,
) -> list[Check]:
    pairs = matched.pairs
    rows = np.flatnonzero(disagreeing_pairs(matched))
    other = "right" if grid.side == "left" else "left"
    cells = list(
        zip(
            pairs[grid.side].to_numpy()[rows].tolist(),
            pairs[other].to_numpy()[rows].tolist(),
            strict=True,
        )
    )
    change = np.array([abs(grid.target[cell] - cell[0]) for cell in cells], float) / max(
        (*grid.giving.scale, 1)
    )
    weight = _pair_exposure(project, pairs.iloc[rows]) * change
    kappa = np.array([abs(grid.kappa[cell] or 0.0) for cell in cells])
    first = np.lexsort((-weight,) if by == "board" else (-weight, -kappa))[:tried]
    by_query = group_pairs((str(pairs["query_id"].iat[rows[at]]), int(at)) for at in first)
    checks = []
    for query_id, places in by_query.items():
        changed = [
            (str(pairs["passage_id"].iat[rows[at]]), grid.target[cells[at]]) for at in places
        ]
        effects = _try_on_board(project, board, qrels, grid.giving.threshold, query_id, changed)
        for at, (shift, moved, swaps) in zip(places, effects, strict=True):
            cell = cells[at]
            checks.append(
                Check(
                    int(rows[at]), cell[0], grid.target[cell], shift, moved, swaps, grid.kappa[cell]
                )
            )

    def sort_key(check: Check) -> tuple[float, ...]:
        on_board = (-check.swaps, -check.shift, check.row)
        # Rounded, so that equal changes of kappa from two directions compare as equal.
        return on_board if by == "board" else (-round(abs(check.kappa or 0.0), 12), *on_board)

    return sorted(checks, key=sort_key)


def _pair_exposure(project: Project, pairs: pd.DataFrame) -> Array:
    """Return, for each pair, the sum over runs of 1 / log2(1 + rank); 0 if no run returned the
    passage.
    """

    import pandas as pd

    def compute() -> pd.Series:
        frame = project.table(
            "SELECT query_id, passage_id, sum(1 / log2(1 + rank)) AS weight FROM rankings"
            " JOIN queries USING"
            " (query_key) JOIN passages USING (passage_key) GROUP BY query_id, passage_id"
        ).to_pandas()
        weights: pd.Series = frame.set_index(["query_id", "passage_id"])["weight"]
        return weights

    known = project.cached("exposure", compute)
    wanted = pd.MultiIndex.from_frame(pairs[["query_id", "passage_id"]])
    return np.asarray(known.reindex(wanted).fillna(0.0), float)


def _try_on_board(
    project: Project,
    board: Leaderboard,
    qrels: Qrels,
    threshold: int,
    query_id: str,
    changes: Collection[tuple[str, int]],
) -> list[tuple[float, int, int]]:
    """Return (shift, number of moved systems, swaps) for each (passage id, new value) of a query,
    each tried alone.
    """
    values, measure = qrels[query_id], parse_measure(board.measure)
    # All variants are scored at once, as queries of their own.
    variants = {str(at): {**values, passage: value} for at, (passage, value) in enumerate(changes)}
    rankings = ranking_scores(project)
    runs = {
        system.run: dict.fromkeys(variants, _top_scores(scores, measure.cutoff))
        for system in board.systems
        if (scores := rankings[system.run].get(query_id))
    }
    scored = score_runs(runs, [board.measure], variants, threshold)[board.measure]
    # The change of each system's mean, variants x systems.
    delta = np.zeros((len(variants), len(board.systems)))
    for at, system in enumerate(board.systems):
        if system.run in scored and query_id in board.per_query[system.run]:
            now = np.array([scored[system.run][variant] for variant in variants])
            queries = len(board.query_ids) if board.policy.skipped == "zero" else system.queries
            delta[:, at] = (now - board.per_query[system.run][query_id]) / queries
    means = np.array([system.score for system in board.systems])
    before, after = order_signs(means), [order_signs(means + moved) for moved in delta]
    return [
        (float(np.abs(moved).sum()), int((moved != 0).sum()), int((before * order < 0).sum()) // 2)
        for moved, order in zip(delta, after, strict=True)
    ]


def _top_scores(scores: Mapping[str, float], cutoff: int | None) -> Mapping[str, float]:
    """Return the part of a ranking that a measure reads."""
    if cutoff is None:
        return scores
    return {passage: scores[passage] for passage in trec_order(scores, cutoff)}
