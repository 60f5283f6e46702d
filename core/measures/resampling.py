"""Numbers with percentile intervals from resampled queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SAMPLES = 1000
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A number and the percentile interval of its bootstrap.

    Args:
        value: None exactly where undefined.
        low, high: None where no resample defines the number.
        undefined: why there is no value, as a sentence without a full stop.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: str | None = None


def interval(value: float | None, samples: NDArray[np.float64], undefined: str | None = None) -> Interval:
    """A number with the interval that holds 95 % of its samples, NaN among them left out.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
    """
    if value is None:
        return Interval(None, undefined=undefined)
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return Interval(value)
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(value, float(low), float(high))


def drawn_counts(things: int, samples: int = SAMPLES, seed: int = 0) -> NDArray[np.float64]:
    """How often each of n things is drawn in each resample of n, with replacement: (samples, things)."""
    if not things:
        return np.zeros((samples, 0))
    dice = np.random.default_rng(seed)
    return dice.multinomial(things, np.full(things, 1 / things), size=samples).astype(np.float64)
