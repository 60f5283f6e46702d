"""The complete analysis of the answers to an exam: abilities by component, items, and fit
statistics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...choices import ITEM_DRAWS, EstimatorName, ResponseModel
from ...errors import InputError
from ...text import first_few, how_many
from .._means_and_tests import wilson_interval
from ._fit_statistics import (
    Draws,
    FitStatistics,
    ItemWorth,
    bias_corrected_interval,
    bootstrap_items,
    fit_statistics,
    item_errors,
    item_worth,
    mean_of,
)
from ._response_fits import FEWEST, FEWEST_STUDENTS, Fit, check_responses, fit_responses
from ._response_models import Array, Design, factor_design, flat_design

# A smaller range of draws shows only the tolerance of the search. With 40,000 items, the range of
# draws is ten times this number.
_SAME = 1e-3


@dataclass(frozen=True)
class IntervalEstimate:
    """A number with the bounds of its interval; both are None without a bootstrap, or if all its
    draws agree.
    """

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Component:
    """One level of a factor.

    Args:
        students: number of examinees with this level.
        accuracy: share of right answers among all answers of these examinees; None without answers.
        ability: contribution of the level to ability, relative to the mean over the factor's
            levels.
        difference: contribution minus the contribution of the factor's first level; None for the
            first level.
        at_bound: whether the contribution is at a bound of the estimator.
    """

    factor: str
    level: str
    students: int
    accuracy: float | None
    ability: IntervalEstimate
    difference: IntervalEstimate | None
    at_bound: bool


@dataclass(frozen=True)
class StudentAbility:
    """One examinee.

    Args:
        answered: number of answers.
        accuracy: share of right answers; None without answers.
        accuracy_error: its standard error, sqrt(p (1 - p) / n).
        accuracy_interval: its 95 % interval by Wilson, (low, high).
        ability: relative to the mean of all examinees.
    """

    student: str
    answered: int
    accuracy: float | None
    accuracy_error: float | None
    accuracy_interval: tuple[float, float] | None
    ability: IntervalEstimate


def level_estimates(
    responses: Array, fitted: Fit, draws: Draws | None = None
) -> tuple[list[Component], float]:
    """Return the levels of all factors, and the common level: the sum of the means that centring
    removes.

    The contributions of a factor's levels are centred on 0.

    Args:
        responses: m x n, the answers that `fitted` describes.
        draws: draws of the bootstrap, for intervals; None for no intervals.
    """
    centred, level = fitted.design.centred(fitted.parts)
    of_draws = None if draws is None else fitted.design.centred(draws.parts)[0]
    rows = []
    for factor, at in zip(fitted.design.factors, fitted.design.columns.values(), strict=True):
        differences = centred[at] - centred[at.start]
        drawn = None if of_draws is None else of_draws[:, at] - of_draws[:, [at.start]]
        abilities = _with_intervals(centred[at], None if of_draws is None else of_draws[:, at])
        beside = _with_intervals(differences, drawn)
        for i, name in enumerate(factor.levels):
            having = fitted.design.matrix[:, at.start + i] == 1
            answers = responses[having][~np.isnan(responses[having])]
            rows.append(
                Component(
                    factor.name,
                    name,
                    int(having.sum()),
                    float(answers.mean()) if answers.size else None,
                    abilities[i],
                    beside[i] if i else None,
                    bool(fitted.at_bound["part"][at.start + i]),
                )
            )
    return rows, float(level)


def student_abilities(
    responses: Array, fitted: Fit, students: Sequence[str], draws: Draws | None = None
) -> list[StudentAbility]:
    """Return each examinee's ability, relative to the mean of all examinees, and accuracy.

    Args:
        responses: m x n, the answers that `fitted` describes.
        students: m names.
        draws: draws of the bootstrap, for intervals; None for no intervals.
    """
    drawn = None if draws is None else draws.theta - draws.theta.mean(axis=1, keepdims=True)
    abilities = _with_intervals(fitted.theta - fitted.theta.mean(), drawn)
    answered = (~np.isnan(responses)).sum(axis=1)
    rows = []
    for student, n, share, ability in zip(
        students, answered.tolist(), mean_of(responses, 1).tolist(), abilities, strict=True
    ):
        error = float(np.sqrt(share * (1 - share) / n)) if n else None
        counted = wilson_interval(round(share * n) if n else 0, n)
        rows.append(StudentAbility(student, n, share if n else None, error, counted, ability))
    return rows


def _with_intervals(values: Array, draws: Array | None) -> list[IntervalEstimate]:
    if draws is None:
        return [IntervalEstimate(value) for value in values.tolist()]
    low, high = bias_corrected_interval(values, draws)
    agree = np.ptp(draws, axis=0) < _SAME
    return [
        IntervalEstimate(value) if same else IntervalEstimate(value, *bounds)
        for value, same, *bounds in zip(
            values.tolist(), agree.tolist(), low.tolist(), high.tolist(), strict=True
        )
    ]


@dataclass(frozen=True)
class Analysis:
    """The results of item response for the answers of examinees to items.

    Args:
        components: empty if every examinee has an ability of its own.
        level: the sum of the means of all factors.
        errors: standard errors of the items' parameters, as if abilities were known.
        remarks: limits on the reliability of the results.
    """

    fit: Fit
    statistics: FitStatistics
    students: list[StudentAbility]
    components: list[Component]
    level: float
    items: list[ItemWorth]
    errors: list[dict[str, float | None]]
    remarks: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the results for JSON."""
        return {
            "model": self.fit.model,
            "estimator": self.fit.estimator,
            "converged": self.fit.converged,
            "parameters": self.fit.parameters,
            "statistics": asdict(self.statistics),
            "at_bound": {kind: int(flags.sum()) for kind, flags in self.fit.at_bound.items()},
            "level": self.level,
            "components": [asdict(row) for row in self.components],
            "students": [asdict(row) for row in self.students],
            "items": [
                asdict(row) | {f"{kind}_error": error for kind, error in errors.items()}
                for row, errors in zip(self.items, self.errors, strict=True)
            ],
            "remarks": self.remarks,
        }


def design_of(students: Sequence[str], factors: Mapping[str, Mapping[str, str]] | None) -> Design:
    """Return the design of examinees: by their factors, or flat without factors.

    Args:
        students: m names.
        factors: level by factor by examinee; None for a flat design.

    Raises:
        InputError: an examinee has no level of a factor, or the components cannot be separated.
    """
    if factors is None:
        return flat_design(students)
    if without := [student for student in students if student not in factors]:
        raise InputError(
            "students-without-factors",
            f"{how_many(len(without), 'examinees')} without factors, first '{without[0]}'.",
            "Add a line for each, or remove their answers.",
        )
    names = list(dict.fromkeys(name for student in students for name in factors[student]))
    by_factor = {name: [factors[student].get(name, "") for student in students] for name in names}
    return factor_design(by_factor)


def analyse_responses(
    students: Sequence[str],
    items: Sequence[str],
    responses: Array,
    factors: Mapping[str, Mapping[str, str]] | None = None,
    model: ResponseModel = "3pl",
    estimator: EstimatorName = "map",
    bootstrap: int = ITEM_DRAWS,
    held_out: bool = True,
    seed: int = 0,
) -> Analysis:
    """Fit a model to answers and return the complete analysis.

    Args:
        students: m names.
        items: n ids.
        responses: m x n; 1 right, 0 wrong, NaN not answered.
        factors: level by factor by examinee; None gives each examinee an ability of its own.
        bootstrap: number of resamples for the intervals of abilities; no intervals with fewer than
            2.
        held_out: whether to hide a tenth of the answers and predict them from the others.

    Raises:
        InputError: no answers, or the components cannot be separated.
    """
    table = check_responses(responses)
    fitted = fit_responses(table, design_of(students, factors), model, estimator, seed=seed)
    draws = bootstrap_items(table, fitted, bootstrap, seed) if bootstrap > 1 else None
    abilities = student_abilities(table, fitted, students, draws)
    by_component, level = ([], 0.0) if fitted.design.flat else level_estimates(table, fitted, draws)
    errors = item_errors(table, fitted)
    equal = [row.student for row in abilities if draws is not None and row.ability.low is None]
    without = (
        [f"No interval for {first_few(equal)}: the fit is the same for every sample of items."]
        if equal
        else []
    )
    return Analysis(
        fitted,
        fit_statistics(table, fitted, held_out, seed),
        abilities,
        by_component,
        level,
        item_worth(table, fitted, items),
        [
            {
                kind: None if value != value else value
                for kind, value in zip("dbg", values, strict=True)
            }
            for values in zip(errors.d.tolist(), errors.b.tolist(), errors.g.tolist(), strict=True)
        ],
        [*fit_remarks(fitted), *without],
    )


def fit_remarks(fitted: Fit) -> list[str]:
    """Return limits on the reliability of a fit: too few examinees or items, no convergence, values
    at bounds.
    """
    m, n = fitted.chances.shape
    remarks = [
        (
            m < FEWEST_STUDENTS,
            f"Discrimination (d) is unreliable with {how_many(m, 'examinees')}. Use"
            f" {FEWEST_STUDENTS} or more.",
        ),
        (
            n < FEWEST,
            f"Abilities are unreliable with {how_many(n, 'items')}. Use {FEWEST} or more.",
        ),
        (
            not fitted.converged,
            "The fit did not converge, so the numbers are approximate.",
        ),
    ]
    named = {"part": "ability component"}
    remarks += [
        (
            bool(flags.any()),
            f"{flags.mean():.0%} of the {named.get(kind, kind)} values lie at a bound of the"
            f" estimator {fitted.estimator}.",
        )
        for kind, flags in fitted.at_bound.items()
    ]
    return [sentence for applies, sentence in remarks if applies]
