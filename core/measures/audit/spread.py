"""Expected spread for the next batch: how far judgments lie from their predictions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .batches import Batch, combined_weights
from .design import shares
from .prediction import FEWEST, Pool, ridge
from .weights import Array

# Squared residuals are noisy, so their regression is penalised, bounded around their mean, and mixed with it.
_PENALTY = 20.0
_LEAST, _MOST = 0.1, 4.0
_MIX = 0.2


def residual_spread(batches: Sequence[Batch], planned: Array, gains: Array, predicted: Array) -> float | None:
    """Return the weighted root mean square of gain minus prediction over judged passages, or None without any."""
    squares, weight = _residuals(batches, planned, gains, predicted)
    at = weight > 0
    return float(np.sqrt(np.average(squares[at], weights=weight[at]))) if at.any() else None


def expected_spread(pool: Pool, batches: Sequence[Batch], planned: Array, gains: Array, predicted: Array) -> Array:
    """Return the expected spread of each passage's gain around its prediction, for the chances of a next batch.

    Squared residuals of judged passages are regressed on the features, the latest prediction and its square. The
    result is mixed with their mean, because a passage with far too small a chance would cost more than is gained.
    For this reason Zrnic and Candès mix with the uniform rule (Active Statistical Inference, ICML 2024, section 6).
    The next batch may use all present knowledge, so this affects the width of intervals, never their validity.

    Args:
        pool: features of the N passages.
        batches: T batches so far.
        planned, gains, predicted: as for `correct`.

    Returns:
        Shape (N,), above 0; 1 for all with fewer than `FEWEST` judged, or if predictions were exact.
    """
    squares, weight = _residuals(batches, planned, gains, predicted)
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
    b = ridge(x[at], squares[at], weight[at], _PENALTY)
    fitted = np.clip(b[0] + x @ b[1:], _LEAST * mean, _MOST * mean)
    found: Array = np.sqrt((1 - _MIX) * fitted + _MIX * mean)
    return found


def _residuals(batches: Sequence[Batch], planned: Array, gains: Array, predicted: Array) -> tuple[Array, Array]:
    """Return squared residuals from the prediction of the batch that drew a passage, and weights of judged passages."""
    squares, sampled = np.zeros(len(gains)), np.zeros(len(gains), bool)
    for batch, f in zip(batches, predicted, strict=False):
        at = batch.judged & ~batch.known
        squares[at] = (gains[at] - f[at]) ** 2
        sampled |= at
    weight, _ = combined_weights(batches, shares(planned[: len(batches)]))
    return squares, np.where(sampled, weight, 0.0)
