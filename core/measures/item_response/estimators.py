"""The estimators by name: bounds of their parameters, priors, and starting points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .model import Array

EstimatorName = Literal["map", "paper"]

Box = tuple[float, float]


@dataclass(frozen=True)
class Estimator:
    """The objective of a joint fit and its bounds.

    Args:
        d, b, g, part: lowest and highest value of a discrimination, a difficulty, a guessing chance and a part of
        ability.
        priors: whether priors count in addition to the answers: d log-normal(0, .5), b normal(0, 1.5), g Beta(5,
            16), parts normal(0, 1).
        from_shares: whether to start from the shares of right answers; else from d = 1, b = 0, g = .25, parts = 0,
            each moved into its bounds.
    """

    name: EstimatorName
    d: Box
    b: Box
    g: Box
    part: Box
    priors: bool
    from_shares: bool


ESTIMATORS: dict[EstimatorName, Estimator] = {
    "map": Estimator("map", (0.05, 4.0), (-4.0, 4.0), (0.01, 0.5), (-np.inf, np.inf), priors=True, from_shares=True),
    # Guinet et al., appendix B.1. Their code has d from .5 on.
    "paper": Estimator("paper", (0.1, 1.5), (0.01, 1.0), (0.2, 0.4), (-3.0, 3.0), priors=False, from_shares=False),
}
"""`map`: the most probable parameters under the priors, the default. `paper`: the highest likelihood within its
bounds."""

_D_SD, _B_SD, _PART_SD = 0.5, 1.5, 1.0
_G_A, _G_B = 5.0, 16.0


def prior_d(d: Array) -> tuple[Array, Array]:
    """Return the log prior of discriminations, up to a constant, and its derivative."""
    log_d = np.log(d)
    return -(log_d**2) / (2 * _D_SD**2) - log_d, -(log_d / _D_SD**2 + 1) / d


def prior_b(b: Array) -> tuple[Array, Array]:
    """Return the log prior of difficulties, up to a constant, and its derivative."""
    return -(b**2) / (2 * _B_SD**2), -b / _B_SD**2


def prior_g(g: Array) -> tuple[Array, Array]:
    """Return the log prior of guessing chances, up to a constant, and its derivative."""
    return (_G_A - 1) * np.log(g) + (_G_B - 1) * np.log1p(-g), (_G_A - 1) / g - (_G_B - 1) / (1 - g)


def prior_part(parts: Array) -> tuple[Array, Array]:
    """Return the log prior of parts of ability, up to a constant, and its derivative."""
    return -(parts**2) / (2 * _PART_SD**2), -parts / _PART_SD**2


PRIORS = {"d": prior_d, "b": prior_b, "g": prior_g}
"""The priors of an item's parameters."""


def prior_curvature(d: Array, b: Array, g: Array) -> tuple[Array, Array, Array]:
    """Return the priors' information about d, b and g: minus the second derivatives of their logarithms.

    For d, the derivative is with respect to ln d and divided by d^2, so that it is never negative.
    """
    by_g = (_G_A - 1) / np.maximum(g, 1e-3) ** 2 + (_G_B - 1) / (1 - g) ** 2
    return 1 / (_D_SD * d) ** 2, np.full_like(b, 1 / _B_SD**2), by_g
