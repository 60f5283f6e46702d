"""Significance of the difference between two systems: paired tests over queries, and the correction for many."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ._means import Array, quotients

PERMUTATIONS = 10_000
ALPHA = 0.05
"""A difference is significant if its corrected p is below this level."""


# Sign flips are processed in chunks of about this many sums, so that memory stays bounded.
_CHUNK = 2_000_000
# Differences that should be equal are not always equal in binary.
_EQUAL = 1e-9


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted by Holm's method, which controls the family-wise error rate.

    If values below a level are significant, any false finding among all comparisons has a probability below the level.
    With the m values in rising order, the i-th becomes max over j <= i of min(1, (m - j + 1) p_j).
    Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6,
    1979.

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


def t_test(differences: Array) -> Array:
    """Return the p values of two-sided paired t tests.

    Source: Student, The Probable Error of a Mean, Biometrika 6, 1908.

    Args:
        differences: score differences, shape (queries, comparisons); NaN if a comparison lacks the query.

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
    t = quotients(mean, np.sqrt(variance / np.maximum(n, 1)), defined)
    return np.asarray(2 * stdtr(np.maximum(n - 1, 1), -np.abs(t)))


def separable_differences(differences: Array) -> Array:
    """Return the smallest difference that would be significant in each comparison, by the t test with Holm's method.

    If r of m comparisons are significant, Holm's method tests the next one at the level ALPHA / (m - r). So the
    smallest difference is t s / sqrt(n), for the quantile t of that level, and n queries whose differences have the
    standard deviation s.

    Args:
        differences: as for `t_test`.

    Returns:
        Shape (comparisons,); NaN with fewer than 2 queries or differences without spread.
    """
    from scipy.special import stdtrit

    p = t_test(differences)
    known = ~np.isnan(p)
    significant = sum(value < ALPHA for value in holm(p[known].tolist()))
    level = ALPHA / max(1, int(known.sum()) - significant)
    n = (~np.isnan(differences)).sum(axis=0)
    found = np.full(len(p), np.nan)
    spread = np.nanstd(differences[:, known], axis=0, ddof=1)
    found[known] = stdtrit(n[known] - 1, 1 - level / 2) * spread / np.sqrt(n[known])
    return found


def randomisation_test(differences: Array, permutations: int = PERMUTATIONS, seed: int = 0) -> Array:
    """Return the p values of two-sided paired randomisation tests of the difference in means.

    Under the null hypothesis, the names of the two systems are exchangeable on every query; an exchange flips the sign
    of the difference. The p value is the share of sign flips whose absolute sum is at least the observed absolute sum.
    If the number of all flips, 2^n, is at most `permutations`, all are used. Otherwise `permutations` flips are drawn,
    the same for all comparisons, and p = (1 + number as extreme) / (1 + number drawn). Source: Smucker, Allan,
    Carterette: A Comparison of Statistical Significance Tests for Information Retrieval Evaluation, CIKM 2007.

    Args:
        differences: score differences, shape (queries, comparisons); NaN if a comparison lacks the query.
        permutations: number of sign flips.
        seed: makes the draw repeatable.

    Returns:
        p values, shape (comparisons,); NaN with fewer than 2 queries or without any difference.
    """
    filled = np.nan_to_num(differences, nan=0.0)
    queries, comparisons = filled.shape
    if not comparisons:
        return np.empty(0)
    seen = np.abs(filled.sum(axis=0))
    # A sum that differs from the observed one only by the order of addition counts as equally extreme.
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
    undefined = ((~np.isnan(differences)).sum(axis=0) < 2) | (np.abs(filled).max(axis=0, initial=0.0) == 0)
    return np.where(undefined, np.nan, p)


def mcnemar(differences: Array) -> Array:
    """Return the p values of two-sided exact McNemar tests: is one of two examinees right more often than the other?

    Only items that exactly one of them answers right count: b items and c items. p = min(1, 2 · P(X ≤ min(b, c))) for X
    binomial with b + c trials and probability 1/2.
    Source: McNemar, Note on the Sampling Error of the Difference Between Correlated Proportions or Percentages,
    Psychometrika 12, 1947, in its exact form.

    Args:
        differences: differences of two results that are 0 or 1, shape (items, comparisons); NaN if a comparison lacks
            the item.

    Returns:
        p values, shape (comparisons,); NaN if all items have equal results.
    """
    from scipy.special import bdtr

    more, fewer = (differences > 0).sum(axis=0), (differences < 0).sum(axis=0)
    apart = more + fewer
    p: Array = np.minimum(1.0, 2 * bdtr(np.minimum(more, fewer), np.maximum(apart, 1), 0.5))
    return np.where(apart > 0, p, np.nan)


def _without_spread(differences: Array) -> NDArray[np.bool_]:
    """Return which comparisons have the same difference on every query, except for binary rounding."""
    high = np.where(np.isnan(differences), -np.inf, differences).max(axis=0, initial=-np.inf)
    low = np.where(np.isnan(differences), np.inf, differences).min(axis=0, initial=np.inf)
    return np.asarray(high - low <= _EQUAL * np.maximum(np.abs(high), np.abs(low)))
