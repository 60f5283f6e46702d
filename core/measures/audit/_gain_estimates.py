"""Estimates of each passage's gain from the batches of an audit: predictions, corrected by
judgments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ._sampling_design import Array, Flags, Indices, Item, Weights, batch_shares, hash_items

FOLDS = 5
FEWEST = 20
"""Minimum number of judged passages for a regression. With fewer, the mean of their gains is the
prediction for all.
"""
RIDGE = 1.0
"""Ridge penalty on a standardised coefficient, in units of judgments."""
QUERY_RIDGE = 3.0
"""Ridge penalty on a query's own level, in units of judgments. With this many judgments, a query's
level is half-way between the common level and the query's own mean."""


def folds_of(items: Sequence[Item], folds: int = FOLDS) -> NDArray[np.int64]:
    """Return the fold of each passage, from a hash of its ids: equal on all machines, unchanged by
    further passages.

    Returns:
        Shape (N,), from 0 to folds - 1.
    """
    return np.array([number % folds for number in hash_items("fold\x1f", items)], dtype=np.int64)


def design_matrix(features: Iterable[Array], n: int) -> Array:
    """Return standardised features, with an indicator for each feature that some passages lack.

    A missing value is replaced by the mean of the other values, and its indicator is 1. So the
    regression estimates the effect of a missing value. Constant columns and repeated indicators are
    left out.

    Args:
        features: arrays of shape (N,); NaN if missing, which is not 0. Without features,
            predictions are means.
        n: number of passages N.

    Returns:
        Shape (N, columns); every column has mean 0 and variance 1 over the pool.
    """
    columns: list[Array] = []
    for values in features:
        missing = np.isnan(values)
        if missing.all():
            continue
        columns.append(np.where(missing, values[~missing].mean(), values))
        indicator = missing.astype(float)
        if missing.any() and not any(np.array_equal(indicator, one) for one in columns):
            columns.append(indicator)
    varying = [
        column for column in columns if column.std() > 1e-12 * max(1.0, float(np.abs(column).max()))
    ]
    if not varying:
        return np.empty((n, 0))
    return np.column_stack([(column - column.mean()) / column.std() for column in varying])


@dataclass(frozen=True)
class Pool:
    """The data for predictions of a pool's gains, in the order of its passages.

    Args:
        x: shape (N, columns), from `design_matrix`.
        folds: shape (N,), from `folds_of`.
        queries: shape (N,), the number of each passage's query, from 0 in the order of query ids.
    """

    x: Array
    folds: NDArray[np.int64]
    queries: NDArray[np.int64]


def pool_of(weights: Weights, columns: Mapping[str, Array], folds: int = FOLDS) -> Pool:
    """Return the pool of a design, with the features of machines and two features from the
    rankings.

    The features from the rankings are the logarithm of the passage's importance to the systems, and
    the number of systems that rank it. They are useful, because passages that many systems rank
    high are relevant more often.

    Args:
        weights: the weights of the systems.
        columns: features by name: label, mean rating, mean squared rating and number of answered
            questions, of one or several graders. Values are in the order of `weights.items`, with
            NaN for missing values.
        folds: number of folds.
    """
    at_all = np.sqrt((weights.w**2).mean(axis=0))
    ranked = {
        "importance": np.log(np.where(at_all > 0, at_all, np.nan)),
        "systems": (weights.w > 0).sum(axis=0).astype(float),
    }
    places = np.unique([query for query, _ in weights.items], return_inverse=True)[1]
    x = design_matrix({**columns, **ranked}.values(), len(weights.items))
    return Pool(x, folds_of(weights.items, folds), places.astype(np.int64))


def fit_ridge(x: Array, y: Array, weight: Array, penalty: Array | float = RIDGE) -> Array:
    """Return the coefficients of a weighted ridge regression with an unpenalised intercept.

    They minimise sum weight (y - a - x b)^2 + sum penalty b^2. Source: Hoerl and Kennard, Ridge
    Regression, Technometrics 12, 1970. Weights are scaled to mean 1, so that the unit of a penalty
    is a judgment.

    Args:
        x: shape (n, columns).
        y: shape (n,).
        weight: shape (n,), above 0: the inverse inclusion probabilities.
        penalty: a number for each column, or one for all columns.

    Returns:
        Shape (1 + columns,): the intercept, then the coefficients.
    """
    scaled = weight / weight.mean()
    full = np.column_stack([np.ones(len(y)), x])
    moments = full.T @ (full * scaled[:, None])
    moments[np.diag_indices_from(moments)] += np.concatenate(
        [[0.0], np.broadcast_to(penalty, x.shape[1])]
    )
    return np.linalg.solve(moments, full.T @ (scaled * y))


def predict_gains(
    pool: Pool, gains: Array, learnt: Flags, weight: Array, common: Flags | None = None
) -> Array:
    """Return cross-fitted predictions: the predicted gain of each passage, learnt from passages of
    other folds.

    With at least `FEWEST` learnt passages outside a fold, its predictions come from `fit_ridge` on
    the features. Each query has a random intercept, which `QUERY_RIDGE` shrinks towards 0. With
    fewer passages, the prediction is their weighted mean; without passages, it is 0. Predictions
    are clipped to the range of gains outside the fold. The folds ensure that a prediction does not
    depend on the draw of its own passage. So the audited scores are unbiased.

    Args:
        pool: features, folds and queries of the N passages.
        gains: shape (N,); read only for `learnt` passages.
        learnt: shape (N,), flags of the judged passages of a random sample. Passages judged for
            other reasons are not flagged.
        weight: shape (N,), the inverse inclusion probabilities; read only for `learnt` passages.
        common: passages from which all folds may learn, such as passages judged in earlier batches.
            These are known, so their predictions are not used. None means no passages.

    Returns:
        Shape (N,).
    """
    predicted = np.zeros(len(gains))
    shared = np.zeros(len(gains), bool) if common is None else common
    for fold in np.unique(pool.folds):
        inside = pool.folds == fold
        used = np.flatnonzero(learnt & (weight > 0) & (shared | ~inside))
        if not len(used):
            continue
        y, own = gains[used], weight[used]
        if len(used) < FEWEST:
            predicted[inside] = np.average(y, weights=own)
            continue
        at = np.flatnonzero(inside)
        coefficients, level = _fit_levels(pool.x[used], y, own, pool.queries[used])
        guess = coefficients[0] + pool.x[at] @ coefficients[1:]
        guess += np.array([level.get(query, 0.0) for query in pool.queries[at].tolist()])
        predicted[at] = np.clip(guess, y.min(), y.max())
    return predicted


def _fit_levels(
    x: Array, y: Array, weight: Array, queries: NDArray[np.int64]
) -> tuple[Array, dict[int, float]]:
    """Return the intercept and coefficients, and the level of each query with judged passages."""
    present, place = np.unique(queries, return_inverse=True)
    own = np.zeros((len(y), len(present)))
    own[np.arange(len(y)), place] = 1.0
    penalty = np.concatenate([np.full(x.shape[1], RIDGE), np.full(len(present), QUERY_RIDGE)])
    solved = fit_ridge(np.column_stack([x, own]), y, weight, penalty)
    levels = solved[1 + x.shape[1] :]
    return solved[: 1 + x.shape[1]], dict(zip(present.tolist(), levels.tolist(), strict=True))


@dataclass(frozen=True)
class Batch:
    """One drawn batch.

    Args:
        chances: shape (N,), the inclusion probability of each passage in this batch; read only if
            not `known`.
        drawn: shape (N,), whether the passage was drawn.
        judged: shape (N,), whether the drawn passage was judged. If not, it was skipped or "cannot
            say".
        known: shape (N,), whether the passage was known before this batch: judged in an earlier
            batch, or for another reason. Known passages count exactly and are not in the batch's
            population.
    """

    chances: Array
    drawn: Flags
    judged: Flags
    known: Flags


@dataclass(frozen=True)
class CorrectedGains:
    """The estimated gain of every passage, from which every weighted sum of gains can be computed.

    Args:
        gains: shape (N,), unbiased estimates of the gains: the sum over batches of share times
            prediction, corrected if the passage was judged. Single values can be far outside the
            scale.
        variances: shape (N,), the contribution of each passage to the estimated variance of a sum
            with weight 1.
        judged: number of passages judged in the batches.
        missed: number of passages that were drawn but not judged.
        unsure: positions of passages with an inexact gain: the passage was not known, nor certain
            to be judged.
        tested: positions of such passages that were judged; only these show the error of a sum.
    """

    gains: Array
    variances: Array
    judged: int
    missed: int
    unsure: Indices = field(default_factory=lambda: np.empty(0, np.int64))
    tested: Indices = field(default_factory=lambda: np.empty(0, np.int64))


def combined_weights(batches: Sequence[Batch], share: Array) -> tuple[Array, Array]:
    """Return the weight of each passage in sums over the pool, and its factor in the variance of
    such sums.

    The estimate of sum_i c_i over the pool is sum_i weight_i c_i, which needs c only for judged or
    known passages (Horvitz and Thompson, Journal of the American Statistical Association 47, 1952).
    Its estimated variance is sum_i spread_i c_i^2.

    Args:
        batches: T batches in order.
        share: shape (T, N), from `batch_shares`.

    Returns:
        (weight, spread), each of shape (N,). weight = sum_t share_t (known_t + judged_t / pi_t),
        and spread = sum_t share_t^2 judged_t (1 - pi_t) / pi_t^2. The probability of being drawn
        and judged is pi, see `response_rate`.
    """
    weight = np.zeros(share.shape[1])
    spread = np.zeros(share.shape[1])
    for batch, own in zip(batches, share, strict=True):
        weight += own * batch.known
        at = np.flatnonzero(batch.judged & ~batch.known)
        pi = (batch.chances * response_rate(batch))[at]
        weight[at] += own[at] / pi
        spread[at] += own[at] ** 2 * (1 - pi) / pi**2
    return weight, spread


def response_rate(batch: Batch) -> float:
    """Return the response rate of a batch: the share of its drawn passages that were judged; 1 if
    none was drawn.

    The model is that skipped passages, and passages that people could not judge, are missing at
    random among the drawn passages. So the probability of being drawn and judged is pi times this
    share (the response homogeneity model, Särndal, Swensson and Wretman, 1992, section 15.6).
    Predictions account for differences between judged and unjudged passages that the features show.
    The interval widens as for a smaller sample. `missing_bounds` computes the worst case.
    """
    asked = int((batch.drawn & ~batch.known).sum())
    return int((batch.judged & ~batch.known).sum()) / asked if asked else 1.0


def predict_batches(pool: Pool, batches: Sequence[Batch], planned: Array, gains: Array) -> Array:
    """Return the predictions for each batch, learnt from the judgments of this batch and earlier
    batches.

    Later batches must not change the predictions for an earlier batch. Otherwise its estimate would
    be biased, given the batches before it.

    Args:
        pool: features, folds and queries of the N passages.
        batches: T batches in order.
        planned: shape (T or more, N), the planned chances, which determine the shares.
        gains: shape (N,); NaN if not judged.

    Returns:
        Shape (T, N).
    """
    rows = []
    learnt = np.zeros(len(gains), bool)
    for t, batch in enumerate(batches):
        before = learnt.copy()
        learnt |= batch.judged
        weight, _ = combined_weights(batches[: t + 1], batch_shares(planned[: t + 1]))
        rows.append(predict_gains(pool, gains, learnt, weight, before))
    return np.array(rows)


def correct_gains(
    batches: Sequence[Batch], planned: Array, gains: Array, predicted: Array
) -> CorrectedGains:
    """Return the estimated gain of every passage from all batches together.

    Let a passage have the gain y and, in batch t, the prediction f_t. Its estimate is z_t = f_t +
    judged (y - f_t) / pi_t, or y if the passage was known before. This is the difference estimator
    (Särndal, Swensson and Wretman, 1992, section 6.3). With cross-fitted predictions it is
    prediction-powered inference (Angelopoulos et al., Science 382, 2023; Zrnic and Candès, PNAS
    121, 2024), with unequal probabilities as in Zrnic and Candès, ICML 2024. The combined estimate
    is sum_t share_t z_t. The shares are fixed beforehand. So it is unbiased, and the variances of
    the batches add up; see `audit.design_audit`.

    Args:
        batches: T batches in order, at least one.
        planned: shape (T, N), the planned chances, fixed with the first batch.
        gains: shape (N,); NaN if unknown.
        predicted: shape (T, N), from `predict_batches`; zeros for an estimate without predictions.

    Raises:
        InputError: the chance of a drawn passage is 0, as in a changed audit file.
    """
    for number, batch in enumerate(batches, 1):
        if np.any(batch.drawn & ~batch.known & ~(batch.chances > 0)):
            raise InputError(
                "batch-does-not-match",
                f"Batch {number} has a drawn passage without a probability.",
                "Use the probabilities with which the batch was drawn.",
            )
    share = batch_shares(planned[: len(batches)])
    value = np.zeros(len(gains))
    variance = np.zeros(len(gains))
    unsure, tested = np.zeros(len(gains), bool), np.zeros(len(gains), bool)
    gains_seen = np.nan_to_num(gains)
    for batch, own, f in zip(batches, share, predicted, strict=True):
        at = np.flatnonzero(batch.judged & ~batch.known)
        pi = (batch.chances * response_rate(batch))[at]
        residual = gains_seen[at] - f[at]
        z = np.where(batch.known, gains_seen, f)
        z[at] += residual / pi
        value += own * z
        variance[at] += own[at] ** 2 * (1 - pi) / pi**2 * residual**2
        exact = batch.known | (own == 0)
        exact[at[pi >= 1]] = True
        unsure |= ~exact
        tested[at] |= ~exact[at]
    judged = np.any([batch.judged for batch in batches], axis=0)
    drawn = np.any([batch.drawn for batch in batches], axis=0)
    return CorrectedGains(
        value,
        variance,
        int(judged.sum()),
        int((drawn & np.isnan(gains)).sum()),
        np.flatnonzero(unsure),
        np.flatnonzero(tested),
    )


def missing_bounds(
    batches: Sequence[Batch],
    planned: Array,
    gains: Array,
    predicted: Array,
    lowest: float,
    highest: float,
) -> tuple[CorrectedGains, CorrectedGains]:
    """Return the estimates if all unjudged drawn passages had the lowest gain, and if they had the
    highest gain.

    Args:
        lowest, highest: the ends of the scale of gains.

    Returns:
        (lowest, highest). The interval from the low end of the first to the high end of the second
        is valid for any cause of the missing judgments.
    """
    missed = np.any([batch.drawn for batch in batches], axis=0) & np.isnan(gains)
    whole = [Batch(one.chances, one.drawn, one.drawn & ~one.known, one.known) for one in batches]
    least, most = (
        correct_gains(whole, planned, np.where(missed, value, gains), predicted)
        for value in (lowest, highest)
    )
    return least, most


# Squared residuals are noisy, so their regression is penalised, bounded around their mean, and
# mixed with it.
_PENALTY = 20.0
_LEAST, _MOST = 0.1, 4.0
_MIX = 0.2


def residual_spread(
    batches: Sequence[Batch], planned: Array, gains: Array, predicted: Array
) -> float | None:
    """Return the weighted root mean square of gain minus prediction over the judged passages; None
    without them.
    """
    squares, weight = _squared_residuals(batches, planned, gains, predicted)
    at = weight > 0
    return float(np.sqrt(np.average(squares[at], weights=weight[at]))) if at.any() else None


def expected_spread(
    pool: Pool, batches: Sequence[Batch], planned: Array, gains: Array, predicted: Array
) -> Array:
    """Return the expected spread of each passage's gain around its prediction, for the chances of
    the next batch.

    Squared residuals of judged passages are regressed on the features, the latest prediction and
    its square. The fitted values are mixed with their mean: a chance that is much too small would
    cost more than optimal chances gain. For this reason Zrnic and Candès mix with the uniform rule
    (Active Statistical Inference, ICML 2024, section 6). The next batch may use all present data,
    so this affects the width of intervals, but not their validity.

    Args:
        pool: features of the N passages.
        batches: T batches so far.
        planned, gains, predicted: as for `correct_gains`.

    Returns:
        Shape (N,), above 0; all are 1 with fewer than `FEWEST` judged passages, or if all
        predictions were exact.
    """
    squares, weight = _squared_residuals(batches, planned, gains, predicted)
    at = np.flatnonzero(weight > 0)
    if len(at) < FEWEST:
        return np.ones(len(gains))
    mean = float(np.average(squares[at], weights=weight[at]))
    if mean <= 0:
        return np.ones(len(gains))
    latest = predicted[len(batches) - 1]
    x = np.column_stack([pool.x, latest, latest**2])
    scale = x.std(axis=0)
    x = (x - x.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    b = fit_ridge(x[at], squares[at], weight[at], _PENALTY)
    fitted = np.clip(b[0] + x @ b[1:], _LEAST * mean, _MOST * mean)
    return np.asarray(np.sqrt((1 - _MIX) * fitted + _MIX * mean))


def _squared_residuals(
    batches: Sequence[Batch], planned: Array, gains: Array, predicted: Array
) -> tuple[Array, Array]:
    """Return squared residuals from the prediction of each passage's own batch, and the weights of
    judged passages.
    """
    squares, sampled = np.zeros(len(gains)), np.zeros(len(gains), bool)
    for batch, f in zip(batches, predicted, strict=False):
        at = batch.judged & ~batch.known
        squares[at] = (gains[at] - f[at]) ** 2
        sampled |= at
    weight, _ = combined_weights(batches, batch_shares(planned[: len(batches)]))
    return squares, np.where(sampled, weight, 0.0)
