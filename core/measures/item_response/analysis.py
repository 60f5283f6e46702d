"""The complete analysis of an exam's answers: abilities by component, items, and fit statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...errors import InputError
from ...text import first_few, how_many
from .components import Component, StudentAbility, components, student_abilities
from .design import Design, factor_design, flat_design
from .estimators import EstimatorName
from .joint import FEWEST, FEWEST_STUDENTS, Fit, checked, fit
from .model import Array, Model
from .statistics import FitStatistics, fit_statistics
from .uncertainty import REPEATS, Draws, bootstrap_items, item_errors
from .worth import ItemWorth, worth


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


def analyse(
    students: Sequence[str],
    items: Sequence[str],
    responses: Array,
    factors: Mapping[str, Mapping[str, str]] | None = None,
    model: Model = "3pl",
    estimator: EstimatorName = "map",
    bootstrap: int = REPEATS,
    held_out: bool = True,
    seed: int = 0,
) -> Analysis:
    """Fit a model to answers and return the complete analysis.

    Args:
        students: m names.
        items: n ids.
        responses: m x n; 1 right, 0 wrong, NaN not answered.
        factors: level by factor by examinee; None gives each examinee an ability of its own.
        bootstrap: repeats for the intervals of abilities; fewer than 2 give none.
        held_out: whether to hide a tenth of the answers and predict them from the others.

    Raises:
        InputError: the answers are not such a table, or the factors cannot be separated.
    """
    table = checked(responses, len(students))
    found = fit(table, design_of(students, factors), model, estimator, seed=seed)
    draws = bootstrap_items(table, found, bootstrap, seed) if bootstrap > 1 else None
    abilities = student_abilities(table, found, students, draws)
    by_component, level = ([], 0.0) if found.design.flat else components(table, found, draws)
    errors = item_errors(table, found)
    return Analysis(
        found,
        fit_statistics(table, found, held_out, seed),
        abilities,
        by_component,
        level,
        worth(table, found, items),
        [
            {kind: None if value != value else value for kind, value in zip("dbg", values, strict=True)}
            for values in zip(errors.d.tolist(), errors.b.tolist(), errors.g.tolist(), strict=True)
        ],
        [*remarks(found), *_without_interval(draws, abilities)],
    )


def _without_interval(draws: Draws | None, abilities: Sequence[StudentAbility]) -> list[str]:
    equal = [row.student for row in abilities if row.ability.low is None]
    if draws is None or not equal:
        return []
    return [f"No interval for {first_few(equal)}: the fit is the same for every sample of items."]


def remarks(found: Fit) -> list[str]:
    """Return limits on the reliability of a fit: too few examinees or items, no convergence, values at bounds."""
    said = []
    m, n = found.chances.shape
    if m < FEWEST_STUDENTS:
        said.append(f"Discrimination (d) is unreliable with {how_many(m, 'examinees')}. Use {FEWEST_STUDENTS} or more.")
    if n < FEWEST:
        said.append(f"Abilities are unreliable with {how_many(n, 'items')}. Use {FEWEST} or more.")
    if not found.converged:
        said.append("The fit did not converge, so the numbers are approximate.")
    for kind, flags in found.at_bound.items():
        if flags.any():
            of = "ability component" if kind == "part" else kind
            said.append(f"{flags.mean():.0%} of the {of} values lie at a bound of the estimator {found.estimator}.")
    return said
