"""All that is said of an exam's answers in one record: abilities by component, items, and how well the model fits."""

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
    """What item response says of the answers of students to items.

    Args:
        components: empty where every student has an ability of its own.
        level: what the means of all factors add up to.
        errors: of the items, as if abilities were known.
        remarks: what one has to know before believing it.
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
        """For JSON."""
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
    """The design of students: by their factors, or flat where there are none.

    Args:
        students: m names.
        factors: level by factor by student; None for a flat design.

    Raises:
        InputError: a student has no level of a factor, or the design cannot tell the components apart.
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
    """Fit a model to answers and say all of it.

    Args:
        students: m names.
        items: n ids.
        responses: m x n; 1 right, 0 wrong, NaN not answered.
        factors: level by factor by student; None gives each student an ability of its own.
        bootstrap: repeats for the intervals of abilities; fewer than 2 give none.
        held_out: whether to hide a tenth of the answers and see how well the others tell them.

    Raises:
        InputError: the answers are no such table, or the factors cannot be told apart.
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
    """What one has to know before believing a fit: too few students or items, no end of the search, bounds."""
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
