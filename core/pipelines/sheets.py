"""Question sheets of examinees: the items with their contexts and worked items, and the progress of answering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..project import ELSEWHERE, Project, Student, verdicts
from .answering import Given
from .tasks import Task, contexts, digest_of, tasks, tasks_named, text_keys


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
