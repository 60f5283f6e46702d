"""Marginal fits for many examinees, with standard normal abilities integrated out; binary and graded answers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...errors import InputError
from .joint import PRIORS, checked, climb, prior_b, prior_d
from .model import LEAST, Array, Indices, Items, Model, sigmoid

# Quadrature points of the standard normal; more points change the sixth digit.
_NODES: Array = np.linspace(-6.0, 6.0, 61)
_LOG_DENSITY: Array = -(_NODES**2) / 2
_LOG_WEIGHTS: Array = _LOG_DENSITY - np.log(np.exp(_LOG_DENSITY).sum())

_D, _B, _G = (0.05, 6.0), (-6.0, 6.0), (0.001, 0.5)
_LEAST_STEP, _MOST_STEP = 0.01, 8.0
_PRECISION = 1e-12


@dataclass(frozen=True)
class MarginalFit:
    """Items fitted to many examinees, whose abilities are standard normal.

    Args:
        log_likelihood: of the answers, abilities integrated out, without priors.
        theta: m abilities, the mean of each given the answers.
        theta_error: m, its standard deviation given the answers.
        parameters: number of free numbers of the items.
    """

    model: Model
    items: Items
    log_likelihood: float
    theta: Array
    theta_error: Array
    parameters: int
    converged: bool


@dataclass(frozen=True)
class GradedItems:
    """The parameters of n items with ordered levels 0 to K.

    Args:
        d: n discriminations.
        b: n x K; the ability at which level k or more has an even chance, rising with k.
    """

    d: Array
    b: Array


@dataclass(frozen=True)
class GradedFit:
    """Graded items fitted to many examinees; as `MarginalFit`."""

    items: GradedItems
    log_likelihood: float
    theta: Array
    theta_error: Array
    converged: bool


def fit_marginal(responses: Array, model: Model = "2pl") -> MarginalFit:
    """Fit items by the marginal likelihood: every examinee's ability is drawn from a standard normal.

    Source: Bock and Aitkin, Marginal Maximum Likelihood Estimation of Item Parameters, Psychometrika 46, 1981; here
    the likelihood is maximised by its gradient, on 61 points from -6 to 6.

    Args:
        responses: m x n; 1 right, 0 wrong, NaN not answered.
        model: of the items; 3pl uses the priors of `map`, without which guessing is not determined.

    Raises:
        InputError: the responses are not such a table, or contain no answer.
    """
    table = checked(responses, len(responses))
    kinds = {"1pl": "b", "2pl": "bd", "3pl": "bdg"}[model]
    patterns, counts, place = _patterns(table)
    right, wrong = (patterns == 1).astype(float), (patterns == 0).astype(float)
    n = table.shape[1]

    def split(vector: Array) -> Items:
        b, *others = np.split(vector, n * np.arange(1, len(kinds)))
        return Items(others[0] if others else np.ones(n), b, others[1] if len(others) > 1 else np.zeros(n))

    def chances(items: Items) -> tuple[Array, Array]:
        s = sigmoid(items.d * (_NODES[:, None] - items.b))
        return s, np.clip(items.g + (1 - items.g) * s, LEAST, 1 - LEAST)

    def logs(items: Items) -> Array:
        _, p = chances(items)
        return np.asarray(right @ np.log(p).T + wrong @ np.log1p(-p).T)

    def value(vector: Array) -> tuple[float, Array]:
        items = split(vector)
        s, p = chances(items)
        total, weights = _integrate(logs(items), counts)
        # Expected numbers of right and wrong answers at each point of ability.
        rights, wrongs = weights.T @ right, weights.T @ wrong
        u = rights / p - wrongs / (1 - p)
        v = u * (1 - items.g) * s * (1 - s)
        by = {
            "b": -items.d * v.sum(axis=0),
            "d": (v * (_NODES[:, None] - items.b)).sum(axis=0),
            "g": (u * (1 - s)).sum(axis=0),
        }
        if model == "3pl":
            for kind in kinds:
                of_items, slope = PRIORS[kind](getattr(items, kind))
                total += float(of_items.sum())
                by[kind] = by[kind] + slope
        return total, np.concatenate([by[kind] for kind in kinds])

    share = (right.T @ counts + 0.5) / ((right + wrong).T @ counts + 1)
    begin = {"b": -np.log(share / (1 - share)), "d": np.ones(n), "g": np.full(n, 0.2)}
    boxes = {"b": _B, "d": _D, "g": _G}
    low, high = (np.concatenate([np.full(n, boxes[kind][side]) for kind in kinds]) for side in (0, 1))
    beginning = np.concatenate([begin[kind] for kind in kinds])
    vector, _, converged = climb(value, np.clip(beginning, low, high), (low, high), _PRECISION)
    items = split(vector)
    found = logs(items)
    total, _ = _integrate(found, counts)
    mean, error = _abilities(found)
    return MarginalFit(model, items, total, mean[place], error[place], len(kinds) * n, converged)


def fit_graded(responses: Array, levels: int = 5) -> GradedFit:
    """Fit the graded response model: each level from 1 on has its own difficulty, the item one discrimination.

    P(rating >= k) = 1 / (1 + exp(-d (theta - b_k))). Source: Samejima, Estimation of Latent Ability Using a Response
    Pattern of Graded Scores, Psychometrika Monograph 17, 1969. Abilities are standard normal and integrated out. d
    and b have the priors of `map`, which also determine levels that never occur.

    Args:
        responses: m x n; whole numbers from 0 to `levels`, NaN if missing.
        levels: the highest level K.

    Raises:
        InputError: responses are missing, or a response is not such a level.
    """
    table = np.asarray(responses, float)
    known = table[~np.isnan(table)]
    if not known.size:
        raise InputError("no-responses", "No responses to fit a model to.", "Grade passages first.")
    if ((known < 0) | (known > levels) | (known != np.floor(known))).any():
        raise InputError(
            "invalid-response",
            f"A response is not a level from 0 to {levels}.",
            "Leave cells without a response empty.",
        )
    patterns, counts, place = _patterns(table)
    n = table.shape[1]
    # 1 if the response of a pattern to an item is the level: levels + 1 tables of patterns x items.
    given = [(patterns == level).astype(float) for level in range(levels + 1)]

    def split(vector: Array) -> GradedItems:
        d, b, *steps = np.split(vector, n * np.arange(1, levels + 1))
        return GradedItems(d, np.cumsum(np.stack([b, *steps], axis=1), axis=1))

    def logs(items: GradedItems) -> Array:
        chances = np.maximum(graded_chances(_NODES, items), LEAST)
        return np.asarray(np.add.reduce([table @ np.log(chances[..., k]).T for k, table in enumerate(given)]))

    def value(vector: Array) -> tuple[float, Array]:
        items = split(vector)
        total, weights = _integrate(logs(items), counts)
        above = _above(_NODES, items)
        chances = np.maximum(above[..., :-1] - above[..., 1:], LEAST)
        expected = np.stack([weights.T @ table for table in given], axis=2)
        u = expected / chances
        # Derivative by the chance of level k or more, for k = 1 to K: it adds to level k and takes from level k - 1.
        by_above = (u[..., 1:] - u[..., :-1]) * (above * (1 - above))[..., 1:-1]
        away = _NODES[:, None, None] - items.b
        by_d = (by_above * away).sum(axis=(0, 2))
        by_b = -items.d[:, None] * by_above.sum(axis=0)
        of_d, slope_d = prior_d(items.d)
        of_b, slope_b = prior_b(items.b)
        total += float(of_d.sum() + of_b.sum())
        by_d, by_b = by_d + slope_d, by_b + slope_b
        # A step moves its own difficulty and all above it.
        by_steps = np.cumsum(by_b[:, ::-1], axis=1)[:, ::-1]
        return total, np.concatenate([by_d, *by_steps.T])

    low = np.concatenate([np.full(n, _D[0]), np.full(n, _B[0]), np.full(n * (levels - 1), _LEAST_STEP)])
    high = np.concatenate([np.full(n, _D[1]), np.full(n, _B[1]), np.full(n * (levels - 1), _MOST_STEP)])
    beginning = np.concatenate([np.ones(n), *_first_steps(given, counts)])
    vector, _, converged = climb(value, np.clip(beginning, low, high), (low, high), _PRECISION)
    items = split(vector)
    found = logs(items)
    total, _ = _integrate(found, counts)
    mean, error = _abilities(found)
    return GradedFit(items, total, mean[place], error[place], converged)


def graded_chances(theta: Array, items: GradedItems) -> Array:
    """Return the chance of each level under the graded response model: m x n x (K + 1)."""
    above = _above(np.asarray(theta, float), items)
    return above[..., :-1] - above[..., 1:]


def graded_information(theta: Array, items: GradedItems) -> Array:
    """Return the information of graded items: the sum over levels of (dP/dtheta)^2 / P, m x n. Source: Samejima,
    1969."""
    above = _above(np.asarray(theta, float), items)
    slopes = items.d[:, None] * above * (1 - above)
    chances = np.maximum(above[..., :-1] - above[..., 1:], LEAST)
    return np.asarray(((slopes[..., :-1] - slopes[..., 1:]) ** 2 / chances).sum(axis=-1))


def _above(theta: Array, items: GradedItems) -> Array:
    """Return the chance of level k or more, for k = 0 (always 1) to K + 1 (always 0): m x n x (K + 2)."""
    inner = sigmoid(items.d[:, None] * (theta[:, None, None] - items.b))
    ends = np.ones((*inner.shape[:2], 1))
    return np.concatenate([ends, inner, 0 * ends], axis=2)


def _first_steps(given: list[Array], counts: Array) -> list[Array]:
    """Return initial difficulties: the lowest from the share above level 0, each other as a step above the previous."""
    answered = np.add.reduce(given).T @ counts
    reached = [(np.add.reduce(given[k:]).T @ counts + 0.5) / (answered + 1) for k in range(1, len(given))]
    b = [-np.log(share / (1 - share)) for share in reached]
    return [b[0], *(np.maximum(after - before, 0.1) for before, after in pairwise(b))]


def _patterns(table: Array) -> tuple[Array, Array, Indices]:
    """Return the distinct rows, how often each occurs, and the index of each row's pattern."""
    rows, place, counts = np.unique(
        np.where(np.isnan(table), -1, table), axis=0, return_inverse=True, return_counts=True
    )
    return rows, counts.astype(float), place.reshape(-1)


def _integrate(logs: Array, counts: Array) -> tuple[float, Array]:
    """Return the marginal log-likelihood, and the expected number of each pattern's examinees at each point of
    ability."""
    joint = logs + _LOG_WEIGHTS
    top = joint.max(axis=1, keepdims=True)
    weights = np.exp(joint - top)
    sums = weights.sum(axis=1, keepdims=True)
    total = float((np.log(sums) + top)[:, 0] @ counts)
    return total, weights * (counts[:, None] / sums)


def _abilities(logs: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of ability given the answers, for each pattern."""
    _, weights = _integrate(logs, np.ones(len(logs)))
    mean = weights @ _NODES
    error: Array = np.sqrt(np.maximum(weights @ _NODES**2 - mean**2, 0.0))
    return mean, error
