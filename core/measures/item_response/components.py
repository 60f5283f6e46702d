"""The contribution of each component of the examinees to ability, with intervals, as far as it is identified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..means import wilson
from .joint import Fit
from .model import Array
from .statistics import mean_of
from .uncertainty import Draws, interval

# A smaller range of draws is the tolerance of the search. Draws of 40,000 items have ten times this range.
_SAME = 1e-3


@dataclass(frozen=True)
class Bounded:
    """A number with the bounds of its interval; both are None without a bootstrap, or if all its draws agree."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Component:
    """One level of a factor.

    Args:
        students: number of examinees with it.
        accuracy: share of right answers among all answers of these examinees; None without answers.
        ability: its contribution, relative to the mean of its factor's levels.
        difference: its contribution minus that of the first level; None for that level.
        at_bound: whether it lies at a bound of the estimator.
    """

    factor: str
    level: str
    students: int
    accuracy: float | None
    ability: Bounded
    difference: Bounded | None
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
    ability: Bounded


def components(responses: Array, found: Fit, draws: Draws | None = None) -> tuple[list[Component], float]:
    """Return each factor's levels centred on 0, with differences from the first, and the common level of all parts.

    Args:
        responses: m x n, those that `found` was fitted to.
        draws: of the bootstrap, for intervals.
    """
    table = np.asarray(responses, float)
    centred, level = found.design.centred(found.parts)
    of_draws = None if draws is None else found.design.centred(draws.parts)[0]
    rows = []
    for factor, at in zip(found.design.factors, found.design.columns.values(), strict=True):
        differences = centred[at] - centred[at.start]
        drawn = None if of_draws is None else of_draws[:, at] - of_draws[:, [at.start]]
        abilities = _bounded(centred[at], None if of_draws is None else of_draws[:, at])
        beside = _bounded(differences, drawn)
        for i, name in enumerate(factor.levels):
            having = found.design.matrix[:, at.start + i] == 1
            answers = table[having][~np.isnan(table[having])]
            rows.append(
                Component(
                    factor.name,
                    name,
                    int(having.sum()),
                    float(answers.mean()) if answers.size else None,
                    abilities[i],
                    beside[i] if i else None,
                    bool(found.at_bound["part"][at.start + i]),
                )
            )
    return rows, float(level)


def student_abilities(
    responses: Array, found: Fit, students: Sequence[str], draws: Draws | None = None
) -> list[StudentAbility]:
    """Return each examinee's ability, relative to the mean of all, and plain accuracy.

    Args:
        responses: m x n, those that `found` was fitted to.
        students: m names.
        draws: of the bootstrap, for intervals.
    """
    table = np.asarray(responses, float)
    drawn = None if draws is None else draws.theta - draws.theta.mean(axis=1, keepdims=True)
    abilities = _bounded(found.theta - found.theta.mean(), drawn)
    answered = (~np.isnan(table)).sum(axis=1)
    rows = []
    for student, n, share, ability in zip(
        students, answered.tolist(), mean_of(table, 1).tolist(), abilities, strict=True
    ):
        error = float(np.sqrt(share * (1 - share) / n)) if n else None
        counted = wilson(round(share * n) if n else 0, n)
        rows.append(StudentAbility(student, n, share if n else None, error, counted, ability))
    return rows


def _bounded(values: Array, draws: Array | None) -> list[Bounded]:
    if draws is None:
        return [Bounded(value) for value in values.tolist()]
    low, high = interval(values, draws)
    agree = np.ptp(draws, axis=0) < _SAME
    return [
        Bounded(value) if same else Bounded(value, *bounds)
        for value, same, *bounds in zip(values.tolist(), agree.tolist(), low.tolist(), high.tolist(), strict=True)
    ]
