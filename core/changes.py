"""Changes between two states of the bank: labels that flip and why, systems that move, what is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core import bank
from core.intent_measures import make_intent_evaluator
from core.leaderboard import Leaderboard, cover_cutoff, leaderboard, order_systems, rankings, score_runs
from core.measures import parse_measure, trec_order
from core.policy import Policy
from core.project import Project
from core.ratings import (
    MISSING,
    QueryRatings,
    Ratings,
    coverage_of,
    labels_of,
    load_ratings,
    scored,
    weights_of,
    wording,
)
from core.scores import Basis, basis
from core.types import GraderSpec, Question

Edits = Mapping[str, Sequence[Question]]
"""By query id: all questions of that query as they would be."""


@dataclass(frozen=True)
class LabelChange:
    """A passage whose label differs between two states.

    Args:
        before, after: the labels; None for no label.
        questions: ids of the changed questions that are responsible: each alone moves the label when
            it is changed, or brings it back when it is not. All changed ones where only several
            together do it.
        unknown: questions behind the label after that have no grade for this passage yet.
    """

    query_id: str
    passage_id: str
    before: int | None
    after: int | None
    questions: tuple[str, ...]
    unknown: int


@dataclass(frozen=True)
class SystemChange:
    """A system on the boards before and after."""

    run: str
    score_before: float | None
    score_after: float | None
    rank_before: int | None
    rank_after: int | None


@dataclass(frozen=True)
class Changes:
    """Everything that differs between two states of the bank under one policy.

    Args:
        before, after: the leaderboards.
        edited: ids of the questions that differ in what can change a score.
        labels: labels that differ, by query in the order of the pool.
        systems: every system, in the order of the board after.
        known, to_grade: pairs that the edited queries need after the change, by text: those that have
            a grade, and those that have none.
        undecided: passages of the pool whose label could still change once those pairs are graded.
    """

    before: Leaderboard
    after: Leaderboard
    edited: tuple[str, ...] = ()
    labels: list[LabelChange] = field(default_factory=list)
    systems: list[SystemChange] = field(default_factory=list)
    known: int = 0
    to_grade: int = 0
    undecided: int = 0


def changes(project: Project, measure: str, policy: Policy, edits: Edits) -> Changes:
    """What other questions for some queries would change.

    Reads and computes only what belongs to the edited queries; the rest comes from the board before,
    which is remembered.

    Args:
        measure: orders the systems.
        policy: its bank version is the state before.
        edits: the state after.

    Raises:
        InputError: the board before cannot be made.
    """
    before = leaderboard(project, measure, policy=policy)
    base = basis(project, policy)
    deltas = [
        delta for query_id, questions in edits.items() if (delta := _delta(project, base, query_id, questions)).edited
    ]
    after = _board_after(project, before, policy, deltas)
    return Changes(
        before=before,
        after=after,
        edited=tuple(question_id for delta in deltas for question_id in delta.edited),
        labels=[change for delta in deltas for change in _label_changes(delta)],
        systems=_system_changes(before, after),
        known=sum(delta.pairs[0] for delta in deltas),
        to_grade=sum(delta.pairs[1] for delta in deltas),
        undecided=sum(_undecided(delta) for delta in deltas),
    )


@dataclass(frozen=True)
class RatingRow:
    """One question and what it gives a passage, before and after a change.

    Args:
        before, after: the ratings; None where the question is not there, not active or not graded.
        graded: whether the wording after has a grade for the passage.
    """

    question_id: str
    text: str
    before: int | None
    after: int | None
    graded: bool


def why(project: Project, policy: Policy, query_id: str, after: Sequence[Question], passage_id: str) -> list[RatingRow]:
    """The ratings behind a passage's label before and after a change, question by question.

    Raises:
        InputError: there is no such grader or version.
    """
    delta = _delta(project, basis(project, policy), query_id, after)
    row = delta.ratings.passage_ids.index(passage_id)

    def rating(question: Question | None) -> int | None:
        if question is None or not question.active:
            return None
        value = int(delta.ratings.of([question])[row, 0])
        return None if value == MISSING else value

    return [
        RatingRow(
            key,
            (delta.after.get(key) or delta.before[key]).text or key,
            rating(delta.before.get(key)),
            rating(delta.after.get(key)),
            key not in delta.after or int(delta.ratings.of([delta.after[key]])[row, 0]) != MISSING,
        )
        for key in {**delta.before, **delta.after}
    ]


def version_edits(project: Project, before: int, after: int) -> dict[str, list[Question]]:
    """The queries whose questions differ between two bank versions, with their questions after.

    Raises:
        InputError: there is no such version.
    """
    old, new = (_by_query(bank.questions(project, version)) for version in (before, after))
    return {query: new.get(query, []) for query in {**old, **new} if old.get(query) != new.get(query)}


def _by_query(questions: Sequence[Question]) -> dict[str, list[Question]]:
    found: dict[str, list[Question]] = {}
    for question in questions:
        found.setdefault(question.query_id, []).append(question)
    return found


def _scoring_part(question: Question | None, spec: GraderSpec) -> tuple[object, ...] | None:
    """What of a question can change a score; None for one that is not there or not active."""
    if question is None or not question.active:
        return None
    return (wording(question, spec), question.kind, question.weight)


@dataclass(frozen=True)
class _Delta:
    """One query before and after."""

    base: Basis
    before: dict[str, Question]
    after: dict[str, Question]
    ratings: QueryRatings

    @cached_property
    def edited(self) -> list[str]:
        """Ids of the questions that differ in what can change a score."""
        ids = {**self.before, **self.after}
        spec = self.base.grader.spec
        return [k for k in ids if _scoring_part(self.before.get(k), spec) != _scoring_part(self.after.get(k), spec)]

    @cached_property
    def labels_before(self) -> Ratings:
        return self.labels(self.before)

    @cached_property
    def labels_after(self) -> Ratings:
        return self.labels(self.after)

    def labels(self, questions: Mapping[str, Question]) -> Ratings:
        """Labels of all passages under some questions, MISSING where there is none."""
        active = scored(list(questions.values()), self.base.grader)
        policy = self.base.policy
        return labels_of(self.ratings.of(active), weights_of(active, policy), policy.label)

    def swapped(self, state: Mapping[str, Question], other: Mapping[str, Question], key: str) -> dict[str, Question]:
        """A state with one question as it is in the other state."""
        changed = {k: question for k, question in state.items() if k != key}
        return changed | ({key: other[key]} if key in other else {})

    @cached_property
    def pairs(self) -> tuple[int, int]:
        """Numbers of pairs, by text, that the query needs after the change: known, and to be graded."""
        active = scored(list(self.after.values()), self.base.grader)
        first_of_wording = {
            wording(q, self.base.grader.spec): column for column, q in reversed(list(enumerate(active)))
        }
        rows = np.flatnonzero(self.ratings.pooled & (self.ratings.text_keys != MISSING))
        _, first_of_text = np.unique(self.ratings.text_keys[rows], return_index=True)
        columns = np.array(list(first_of_wording.values()), np.int64)
        cells = self.ratings.of(active)[np.ix_(rows[first_of_text], columns)]
        known = int((cells != MISSING).sum())
        return known, cells.size - known

    @cached_property
    def unknown(self) -> NDArray[np.int64]:
        """Number of questions of positive weight after, by passage, that have no grade."""
        active = [q for q in scored(list(self.after.values()), self.base.grader) if q.weight > 0]
        return np.asarray((self.ratings.of(active) == MISSING).sum(axis=1), np.int64)


def _delta(project: Project, base: Basis, query_id: str, questions: Sequence[Question]) -> _Delta:
    before = bank.questions(project, base.version, query_id)
    if base.grader.spec.method == "direct":
        # Asked about the query alone, it does not care what the bank says.
        before = questions = [bank.query_as_question(project, query_id)]
    wordings = tuple(dict.fromkeys(wording(question, base.grader.spec) for question in [*before, *questions]))
    ratings = project.remember(
        ("ratings", base.grader.key, base.overridden, query_id, wordings),
        lambda: load_ratings(project, base, query_id, [*before, *questions]),
    )
    return _Delta(base, {q.question_id: q for q in before}, {q.question_id: q for q in questions}, ratings)


def _label_changes(delta: _Delta) -> list[LabelChange]:
    old, new = delta.labels_before, delta.labels_after
    rows = np.flatnonzero((old != new) & delta.ratings.pooled)
    if not len(rows):
        return []
    responsible = {
        key: (delta.labels(delta.swapped(delta.before, delta.after, key)) != old)
        | (delta.labels(delta.swapped(delta.after, delta.before, key)) != new)
        for key in delta.edited
    }
    return [
        LabelChange(
            delta.ratings.query_id,
            delta.ratings.passage_ids[row],
            None if old[row] == MISSING else int(old[row]),
            None if new[row] == MISSING else int(new[row]),
            tuple(key for key in delta.edited if responsible[key][row]) or tuple(delta.edited),
            int(delta.unknown[row]),
        )
        for row in rows
    ]


def _undecided(delta: _Delta) -> int:
    known_text = delta.ratings.text_keys != MISSING
    return int(((delta.unknown > 0) & delta.ratings.pooled & known_text).sum())


def _system_changes(before: Leaderboard, after: Leaderboard) -> list[SystemChange]:
    old = {system.run: system for system in before.systems}
    new = {system.run: system for system in after.systems}
    return [
        SystemChange(
            run,
            old[run].score if run in old else None,
            new[run].score if run in new else None,
            old[run].rank if run in old else None,
            new[run].rank if run in new else None,
        )
        for run in {**new, **old}
    ]


def _board_after(project: Project, before: Leaderboard, policy: Policy, deltas: Sequence[_Delta]) -> Leaderboard:
    """The board before with the scores of the edited queries replaced."""
    changed = {delta.ratings.query_id: _query_scores(project, before.measure, policy, delta) for delta in deltas}
    per_query = {
        run: {query: score for query, score in scores.items() if query not in changed}
        | {query: found[run] for query, found in changed.items() if found is not None and run in found}
        for run, scores in before.per_query.items()
    }
    kept = [query for query in before.query_ids if changed.get(query, {}) is not None]
    query_ids = kept + [query for query, found in changed.items() if found is not None and query not in kept]
    needed, usable = before.needed, before.usable
    for delta in deltas:
        for state, sign in ((delta.before, -1), (delta.after, 1)):
            active = [q for q in scored(list(state.values()), delta.base.grader) if q.weight > 0]
            ratings = delta.ratings.of(active)[delta.ratings.pooled]
            needed += sign * ratings.size
            usable += sign * int((ratings != MISSING).sum())
    return replace(
        before,
        systems=order_systems(per_query, query_ids, policy),
        per_query=per_query,
        query_ids=query_ids,
        needed=needed,
        usable=usable,
    )


def _query_scores(project: Project, measure: str, policy: Policy, delta: _Delta) -> dict[str, float] | None:
    """Scores of every run on one query after the change; None where the query has nothing to score."""
    query_id = delta.ratings.query_id
    answered = {run: by_query[query_id] for run, by_query in rankings(project).items() if query_id in by_query}
    active = scored(list(delta.after.values()), delta.base.grader)
    ratings, weights = delta.ratings.of(active), weights_of(active, policy)
    cutoff = cover_cutoff(measure, policy)
    if cutoff is not None:
        row_of = {passage_id: row for row, passage_id in enumerate(delta.ratings.passage_ids)}
        tops = project.remember(
            ("tops", query_id, cutoff, len(row_of)),
            lambda: {
                run: [row_of[passage] for passage in trec_order(scores, cutoff)] for run, scores in answered.items()
            },
        )
        found = {run: coverage_of(ratings, weights, top, delta.base.min_rating) for run, top in tops.items()}
        known = {run: score for run, score in found.items() if score is not None}
        return known if (weights > 0).any() else None
    info = parse_measure(measure)
    pooled = np.flatnonzero(delta.ratings.pooled)
    if info.needs_intents and info.cutoff is not None:
        asked = [(column, q.question_id) for column, q in enumerate(active) if q.weight > 0]
        intents = {
            delta.ratings.passage_ids[row]: {
                key: int(ratings[row, column] >= delta.base.min_rating)
                for column, key in asked
                if ratings[row, column] != MISSING
            }
            for row in pooled
        }
        intents = {passage: answers for passage, answers in intents.items() if answers}
        evaluate = make_intent_evaluator(info, {query_id: intents})
        return (
            {run: evaluate({query_id: scores}).get(query_id, 0.0) for run, scores in answered.items()}
            if intents
            else None
        )
    labels = {
        delta.ratings.passage_ids[row]: int(delta.labels_after[row])
        for row in pooled
        if delta.labels_after[row] != MISSING
    }
    if not labels:
        return None
    runs = {run: {query_id: scores} for run, scores in answered.items()}
    by_run = score_runs(runs, [measure], {query_id: labels}, delta.base.min_rating)
    return {run: scores[measure][query_id] for run, scores in by_run.items() if query_id in scores[measure]}
