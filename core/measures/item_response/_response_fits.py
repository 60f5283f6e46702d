"""Fits of the models of item response: joint fits of abilities and items, and marginal fits, also
of graded answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from ...choices import EstimatorName, ResponseModel
from ...errors import InputError
from ._response_models import (
    LEAST,
    Array,
    Design,
    Flags,
    Indices,
    Items,
    answer_probability,
    sigmoid,
)

Box = tuple[float, float]


@dataclass(frozen=True)
class Estimator:
    """The objective of a joint fit and its bounds.

    Args:
        d, b, g, part: (lowest, highest) value of a discrimination, a difficulty, a guessing
            probability, and a part of ability.
        priors: whether priors count in addition to the answers: d log-normal(0, .5), b normal(0,
            1.5), g Beta(5, 16), parts normal(0, 1).
        from_shares: whether the search starts from the shares of right answers. If not, it starts
            from d = 1, b = 0, g = .25 and parts = 0, each moved into its bounds.
    """

    name: EstimatorName
    d: Box
    b: Box
    g: Box
    part: Box
    priors: bool
    from_shares: bool


ESTIMATORS: dict[EstimatorName, Estimator] = {
    "map": Estimator(
        "map",
        (0.05, 4.0),
        (-4.0, 4.0),
        (0.01, 0.5),
        (-np.inf, np.inf),
        priors=True,
        from_shares=True,
    ),
    # Bounds of Guinet et al., appendix B.1. In their code, d starts at .5.
    "paper": Estimator(
        "paper", (0.1, 1.5), (0.01, 1.0), (0.2, 0.4), (-3.0, 3.0), priors=False, from_shares=False
    ),
}
"""`map`: the most probable parameters under the priors, the default. `paper`: the highest
likelihood within its bounds."""

_D_SD, _B_SD, _PART_SD = 0.5, 1.5, 1.0
_G_A, _G_B = 5.0, 16.0


def prior_d(d: Array) -> tuple[Array, Array]:
    """Return the log prior of discriminations, up to a constant, and its derivative."""
    log_d = np.log(d)
    return -(log_d**2) / (2 * _D_SD**2) - log_d, -(log_d / _D_SD**2 + 1) / d


def prior_g(g: Array) -> tuple[Array, Array]:
    """Return the log prior of guessing probabilities, up to a constant, and its derivative."""
    return (_G_A - 1) * np.log(g) + (_G_B - 1) * np.log1p(-g), (_G_A - 1) / g - (_G_B - 1) / (1 - g)


def prior_normal(values: Array, sd: float = _B_SD) -> tuple[Array, Array]:
    """Return the log prior of difficulties, or of parts of ability with their own standard
    deviation, up to a constant, and its derivative.
    """
    return -(values**2) / (2 * sd**2), -values / sd**2


PRIORS: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "d": prior_d,
    "b": prior_normal,
    "g": prior_g,
}
"""The priors of an item's parameters."""


def prior_curvature(d: Array, b: Array, g: Array) -> tuple[Array, Array, Array]:
    """Return the priors' information about d, b and g: minus the second derivatives of their
    logarithms.

    For d, the derivative is with respect to ln d and divided by d^2, so that it is never negative.
    """
    by_g = (_G_A - 1) / np.maximum(g, 1e-3) ** 2 + (_G_B - 1) / (1 - g) ** 2
    return 1 / (_D_SD * d) ** 2, np.full_like(b, 1 / _B_SD**2), by_g


KINDS: dict[ResponseModel, str] = {"1pl": "b", "2pl": "bd", "3pl": "bdg"}
"""The letters of the parameters of a model's items, in the order of vectors."""


def _items_of(vector: Array, kinds: int) -> Items:
    """Return the items of a vector of b, d and g; without d it is 1, and without g 0."""
    given = np.split(vector, kinds)
    usual = [given[0], np.ones(len(given[0])), np.zeros(len(given[0]))]
    found = [*given, *usual[kinds:]]
    return Items(found[1], found[0], found[2])


@dataclass(frozen=True)
class Objective:
    """The objective of a joint fit, as a function of one vector: the parts of ability, then b, d
    and g of every item.

    For a model without discrimination (d = 1) or guessing (g = 0), the vector does not contain
    these numbers.

    Args:
        signs: m examinees x n items; 1 right, -1 wrong, 0 not answered.
        weights: n weights: how often each item counts.
    """

    signs: Array
    design: Design
    model: ResponseModel
    estimator: Estimator
    weights: Array

    @classmethod
    def from_responses(
        cls, responses: Array, design: Design, model: ResponseModel, estimator: Estimator
    ) -> Objective:
        """Return the objective of answers, in which each item counts once.

        Args:
            responses: m x n; 1 right, 0 wrong, NaN not answered.
        """
        signs = np.nan_to_num(2 * np.asarray(responses, float) - 1, nan=0.0)
        return cls(signs, design, model, estimator, np.ones(signs.shape[1]))

    @property
    def kinds(self) -> str:
        """The letters of an item's parameters, in the order of the vector."""
        return KINDS[self.model]

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The lowest and the highest value of each number of the vector."""
        counts = [(self.estimator.part, self.design.matrix.shape[1])]
        counts += [(getattr(self.estimator, kind), self.signs.shape[1]) for kind in self.kinds]
        low, high = (
            np.concatenate([np.full(count, box[side]) for box, count in counts]) for side in (0, 1)
        )
        return low, high

    def split(self, vector: Array) -> tuple[Array, Items]:
        """Return the parts of ability and the items of a vector."""
        parts, rest = np.split(vector, [self.design.matrix.shape[1]])
        return parts, _items_of(rest, len(self.kinds))

    def join(self, parts: Array, items: Items) -> Array:
        """Return the vector of parts and items, moved into the bounds."""
        return np.asarray(
            np.clip(
                np.concatenate([parts, *(getattr(items, kind) for kind in self.kinds)]),
                *self.bounds,
            )
        )

    def value(self, vector: Array) -> tuple[float, Array]:
        """Return the objective and its gradient: the log-likelihood plus any log priors, up to a
        constant.

        Let s be the logistic part, p the probability of a right answer, r the answer,
        u = (r - p) / (p (1 - p)) and v = u (1 - g) s (1 - s). The derivatives of the log-likelihood
        are:
        - by d: the sum over examinees of v (theta - b);
        - by b: minus the sum over examinees of v d;
        - by g: the sum over examinees of u (1 - s);
        - by the parts: matrix' (sum over items of v d).
        Source: specification, section 8.

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
            of_parts, prior_parts = prior_normal(parts, _PART_SD)
            value += float(of_parts.sum())
            by_parts += prior_parts
            for kind in self.kinds:
                of_items, slope = PRIORS[kind](getattr(items, kind))
                value += float(of_items @ self.weights)
                by[kind] = by[kind] + slope
        return value, np.concatenate([by_parts, *(by[kind] * self.weights for kind in self.kinds)])


def log_likelihood(responses: Array, chances: Array) -> float:
    """Return the sum over answered cells of r ln p + (1 - r) ln(1 - p), with p kept at least
    `LEAST` from 0 and 1.

    Args:
        responses: m x n; 1 right, 0 wrong, NaN not answered.
        chances: m x n probabilities p of a right answer.
    """
    given = np.where(responses == 1, chances, 1 - chances)
    return float(np.log(np.clip(given, LEAST, 1 - LEAST))[~np.isnan(responses)].sum())


FEWEST = 10
"""With fewer items than this, abilities are unreliable; a remark says so."""
FEWEST_STUDENTS = 30
"""With fewer examinees than this, discrimination is unreliable; a remark says so."""

STARTS = 3
MOST_STEPS = 2_000

# A parameter this near to a bound counts as at the bound.
_AT_BOUND = 1e-6
# The search ends at this relative change of the value; scipy counts it in units of the machine's
# precision.
_PRECISION = 1e-9


@dataclass(frozen=True)
class Fit:
    """Abilities and items that were fitted together.

    The answers do not determine the unit of ability. `map` uses the unit in which the geometric
    mean of d is 1. The unit of `paper` results from its bounds and its start.

    Args:
        parts: one number per column of the design, as fitted; unique up to constants that move
            between factors.
        theta: abilities of the m examinees.
        log_likelihood: log-likelihood of the answers, without priors.
        objective: the maximised value, including any priors, up to a constant.
        parameters: number of free parameters: those of the items, plus the rank of the design.
        at_bound: by "d", "b", "g" and "part", whether each parameter is at a bound of the
            estimator.
        converged: whether the search converged.
    """

    model: ResponseModel
    estimator: EstimatorName
    design: Design
    parts: Array
    theta: Array
    items: Items
    log_likelihood: float
    objective: float
    parameters: int
    at_bound: dict[str, Flags]
    converged: bool

    @property
    def aic(self) -> float:
        """Akaike's criterion: twice the number of parameters minus twice the log-likelihood."""
        return 2 * self.parameters - 2 * self.log_likelihood

    @property
    def chances(self) -> Array:
        """Probability of a right answer, m examinees x n items."""
        return answer_probability(self.theta, self.items)


def check_responses(responses: Array) -> Array:
    """Return responses as an array of examinees x items.

    Raises:
        InputError: the responses contain no answers.
    """
    table = np.asarray(responses, float)
    if np.isnan(table).all():
        raise InputError("no-answers", "No answers to fit a model to.", "Run the exam first.")
    return table


def fit_responses(
    responses: Array,
    design: Design,
    model: ResponseModel = "3pl",
    estimator: EstimatorName = "map",
    starts: int = STARTS,
    seed: int = 0,
    begin: Fit | None = None,
) -> Fit:
    """Fit abilities and items jointly: the best of several searches by L-BFGS-B.

    Source: Guinet et al., ICML 2024, section 3.4 and appendix B.1; priors by Baker and Kim, Item
    Response Theory, 2004, chapter 7.

    Args:
        responses: m examinees x n items; 1 right, 0 wrong, NaN not answered, which does not count.
        design: design of the m examinees.
        model: the model, which determines the parameters of an item.
        estimator: `map`, or `paper` for the paper's bounds without priors.
        starts: number of searches. The first begins at the estimator's start, the other searches
            add noise to it.
        seed: seed of the noise.
        begin: a fit with the same items and parts, as the only start; None for the usual starts.

    Raises:
        InputError: the responses contain no answer.
    """
    table = check_responses(responses)
    objective = Objective.from_responses(table, design, model, ESTIMATORS[estimator])
    if begin is not None:
        beginnings = [objective.join(begin.parts, begin.items)]
    else:
        beginnings = _starting_points(objective, table, starts, seed)
    found = max(
        (maximise_from(objective, beginning) for beginning in beginnings), key=lambda one: one[1]
    )
    return _make_fit(objective, table, estimator, *found)


def maximise_from(
    objective: Objective, beginning: Array, precision: float = _PRECISION
) -> tuple[Array, float, bool]:
    """Search once from one starting point.

    Returns:
        (vector, value of the objective, whether the search converged).
    """
    return maximise_value(objective.value, beginning, objective.bounds, precision, 20)


def maximise_value(
    value: Callable[[Array], tuple[float, Array]],
    beginning: Array,
    bounds: tuple[Array, Array],
    precision: float,
    remembered: int = 10,
) -> tuple[Array, float, bool]:
    """Search for the greatest value of a function by L-BFGS-B.

    Args:
        value: returns the value at a vector, and the gradient.
        bounds: the lowest and the highest value of each number of the vector.
        remembered: number of steps from which the curvature is estimated.

    Returns:
        (vector, greatest value, whether the search converged).
    """
    from scipy.optimize import Bounds, minimize

    def negated_value(vector: Array) -> tuple[float, Array]:
        up, gradient = value(vector)
        return -up, -gradient

    result: Any = minimize(
        negated_value,
        beginning,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(*bounds),
        options={
            "maxiter": MOST_STEPS,
            "maxfun": 2 * MOST_STEPS,
            "ftol": precision,
            "gtol": 1e-5,
            "maxcor": remembered,
        },
    )
    return np.asarray(result.x, float), -float(result.fun), bool(result.success)


def in_unit(objective: Objective, vector: Array) -> tuple[Array, Items]:
    """Return the parts and items of a vector, in the unit of the estimator: see `Fit`.

    If only the priors determined the unit, it would depend on the number and the spread of the
    items. In simulated exams, abilities were then 12 % too far apart, and intervals missed the true
    values.
    """
    parts, items = objective.split(vector)
    if not objective.estimator.priors:
        return parts, items
    unit = float(np.exp(np.average(np.log(items.d), weights=objective.weights)))
    return parts * unit, Items(items.d / unit, items.b * unit, items.g)


def _starting_points(objective: Objective, responses: Array, starts: int, seed: int) -> list[Array]:
    n = responses.shape[1]
    items = Items(np.ones(n), np.zeros(n), np.full(n, 0.25))
    parts = np.zeros(objective.design.matrix.shape[1])
    if objective.estimator.from_shares:
        ability, ease = (_share_logit(responses, axis) for axis in (1, 0))
        parts = np.linalg.lstsq(objective.design.matrix, ability - ability.mean(), rcond=None)[0]
        items = replace(items, b=-ease)
    rng = np.random.default_rng(seed)
    first = objective.join(parts, items)
    noisy = [
        objective.join(
            parts + rng.normal(0, 0.5, len(parts)),
            Items(
                items.d * np.exp(rng.normal(0, 0.3, n)), items.b + rng.normal(0, 0.5, n), items.g
            ),
        )
        for _ in range(starts - 1)
    ]
    return [first, *noisy]


def _share_logit(responses: Array, axis: int) -> Array:
    """Return ln(right / wrong) along an axis, with half an answer added to both counts."""
    right = np.nansum(responses, axis=axis) + 0.5
    wrong = np.nansum(1 - responses, axis=axis) + 0.5
    return np.asarray(np.log(right / wrong))


def _make_fit(
    objective: Objective,
    responses: Array,
    estimator: EstimatorName,
    vector: Array,
    value: float,
    converged: bool,
) -> Fit:
    parts, items = in_unit(objective, vector)
    theta = objective.design.matrix @ parts
    none = np.zeros(len(items), bool)
    low, high = objective.bounds
    held = (vector - low < _AT_BOUND) | (high - vector < _AT_BOUND)
    at_part, *at_items = np.split(held, len(parts) + len(items) * np.arange(len(objective.kinds)))
    at_bound = {"d": none, "g": none, "part": at_part} | dict(
        zip(objective.kinds, at_items, strict=True)
    )
    return Fit(
        objective.model,
        estimator,
        objective.design,
        parts,
        theta,
        items,
        log_likelihood(responses, answer_probability(theta, items)),
        value,
        len(objective.kinds) * len(items) + objective.design.rank,
        at_bound,
        converged,
    )


# Quadrature points of the standard normal; more points change results only from the sixth digit on.
_NODES: Array = np.linspace(-6.0, 6.0, 61)
_LOG_DENSITY: Array = -(_NODES**2) / 2
_LOG_WEIGHTS: Array = _LOG_DENSITY - np.log(np.exp(_LOG_DENSITY).sum())

_D, _B, _G = (0.05, 6.0), (-6.0, 6.0), (0.001, 0.5)
_LEAST_STEP, _MOST_STEP = 0.01, 8.0
_MARGINAL_PRECISION = 1e-12


@dataclass(frozen=True)
class GradedItems:
    """The parameters of n items with ordered levels 0 to K.

    Args:
        d: n discriminations.
        b: n x K difficulties: the ability at which level k or more has probability 1/2, rising with
            k.
    """

    d: Array
    b: Array


Fitted = TypeVar("Fitted")


@dataclass(frozen=True)
class MarginalFit(Generic[Fitted]):
    """Items fitted to many examinees, whose abilities are standard normal.

    Args:
        log_likelihood: marginal log-likelihood of the answers (abilities integrated out), without
            priors.
        theta: posterior means of the m abilities.
        theta_error: posterior standard deviations of the m abilities.
        parameters: number of free parameters of the items.
    """

    items: Fitted
    log_likelihood: float
    theta: Array
    theta_error: Array
    parameters: int
    converged: bool


def fit_marginal(responses: Array, model: ResponseModel = "2pl") -> MarginalFit[Items]:
    """Fit items by marginal likelihood, with standard normal abilities.

    Source: Bock and Aitkin, Marginal Maximum Likelihood Estimation of Item Parameters,
    Psychometrika 46, 1981. Here the likelihood is computed on 61 points from -6 to 6 and maximised
    by its gradient.

    Args:
        responses: m x n; 1 right, 0 wrong, NaN not answered.
        model: model of the items. 3pl uses the priors of `map`, because the answers do not
            determine guessing.

    Raises:
        InputError: the responses contain no answer.
    """
    table = check_responses(responses)
    kinds = KINDS[model]
    patterns, counts, place = _response_patterns(table)
    right, wrong = (patterns == 1).astype(float), (patterns == 0).astype(float)
    n = table.shape[1]

    def node_chances(items: Items) -> tuple[Array, Array]:
        s = sigmoid(items.d * (_NODES[:, None] - items.b))
        return s, np.clip(items.g + (1 - items.g) * s, LEAST, 1 - LEAST)

    def log_likelihoods(items: Items) -> Array:
        _, p = node_chances(items)
        return np.asarray(right @ np.log(p).T + wrong @ np.log1p(-p).T)

    def penalised_likelihood(vector: Array) -> tuple[float, Array]:
        items = _items_of(vector, len(kinds))
        s, p = node_chances(items)
        total, weights = _integrate_ability(log_likelihoods(items), counts)
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
    low, high = (
        np.concatenate([np.full(n, boxes[kind][side]) for kind in kinds]) for side in (0, 1)
    )
    beginning = np.concatenate([begin[kind] for kind in kinds])
    return _fit_items(
        penalised_likelihood,
        beginning,
        (low, high),
        lambda vector: _items_of(vector, len(kinds)),
        log_likelihoods,
        counts,
        place,
    )


def fit_graded(responses: Array, levels: int = 5) -> MarginalFit[GradedItems]:
    """Fit the graded response model: an item has one discrimination, and a difficulty for each
    level from 1.

    P(rating >= k) = 1 / (1 + exp(-d (theta - b_k))). Source: Samejima, Estimation of Latent Ability
    Using a Response Pattern of Graded Scores, Psychometrika Monograph 17, 1969. Abilities are
    standard normal and integrated out. d and b have the priors of `map`, which also determine the
    difficulty of levels that never occur.

    Args:
        responses: m x n; whole numbers from 0 to `levels`, NaN if missing.
        levels: the highest level K.
    """
    table = np.asarray(responses, float)
    patterns, counts, place = _response_patterns(table)
    n = table.shape[1]
    # 1 if the response of a pattern to an item is the level: levels + 1 tables of patterns x items.
    is_level = [(patterns == level).astype(float) for level in range(levels + 1)]

    def split_vector(vector: Array) -> GradedItems:
        d, b, *steps = np.split(vector, n * np.arange(1, levels + 1))
        return GradedItems(d, np.cumsum(np.stack([b, *steps], axis=1), axis=1))

    def log_likelihoods(items: GradedItems) -> Array:
        chances = np.maximum(graded_chances(_NODES, items), LEAST)
        return np.asarray(
            np.add.reduce([table @ np.log(chances[..., k]).T for k, table in enumerate(is_level)])
        )

    def penalised_likelihood(vector: Array) -> tuple[float, Array]:
        items = split_vector(vector)
        total, weights = _integrate_ability(log_likelihoods(items), counts)
        above = _chances_above(_NODES, items)
        chances = np.maximum(above[..., :-1] - above[..., 1:], LEAST)
        expected = np.stack([weights.T @ table for table in is_level], axis=2)
        u = expected / chances
        # Derivative by the chance of level k or more, for k = 1 to K. That chance raises level k
        # and lowers level k - 1.
        by_above = (u[..., 1:] - u[..., :-1]) * (above * (1 - above))[..., 1:-1]
        away = _NODES[:, None, None] - items.b
        by_d = (by_above * away).sum(axis=(0, 2))
        by_b = -items.d[:, None] * by_above.sum(axis=0)
        of_d, slope_d = prior_d(items.d)
        of_b, slope_b = prior_normal(items.b)
        total += float(of_d.sum() + of_b.sum())
        by_d, by_b = by_d + slope_d, by_b + slope_b
        # A larger step raises its own difficulty and all difficulties above it.
        by_steps = np.cumsum(by_b[:, ::-1], axis=1)[:, ::-1]
        return total, np.concatenate([by_d, *by_steps.T])

    low = np.concatenate(
        [np.full(n, _D[0]), np.full(n, _B[0]), np.full(n * (levels - 1), _LEAST_STEP)]
    )
    high = np.concatenate(
        [np.full(n, _D[1]), np.full(n, _B[1]), np.full(n * (levels - 1), _MOST_STEP)]
    )
    beginning = np.concatenate([np.ones(n), *_first_steps(is_level, counts)])
    return _fit_items(
        penalised_likelihood, beginning, (low, high), split_vector, log_likelihoods, counts, place
    )


def _fit_items(
    value: Callable[[Array], tuple[float, Array]],
    beginning: Array,
    box: tuple[Array, Array],
    split: Callable[[Array], Fitted],
    log_likelihoods: Callable[[Fitted], Array],
    counts: Array,
    place: Indices,
) -> MarginalFit[Fitted]:
    """Return the items that maximise a value within a box, and the abilities under them.

    Args:
        value: the value of a vector of parameters, with its gradient.
        split: makes items of a vector.
        log_likelihoods: of patterns at the points of ability, under items.
        counts, place: see `_response_patterns`.
    """
    vector, _, converged = maximise_value(value, np.clip(beginning, *box), box, _MARGINAL_PRECISION)
    items = split(vector)
    total, mean, error = _posterior_abilities(log_likelihoods(items), counts)
    return MarginalFit(items, total, mean[place], error[place], len(vector), converged)


def graded_chances(theta: Array, items: GradedItems) -> Array:
    """Return the probability of each level under the graded response model: m x n x (K + 1)."""
    above = _chances_above(np.asarray(theta, float), items)
    return above[..., :-1] - above[..., 1:]


def graded_information(theta: Array, items: GradedItems) -> Array:
    """Return the information of graded items: the sum over levels of (dP/dtheta)^2 / P, m x n.
    Source: Samejima, 1969."""
    above = _chances_above(np.asarray(theta, float), items)
    slopes = items.d[:, None] * above * (1 - above)
    chances = np.maximum(above[..., :-1] - above[..., 1:], LEAST)
    return np.asarray(((slopes[..., :-1] - slopes[..., 1:]) ** 2 / chances).sum(axis=-1))


def _chances_above(theta: Array, items: GradedItems) -> Array:
    """Return the probability of level k or more, for k = 0 (always 1) to K + 1 (always 0): m x n x
    (K + 2).
    """
    inner = sigmoid(items.d[:, None] * (theta[:, None, None] - items.b))
    ends = np.ones((*inner.shape[:2], 1))
    return np.concatenate([ends, inner, 0 * ends], axis=2)


def _first_steps(level_tables: list[Array], counts: Array) -> list[Array]:
    """Return initial difficulties: the first from the share above level 0, then steps from one
    level to the next.
    """
    answered = np.add.reduce(level_tables).T @ counts
    reached = [
        (np.add.reduce(level_tables[k:]).T @ counts + 0.5) / (answered + 1)
        for k in range(1, len(level_tables))
    ]
    b = [-np.log(share / (1 - share)) for share in reached]
    return [b[0], *(np.maximum(after - before, 0.1) for before, after in pairwise(b))]


def _response_patterns(table: Array) -> tuple[Array, Array, Indices]:
    """Return the patterns (distinct rows), how often each occurs, and the index of each row's
    pattern.
    """
    rows, place, counts = np.unique(
        np.where(np.isnan(table), -1, table), axis=0, return_inverse=True, return_counts=True
    )
    return rows, counts.astype(float), place.reshape(-1)


def _integrate_ability(logs: Array, counts: Array) -> tuple[float, Array]:
    """Return the marginal log-likelihood, and the expected number of examinees by pattern and point
    of ability.
    """
    joint = logs + _LOG_WEIGHTS
    top = joint.max(axis=1, keepdims=True)
    weights = np.exp(joint - top)
    sums = weights.sum(axis=1, keepdims=True)
    total = float((np.log(sums) + top)[:, 0] @ counts)
    return total, weights * (counts[:, None] / sums)


def _posterior_abilities(logs: Array, counts: Array) -> tuple[float, Array, Array]:
    """Return the marginal log-likelihood, and the posterior mean and standard deviation of ability
    by pattern.
    """
    _, weights = _integrate_ability(logs, np.ones(len(logs)))
    mean = weights @ _NODES
    error: Array = np.sqrt(np.maximum(weights @ _NODES**2 - mean**2, 0.0))
    return _integrate_ability(logs, counts)[0], mean, error
