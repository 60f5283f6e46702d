"""Agreement of a grader with a weighted sample of judgments, cross-fitted and with intervals clustered by query."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ._label_quality import UNDEFINED, Rate
from ._sampling_design import Array, Flags

FOLDS, REPEATS = 5, 1_000


def kappas(weights: Array, predicted: Flags, relevant: Flags) -> Array:
    """Return Cohen's kappa for each row of weights, shape (R, n); NaN if either side has one value only."""
    total = weights.sum(axis=1)
    both, ours, theirs = (weights @ part / total for part in (predicted & relevant, predicted, relevant))
    observed, chance = 1 - ours - theirs + 2 * both, ours * theirs + (1 - ours) * (1 - theirs)
    return np.where(chance < 1 - 1e-12, (observed - chance) / np.maximum(1 - chance, 1e-12), np.nan)


def relevant_shares(weights: Array, predicted: Flags, relevant: Flags) -> Array:
    """Return the share of relevant passages for each row of weights, shape (R, n)."""
    return np.asarray(weights @ relevant / weights.sum(axis=1))


def cross_fitted(labels: Array, relevant: Flags, weight: Array, queries: NDArray[np.int64]) -> Flags:
    """Return which passages count as relevant by their label, with the cut that has the best kappa on other queries.

    Args:
        labels, relevant, weight, queries: shape (n,), of passages with label and judgment.
    """
    found = np.zeros(len(labels), bool)
    cuts = np.unique(labels)
    for fold in range(FOLDS):
        inside = queries % FOLDS == fold
        if inside.any() and not inside.all():
            told = [kappas(weight[None, ~inside], labels[~inside] >= cut, relevant[~inside])[0] for cut in cuts]
            found[inside] = labels[inside] >= cuts[int(np.argmax(np.nan_to_num(told, nan=-1.0)))]
    return found


def clustered(
    value: Callable[[Array, Flags, Flags], Array],
    weight: Array,
    predicted: Flags,
    relevant: Flags,
    queries: NDArray[np.int64],
) -> Rate:
    """Return a value with its 95 % interval: percentiles of `REPEATS` samples of whole queries, with a fixed seed.

    Queries are drawn, and not passages, because the judgments of a query depend on each other.
    """
    names, own = np.unique(queries, return_inverse=True)
    if not len(names):
        return UNDEFINED
    times = np.random.default_rng(0).multinomial(len(names), np.full(len(names), 1 / len(names)), REPEATS)
    with np.errstate(invalid="ignore"):
        whole = float(value(weight[None], predicted, relevant)[0])
        found = value(weight * times[:, own], predicted, relevant)
    found = found[~np.isnan(found)]
    if len(names) < 2 or not len(found):
        return Rate(whole, float("nan"), float("nan"), float("nan"))
    low, high = np.quantile(found, (0.025, 0.975))
    return Rate(whole, float(low), float(high), float(found.std()))
