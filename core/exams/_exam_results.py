"""Results of an exam: leaderboards by model, retrieval and topic, comparisons in pairs, and item
response theory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..choices import (
    ITEM_DRAWS,
    ITEM_DROP,
    ITEM_STEPS,
    LEAST_TOPIC_ANSWERS,
    EstimatorName,
    ExamineeTest,
    ItemCriterion,
    ResponseModel,
)
from ..errors import InputError
from ..grouping import group_pairs
from ..measures import ALPHA, Array, adjust_holm, mcnemar_tests, randomisation_test, wilson_interval
from ..measures.item_response import (
    Analysis,
    Improvement,
    PlantedFaults,
    analyse_responses,
    design_of,
    improve_items,
    plant_faults,
)
from ..records import CLOSED_BOOK, NOT_RETRIEVED, ORACLE, Student
from ..store import Project, cached
from ._exam_items import UNSTATED, Responses, examinee_responses

_TESTS: Mapping[ExamineeTest, Callable[[Array], Array]] = {
    "mcnemar": mcnemar_tests,
    "randomisation": randomisation_test,
}


@dataclass(frozen=True)
class Score:
    """The results of an examinee, in numbers of items.

    Args:
        items: to be answered.
        answered: right or wrong, `right` of these.
        failed: asked without a usable answer; neither right nor wrong.
    """

    items: int
    answered: int
    right: int
    failed: int

    @property
    def missing(self) -> int:
        """Items that were not asked."""
        return self.items - self.answered - self.failed

    @property
    def accuracy(self) -> float | None:
        """Share of right answers among the answers; None without any."""
        return self.right / self.answered if self.answered else None

    @property
    def std_error(self) -> float | None:
        """sqrt(p (1 − p) / n), for p the accuracy over n answers: the error of a share of n draws;
        0 if p is 0 or 1.
        """
        return _std_error(self.accuracy, self.answered)

    @property
    def accuracy_interval(self) -> tuple[float, float] | None:
        """Wilson's 95 % interval (low, high) of the accuracy; None without answers."""
        return wilson_interval(self.right, self.answered)

    @property
    def strict_accuracy(self) -> float | None:
        """Accuracy with every failure counted as wrong; None if nothing was asked."""
        asked = self.answered + self.failed
        return self.right / asked if asked else None

    @property
    def strict_std_error(self) -> float | None:
        """Standard error of `strict_accuracy`."""
        return _std_error(self.strict_accuracy, self.answered + self.failed)


def _std_error(share: float | None, number: int) -> float | None:
    return None if share is None else math.sqrt(share * (1 - share) / number)


@dataclass(frozen=True)
class ExamineeRow:
    """An examinee on a leaderboard."""

    student: Student
    score: Score


def exam_board(responses: Responses) -> list[ExamineeRow]:
    """Return examinees by falling accuracy; those without an answer last, equal ones in the order
    of the project.
    """
    rows = [
        ExamineeRow(student, _make_score(responses.correct[at], responses.failed[at]))
        for at, student in enumerate(responses.students)
    ]
    return sorted(
        rows,
        key=lambda row: -1.0 if row.score.accuracy is None else row.score.accuracy,
        reverse=True,
    )


def _make_score(correct: Array, failed: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Score:
    answered = ~np.isnan(correct)
    return Score(len(correct), int(answered.sum()), int(np.nansum(correct)), int(failed.sum()))


@dataclass(frozen=True)
class Grid:
    """Models by retrievals.

    Args:
        models: in the order of the project.
        retrievals: closed book first, the oracle last.
        cells: the rows of the leaderboard in each cell, the best first; empty cells are absent.
        best: by model, its best retrievals, several if equal; closed book and oracle do not count.
    """

    models: list[str]
    retrievals: list[str]
    cells: dict[tuple[str, str], list[ExamineeRow]]
    best: dict[str, list[str]]

    def accuracy(self, model: str, retrieval: str) -> float | None:
        """Return the best absolute accuracy: the maximum over the numbers of worked items (Guinet
        et al., table 2).
        """
        rows = self.cells.get((model, retrieval))
        return rows[0].score.accuracy if rows else None


def leaderboard_grid(board: Sequence[ExamineeRow]) -> Grid:
    """Return a leaderboard as a grid of models by retrievals.

    Args:
        board: as `exam_board` returns it.
    """
    cells = group_pairs(
        ((_factor_level(row, "model"), _factor_level(row, "retrieval")), row) for row in board
    )
    ordered = sorted(board, key=lambda row: row.student.key)
    models = list(dict.fromkeys(_factor_level(row, "model") for row in ordered))
    met = dict.fromkeys(_factor_level(row, "retrieval") for row in ordered)
    retrievals = sorted(met, key=lambda name: {CLOSED_BOOK: -1, ORACLE: 1}.get(name, 0))
    accuracies = {
        model: {
            retrieval: accuracy
            for retrieval in retrievals
            if (rows := cells.get((model, retrieval)))
            and (accuracy := rows[0].score.accuracy) is not None
        }
        for model in models
    }
    return Grid(
        models,
        retrievals,
        cells,
        {model: best_classical(levels) for model, levels in accuracies.items()},
    )


def _factor_level(row: ExamineeRow, factor: str) -> str:
    return row.student.factors.get(factor, UNSTATED)


def best_classical(accuracies: Mapping[str, float]) -> list[str]:
    """Return the retrievals with the highest accuracy for a model, without closed book and oracle;
    several if equal.
    """
    classical = {
        name: share for name, share in accuracies.items() if name not in (*NOT_RETRIEVED, UNSTATED)
    }
    most = max(classical.values(), default=None)
    return [name for name, share in classical.items() if share == most]


@dataclass(frozen=True)
class TopicRow:
    """An examinee on the items of one topic."""

    student: Student
    topic: str
    score: Score


def by_topic(responses: Responses, least: int = LEAST_TOPIC_ANSWERS) -> list[TopicRow]:
    """Return accuracy by topic, examinees in the order of the project, topics by name.

    Args:
        least: a cell with fewer answers is left out.
    """
    topics = sorted({topic for topic in responses.topics if topic is not None})
    rows = []
    for at, student in enumerate(responses.students):
        for topic in topics:
            columns = [place for place, name in enumerate(responses.topics) if name == topic]
            score = _make_score(responses.correct[at, columns], responses.failed[at, columns])
            if score.answered >= least:
                rows.append(TopicRow(student, topic, score))
    return rows


@dataclass(frozen=True)
class Comparison:
    """Two examinees on the items that both answered.

    Args:
        items: that both answered.
        only_first, only_second: items that just one of them got right.
        p: of the test; None if it is undefined, as without any difference.
        adjusted: by Holm's correction over all comparisons that were made together.
    """

    first: str
    second: str
    items: int
    only_first: int
    only_second: int
    p: float | None
    adjusted: float | None

    @property
    def differ(self) -> bool:
        """Whether the two differ by more than chance: the adjusted p is below `ALPHA`."""
        return self.adjusted is not None and self.adjusted < ALPHA

    @property
    def difference(self) -> float | None:
        """Accuracy of the first minus that of the second, on these items; None without items."""
        return (self.only_first - self.only_second) / self.items if self.items else None


def only_right(responses: Responses, first: str, second: str) -> tuple[list[str], list[str]]:
    """Return the items that only the first, and those that only the second of two examinees got
    right.

    Args:
        first, second: names of examinees that are among those of `responses`.
    """
    difference = (
        responses.correct[responses.names.index(first)]
        - responses.correct[responses.names.index(second)]
    )
    first_only, other = (
        [item for item, value in zip(responses.items, difference, strict=True) if value == sign]
        for sign in (1, -1)
    )
    return first_only, other


def compare_examinees(responses: Responses, test: ExamineeTest = "mcnemar") -> list[Comparison]:
    """Compare every two examinees, paired by item.

    Args:
        test: mcnemar (exact), or the randomisation test of `measures`.
    """
    pairs = list(combinations(range(len(responses.students)), 2))
    if not pairs:
        return []
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    differences = (responses.correct[first] - responses.correct[second]).T
    p_values = _TESTS[test](differences).tolist()
    tested = [at for at, p in enumerate(p_values) if not math.isnan(p)]
    adjusted = dict(zip(tested, adjust_holm([p_values[at] for at in tested]), strict=True))
    names = responses.names
    return [
        Comparison(
            names[a],
            names[b],
            int((~np.isnan(differences[:, at])).sum()),
            int((differences[:, at] > 0).sum()),
            int((differences[:, at] < 0).sum()),
            p_values[at] if at in adjusted else None,
            adjusted.get(at),
        )
        for at, (a, b) in enumerate(pairs)
    ]


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

    Factors with a single level are left out. If the components cannot be told apart with these
    examinees, each examinee has an ability of its own.

    Args:
        query_id: the exam; None for the items of all exams.

    Raises:
        InputError: the project has no answers.
    """
    matrix = examinee_responses(project, query_id=query_id)
    there = ~np.isnan(matrix.correct)
    rows, columns = np.flatnonzero(there.any(axis=1)), np.flatnonzero(there.any(axis=0))
    if not len(rows):
        raise InputError(
            "no-answers",
            "No examinee has answered an item yet.",
            "Run the exam: exam examinees run.",
        )
    names, items = [matrix.names[at] for at in rows], [matrix.items[at] for at in columns]
    correct = matrix.correct[np.ix_(rows, columns)]
    levels = {name: [known[at] for at in rows] for name, known in matrix.factors.items()}
    varied = {name: known for name, known in levels.items() if len(set(known)) > 1}
    if not varied:
        return AnswerTable(names, items, correct)
    factors = {
        student: {name: varied[name][at] for name in varied} for at, student in enumerate(names)
    }
    try:
        design_of(names, factors)
    except InputError as error:
        return AnswerTable(
            names,
            items,
            correct,
            remarks=(f"Abilities are fitted without components. {error.message}",),
        )
    return AnswerTable(names, items, correct, factors)


@cached()
def fit_abilities(
    project: Project,
    query_id: str | None = None,
    model: ResponseModel = "3pl",
    estimator: EstimatorName = "map",
    intervals: bool = False,
) -> Analysis:
    """Fit abilities and items to the answers that count now.

    The ability of an examinee is the sum of the contributions of its components. If these examinees
    do not distinguish the components, each examinee has an ability of its own, and a remark says
    so.

    Args:
        query_id: the exam; None for the items of all exams.
        intervals: whether to compute intervals from resamples of the items.

    Raises:
        InputError: there are too few answers.
    """
    table = answer_table(project, query_id)
    analysis = analyse_responses(
        table.students,
        table.items,
        table.correct,
        table.factors,
        model,
        estimator,
        ITEM_DRAWS if intervals else 0,
        intervals,
    )
    return replace(analysis, remarks=[*analysis.remarks, *table.remarks])


@cached()
def propose_shorter_exam(
    project: Project,
    query_id: str | None = None,
    drop: float = ITEM_DROP,
    steps: int = ITEM_STEPS,
    criterion: ItemCriterion = "information",
) -> Improvement:
    """Propose the items that an exam could do without; nothing is changed.

    Args:
        query_id, drop, steps, criterion: see `measures.item_response.improve_items`.

    Raises:
        InputError: there are too few answers, or the share is not a percentage.
    """
    table = answer_table(project, query_id)
    design = design_of(table.students, table.factors)
    return improve_items(table.correct, design, table.items, drop, steps, criterion)


@cached()
def plant_bad_items(project: Project, query_id: str | None = None) -> list[PlantedFaults]:
    """Test which criterion finds bad items in this exam, by corrupting some in a copy of its
    answers. Nothing is changed.

    Args:
        query_id: the exam; None for the items of all exams.

    Returns:
        One row per kind of corruption; see `measures.item_response.plant_faults`.

    Raises:
        InputError: there are too few answers.
    """
    table = answer_table(project, query_id)
    return plant_faults(table.correct, design_of(table.students, table.factors), table.items)
