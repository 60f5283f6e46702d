"""Difference of a machine's leaderboard from a fully judged leaderboard, estimated by an audit: bias, correlation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ._audited_scores import CONFIDENCE, Comparisons, Estimates, Variance, estimates, quantile
from ._gain_estimates import Corrected
from ._label_quality import UNDEFINED, Rate
from ._sampling_design import Array, Flags


def machine_bias(
    w: Array,
    machine: Array,
    found: Corrected,
    *,
    variance: Variance = "pool",
    queries: NDArray[np.int64] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimates:
    """Return the bias of the machine's score of each system: the machine's score minus the audited score.

    Args:
        w: shape (S, N), the weights of the systems.
        machine: shape (N,), the gain of the machine's label; 0 without a label, as on the machine's leaderboard.
        found, variance, queries, confidence: see `estimates`.

    Returns:
        Arrays of shape (S,), with intervals.
    """
    surplus = replace(found, gains=machine - found.gains)
    return estimates(w, surplus, variance=variance, queries=queries, confidence=confidence)


def group_bias(
    w: Array,
    machine: Array,
    found: Corrected,
    members: Flags,
    *,
    variance: Variance = "pool",
    queries: NDArray[np.int64] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimates:
    """Return how much the machine favours the systems of its own model family (circularity).

    Args:
        members: shape (S,), whether a system shares the machine's model family; neither all nor no systems.
        w, machine, found, variance, queries, confidence: see `machine_bias`.

    Returns:
        Arrays of shape (1,): mean bias of the members minus mean bias of the other systems.

    Raises:
        InputError: all or no systems are members.
    """
    if members.all() or not members.any():
        raise InputError(
            "bias-group-of-all",
            "The bias of a group needs systems inside and outside the group.",
            "Name some of the systems, not all.",
        )
    contrast = w[members].mean(axis=0) - w[~members].mean(axis=0)
    return machine_bias(contrast[None], machine, found, variance=variance, queries=queries, confidence=confidence)


def true_correlation(machine: Array, w: Array, found: Corrected, confidence: float = CONFIDENCE) -> Rate:
    """Return Pearson's correlation of the machine's scores with fully judged scores, corrected for sampling noise.

    The correlation with the audited scores is too low, because these contain sampling noise. The noise does not change
    their expected covariance with the machine's scores. It raises their variance by a known amount, the mean variance
    of the centred scores. This amount is subtracted (Spearman's correction for attenuation, American Journal of
    Psychology 15, 1904).

    The interval is r +- z s, cut at -1 and 1. s^2 is the sum of two variances. The first is that of the linear part of
    r. The second is that of the noise variance, r^2 tr(C^2) / (2 S^2 V^2), which matters with few judgments. C is the
    covariance of the centred scores' errors, and V is the corrected variance.

    Args:
        machine: shape (S,), the machine's scores.
        w: shape (S, N), the weights of the systems.
        found: the estimated gains.
        confidence: confidence of the interval.

    Returns:
        The correlation. It is undefined with fewer than 3 systems, or if the machine's scores are all equal. It is also
        undefined if the audited scores differ by no more than their noise, or if no judgment shows their noise.
    """
    count = len(machine)
    if np.isnan(estimates(w, found).error).all():
        return UNDEFINED
    scores = w @ found.gains
    ours, theirs = machine - machine.mean(), scores - scores.mean()
    centred = w - w.mean(axis=0)
    noise = (centred * found.variances) @ centred.T
    variance = float((theirs**2).mean() - np.trace(noise) / count)
    spread = float((ours**2).mean())
    if count < 3 or spread <= 1e-24 or variance <= 1e-24:
        return UNDEFINED
    shared = float((ours * theirs).mean())
    r = shared / (spread * variance) ** 0.5
    # d r = r (d log shared - d log variance / 2), in a form that is also valid for a covariance of 0.
    slope = ours / (count * (spread * variance) ** 0.5) - r * theirs / (count * variance)
    linear = float((slope @ w) ** 2 @ found.variances)
    second = r**2 * float((noise**2).sum()) / (2 * count**2 * variance**2)
    error = (linear + second) ** 0.5
    half = error * float(quantile((1 + confidence) / 2, np.array([np.inf]))[0])
    value = float(np.clip(r, -1, 1))
    return Rate(value, max(-1.0, min(value, r - half)), min(1.0, max(value, r + half)), error)


def kendall_bounds(machine: Array, compared: Comparisons, level: float = 1 - CONFIDENCE) -> tuple[float, float]:
    """Return bounds of Kendall's tau between the machine's leaderboard and the fully judged leaderboard.

    A pair of systems that the audit separates has its audited order in both bounds. Every other pair is discordant in
    the lower bound and concordant in the upper bound. Do not report tau with the audited leaderboard: it is lower than
    the true tau, because the audited order contains noise.

    Args:
        machine: shape (S,).
        compared: every two systems, from `compare`.
        level: probability of any false difference among all pairs, and so of wrong bounds.

    Returns:
        (lower, upper). Pairs that are tied on the machine's leaderboard count 0 (tau-a). NaN with fewer than 2 systems.
    """
    count = len(compared.p)
    if not count:
        return float("nan"), float("nan")
    sides = np.sign(machine[compared.first] - machine[compared.second])
    told = compared.adjusted <= level
    agreed = float((sides * np.sign(compared.difference.value))[told].sum())
    open_ = float(np.abs(sides[~told]).sum())
    return (agreed - open_) / count, (agreed + open_) / count


def composite(machine: Array, audited: Array, error: Array) -> Array:
    """Return scores for an order of systems between the machine's order and the audited order.

    score_r = machine_r + mean(d) + B (d_r - mean(d)), with d_r = audited_r - machine_r, B = s^2 / (s^2 + mean
    error^2) and s^2 = max(0, var(d) - mean error^2). This is empirical Bayes shrinkage (Efron and Morris, Journal of
    the American Statistical Association 68, 1973). With few judgments the order is close to the machine's order, with
    many judgments to the audited order.

    Args:
        machine: shape (S,), the machine's scores.
        audited: shape (S,), unbiased scores.
        error: shape (S,), standard errors of the audited scores; NaN if unknown. An unknown error counts as 0, because
            the sum that estimates its variance is empty. So the mean of the estimated variances is unbiased.

    Returns:
        Shape (S,). These scores have no intervals; the intervals of the audited scores do not apply to them.
    """
    d = audited - machine
    noise = float((np.nan_to_num(error) ** 2).mean())
    spread = max(0.0, float(d.var(ddof=1)) - noise) if len(d) > 1 else 0.0
    kept = spread / (spread + noise) if spread + noise > 0 else 1.0
    return np.asarray(machine + d.mean() + kept * (d - d.mean()), dtype=np.float64)
