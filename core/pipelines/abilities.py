"""Item response theory on the answers of a project: abilities by component, the value of each item, a shorter exam."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..measures import Array
from ..measures.item_response import (
    DROP,
    REPEATS,
    STEPS,
    Analysis,
    Criterion,
    EstimatorName,
    Improvement,
    Model,
    Planting,
    analyse,
    design_of,
    improve,
    plant,
)
from ..project import Project
from .responses import responses

Factors = Mapping[str, Mapping[str, str]]
"""Level by factor by examinee."""


@dataclass(frozen=True)
class AnswerTable:
    """Answers in the form for item response models.

    Args:
        students: m names of examinees.
        items: n ids.
        correct: m x n; 1 right, 0 wrong, NaN not answered.
        factors: level by factor by examinee; None if each examinee has an ability of its own.
        remarks: changes that a reader of the results should know.
    """

    students: list[str]
    items: list[str]
    correct: Array
    factors: Factors | None = None
    remarks: tuple[str, ...] = ()


def answer_table(project: Project, query_id: str | None = None) -> AnswerTable:
    """Return the answers that count now, of examinees and items that have any.

    Factors with a single level are left out. If the components cannot be told apart with these examinees, each examinee
    has an ability of its own.

    Args:
        query_id: the exam; None for the items of all exams.

    Raises:
        InputError: the project has no answers.
    """
    found = responses(project, query_id=query_id)
    there = ~np.isnan(found.correct)
    rows, columns = np.flatnonzero(there.any(axis=1)), np.flatnonzero(there.any(axis=0))
    if not len(rows):
        raise InputError("no-answers", "No examinee has answered an item yet.", "Run the exam: exam examinees run.")
    names, items = [found.names[at] for at in rows], [found.items[at] for at in columns]
    correct = found.correct[np.ix_(rows, columns)]
    levels = {name: [known[at] for at in rows] for name, known in found.factors.items()}
    varied = {name: known for name, known in levels.items() if len(set(known)) > 1}
    if not varied:
        return AnswerTable(names, items, correct)
    factors = {student: {name: varied[name][at] for name in varied} for at, student in enumerate(names)}
    try:
        design_of(names, factors)
    except InputError as error:
        return AnswerTable(
            names, items, correct, remarks=(f"Abilities are fitted without components. {error.message}",)
        )
    return AnswerTable(names, items, correct, factors)


def abilities(
    project: Project,
    query_id: str | None = None,
    model: Model = "3pl",
    estimator: EstimatorName = "map",
    intervals: bool = False,
) -> Analysis:
    """Fit abilities and items to the answers that count now.

    The ability of an examinee is the sum of the contributions of its components. If the components cannot be told apart
    with these examinees, each examinee has an ability of its own, and a remark says so.

    Args:
        query_id: the exam; None for the items of all exams.
        intervals: whether to compute intervals from resamples of the items.

    Raises:
        InputError: there are too few answers.
    """
    key = ("abilities", query_id, model, estimator, intervals, _answers(project))
    return project.remember(key, lambda: _abilities(project, query_id, model, estimator, intervals))


def _abilities(
    project: Project, query_id: str | None, model: Model, estimator: EstimatorName, intervals: bool
) -> Analysis:
    table = answer_table(project, query_id)
    told = analyse(
        table.students, table.items, table.correct, table.factors, model, estimator, REPEATS if intervals else 0,
        intervals,
    )  # fmt: skip
    return replace(told, remarks=[*told.remarks, *table.remarks])


def shorter(
    project: Project,
    query_id: str | None = None,
    drop: float = DROP,
    steps: int = STEPS,
    criterion: Criterion = "information",
    model: Model = "3pl",
    estimator: EstimatorName = "map",
) -> Improvement:
    """Propose the items that an exam could do without; nothing is changed.

    Args:
        query_id, drop, steps, criterion: see `measures.item_response.improve`.

    Raises:
        InputError: there are too few answers, or the share is not a percentage.
    """

    def compute() -> Improvement:
        table = answer_table(project, query_id)
        design = design_of(table.students, table.factors)
        return improve(table.correct, design, table.items, drop, steps, criterion, model, estimator)

    key = ("shorter", query_id, drop, steps, criterion, model, estimator, _answers(project))
    return project.remember(key, compute)


def planted(
    project: Project, query_id: str | None = None, model: Model = "3pl", estimator: EstimatorName = "map"
) -> list[Planting]:
    """Test which criterion finds bad items in this exam, by corrupting some in a copy of its answers. Nothing is
    changed.

    Args:
        query_id: the exam; None for the items of all exams.

    Returns:
        One row per kind of corruption; see `measures.item_response.plant`.

    Raises:
        InputError: there are too few answers.
    """

    def compute() -> list[Planting]:
        table = answer_table(project, query_id)
        return plant(table.correct, design_of(table.students, table.factors), table.items, model, estimator)

    return project.remember(("planted", query_id, model, estimator, _answers(project)), compute)


def _answers(project: Project) -> int:
    """Return the number of answers: they are added during an exam, but only its start and end are logged actions."""
    return int(project.value("SELECT count(*) FROM answers"))
