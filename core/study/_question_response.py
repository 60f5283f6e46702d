"""Item response theory on the question bank: which questions separate top systems, and which are uninformative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Literal

import numpy as np

from .. import bank
from ..errors import InputError
from ..labels import MISSING, RANKED, Basis, Policy, basis, first_answers, load_ratings, scored
from ..measures import Array
from ..measures.item_response import (
    FEWEST,
    analyse,
    fit_graded,
    graded_information,
    information,
)
from ..records import readable_texts
from ..store import Project
from ..text import how_many
from ._question_verdicts import SUGGESTIONS, Verdict, answer_shares, question_verdicts

Examinees = Literal["systems", "passages"]

TOP = 0.25
"""Share of the examinees, best abilities first, that are the top."""
# Digits of abilities; later ones depend on where the optimizer stops, so rounding makes equal abilities equal.
_DIGITS = 3


@dataclass(frozen=True)
class QuestionWorth:
    """Statistics of one question from the answers of the examinees.

    Args:
        examinees: number of examinees with a usable grade for the question.
        answered: share of these that answer it at the min rating; None without such examinees.
        discrimination, difficulty: parameters of the model; the difficulty is for the min rating. None if all or no
            examinees answer the question.
        at_top, overall: mean information at the abilities of the top quarter, and of all examinees. None if all or no
            examinees answer the question.
        verdict: how the question separates systems, see `question_verdicts`.
        alike: for a redundant question, the id of the earlier question of the same query that it repeats.
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
    """Statistics of a bank's questions with systems as examinees, or of a query's questions with its passages.

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

    def as_dict(self) -> dict[str, Any]:
        """Return the statistics as plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _Asked:
    """Answers of examinees to questions: examinees, questions, and a table with NaN for unknown answers."""

    examinees: list[str]
    items: list[tuple[str, str, str, float]]
    answers: Array
    """examinees x questions: 1 answered at the min rating, 0 not answered, NaN unknown."""


def bank_worth(
    project: Project, policy: Policy, query_id: str | None = None, examinees: Examinees = "systems"
) -> BankWorth:
    """Return statistics of each active question of positive weight, with systems or passages as examinees.

    A system answers a question if one of its top k passages answers it at the min rating. The model is 2PL, with a
    joint fit of abilities and questions. A passage answers a question at the level of its rating. The model is the
    graded response model, with abilities integrated out. Answers without a usable grade are missing. If a system
    skipped a query, its answers count as 0 or as missing, as the policy states.

    Args:
        query_id: restricts the questions to this query; needed for passages.
        examinees: `systems` or `passages`.

    Raises:
        InputError: the grader, version or query is unknown; the grader grades whole queries; passages are requested for
            all queries; or there are too few answers.
    """
    base = basis(project, policy)
    if base.grader.spec.method == "direct":
        raise InputError(
            "grader-of-whole-queries",
            f"The grader '{base.grader.spec.name}' does not grade questions.",
            "Choose another grader with --grader.",
        )
    if query_id is not None:
        bank.find_query(project, query_id)
    if examinees == "passages":
        if query_id is None:
            raise InputError("option-missing", "Analysing passages needs a query.", "Give --query Q.")
        return _of_passages(project, base, query_id)
    return project.cached(
        ("bank worth", base.key, policy, query_id, readable_texts(project)),
        lambda: _of_systems(project, base, query_id),
    )


def _of_systems(project: Project, base: Basis, query_id: str | None) -> BankWorth:
    asked = _checked(_systems(project, base, query_id))
    told = analyse(
        asked.examinees,
        [question for _, question, _, _ in asked.items],
        asked.answers,
        model="2pl",
        bootstrap=0,
        held_out=False,
    )
    theta, items = told.fit.theta, told.fit.items
    told_by = information(theta, items)
    return _worth("systems", asked, _verdicts(asked), theta, told_by, items.d, items.b, told.remarks)


def _of_passages(project: Project, base: Basis, query_id: str) -> BankWorth:
    questions = [q for q in scored(bank.questions(project, base.version, query_id), base.grader) if q.weight > 0]
    ratings = load_ratings(project, base, query_id, questions)
    known = ratings.of(questions)
    rows = ratings.pooled & (known != MISSING).any(axis=1)
    levels = np.where(known[rows] == MISSING, np.nan, known[rows].astype(float))
    names = [passage for passage, kept in zip(ratings.passage_ids, rows, strict=True) if kept]
    items = [(query_id, q.question_id, q.shown, q.weight) for q in questions]
    answers = np.where(np.isnan(levels), np.nan, (levels >= base.min_rating).astype(float))
    asked = _checked(_Asked(names, items, answers))
    found = fit_graded(levels, base.grader.spec.max_rating)
    difficulty = found.items.b[:, base.min_rating - 1] if base.min_rating else found.items.b[:, 0]
    told = graded_information(found.theta, found.items)
    few = (
        [f"With only {how_many(len(items), 'questions')}, the estimated abilities are imprecise."]
        if len(items) < FEWEST
        else []
    )
    verdicts = _verdicts(_systems(project, base, query_id))
    return _worth("passages", asked, verdicts, found.theta, told, found.items.d, difficulty, few)


def _systems(project: Project, base: Basis, query_id: str | None) -> _Asked:
    rows = project.rows(
        "SELECT name, query_id, question_id, coalesce(t.text, question_id), r.weight, first, usable FROM"
        f" {first_answers(base, RANKED, ('run_key', 'query_key'))} a JOIN runs USING (run_key)"
        " JOIN queries USING (query_key) JOIN bank_at($version) r USING (question_key)"
        f" JOIN {readable_texts(project)} t USING (text_key) JOIN questions USING (question_key)"
        " WHERE w > 0 AND ($query IS NULL OR query_id = $query)"
        " ORDER BY a.query_key, r.position, question_key, run_key",
        base.parameters | {"cutoff": base.policy.cutoff, "query": query_id},
    )
    systems = [name for (name,) in project.rows("SELECT name FROM runs ORDER BY run_key")]
    items = list(dict.fromkeys((query, question, text, weight) for _, query, question, text, weight, _, _ in rows))
    at_item = {(query, question): i for i, (query, question, _, _) in enumerate(items)}
    at_system = {name: i for i, name in enumerate(systems)}
    skipped = 0.0 if base.policy.skipped == "zero" else np.nan
    answers = np.full((len(systems), len(items)), skipped)
    graded = np.zeros(len(items), bool)
    for name, query, question, _, _, first, usable in rows:
        row, column = at_system[name], at_item[query, question]
        answers[row, column] = float(first is not None) if usable else np.nan
        graded[column] |= usable > 0
    # If no system has a grade, systems that skipped the query have no value either.
    answers[:, ~graded] = np.nan
    return _Asked(systems, items, answers)


def _checked(asked: _Asked) -> _Asked:
    if np.isnan(asked.answers).all():
        raise InputError(
            "nothing-graded", "No question has a usable grade yet.", "Grade passages first: exam grade --grader NAME."
        )
    return asked


_Verdicts = dict[tuple[str, str], tuple[Verdict, str | None]]
"""By query and question: the verdict, and for a redundant question the question that it repeats."""


def _verdicts(asked: _Asked) -> _Verdicts:
    found: _Verdicts = {}
    # The items of a query are consecutive.
    for query_id, of_query in groupby(range(len(asked.items)), key=lambda i: asked.items[i][0]):
        members = list(of_query)
        ids = [asked.items[i][1] for i in members]
        for question_id, (verdict, same) in zip(ids, question_verdicts(asked.answers[:, members]), strict=True):
            found[query_id, question_id] = verdict, None if same is None else ids[same]
    return found


def _worth(
    examinees: Examinees,
    asked: _Asked,
    verdicts: _Verdicts,
    theta: Array,
    told: Array,
    d: Array,
    b: Array,
    remarks: Sequence[str],
) -> BankWorth:
    order = np.argsort(-np.round(theta, _DIGITS), kind="stable")
    top = max(1, round(TOP * len(order)))
    at_top, overall = told[order[:top]].mean(axis=0), told.mean(axis=0)
    known = (~np.isnan(asked.answers)).sum(axis=0)
    shares = answer_shares(asked.answers)
    varied = np.array([share is not None and 0 < share < 1 for share in shares], bool)
    rows = []
    for i, (query_id, question_id, text, weight) in enumerate(asked.items):
        verdict, same = verdicts.get((query_id, question_id), ("no systems", None))
        rows.append(
            QuestionWorth(
                query_id,
                question_id,
                text,
                weight,
                int(known[i]),
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
    abilities = {asked.examinees[i]: float(relative[i]) for i in order}
    return BankWorth(examinees, abilities, top, rows, list(remarks))
