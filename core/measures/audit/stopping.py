"""When to stop: statements that hold at a level although one looks after every batch.

The chance of a false statement is spent over a number of looks that is fixed beforehand: look k may err with chance
alpha_k, and these add up to alpha, so that whoever stops at whatever look is wrong with chance alpha at most (the sum
of the chances bounds the chance of any; nothing is assumed of how estimates of several looks go together).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from .batches import Corrected
from .estimate import Estimates, compare, estimates, quantile
from .weights import Array

POWER = 2.0
"""The spending function alpha (k / K)^2: looks at few judgments may err less often than those at many."""


def spending(alpha: float, looks: int, power: float = POWER) -> tuple[float, ...]:
    """How much of the level each look may spend.

    alpha_k = alpha ((k / K)^power - ((k - 1) / K)^power), the power family of Kim and DeMets (Biometrika 74, 1987;
    Jennison and Turnbull, Group Sequential Methods, 2000, chapter 7), here with the union bound in place of the joint
    normal distribution of the looks. Power 1 spends alike (Bonferroni).

    Args:
        alpha: the chance of a false statement in all, such as .05.
        looks: K, fixed before the first batch.
        power: above 0.

    Returns:
        K levels that add up to alpha.

    Raises:
        InputError: if one is outside its range.
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
    """The level of one look, from 1.

    Raises:
        InputError: for a look beyond those that were planned: the level is spent.
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
        holds: whether it can; then one may stop.
        systems: places of the systems that it is about: the better one; those that may be the best; those whose
            interval is still too wide.
    """

    holds: bool
    systems: tuple[int, ...]


def better(w: Array, found: Corrected, first: int, second: int, level: float) -> Told:
    """The statement "A is better than B", or B than A: the two-sided p value of no difference is at most the level.

    Args:
        w: shape (S, N).
        found: the estimated gains.
        first, second: places of A and B.
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
    """The statement "which is best": who may still be, after all who are surely worse than another are left out.

    A system is left out where any other is better at the one-sided level / (S - 1). The best one is left out with a
    chance of the level at most, since only its own S - 1 comparisons can do so (subset selection; Gupta, Technometrics
    7, 1965, by comparisons of two).

    Args: see `better`.

    Returns:
        Holds where one is left; else those that are left, or that are the same as one that is.
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
    """The statement "all scores within +-h": every simultaneous interval is that narrow.

    Intervals have the confidence 1 - level / S each (Bonferroni), so that all hold at once.

    Args:
        half_width: h, in the unit of the scores.
        w, found, level: see `better`.

    Returns:
        Those whose interval is still wider, or not known.
    """
    told = simultaneous(w, found, level)
    wide = np.flatnonzero(~(told.width / 2 <= half_width))
    return Told(not len(wide), tuple(wide.tolist()))


def simultaneous(w: Array, found: Corrected, level: float) -> Estimates:
    """Intervals of all rows that hold at once with the chance 1 - level; at the level of a look, over all looks too."""
    told = estimates(w, found)
    each = level / len(told.value)
    half = told.error * quantile(1 - each / 2, told.degrees)
    return Estimates(told.value, told.error, told.degrees, told.value - half, told.value + half, 1 - each)
