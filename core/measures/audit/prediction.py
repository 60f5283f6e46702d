"""Prediction of judgments from machine features: ridge regression, cross-fitted over folds of passages."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from .weights import Array, Flags, Item, Weights

FOLDS = 5
FEWEST = 20
"""With fewer judged passages than this, the mean of their gains is predicted for all."""
RIDGE = 1.0
"""Penalty on a standardised coefficient, in judgments."""
QUERY_RIDGE = 3.0
"""Penalty on a query's own level, in judgments: with this many judged, a query moves half-way to its own mean."""


@dataclass(frozen=True)
class Features:
    """Data about each passage before any judgment.

    Args:
        names: of the p features.
        values: shape (N, p); NaN if missing, which is not 0.
    """

    names: tuple[str, ...]
    values: Array


def features(columns: Mapping[str, Array]) -> Features:
    """Return features from named columns: label, mean rating, number answered, mean square, of one or several
    graders.

    Args:
        columns: arrays of N; NaN if missing. Without columns, predictions are means.

    Raises:
        InputError: the columns differ in length, or hold an infinity.
    """
    if len({len(values) for values in columns.values()}) > 1:
        raise InputError(
            "features-differ-in-length",
            "The features of the audit differ in length.",
            "Give each feature a value or NaN for every passage.",
        )
    if any(np.isinf(values).any() for values in columns.values()):
        raise InputError(
            "infinite-feature", "A feature of the audit is infinite.", "Use finite numbers, or NaN for missing values."
        )
    if not columns:
        return Features((), np.empty((0, 0)))
    return Features(tuple(columns), np.column_stack([np.asarray(values, float) for values in columns.values()]))


def folds_of(items: Sequence[Item], folds: int = FOLDS) -> NDArray[np.int64]:
    """Return the fold of each passage by a hash of its ids: the same on any machine, unchanged by later additions.

    Returns:
        Shape (N,), from 0 to folds - 1.
    """
    hashed = (hashlib.blake2b(f"fold\x1f{query}\x1f{passage}".encode(), digest_size=8) for query, passage in items)
    return np.array([int.from_bytes(one.digest(), "big") % folds for one in hashed], dtype=np.int64)


def design_matrix(given: Features, n: int) -> Array:
    """Return standardised features, with an indicator for each feature that some passages lack.

    A missing value is replaced by the mean of the others, and its indicator is 1. So the regression finds the effect
    of a missing value. Constant columns and repeated indicators are left out.

    Args:
        given: the features.
        n: number of passages, for a design without features.

    Returns:
        Shape (N, columns); every column has mean 0 and variance 1 over the pool.
    """
    columns: list[Array] = []
    for values in given.values.T if given.names else ():
        missing = np.isnan(values)
        if missing.all():
            continue
        columns.append(np.where(missing, values[~missing].mean(), values))
        indicator = missing.astype(float)
        if missing.any() and not any(np.array_equal(indicator, one) for one in columns):
            columns.append(indicator)
    varying = [column for column in columns if column.std() > 1e-12 * max(1.0, float(np.abs(column).max()))]
    if not varying:
        return np.empty((n, 0))
    return np.column_stack([(column - column.mean()) / column.std() for column in varying])


@dataclass(frozen=True)
class Pool:
    """The data for predictions of a pool's gains, in the order of its passages.

    Args:
        x: shape (N, columns), from `design_matrix`.
        folds: shape (N,), from `folds_of`.
        queries: shape (N,), the number of each passage's query from 0, in the order of their ids.
    """

    x: Array
    folds: NDArray[np.int64]
    queries: NDArray[np.int64]


def pool_of(weights: Weights, columns: Mapping[str, Array], folds: int = FOLDS) -> Pool:
    """Return the pool of a design: features of machines, and two that follow from the rankings.

    These two are the logarithm of the passage's importance to the systems, and the number of systems that rank it.
    Passages that many systems rank high are relevant more often.

    Args:
        weights: of the systems.
        columns: see `features`; in the order of `weights.items`.
        folds: number of folds.

    Raises:
        InputError: a column has another length than there are items, or holds an infinity.
    """
    if any(len(values) != len(weights.items) for values in columns.values()):
        raise InputError(
            "features-differ-in-length",
            f"A feature does not have a value for each of the {len(weights.items):,} passages.",
            "Give every feature in the order of the items, with NaN for missing values.",
        )
    at_all = np.sqrt((weights.w**2).mean(axis=0))
    ranked = {
        "importance": np.log(np.where(at_all > 0, at_all, np.nan)),
        "systems": (weights.w > 0).sum(axis=0).astype(float),
    }
    places = np.unique([query for query, _ in weights.items], return_inverse=True)[1]
    x = design_matrix(features({**columns, **ranked}), len(weights.items))
    return Pool(x, folds_of(weights.items, folds), places.astype(np.int64))


def ridge(x: Array, y: Array, weight: Array, penalty: Array | float = RIDGE) -> Array:
    """Return a weighted ridge regression with a free intercept: the minimum of sum weight (y - a - x b)^2 + sum
    penalty b^2.

    Source: Hoerl and Kennard, Ridge Regression, Technometrics 12, 1970. Weights are scaled to mean 1, so that a
    penalty counts in judgments.

    Args:
        x: shape (n, columns).
        y: shape (n,).
        weight: shape (n,), above 0: the inverse of the chances of being drawn.
        penalty: one for each column, or one for all.

    Returns:
        Shape (1 + columns,): the intercept, then the coefficients.
    """
    scaled = weight / weight.mean()
    full = np.column_stack([np.ones(len(y)), x])
    moments = full.T @ (full * scaled[:, None])
    moments[np.diag_indices_from(moments)] += np.concatenate([[0.0], np.broadcast_to(penalty, x.shape[1])])
    return np.linalg.solve(moments, full.T @ (scaled * y))


def predictions(pool: Pool, gains: Array, learnt: Flags, weight: Array, common: Flags | None = None) -> Array:
    """Return predicted gains of all passages, each learnt from passages of other folds.

    With at least `FEWEST` passages outside a fold, its predictions come from `ridge` on the features. Each query has
    its own level, which `QUERY_RIDGE` draws towards 0 (a random intercept). With fewer passages the prediction is
    their weighted mean; with none it is 0. Predictions stay within the gains seen outside the fold. The audited
    scores are unbiased for any prediction that does not depend on the passage's own draw, which the folds ensure.

    Args:
        pool: features, folds and queries of the N passages.
        gains: shape (N,); read only if `learnt`.
        learnt: the judged passages of a random sample, without passages that were judged for other reasons.
        weight: shape (N,), the inverse of their chances; read only if `learnt`.
        common: passages that all folds may learn from, such as those judged in earlier batches: they are known, so
            no prediction corrects them. None means no passage.

    Returns:
        Shape (N,).
    """
    found = np.zeros(len(gains))
    shared = np.zeros(len(gains), bool) if common is None else common
    for fold in np.unique(pool.folds):
        inside = pool.folds == fold
        used = np.flatnonzero(learnt & (weight > 0) & (shared | ~inside))
        if not len(used):
            continue
        y, own = gains[used], weight[used]
        if len(used) < FEWEST:
            found[inside] = np.average(y, weights=own)
            continue
        at = np.flatnonzero(inside)
        coefficients, level = _fit(pool.x[used], y, own, pool.queries[used])
        guess = coefficients[0] + pool.x[at] @ coefficients[1:]
        guess += np.array([level.get(query, 0.0) for query in pool.queries[at].tolist()])
        found[at] = np.clip(guess, y.min(), y.max())
    return found


def _fit(x: Array, y: Array, weight: Array, queries: NDArray[np.int64]) -> tuple[Array, dict[int, float]]:
    """Return the intercept with the coefficients, and the level of each query with judged passages."""
    present, place = np.unique(queries, return_inverse=True)
    own = np.zeros((len(y), len(present)))
    own[np.arange(len(y)), place] = 1.0
    penalty = np.concatenate([np.full(x.shape[1], RIDGE), np.full(len(present), QUERY_RIDGE)])
    solved = ridge(np.column_stack([x, own]), y, weight, penalty)
    levels = solved[1 + x.shape[1] :]
    return solved[: 1 + x.shape[1]], dict(zip(present.tolist(), levels.tolist(), strict=True))
