"""A test for systems that answer public questions better than sealed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._means import Array
from ._paired_tests import holm

DRAWS = 4_000
SEALED_LEVEL = 0.04
"""Level from which a system is flagged: below the usual .05, because a flag accuses people."""


@dataclass(frozen=True)
class SealedTest:
    """The test of S systems.

    Args:
        public, sealed: shape (S,), mean coverage of public and of sealed questions.
        surplus: shape (S,), mean over queries of public minus sealed coverage, minus that of the median system.
        adjusted: shape (S,), p values of a surplus by chance, one-sided, corrected by Holm's method.
    """

    public: Array
    sealed: Array
    surplus: Array
    adjusted: Array


def sealed_test(
    answered: Sequence[NDArray[np.bool_]],
    weights: Sequence[Array],
    sealed: Sequence[NDArray[np.bool_]],
    draws: int = DRAWS,
    seed: int = 0,
) -> SealedTest:
    """Test which systems answer public questions better than sealed ones, compared with the median system.

    For a system that knows no question, the sealed questions are a random part of all. So the test draws as many other
    questions of each query and counts how often the surplus is at least as large (randomisation inference; Fisher, The
    Design of Experiments, 1935). This is exact for any number of questions, for skewed coverages and for equal ones.

    Args:
        answered: for each query, shape (S, n): whether each system answers each of the n questions.
        weights: for each query, shape (n,), above 0.
        sealed: for each query, shape (n,): some questions, but not all of them.
        draws: number of random draws.
        seed: makes the draws repeatable.
    """
    dice = np.random.default_rng(seed)
    total, parts = 0.0, []
    for own, weight, flags in zip(answered, weights, sealed, strict=True):
        masks = np.argsort(dice.random((draws, len(flags))), axis=1) < flags.sum()
        masks = np.vstack([flags, masks]).T * weight[:, None]
        rest = weight[:, None] - masks
        known = own.astype(float)
        inside, outside = (known @ part / part.sum(axis=0) for part in (masks, rest))
        surplus = outside - inside
        # Sorting takes a tenth of the time of numpy's median.
        middle = np.sort(surplus, axis=0)[(len(known) - 1) // 2 : len(known) // 2 + 1].mean(axis=0)
        total = total + surplus - middle
        parts.append((outside[:, 0], inside[:, 0]))
    found = np.asarray(total) / len(answered)
    # Sums that differ only by the order of addition are equal.
    p = (1 + (found[:, 1:] >= found[:, :1] - 1e-9).sum(axis=1)) / (1 + draws)
    public, hidden = np.mean(parts, axis=0)
    return SealedTest(public, hidden, found[:, 0], np.array(holm(p.tolist())))
