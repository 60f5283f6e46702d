"""Diagnosis of questions: which systems they separate, which passages answer them, and which only they cover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import bank
from ..bank import asked_questions, overview
from ..labels import MISSING, Policy, QueryRatings, Ratings, basis, ratings_beside, scored
from ..measures import Array, trec_order
from ..records import judgments, rankings
from ..store import Project
from ..types import Question
from ._question_verdicts import MEANINGS, Verdict, answer_shares, question_verdicts


@dataclass(frozen=True)
class QuestionDiagnosis:
    """Statistics of one active question under a policy.

    Args:
        graded: share of the pool with a grade for the question, 0 to 1.
        answered: share of the graded pool that answers the question at the min rating; None without grades.
        non_relevant: share of the passages that answer the question and are judged non-relevant, among all judged
            passages that answer it; None without such passages.
        only_here: share of the query's judged relevant passages that answer only this question; None without relevant
            passages.
        systems: share of the systems that answer the question down to the cutoff, among the systems with a usable grade
            for it; None without such systems.
        verdict: how the question separates systems, see `question_verdicts`; None for an "avoid" question.
    """

    question_id: str
    graded: float
    answered: float | None
    non_relevant: float | None
    only_here: float | None
    systems: float | None
    verdict: Verdict | None


@dataclass(frozen=True)
class StrayAnswer:
    """A question with the judged non-relevant passages that answer it."""

    question: Question
    passages: list[str]


@dataclass(frozen=True)
class QueryDiagnosis:
    """Statistics of the questions of one query.

    Args:
        questions: statistics by question id, for active questions that the grader can grade.
        strays: questions that judged non-relevant passages answer, most such passages first.
        uncovered: ids of graded passages with a relevant judgment that answer no question.
        relevant: number of graded passages with a relevant judgment.
    """

    questions: dict[str, QuestionDiagnosis]
    strays: list[StrayAnswer]
    uncovered: list[str]
    relevant: int


def diagnose(
    project: Project, policy: Policy, query_id: str, questions: Sequence[Question], source: str | None
) -> QueryDiagnosis:
    """Return statistics of the questions of one query, saved or not.

    Args:
        questions: all questions of the query, as saved or edited.
        source: source of the judgments; None for no judgments. Passages are relevant from `policy.min_judgment` on.

    Raises:
        InputError: the grader or version is unknown.
    """
    base = basis(project, policy)
    saved = asked_questions(project, base.version, query_id)
    ratings = ratings_beside(project, base, query_id, saved, questions)
    active = [question for question in scored(questions, base.grader) if question.weight != 0]
    known = ratings.of(active)
    answers = known >= base.min_rating
    judged = judgments(project, source).get(query_id, {}) if source else {}
    has_judgment = np.array([passage in judged for passage in ratings.passage_ids], bool)
    enough = np.array([judged.get(passage, 0) >= policy.min_judgment for passage in ratings.passage_ids], bool)
    relevant, non_relevant = has_judgment & enough, has_judgment & ~enough
    answered_by = _answers_of_systems(project, ratings, query_id, policy, known, answers)
    shares = answer_shares(answered_by)
    positive = np.array([question.weight > 0 for question in active], bool)
    others = answers[:, positive].sum(axis=1)
    told = question_verdicts(answered_by[:, positive])
    verdicts = dict(zip(np.flatnonzero(positive).tolist(), (verdict for verdict, _ in told), strict=True))
    found = {}
    for column, question in enumerate(active):
        answered = answers[:, column]
        graded = (known[:, column] != MISSING) & ratings.pooled
        alone = answered & relevant & (others == int(question.weight > 0))
        found[question.question_id] = QuestionDiagnosis(
            question.question_id,
            graded=_share(graded[ratings.pooled]) or 0.0,
            answered=_share(answered[graded]),
            non_relevant=_share(non_relevant[answered & has_judgment]),
            only_here=_share(alone[relevant]),
            systems=shares[column],
            verdict=verdicts.get(column),
        )
    strays = [
        StrayAnswer(question, [ratings.passage_ids[row] for row in np.flatnonzero(answers[:, column] & non_relevant)])
        for column, question in enumerate(active)
        if (answers[:, column] & non_relevant).any()
    ]
    graded_somewhere = (known[:, positive] != MISSING).any(axis=1)
    uncovered = np.flatnonzero(relevant & graded_somewhere & (others == 0))
    return QueryDiagnosis(
        found,
        sorted(strays, key=lambda stray: -len(stray.passages)),
        sorted((ratings.passage_ids[row] for row in uncovered), key=lambda passage: -judged[passage]),
        int((relevant & graded_somewhere).sum()),
    )


def _answers_of_systems(
    project: Project,
    ratings: QueryRatings,
    query_id: str,
    policy: Policy,
    known: Ratings,
    answers: NDArray[np.bool_],
) -> Array:
    """Return, systems x questions, whether the system answers the question down to the cutoff: 1, 0, or NaN without a
    usable grade."""
    row_of = {passage: row for row, passage in enumerate(ratings.passage_ids)}
    runs = [by_query.get(query_id) for by_query in rankings(project).values()]
    found = np.full((len(runs), known.shape[1]), 0.0 if policy.skipped == "zero" else np.nan)
    for row, scores in enumerate(runs):
        if scores is not None:
            top = [row_of[passage] for passage in trec_order(scores, policy.cutoff) if passage in row_of]
            found[row] = np.where((known[top] != MISSING).any(axis=0), answers[top].any(axis=0), np.nan)
    # If no system has a grade for a question, systems that skipped the query have no value either.
    ranked = [row for row, scores in enumerate(runs) if scores is not None]
    found[:, np.isnan(found[ranked]).all(axis=0)] = np.nan
    return found


def _share(flags: NDArray[np.bool_]) -> float | None:
    return float(flags.mean()) if flags.size else None


def bank_summary(project: Project, policy: Policy, source: str | None) -> Mapping[Verdict, int]:
    """Return the number of questions in the bank by verdict, in the order of `MEANINGS`.

    Raises:
        InputError: the grader or version is unknown.
    """
    base = basis(project, policy)

    def compute() -> dict[Verdict, int]:
        counts = Counter[Verdict | None]()
        for query in overview(project):
            questions = bank.questions(project, base.version, query.query_id)
            diagnosed = diagnose(project, policy, query.query_id, questions, source).questions.values()
            counts.update(diagnosis.verdict for diagnosis in diagnosed)
        return {verdict: counts[verdict] for verdict in MEANINGS if counts[verdict]}

    return project.cached(("bank summary", *base.rated, base.version, policy, source), compute)
