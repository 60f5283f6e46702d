"""A prompt filled in with what the project has, so that people see what a model would be sent without asking one."""

from __future__ import annotations

from core import bank
from core.access import OWNER, acting
from core.errors import InputError
from core.generating import IN_WORDS, queries_of, values_of
from core.graders import GRADERS, make_grader
from core.graders.base import Grader
from core.graders.reading import ReadingGrader
from core.project import Project
from core.prompts import Messages, Prompt, fill, variables
from core.sample_pair import questions_to_try
from core.topics import query_as_question
from core.types import Asked, Question

OF_QUERY = ("generate questions", "generate nuggets")
"""Uses whose prompts are about a query and no question."""
ANSWER = "an answer that a model gave"
DRAFTS = 10
"""Stand in for what is known only when the prompt is used."""


def questions_for(project: Project, prompt: Prompt, query_id: str) -> list[Question]:
    """What a prompt can be tried on: questions of a query, or the query itself where the prompt is about it."""
    grader = _grader(prompt)
    if grader is not None:
        return questions_to_try(project, grader.spec, query_id)
    if prompt.use in OF_QUERY:
        return [query_as_question(project, query_id)]
    found = [question for question in bank.questions(project, None, query_id) if question.active and question.text]
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
                f"The prompt cannot be filled in: {end.value.reason}.", "Choose another question."
            ) from end
        finally:
            steps.close()
        return fill(call.prompt, call.values, call.fence)
    query = next(query for query in queries_of(project) if query.query_id == question.query_id)
    values = values_of(query, query.subtopics[0] if query.subtopics else None, DRAFTS)
    if prompt.use not in OF_QUERY:
        values |= {"question": question.text or "", "context": passage, "answer": ANSWER}
        values["correct_answer"] = question.answer_key or ""
    if lacking := [IN_WORDS.get(name, name) for name in variables(prompt) if name not in values]:
        raise InputError(
            f"The prompt '{prompt.name}' needs {', '.join(lacking)}, which the query does not have.",
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
