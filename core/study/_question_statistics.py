"""Statistics of questions: systems that they separate, passages, and item response."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np

from ..bank import asked_questions, find_query, list_questions as bank_questions, query_overviews
from ..errors import InputError, check_rules
from ..grouping import nest_triples
from ..labels import (
    MISSING,
    RANKED,
    Basis,
    Policy,
    QueryRatings,
    Ratings,
    basis,
    first_answers,
    gradable_questions,
    load_ratings,
    ratings_beside,
)
from ..measures import Array, Flags, trec_order
from ..measures.item_response import (
    FEWEST,
    analyse_responses,
    answer_information,
    fit_graded,
    graded_information,
    item_rest,
)
from ..records import ranking_scores, readable_texts, source_judgments
from ..store import Project, cached
from ..text import how_many
from ..types import Question

Examinees = Literal["systems", "passages"]
Verdict = Literal[
    "separates the top",
    "separates lower down",
    "universal",
    "hard",
    "redundant",
    "unclear",
    "not graded",
    "no systems",
]

UNIVERSAL = 0.8
"""If more than this share of the systems answers a question, it hardly separates systems."""
HARD = 0.1
"""If less than this share of the systems answers a question, it affects few systems."""
WEAK = 0.1
ALIKE = 0.9
FEWEST_EACH = 3
"""Two questions are compared only if at least this many systems answer each, and at least as many
do not.
"""

_MEANINGS: dict[Verdict, str] = {
    "separates the top": "at most half of the {} answer the question, mostly good ones",
    "separates lower down": (
        "more than half of the {} answer the question, so it separates the weaker ones"
    ),
    "universal": "over 80% of the {} answer the question, so it separates few of them",
    "hard": "under 10% of the {} answer the question, so it changes few scores",
    "redundant": "the same {} answer an earlier question of the query (correlation .9 or more)",
    "unclear": "weak {} answer the question as often as good ones (correlation below .1)",
    "not graded": "no system has a usable grade for the question",
    "no systems": "the project has no runs",
}
SUGGESTIONS: dict[Verdict, str] = {
    "separates the top": "keep the question; more weight separates the best systems more",
    "separates lower down": "keep the question; more weight hardly affects the best systems",
    "universal": "retire the question, lower its weight, or make it harder",
    "hard": "check if any passage can answer the question",
    "redundant": "keep only one of the two questions, or halve both weights",
    "unclear": "check the wording and the passages that answer the question",
    "not graded": "grade the question first",
    "no systems": "import runs",
}


def verdict_meaning(verdict: Verdict, examinees: Examinees = "systems") -> str:
    """Return the reason for a verdict on a question, without a final stop."""
    return _MEANINGS[verdict].format(examinees)


def question_verdicts(answers: Array) -> list[tuple[Verdict, int | None]]:
    """Return the verdict on each question of one query, by the rules of
    `docs/how-to/curate-questions.md`.

    Args:
        answers: systems x questions of positive weight, in their order: 1 answered at the min
            rating, 0 not answered, NaN without a usable grade.

    Returns:
        For each question, its verdict, and for a redundant question the column of the earlier
        question that it repeats.
    """
    alike, rest = _phi_coefficients(answers) >= ALIKE, item_rest(answers)
    verdicts: list[tuple[Verdict, int | None]] = []
    for i, known_share in enumerate(answer_shares(answers)):
        same = next(
            (other for other in range(i) if alike[i, other] and verdicts[other][1] is None), None
        )
        share = -1.0 if known_share is None else known_share
        rules: list[tuple[bool, Verdict]] = [
            (len(answers) == 0, "no systems"),
            (known_share is None, "not graded"),
            (share > UNIVERSAL, "universal"),
            (share < HARD, "hard"),
            (same is not None, "redundant"),
            (bool(rest[i] < WEAK), "unclear"),
            (share <= 0.5, "separates the top"),
            (True, "separates lower down"),
        ]
        verdict = next(verdict for fits, verdict in rules if fits)
        verdicts.append((verdict, same if verdict == "redundant" else None))
    return verdicts


def answer_shares(answers: Array) -> list[float | None]:
    """Return, by question, the share of the examinees with a usable grade that answer it; None
    without examinees.
    """
    known = (~np.isnan(answers)).sum(axis=0)
    return [
        float(right / n) if n else None
        for right, n in zip(np.nansum(answers, axis=0), known, strict=True)
    ]


def _phi_coefficients(answers: Array) -> Array:
    """Return the phi coefficient of every two questions over the systems with usable grades for
    both.

    It is 0 if fewer than `FEWEST_EACH` systems answer, or do not answer, either question.
    """
    seen = (~np.isnan(answers)).astype(float)
    right = np.nan_to_num(answers)
    both, each = seen.T @ seen, right.T @ seen
    spread = each * (both - each)
    enough = np.minimum(each, both - each) >= FEWEST_EACH
    covariance = both * (right.T @ right) - each * each.T
    phi: Array = np.zeros_like(both)
    np.divide(covariance, np.sqrt(spread * spread.T), out=phi, where=enough & enough.T)
    return phi


@dataclass(frozen=True)
class QuestionDiagnosis:
    """Statistics of one active question under a policy.

    Args:
        graded: share of the pool with a grade for the question, 0 to 1.
        answered: share of the graded pool that answers the question at the min rating; None without
            grades.
        non_relevant: share of the passages that answer the question and are judged non-relevant,
            among all judged passages that answer it; None without such passages.
        only_here: share of the query's judged relevant passages that answer only this question;
            None without relevant passages.
        systems: share of the systems that answer the question down to the cutoff, among the systems
            with a usable grade for it; None without such systems.
        verdict: how the question separates systems, see `question_verdicts`; None for an "avoid"
            question.
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


def diagnose_questions(
    project: Project,
    policy: Policy,
    query_id: str,
    questions: Sequence[Question],
    source: str | None,
) -> QueryDiagnosis:
    """Return statistics of the questions of one query, saved or not.

    Args:
        questions: all questions of the query, as saved or edited.
        source: source of the judgments; None for no judgments. Passages are relevant from
            `policy.min_judgment` on.

    Raises:
        InputError: the grader or version is unknown.
    """
    base = basis(project, policy)
    saved = asked_questions(project, base.version, query_id)
    ratings = ratings_beside(project, base, query_id, saved, questions)
    active = [
        question for question in gradable_questions(questions, base.grader) if question.weight != 0
    ]
    ratings_known = ratings.select_questions(active)
    answers = ratings_known >= base.min_rating
    judged = source_judgments(project, source).get(query_id, {}) if source else {}
    has_judgment = np.array([passage in judged for passage in ratings.passage_ids], bool)
    enough = np.array(
        [judged.get(passage, 0) >= policy.min_judgment for passage in ratings.passage_ids], bool
    )
    relevant, non_relevant = has_judgment & enough, has_judgment & ~enough
    answered_by = _answers_of_systems(project, ratings, query_id, policy, ratings_known, answers)
    shares = answer_shares(answered_by)
    positive = np.array([question.weight > 0 for question in active], bool)
    others = answers[:, positive].sum(axis=1)
    told = question_verdicts(answered_by[:, positive])
    verdicts = dict(
        zip(np.flatnonzero(positive).tolist(), (verdict for verdict, _ in told), strict=True)
    )
    diagnoses = {}
    for column, question in enumerate(active):
        answered = answers[:, column]
        graded = (ratings_known[:, column] != MISSING) & ratings.pooled
        alone = answered & relevant & (others == int(question.weight > 0))
        diagnoses[question.question_id] = QuestionDiagnosis(
            question.question_id,
            graded=_mean_or_none(graded[ratings.pooled]) or 0.0,
            answered=_mean_or_none(answered[graded]),
            non_relevant=_mean_or_none(non_relevant[answered & has_judgment]),
            only_here=_mean_or_none(alone[relevant]),
            systems=shares[column],
            verdict=verdicts.get(column),
        )
    strays = [
        StrayAnswer(
            question,
            [ratings.passage_ids[row] for row in np.flatnonzero(answers[:, column] & non_relevant)],
        )
        for column, question in enumerate(active)
        if (answers[:, column] & non_relevant).any()
    ]
    graded_somewhere = (ratings_known[:, positive] != MISSING).any(axis=1)
    uncovered = np.flatnonzero(relevant & graded_somewhere & (others == 0))
    return QueryDiagnosis(
        diagnoses,
        sorted(strays, key=lambda stray: -len(stray.passages)),
        sorted(
            (ratings.passage_ids[row] for row in uncovered), key=lambda passage: -judged[passage]
        ),
        int((relevant & graded_somewhere).sum()),
    )


def _answers_of_systems(
    project: Project,
    ratings: QueryRatings,
    query_id: str,
    policy: Policy,
    question_ratings: Ratings,
    answers: Flags,
) -> Array:
    """Return, systems x questions, whether the system answers the question down to the cutoff: 1,
    0, or NaN without a usable grade."""
    row_of = {passage: row for row, passage in enumerate(ratings.passage_ids)}
    runs = [by_query.get(query_id) for by_query in ranking_scores(project).values()]
    matrix = np.full(
        (len(runs), question_ratings.shape[1]), 0.0 if policy.skipped == "zero" else np.nan
    )
    for row, scores in enumerate(runs):
        if scores is not None:
            top = [
                row_of[passage]
                for passage in trec_order(scores, policy.cutoff)
                if passage in row_of
            ]
            matrix[row] = np.where(
                (question_ratings[top] != MISSING).any(axis=0), answers[top].any(axis=0), np.nan
            )
    # If no system has a grade for a question, systems that skipped the query have no value either.
    ranked = [row for row, scores in enumerate(runs) if scores is not None]
    matrix[:, np.isnan(matrix[ranked]).all(axis=0)] = np.nan
    return matrix


def _mean_or_none(flags: Flags) -> float | None:
    return float(flags.mean()) if flags.size else None


@cached()
def bank_summary(project: Project, policy: Policy, source: str | None) -> Mapping[Verdict, int]:
    """Return the number of questions in the bank by verdict, in the order of `Verdict`.

    Raises:
        InputError: the grader or version is unknown.
    """
    base = basis(project, policy)
    counts = Counter[Verdict | None]()
    for query in query_overviews(project):
        questions = bank_questions(project, base.version, query.query_id)
        diagnosed = diagnose_questions(
            project, policy, query.query_id, questions, source
        ).questions.values()
        counts.update(diagnosis.verdict for diagnosis in diagnosed)
    return {verdict: counts[verdict] for verdict in _MEANINGS if counts[verdict]}


TOP = 0.25
"""Share of the examinees, best abilities first, that are the top."""
# Digits of abilities; later ones depend on where the optimizer stops, so rounding makes equal
# abilities equal.
_DIGITS = 3


@dataclass(frozen=True)
class QuestionWorth:
    """Statistics of one question from the answers of the examinees.

    Args:
        examinees: number of examinees with a usable grade for the question.
        answered: share of these that answer it at the min rating; None without such examinees.
        discrimination, difficulty: parameters of the model; the difficulty is for the min rating.
            None if all or no examinees answer the question.
        at_top, overall: mean information at the abilities of the top quarter, and of all examinees.
            None if all or no examinees answer the question.
        verdict: how the question separates systems, see `question_verdicts`.
        alike: for a redundant question, the id of the earlier question of the same query that it
            repeats.
        suggestion: proposed change of the question's weight, as a phrase.
    """

    query_id: str
    question_id: str
    text: str
    weight: float
    examinees: int
    answered: float | None
    discrimination: float | None
    difficulty: float | None
    at_top: float | None
    overall: float | None
    verdict: Verdict
    alike: str | None
    suggestion: str


@dataclass(frozen=True)
class BankWorth:
    """Statistics of a bank's questions with systems as examinees, or of a query's questions with
    its passages.

    Args:
        abilities: ability by examinee, best first, relative to the mean of all examinees.
        top: number of these examinees that are the top.
        questions: the questions, by query and position.
        remarks: limits on the reliability of the results.
    """

    examinees: Examinees
    abilities: dict[str, float]
    top: int
    questions: list[QuestionWorth]
    remarks: list[str]


@dataclass(frozen=True)
class _AnswerTable:
    """Answers of examinees to questions: examinees, questions, and a table with NaN for unknown
    answers.
    """

    examinees: list[str]
    items: list[tuple[str, str, str, float]]
    answers: Array
    """examinees x questions: 1 answered at the min rating, 0 not answered, NaN unknown."""


def bank_worth(
    project: Project, policy: Policy, query_id: str | None = None, examinees: Examinees = "systems"
) -> BankWorth:
    """Return statistics of each active question of positive weight, with systems or passages as
    examinees.

    A system answers a question if one of its top k passages answers it at the min rating. The model
    is 2PL, with a joint fit of abilities and questions. A passage answers a question at the level
    of its rating. The model is the graded response model, with abilities integrated out. Answers
    without a usable grade are missing. If a system skipped a query, its answers count as 0 or as
    missing, as the policy states.

    Args:
        query_id: restricts the questions to this query; needed for passages.
        examinees: `systems` or `passages`.

    Raises:
        InputError: the grader, version or query is unknown; the grader grades whole queries;
            passages are requested for all queries; or there are too few answers.
    """
    base = basis(project, policy)
    check_rules(
        (
            base.grader.spec.method == "direct",
            InputError(
                "grader-of-whole-queries",
                f"The grader '{base.grader.spec.name}' does not grade questions.",
                "Choose another grader with --grader.",
            ),
        ),
        (
            examinees == "passages" and query_id is None,
            InputError("option-missing", "Analysing passages needs a query.", "Give --query Q."),
        ),
    )
    if query_id is not None:
        find_query(project, query_id)
        if examinees == "passages":
            return _of_passages(project, base, query_id)
    return project.cached(
        ("bank worth", base.key, policy, query_id, readable_texts(project)),
        lambda: _of_systems(project, base, query_id),
    )


def _of_systems(project: Project, base: Basis, query_id: str | None) -> BankWorth:
    answer_table = _refuse_ungraded(_read_systems(project, base, query_id))
    analysis = analyse_responses(
        answer_table.examinees,
        [question for _, question, _, _ in answer_table.items],
        answer_table.answers,
        model="2pl",
        bootstrap=0,
        held_out=False,
    )
    theta, items = analysis.fit.theta, analysis.fit.items
    told_by = answer_information(theta, items)
    return _make_worth(
        "systems",
        answer_table,
        _verdicts_by_question(answer_table),
        theta,
        told_by,
        items.d,
        items.b,
        analysis.remarks,
    )


def _of_passages(project: Project, base: Basis, query_id: str) -> BankWorth:
    questions = [
        q
        for q in gradable_questions(bank_questions(project, base.version, query_id), base.grader)
        if q.weight > 0
    ]
    ratings = load_ratings(project, base, query_id, questions)
    known = ratings.select_questions(questions)
    rows = ratings.pooled & (known != MISSING).any(axis=1)
    levels = np.where(known[rows] == MISSING, np.nan, known[rows].astype(float))
    names = [passage for passage, kept in zip(ratings.passage_ids, rows, strict=True) if kept]
    items = [(query_id, q.question_id, q.shown_text, q.weight) for q in questions]
    answers = np.where(np.isnan(levels), np.nan, (levels >= base.min_rating).astype(float))
    answer_table = _refuse_ungraded(_AnswerTable(names, items, answers))
    fitted = fit_graded(levels, base.grader.spec.max_rating)
    difficulty = fitted.items.b[:, base.min_rating - 1] if base.min_rating else fitted.items.b[:, 0]
    informative = graded_information(fitted.theta, fitted.items)
    few = (
        [f"With only {how_many(len(items), 'questions')}, the estimated abilities are imprecise."]
        if len(items) < FEWEST
        else []
    )
    verdicts = _verdicts_by_question(_read_systems(project, base, query_id))
    return _make_worth(
        "passages",
        answer_table,
        verdicts,
        fitted.theta,
        informative,
        fitted.items.d,
        difficulty,
        few,
    )


def _read_systems(project: Project, base: Basis, query_id: str | None) -> _AnswerTable:
    rows = project.rows(
        "SELECT name, query_id, question_id, coalesce(t.text, question_id), r.weight, first, usable"
        f" FROM {first_answers(base, RANKED, ('run_key', 'query_key'))} a JOIN runs USING (run_key)"
        " JOIN queries USING (query_key) JOIN bank_at($version) r USING (question_key)"
        f" JOIN {readable_texts(project)} t USING (text_key) JOIN questions USING (question_key)"
        " WHERE w > 0 AND ($query IS NULL OR query_id = $query)"
        " ORDER BY a.query_key, r.position, question_key, run_key",
        base.parameters | {"cutoff": base.policy.cutoff, "query": query_id},
    )
    systems = [name for (name,) in project.rows("SELECT name FROM runs ORDER BY run_key")]
    by_item = nest_triples(
        ((query, question, text, weight), name, float(first is not None) if usable else np.nan)
        for name, query, question, text, weight, first, usable in rows
    )
    skipped = 0.0 if base.policy.skipped == "zero" else np.nan
    answers = np.array(
        [[by_name.get(name, skipped) for by_name in by_item.values()] for name in systems]
    ).reshape(len(systems), len(by_item))
    graded = [not np.isnan(list(by_name.values())).all() for by_name in by_item.values()]
    # If no system has a grade, systems that skipped the query have no value either.
    answers[:, ~np.array(graded, bool)] = np.nan
    return _AnswerTable(systems, list(by_item), answers)


def _refuse_ungraded(answer_table: _AnswerTable) -> _AnswerTable:
    if np.isnan(answer_table.answers).all():
        raise InputError(
            "nothing-graded",
            "No question has a usable grade yet.",
            "Grade passages first: exam grade --grader NAME.",
        )
    return answer_table


_Verdicts = dict[tuple[str, str], tuple[Verdict, str | None]]
"""By query and question: the verdict, and for a redundant question the question that it repeats."""


def _verdicts_by_question(answer_table: _AnswerTable) -> _Verdicts:
    verdicts: _Verdicts = {}
    # The items of a query are consecutive.
    for query_id, of_query in groupby(
        range(len(answer_table.items)), key=lambda i: answer_table.items[i][0]
    ):
        members = list(of_query)
        ids = [answer_table.items[i][1] for i in members]
        for question_id, (verdict, same) in zip(
            ids, question_verdicts(answer_table.answers[:, members]), strict=True
        ):
            verdicts[query_id, question_id] = verdict, None if same is None else ids[same]
    return verdicts


def _make_worth(
    examinees: Examinees,
    answer_table: _AnswerTable,
    verdicts: _Verdicts,
    theta: Array,
    informative: Array,
    d: Array,
    b: Array,
    remarks: Sequence[str],
) -> BankWorth:
    order = np.argsort(-np.round(theta, _DIGITS), kind="stable")
    top = max(1, round(TOP * len(order)))
    at_top, overall = informative[order[:top]].mean(axis=0), informative.mean(axis=0)
    answer_counts = (~np.isnan(answer_table.answers)).sum(axis=0)
    shares = answer_shares(answer_table.answers)
    varied = np.array([share is not None and 0 < share < 1 for share in shares], bool)
    rows = []
    for i, (query_id, question_id, text, weight) in enumerate(answer_table.items):
        verdict, same = verdicts.get((query_id, question_id), ("no systems", None))
        rows.append(
            QuestionWorth(
                query_id,
                question_id,
                text,
                weight,
                int(answer_counts[i]),
                shares[i],
                float(d[i]) if varied[i] else None,
                float(b[i]) if varied[i] else None,
                float(at_top[i]) if varied[i] else None,
                float(overall[i]) if varied[i] else None,
                verdict,
                same,
                SUGGESTIONS[verdict],
            )
        )
    relative = theta - theta.mean()
    abilities = {answer_table.examinees[i]: float(relative[i]) for i in order}
    return BankWorth(examinees, abilities, top, rows, list(remarks))
