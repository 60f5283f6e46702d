"""The number of judgments that an audit needs: expected width of intervals by number of judgments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import InputError
from .design import FLOOR, chances
from .estimate import CONFIDENCE
from .weights import Array, Flags

CORRELATION = 0.5
"""The assumed correlation of predictions with judgments before any judgment."""
POWER = 0.8
"""The chance to detect a difference of the given size."""


def guessed_spread(lowest: float, highest: float) -> tuple[float, float]:
    """Return the spread around predictions with a machine and without one, before any judgment.

    Without a machine it is the standard deviation of gains spread evenly over their scale. With one it is that times
    sqrt(1 - r^2) for the correlation r = .5. After the first batch use `residual_spread`.

    Args:
        lowest, highest: the ends of the scale of gains.
    """
    alone = (highest - lowest) / 12**0.5
    return alone * (1 - CORRELATION**2) ** 0.5, alone


def expected_width(
    rows: Array,
    size: Array,
    spread: Array | float,
    budgets: Sequence[float],
    *,
    floor: float = FLOOR,
    known: Flags | None = None,
    confidence: float = CONFIDENCE,
) -> Array:
    """Return the expected width of intervals: 2 z sqrt(sum_i w_i^2 s_i^2 (1 / pi_i - 1)).

    Several batches count as one of their total size, which is the effect of their shares.

    Args:
        rows: shape (M, N): weights of systems, or differences of two.
        size: shape (N,), to which chances are proportional; ones and `floor=1` for the uniform design.
        spread: of gains around predictions, shape (N,) or one for all.
        budgets: expected numbers of judgments, B of them.
        floor, known: see `chances`; `known` holds the passages known before the audit, not those judged in its
        batches.
        confidence: of the intervals.

    Returns:
        Shape (B, M).
    """
    from scipy.special import ndtri

    parts = np.atleast_2d(rows) ** 2 * np.broadcast_to(spread, np.shape(size)) ** 2
    open_ = np.ones(len(size), bool) if known is None else ~known
    found = []
    for budget in budgets:
        pi = chances(size, budget, floor, open_)
        left = np.divide(1.0, pi, out=np.ones_like(pi), where=pi > 0) - 1
        found.append(2 * ndtri((1 + confidence) / 2) * np.sqrt(parts @ left))
    return np.array(found)


def judgments_needed(
    rows: Array,
    size: Array,
    spread: Array | float,
    width: float,
    *,
    floor: float = FLOOR,
    known: Flags | None = None,
    confidence: float = CONFIDENCE,
) -> int:
    """Return the fewest judgments with which every interval is expected to be at most this wide.

    Args:
        width: above 0, or 0, which takes all passages; twice h for "all scores within +-h". For a statement about
            all M scores at several looks, give the confidence 1 - level / M of the look.
        rows, size, spread, floor, known, confidence: see `expected_width`.

    Raises:
        InputError: the width is negative.
    """
    if not width >= 0:
        raise InputError("width-out-of-range", f"Interval width {width:g} is out of range.", "Use 0 or more.")
    low, high = 0, int(len(size) if known is None else (~known).sum())
    while high - low > 1:
        middle = (low + high) // 2
        widest = expected_width(rows, size, spread, [middle], floor=floor, known=known, confidence=confidence).max()
        low, high = (low, middle) if widest <= width else (middle, high)
    return high


def judgments_to_tell(
    row: Array,
    size: Array,
    spread: Array | float,
    difference: float,
    *,
    floor: float = FLOOR,
    known: Flags | None = None,
    confidence: float = CONFIDENCE,
    power: float = POWER,
) -> int:
    """Return the fewest judgments that separate a difference of this size from 0 with the given power.

    The standard error must be difference / (z_{(1 + confidence) / 2} + z_power).

    Args:
        row: shape (N,), the weights of A minus those of B.
        difference: the expected one, or the smallest that matters; not 0.
        size, spread, floor, known, confidence: see `expected_width`.
        power: between 0 and 1.
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    width = 2 * z * abs(difference) / (z + float(ndtri(power)))
    return judgments_needed(row, size, spread, width, floor=floor, known=known, confidence=confidence)
