"""What batches learn for the next: where judgments lie far from their predictions, and are worth most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .batches import Batch, combined_weights
from .design import shares
from .prediction import FEWEST, Pool, ridge
from .weights import Array

# Squared residuals are noisy: their regression is held back, kept within bounds around their mean, and mixed with it.
_PENALTY = 20.0
_LEAST, _MOST = 0.1, 4.0
_MIX = 0.2


def residual_spread(batches: Sequence[Batch], planned: Array, gains: Array, predicted: Array) -> float | None:
    """The weighted root mean square of gain minus prediction over what was judged; None where nothing was."""
    squares, weight = _residuals(batches, planned, gains, predicted)
    at = weight > 0
    return float(np.sqrt(np.average(squares[at], weights=weight[at]))) if at.any() else None


def expected_spread(pool: Pool, batches: Sequence[Batch], planned: Array, gains: Array, predicted: Array) -> Array:
    """The spread of gain around its prediction that each passage is expected to have, for the chances of a next batch.

    Squared residuals of what was judged are regressed on the features, the latest prediction and its square, and the
    result is mixed with their mean: a passage whose chance fell far below the others would cost more than is won
    (Zrnic and Candès, Active Statistical Inference, ICML 2024, section 6, mix with the uniform rule for this reason).
    The next batch may use whatever is known, so this decides how narrow intervals are and never whether they hold.

    Args:
        pool: features of the N passages.
        batches: T batches so far.
        planned, gains, predicted: as for `correct`.

    Returns:
        Shape (N,), above 0; 1 for all with fewer than `FEWEST` judged, or where predictions were exact.
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
    """Squared residuals from the prediction of the batch that drew a passage, and the weights of what was judged."""
    squares, sampled = np.zeros(len(gains)), np.zeros(len(gains), bool)
    for batch, f in zip(batches, predicted, strict=False):
        at = batch.judged & ~batch.known
        squares[at] = (gains[at] - f[at]) ** 2
        sampled |= at
    weight, _ = combined_weights(batches, shares(planned[: len(batches)]))
    return squares, np.where(sampled, weight, 0.0)
