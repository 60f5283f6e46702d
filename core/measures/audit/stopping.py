"""Stopping rules: statements that hold at a level even if people look after every batch.

The chance of a false statement is spent over a number of looks that is fixed beforehand. Look k may err with chance
alpha_k, and these add up to alpha. So stopping at any look is wrong with chance alpha at most. The bound is the sum
of the chances; it assumes nothing about the dependence of estimates between looks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from .batches import Corrected
from .estimate import Estimates, compare, estimates, quantile
from .weights import Array

POWER = 2.0
"""The spending function alpha (k / K)^2: looks at few judgments may err less often than later ones."""


def spending(alpha: float, looks: int, power: float = POWER) -> tuple[float, ...]:
    """Return the part of the level that each look may spend.

    alpha_k = alpha ((k / K)^power - ((k - 1) / K)^power), the power family of Kim and DeMets (Biometrika 74, 1987;
    Jennison and Turnbull, Group Sequential Methods, 2000, chapter 7). Here the union bound replaces the joint normal
    distribution of the looks. Power 1 spends equally (Bonferroni).

    Args:
        alpha: the chance of a false statement in total, such as .05.
        looks: K, fixed before the first batch.
        power: above 0.

    Returns:
        K levels that add up to alpha.

    Raises:
        InputError: an argument is out of range.
    """
    if not 0 < alpha < 1 or looks < 1 or power <= 0:
        raise InputError(
            "level-out-of-range",
            f"Level {alpha:g}, {looks} looks or power {power:g} is out of range.",
            "Use a level between 0 and 1, at least one look, and a power above 0.",
        )
    marks = alpha * (np.arange(looks + 1) / looks) ** power
    return tuple(np.diff(marks).tolist())


def level_at(alpha: float, looks: int, look: int, power: float = POWER) -> float:
    """Return the level of one look, from 1.

    Raises:
        InputError: the look is beyond the planned ones, when the level is spent.
    """
    if not 1 <= look <= looks:
        raise InputError(
            "no-look-left",
            f"Look {look} is outside the {looks} planned looks of the audit.",
            "Report the intervals without the statement, or plan another audit.",
        )
    return spending(alpha, looks, power)[look - 1]


@dataclass(frozen=True)
class Told:
    """Whether a statement can be made at a look.

    Args:
        holds: whether it can be made; then you may stop.
        systems: positions of its systems: the better one; those that may be the best; or those whose interval is
            still too wide.
    """

    holds: bool
    systems: tuple[int, ...]


def better(w: Array, found: Corrected, first: int, second: int, level: float) -> Told:
    """Test the statement "A is better than B", or B than A: the two-sided p value of no difference is at most the
    level.

    Args:
        w: shape (S, N).
        found: the estimated gains.
        first, second: positions of A and B.
        level: of this look, from `level_at`.

    Returns:
        The better one, or neither.
    """
    told = compare(w[[first, second]], found)
    value = told.difference.value[0]
    if told.p[0] > level or value == 0:
        return Told(False, ())
    return Told(True, (first if value > 0 else second,))


def best(w: Array, found: Corrected, level: float) -> Told:
    """Test the statement "which is best": which systems remain after removing those surely worse than another.

    A system is removed if any other is better at the one-sided level / (S - 1). Only its own S - 1 comparisons can
    remove the best one, so that happens with a chance of at most the level (subset selection by pairwise
    comparisons; Gupta, Technometrics 7, 1965).

    Args: see `better`.

    Returns:
        Holds if one system remains; else the remaining systems, including those equal to a remaining one.
    """
    if len(w) < 2:
        return Told(True, tuple(range(len(w))))
    pairs = compare(w, found)
    beyond = pairs.p / 2 <= level / (len(w) - 1)
    worse = np.zeros(len(w), bool)
    worse[pairs.second[beyond & (pairs.difference.value > 0)]] = True
    worse[pairs.first[beyond & (pairs.difference.value < 0)]] = True
    left = tuple(np.flatnonzero(~worse).tolist())
    return Told(len(left) == 1, left)


def precise(w: Array, found: Corrected, half_width: float, level: float) -> Told:
    """Test the statement "all scores within +-h": every simultaneous interval is that narrow.

    Each interval has the confidence 1 - level / S (Bonferroni), so that all hold at once.

    Args:
        half_width: h, in the unit of the scores.
        w, found, level: see `better`.

    Returns:
        The systems whose interval is still wider, or unknown.
    """
    told = simultaneous(w, found, level)
    wide = np.flatnonzero(~(told.width / 2 <= half_width))
    return Told(not len(wide), tuple(wide.tolist()))


def simultaneous(w: Array, found: Corrected, level: float) -> Estimates:
    """Return intervals of all rows that hold at once with chance 1 - level; at a look's level, over all looks too."""
    told = estimates(w, found)
    each = level / len(told.value)
    half = told.error * quantile(1 - each / 2, told.degrees)
    return Estimates(told.value, told.error, told.degrees, told.value - half, told.value + half, 1 - each)
