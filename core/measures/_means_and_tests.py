"""Means with their errors, the bootstrap, and tests of systems, questions and graders."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..choices import PERMUTATIONS

Array: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.int64]

Skipped = Literal["zero", "ignore"]
"""Treatment of a query that a run did not answer: it counts 0 (the papers), or is left out
(trec_eval without -c).
"""


def mean_and_standard_error(values: Iterable[float]) -> tuple[float | None, float | None]:
    """Return the mean of values and its standard error: sample standard deviation / sqrt(n).

    Args:
        values: one number per query.

    Returns:
        (mean, standard error). The mean is None without values. The error is None with fewer than
        two values, because the spread is then unknown. Sums are exact (fsum): the order of the
        values does not change the mean, so equal systems are tied.
    """
    numbers = list(values)
    n = len(numbers)
    if n == 0:
        return None, None
    mean = math.fsum(numbers) / n
    if n == 1:
        return mean, None
    variance = math.fsum([(number - mean) ** 2 for number in numbers]) / (n - 1)
    return mean, math.sqrt(variance / n)


def known_or_none(value: float) -> float | None:
    """Return None for NaN, which is a missing value."""
    return None if np.isnan(value) else float(value)


def harmonic_mean(precision: float, recall: float) -> float:
    """Return F1 = 2 P R / (P + R), 0 if both are 0. Source: van Rijsbergen, Information Retrieval,
    1979.
    """
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def wilson_interval(right: int, answered: int) -> tuple[float, float] | None:
    """Return Wilson's 95 % interval (low, high) of a share, whose width is always above 0; None
    without answers.

    Source: Wilson, Journal of the American Statistical Association 22, 1927.
    """
    if not answered:
        return None
    square = NormalDist().inv_cdf(0.975) ** 2
    centre = (right + square / 2) / (answered + square)
    half = math.sqrt(square * (right * (answered - right) / answered + square / 4)) / (
        answered + square
    )
    # If all answers are right, the bound is exactly 1 in spite of rounding.
    return max(0.0, centre - half) if right else 0.0, centre + half if right < answered else 1.0


def bars_overlap(a: float, se_a: float | None, b: float, se_b: float | None) -> bool:
    """Return whether the error bars of two scores overlap or touch.

    Args:
        a, b: the two scores.
        se_a, se_b: their standard errors; None (unknown) counts as 0.

    Returns:
        Whether |a - b| <= se_a + se_b. Source: original-exam, section 4.1.1.
    """
    # Printed leaderboards are rounded: .94 and .93 with errors of .005 touch, though not in binary.
    return abs(a - b) <= (se_a or 0.0) + (se_b or 0.0) + 1e-12


def system_score(
    per_query: Mapping[str, float], queries: Sequence[str], skipped: Skipped
) -> tuple[float | None, float | None, int]:
    """Return the score of a system: the mean over queries.

    Args:
        per_query: score by query id; queries that the system did not answer are absent.
        queries: the queries to average over, each once; others in `per_query` do not count.
        skipped: whether an absent query counts 0 or is left out.

    Returns:
        (mean, standard error, number of averaged queries).
    """
    if skipped == "zero":
        values = [per_query.get(query, 0.0) for query in queries]
    else:
        values = [per_query[query] for query in queries if query in per_query]
    mean, error = mean_and_standard_error(values)
    return mean, error, len(values)


SAMPLES = 1000
CONFIDENCE = 0.95
"""Default confidence of an interval."""


@dataclass(frozen=True)
class Interval:
    """A number with its percentile interval from the bootstrap.

    Args:
        value: None if and only if it is undefined.
        low, high: None if the number is undefined in all resamples.
        undefined: why the value is undefined, as a sentence without a full stop.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: str | None = None


def percentile_interval(
    value: float | None, samples: Array, undefined: str | None = None
) -> Interval:
    """Return a number with the interval that contains 95 % of its samples, ignoring NaN.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
    """
    if value is None:
        return Interval(None, undefined=undefined)
    bounds = central_percentiles(samples)
    return Interval(value) if bounds is None else Interval(value, *bounds)


def central_percentiles(samples: Array) -> tuple[float, float] | None:
    """Return the (low, high) around a share `CONFIDENCE` of the samples, ignoring NaN; None for
    NaN.
    """
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return None
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def defined_quotients(
    part: NDArray[Any], whole: NDArray[Any], defined: NDArray[np.bool_] | None = None
) -> Array:
    """Return part / whole for arrays of one shape; NaN if not `defined`, by default if `whole` is
    not above 0.
    """
    found = np.full(np.shape(whole), np.nan)
    np.divide(part, whole, out=found, where=whole > 0 if defined is None else defined)
    return found


def resampled_means(
    board: Mapping[str, Mapping[str, float | None]],
    systems: Sequence[str],
    queries: Sequence[str],
    counts: Array,
    skipped: Skipped = "zero",
) -> Array:
    """Return the mean of every system in every resample of the queries, (samples, systems); NaN if
    none of its queries was drawn.

    Args:
        board: scores by query by system; a score of None does not count. A query of the board that
            a system lacks was skipped.
        counts: how often each query was drawn, (samples, queries).
    """
    known = {query for scores in board.values() for query in scores}
    absent = dict.fromkeys(known, 0.0) if skipped == "zero" else {}
    own = [{**absent, **board[system]} for system in systems]
    # None becomes NaN.
    scores = np.array(
        [[one.get(query) for one in own] for query in queries], dtype=np.float64
    ).reshape(len(queries), len(systems))
    present = ~np.isnan(scores)
    means = defined_quotients(counts @ np.where(present, scores, 0.0), counts @ present)
    # Equal systems must stay tied, although a matrix product may add their numbers in another
    # order.
    return means.round(12)


def drawn_counts(things: int, samples: int = SAMPLES, seed: int = 0) -> Array:
    """Return how often each thing is drawn in each resample: (samples, things).

    A resample draws as many things as there are, with replacement.
    """
    if not things:
        return np.zeros((samples, 0))
    dice = np.random.default_rng(seed)
    return dice.multinomial(things, np.full(things, 1 / things), size=samples).astype(np.float64)


ALPHA = 0.05
"""A difference is significant if its corrected p is below this level."""


# Sign flips are processed in chunks of about this many sums, so that memory stays bounded.
_CHUNK = 2_000_000
# Differences that should be equal are not always equal in binary.
_EQUAL = 1e-9


def adjust_holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted by Holm's method, which controls the family-wise error rate.

    If values below a level are significant, any false finding among all comparisons has a
    probability below the level. With the m values in rising order, the i-th becomes max over j <= i
    of min(1, (m - j + 1) p_j).
    Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
    Statistics 6, 1979.

    Args:
        p_values: between 0 and 1, in any order.

    Returns:
        The adjusted values in the same order.
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def maximal_sections(separated: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return (first, last) of every maximal section of systems that are not separated.

    Args:
        separated: shape (S, S), whether two systems are separated, in the order of the leaderboard.

    Returns:
        Sections of two or more systems, from the top down; they can overlap.
    """
    sections: list[tuple[int, int]] = []
    for first in range(len(separated)):
        last = first
        while last + 1 < len(separated) and not separated[last + 1, first : last + 1].any():
            last += 1
        if last > first and (not sections or last > sections[-1][1]):
            sections.append((first, last))
    return sections


def t_test(differences: Array) -> Array:
    """Return the p values of two-sided paired t tests.

    Source: Student, The Probable Error of a Mean, Biometrika 6, 1908.

    Args:
        differences: score differences, shape (queries, comparisons); NaN if a comparison lacks the
            query.

    Returns:
        p values, shape (comparisons,); NaN with fewer than 2 queries or differences without spread.
    """
    from scipy.special import stdtr

    present = ~np.isnan(differences)
    n = present.sum(axis=0)
    filled = np.where(present, differences, 0.0)
    mean = filled.sum(axis=0) / np.maximum(n, 1)
    variance = (np.where(present, differences - mean, 0.0) ** 2).sum(axis=0) / np.maximum(n - 1, 1)
    defined = (n >= 2) & ~_without_spread(differences)
    t = defined_quotients(mean, np.sqrt(variance / np.maximum(n, 1)), defined)
    return np.asarray(2 * stdtr(np.maximum(n - 1, 1), -np.abs(t)))


def separable_differences(differences: Array) -> Array:
    """Return the smallest difference that would be significant in each comparison, by the t test
    with Holm's method.

    If r of m comparisons are significant, Holm's method tests the next one at the level
    ALPHA / (m - r). So the smallest difference is t s / sqrt(n), for the quantile t of that level,
    and n queries whose differences have the standard deviation s.

    Args:
        differences: as for `t_test`.

    Returns:
        Shape (comparisons,); NaN with fewer than 2 queries or differences without spread.
    """
    from scipy.special import stdtrit

    p = t_test(differences)
    has_p = ~np.isnan(p)
    significant = sum(value < ALPHA for value in adjust_holm(p[has_p].tolist()))
    level = ALPHA / max(1, int(has_p.sum()) - significant)
    n = (~np.isnan(differences)).sum(axis=0)
    separable = np.full(len(p), np.nan)
    spread = np.nanstd(differences[:, has_p], axis=0, ddof=1)
    separable[has_p] = stdtrit(n[has_p] - 1, 1 - level / 2) * spread / np.sqrt(n[has_p])
    return separable


def randomisation_test(
    differences: Array, permutations: int = PERMUTATIONS, seed: int = 0
) -> Array:
    """Return the p values of two-sided paired randomisation tests of the difference in means.

    Under the null hypothesis, the names of the two systems are exchangeable on every query; an
    exchange flips the sign of the difference. The p value is the share of sign flips whose absolute
    sum is at least the observed absolute sum. If the number of all flips, 2^n, is at most
    `permutations`, all are used. Otherwise `permutations` flips are drawn, the same for all
    comparisons, and p = (1 + number as extreme) / (1 + number drawn). Source: Smucker, Allan,
    Carterette: A Comparison of Statistical Significance Tests for Information Retrieval Evaluation,
    CIKM 2007.

    Args:
        differences: score differences, shape (queries, comparisons); NaN if a comparison lacks the
            query.
        permutations: number of sign flips.
        seed: makes the draw repeatable.

    Returns:
        p values, shape (comparisons,); NaN with fewer than 2 queries or without any difference.
    """
    filled = np.nan_to_num(differences, nan=0.0)
    queries, comparisons = filled.shape
    seen = np.abs(filled.sum(axis=0))
    # A sum that differs from the observed one only by the order of addition counts as equally
    # extreme.
    bar = seen - _EQUAL * np.maximum(np.abs(filled).sum(axis=0), np.finfo(np.float64).tiny)
    exact = queries <= math.log2(permutations)
    total = 2**queries if exact else permutations
    rng = np.random.default_rng(seed)
    extreme = np.zeros(comparisons, dtype=np.int64)
    step = max(1, _CHUNK // max(comparisons, queries))
    for start in range(0, total, step):
        count = min(step, total - start)
        if exact:
            bits = (np.arange(start, start + count)[:, None] >> np.arange(queries)) & 1
        else:
            bits = rng.integers(0, 2, size=(count, queries), dtype=np.int8)
        signs = (1 - 2 * bits).astype(np.float64)
        extreme += (np.abs(signs @ filled) >= bar).sum(axis=0)
    p: Array = extreme / total if exact else (1 + extreme) / (1 + total)
    undefined = ((~np.isnan(differences)).sum(axis=0) < 2) | (
        np.abs(filled).max(axis=0, initial=0.0) == 0
    )
    return np.where(undefined, np.nan, p)


def mcnemar_tests(differences: Array) -> Array:
    """Return the p values of two-sided exact McNemar tests: is one of two examinees right more
    often than the other?

    Only items that exactly one of them answers right count: b items and c items.
    p = min(1, 2 · P(X ≤ min(b, c))) for X binomial with b + c trials and probability 1/2.
    Source: McNemar, Note on the Sampling Error of the Difference Between Correlated Proportions or
    Percentages, Psychometrika 12, 1947, in its exact form.

    Args:
        differences: differences of two results that are 0 or 1, shape (items, comparisons); NaN if
            a comparison lacks the item.

    Returns:
        p values, shape (comparisons,); NaN if all items have equal results.
    """
    from scipy.special import bdtr

    more, fewer = (differences > 0).sum(axis=0), (differences < 0).sum(axis=0)
    apart = more + fewer
    p: Array = np.minimum(1.0, 2 * bdtr(np.minimum(more, fewer), np.maximum(apart, 1), 0.5))
    return np.where(apart > 0, p, np.nan)


def _without_spread(differences: Array) -> NDArray[np.bool_]:
    """Return which comparisons have the same difference on all queries, up to binary rounding."""
    high = np.where(np.isnan(differences), -np.inf, differences).max(axis=0, initial=-np.inf)
    low = np.where(np.isnan(differences), np.inf, differences).min(axis=0, initial=np.inf)
    return np.asarray(high - low <= _EQUAL * np.maximum(np.abs(high), np.abs(low)))


DRAWS = 4_000
SEALED_LEVEL = 0.04
"""Level from which a system is flagged: below the usual .05, because a flag accuses people."""


@dataclass(frozen=True)
class SealedTest:
    """The test of S systems.

    Args:
        public, sealed: shape (S,), mean coverage of public and of sealed questions.
        surplus: shape (S,), mean over queries of public minus sealed coverage, minus that of the
            median system.
        adjusted: shape (S,), p values of a surplus by chance, one-sided, corrected by Holm's
            method.
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
    """Test which systems answer public questions better than sealed ones, compared with the median
    system.

    For a system that knows no question, the sealed questions are a random part of all. So the test
    draws as many other questions of each query and counts how often the surplus is at least as
    large (randomisation inference; Fisher, The Design of Experiments, 1935). This is exact for any
    number of questions, for skewed coverages and for equal ones.

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
        in_own = own.astype(float)
        inside, outside = (in_own @ part / part.sum(axis=0) for part in (masks, rest))
        surplus = outside - inside
        # Sorting takes a tenth of the time of numpy's median.
        middle = np.sort(surplus, axis=0)[(len(in_own) - 1) // 2 : len(in_own) // 2 + 1].mean(
            axis=0
        )
        total = total + surplus - middle
        parts.append((outside[:, 0], inside[:, 0]))
    means = np.asarray(total) / len(answered)
    # Sums that differ only by the order of addition are equal.
    p = (1 + (means[:, 1:] >= means[:, :1] - 1e-9).sum(axis=1)) / (1 + draws)
    public, hidden = np.mean(parts, axis=0)
    return SealedTest(public, hidden, means[:, 0], np.array(adjust_holm(p.tolist())))


REPAIR_ALPHA = 0.08
"""The chance that any test of a question accepts a wording without an advantage. The first test has
the level .049.
"""
HELD_OUT = 40
"""Minimum number of held-out pairs; with fewer, a test would tell nothing."""


@dataclass(frozen=True)
class RepairTest:
    """The outcome of a test.

    Args:
        chosen: position of the wording that was best on the first half.
        pairs, gains, losses: numbers of held-out pairs, and of those that are right only after or
            only before.
        p: one-sided p value of no improvement.
        level: the level of this test.
        accepted: whether the wording is better.
    """

    chosen: int
    pairs: int
    gains: int
    losses: int
    p: float
    level: float
    accepted: bool


def level_of_test(test: int) -> float:
    """Return the level of the test with this number, from 1: alpha 6 / (pi test)^2, which adds up
    to alpha.
    """
    return REPAIR_ALPHA * 6 / (math.pi * test) ** 2


def rewording_test(before: Flags, after: Flags, held_out: Flags, level: float) -> RepairTest:
    """Choose the best of several wordings on one half of the pairs, and test it once on the other
    half.

    The test is the exact one-sided test of McNemar (Psychometrika 12, 1947) on the pairs whose
    answer changes from wrong to right or back. The choice does not use these pairs, so it does not
    bias the test.

    Args:
        before: shape (n,), whether the present wording is right about each pair.
        after: shape (wordings, n), the same for each new wording.
        held_out: shape (n,), the pairs of the test.
        level: from `level_of_test`.
    """
    from scipy.special import bdtrc

    change = after.astype(int) - before
    chosen = int(np.argmax(change[:, ~held_out].sum(axis=1)))
    gains, losses = (int((change[chosen, held_out] == sign).sum()) for sign in (1, -1))
    p = float(bdtrc(gains - 1, gains + losses, 0.5)) if gains else 1.0
    return RepairTest(chosen, int(held_out.sum()), gains, losses, p, level, p <= level)


NOISE_CONFIDENCE = 0.995
"""Confidence of the upper bound of the noise. It errs in .5 % of cases, so that the test may err in
another .5 %.
"""
DRIFT_ALARM = float(np.log(200))
"""Evidence of an alarm, as the logarithm of an e-value. Without a change, its probability is 1 /
200 at most, however often the evidence is computed (Ville's inequality)."""
ALTERNATIVES = 20
"""Number of change rates, spread evenly between the noise and 1, that the test mixes with equal
weights.
"""


def noise_bound(changed: int, asked: int) -> float:
    """Return the upper bound of the share of ratings that differ when an unchanged model is asked
    again.

    The bound is by Clopper and Pearson (Biometrika 26, 1934), one-sided with `NOISE_CONFIDENCE`.

    Args:
        changed, asked: the pairs that were asked a second time, and those of them whose rating
            differed.
    """
    from scipy.special import betaincinv

    return (
        float(betaincinv(changed + 1, asked - changed, NOISE_CONFIDENCE))
        if changed < asked
        else 1.0
    )


def drift_evidence(checks: Sequence[tuple[int, int]], bound: float) -> NDArray[np.float64]:
    """Return the logarithm of the e-value after each check: the evidence that more ratings change
    than by noise.

    A check asks random pairs again, each once. For a rate p above the bound b, the likelihood ratio
    of x changes among n pairs is (p / b)^x ((1 - p) / (1 - b))^(n - x). If the true rate is at most
    b, its expectation is at most 1; by Hoeffding (Journal of the American Statistical Association
    58, 1963, theorem 4) also for pairs drawn without replacement. The e-value is the mean over
    `ALTERNATIVES` rates of the products over checks, a nonnegative supermartingale (Ramdas et al.,
    Statistical Science 38, 2023).

    Args:
        checks: for each check, the numbers of pairs asked and of changed ratings.
        bound: the noise, from `noise_bound`. With 1, nothing is evidence.
    """
    if bound >= 1:
        return np.zeros(len(checks))
    rates = bound + (1 - bound) * (np.arange(ALTERNATIVES) + 0.5) / ALTERNATIVES
    asked, changed = np.array(checks, float).reshape(-1, 2).T
    logs = np.outer(changed, np.log(rates / bound)) + np.outer(
        asked - changed, np.log((1 - rates) / (1 - bound))
    )
    return np.asarray(np.logaddexp.reduce(np.cumsum(logs, axis=0), axis=1) - np.log(ALTERNATIVES))
