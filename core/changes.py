"""Changes between two states of the bank: labels that flip and why, systems that move, what is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core import bank
from core.leaderboard import (
    Leaderboard,
    cover_cutoff,
    leaderboard,
    order_systems,
    rankings,
    score_query,
)
from core.policy import Policy
from core.project import Project
from core.ratings import MISSING, QueryRatings, Ratings, labels_of, load_ratings, question_text, scored, weights_of
from core.scores import Basis, Scores, basis
from core.types import Question


@dataclass(frozen=True)
class LabelChange:
    """A passage whose label differs between two states.

    Args:
        before, after: the labels; None for no label.
        questions: ids of the changed questions that are responsible: each alone moves the label when
            it is changed, or brings it back when it is not. All changed ones where only several
            together do it.
        unknown: questions behind the label after whose grade is not known yet.
    """

    query_id: str
    passage_id: str
    before: int | None
    after: int | None
    questions: tuple[str, ...]
    unknown: int


@dataclass(frozen=True)
class SystemChange:
    """A system on the leaderboards before and after; None where it is on one only."""

    run: str
    score_before: float | None
    score_after: float | None
    rank_before: int | None
    rank_after: int | None


@dataclass(frozen=True)
class Changes:
    """Everything that differs between two states of the bank under one policy.

    Args:
        labels: labels that differ, by query in the order of the pool.
        systems: every system, in the order of the board after.
        needed, known: pairs behind the changed questions, and those of them that are graded.
        passages: pooled passages of the queries that changed.
        edited: ids of the questions that differ.
    """

    before: Leaderboard
    after: Leaderboard
    labels: list[LabelChange] = field(default_factory=list)
    systems: list[SystemChange] = field(default_factory=list)
    needed: int = 0
    known: int = 0
    passages: int = 0
    edited: tuple[str, ...] = ()

    @property
    def to_grade(self) -> int:
        """Pairs that have to be graded before everything about the changes is known."""
        return self.needed - self.known


Edits = Mapping[str, Sequence[Question]]
"""By query id: the whole bank of that query as it would be."""


def changes(project: Project, measure: str, policy: Policy, edits: Edits) -> Changes:
    """What a bank with other questions for some queries would change.

    Reads and computes only what belongs to the edited queries; the rest comes from the board of the
    policy's bank version, which is computed once.

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
        _QueryDelta(project, base, query_id, bank.questions(project, base.version, query_id), list(after))
        for query_id, after in edits.items()
    ]
    deltas = [delta for delta in deltas if delta.edited]
    after = _board_after(project, before, policy, deltas)
    return Changes(
        before,
        after,
        [change for delta in deltas for change in delta.label_changes()],
        _system_changes(before, after),
        sum(delta.needed for delta in deltas),
        sum(delta.known for delta in deltas),
        sum(int(delta.ratings.pooled.sum()) for delta in deltas),
        tuple(question_id for delta in deltas for question_id in delta.edited),
    )


def version_edits(project: Project, before: int, after: int) -> dict[str, list[Question]]:
    """The queries whose questions differ between two bank versions, with the questions after.

    Raises:
        InputError: there is no such version.
    """
    old, new = (_by_query(bank.questions(project, version)) for version in (before, after))
    return {query: new.get(query, []) for query in {**old, **new} if old.get(query, []) != new.get(query, [])}


def _by_query(questions: Sequence[Question]) -> dict[str, list[Question]]:
    found: dict[str, list[Question]] = {}
    for question in questions:
        found.setdefault(question.query_id, []).append(question)
    return found


def scoring_part(question: Question) -> tuple[object, ...]:
    """What of a question can change a score: wording, kind, weight, activity."""
    return (question_text(question), question.kind, question.weight, question.active)


class _QueryDelta:
    """One query before and after, and the labels of both."""

    def __init__(
        self, project: Project, base: Basis, query_id: str, before: list[Question], after: list[Question]
    ) -> None:
        self.base = base
        self.query_id = query_id
        self.before = {question.question_id: question for question in before}
        self.after = {question.question_id: question for question in after}
        self.edited = [
            key
            for key in {**self.before, **self.after}
            if not (
                key in self.before
                and key in self.after
                and scoring_part(self.before[key]) == scoring_part(self.after[key])
            )
        ]
        self.ratings = _remembered_ratings(project, base, query_id, before, after) if self.edited else None
        if self.ratings is not None:
            self.label_before = self.labels(list(self.before.values()))
            self.label_after = self.labels(list(self.after.values()))

    def labels(self, questions: Sequence[Question]) -> Ratings:
        """The labels under a list of questions, MISSING where there is none."""
        active = scored(questions, self.base.grader)
        assert self.ratings is not None
        return labels_of(
            self.ratings.of(active), weights_of(active, self.base.policy), self.base.policy.label
        )
