"""Audited scores and differences with their intervals, and groups of systems that are not separated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from .._paired_tests import holm
from ._gain_estimates import Corrected
from ._sampling_design import Array, Flags

Variance: TypeAlias = Literal["pool", "queries"]
VARIANCES: tuple[Variance, ...] = ("pool", "queries")
"""The population of an interval. `pool`: these queries, with the whole pool judged. `queries`: further similar queries.
"""

CONFIDENCE = 0.95


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

    def without(self, unknown: Flags) -> Estimates:
        """Return the estimates with unknown errors and intervals for the flagged estimates."""
        error, low, high = (np.where(unknown, np.nan, one) for one in (self.error, self.low, self.high))
        return replace(self, error=error, low=low, high=high)


def estimates(
    w: Array,
    found: Corrected,
    *,
    variance: Variance = "pool",
    queries: NDArray[np.int64] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimates:
    """Return weighted sums of gains, such as scores, differences and biases, with their t intervals.

    `pool`: the variance is the Horvitz-Thompson estimate under Poisson sampling, sum_i w_i^2 judged (1 - pi) / pi^2
    (y - f)^2. It is 0 if every passage was judged. It is unknown, not 0, for a sum with inexact passages if no such
    passage was judged.

    `queries`: the queries are regarded as a sample of more queries. The variance is Q / (Q - 1) sum_q (t_q - mean t)^2,
    with the contributions t_q of the Q queries to the sum. It includes the variance from the sampling of passages
    (Särndal, Swensson and Wretman, 1992, section 11.8).

    Degrees of freedom of t: for `queries` Q - 1; for `pool` 2 (sum v_i)^2 / sum v_i^2, with the contributions v_i of
    judged passages to the variance. A few passages with small chances can contribute most of the variance. So it is
    approximated by a multiple of a chi-square with the same mean and variance (Satterthwaite, Biometrics Bulletin 2,
    1946).

    Args:
        w: shape (M, N), the weights of M sums over the N passages.
        found: the estimated gains.
        variance: the population of the interval, see `VARIANCES`.
        queries: shape (N,), the number of each passage's query from 0 to Q - 1; needed if `variance` is `queries`.
        confidence: confidence of each interval by itself.

    Returns:
        Arrays of shape (M,).

    Raises:
        InputError: the variance is `queries`, and `queries` is missing or has fewer than 2 queries.
    """
    rows = np.atleast_2d(w)
    value = rows @ found.gains
    if variance == "queries":
        if queries is None or (count := int(queries.max(initial=-1)) + 1) < 2:
            raise InputError(
                "single-query", "The variance over queries needs at least two queries.", "Use the variance of the pool."
            )
        sums = np.zeros((count, len(rows)))
        np.add.at(sums, queries, (rows * found.gains).T)
        error = np.sqrt(count * sums.var(axis=0, ddof=1))
        degrees = np.full(len(rows), count - 1.0)
    else:
        # Few passages of a pool are judged, and only these have a variance.
        at = np.flatnonzero(found.variances)
        parts = rows[:, at] ** 2 * found.variances[at]
        total = parts.sum(axis=1)
        error = np.sqrt(total)
        degrees = degrees_of(total, (parts**2).sum(axis=1))
    half = error * quantile((1 + confidence) / 2, degrees)
    told = Estimates(value, error, degrees, value - half, value + half, confidence)
    return told.without(_untested(rows, found)) if variance == "pool" else told


def _untested(rows: Array, found: Corrected) -> Flags:
    """Return which sums have inexact passages but no judged passage among these."""
    unknown = np.zeros(len(rows), bool)
    if found.unsure is None or found.tested is None:
        return unknown
    left = np.flatnonzero(~(rows[:, found.tested] != 0).any(axis=1))
    unknown[left] = (rows[np.ix_(left, np.flatnonzero(found.unsure))] != 0).any(axis=1)
    return unknown


def degrees_of(total: Array, squares: Array) -> Array:
    """Return Satterthwaite's degrees of freedom of variances: 2 (sum v)^2 / sum v^2; infinite if all v are 0.

    Args:
        total: sum v, the sum of the contributions to each variance.
        squares: sum v^2, of the same shape.
    """
    return np.asarray(np.divide(2 * total**2, squares, out=np.full(np.shape(total), np.inf), where=squares > 0))


def quantile(chance: float, degrees: Array) -> Array:
    """Return the quantile of Student's t; the normal quantile if degrees are infinite."""
    from scipy.special import ndtri, stdtrit

    finite = np.isfinite(degrees)
    return np.asarray(np.where(finite, stdtrit(np.where(finite, np.maximum(degrees, 1.0), 1.0), chance), ndtri(chance)))


@dataclass(frozen=True)
class Comparisons:
    """All pairs of systems compared from the same sample; M = S (S - 1) / 2 pairs.

    Args:
        first, second: shape (M,), positions of the two systems.
        difference: score of the first minus score of the second; each interval by itself.
        p: two-sided p values of no difference. p is 1 for equal systems, and 0 for systems that are known to differ. It
            is also 1 if the error of the difference is unknown, so that the pair is never separated.
        adjusted: p after Holm's correction. If differences with values below .05 are reported, at most 5 % of audits
            report a false difference.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    difference: Estimates
    p: Array
    adjusted: Array


def compare(
    w: Array,
    found: Corrected,
    *,
    variance: Variance = "pool",
    queries: NDArray[np.int64] | None = None,
    confidence: float = CONFIDENCE,
) -> Comparisons:
    """Compare every two systems. Equal weights cancel, so differences are more precise than scores.

    Args: see `estimates`; `w` has shape (S, N), a row per system.
    """
    first, second = np.triu_indices(len(w), 1)
    unknown = np.zeros(len(first), bool)
    if variance == "pool":
        unknown = _untested_pairs(w, found, first, second)
        w, found = _of_judged(w, found)
    told = estimates(w[first] - w[second], found, variance=variance, queries=queries, confidence=confidence)
    told = told.without(unknown)
    p = p_values(told)
    return Comparisons(first, second, told, p, np.array(holm(p.tolist())))


def _untested_pairs(w: Array, found: Corrected, first: NDArray[np.int64], second: NDArray[np.int64]) -> Flags:
    """Return which differences have a part without judgments: the whole difference, or the score of either system.

    Judgments of one system's passages show nothing about the error of the other system's score.
    """
    unknown = np.zeros(len(first), bool)
    if found.unsure is None or found.tested is None:
        return unknown
    tested, unsure, alone = w[:, found.tested], w[:, found.unsure], _untested(w, found)
    same = ~(tested[first] != tested[second]).any(axis=1)
    # All columns are read only for these pairs, which are few.
    for pair in np.flatnonzero(same | alone[first] | alone[second]):
        one, other = first[pair], second[pair]
        differ = unsure[one] != unsure[other]
        own = [differ & (unsure[system] != 0) for system in (one, other) if alone[system]]
        unknown[pair] = any(part.any() for part in ([differ, *own] if same[pair] else own))
    return unknown


def _of_judged(w: Array, found: Corrected) -> tuple[Array, Corrected]:
    """Return data with the same sums and variances but far fewer columns: the judged passages, and one column for all
    other passages."""
    at = np.flatnonzero(found.variances)
    rest = w @ found.gains - w[:, at] @ found.gains[at]
    gains, variances = np.append(found.gains[at], 1.0), np.append(found.variances[at], 0.0)
    return np.column_stack([w[:, at], rest]), Corrected(gains, variances, found.judged, found.missed)


def p_values(told: Estimates) -> Array:
    """Return two-sided p values of the hypothesis that the value is 0.

    If the error is 0, p is 1 for the value 0, and 0 for other values. If the error is unknown, p is 1.
    """
    from scipy.special import ndtr, stdtr

    certain = told.error <= 1e-12
    t = np.abs(told.value) / np.where(certain, 1.0, told.error)
    finite = np.isfinite(told.degrees)
    tails = np.where(finite, stdtr(np.where(finite, np.maximum(told.degrees, 1.0), 1.0), -t), ndtr(-t))
    found: Array = np.where(certain, np.where(np.abs(told.value) <= 1e-12, 1.0, 0.0), 2 * tails)
    found[np.isnan(told.error)] = 1.0
    return found


def alike(values: Array, compared: Comparisons, level: float = 1 - CONFIDENCE) -> list[list[int]]:
    """Return groups of systems that are not separated: maximal sections of the leaderboard without a significant
    difference.

    Args:
        values: shape (S,), the scores that order the leaderboard.
        compared: from `compare`.
        level: the probability of any false difference among all pairs.

    Returns:
        Groups from the top down, each with the positions of two or more systems, best first; groups can overlap.
    """
    order = np.argsort(-values, kind="stable")
    differ = np.zeros((len(values), len(values)), bool)
    differ[compared.first, compared.second] = compared.adjusted <= level
    differ |= differ.T
    groups: list[tuple[int, int]] = []
    for start in range(len(order)):
        end = start
        while end + 1 < len(order) and not differ[order[end + 1], order[start : end + 1]].any():
            end += 1
        if end > start and (not groups or end > groups[-1][1]):
            groups.append((start, end))
    return [order[start : end + 1].tolist() for start, end in groups]
