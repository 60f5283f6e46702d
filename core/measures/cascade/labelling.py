"""What a cheap grader's ratings of a passage stand for on the scale of an expensive one, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError

Array: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Levels: TypeAlias = NDArray[np.int64]

Agreement = Literal["relevance", "label"]
AGREEMENTS: tuple[Agreement, ...] = ("relevance", "label")
"""When two labels agree: where both or neither reach the min rating, or where they are equal."""

RIDGE = 1.0
"""Penalty on a slope per standard deviation, in passages."""
PRIOR = 0.5
"""Passages of each level that are added at the mean of the features, so that a level nobody has seen is possible."""
UNKNOWN = -1
"""Stands for the label of a passage to which the cheap grader gave nothing usable."""
_TINY = 1e-12


@dataclass(frozen=True)
class Labelling:
    """How features of a cheap grader become chances of an expensive grader's labels: a proportional-odds model.

    P(label >= t) = logistic(slopes . (x - centre) / spread - cuts[t - 1]) for t = 1 .. top (McCullagh, Regression
    Models for Ordinal Data, JRSS B 42, 1980).

    Args:
        centre, spread, slopes: shape (p,).
        cuts: shape (top,), rising.
    """

    centre: Array
    spread: Array
    slopes: Array
    cuts: Array

    def chances(self, x: Array) -> Array:
        """The chance of each label.

        Args:
            x: shape (N, p); NaN where the cheap grader gave nothing.

        Returns:
            Shape (N, top + 1); rows that add up to 1, or of NaN where x has one.
        """
        return _chances(((x - self.centre) / self.spread) @ self.slopes, self.cuts)

    def labels(self, x: Array) -> Levels:
        """The expected label of each passage, rounded, shape (N,); `UNKNOWN` where x has a NaN.

        Not the likeliest one: where most passages have the lowest label, that is too low on average, and beside labels
        of the expensive grader a board would take the asked for better than the others.
        """
        found = self.chances(x)
        missing = np.asarray(np.isnan(found).any(axis=1))
        expected = np.nan_to_num(found) @ np.arange(len(self.cuts) + 1)
        rounded: Levels = np.floor(expected + 0.5).astype(np.int64)
        rounded[missing] = UNKNOWN
        return rounded


def _chances(scores: Array, cuts: Array) -> Array:
    from scipy.special import expit

    above = expit(scores[:, None] - cuts[None, :])
    edges = np.hstack([np.ones((len(scores), 1)), above, np.zeros((len(scores), 1))])
    found: Array = edges[:, :-1] - edges[:, 1:]
    return found


def learn(x: Array, labels: Levels, top: int) -> Labelling:
    """Fit what a cheap grader's features say of an expensive one's labels, by penalised maximum likelihood.

    Args:
        x: shape (n, p), features of passages that both have graded; rows with NaN do not count.
        labels: shape (n,), of the expensive grader, 0 to `top`.
        top: of its scale, at least 1.

    Raises:
        InputError: no passage has both.
    """
    from scipy.optimize import minimize

    known = ~np.isnan(x).any(axis=1)
    x, labels = x[known], labels[known]
    if not len(x):
        raise InputError(
            "no-judged-labels",
            "No passage of the sample has a label of both graders.",
            "Let both grade it: exam cascade run NAME",
        )
    centre = x.mean(axis=0)
    spread = np.where(x.std(axis=0) > _TINY, x.std(axis=0), 1.0)
    z = np.vstack([(x - centre) / spread, np.zeros((top + 1, x.shape[1]))])
    y = np.concatenate([labels, np.arange(top + 1)])
    counts = np.concatenate([np.ones(len(labels)), np.full(top + 1, PRIOR)])
    p, rows = x.shape[1], np.arange(len(y))

    def cost(theta: Array) -> float:
        found = _chances(z @ theta[:p], _rising(theta[p:]))[rows, y]
        return float(RIDGE / 2 * theta[:p] @ theta[:p] - counts @ np.log(np.maximum(found, _TINY)))

    # Begin with the levels' own shares, as if nothing was known of a passage.
    share = np.cumsum(np.bincount(y, counts, top + 1))[:-1] / counts.sum()
    cuts = np.log(share / (1 - share))
    begin = np.concatenate([np.zeros(p), cuts[:1], np.log(np.maximum(np.diff(cuts), 1e-3))])
    theta = minimize(cost, begin, method="L-BFGS-B").x
    return Labelling(centre, spread, theta[:p], _rising(theta[p:]))


def _rising(steps: Array) -> Array:
    """Cuts from a first one and the logarithms of the steps to the next."""
    found: Array = np.cumsum(np.concatenate([steps[:1], np.exp(np.clip(steps[1:], -30, 30))]))
    return found


def agreeing(first: Levels, second: Levels, agreement: Agreement, min_rating: int) -> Flags:
    """Whether labels agree, shape (N,).

    Args:
        agreement: see `AGREEMENTS`.
        min_rating: from which a label is relevant.
    """
    same: Flags = first == second
    alike: Flags = (first >= min_rating) == (second >= min_rating)
    return same if agreement == "label" else alike


def confidence(chances: Array, labels: Levels, agreement: Agreement, min_rating: int) -> Array:
    """The chance that the expensive grader's label agrees with the one that was given, shape (N,).

    Args:
        chances: shape (N, levels), from `Labelling.chances`.
        labels: shape (N,), those that the cheap grader's ratings stand for.
        agreement, min_rating: as for `agreeing`.

    Returns:
        NaN where the cheap grader gave nothing.
    """
    if agreement == "label":
        sure: Array = chances[np.arange(len(labels)), np.maximum(labels, 0)]
        return sure
    relevant = chances[:, min_rating:].sum(axis=1)
    found: Array = np.where(labels >= min_rating, relevant, 1 - relevant)
    return found


def priorities(weight: Array, sure: Array) -> Array:
    """How much of the board's weight is expected to carry another label than the expensive grader would give.

    The passages with the most are asked again first: to ask for those takes the most doubt out of the board for a given
    number of them. What the cheap grader gave nothing for comes before all.

    Args:
        weight: shape (N,), at least 0, what a passage weighs on the board.
        sure: shape (N,), from `confidence`.
    """
    found: Array = np.where(np.isnan(sure), np.inf, weight * (1 - sure))
    return found
