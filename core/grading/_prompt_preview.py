"""Trying a grader or a prompt: previews of prompts without a call of a model, and samples of judged
passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..bank import (
    asked_bank,
    latest_version,
    list_questions,
    query_as_question,
    query_overviews,
    readable_questions,
    stored_graders,
)
from ..errors import InputError
from ..graders import (
    GRADERS,
    OWNER,
    Grader,
    Messages,
    Prompt,
    ReadingGrader,
    fill_prompt,
    make_grader,
    prompt_variables,
    use_access,
)
from ..jobs import find_jobs
from ..labels import Policy, basis, label_qrels
from ..records import passage_texts, queries_of, visible_rows
from ..store import Project
from ..types import GraderInput, GraderSpec, Question
from ._drafting import IN_WORDS, prompt_values
from ._needed_pairs import known_key

OF_QUERY = ("generate questions", "generate nuggets")
"""Uses whose prompts are about a query without a question."""
OF_PASSAGE = "generate items"
"""Use whose prompts are about a passage alone."""
OF_ANSWERS = ("answer from passages", "compare answers")
"""Uses whose prompts are about a query and a model's answer to it."""
ANSWER = "an answer that a model gave"
RIGHT_ANSWER = "a correct answer"
DRAFTS = 10
WORDS = 5
"""Placeholders for values that are known only when the prompt is used."""


def questions_for(project: Project, prompt: Prompt, query_id: str) -> list[Question]:
    """Return the questions of a query to try a prompt on, or the query itself if the prompt is
    about a query.
    """
    grader = _preview_grader(prompt)
    if grader is not None:
        return questions_to_try(project, grader.spec, query_id)
    if prompt.use in (*OF_QUERY, *OF_ANSWERS, OF_PASSAGE):
        return [query_as_question(project, query_id)]
    asked = readable_questions(project, list_questions(project, None, query_id))
    questions = [question for question in asked if question.active and question.text]
    return (
        [q for q in questions if q.answer_key]
        if "correct_answer" in prompt_variables(prompt)
        else questions
    )


def fill_for_question(
    project: Project, prompt: Prompt, question: Question, passage: str, fence: bool = False
) -> Messages:
    """Return a prompt as a model would get it.

    Args:
        question: one of `questions_for`.
        passage: text of a passage.
        fence: whether to mark the passage as data.

    Raises:
        InputError: the question or the query lacks a value that the prompt needs.
    """
    grader = _preview_grader(prompt, fence)
    if isinstance(grader, ReadingGrader):
        steps = grader.steps(
            GraderInput(question.text or "", question.answer_key or "", question.choices), passage
        )
        try:
            call = next(steps)
        except StopIteration as end:
            raise InputError(
                "prompt-not-filled",
                f"The prompt cannot be filled in: {end.value.reason}.",
                "Choose another question.",
            ) from end
        return fill_prompt(call.prompt, call.values, call.fence)
    query = next(query for query in queries_of(project) if query.query_id == question.query_id)
    values = prompt_values(query, query.subtopics[0] if query.subtopics else None, DRAFTS)
    if prompt.use not in OF_QUERY:
        values |= {
            "question": question.text or "",
            "context": passage,
            "answer": ANSWER,
            "correct_answer": question.answer_key
            or (RIGHT_ANSWER if prompt.use in OF_ANSWERS else ""),
            "result": ANSWER,
            "n_tokens": str(WORDS),
            "task_domain": project.name,
        }
    if lacking := [
        IN_WORDS.get(name, name) for name in prompt_variables(prompt) if name not in values
    ]:
        raise InputError(
            "prompt-value-missing",
            f"Prompt '{prompt.name}' needs {', '.join(lacking)}, which the query does not have.",
            "Choose another query.",
        )
    return fill_prompt(prompt, values, fence)


def _preview_grader(prompt: Prompt, fence: bool = False) -> Grader | None:
    """Return a grader for this prompt, whose model is never called; None if no grader uses such
    prompts.
    """
    if prompt.use not in GRADERS:
        return None
    parameters = {"prompt": prompt.name, "fence": fence}
    if prompt.use == "choice":
        parameters["by"] = "letter" if prompt.form == "letter" else "likelihood"
    with use_access(OWNER):
        return make_grader(prompt.use, parameters, {prompt.name: prompt})


def questions_to_try(
    project: Project, spec: GraderSpec, query_id: str | None = None
) -> list[Question]:
    """Return the active questions that a grader can be asked; for a direct grader, the queries.

    Args:
        query_id: only those of this query; None for all.
    """
    if spec.method == "direct":
        ids = [
            query.query_id
            for query in query_overviews(project)
            if query_id in (None, query.query_id)
        ]
        questions = [query_as_question(project, query) for query in ids]
    else:
        known = readable_questions(project, list_questions(project, None, query_id))
        questions = [q for q in known if q.active and q.kind in spec.takes]
    return [question for question in questions if spec.asked_text(question)]


def pair_to_try(
    project: Project,
    spec: GraderSpec,
    question_id: str | None = None,
    passage_id: str | None = None,
) -> tuple[GraderInput, str]:
    """Return a question and the text of a passage to try a grader on.

    Args:
        question_id: id of a question (of a query, for a direct grader); None for the first one that
            fits.
        passage_id: a passage; None for the first one with a text in the query's pool.

    Raises:
        InputError: the grader cannot be asked such a question, or the passage is unknown or has no
            text.
    """
    of_passage = [
        query_id
        for (query_id,) in project.rows(
            "SELECT query_id FROM pool JOIN queries USING (query_key)"
            " JOIN passages USING (passage_key) WHERE passage_id = ?",
            [passage_id],
        )
    ]
    fitting = questions_to_try(project, spec)
    # If only the passage is given, prefer a question of its query.
    fitting.sort(key=lambda question: question.query_id not in of_passage)
    chosen = [q for q in fitting if question_id in (None, q.question_id)]
    if not chosen:
        subject = f"question '{question_id}'" if question_id else "any question"
        need = " and an answer key" if spec.reads else ""
        raise InputError(
            "no-question-to-ask",
            f"This grader cannot use {subject}.",
            f"Use an active question with text{need}.",
        )
    question = chosen[0]
    if passage_id is None:
        passage_id = project.value(
            "SELECT passage_id FROM pool JOIN passages USING (passage_key) JOIN queries"
            " USING (query_key)"
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
    return GraderInput(question.text or "", question.answer_key or "", question.choices), next(
        iter(texts.values())
    )


def judged_sample(
    project: Project, spec: GraderSpec, source: str, size: int = 10
) -> list[tuple[str, str, int]]:
    """Return judged passages of the pool on which a grader can be tried: query id, passage id and
    judgment.

    The passages are spread over the values of the judgments and, within a value, over the queries.
    The same data gives the same sample.

    Args:
        source: name of the source of the judgments.
        size: number of passages, fewer if the project has fewer.
    """
    order = "md5(query_id || ' ' || passage_id)"
    sql = (
        "WITH judged AS (SELECT query_id, passage_id, value,"
        f"  row_number() OVER (PARTITION BY value, query_id ORDER BY {order}) AS within"
        f"  FROM {visible_rows(project, 'judgments')} JOIN sources USING (source_key)"
        "  JOIN pool USING (query_key, passage_key) JOIN queries USING (query_key)"
        " JOIN passages USING (passage_key)"
        "  WHERE name = $source AND pool.text_key IS NOT NULL"
        f"  AND query_key IN (SELECT query_key FROM {asked_bank(spec)})),"
        " spread AS (SELECT *, row_number() OVER (PARTITION BY value"
        f" ORDER BY within, {order}) AS turn FROM judged) SELECT query_id, passage_id, value"
        f" FROM spread ORDER BY turn, value DESC, {order} LIMIT $size"
    )
    given = {"source": source, "size": size, "version": latest_version(project)}
    return project.cached(
        ("judged sample", spec.fingerprint, source, size), lambda: list(project.rows(sql, given))
    )


def has_only_samples(project: Project, spec: GraderSpec) -> bool:
    """Return whether a grader has graded nothing yet, except samples of judged passages."""
    jobs = find_jobs(project, "grading", subject=known_key(project, spec))
    return all(job.request.get("passages") for job in jobs)


@dataclass(frozen=True)
class SampledPassage:
    """A judged passage with the grader's label; None without a label, which is not 0."""

    query_id: str
    passage_id: str
    judgment: int
    label: int | None


@dataclass(frozen=True)
class SampleOutcome:
    """The result of grading a sample of judged passages.

    Args:
        passages: the sample.
        min_rating, min_judgment: the label and the judgment from which a passage counts as
            relevant.
        pairs, failed, calls: numbers of the jobs that graded samples with this grader.
        cost: their cost; None without a price.
    """

    passages: list[SampledPassage]
    min_rating: int
    min_judgment: int
    pairs: int
    failed: int
    calls: int
    cost: float | None

    @property
    def labelled(self) -> int:
        """Number of passages with a label."""
        return sum(tried.label is not None for tried in self.passages)

    @property
    def agreeing(self) -> int:
        """Number of passages that label and judgment both count as relevant, or both as not
        relevant.
        """
        return sum(
            tried.label is not None
            and (tried.label >= self.min_rating) == (tried.judgment >= self.min_judgment)
            for tried in self.passages
        )

    def cost_of(self, pairs: int) -> float | None:
        """Return the cost of some pairs at the price of the sample; None if it is unknown."""
        return None if self.cost is None or not self.pairs else self.cost / self.pairs * pairs


def sample_outcome(
    project: Project, spec: GraderSpec, sample: Sequence[tuple[str, str, int]], policy: Policy
) -> SampleOutcome | None:
    """Return the labels of a sample by a grader, and the usage of the jobs that graded samples.

    Args:
        sample: as `judged_sample` returns it.
        policy: the scoring settings; its grader is replaced.

    Returns:
        None if the grader has graded nothing yet.
    """
    stored = next(
        (
            grader
            for grader in stored_graders(project)
            if grader.spec.fingerprint in spec.fingerprints
        ),
        None,
    )
    if stored is None or not (stored.grades or stored.failures):
        return None
    base = basis(project, replace(policy, grader=stored.spec.fingerprint, rating=Policy.rating))
    labels = label_qrels(project, base)
    spent = [
        job
        for job in find_jobs(project, "grading", subject=stored.key)
        if job.request.get("passages")
    ]
    # Without a price, a job records a cost of 0.
    priced = bool(spent) and all(
        (job.request.get("told") or {}).get("cost") is not None for job in spent
    )
    return SampleOutcome(
        [
            SampledPassage(query, passage, value, labels.get(query, {}).get(passage))
            for query, passage, value in sample
        ],
        base.min_rating,
        policy.min_judgment,
        sum(job.done + job.failed for job in spent),
        sum(job.failed for job in spent),
        sum(job.calls or 0 for job in spent),
        sum(job.cost or 0.0 for job in spent) if priced else None,
    )
