"""Answers of examinees: question sheets, progress, the matrix of right and wrong, and exams as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..bank import check_version, questions
from ..errors import InputError
from ..formats import ExamItem, exam_files, write_matrix
from ..measures import Array
from ..records import ELSEWHERE, Student, find_students, passage_texts, retrieved, verdicts
from ..store import Project
from ..text import first_few, written_text
from ._exam_items import Given, Task, contexts, digest_of, exam_items, tasks, tasks_named, text_keys


@dataclass(frozen=True)
class Line:
    """One item in the form in which an examinee gets it.

    Args:
        given: the item, its context and the worked items before it.
        context: digest of everything that is read in addition to the item.
    """

    given: Given
    context: str

    @property
    def task(self) -> Task:
        """The item."""
        return self.given[0]


@dataclass(frozen=True)
class Sheet:
    """All questions of an exam for an examinee.

    Args:
        lines: in the order of the bank.
        without_context: items that cannot be asked, because their passages are missing.
    """

    lines: list[Line]
    without_context: list[Task]


def sheet(project: Project, student: Student, asked: Sequence[Task]) -> Sheet:
    """Return an examinee's sheet for some items."""
    if student.sat_elsewhere:
        return Sheet([Line((task, (), ()), ELSEWHERE) for task in asked], [])
    worked = tasks_named(project, student.parameters.get("worked", []))
    found = contexts(project, student.retrieval, student.k, [*asked, *worked])
    examples = [(task, found[task.question_id] or ()) for task in worked]
    lines, without = [], []
    for task in asked:
        context = found[task.question_id]
        if context is None:
            without.append(task)
            continue
        others = [one for one in examples if one[0].question_id != task.question_id][: student.icl or 0]
        lines.append(Line((task, context, others), digest_of(context, others)))
    return Sheet(lines, without)


@dataclass(frozen=True)
class Standing:
    """The progress of an examinee in an exam, in items.

    Args:
        items: to be asked.
        answered: right or wrong; `right` of these.
        failed: asked without a usable answer.
        without_context: items that cannot be asked.
    """

    items: int
    answered: int
    right: int
    failed: int
    without_context: int

    @property
    def missing(self) -> int:
        """Items that were not asked yet but can be."""
        return self.items - self.answered - self.failed - self.without_context


def standing(project: Project, student: Student, query_id: str | None = None) -> Standing:
    """Return the progress of an examinee in the newest version of an exam.

    Args:
        query_id: only items of this query; None for all.
    """
    asked = tasks(project, query_id)
    whole = sheet(project, student, asked)
    known, keys = verdicts(project), text_keys(project, [task.asked for task in asked])
    places = [(student.key, keys[line.task.asked], line.context) for line in whole.lines if line.task.asked in keys]
    said = [known[place] for place in places if place in known]
    answered = [correct for correct in said if correct is not None]
    return Standing(len(asked), len(answered), sum(answered), len(said) - len(answered), len(whole.without_context))


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
            # Imported answers may be about items whose words, key or choices are unknown, so they are found by the
            # question.
            for name in columns:
                if (found := (student.key, plain[name], ELSEWHERE)) in known:
                    put(row, name, known[found])
        for line in sheet(project, student, asked).lines:
            if (found := (student.key, keys.get(line.task.asked, 0), line.context)) in known:
                put(row, line.task.question_id, known[found])
    topics = {task.question_id: task.topic for task in asked}
    return Responses(chosen, columns, [topics.get(name) for name in columns], correct, failed)


def exam_json(project: Project, query_id: str | None = None) -> str:
    """Return the active items with a key, with sources, topics and retrieved contexts, as `exam import exam` reads
    them.

    Args:
        query_id: only items of this query; None for all.

    Raises:
        InputError: the exam has no such item.
    """
    items = [item for item in exam_items(project, query_id) if item.active and item.key is not None]
    if not items:
        raise InputError("no-items", "No items to export.", "Import an exam: exam import exam FILE.")
    names = [name for (name,) in project.rows("SELECT name FROM retrievals ORDER BY retrieval_key")]
    found = project.read(lambda cursor: {name: retrieved(cursor, name) for name in names})
    ids = {passage for rankings in found.values() for ranking in rankings.values() for passage, _ in ranking}
    texts = passage_texts(project, list(ids))
    written = []
    for item in items:
        contexts = {
            name: tuple(texts[passage] for passage, _ in rankings[item.question_id] if passage in texts)
            for name, rankings in found.items()
            if item.question_id in rankings
        }
        written.append(
            ExamItem(item.text, item.choices, item.key or "", item.source_text, item.topic, contexts)
        )  # fmt: skip
    return written_text(exam_files.write_exam, written)


def answers_csv(project: Project, query_id: str | None = None) -> str:
    """Return the answers of examinees to the active items: 1 right, 0 wrong, empty for items not asked and for
    failures.

    Args:
        query_id: only items of this query; None for all.

    Raises:
        InputError: no item has an answer.
    """
    found = responses(project, query_id=query_id)
    if np.isnan(found.correct).all():
        raise InputError(
            "no-answers",
            "No answers to export.",
            "Run the exam (exam examinees run), or import answers (exam import lm-eval FILE).",
        )
    rows = [[None if np.isnan(cell) else bool(cell) for cell in row] for row in found.correct]
    return written_text(write_matrix, found.items, zip(found.names, rows, strict=True))
