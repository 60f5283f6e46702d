"""Changes between two states of the bank: labels that flip, with causes, systems that move, and
missing grades.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...bank import (
    asked_questions,
    asking_queries,
    list_questions as bank_questions,
    query_as_question,
)
from ...grouping import group_pairs
from ...labels import (
    MISSING,
    Basis,
    Leaderboard,
    Policy,
    QueryRatings,
    Ratings,
    basis,
    gradable_questions,
    graded_wording,
    labels_of,
    labels_under,
    leaderboard,
    query_scores,
    ratings_beside,
    seen_in_query,
    weights_of,
)
from ...measures import Indices, parse_measure
from ...store import Project, cache, cached
from ...types import GraderSpec, Question
from .rescoring import (
    RatingRow,
    SystemChange,
    list_system_changes,
    rating_rows,
    ratings_of_passage,
    rescore_board,
    responsible_passages,
    scoring_part,
)

Edits = Mapping[str, Sequence[Question]]
"""By query id: all questions of that query after the edit."""


@dataclass(frozen=True)
class LabelChange:
    """A passage whose label differs between two states.

    Args:
        query_id: id of an edited query, or of its topic.
        before, after: the labels; None for no label.
        questions: ids of the changed questions that are responsible, see `responsible_questions`.
        unknown: number of questions behind the label after the edit without a grade for this
            passage.
    """

    query_id: str
    passage_id: str
    before: int | None
    after: int | None
    questions: tuple[str, ...]
    unknown: int


@dataclass(frozen=True)
class Changes:
    """The differences between two states of the bank under one policy.

    Args:
        before, after: the leaderboards.
        settled: the leaderboard after the edits of all queries except pending queries.
        pending: by query, number of pairs of new wordings without a grade, whose effect is unknown.
        edited: ids of the questions with a change that can affect a score.
        labels: labels that differ, by query in the order of the pool.
        systems: every system, in the order of the leaderboard after the edits.
        known, to_grade: numbers of pairs of texts that the edited queries and their topics need
            after the edits: with a grade, and without a grade.
        undecided: number of passages of the pool whose label may still change when these pairs are
            graded.
    """

    before: Leaderboard
    after: Leaderboard
    settled: Leaderboard
    pending: Mapping[str, int] = field(default_factory=dict)
    edited: tuple[str, ...] = ()
    labels: list[LabelChange] = field(default_factory=list)
    systems: list[SystemChange] = field(default_factory=list)
    known: int = 0
    to_grade: int = 0
    undecided: int = 0

    def awaits_grades(self, change: LabelChange) -> bool:
        """Whether the change of a label is provisional, because grades of a new wording are
        missing.
        """
        return change.unknown > 0 and change.query_id in self.pending

    @property
    def known_part(self) -> Changes:
        """The changes that are certain: without labels that await grades and without effects of
        pending queries.
        """
        labels = [change for change in self.labels if not self.awaits_grades(change)]
        return replace(
            self,
            after=self.settled,
            labels=labels,
            systems=list_system_changes(self.before, self.settled),
        )


@dataclass(frozen=True)
class Directions:
    """How labels differ, and whether this brings them closer to judgments.

    Args:
        up, down: numbers of labels that are higher or lower now; a new label is higher, and a lost
            one lower.
        towards, away: numbers of judged passages whose label comes closer to the judgment, or moves
            away from it; a label that appears or disappears is neither. A label that is as relevant
            as the judgment is closer than one that is not. Otherwise, the distance on scales from 0
            to 1 decides.
    """

    up: int
    down: int
    towards: int
    away: int


@dataclass(frozen=True)
class RelevanceScale:
    """The greatest value of labels or judgments, and the least value that counts as relevant."""

    highest: int
    least_relevant: int


def count_directions(
    label_changes: Sequence[LabelChange],
    judged: Mapping[str, Mapping[str, int]],
    labels: RelevanceScale,
    judgments: RelevanceScale,
) -> Directions:
    """Count the directions of changed labels.

    Args:
        judged: judgments by query and passage id.
        labels, judgments: their scales.
    """

    def distance(label: int, judgment: int) -> tuple[bool, float]:
        differs = (label >= labels.least_relevant) != (judgment >= judgments.least_relevant)
        return differs, abs(label / labels.highest - judgment / judgments.highest)

    up = sum(
        change.before is None or (change.after is not None and change.after > change.before)
        for change in label_changes
    )
    towards = away = 0
    for change in label_changes:
        judgment = judged.get(change.query_id, {}).get(change.passage_id)
        if judgment is None or change.before is None or change.after is None:
            continue
        was, now = distance(change.before, judgment), distance(change.after, judgment)
        towards += now < was
        away += now > was
    return Directions(up, len(label_changes) - up, towards, away)


def changes(project: Project, measure: str, policy: Policy, edits: Edits) -> Changes:
    """Return the effects of edited questions for some queries.

    Only data of the edited queries and their topics is read and computed. All other data comes from
    the cached leaderboard before the edits.

    Args:
        measure: the measure that orders the systems.
        policy: the policy; its bank version is the state before the edits.
        edits: the questions after the edits.

    Raises:
        InputError: the leaderboard before the edits cannot be made.
    """
    before = leaderboard(project, measure, policy=policy, with_ungraded=True)
    base = basis(project, policy)
    deltas = _find_deltas(project, base, edits)
    after = _board_after(project, before, deltas)
    known_count, to_grade = _count_pairs(deltas)
    pending = {delta.ratings.query_id: delta.pending for delta in deltas if delta.pending}
    settled = [delta for delta in deltas if not delta.pending]
    return Changes(
        before=before,
        after=after,
        settled=_board_after(project, before, settled) if pending else after,
        pending=pending,
        edited=tuple(
            dict.fromkeys(question_id for delta in deltas for question_id in delta.edited)
        ),
        labels=[change for delta in deltas for change in _label_changes(delta)],
        systems=list_system_changes(before, after),
        known=known_count,
        to_grade=to_grade,
        undecided=sum(_count_undecided(delta) for delta in deltas),
    )


def explain_change(
    project: Project, policy: Policy, query_id: str, after: Sequence[Question], passage_id: str
) -> list[RatingRow]:
    """Return the ratings behind a passage's label before and after a change, question by question.

    Args:
        query_id: query of the label.
        after: all questions of the edited queries after the change, including questions of topics.

    Raises:
        InputError: the grader or version is unknown.
    """
    base = basis(project, policy)
    delta = _make_delta(
        project,
        base,
        query_id,
        *_asked_states(
            project,
            base,
            query_id,
            {},
            group_pairs((question.query_id, question) for question in after),
        ),
    )
    row = delta.ratings.passage_ids.index(passage_id)
    was, now = (
        ratings_of_passage(base, delta.ratings, list(asked.values()), row)
        for asked in (delta.before, delta.after)
    )
    return rating_rows(project, delta.before, delta.after, was, now)


def version_edits(project: Project, before: int, after: int) -> dict[str, list[Question]]:
    """Return the queries whose questions differ between two bank versions, with their questions in
    the later version.

    Raises:
        InputError: a version is unknown.
    """
    old, new = (
        group_pairs((question.query_id, question) for question in bank_questions(project, version))
        for version in (before, after)
    )
    return {
        query: new.get(query, []) for query in {**old, **new} if old.get(query) != new.get(query)
    }


@dataclass(frozen=True)
class _Delta:
    base: Basis
    before: dict[str, Question]
    after: dict[str, Question]
    ratings: QueryRatings

    @cached_property
    def edited(self) -> list[str]:
        """Ids of the questions with a change that can affect a score."""
        return _edited_ids(self.before, self.after, self.base.grader.spec)

    @cached_property
    def ratings_after(self) -> Ratings:
        return self.ratings.select_questions(
            gradable_questions(list(self.after.values()), self.base.grader)
        )

    @cached_property
    def labels_after(self) -> Ratings:
        return self.labels(list(self.after.values()))

    def labels(self, questions: Sequence[Question]) -> Ratings:
        """Return the labels of all passages under some questions; MISSING for no label."""
        return labels_under(self.base, self.ratings, questions)

    def labels_if(self, rating: int) -> Ratings:
        """Return the labels after the edit as if every missing rating had this value."""
        active = gradable_questions(list(self.after.values()), self.base.grader)
        ratings = np.where(self.ratings_after == MISSING, rating, self.ratings_after).astype(
            self.ratings_after.dtype
        )
        return labels_of(
            ratings, weights_of(active, self.base.policy.weighted), self.base.policy.rule
        )

    @cached_property
    def pending(self) -> int:
        """Number of pairs without a grade that are needed only because of the edit."""
        spec = self.base.grader.spec
        wordings = {
            graded_wording(question, spec)
            for question in gradable_questions(list(self.before.values()), self.base.grader)
        }
        active = gradable_questions(list(self.after.values()), self.base.grader)
        new = [question for question in active if graded_wording(question, spec) not in wordings]
        rows = self.ratings.pooled & (self.ratings.text_keys != MISSING)
        return int((self.ratings.select_questions(new)[rows] == MISSING).sum())

    @cached_property
    def unknown(self) -> Indices:
        """Number of ungraded questions of positive weight after the edit, by passage."""
        active = [
            q
            for q in gradable_questions(list(self.after.values()), self.base.grader)
            if q.weight > 0
        ]
        return np.asarray((self.ratings.select_questions(active) == MISSING).sum(axis=1), np.int64)


def _edited_ids(
    before: Mapping[str, Question], after: Mapping[str, Question], spec: GraderSpec
) -> list[str]:
    ids = {**before, **after}
    return [
        key
        for key in ids
        if scoring_part(before.get(key), spec) != scoring_part(after.get(key), spec)
    ]


_Asked = tuple[dict[str, Question], dict[str, Question]]
"""(before, after): the questions that a query asks, by id."""


def _asked_states(
    project: Project,
    base: Basis,
    query_id: str,
    saved: Mapping[str, Sequence[Question]],
    edits: Edits,
) -> _Asked:
    """Return the questions that a query asks, before and after.

    Args:
        saved: by query id, the known questions of the bank.
    """
    if base.grader.spec.method == "direct":
        # A direct grader is asked only about the query, so changes of the bank do not affect it.
        before = after = [query_as_question(project, query_id)]
    else:
        before = asked_questions(project, base.version, query_id, saved)
        after = asked_questions(project, base.version, query_id, {**saved, **edits})
    return {q.question_id: q for q in before}, {q.question_id: q for q in after}


def _find_deltas(project: Project, base: Basis, edits: Edits) -> list[_Delta]:
    """Return the queries whose scores an edit can change: edited queries, and topics that ask their
    questions.
    """
    saved = {query_id: bank_questions(project, base.version, query_id) for query_id in edits}
    states: dict[str, _Asked] = {}
    for query_id, questions in edits.items():
        places = [(query_id, q.subtopic_id) for q in (*saved[query_id], *questions)]
        group = {
            key: _asked_states(project, base, key, saved, edits)
            for key in asking_queries(project, places)
        }
        moved = {
            key: asked for key, asked in group.items() if _edited_ids(*asked, base.grader.spec)
        }
        if moved:
            # A query may leave the mean because it is now answered topic by topic.
            states |= {query_id: group[query_id], **moved}
    return [_make_delta(project, base, query_id, *asked) for query_id, asked in states.items()]


def _make_delta(
    project: Project,
    base: Basis,
    query_id: str,
    before: dict[str, Question],
    after: dict[str, Question],
) -> _Delta:
    ratings = ratings_beside(project, base, query_id, list(before.values()), list(after.values()))
    return _Delta(base, before, after, ratings)


def _count_pairs(deltas: Sequence[_Delta]) -> tuple[int, int]:
    """Return the numbers of pairs of texts that some queries need after the edit: with a grade, and
    without a grade.
    """
    number: dict[str, int] = {}
    keys, is_known = [np.empty(0, np.int64)], [np.empty(0, bool)]
    for delta in deltas:
        spec = delta.base.grader.spec
        # A question without known words cannot be asked.
        active = [
            q
            for q in gradable_questions(list(delta.after.values()), delta.base.grader)
            if spec.asked_text(q)
        ]
        rows = np.flatnonzero(delta.ratings.pooled & (delta.ratings.text_keys != MISSING))
        words = [number.setdefault(graded_wording(q, spec), len(number)) for q in active]
        # One number per pair of texts, which several passages, questions and queries may share.
        keys.append(
            ((delta.ratings.text_keys[rows] << 32)[:, None] + np.array(words, np.int64)).ravel()
        )
        is_known.append((delta.ratings.select_questions(active)[rows] != MISSING).ravel())
    pairs, first = np.unique(np.concatenate(keys), return_index=True)
    graded = int(np.concatenate(is_known)[first].sum())
    return graded, len(pairs) - graded


def _label_changes(delta: _Delta) -> list[LabelChange]:
    old, new = delta.labels(list(delta.before.values())), delta.labels_after
    rows = np.flatnonzero((old != new) & delta.ratings.pooled)
    if not len(rows):
        return []
    responsible_rows = responsible_passages(
        delta.edited,
        [(delta.labels, delta.before, delta.after), (delta.labels, delta.after, delta.before)],
    )
    return [
        LabelChange(
            delta.ratings.query_id,
            delta.ratings.passage_ids[row],
            None if old[row] == MISSING else int(old[row]),
            None if new[row] == MISSING else int(new[row]),
            tuple(key for key in delta.edited if responsible_rows[key][row]) or tuple(delta.edited),
            int(delta.unknown[row]),
        )
        for row in rows
    ]


def _count_undecided(delta: _Delta) -> int:
    can_be_graded = (
        (delta.unknown > 0) & delta.ratings.pooled & (delta.ratings.text_keys != MISSING)
    )
    now = delta.labels_after
    moves = (delta.labels_if(0) != now) | (
        delta.labels_if(delta.base.grader.spec.max_rating) != now
    )
    return int((can_be_graded & moves).sum())


def _board_after(project: Project, before: Leaderboard, deltas: Sequence[_Delta]) -> Leaderboard:
    changed = {
        delta.ratings.query_id: query_scores(
            project,
            delta.base,
            before.measure,
            delta.ratings,
            list(delta.after.values()),
            delta.ratings_after,
        )
        for delta in deltas
    }
    needed, usable, ungraded = before.needed, before.usable, dict(before.ungraded)
    measure = parse_measure(before.measure, before.policy.cutoff)
    for delta in deltas:
        query_id, keys = delta.ratings.query_id, delta.ratings.text_keys
        in_depth = np.zeros(len(keys), bool)
        in_depth[delta.ratings.pooled] = seen_in_query(project, measure.needed_depth, query_id)
        for state, sign in ((delta.before, -1), (delta.after, 1)):
            questions = gradable_questions(list(state.values()), delta.base.grader)
            # As `labels.pairs_needed` counts them.
            avoided = not measure.ranks_passages and any(q.weight > 0 for q in questions)
            questions = [q for q in questions if q.weight > 0 or (avoided and q.weight < 0)]
            rated = delta.ratings.select_questions(questions)[in_depth] != MISSING
            needed += sign * rated.size
            usable += sign * int(rated.sum())
        failed = _failed_pairs(project, delta.base)
        ungraded[query_id] = sum(
            key != MISSING and (graded_wording(question, delta.base.grader.spec), key) not in failed
            for question, of_question in zip(questions, rated.T, strict=True)
            for key in keys[in_depth][~of_question].tolist()
        )
    return replace(
        rescore_board(before, changed),
        needed=needed,
        usable=usable,
        ungraded={query_id: pairs for query_id, pairs in ungraded.items() if pairs},
    )


@cached(cache.LABELS)
def _failed_pairs(project: Project, base: Basis) -> set[tuple[str, int]]:
    """Return the pairs of texts that a grader failed to grade: wording and key of the passage."""
    return set(
        project.rows(
            "SELECT text, passage_text_key FROM failures"
            " JOIN question_texts ON text_key = question_text_key WHERE grader_key = ?",
            [base.grader.key],
        )
    )
