"""Test of a question's rewording on pairs that did not choose it."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
ALPHA = 0.08
"""The chance that any test of a question accepts a wording without an advantage. The first test has the level .049."""
HELD_OUT = 40
"""Minimum number of held-out pairs; with fewer, a test would tell nothing."""


@dataclass(frozen=True)
class RepairTest:
    """The outcome of a test.

    Args:
        chosen: position of the wording that was best on the first half.
        pairs, gains, losses: numbers of held-out pairs, and of those that are right only after or only before.
        p: one-sided p value of no improvement.
        level: the level of this test.
        accepted: whether the wording is better; None if there were too few held-out pairs to tell.
    """

    chosen: int
    pairs: int
    gains: int
    losses: int
    p: float
    level: float
    accepted: bool | None


def spent(test: int) -> float:
    """Return the level of the test with this number, from 1: alpha 6 / (pi test)^2, which adds up to alpha."""
    return ALPHA * 6 / (pi * test) ** 2


def rewording_test(before: Flags, after: Flags, held_out: Flags, level: float) -> RepairTest:
    """Choose the best of several wordings on one half of the pairs, and test it once on the other half.

    The test is the exact one-sided test of McNemar (Psychometrika 12, 1947) on the pairs whose answer changes from
    wrong to right or back. The choice does not use these pairs, so it does not bias the test.

    Args:
        before: shape (n,), whether the present wording is right about each pair.
        after: shape (wordings, n), the same for each new wording.
        held_out: shape (n,), the pairs of the test.
        level: from `spent`.
    """
    from scipy.special import bdtrc

    change = after.astype(int) - before
    chosen = int(np.argmax(change[:, ~held_out].sum(axis=1)))
    gains, losses = (int((change[chosen, held_out] == sign).sum()) for sign in (1, -1))
    p = float(bdtrc(gains - 1, gains + losses, 0.5)) if gains else 1.0
    enough = int(held_out.sum()) >= HELD_OUT
    return RepairTest(chosen, int(held_out.sum()), gains, losses, p, level, p <= level if enough else None)
