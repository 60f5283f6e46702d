"""A small exam for tests: items with choices, keys, topics and source passages."""

from collections.abc import Sequence

from exam_workbench import bank
from exam_workbench.jobs import find_jobs
from exam_workbench.records import add_passages, add_queries
from exam_workbench.store import Project
from exam_workbench.types import Passage, Query, Question
from tests.made.projects import done_once

METALS = (
    "copper", "tin", "iron", "zinc", "lead", "silver", "gold", "nickel", "cobalt", "mercury", "platinum", "chrome",
)  # fmt: skip


def item(number: int, key: int = 0, topic: str | None = None) -> Question:
    """Return item i<number>, about the metal in jar <number>; the choices differ from item to item."""
    choices = tuple(METALS[(number + at) % len(METALS)] for at in range(4))
    return Question(
        f"i{number}", "exam", f"Which metal did they keep in jar number {number}?", "choice",
        answer_key=choices[key], choices=choices, subtopic_id=None,
    )  # fmt: skip


def source(question: Question, prefix: str = "p") -> Passage:
    """Return the passage from which an item was made, with its answer."""
    number = question.question_id[1:]
    text = f"Jar number {number} stood on the shelf. In jar number {number} they kept {question.answer_key}."
    return Passage(f"{prefix}{number}", text)


def put_exam(project: Project, count: int = 6, topics: Sequence[str] = ("jars",), prefix: str = "p") -> list[Question]:
    """Add an exam to a project: items i1, i2 and so on, keys at all positions, topics in turn, source passages.

    Args:
        prefix: start of the ids of the source passages.
    """
    questions = [item(number, number % 4) for number in range(1, count + 1)]
    done_once(project, repr((questions, topics, prefix)), lambda: _put(project, questions, topics, prefix))
    return questions


def _put(project: Project, questions: list[Question], topics: Sequence[str], prefix: str) -> None:
    with project.transaction() as cursor:
        add_queries(cursor, [Query("exam", "What is in the jars?")], replace=False)
        add_passages(cursor, [source(question, prefix) for question in questions])
    bank.save_version(project, questions, "an exam", "ann")
    with project.transaction() as cursor:
        for at, question in enumerate(questions):
            cursor.execute(
                "INSERT INTO items (question_key, source_passage_key, topic)"
                " SELECT question_key, passage_key, ? FROM questions, passages"
                " WHERE question_id = ? AND passage_id = ?",
                [topics[at % len(topics)], question.question_id, f"{prefix}{question.question_id[1:]}"],
            )


def sittings(project: Project) -> list[tuple[str, str, int]]:
    """Return examinee, state and number of failures of each job, newest first."""
    return [(job.name, job.state, job.failed) for job in find_jobs(project, "sitting")]
