"""Uncertainty of a fit: a bootstrap over items for abilities, the curvature at the maximum for items."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .design import Design
from .estimators import ESTIMATORS, prior_curvature
from .joint import Fit, in_unit, maximise
from .likelihood import Objective
from .model import Array, Items, sigmoid

REPEATS = 200
CONFIDENCE = 0.95

# A repeat starts at the fit, and its sampling error is far above this tolerance.
_PRECISION = 1e-8


@dataclass(frozen=True)
class Draws:
    """The results of repeated fits to items drawn with replacement.

    Args:
        parts: repeats x parts, each repeat in its own unit (see `Fit`); determined up to constants between factors.
        design: of the examinees.
    """

    parts: Array
    design: Design

    @property
    def theta(self) -> Array:
        """repeats x m abilities."""
        found: Array = self.parts @ self.design.matrix.T
        return found


def bootstrap_items(responses: Array, found: Fit, repeats: int = REPEATS, seed: int = 0) -> Draws:
    """Fit repeatedly to as many items drawn with replacement, to see how far other items would move abilities.

    An item that is drawn twice counts twice, with its prior; its two copies would get the same parameters, so it is
    fitted once. Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 6.

    Args:
        responses: m x n, those that `found` was fitted to.
        found: the start of every repeat.
        repeats: at least 2.
        seed: of the draws.
    """
    whole = Objective.of(np.asarray(responses, float), found.design, found.model, ESTIMATORS[found.estimator])
    n = len(found.items)
    rng = np.random.default_rng(seed)
    parts = np.empty((repeats, len(found.parts)))
    for repeat in range(repeats):
        counts = rng.multinomial(n, np.full(n, 1 / n))
        drawn = np.flatnonzero(counts)
        part = replace(whole, signs=np.ascontiguousarray(whole.signs[:, drawn]), weights=counts[drawn].astype(float))
        vector, _, _ = maximise(part, part.join(found.parts, found.items.some(drawn)), _PRECISION)
        parts[repeat], _ = in_unit(part, vector)
    return Draws(parts, found.design)


def interval(estimate: Array, draws: Array, confidence: float = CONFIDENCE) -> tuple[Array, Array]:
    """Return the bias-corrected percentile interval of an estimate.

    Its bounds are quantiles of the draws, shifted by the distance of the estimate from their median. Source: Efron,
    Better Bootstrap Confidence Intervals, Journal of the American Statistical Association 82, 1987, section 2.

    Args:
        estimate: ... values.
        draws: repeats x ... values.

    Returns:
        (low, high), each shaped like the estimate.
    """
    from scipy.special import ndtr, ndtri

    below = ((draws < estimate).mean(axis=0) + (draws <= estimate).mean(axis=0)) / 2
    half = 0.5 / len(draws)
    shift = ndtri(np.clip(below, half, 1 - half))
    z = ndtri((1 + confidence) / 2)
    flat = draws.reshape(len(draws), -1)
    low, high = (
        np.array([np.quantile(flat[:, i], level) for i, level in enumerate(np.ravel(ndtr(2 * shift + side * z)))])
        for side in (-1, 1)
    )
    return low.reshape(estimate.shape), high.reshape(estimate.shape)


def item_errors(responses: Array, found: Fit) -> Items:
    """Return standard errors of the items' parameters, as if abilities were known; NaN for fixed ones and at a
    bound.

    They are the square roots of the diagonal of the inverse of an item's expected information. That is the sum over
    the examinees who answered of J J' / (p (1 - p)), J = dp/d(d, b, g), plus the priors' curvature if the estimator
    has priors.
    Source: Baker and Kim, Item Response Theory, 2004, section 2.6.

    Args:
        responses: m x n, those that `found` was fitted to.
    """
    items = found.items
    away = found.theta[:, None] - items.b
    s = sigmoid(items.d * away)
    p = np.clip(items.g + (1 - items.g) * s, 1e-9, 1 - 1e-9)
    slope = (1 - items.g) * s * (1 - s)
    by = np.stack([slope * away, -slope * items.d, 1 - s])
    seen = ~np.isnan(np.asarray(responses, float))
    told = np.einsum("amn,bmn,mn->nab", by, by, seen / (p * (1 - p)))
    if ESTIMATORS[found.estimator].priors:
        told[:, range(3), range(3)] += np.stack(prior_curvature(items.d, items.b, items.g), axis=1)
    kinds = {"1pl": "b", "2pl": "db", "3pl": "dbg"}[found.model]
    free = np.stack([~found.at_bound[kind] & (kind in kinds) for kind in "dbg"], axis=1)
    # Rows and columns of held parameters become those of the identity, which removes them from the inverse.
    told = np.where(free[:, :, None] & free[:, None, :], told, np.eye(3))
    variance = np.diagonal(np.linalg.pinv(told, hermitian=True), axis1=1, axis2=2)
    errors = np.where(free & (variance > 0), np.sqrt(np.maximum(variance, 0)), np.nan)
    return Items(errors[:, 0], errors[:, 1], errors[:, 2])
