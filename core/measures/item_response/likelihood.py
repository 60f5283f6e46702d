"""The joint log-likelihood of abilities and items over the given answers, with its gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .design import Design
from .estimators import PRIORS, Estimator, prior_part
from .model import LEAST, Array, Items, Model, sigmoid


@dataclass(frozen=True)
class Objective:
    """The objective of a joint fit, as a function of one vector: the parts of ability, then b, d and g of every
    item.

    A model without discrimination or guessing has no such numbers in its vector: d is then 1, and g 0.

    Args:
        signs: m examinees x n items; 1 right, -1 wrong, 0 not answered.
        weights: n; how often each item counts.
    """

    signs: Array
    design: Design
    model: Model
    estimator: Estimator
    weights: Array

    @classmethod
    def of(cls, responses: Array, design: Design, model: Model, estimator: Estimator) -> Objective:
        """Return the objective of answers, in which each item counts once.

        Args:
            responses: m x n; 1 right, 0 wrong, NaN not answered.
        """
        signs = np.nan_to_num(2 * np.asarray(responses, float) - 1, nan=0.0)
        return cls(signs, design, model, estimator, np.ones(signs.shape[1]))

    @property
    def kinds(self) -> str:
        """The parameters that an item has, in the order of the vector."""
        return {"1pl": "b", "2pl": "bd", "3pl": "bdg"}[self.model]

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The lowest and the highest value of each number of the vector."""
        boxes = {"b": self.estimator.b, "d": self.estimator.d, "g": self.estimator.g}
        counts = [(self.estimator.part, self.design.matrix.shape[1])]
        counts += [(boxes[kind], self.signs.shape[1]) for kind in self.kinds]
        low, high = (np.concatenate([np.full(count, box[side]) for box, count in counts]) for side in (0, 1))
        return low, high

    def split(self, vector: Array) -> tuple[Array, Items]:
        """Return the parts of ability and the items of a vector."""
        n = self.signs.shape[1]
        parts, b, *others = np.split(vector, self.design.matrix.shape[1] + n * np.arange(len(self.kinds)))
        d = others[0] if others else np.ones(n)
        g = others[1] if len(others) > 1 else np.zeros(n)
        return parts, Items(d, b, g)

    def join(self, parts: Array, items: Items) -> Array:
        """Return the vector of parts and items, moved into the bounds."""
        found: Array = np.clip(np.concatenate([parts, *(getattr(items, kind) for kind in self.kinds)]), *self.bounds)
        return found

    def value(self, vector: Array) -> tuple[float, Array]:
        """Return the log-likelihood, plus the priors if there are any, up to a constant; and its gradient.

        With s the logistic part, p the chance, r the answer, u = (r - p) / (p (1 - p)) and v = u (1 - g) s (1 - s),
        the derivatives of the log-likelihood are: by d the sum over examinees of v (theta - b); by b minus that of v
        d; by g that of u (1 - s); by the parts matrix' (sum over items of v d). Source: specification, section 8.

        Returns:
            (value, gradient in the order of the vector).
        """
        parts, items = self.split(vector)
        away = (self.design.matrix @ parts)[:, None] - items.b
        s = sigmoid(items.d * away)
        # The chance of the given answer: p if right, 1 - p if wrong, one half if not answered.
        q = s * (1 - items.g)
        q += items.g - 0.5
        q *= self.signs
        q += 0.5
        np.maximum(q, LEAST, out=q)
        logs = np.log(q).sum(axis=0) + np.log(2.0) * (self.signs == 0).sum(axis=0)
        u = np.divide(self.signs, q, out=q)
        fails = 1 - s
        by_g = np.einsum("mi,mi->i", u, fails) if "g" in self.kinds else np.zeros(len(items))
        s *= fails
        s *= u
        v = s * (1 - items.g)
        by = {"b": -items.d * v.sum(axis=0), "d": np.einsum("mi,mi->i", v, away), "g": by_g}
        by_parts = self.design.matrix.T @ (v @ (items.d * self.weights))
        value = float(logs @ self.weights)
        if self.estimator.priors:
            of_parts, prior_parts = prior_part(parts)
            value += float(of_parts.sum())
            by_parts += prior_parts
            for kind in self.kinds:
                of_items, slope = PRIORS[kind](getattr(items, kind))
                value += float(of_items @ self.weights)
                by[kind] = by[kind] + slope
        return value, np.concatenate([by_parts, *(by[kind] * self.weights for kind in self.kinds)])


def log_likelihood(responses: Array, chances: Array) -> float:
    """Return the sum over answered cells of r ln p + (1 - r) ln(1 - p), with chances kept 1e-9 from 0 and 1.

    Args:
        responses: m x n; 1 right, 0 wrong, NaN not answered.
        chances: m x n.
    """
    given = np.where(responses == 1, chances, 1 - chances)
    return float(np.log(np.clip(given, LEAST, 1 - LEAST))[~np.isnan(responses)].sum())
