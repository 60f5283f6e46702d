"""Choosing one system of several by different evaluations, and the effect of corrections on the
choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from ..errors import InputError
from ..grouping import group_pairs
from ._correlation import correlate_scores, rank_correlations
from ._means_and_tests import (
    SAMPLES,
    Array,
    Interval,
    drawn_counts,
    mean_and_standard_error,
    percentile_interval,
    resampled_means,
)

Table: TypeAlias = Mapping[str, Mapping[str, float | None]]
"""run -> query id -> score. None means that the query could not be scored; it is left out of the
run's mean. A query that is absent, but present in another run of the table, was skipped and counts
0."""

TIED = 1e-12
"""Means with at most this difference count as equal, because rounding depends on the order of
summation.
"""


@dataclass(frozen=True)
class Choice:
    """The system that one evaluation chooses.

    Args:
        evaluation: name of the evaluation.
        scores: (mean, standard error) by run, best first.
        chosen: the runs with the greatest mean; several if they are tied.
        chance: by run, the share of resamples in which it is chosen; tied runs share a resample
            equally.
        queries: number of queries.
        failed: number of pairs of run and query that could not be scored.
    """

    evaluation: str
    scores: dict[str, tuple[float, float | None]]
    chosen: list[str]
    chance: dict[str, float]
    queries: int
    failed: int


@dataclass(frozen=True)
class EvaluationPair:
    """A comparison of two evaluations.

    Args:
        same_choice: whether the second evaluation also chooses every run that the first chooses.
        same_chance: share of the resamples in which the choice is the same.
        kendall, spearman: correlations of the runs' scores, with intervals; undefined with fewer
            than 3 runs.
        loss: the cost of choosing by the first evaluation, measured by the second. It is the
            second's greatest score minus its score for the run that the first chooses (the mean
            over tied runs).
    """

    one: str
    other: str
    same_choice: bool
    same_chance: float
    kendall: Interval
    spearman: Interval
    loss: Interval


@dataclass(frozen=True)
class EvaluationChoices:
    """Evaluations and their choices, all over the same runs.

    Args:
        runs: the runs that every evaluation has.
        over: `common`, since they are compared over the queries that all of them have.
        choices: the choice of each evaluation, in the given order.
        pairings: every evaluation with every other evaluation, in both directions.
    """

    runs: list[str]
    over: str
    choices: list[Choice]
    pairings: list[EvaluationPair]


def compare_evaluations(
    tables: Mapping[str, Table], samples: int = SAMPLES, seed: int = 0
) -> EvaluationChoices:
    """Compare evaluations of the same runs over their common queries: which run each chooses, and
    how certain that is.

    A query is common if all evaluations have a score of any run for it. A resample draws queries
    with replacement; all evaluations see the same draw.
    Source: llm-reteval specification, sections 9 and 13; llm-judge-retriever-selection,
    "Correlation of Information".

    Args:
        tables: table by name of the evaluation, such as NIST, EXAM-Cover or LLM-retEval.
        samples, seed: number of resamples and seed of the bootstrap.

    Raises:
        InputError: no evaluations, no common runs, or no common queries.
    """
    runs = sorted(set.intersection(*(set(table) for table in tables.values()))) if tables else []
    if not runs:
        raise InputError(
            "no-common-runs",
            "The evaluations have no run in common.",
            "Use evaluations of the same runs.",
        )
    common = set.intersection(
        *({query for run in runs for query in table[run]} for table in tables.values())
    )
    if not common:
        raise InputError(
            "no-common-queries",
            "The evaluations have no query in common.",
            "Use evaluations of the same queries.",
        )
    queries = sorted(common)
    counts = drawn_counts(len(queries), samples, seed)
    drawn = {
        name: resampled_means({run: table[run] for run in runs}, runs, queries, counts)
        for name, table in tables.items()
    }
    # 1 for the runs with the greatest mean of a resample, else 0.
    filled = {name: np.where(np.isnan(means), -np.inf, means) for name, means in drawn.items()}
    picked = {
        name: (row >= row.max(axis=1, keepdims=True)).astype(np.float64)
        for name, row in filled.items()
    }
    choices = [
        _make_choice(name, table, runs, queries, picked[name]) for name, table in tables.items()
    ]
    pairings = [
        _pair_choices(one, other, drawn, picked)
        for a, b in combinations(choices, 2)
        for one, other in ((a, b), (b, a))
    ]
    return EvaluationChoices(runs, "common", choices, pairings)


def _make_choice(
    name: str, table: Table, runs: Sequence[str], queries: Sequence[str], picked: Array
) -> Choice:
    values = {run: [table[run].get(query, 0.0) for query in queries] for run in runs}
    means = {
        run: mean_and_standard_error(score for score in row if score is not None)
        for run, row in values.items()
    }
    scores = {run: (mean, error) for run, (mean, error) in means.items() if mean is not None}
    ordered = dict(sorted(scores.items(), key=lambda item: (-item[1][0], item[0])))
    best = max((mean for mean, _ in scores.values()), default=0.0)
    chosen = [run for run, (mean, _) in ordered.items() if mean >= best - TIED]
    shares = picked / np.maximum(picked.sum(axis=1, keepdims=True), 1)
    chance = {run: float(share) for run, share in zip(runs, shares.mean(axis=0), strict=True)}
    return Choice(
        name, ordered, chosen, chance, len(queries), sum(row.count(None) for row in values.values())
    )


def _pair_choices(
    choice: Choice, other: Choice, drawn: Mapping[str, Array], picked: Mapping[str, Array]
) -> EvaluationPair:
    x, y = drawn[choice.evaluation], drawn[other.evaluation]
    picked_here, picked_there = picked[choice.evaluation], picked[other.evaluation]
    point = correlate_scores(_run_means(choice), _run_means(other))
    spread = {name: rank_correlations(name, x, y) for name in ("kendall", "spearman")}
    same = (picked_here * picked_there).sum(axis=1) == picked_here.sum(axis=1)
    known = [run for run in choice.chosen if run in other.scores]
    best = max((mean for mean, _ in other.scores.values()), default=0.0)
    loss = best - sum(other.scores[run][0] for run in known) / len(known) if known else None
    greatest = np.where(np.isnan(y), -np.inf, y).max(axis=1)
    losses = np.where(
        np.isinf(greatest),
        np.nan,
        greatest - np.nansum(y * picked_here, axis=1) / picked_here.sum(axis=1),
    )
    return EvaluationPair(
        choice.evaluation,
        other.evaluation,
        set(choice.chosen) <= set(other.chosen),
        float(same.mean()),
        percentile_interval(point.kendall, spread["kendall"], point.undefined),
        percentile_interval(point.spearman, spread["spearman"], point.undefined),
        percentile_interval(loss, losses, "the chosen run has no score"),
    )


def _run_means(choice: Choice) -> dict[str, float]:
    return {run: mean for run, (mean, _) in choice.scores.items()}


@dataclass(frozen=True)
class NewScore:
    """A score that would change if a case were confirmed.

    Args:
        evaluation, run, query: identify the score.
        score: its corrected value.
    """

    evaluation: str
    run: str
    query: str
    score: float


@dataclass(frozen=True)
class ConfirmationEffect:
    """The effect of confirming one case on the choice of a system.

    Args:
        at: position of the case in the given list.
        chooses_another: whether any evaluation would choose other runs.
        closing: the closed share of the gap between the chosen run and the next run, at most 1;
            below 0 if the gap becomes wider. If several evaluations change, it is the greatest
            share.
        swaps: number of pairs of runs that would change their order.
    """

    at: int
    chooses_another: bool
    closing: float
    swaps: int


def rank_stakes(
    tables: Mapping[str, Table], cases: Sequence[Sequence[NewScore]]
) -> list[ConfirmationEffect]:
    """Order cases by the effect of their confirmation on the choice of a system, each case alone.

    Cases that change the choice come first. The other criteria, in this order, are the closed share
    of the gap to the next system and the number of swapped pairs. Equal cases keep their order.
    Source: llm-reteval specification, section 8, last sentence.

    Args:
        tables: the evaluations that choose, such as Recall@5 and LLM-retEval@5.
        cases: for each case, the scores of these evaluations and their runs that it would change.
    """
    boards = {name: _Board.from_table(table) for name, table in tables.items()}
    unordered = []
    for at, corrections in enumerate(cases):
        by_board = group_pairs((entry.evaluation, entry) for entry in corrections)
        moved = [boards[name].corrected(changes) for name, changes in by_board.items()]
        closing = max((entry[1] for entry in moved), default=0.0)
        unordered.append(
            ConfirmationEffect(
                at, any(entry[0] for entry in moved), closing, sum(entry[2] for entry in moved)
            )
        )
    return sorted(
        unordered,
        key=lambda entry: (not entry.chooses_another, -entry.closing, -entry.swaps, entry.at),
    )


@dataclass(frozen=True)
class _Board:
    """Sums and numbers of scores by run, so that a correction needs to recompute only one run."""

    runs: dict[str, int]
    table: Table
    queries: frozenset[str]
    totals: Array
    counted: Array

    @classmethod
    def from_table(cls, table: Table) -> _Board:
        queries = frozenset(query for row in table.values() for query in row)
        rows = [[row.get(query, 0.0) for query in queries] for row in table.values()]
        totals = np.array(
            [sum(value for value in row if value is not None) for row in rows], dtype=np.float64
        )
        counted = np.array(
            [sum(value is not None for value in row) for row in rows], dtype=np.float64
        )
        return cls({run: at for at, run in enumerate(table)}, table, queries, totals, counted)

    def corrected(self, corrections: Sequence[NewScore]) -> tuple[bool, float, int]:
        """Return whether other runs are chosen, the share of the gap that closes, and the number of
        swapped pairs.
        """
        totals, counted = self.totals.copy(), self.counted.copy()
        for correction in corrections:
            at = self.runs[correction.run]
            before = self.table[correction.run].get(
                correction.query, 0.0 if correction.query in self.queries else None
            )
            totals[at] += correction.score - (before or 0.0)
            counted[at] += before is None
        old, new = (
            sums / np.maximum(n, 1) for sums, n in ((self.totals, self.counted), (totals, counted))
        )
        leads, leads_now = (means >= means.max() - TIED for means in (old, new))
        if leads.all():
            return not leads_now.all(), 0.0 if leads_now.all() else 1.0, 0
        gap, gap_now = (means[leads].mean() - means[~leads].max() for means in (old, new))
        swapped = (order_signs(old) * order_signs(new) < 0).sum() // 2
        another = bool((leads != leads_now).any())
        return another, min(float((gap - gap_now) / gap), 1.0), int(swapped)


def order_signs(means: Array) -> Array:
    """Return the sign of the difference of every two means: 1, 0 or -1; means that differ by `TIED`
    are equal.
    """
    apart = means[:, None] - means[None, :]
    return np.where(np.abs(apart) <= TIED, 0.0, np.sign(apart))
