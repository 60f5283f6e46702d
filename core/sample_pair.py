"""One pair of the project's, to try a grader or a prompt on."""

from __future__ import annotations

from core import bank
from core.errors import InputError
from core.inspection import passage_texts
from core.project import Project
from core.topics import query_as_question
from core.types import Asked, GraderSpec, Question


def questions_to_try(project: Project, spec: GraderSpec, query_id: str | None = None) -> list[Question]:
    """The active questions that a grader can be asked, of one query or of all; for a direct judge the queries.

    Args:
        query_id: only those of this query; of all for None.
    """
    if spec.method == "direct":
        ids = [found.query_id for found in bank.overview(project) if query_id in (None, found.query_id)]
        asked = [query_as_question(project, found) for found in ids]
    else:
        asked = [q for q in bank.questions(project, None, query_id) if q.active and q.kind in spec.takes]
    return [question for question in asked if spec.asked_text(question)]


def pair_to_try(
    project: Project, spec: GraderSpec, question_id: str | None = None, passage_id: str | None = None
) -> tuple[Asked, str]:
    """What to ask, and the text of a passage.

    Args:
        question_id: id of a question (of a query, for a direct judge); the first that fits for None.
        passage_id: the first of the query's pool that has a text for None.

    Raises:
        InputError: there is no such question that the grader can be asked, or no such passage with a text.
    """
    of_passage = [
        query_id
        for (query_id,) in project.rows(
            "SELECT query_id FROM pool JOIN queries USING (query_key) JOIN passages USING (passage_key)"
            " WHERE passage_id = ?",
            [passage_id],
        )
    ]
    fitting = questions_to_try(project, spec)
    # Where only the passage is said, a question of its query makes the most sense.
    fitting.sort(key=lambda question: question.query_id not in of_passage)
    chosen = [q for q in fitting if question_id in (None, q.question_id)]
    if not chosen:
        what = f"The question {question_id} is none that" if question_id else "There is no question that"
        need = " It reads the answer key: give the questions one." if spec.reads else ""
        raise InputError(f"{what} this grader can be asked.", f"It takes active ones with a text.{need}")
    question = chosen[0]
    if passage_id is None:
        passage_id = project.value(
            "SELECT passage_id FROM pool JOIN passages USING (passage_key) JOIN queries USING (query_key)"
            " WHERE query_id = ? AND pool.text_key IS NOT NULL ORDER BY position LIMIT 1",
            [question.query_id],
        )
    texts = passage_texts(project, [passage_id] if passage_id else [])
    if not texts:
        raise InputError(
            f"There is no passage {passage_id} with a text." if passage_id else "The pool has no passage with a text.",
            "Import passages with their texts.",
        )
    return Asked(question.text or "", question.answer_key or "", question.choices), next(iter(texts.values()))
