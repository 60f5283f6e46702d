"""Planning of an audit: expected widths and numbers of judgments before it, stopping rules during
it.

The stopping rules test statements whose error stays below a level even if people look after every
batch. The probability of a false statement, alpha, is spent over a fixed number of looks. Look k
may err with probability alpha_k, and these add up to alpha. So stopping at any look is wrong with a
probability of at most alpha (union bound). This assumes nothing about the dependence of estimates
between looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import check_in_range
from .._means_and_tests import CONFIDENCE
from ._audited_scores import (
    Estimates,
    compare_all_systems,
    estimate_sums,
    find_unbeaten,
    t_quantile,
)
from ._gain_estimates import CorrectedGains
from ._sampling_design import FLOOR, Array, Flags, inclusion_chances

CORRELATION = 0.5
"""The assumed correlation of predictions with judgments before any judgment."""
POWER = 0.8
"""The probability of detecting a difference of the given size."""


def guessed_spread(lowest: float, highest: float) -> tuple[float, float]:
    """Return a guess of the spread of gains around predictions, before any judgment: with and
    without a machine.

    Without a machine, the guess is the standard deviation of a uniform distribution over the scale.
    With a machine, it is multiplied by sqrt(1 - r^2), with r = `CORRELATION`. After the first
    batch, use `residual_spread`.

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

    Several batches count as one batch of their total size, because their shares have this effect.

    Args:
        rows: shape (M, N): weights of systems, or differences of the weights of two systems.
        size: shape (N,), to which chances are proportional; ones and `floor=1` for the uniform
            design.
        spread: spread of gains around predictions, shape (N,) or one number for all passages.
        budgets: B expected numbers of judgments.
        floor: see `inclusion_chances`.
        known: the passages known before the audit, without the passages judged in its batches.
        confidence: confidence of the intervals.

    Returns:
        Shape (B, M).
    """
    from scipy.special import ndtri

    parts = np.atleast_2d(rows) ** 2 * np.broadcast_to(spread, np.shape(size)) ** 2
    open_ = np.ones(len(size), bool) if known is None else ~known
    widths = []
    for budget in budgets:
        pi = inclusion_chances(size, budget, floor, open_)
        left = np.divide(1.0, pi, out=np.ones_like(pi), where=pi > 0) - 1
        widths.append(2 * ndtri((1 + confidence) / 2) * np.sqrt(parts @ left))
    return np.array(widths)


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
    """Return the smallest number of judgments with which no interval is expected to be wider than
    `width`.

    Args:
        width: at least 0; use 2 h for "all scores within +-h". 0 needs all passages.
        rows, size, spread, floor, known, confidence: see `expected_width`. For a statement about
            all M scores at a look, use the confidence 1 - (level of the look) / M.
    """
    low, high = 0, int(len(size) if known is None else (~known).sum())
    while high - low > 1:
        middle = (low + high) // 2
        widest = expected_width(
            rows, size, spread, [middle], floor=floor, known=known, confidence=confidence
        ).max()
        low, high = (low, middle) if widest <= width else (middle, high)
    return high


def judgments_to_separate(
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
    """Return the smallest number of judgments that separates a difference from 0 with the given
    power.

    The standard error must be difference / (z_{(1 + confidence) / 2} + z_power).

    Args:
        row: shape (N,), the weights of A minus the weights of B.
        difference: the expected difference, or the smallest difference that matters; not 0.
        size, spread, floor, known, confidence: see `expected_width`.
        power: between 0 and 1.
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    width = 2 * z * abs(difference) / (z + float(ndtri(power)))
    return judgments_needed(
        row, size, spread, width, floor=floor, known=known, confidence=confidence
    )


SPENDING = 2.0
"""Power of the spending function alpha (k / K)^2. Looks at few judgments may err less often than
later looks.
"""


def level_at(alpha: float, looks: int, look: int, power: float = SPENDING) -> float:
    """Return the level of a look: the part of the total level that it may spend.

    alpha_k = alpha ((k / K)^power - ((k - 1) / K)^power), the power family of Kim and DeMets
    (Biometrika 74, 1987; Jennison and Turnbull, Group Sequential Methods, 2000, chapter 7). Here
    the union bound replaces the joint normal distribution of the looks. Power 1 spends equally
    (Bonferroni). The levels of all looks add up to alpha.

    Args:
        alpha: the total probability of a false statement, such as .05.
        looks: K, fixed before the first batch.
        look: k, from 1 to K.
        power: above 0.

    Raises:
        InputError: an argument is out of range.
    """
    check_in_range(
        "level-out-of-range",
        f"Alpha {alpha:g}, {looks} looks (interim checks) or power {power:g}",
        "Use an alpha between 0 and 1, at least 1 look, and a power above 0.",
        0 < alpha < 1 and looks >= 1 and power > 0,
    )
    marks = alpha * (np.arange(looks + 1) / looks) ** power
    return float(marks[look] - marks[look - 1])


@dataclass(frozen=True)
class LookResult:
    """Whether a statement can be made at a look.

    Args:
        holds: whether it can be made, so that the audit may stop.
        systems: positions of systems. From `decide_better`, the better system; from `decide_best`,
            the systems that may be best; from `decide_precise`, the systems whose interval is still
            too wide.
    """

    holds: bool
    systems: tuple[int, ...]


def decide_better(
    w: Array, corrected: CorrectedGains, first: int, second: int, level: float
) -> LookResult:
    """Test the statement "A is better than B", or the reverse.

    It holds if the two-sided p value of no difference is at most the level.

    Args:
        w: shape (S, N).
        corrected: the estimated gains.
        first, second: positions of A and B.
        level: level of this look, from `level_at`.

    Returns:
        The better system; empty if the statement does not hold.
    """
    told = compare_all_systems(w[[first, second]], corrected)
    value = told.difference.value[0]
    if told.p[0] > level or value == 0:
        return LookResult(False, ())
    return LookResult(True, (first if value > 0 else second,))


def decide_best(w: Array, corrected: CorrectedGains, level: float) -> LookResult:
    """Test which system is best: remove the systems that are significantly worse than another
    system.

    A system is removed if any other system is better at the one-sided level / (S - 1). Only its own
    S - 1 comparisons can remove the best system. So this happens with a probability of at most the
    level (subset selection by pairwise comparisons; Gupta, Technometrics 7, 1965).

    Args: see `decide_better`.

    Returns:
        The remaining systems, including systems equal to a remaining system. The statement holds if
        one remains.
    """
    if len(w) < 2:
        return LookResult(True, tuple(range(len(w))))
    left = tuple(
        np.flatnonzero(find_unbeaten(compare_all_systems(w, corrected), len(w), level)).tolist()
    )
    return LookResult(len(left) == 1, left)


def decide_precise(
    w: Array, corrected: CorrectedGains, half_width: float, level: float
) -> LookResult:
    """Test the statement "all scores within +-h": the half-width of every simultaneous interval is
    at most h.

    Each interval has the confidence 1 - level / S (Bonferroni), so that all intervals hold
    together.

    Args:
        half_width: h, in the unit of the scores.
        w, corrected, level: see `decide_better`.

    Returns:
        The systems whose interval is wider or unknown. The statement holds without such systems.
    """
    told = simultaneous_intervals(w, corrected, level)
    wide = np.flatnonzero(~(told.width / 2 <= half_width))
    return LookResult(not len(wide), tuple(wide.tolist()))


def simultaneous_intervals(w: Array, corrected: CorrectedGains, level: float) -> Estimates:
    """Return intervals that hold together, for all rows, with probability 1 - level (Bonferroni).

    With the level of each look, the intervals of all looks hold together with probability 1 -
    alpha.
    """
    sums = estimate_sums(w, corrected)
    each = level / len(sums.value)
    half = sums.error * t_quantile(1 - each / 2, sums.degrees)
    return Estimates(
        sums.value, sums.error, sums.degrees, sums.value - half, sums.value + half, 1 - each
    )
