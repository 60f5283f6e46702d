"""Numbers with percentile intervals from resampled queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SAMPLES = 1000
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A number and the percentile interval of its bootstrap.

    Args:
        value: None exactly if undefined.
        low, high: None if no resample defines the number.
        undefined: why the value is undefined, as a sentence without a full stop.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: str | None = None


def interval(value: float | None, samples: NDArray[np.float64], undefined: str | None = None) -> Interval:
    """Return a number with the interval that holds 95 % of its samples, without NaN.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
    """
    if value is None:
        return Interval(None, undefined=undefined)
    bounds = percentiles(samples)
    return Interval(value) if bounds is None else Interval(value, *bounds)


def percentiles(samples: NDArray[np.float64], level: float = LEVEL) -> tuple[float, float] | None:
    """Return the bounds that enclose a share of the samples, without NaN; None if all are NaN."""
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def quotients(part: NDArray[Any], whole: NDArray[Any], defined: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    """Return quotients of arrays of one shape; NaN if undefined. By default `whole` must be above 0."""
    found = np.full(np.shape(whole), np.nan)
    np.divide(part, whole, out=found, where=whole > 0 if defined is None else defined)
    return found


def resampled_means(scores: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
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


def drawn_counts(things: int, samples: int = SAMPLES, seed: int = 0) -> NDArray[np.float64]:
    """Return how often each of n things is drawn in each resample of n, with replacement: (samples, things)."""
    if not things:
        return np.zeros((samples, 0))
    dice = np.random.default_rng(seed)
    return dice.multinomial(things, np.full(things, 1 / things), size=samples).astype(np.float64)
