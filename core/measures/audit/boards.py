"""Agreement of a machine's leaderboard with the one from full judgments, estimated from the sample of an audit."""

from __future__ import annotations

import numpy as np

from .batches import Corrected
from .estimate import CONFIDENCE, Comparisons, estimates, quantile
from .labels import UNDEFINED, Rate
from .weights import Array


def true_correlation(machine: Array, w: Array, found: Corrected, confidence: float = CONFIDENCE) -> Rate:
    """Return Pearson's correlation of the machine's scores with fully judged ones, corrected for the audit's noise.

    The correlation with the audited scores is too low, because these contain noise. Noise does not change their
    covariance with the machine's scores. It raises their variance by a known amount, the mean variance of the
    centred scores. That amount is subtracted (Spearman's correction for attenuation, American Journal of Psychology
    15, 1904). The interval is r +- z s, cut at -1 and 1. s^2 adds two terms: the variance of the linear part of r
    and, relevant for few judgments, that of the noise variance itself, r^2 tr(C^2) / (2 S^2 V^2). C is the
    covariance of the centred scores' errors and V the corrected variance.

    Args:
        machine: shape (S,), the machine's scores.
        w: shape (S, N), the weights of the systems.
        found: the estimated gains.
        confidence: of the interval.

    Returns:
        Undefined with fewer than 3 systems, or if the machine's scores are all equal. Also if the audited scores
        differ by no more than their noise, or if no judgment shows their noise.
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
    """Return bounds of Kendall's tau between the machine's leaderboard and the fully judged one, valid at the level.

    Pairs that the audit separates count as they are. All others count once against the machine and once for it. Do
    not report the tau with the audited leaderboard: it is lower than the true one, since the audited order contains
    noise.

    Args:
        machine: shape (S,).
        compared: every two systems, from `compare`.
        level: chance of any false difference among all pairs.

    Returns:
        The least and the greatest; pairs that the machine ties count 0 (tau-a). NaN with fewer than 2 systems.
    """
    count = len(compared.p)
    if not count:
        return float("nan"), float("nan")
    sides = np.sign(machine[compared.first] - machine[compared.second])
    told = compared.adjusted <= level
    agreed = float((sides * np.sign(compared.difference.value))[told].sum())
    open_ = float(np.abs(sides[~told]).sum())
    return (agreed - open_) / count, (agreed + open_) / count
