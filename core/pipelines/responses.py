"""The answers of examinees to items as a matrix of right and wrong, the input of all statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..bank import check_version, questions
from ..errors import InputError
from ..measures import Array
from ..project import ELSEWHERE, Project, Student, find_students, verdicts
from ..text import first_few
from .sheets import sheet
from .tasks import tasks, text_keys

UNSTATED = "not stated"
"""The level of a factor for an examinee without a stated one."""


@dataclass(frozen=True)
class Responses:
    """The answers of m examinees to n items that count now: to the current wording, key and contexts.

    Args:
        students: the examinees, in the order in which they were added, or were named.
        items: question ids, in the order of the bank, or as they were named.
        topics: of the items; None if unknown.
        correct: m x n, 1 right, 0 wrong, NaN if the item was not asked or failed.
        failed: m x n, whether the item was asked without a usable answer.
    """

    students: list[Student]
    items: list[str]
    topics: list[str | None]
    correct: Array
    failed: NDArray[np.bool_]

    @property
    def names(self) -> list[str]:
        """The names of the examinees."""
        return [student.name for student in self.students]

    @property
    def factors(self) -> dict[str, list[str]]:
        """The level of each examinee by factor, for every factor that an examinee has."""
        names = dict.fromkeys(name for student in self.students for name in student.factors)
        return {name: [student.factors.get(name, UNSTATED) for student in self.students] for name in names}


def responses(
    project: Project,
    students: Sequence[str] | None = None,
    items: Sequence[str] | None = None,
    query_id: str | None = None,
    version: int | None = None,
) -> Responses:
    """Return which items examinees got right.

    Args:
        students: names of examinees; None for all.
        items: ids of multiple-choice questions, including retired ones; None for the active ones.
        query_id: only items of this query; None for all.
        version: bank version; None for the newest.

    Raises:
        InputError: an examinee, item or the version is unknown.
    """
    chosen = find_students(project, students)
    version = check_version(project, version)
    banked = [question for question in questions(project, version, query_id) if question.kind == "choice"]
    if items is None:
        columns = [question.question_id for question in banked if question.active]
    else:
        columns = list(dict.fromkeys(items))
        if unknown := [name for name in columns if name not in {question.question_id for question in banked}]:
            raise InputError(
                "unknown-item", f"Unknown item {first_few(unknown)}.", "List the items with exam items list."
            )
    asked = tasks(project, query_id, version, {*columns})
    keys = text_keys(project, [task.asked for task in asked])
    plain = dict(
        project.rows(
            "SELECT question_id, text_key FROM bank_at($version) JOIN questions USING (question_key)"
            " WHERE kind = 'choice'",
            {"version": version},
        )
    )
    place = {name: at for at, name in enumerate(columns)}
    known = verdicts(project)
    correct = np.full((len(chosen), len(columns)), np.nan)
    failed = np.zeros(correct.shape, dtype=np.bool_)

    def put(row: int, name: str, verdict: bool | None) -> None:
        correct[row, place[name]] = np.nan if verdict is None else float(verdict)
        failed[row, place[name]] = verdict is None

    for row, student in enumerate(chosen):
        if student.sat_elsewhere:
            # Imported answers may be about items with unknown words, key or choices: they are found by the question.
            for name in columns:
                if (found := (student.key, plain[name], ELSEWHERE)) in known:
                    put(row, name, known[found])
        for line in sheet(project, student, asked).lines:
            if (found := (student.key, keys.get(line.task.asked, 0), line.context)) in known:
                put(row, line.task.question_id, known[found])
    topics = {task.question_id: task.topic for task in asked}
    return Responses(chosen, columns, [topics.get(name) for name in columns], correct, failed)
