"""A prompt filled in with what the project has, so that people see what a model would be sent without asking one."""

from __future__ import annotations

from ..bank import overview, query_as_question, questions
from ..errors import InputError
from ..graders import GRADERS, OWNER, Grader, Messages, Prompt, ReadingGrader, acting, fill, make_grader, variables
from ..project import Project, passage_texts, queries_of
from ..types import Asked, GraderSpec, Question
from .drafting import IN_WORDS, values_of

OF_QUERY = ("generate questions", "generate nuggets")
"""Uses whose prompts are about a query and no question."""
OF_PASSAGE = "generate items"
"""A use whose prompts are about a passage alone."""
OF_ANSWERS = ("answer from passages", "compare answers")
"""Uses whose prompts are about a query and what a model answers to it."""
ANSWER = "an answer that a model gave"
RIGHT_ANSWER = "a correct answer"
DRAFTS = 10
WORDS = 5
"""Stand in for what is known only when the prompt is used."""


def questions_for(project: Project, prompt: Prompt, query_id: str) -> list[Question]:
    """What a prompt can be tried on: questions of a query, or the query itself where the prompt is about it."""
    grader = _grader(prompt)
    if grader is not None:
        return questions_to_try(project, grader.spec, query_id)
    if prompt.use in (*OF_QUERY, *OF_ANSWERS, OF_PASSAGE):
        return [query_as_question(project, query_id)]
    found = [question for question in questions(project, None, query_id) if question.active and question.text]
    return [q for q in found if q.answer_key] if "correct_answer" in variables(prompt) else found


def fill_in(project: Project, prompt: Prompt, question: Question, passage: str, fence: bool = False) -> Messages:
    """A prompt as a model would be sent it.

    Args:
        question: one of `questions_for`.
        passage: text of a passage.
        fence: whether the passage is fenced off as data.

    Raises:
        InputError: the question or the query lacks what the prompt needs.
    """
    grader = _grader(prompt, fence)
    if isinstance(grader, ReadingGrader):
        steps = grader.steps(Asked(question.text or "", question.answer_key or "", question.choices), passage)
        try:
            call = next(steps)
        except StopIteration as end:
            raise InputError(
                "prompt-not-filled", f"The prompt cannot be filled in: {end.value.reason}.", "Choose another question."
            ) from end
        finally:
            steps.close()
        return fill(call.prompt, call.values, call.fence)
    query = next(query for query in queries_of(project) if query.query_id == question.query_id)
    values = values_of(query, query.subtopics[0] if query.subtopics else None, DRAFTS)
    if prompt.use not in OF_QUERY:
        values |= {"question": question.text or "", "context": passage, "answer": ANSWER}
        values["correct_answer"] = question.answer_key or ("" if prompt.use not in OF_ANSWERS else RIGHT_ANSWER)
        values |= {"result": ANSWER, "n_tokens": str(WORDS)}
        values["task_domain"] = project.name
    if lacking := [IN_WORDS.get(name, name) for name in variables(prompt) if name not in values]:
        raise InputError(
            "prompt-value-missing",
            f"Prompt '{prompt.name}' needs {', '.join(lacking)}, which the query does not have.",
            "Choose another query.",
        )
    return fill(prompt, values, fence)


def _grader(prompt: Prompt, fence: bool = False) -> Grader | None:
    """A grader of this prompt, whose model is never asked; None where no grader uses such prompts."""
    if prompt.use not in GRADERS:
        return None
    parameters = {"prompt": prompt.name, "fence": fence}
    if prompt.use == "choice":
        parameters["by"] = "letter" if prompt.form == "letter" else "likelihood"
    with acting(OWNER):
        return make_grader(prompt.use, parameters, {prompt.name: prompt})


def questions_to_try(project: Project, spec: GraderSpec, query_id: str | None = None) -> list[Question]:
    """The active questions that a grader can be asked, of one query or of all; for a direct judge the queries.

    Args:
        query_id: only those of this query; of all for None.
    """
    if spec.method == "direct":
        ids = [found.query_id for found in overview(project) if query_id in (None, found.query_id)]
        asked = [query_as_question(project, found) for found in ids]
    else:
        asked = [q for q in questions(project, None, query_id) if q.active and q.kind in spec.takes]
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
        what = f"question '{question_id}'" if question_id else "any question"
        need = " and an answer key" if spec.reads else ""
        raise InputError(
            "no-question-to-ask", f"This grader cannot use {what}.", f"Use an active question with text{need}."
        )
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
            "no-passage-text",
            f"Passage '{passage_id}' does not exist or has no text."
            if passage_id
            else "The pool has no passage with text.",
            "Import passages with text.",
        )
    return Asked(question.text or "", question.answer_key or "", question.choices), next(iter(texts.values()))
