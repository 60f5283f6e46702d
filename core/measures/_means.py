"""Means with their errors, and the bootstrap: resampled means, quotients and percentile intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

Skipped = Literal["zero", "ignore"]
"""Treatment of a query that a run did not answer: it counts 0 (the papers), or is left out (trec_eval without -c)."""


def mean_and_standard_error(values: Iterable[float]) -> tuple[float | None, float | None]:
    """Return the mean of values and its standard error: sample standard deviation / sqrt(n).

    Args:
        values: one number per query.

    Returns:
        (mean, standard error). The mean is None without values. The error is None with fewer than two values, because
        the spread is then unknown. Sums are exact (fsum): the order of the values does not change the mean, so equal
        systems are tied.
    """
    numbers = list(values)
    n = len(numbers)
    if n == 0:
        return None, None
    mean = math.fsum(numbers) / n
    if n == 1:
        return mean, None
    variance = math.fsum([(number - mean) ** 2 for number in numbers]) / (n - 1)
    return mean, math.sqrt(variance / n)


def harmonic(precision: float, recall: float) -> float:
    """Return F1 = 2 P R / (P + R), 0 if both are 0. Source: van Rijsbergen, Information Retrieval, 1979."""
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def wilson(right: int, answered: int) -> tuple[float, float] | None:
    """Return Wilson's 95 % interval (low, high) of a share, whose width is always above 0; None without answers.

    Source: Wilson, Journal of the American Statistical Association 22, 1927.
    """
    if not answered:
        return None
    square = NormalDist().inv_cdf(0.975) ** 2
    centre = (right + square / 2) / (answered + square)
    half = math.sqrt(square * (right * (answered - right) / answered + square / 4)) / (answered + square)
    # If all answers are right, the bound is exactly 1 in spite of rounding.
    return max(0.0, centre - half) if right else 0.0, centre + half if right < answered else 1.0


def tied(a: float, se_a: float | None, b: float, se_b: float | None) -> bool:
    """Return whether the error bars of two scores overlap or touch.

    Args:
        a, b: the two scores.
        se_a, se_b: their standard errors; None (unknown) counts as 0.

    Returns:
        Whether |a - b| <= se_a + se_b. Source: original-exam, section 4.1.1.
    """
    # Printed leaderboards are rounded: .94 and .93 with errors of .005 touch, though not in binary.
    return abs(a - b) <= (se_a or 0.0) + (se_b or 0.0) + 1e-12


def system_score(
    per_query: Mapping[str, float], queries: Sequence[str], skipped: Skipped
) -> tuple[float | None, float | None, int]:
    """Return the score of a system: the mean over queries.

    Args:
        per_query: score by query id; queries that the system did not answer are absent.
        queries: the queries to average over, each once; others in `per_query` do not count.
        skipped: whether an absent query counts 0 or is left out.

    Returns:
        (mean, standard error, number of averaged queries).
    """
    if skipped == "zero":
        values = [per_query.get(query, 0.0) for query in queries]
    else:
        values = [per_query[query] for query in queries if query in per_query]
    mean, error = mean_and_standard_error(values)
    return mean, error, len(values)


SAMPLES = 1000
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A number with its percentile interval from the bootstrap.

    Args:
        value: None if and only if it is undefined.
        low, high: None if the number is undefined in all resamples.
        undefined: why the value is undefined, as a sentence without a full stop.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: str | None = None


def interval(value: float | None, samples: Array, undefined: str | None = None) -> Interval:
    """Return a number with the interval that contains 95 % of its samples, ignoring NaN.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
    """
    if value is None:
        return Interval(None, undefined=undefined)
    bounds = percentiles(samples)
    return Interval(value) if bounds is None else Interval(value, *bounds)


def percentiles(samples: Array, level: float = LEVEL) -> tuple[float, float] | None:
    """Return the (low, high) that contain a share `level` of the samples, ignoring NaN; None if all are NaN."""
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def quotients(part: NDArray[Any], whole: NDArray[Any], defined: NDArray[np.bool_] | None = None) -> Array:
    """Return part / whole for arrays of one shape; NaN if not `defined`, by default if `whole` is not above 0."""
    found = np.full(np.shape(whole), np.nan)
    np.divide(part, whole, out=found, where=whole > 0 if defined is None else defined)
    return found


def resampled_means(scores: Array, counts: Array) -> Array:
    """Return the mean of every run in every resample of the queries, (samples, runs); NaN if none of its queries was
    drawn.

    Args:
        scores: (queries, runs); NaN if a query does not count for a run.
        counts: how often each query was drawn, (samples, queries).
    """
    present = ~np.isnan(scores)
    means = quotients(counts @ np.where(present, scores, 0.0), counts @ present)
    # Equal systems must stay tied, although a matrix product may add their numbers in another order.
    return means.round(12)


def drawn_counts(things: int, samples: int = SAMPLES, seed: int = 0) -> Array:
    """Return how often each thing is drawn in each resample: (samples, things).

    A resample draws as many things as there are, with replacement.
    """
    if not things:
        return np.zeros((samples, 0))
    dice = np.random.default_rng(seed)
    return dice.multinomial(things, np.full(things, 1 / things), size=samples).astype(np.float64)
