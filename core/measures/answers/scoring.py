"""Scores of runs and queries: retrieval of gold passages, verdicts on answers, and the correlation of two measures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..means import SAMPLES, Interval, interval, mean_and_standard_error, quotients


@dataclass(frozen=True)
class Retrieved:
    """The gold passages in the top k of one query; each number from 0 to 1.

    Args:
        recall: share of the gold passages that were retrieved.
        precision: share of the k ranks with a gold passage, even if fewer than k passages were retrieved.
        f1: harmonic mean of the two; 0 if both are 0.
        places: positions of gold passages, from 0.
    """

    recall: float
    precision: float
    f1: float
    places: tuple[int, ...] = ()

    @property
    def any(self) -> bool:
        """Whether a gold passage was retrieved: Recall's verdict r on the query."""
        return self.recall > 0


def retrieved(
    ranking: Sequence[str], gold: Collection[str], k: int, same: Mapping[str, Collection[str]] | None = None
) -> Retrieved:
    """Return Recall@k, Precision@k and F1@k of one query.

    Recall@k = |top k ∩ R| / |R|, Precision@k = |top k ∩ R| / k as in trec_eval, F1@k = 2 P R / (P + R).
    Source: llm-reteval specification, section 7.

    Args:
        ranking: passage ids, best first; empty if the run skipped the query.
        gold: ids of the gold passages, R.
        k: rank depth, from 1.
        same: for near-identical passages (case B), the ids of the gold passages with the same text. They count as
            retrieved: each gold passage once for Recall, each passage for Precision.

    Raises:
        InputError: no gold passage, or a depth below 1.
    """
    if k < 1 or not gold:
        raise InputError(
            "recall-undefined",
            f"Recall@{k} is undefined for {len(gold)} gold passages.",
            "Use a depth from 1 and queries with gold passages.",
        )
    stands_for = [{one for one in (passage, *(same or {}).get(passage, ())) if one in gold} for passage in ranking[:k]]
    places = tuple(at for at, found in enumerate(stands_for) if found)
    recall, precision = len(set().union(*stands_for)) / len(set(gold)), len(places) / k
    return Retrieved(recall, precision, harmonic(precision, recall), places)


def harmonic(precision: float, recall: float) -> float:
    """Return F1 = 2 P R / (P + R), 0 if both are 0. Source: van Rijsbergen, Information Retrieval, 1979."""
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


@dataclass(frozen=True)
class Conventional:
    """Means of one run at one depth over queries, each with its standard error; None without queries.

    Args:
        queries: n.
        recall, precision, f1: (mean, standard error).
        f1_of_means: F1 of the mean Precision and the mean Recall, as in the paper.
    """

    queries: int
    recall: tuple[float | None, float | None]
    precision: tuple[float | None, float | None]
    f1: tuple[float | None, float | None]
    f1_of_means: float | None


def conventional(queries: Collection[Retrieved]) -> Conventional:
    """Return the means over queries of the results of `retrieved`."""
    recall = mean_and_standard_error(one.recall for one in queries)
    precision = mean_and_standard_error(one.precision for one in queries)
    of_means = None if recall[0] is None or precision[0] is None else harmonic(precision[0], recall[0])
    return Conventional(len(queries), recall, precision, mean_and_standard_error(one.f1 for one in queries), of_means)


Outcome = float | None
"""The result of one query: 1 yes, 0 no, or a number between; None if the comparison failed."""


@dataclass(frozen=True)
class Scored:
    """A mean over queries and the numbers of queries behind it.

    Args:
        mean: None if no query counts.
        error: sample standard deviation / sqrt(n); None with fewer than two queries.
        queries: n, the queries that count, including the skipped ones.
        failed: queries whose comparison failed; they are left out.
        skipped: queries that the run did not answer; they count 0.
        waiting: queries that have not been compared yet; they are left out.
    """

    mean: float | None
    error: float | None
    queries: int
    failed: int
    skipped: int
    waiting: int

    @property
    def complete(self) -> bool:
        """Whether every query counts."""
        return not self.failed and not self.waiting


def score(outcomes: Mapping[str, Outcome], queries: Collection[str], skipped: Collection[str] = ()) -> Scored:
    """Return the mean over queries of an answer check's verdicts.

    Source: llm-reteval specification, section 4.4.

    Args:
        outcomes: by query id; None if the comparison failed, absent if it is still to be done.
        queries: the queries with gold passages; other queries in `outcomes` do not count.
        skipped: queries of these for which the run has no passage: each counts 0, even if it has an outcome.
    """
    wanted = set(queries)
    left_out = wanted & set(skipped)
    asked = {query: outcomes[query] for query in sorted(wanted - left_out) if query in outcomes}
    values = [float(one) for one in asked.values() if one is not None]
    mean, error = mean_and_standard_error([*values, *(0.0 for _ in left_out)])
    counted = len(values) + len(left_out)
    waiting = len(wanted) - len(left_out) - len(asked)
    return Scored(mean, error, counted, len(asked) - len(values), len(left_out), waiting)


Array = NDArray[np.float64]

FEW = 2
"""A correlation needs at least this many queries."""


@dataclass(frozen=True)
class QueryCorrelation:
    """Spearman's rho over queries; for two vectors of 0 and 1 it is phi.

    Args:
        spearman: with its interval over resampled queries; undefined if a vector is constant.
        queries: n, the queries with values of both measures.
        unknown: queries without a value of one or both measures.
        removed: queries that were left out, as failures of Recall.
    """

    spearman: Interval
    queries: int
    unknown: int
    removed: int


def correlate_queries(
    one: Mapping[str, float | None],
    other: Mapping[str, float | None],
    removed: Collection[str] = (),
    samples: int = SAMPLES,
    seed: int = 0,
) -> QueryCorrelation:
    """Return Spearman's rho between two measures over the queries of a run, with average ranks for ties.

    Source: llm-reteval, section 4.2 and table 2. Each resample draws as many queries as there are, with replacement.
    Resamples in which a vector is constant do not count for the interval.

    Args:
        one, other: values by query id, such as Recall@k and LLM-retEval@k; None if the value failed.
        removed: queries to leave out, such as those with a confirmed case A, B or C ("Refined").
        samples, seed: of the bootstrap.
    """
    named = one.keys() | other.keys()
    kept = sorted(named - set(removed))
    pairs = [(x, y) for query in kept if (x := one.get(query)) is not None and (y := other.get(query)) is not None]
    taken = len(named) - len(kept)
    cells, counts = (
        np.unique(np.array(pairs, dtype=np.float64), axis=0, return_counts=True)
        if pairs
        else (np.zeros((0, 2)), np.zeros(0, dtype=np.int64))
    )
    why = _undefined(cells, len(pairs))
    if why is not None:
        return QueryCorrelation(Interval(None, undefined=why), len(pairs), len(kept) - len(pairs), taken)
    value = float(_weighted_spearman(cells, counts[None].astype(np.float64))[0])
    dice = np.random.default_rng(seed)
    # Queries with the same pair of values are one cell; drawing cells by their counts is drawing queries.
    drawn = dice.multinomial(len(pairs), counts / counts.sum(), size=samples).astype(np.float64)
    found = interval(value, _weighted_spearman(cells, drawn))
    return QueryCorrelation(found, len(pairs), len(kept) - len(pairs), taken)


def _undefined(cells: Array, queries: int) -> str | None:
    if queries < FEW:
        return f"too few queries ({queries})"
    constant = [side for side, column in zip(("first", "second"), cells.T, strict=True) if np.ptp(column) == 0]
    return f"no variation in the {' and the '.join(constant)} measure" if constant else None


def _weighted_spearman(cells: Array, counts: Array) -> Array:
    """Return Spearman's rho of cells, (cells, 2), in samples that drew each cell so often, (samples, cells)."""
    x, y = (_mid_ranks(cells[:, side], counts) for side in (0, 1))
    n = counts.sum(axis=1, keepdims=True)
    x, y = x - (x * counts).sum(axis=1, keepdims=True) / n, y - (y * counts).sum(axis=1, keepdims=True) / n
    spread = np.sqrt((counts * x**2).sum(axis=1) * (counts * y**2).sum(axis=1))
    return np.clip(quotients((counts * x * y).sum(axis=1), spread, spread > 1e-9), -1, 1)


def _mid_ranks(values: Array, counts: Array) -> Array:
    """Return the average rank of each cell among the drawn things, from 0: (samples, cells)."""
    distinct, place = np.unique(values, return_inverse=True)
    totals = np.zeros((len(counts), len(distinct)))
    for cell, at in enumerate(place):
        totals[:, at] += counts[:, cell]
    return (np.cumsum(totals, axis=1) - totals + (totals - 1) / 2)[:, place]
