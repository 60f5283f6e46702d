"""Comparison of the systems that evaluations choose: tables of scores by query, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np

from ..errors import InputError
from .correlation import Array, correlate, rank_correlations
from .means import mean_and_standard_error
from .resampling import SAMPLES, Interval, drawn_counts, interval, resampled_means

Table: TypeAlias = Mapping[str, Mapping[str, float | None]]
"""run -> query id -> score. None is a query that could not be scored and is left out of the run's mean. An absent
query that another run of the table has was skipped and counts 0."""

Over = Literal["common", "own"]

TIED = 1e-12
"""Means that differ by no more than this are equal except for the order of summing."""


@dataclass(frozen=True)
class Choice:
    """The system that one evaluation chooses.

    Args:
        evaluation: its name.
        scores: (mean, standard error) by run, best first.
        chosen: the runs with the greatest mean; several if they are tied.
        chance: by run, the share of resamples in which it is chosen; tied ones share a resample.
        queries: number of queries.
        failed: pairs of run and query that could not be scored.
    """

    evaluation: str
    scores: dict[str, tuple[float, float | None]]
    chosen: list[str]
    chance: dict[str, float]
    queries: int
    failed: int


@dataclass(frozen=True)
class Pairing:
    """A comparison of two evaluations.

    Args:
        same_choice: whether every run that the first may choose is one that the second may choose.
        same_chance: share of the resamples in which that is so.
        kendall, spearman: of the runs' scores, with intervals; undefined with fewer than 3 runs.
        loss: the cost of choosing by the first if the second is right: the second's greatest score minus its score
            for the run that the first chooses (the mean over tied runs).
    """

    one: str
    other: str
    same_choice: bool
    same_chance: float
    kendall: Interval
    spearman: Interval
    loss: Interval


@dataclass(frozen=True)
class Choosing:
    """Evaluations and their choices, all over the same runs.

    Args:
        runs: the runs that every evaluation has.
        over: the queries: those that all evaluations have, or each evaluation's own.
        choices: one per evaluation, in the given order.
        pairings: every evaluation with every other, in both directions.
    """

    runs: list[str]
    over: Over
    choices: list[Choice]
    pairings: list[Pairing]


def choosing(tables: Mapping[str, Table], over: Over = "common", samples: int = SAMPLES, seed: int = 0) -> Choosing:
    """Compare evaluations of the same runs: which run each chooses, and how certain that is.

    A resample draws queries with replacement; all evaluations see the same draw.
    Source: llm-reteval specification, sections 9 and 13; llm-judge-retriever-selection, "Correlation of
    Information".

    Args:
        tables: by the name of the evaluation, such as NIST, EXAM-Cover or LLM-retEval.
        over: the queries for which all evaluations have a score of any run, or each evaluation's own.
        samples, seed: of the bootstrap.

    Raises:
        InputError: no evaluation, no common run, or no common query.
    """
    runs = sorted(set.intersection(*(set(table) for table in tables.values()))) if tables else []
    if not runs:
        raise InputError(
            "no-common-runs", "The evaluations have no run in common.", "Use evaluations of the same runs."
        )
    own = {name: {query for run in runs for query in table[run]} for name, table in tables.items()}
    common = set.intersection(*own.values())
    if over == "common" and not common:
        raise InputError(
            "no-common-queries", "The evaluations have no query in common.", "Compare each over its own queries."
        )
    wanted = {name: common if over == "common" else known for name, known in own.items()}
    queries = sorted(set().union(*wanted.values()))
    counts = drawn_counts(len(queries), samples, seed)
    drawn = {name: _resampled(table, runs, queries, wanted[name], counts) for name, table in tables.items()}
    picked = {name: _greatest(means) for name, means in drawn.items()}
    choices = [_choice(name, table, runs, wanted[name], picked[name]) for name, table in tables.items()]
    pairings = [
        _pairing(one, other, drawn, picked) for a, b in combinations(choices, 2) for one, other in ((a, b), (b, a))
    ]
    return Choosing(runs, over, choices, pairings)


def _choice(name: str, table: Table, runs: Sequence[str], queries: Collection[str], picked: Array) -> Choice:
    values = {run: [table[run].get(query, 0.0) for query in sorted(queries)] for run in runs}
    found = {run: mean_and_standard_error(one for one in row if one is not None) for run, row in values.items()}
    scores = {run: (mean, error) for run, (mean, error) in found.items() if mean is not None}
    ordered = dict(sorted(scores.items(), key=lambda item: (-item[1][0], item[0])))
    best = max((mean for mean, _ in scores.values()), default=0.0)
    chosen = [run for run, (mean, _) in ordered.items() if mean >= best - TIED]
    shares = picked / np.maximum(picked.sum(axis=1, keepdims=True), 1)
    chance = {run: float(share) for run, share in zip(runs, shares.mean(axis=0), strict=True)}
    return Choice(name, ordered, chosen, chance, len(queries), sum(row.count(None) for row in values.values()))


def _pairing(one: Choice, other: Choice, drawn: Mapping[str, Array], picked: Mapping[str, Array]) -> Pairing:
    x, y = drawn[one.evaluation], drawn[other.evaluation]
    mine, theirs = picked[one.evaluation], picked[other.evaluation]
    point = correlate(_means(one), _means(other))
    spread = {name: rank_correlations(name, x, y) for name in ("kendall", "spearman")}
    same = (mine * theirs).sum(axis=1) == mine.sum(axis=1)
    known = [run for run in one.chosen if run in other.scores]
    best = max((mean for mean, _ in other.scores.values()), default=0.0)
    loss = best - sum(other.scores[run][0] for run in known) / len(known) if known else None
    greatest = np.where(np.isnan(y), -np.inf, y).max(axis=1)
    losses = np.where(np.isinf(greatest), np.nan, greatest - np.nansum(y * mine, axis=1) / mine.sum(axis=1))
    return Pairing(
        one.evaluation,
        other.evaluation,
        set(one.chosen) <= set(other.chosen),
        float(same.mean()),
        interval(point.kendall, spread["kendall"], point.undefined),
        interval(point.spearman, spread["spearman"], point.undefined),
        interval(loss, losses, "the chosen run has no score"),
    )


def _means(choice: Choice) -> dict[str, float]:
    return {run: mean for run, (mean, _) in choice.scores.items()}


def _resampled(
    table: Table, runs: Sequence[str], queries: Sequence[str], known: Collection[str], counts: Array
) -> Array:
    """Return the mean of every run in every resample, (samples, runs); NaN if none of its queries was drawn."""
    scores = [[table[run].get(query, 0.0) if query in known else None for run in runs] for query in queries]
    # None becomes NaN.
    return resampled_means(np.array(scores, dtype=np.float64).reshape(len(queries), len(runs)), counts)


def _greatest(means: Array) -> Array:
    """Return 1 for the runs with the greatest mean of a resample, else 0."""
    filled = np.where(np.isnan(means), -np.inf, means)
    greatest: Array = (filled >= filled.max(axis=1, keepdims=True)).astype(np.float64)
    return greatest
