"""What an override does: the label with and without it, and the leaderboard with one rating changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core import bank
from core.bank import AT_VERSION
from core.changes import SystemChange
from core.comparison import DEFAULT_MEASURE, Shift, correlation_shift, official_measure
from core.errors import InputError
from core.grades import bank_for
from core.intent_measures import make_intent_evaluator
from core.leaderboard import Leaderboard, boards, cover_cutoff, leaderboard, order_systems, rankings, score_runs
from core.measures import parse_measure, trec_order
from core.overrides import Override, overrides
from core.policy import Policy
from core.project import Project
from core.ratings import MISSING, QueryRatings, Ratings, coverage_of, labels_of, load_ratings, scored, weights_of
from core.scores import Basis, basis
from core.types import Question


@dataclass(frozen=True)
class Effect:
    """What another rating for one question and passage does.

    Args:
        label_before, label_after: of the passage; None for no label.
        systems: those that move in rank or score, those that move most first.
        shift: of the correlation with the official board; None where there is none.
    """

    label_before: int | None
    label_after: int | None
    before: Leaderboard
    after: Leaderboard
    systems: list[SystemChange]
    shift: Shift | None


def rating_effect(
    project: Project,
    measure: str,
    policy: Policy,
    question_id: str,
    passage_id: str,
    ratings: tuple[int | None, int | None],
    against: str | None = None,
) -> Effect:
    """What changes when the rating of a question for a passage goes from one value to another.

    Reads and scores only the queries that ask this question; the rest comes from the board of the policy.

    Args:
        measure: orders the systems.
        ratings: before and after; None for no usable grade.
        against: the official board, a source of judgments or an imported leaderboard.

    Raises:
        InputError: no board can be made, or there is no such question, passage, grader or version.
    """
    board = leaderboard(project, measure, policy=policy)
    base = basis(project, policy)
    states = [_scored_again(project, base, board, question_id, passage_id, rating) for rating in ratings]
    (label_before, before), (label_after, after) = states
    shift = None
    if against is not None:
        shift = correlation_shift(before, after, _official(project, measure, policy, against))
    return Effect(label_before, label_after, before, after, _moved(before, after), shift)


def _official(project: Project, measure: str, policy: Policy, against: str) -> Leaderboard:
    wanted = official_measure(measure, policy)
    if parse_measure(wanted).needs_intents:
        wanted = DEFAULT_MEASURE
    return leaderboard(project, dict(boards(project)).get(against, wanted), against, policy)


def override_labels(project: Project, policy: Policy) -> list[tuple[Override, int | None, int | None]]:
    """Every override that nobody withdrew, newest first, with the label of its passage without it and with it.

    All others are in place both times. One that is stale, that a newer one hides, or that the policy does not let
    count makes no difference.

    Raises:
        InputError: there is no such grader or version.
    """
    base = basis(project, policy)
    found = overrides(project)
    if not found:
        return []
    machine: dict[tuple[str, str], dict[str, tuple[float, int | None]]] = {}
    for query_id, passage_id, question_id, weight, rating in project.rows(
        "SELECT query_id, passage_id, coalesce(question_id, query_id), weight, g.rating"
        " FROM (SELECT DISTINCT query_key, passage_key FROM overrides JOIN questions USING (question_key)"
        "  WHERE withdrawn_at IS NULL) touched JOIN pool USING (query_key, passage_key)"
        f" JOIN {bank_for(base.grader.spec)} b USING (query_key) LEFT JOIN questions USING (question_key)"
        " JOIN queries q ON q.query_key = touched.query_key JOIN passages USING (passage_key)"
        " LEFT JOIN (SELECT question_text_key, passage_text_key, rating FROM grades WHERE grader_key = $grader) g"
        " ON g.question_text_key = b.text_key AND g.passage_text_key = pool.text_key",
        base.parameters,
    ):
        machine.setdefault((query_id, passage_id), {})[question_id] = (weight, rating)
    counting = [one for one in found if base.overridden and not one.stale]
    by_passage: dict[tuple[str, str], list[Override]] = {}
    for one in counting:
        by_passage.setdefault((one.query_id, one.passage_id), []).append(one)

    def label(place: tuple[str, str], out: Override | None) -> int | None:
        given = dict(machine.get(place, {}))
        # The newest comes last, so that it is the one that stays.
        for one in reversed(by_passage.get(place, [])):
            if one is not out and one.question_id in given:
                given[one.question_id] = (given[one.question_id][0], one.rating)
        part = [(w if policy.weighted else 1.0, r) for w, r in given.values() if w > 0]
        row = np.array([[MISSING if r is None else r for _, r in part]], np.int8).reshape(1, len(part))
        value = int(labels_of(row, np.array([w for w, _ in part], float), policy.label)[0])
        return None if value == MISSING else value

    places = [(one.query_id, one.passage_id) for one in found]
    return [(one, label(place, one), label(place, None)) for one, place in zip(found, places, strict=True)]


def _scored_again(
    project: Project, base: Basis, board: Leaderboard, question_id: str, passage_id: str, rating: int | None
) -> tuple[int | None, Leaderboard]:
    """The label of a passage, and the board, with one rating set to a value."""
    text, own_query = _question(project, base, question_id)
    per_query = {run: dict(scores) for run, scores in board.per_query.items()}
    query_ids = list(board.query_ids)
    label: int | None = None
    for query_id in _asking(project, base, question_id):
        questions = scored(bank.questions(project, base.version, query_id), base.grader)
        known = load_ratings(project, base, query_id, questions)
        cells = known.of(questions).copy()
        if passage_id in known.passage_ids:
            row = known.passage_ids.index(passage_id)
            same_text = known.text_keys == known.text_keys[row]
            same_words = np.array([(q.text or q.question_id).strip() == text for q in questions], bool)
            cells[np.ix_(same_text, same_words)] = MISSING if rating is None else rating
            if query_id == own_query and known.pooled[row]:
                value = int(labels_of(cells, weights_of(questions, base.policy), base.policy.label)[row])
                label = None if value == MISSING else value
        scores = _query_scores(project, base, board.measure, known, questions, cells)
        for run, by_query in per_query.items():
            by_query.pop(query_id, None)
            if scores is not None and run in scores:
                by_query[query_id] = scores[run]
        if scores is None and query_id in query_ids:
            query_ids.remove(query_id)
        elif scores is not None and query_id not in query_ids:
            query_ids.append(query_id)
    systems = order_systems(per_query, query_ids, base.policy)
    return label, replace(board, per_query=per_query, query_ids=query_ids, systems=systems)


def _question(project: Project, base: Basis, question_id: str) -> tuple[str, str]:
    """The words of a question and the query that it belongs to."""
    rows = project.rows(
        f"SELECT coalesce(t.text, question_id), query_id FROM {AT_VERSION} JOIN question_texts t USING (text_key)"
        " JOIN questions USING (question_key) JOIN queries q USING (query_key) WHERE question_id = $question",
        {"version": base.version, "question": question_id},
    )
    if not rows:
        raise InputError(f"There is no question {question_id}.")
    return str(rows[0][0]).strip(), str(rows[0][1])


def _asking(project: Project, base: Basis, question_id: str) -> list[str]:
    """The queries that ask a question in the same words."""
    return [
        query_id
        for (query_id,) in project.rows(
            f"WITH bank AS (SELECT * FROM {AT_VERSION}) SELECT DISTINCT query_id FROM bank"
            " JOIN questions USING (question_key) JOIN queries USING (query_key) WHERE bank.text_key ="
            " (SELECT text_key FROM bank JOIN questions USING (question_key) WHERE question_id = $question)",
            {"version": base.version, "question": question_id},
        )
    ]


def _query_scores(
    project: Project, base: Basis, measure: str, known: QueryRatings, questions: Sequence[Question], cells: Ratings
) -> dict[str, float] | None:
    """Scores of every run on one query from its ratings; None where the query has nothing to score."""
    query_id = known.query_id
    answered = {run: by_query[query_id] for run, by_query in rankings(project).items() if query_id in by_query}
    weights = weights_of(questions, base.policy)
    cutoff = cover_cutoff(measure, base.policy)
    if cutoff is not None:
        row_of = {passage: row for row, passage in enumerate(known.passage_ids)}
        found = {
            run: coverage_of(
                cells, weights, [row_of[passage] for passage in trec_order(scores, cutoff)], base.min_rating
            )
            for run, scores in answered.items()
        }
        return {run: score for run, score in found.items() if score is not None} if (weights > 0).any() else None
    info = parse_measure(measure)
    pooled = np.flatnonzero(known.pooled)
    if info.needs_intents and info.cutoff is not None:
        positive = [(column, q.question_id) for column, q in enumerate(questions) if q.weight > 0]
        intents = {
            known.passage_ids[row]: {
                key: int(cells[row, column] >= base.min_rating)
                for column, key in positive
                if cells[row, column] != MISSING
            }
            for row in pooled
        }
        intents = {passage: answers for passage, answers in intents.items() if answers}
        evaluate = make_intent_evaluator(info, {query_id: intents})
        gains = {run: evaluate({query_id: scores}).get(query_id, 0.0) for run, scores in answered.items()}
        return gains if intents else None
    values = labels_of(cells, weights, base.policy.label)
    labels = {known.passage_ids[row]: int(values[row]) for row in pooled if values[row] != MISSING}
    if not labels:
        return None
    runs = {run: {query_id: scores} for run, scores in answered.items()}
    by_run = score_runs(runs, [measure], {query_id: labels}, base.min_rating)
    return {run: scores[measure][query_id] for run, scores in by_run.items() if query_id in scores[measure]}


def _moved(before: Leaderboard, after: Leaderboard) -> list[SystemChange]:
    old = {system.run: system for system in before.systems}
    moved = [
        SystemChange(now.run, old[now.run].score, now.score, old[now.run].rank, now.rank)
        for now in after.systems
        if now.run in old and (old[now.run].score, old[now.run].rank) != (now.score, now.rank)
    ]
    return sorted(moved, key=lambda s: (s.rank_before == s.rank_after, -abs(_gain(s))))


def _gain(system: SystemChange) -> float:
    return (system.score_after or 0.0) - (system.score_before or 0.0)
