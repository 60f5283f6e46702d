"""Joint fits of abilities and items, by the highest likelihood or the most probable parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import InputError
from .design import Design
from .estimators import ESTIMATORS, EstimatorName
from .likelihood import Objective, log_likelihood
from .model import Array, Flags, Items, Model, probability

FEWEST = 10
"""With fewer items than this, abilities are unreliable; a remark says so."""
FEWEST_STUDENTS = 30
"""With fewer examinees than this, discrimination is unreliable; a remark says so."""

STARTS = 3
MOST_STEPS = 2_000

# A parameter this near to a bound counts as at the bound.
_AT_BOUND = 1e-6
# The search ends at this relative change of the value; scipy counts it in units of the machine's precision.
_PRECISION = 1e-9


@dataclass(frozen=True)
class Fit:
    """Abilities and items that were fitted together.

    The answers do not determine the unit of ability. `map` uses the unit in which the geometric mean of d is 1;
    `paper` uses the one that its bounds and its start lead to.

    Args:
        parts: one number per column of the design, as fitted; determined up to constants between factors.
        theta: m abilities, of all examinees.
        log_likelihood: of the answers alone, without priors.
        objective: the maximised value, with the priors, up to a constant.
        parameters: number of free numbers in the model: those of the items and the rank of the design.
        at_bound: by "d", "b", "g" and "part", which parameters ended at a bound of the estimator.
        converged: whether the search converged.
    """

    model: Model
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
        """m x n chances of a right answer."""
        return probability(self.theta, self.items)


def checked(responses: Array, students: int) -> Array:
    """Return responses as an array.

    Raises:
        InputError: they are not a table of 0, 1 and NaN with a row for each examinee, or contain no answer.
    """
    table = np.asarray(responses, float)
    if table.ndim != 2 or len(table) != students:
        raise InputError(
            "invalid-answer", "The answers do not have one row per examinee.", "Give an array of examinees x items."
        )
    known = table[~np.isnan(table)]
    if not known.size:
        raise InputError("no-answers", "No answers to fit a model to.", "Run the exam first.")
    if not np.isin(known, (0.0, 1.0)).all():
        raise InputError(
            "invalid-answer",
            "The answers include a value other than 0 (wrong) and 1 (right).",
            "Leave cells without an answer empty.",
        )
    return table


def fit(
    responses: Array,
    design: Design,
    model: Model = "3pl",
    estimator: EstimatorName = "map",
    starts: int = STARTS,
    seed: int = 0,
    begin: Fit | None = None,
) -> Fit:
    """Fit abilities and items jointly: the best of several searches by L-BFGS-B.

    Source: Guinet et al., ICML 2024, section 3.4 and appendix B.1; priors by Baker and Kim, Item Response Theory,
    2004, chapter 7.

    Args:
        responses: m examinees x n items; 1 right, 0 wrong, NaN not answered, which does not count.
        design: of the m examinees.
        model: which parameters an item has.
        estimator: `map`, or the paper's bounds without priors.
        starts: number of searches; the first starts at the estimator's own start, the others add noise to it.
        seed: of the noise.
        begin: start only from this fit, which has the same items and parts.

    Raises:
        InputError: the responses are not such a table, or contain no answer.
    """
    table = checked(responses, len(design.matrix))
    objective = Objective.of(table, design, model, ESTIMATORS[estimator])
    if begin is not None:
        beginnings = [objective.join(begin.parts, begin.items)]
    else:
        beginnings = _beginnings(objective, table, starts, seed)
    found = max((maximise(objective, beginning) for beginning in beginnings), key=lambda one: one[1])
    return _fit(objective, table, estimator, *found)


def maximise(objective: Objective, beginning: Array, precision: float = _PRECISION) -> tuple[Array, float, bool]:
    """Search once from one starting point.

    Returns:
        (vector, value of the objective, whether the search converged).
    """
    return climb(objective.value, beginning, objective.bounds, precision, 20)


def climb(
    value: Callable[[Array], tuple[float, Array]],
    beginning: Array,
    bounds: tuple[Array, Array],
    precision: float,
    remembered: int = 10,
) -> tuple[Array, float, bool]:
    """Search for the greatest value of a function by L-BFGS-B.

    Args:
        value: returns the value at a vector, and the gradient.
        bounds: the lowest and the highest vector.
        remembered: steps from which the curvature is estimated.

    Returns:
        As `maximise`.
    """
    from scipy.optimize import Bounds, minimize

    def downhill(vector: Array) -> tuple[float, Array]:
        up, gradient = value(vector)
        return -up, -gradient

    done: Any = minimize(
        downhill,
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
    return np.asarray(done.x, float), -float(done.fun), bool(done.success)


def in_unit(objective: Objective, vector: Array) -> tuple[Array, Items]:
    """Return the parts and items of a vector, in the unit of the estimator: see `Fit`.

    If only the priors set the unit, it depends on the number and spread of the items: in simulated exams, abilities
    were 12 % too far apart, and intervals missed the true values.
    """
    parts, items = objective.split(vector)
    if not objective.estimator.priors:
        return parts, items
    unit = float(np.exp(np.average(np.log(items.d), weights=objective.weights)))
    return parts * unit, Items(items.d / unit, items.b * unit, items.g)


def _beginnings(objective: Objective, responses: Array, starts: int, seed: int) -> list[Array]:
    n = responses.shape[1]
    items = Items(np.ones(n), np.zeros(n), np.full(n, 0.25))
    parts = np.zeros(objective.design.matrix.shape[1])
    if objective.estimator.from_shares:
        ability, ease = (_logit(responses, axis) for axis in (1, 0))
        parts = np.linalg.lstsq(objective.design.matrix, ability - ability.mean(), rcond=None)[0]
        items = replace(items, b=-ease)
    rng = np.random.default_rng(seed)
    first = objective.join(parts, items)
    noisy = [
        objective.join(
            parts + rng.normal(0, 0.5, len(parts)),
            Items(items.d * np.exp(rng.normal(0, 0.3, n)), items.b + rng.normal(0, 0.5, n), items.g),
        )
        for _ in range(starts - 1)
    ]
    return [first, *noisy]


def _logit(responses: Array, axis: int) -> Array:
    """Return ln(right / wrong) along an axis, with half an answer added to each side."""
    right = np.nansum(responses, axis=axis) + 0.5
    wrong = np.nansum(1 - responses, axis=axis) + 0.5
    found: Array = np.log(right / wrong)
    return found


def _fit(
    objective: Objective, responses: Array, estimator: EstimatorName, vector: Array, value: float, converged: bool
) -> Fit:
    parts, items = in_unit(objective, vector)
    theta = objective.design.matrix @ parts
    none = np.zeros(len(items), bool)
    low, high = objective.bounds
    held = (vector - low < _AT_BOUND) | (high - vector < _AT_BOUND)
    at_part, *at_items = np.split(held, len(parts) + len(items) * np.arange(len(objective.kinds)))
    at_bound = {"d": none, "g": none, "part": at_part} | dict(zip(objective.kinds, at_items, strict=True))
    return Fit(
        objective.model,
        estimator,
        objective.design,
        parts,
        theta,
        items,
        log_likelihood(responses, probability(theta, items)),
        value,
        len(objective.kinds) * len(items) + objective.design.rank,
        at_bound,
        converged,
    )
