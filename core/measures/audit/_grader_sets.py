"""Comparison of graders by an audit: which graders are not separated from the best, and which one to choose."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ._audit_planning import unbeaten
from ._audited_scores import CONFIDENCE, Comparisons, Estimates, estimates, p_values
from ._gain_estimates import Corrected
from ._sampling_design import Array, Flags


@dataclass(frozen=True)
class GraderSet:
    """The estimated quality of G graders.

    Args:
        value: shape (G,), Pearson's correlation of each grader's leaderboard with the audited leaderboard.
        kept: shape (G,), whether no other grader is significantly better.
        chosen: position of the grader with the highest correlation.
        behind: correlation of the chosen grader minus that of each grader, with intervals.
    """

    value: Array
    kept: Flags
    chosen: int
    behind: Estimates


def compare_graders(w: Array, machines: Array, found: Corrected, level: float = 1 - CONFIDENCE) -> GraderSet:
    """Compare graders by the correlation of their leaderboards with the audited leaderboard.

    All graders are compared with the same audited scores t, so most of the sampling error cancels. With the
    standardised scores z of a grader, its correlation r has the slope (z - r z_t) / (S sd_t) in t. To first order, the
    difference of two graders is therefore a weighted sum of gains, with an error from `estimates`. A grader is removed
    if another one is better at the one-sided level / (G - 1), as in `planning.best`. So the best grader is removed with
    a probability of at most the level. Noise in t lowers all correlations by the same factor, which changes no order.

    Args:
        w: shape (S, N), the weights of at least 3 systems with different audited scores.
        machines: shape (G, S), the score of each system on each grader's leaderboard; no leaderboard is constant.
        found: the estimated gains, predicted from all graders alike.
        level: the probability of removing the best grader.
    """
    scores = w @ found.gains
    centred = machines - machines.mean(axis=1, keepdims=True)
    z, target = centred / centred.std(axis=1, keepdims=True), (scores - scores.mean()) / scores.std()
    value = (z * target).mean(axis=1)
    slopes = (z - value[:, None] * target) / (len(scores) * scores.std())

    def differences(one: NDArray[np.intp], other: NDArray[np.intp]) -> Estimates:
        told = estimates((slopes[one] - slopes[other]) @ w, found, confidence=1 - level)
        exact, half = value[one] - value[other], told.high - told.value
        return replace(told, value=exact, low=exact - half, high=exact + half)

    first, second = np.triu_indices(len(machines), 1)
    told = differences(first, second)
    pairs = Comparisons(first, second, told, p_values(told), np.empty(0))
    chosen = int(np.argmax(value))
    every = np.arange(len(machines))
    behind = differences(np.full_like(every, chosen), every)
    return GraderSet(value, unbeaten(pairs, len(machines), level), chosen, behind)
