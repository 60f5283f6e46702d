"""Audited scores and differences with their intervals, and the comparison of machines with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...choices import AuditVariance
from ...errors import InputError
from .._means_and_tests import CONFIDENCE, adjust_holm, maximal_sections
from ._gain_estimates import CorrectedGains
from ._sampling_design import Array, Flags


@dataclass(frozen=True)
class Rate:
    """A number with its interval. Each is None if it is undefined."""

    value: float | None
    low: float | None
    high: float | None


UNDEFINED = Rate(None, None, None)


@dataclass(frozen=True)
class Estimates:
    """Estimates with their intervals, arrays of the same shape.

    Args:
        value: the estimates.
        error: their standard errors; NaN if unknown.
        degrees: degrees of freedom of Student's t; infinite if the error is 0.
        low, high: the interval; NaN if the error is unknown.
        confidence: confidence of each interval by itself.
    """

    value: Array
    error: Array
    degrees: Array
    low: Array
    high: Array
    confidence: float

    @property
    def width(self) -> Array:
        """Width of the intervals."""
        return self.high - self.low

    def mask_errors(self, unknown: Flags) -> Estimates:
        """Return the estimates with unknown errors and intervals for the flagged estimates."""
        error, low, high = (
            np.where(unknown, np.nan, one) for one in (self.error, self.low, self.high)
        )
        return replace(self, error=error, low=low, high=high)


def estimate_sums(
    w: Array,
    corrected: CorrectedGains,
    *,
    variance: AuditVariance = "pool",
    queries: NDArray[np.int64] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimates:
    """Return weighted sums of gains, such as scores, differences and biases, with their t
    intervals.

    `pool`: the variance is the Horvitz-Thompson estimate under Poisson sampling, sum_i w_i^2 judged
    (1 - pi) / pi^2 (y - f)^2. It is 0 if every passage was judged. It is unknown, not 0, for a sum
    with inexact passages if no such passage was judged.

    `queries`: the queries are regarded as a sample of more queries. The variance is Q / (Q - 1)
    sum_q (t_q - mean t)^2, with the contributions t_q of the Q queries to the sum. It includes the
    variance from the sampling of passages (Särndal, Swensson and Wretman, 1992, section 11.8).

    Degrees of freedom of t: for `queries` Q - 1; for `pool` 2 (sum v_i)^2 / sum v_i^2, with the
    contributions v_i of judged passages to the variance. A few passages with small chances can
    contribute most of the variance. So it is approximated by a multiple of a chi-square with the
    same mean and variance (Satterthwaite, Biometrics Bulletin 2, 1946).

    Args:
        w: shape (M, N), the weights of M sums over the N passages.
        corrected: the estimated gains.
        variance: the population of the interval, see `AuditVariance`.
        queries: shape (N,), the number of each passage's query from 0 to Q - 1; needed if
            `variance` is `queries`.
        confidence: confidence of each interval by itself.

    Returns:
        Arrays of shape (M,).

    Raises:
        InputError: the variance is `queries`, and `queries` is missing or has fewer than 2 queries.
    """
    rows = np.atleast_2d(w)
    value = rows @ corrected.gains
    if variance == "queries":
        if queries is None or (count := int(queries.max(initial=-1)) + 1) < 2:
            raise InputError(
                "single-query",
                "The variance over queries needs at least two queries.",
                "Use the variance of the pool.",
            )
        sums = np.zeros((count, len(rows)))
        np.add.at(sums, queries, (rows * corrected.gains).T)
        error = np.sqrt(count * sums.var(axis=0, ddof=1))
        degrees = np.full(len(rows), count - 1.0)
    else:
        # Few passages of a pool are judged, and only these have a variance.
        at = np.flatnonzero(corrected.variances)
        parts = rows[:, at] ** 2 * corrected.variances[at]
        total = parts.sum(axis=1)
        error = np.sqrt(total)
        degrees = degrees_of(total, (parts**2).sum(axis=1))
    half = error * t_quantile((1 + confidence) / 2, degrees)
    estimated = Estimates(value, error, degrees, value - half, value + half, confidence)
    return (
        estimated.mask_errors(_untested_sums(rows, corrected)) if variance == "pool" else estimated
    )


def _untested_sums(rows: Array, corrected: CorrectedGains) -> Flags:
    """Return which sums have inexact passages but no judged passage among these."""
    unknown = np.zeros(len(rows), bool)
    left = np.flatnonzero(~(rows[:, corrected.tested] != 0).any(axis=1))
    unknown[left] = (rows[np.ix_(left, corrected.unsure)] != 0).any(axis=1)
    return unknown


def degrees_of(total: Array, squares: Array) -> Array:
    """Return Satterthwaite's degrees of freedom of variances: 2 (sum v)^2 / sum v^2; infinite if
    all v are 0.

    Args:
        total: sum v, the sum of the contributions to each variance.
        squares: sum v^2, of the same shape.
    """
    return np.asarray(
        np.divide(2 * total**2, squares, out=np.full(np.shape(total), np.inf), where=squares > 0)
    )


def t_quantile(chance: float, degrees: Array) -> Array:
    """Return the quantile of Student's t; the normal quantile if degrees are infinite."""
    from scipy.special import ndtri, stdtrit

    finite = np.isfinite(degrees)
    return np.asarray(
        np.where(
            finite, stdtrit(np.where(finite, np.maximum(degrees, 1.0), 1.0), chance), ndtri(chance)
        )
    )


@dataclass(frozen=True)
class Comparisons:
    """All pairs of systems compared from the same sample; M = S (S - 1) / 2 pairs.

    Args:
        first, second: shape (M,), positions of the two systems.
        difference: score of the first minus score of the second; each interval by itself.
        p: two-sided p values of no difference. p is 1 for equal systems, and 0 for systems that are
            known to differ. It is also 1 if the error of the difference is unknown, so that the
            pair is never separated.
        adjusted: p after Holm's correction. If differences with values below .05 are reported, at
            most 5 % of audits report a false difference.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    difference: Estimates
    p: Array
    adjusted: Array


def compare_all_systems(
    w: Array,
    corrected: CorrectedGains,
    *,
    variance: AuditVariance = "pool",
    queries: NDArray[np.int64] | None = None,
    confidence: float = CONFIDENCE,
) -> Comparisons:
    """Compare every two systems. Equal weights cancel, so differences are more precise than scores.

    Args: see `estimate_sums`; `w` has shape (S, N), a row per system.
    """
    first, second = np.triu_indices(len(w), 1)
    unknown = np.zeros(len(first), bool)
    if variance == "pool":
        unknown = _untested_pairs(w, corrected, first, second)
        w, corrected = _of_judged(w, corrected)
    differences = estimate_sums(
        w[first] - w[second], corrected, variance=variance, queries=queries, confidence=confidence
    )
    differences = differences.mask_errors(unknown)
    p = p_values(differences)
    return Comparisons(first, second, differences, p, np.array(adjust_holm(p.tolist())))


def _untested_pairs(
    w: Array, corrected: CorrectedGains, first: NDArray[np.int64], second: NDArray[np.int64]
) -> Flags:
    """Return which differences have a part without judgments: the whole difference, or the score of
    either system.

    Judgments of one system's passages show nothing about the error of the other system's score.
    """
    unknown = np.zeros(len(first), bool)
    tested, unsure, alone = (
        w[:, corrected.tested],
        w[:, corrected.unsure],
        _untested_sums(w, corrected),
    )
    same = ~(tested[first] != tested[second]).any(axis=1)
    # All columns are read only for these pairs, which are few.
    for pair in np.flatnonzero(same | alone[first] | alone[second]):
        one, other = first[pair], second[pair]
        differ = unsure[one] != unsure[other]
        own = [differ & (unsure[system] != 0) for system in (one, other) if alone[system]]
        unknown[pair] = any(part.any() for part in ([differ, *own] if same[pair] else own))
    return unknown


def _of_judged(w: Array, corrected: CorrectedGains) -> tuple[Array, CorrectedGains]:
    """Return data with the same sums and variances but far fewer columns: the judged passages, and
    one column for all other passages."""
    at = np.flatnonzero(corrected.variances)
    rest = w @ corrected.gains - w[:, at] @ corrected.gains[at]
    gains, variances = np.append(corrected.gains[at], 1.0), np.append(corrected.variances[at], 0.0)
    return np.column_stack([w[:, at], rest]), CorrectedGains(
        gains, variances, corrected.judged, corrected.missed
    )


def p_values(sums: Estimates) -> Array:
    """Return two-sided p values of the hypothesis that the value is 0.

    If the error is 0, p is 1 for the value 0, and 0 for other values. If the error is unknown, p is
    1.
    """
    from scipy.special import ndtr, stdtr

    certain = sums.error <= 1e-12
    t = np.abs(sums.value) / np.where(certain, 1.0, sums.error)
    finite = np.isfinite(sums.degrees)
    tails = np.where(
        finite, stdtr(np.where(finite, np.maximum(sums.degrees, 1.0), 1.0), -t), ndtr(-t)
    )
    p: Array = np.where(certain, np.where(np.abs(sums.value) <= 1e-12, 1.0, 0.0), 2 * tails)
    p[np.isnan(sums.error)] = 1.0
    return p


def group_alike(
    values: Array, compared: Comparisons, level: float = 1 - CONFIDENCE
) -> list[list[int]]:
    """Return groups of systems that are not separated: maximal sections of the leaderboard without
    a significant difference.

    Args:
        values: shape (S,), the scores that order the leaderboard.
        compared: from `compare_all_systems`.
        level: the probability of any false difference among all pairs.

    Returns:
        Groups from the top down, each with the positions of two or more systems, best first; groups
        can overlap.
    """
    order = np.argsort(-values, kind="stable")
    differ = np.zeros((len(values), len(values)), bool)
    differ[compared.first, compared.second] = compared.adjusted <= level
    differ |= differ.T
    groups = maximal_sections(differ[np.ix_(order, order)])
    return [order[first : last + 1].tolist() for first, last in groups]


def find_unbeaten(pairs: Comparisons, count: int, level: float) -> Flags:
    """Return which of `count` things are not worse than another one at the one-sided level
    `level / (count - 1)`, shape (count,).
    """
    beyond = pairs.p / 2 <= level / max(1, count - 1)
    kept = np.ones(count, bool)
    kept[pairs.second[beyond & (pairs.difference.value > 0)]] = False
    kept[pairs.first[beyond & (pairs.difference.value < 0)]] = False
    return kept


def machine_bias(
    w: Array,
    machine: Array,
    corrected: CorrectedGains,
    *,
    variance: AuditVariance = "pool",
    queries: NDArray[np.int64] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimates:
    """Return the bias of the machine's score of each system: the machine's score minus the audited
    score.

    Args:
        w: shape (S, N), the weights of the systems.
        machine: shape (N,), the gain of the machine's label; 0 without a label, as on the machine's
            leaderboard.
        corrected, variance, queries, confidence: see `estimate_sums`.

    Returns:
        Arrays of shape (S,), with intervals.
    """
    surplus = replace(corrected, gains=machine - corrected.gains)
    return estimate_sums(w, surplus, variance=variance, queries=queries, confidence=confidence)


def group_bias(
    w: Array,
    machine: Array,
    corrected: CorrectedGains,
    members: Flags,
    *,
    variance: AuditVariance = "pool",
    queries: NDArray[np.int64] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimates:
    """Return how much the machine favours the systems of its own model family (circularity).

    Args:
        members: shape (S,), whether a system shares the machine's model family; neither all nor no
            systems.
        w, machine, corrected, variance, queries, confidence: see `machine_bias`.

    Returns:
        Arrays of shape (1,): mean bias of the members minus mean bias of the other systems.
    """
    contrast = w[members].mean(axis=0) - w[~members].mean(axis=0)
    return machine_bias(
        contrast[None],
        machine,
        corrected,
        variance=variance,
        queries=queries,
        confidence=confidence,
    )


def true_correlation(
    machine: Array, w: Array, corrected: CorrectedGains, confidence: float = CONFIDENCE
) -> Rate:
    """Return Pearson's correlation of the machine's scores with fully judged scores, corrected for
    sampling noise.

    The correlation with the audited scores is too low, because these contain sampling noise. The
    noise does not change their expected covariance with the machine's scores. It raises their
    variance by a known amount, the mean variance of the centred scores. This amount is subtracted
    (Spearman's correction for attenuation, American Journal of Psychology 15, 1904).

    The interval is r +- z s, cut at -1 and 1. s^2 is the sum of two variances. The first is that of
    the linear part of r. The second is that of the noise variance, r^2 tr(C^2) / (2 S^2 V^2), which
    matters with few judgments. C is the covariance of the centred scores' errors, and V is the
    corrected variance.

    Args:
        machine: shape (S,), the machine's scores.
        w: shape (S, N), the weights of the systems.
        corrected: the estimated gains.
        confidence: confidence of the interval.

    Returns:
        The correlation. It is undefined with fewer than 3 systems, or if the machine's scores are
        all equal. It is also undefined if the audited scores differ by no more than their noise, or
        if no judgment shows their noise.
    """
    count = len(machine)
    if np.isnan(estimate_sums(w, corrected).error).all():
        return UNDEFINED
    scores = w @ corrected.gains
    ours, deviations = machine - machine.mean(), scores - scores.mean()
    centred = w - w.mean(axis=0)
    noise = (centred * corrected.variances) @ centred.T
    variance = float((deviations**2).mean() - np.trace(noise) / count)
    spread = float((ours**2).mean())
    if count < 3 or spread <= 1e-24 or variance <= 1e-24:
        return UNDEFINED
    shared = float((ours * deviations).mean())
    r = shared / (spread * variance) ** 0.5
    # d r = r (d log shared - d log variance / 2), in a form that is also valid for a covariance of
    # 0.
    slope = ours / (count * (spread * variance) ** 0.5) - r * deviations / (count * variance)
    linear = float((slope @ w) ** 2 @ corrected.variances)
    second = r**2 * float((noise**2).sum()) / (2 * count**2 * variance**2)
    error = (linear + second) ** 0.5
    half = error * float(t_quantile((1 + confidence) / 2, np.array([np.inf]))[0])
    value = float(np.clip(r, -1, 1))
    return Rate(value, max(-1.0, min(value, r - half)), min(1.0, max(value, r + half)))


def kendall_bounds(
    machine: Array, compared: Comparisons, level: float = 1 - CONFIDENCE
) -> tuple[float, float]:
    """Return bounds of Kendall's tau between the machine's leaderboard and the fully judged
    leaderboard.

    A pair of systems that the audit separates has its audited order in both bounds. Every other
    pair is discordant in the lower bound and concordant in the upper bound. Do not report tau with
    the audited leaderboard: it is lower than the true tau, because the audited order contains
    noise.

    Args:
        machine: shape (S,).
        compared: every two systems, from `compare_all_systems`.
        level: probability of any false difference among all pairs, and so of wrong bounds.

    Returns:
        (lower, upper). Pairs that are tied on the machine's leaderboard count 0 (tau-a). NaN with
        fewer than 2 systems.
    """
    count = len(compared.p)
    if not count:
        return float("nan"), float("nan")
    sides = np.sign(machine[compared.first] - machine[compared.second])
    told = compared.adjusted <= level
    agreed = float((sides * np.sign(compared.difference.value))[told].sum())
    open_ = float(np.abs(sides[~told]).sum())
    return (agreed - open_) / count, (agreed + open_) / count


def composite_scores(machine: Array, audited: Array, error: Array) -> Array:
    """Return scores for an order of systems between the machine's order and the audited order.

    score_r = machine_r + mean(d) + B (d_r - mean(d)), with d_r = audited_r - machine_r, B = s^2 /
    (s^2 + mean error^2) and s^2 = max(0, var(d) - mean error^2). This is empirical Bayes shrinkage
    (Efron and Morris, Journal of the American Statistical Association 68, 1973). With few judgments
    the order is close to the machine's order, with many judgments to the audited order.

    Args:
        machine: shape (S,), the machine's scores.
        audited: shape (S,), unbiased scores.
        error: shape (S,), standard errors of the audited scores; NaN if unknown. An unknown error
            counts as 0, because the sum that estimates its variance is empty. So the mean of the
            estimated variances is unbiased.

    Returns:
        Shape (S,). These scores have no intervals; the intervals of the audited scores do not apply
        to them.
    """
    d = audited - machine
    noise = float((np.nan_to_num(error) ** 2).mean())
    spread = max(0.0, float(d.var(ddof=1)) - noise) if len(d) > 1 else 0.0
    kept = spread / (spread + noise) if spread + noise > 0 else 1.0
    return np.asarray(machine + d.mean() + kept * (d - d.mean()), dtype=np.float64)


@dataclass(frozen=True)
class GraderSet:
    """The estimated quality of G graders.

    Args:
        value: shape (G,), Pearson's correlation of each grader's leaderboard with the audited
            leaderboard.
        kept: shape (G,), whether no other grader is significantly better.
        chosen: position of the grader with the highest correlation.
        behind: correlation of the chosen grader minus that of each grader, with intervals.
    """

    value: Array
    kept: Flags
    chosen: int
    behind: Estimates


def compare_graders(
    w: Array, machines: Array, corrected: CorrectedGains, level: float = 1 - CONFIDENCE
) -> GraderSet:
    """Compare graders by the correlation of their leaderboards with the audited leaderboard.

    All graders are compared with the same audited scores t, so most of the sampling error cancels.
    With the standardised scores z of a grader, its correlation r has the slope (z - r z_t) / (S
    sd_t) in t. To first order, the difference of two graders is therefore a weighted sum of gains,
    with an error from `estimate_sums`. A grader is removed if another one is better at the
    one-sided level / (G - 1), as in `decide_best`. So the best grader is removed with a probability
    of at most the level. Noise in t lowers all correlations by the same factor, which changes no
    order.

    Args:
        w: shape (S, N), the weights of at least 3 systems with different audited scores.
        machines: shape (G, S), the score of each system on each grader's leaderboard; no
            leaderboard is constant.
        corrected: the estimated gains, predicted from all graders alike.
        level: the probability of removing the best grader.
    """
    scores = w @ corrected.gains
    centred = machines - machines.mean(axis=1, keepdims=True)
    z, target = (
        centred / centred.std(axis=1, keepdims=True),
        (scores - scores.mean()) / scores.std(),
    )
    value = (z * target).mean(axis=1)
    slopes = (z - value[:, None] * target) / (len(scores) * scores.std())

    def correlation_differences(
        first_graders: NDArray[np.intp], second_graders: NDArray[np.intp]
    ) -> Estimates:
        sums = estimate_sums(
            (slopes[first_graders] - slopes[second_graders]) @ w, corrected, confidence=1 - level
        )
        exact, half = value[first_graders] - value[second_graders], sums.high - sums.value
        return replace(sums, value=exact, low=exact - half, high=exact + half)

    first, second = np.triu_indices(len(machines), 1)
    pair_differences = correlation_differences(first, second)
    pairs = Comparisons(first, second, pair_differences, p_values(pair_differences), np.empty(0))
    chosen = int(np.argmax(value))
    every = np.arange(len(machines))
    behind = correlation_differences(np.full_like(every, chosen), every)
    return GraderSet(value, find_unbeaten(pairs, len(machines), level), chosen, behind)
