"""Differences between any two states: labels, with causes of their change, leaderboards, and
correlations.

A state is a policy: bank version, grader, label rule, min rating, weights, overrides. Both states
are computed from the current data. `edit_impact` previews an edit of the bank; this module compares
saved states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...bank import (
    asked_questions,
    bank_for,
    check_version,
    list_questions as bank_questions,
    query_as_question,
    query_overviews,
    questions_by_query,
)
from ...errors import InputError
from ...grouping import nest_triples
from ...labels import (
    MISSING,
    Basis,
    CorrelationShift,
    Leaderboard,
    Policy,
    QueryChoice,
    Ratings,
    basis,
    gradable_questions,
    grading_progress,
    labels_under,
    leaderboard,
    load_ratings,
    overriding_sql,
    pooled_labels,
    pooled_passages,
    ratings_beside,
)
from ...measures import Flags, parse_measure
from ...store import Project, cache, cached
from ...tables import csv_text
from ...types import Question
from .rescoring import (
    RatingRow,
    SystemChange,
    list_system_changes,
    rating_rows,
    ratings_of_passage,
    responsible_passages,
    scoring_part,
    shift_against,
)


@dataclass(frozen=True)
class QuestionChange:
    """A question that differs between two bank versions in a part that can change a score.

    Args:
        kinds: kinds of change: reworded, added, retired, restored, reweighted, answer key, kind,
            subtopic.
        before, after: None if it did not exist.
    """

    question_id: str
    query_id: str
    kinds: tuple[str, ...]
    before: Question | None
    after: Question | None


Banks = tuple[Mapping[str, Mapping[str, Question]], Mapping[str, Mapping[str, Question]]]
"""(before, after): by id of every query and topic, the questions that it asks, by their ids."""


def question_changes(before: Basis, after: Basis, banks: Banks) -> list[QuestionChange]:
    """Return the questions that differ between the bank versions of two states, if either grader
    asks them.

    Args:
        banks: the questions that queries ask in the two states.
    """
    old, new = (
        {key: q for asked in by_query.values() for key, q in asked.items()} for by_query in banks
    )
    changed = {
        key
        for query_id in {**banks[1], **banks[0]}
        for key in changed_questions(before, after, banks, query_id)
    }
    return [
        QuestionChange(
            key,
            (new.get(key) or old[key]).query_id,
            _change_kinds(old.get(key), new.get(key)),
            old.get(key),
            new.get(key),
        )
        for key in {**new, **old}
        if key in changed
    ]


def changed_questions(
    before: Basis, after: Basis, banks: Banks, query_id: str
) -> dict[str, tuple[str, ...]]:
    """Return the kinds of change of a query's questions, by id, for questions with a change that
    can affect a score.

    A question that moved to another subtopic counts as added to one topic and as retired from the
    other.
    """
    old, new = (by_query.get(query_id, {}) for by_query in banks)
    specs = [base.grader.spec for base in (before, after) if base.grader.spec.method != "direct"]
    return {
        key: _change_kinds(old.get(key), new.get(key))
        for key in {**new, **old}
        if any(
            scoring_part(old.get(key), spec) != scoring_part(new.get(key), spec) for spec in specs
        )
    }


def _change_kinds(old: Question | None, new: Question | None) -> tuple[str, ...]:
    if old is None:
        return ("added",)
    if new is None:
        return ("retired",)
    applies = {
        "retired": old.active and not new.active,
        "restored": new.active and not old.active,
        "reworded": old.text != new.text,
        "reweighted": old.weight != new.weight,
        "answer key": (old.answer_key, old.choices) != (new.answer_key, new.choices),
        "kind": old.kind != new.kind,
        "subtopic": old.subtopic_id != new.subtopic_id,
    }
    if applies["retired"]:
        return ("retired",)
    return tuple(kind for kind, so in applies.items() if so)


@cached(cache.ASKED)
def _asked_by_query(project: Project, version: int) -> Mapping[str, Mapping[str, Question]]:
    """Return the questions of every query and topic in a bank version."""
    return {
        query_id: {question.question_id: question for question in asked}
        for query_id, asked in questions_by_query(project, bank_questions(project, version)).items()
    }


def responsible_questions(
    project: Project, before: Basis, after: Basis, banks: Banks, query_id: str, keys: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return, by passage id, the changed questions of a query or topic that are responsible for the
    changed label.

    A question is responsible if its change alone moves the label of the state before. It is also
    responsible if undoing only its change in the state after restores the label. If no question is
    responsible alone, all changed questions are returned.

    Args:
        keys: ids of the questions that differ, as `changed_questions` returns them.
    """
    old, new = (by_query.get(query_id, {}) for by_query in banks)
    texts = [*old.values(), *new.values()]
    sides = []
    for base, state, other in ((before, old, new), (after, new, old)):
        ratings_before = ratings_beside(project, base, query_id, texts, [])
        # A direct grader is asked only about the query, so changes of the bank do not affect it.
        asks = base.grader.spec.method != "direct"
        sides.append(
            (
                partial(labels_under, base, ratings_before),
                state if asks else {},
                other if asks else {},
            )
        )
    flags = responsible_passages(keys, sides)
    return {
        passage_id: tuple(key for key in keys if flags[key][row]) or tuple(keys)
        for row, passage_id in enumerate(ratings_before.passage_ids)
    }


def overridden_questions(
    project: Project, bases: Sequence[Basis]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return, by (query id, passage id), the ids of questions with an override that counts in any
    of the states.
    """
    ids_by_pair = nest_triples(
        ((query_id, passage_id), question_id, None)
        for base in bases
        if base.overridden
        for query_id, passage_id, question_id in project.rows(
            f"SELECT query_id, passage_id, question_id FROM {overriding_sql(base)} o"
            f" JOIN {bank_for(base.grader.spec)} b ON b.text_key = o.question_text_key"
            " JOIN pool p ON p.query_key = b.query_key AND p.text_key = o.passage_text_key"
            " JOIN queries ON queries.query_key = p.query_key JOIN passages USING (passage_key)"
            " JOIN questions USING (question_key) ORDER BY question_key",
            base.parameters,
        )
    )
    return {pair: tuple(keys) for pair, keys in ids_by_pair.items()}


def why_label(
    project: Project, before: Policy, after: Policy, query_id: str, passage_id: str
) -> list[RatingRow]:
    """Return the ratings behind a passage's label in two states, question by question.

    Raises:
        InputError: a grader, a version, the query or the passage is unknown.
    """
    states = [
        _ratings_of_passage(project, basis(project, policy), query_id, passage_id)
        for policy in (before, after)
    ]
    (old, was), (new, now) = states
    return rating_rows(project, old, new, was, now)


def _ratings_of_passage(
    project: Project, base: Basis, query_id: str, passage_id: str
) -> tuple[dict[str, Question], dict[str, int | None]]:
    """Return the questions of a query, and the ratings of those that count for a passage; None for
    a missing rating.
    """
    if not project.value("SELECT count(*) FROM queries WHERE query_id = ?", [query_id]):
        raise InputError(
            "unknown-query", f"Unknown query '{query_id}'.", "Choose a query from the list."
        )
    if base.grader.spec.method == "direct":
        questions = [query_as_question(project, query_id)]
    else:
        questions = asked_questions(project, base.version, query_id)
    asked = gradable_questions(questions, base.grader)
    ratings_of_query = load_ratings(project, base, query_id, asked)
    if passage_id not in ratings_of_query.passage_ids:
        raise InputError(
            "unknown-passage",
            f"Unknown passage '{passage_id}' for query {query_id}.",
            "Choose a passage from the list.",
        )
    row = ratings_of_query.passage_ids.index(passage_id)
    return {q.question_id: q for q in questions}, ratings_of_passage(
        base, ratings_of_query, questions, row
    )


WORDS = {
    "bank_version": "bank version",
    "grader": "grader",
    "label": "label rule",
    "weighted": "weights",
    "overrides": "overrides",
    "rating": "rating rule",
    "min_rating": "min rating",
    "cutoff": "cutoff",
    "skipped": "skipped queries",
    "min_judgment": "judgment threshold",
}
"""Names of the parts of a policy for people. Labels depend on `LABEL_PARTS`, leaderboards on all.
"""

LABEL_PARTS = ("bank_version", "grader", "label", "weighted", "overrides", "rating")

CAUSES = (
    *("reworded", "added", "retired", "restored", "reweighted", "answer key", "kind"),
    *("override", "grader", "rating rule", "label rule", "weights"),
)
"""Possible causes of a flip: changes of a question, overrides, and different parts of the policy.
"""

_CAUSE_OF_PART = {
    "grader": "grader",
    "rating": "rating rule",
    "label": "label rule",
    "weighted": "weights",
    "overrides": "override",
}


@dataclass(frozen=True)
class LabelFlip:
    """A passage whose label differs between two states.

    Args:
        before, after: the labels; None for no label.
        causes: some of `CAUSES`. The change of a cause alone moves the label of the state before,
            or its undoing alone restores the label in the state after. If no cause does so alone,
            all differences are causes.
        questions: ids of the changed or overridden questions that are responsible.
        open_pairs: number of pairs behind the later label without a usable grade.
    """

    query_id: str
    passage_id: str
    before: int | None
    after: int | None
    causes: tuple[str, ...]
    questions: tuple[str, ...]
    open_pairs: int


@dataclass(frozen=True)
class StateChanges:
    """The differences between two states.

    Args:
        before, after: the policies, with the grader's name and the number of the bank version.
        differing: the differing parts of the policies, as named in `WORDS`.
        compared: number of pooled (query, passage) with compared labels.
        flips: the labels that differ, in the order of the pool.
        relevance: number of passages that are relevant in only one state, each by its own min
            rating.
        partial: numbers of labels before, and after, without some of their ratings; such labels may
            still change.
        questions: questions with a change that can affect a score, each with the number of flips
            that it caused.
        board_before, board_after: the leaderboards; None for a leaderboard that cannot be made, see
            `no_board`.
        systems: every system, in the order of the later leaderboard.
        shift: shift in correlation with the official leaderboard; None without an official
            leaderboard.
    """

    before: Policy
    after: Policy
    differing: tuple[str, ...]
    compared: int
    flips: list[LabelFlip]
    relevance: int
    partial: tuple[int, int]
    questions: list[tuple[QuestionChange, int]]
    board_before: Leaderboard | None
    board_after: Leaderboard | None
    no_board: str
    systems: list[SystemChange]
    shift: CorrelationShift | None

    @property
    def scores_differ(self) -> bool:
        """Whether a system's scores differ between the two states."""
        return any(system.score_before != system.score_after for system in self.systems)

    @property
    def by_query(self) -> dict[str, int]:
        """Number of flips by query id, greatest number first."""
        return dict(Counter(flip.query_id for flip in self.flips).most_common())

    @property
    def by_cause(self) -> dict[str, int]:
        """Number of flips by cause; a flip with several causes is counted for each."""
        found = Counter(cause for flip in self.flips for cause in flip.causes)
        return {cause: found[cause] for cause in CAUSES if found[cause]}


@cached()
def state_changes(
    project: Project,
    before: Policy,
    after: Policy,
    measure: str,
    against: str | None = None,
    queries: QueryChoice = "common",
) -> StateChanges:
    """Compare two states.

    Args:
        measure: the measure that orders the systems.
        against: the official leaderboard, a source of judgments or an imported leaderboard; None
            for no comparison.
        queries: the queries for the comparison with the official leaderboard; see
            `labels.align_boards`.

    Raises:
        InputError: a grader, a version, the measure or the official leaderboard is unknown.
    """
    for policy in (before, after):
        check_version(project, policy.bank_version)
    old, new = (_resolve_policy(project, policy) for policy in (before, after))
    differing = tuple(
        word for part, word in WORDS.items() if getattr(old, part) != getattr(new, part)
    )
    bases = (basis(project, old), basis(project, new))
    of: Banks = ({}, {})
    if old.bank_version != new.bank_version:
        of = _asked_by_query(project, bases[0].version), _asked_by_query(project, bases[1].version)
    flips = _find_flips(project, old, new, of)
    was_relevant, is_relevant = (
        pooled_labels(project, base).labels >= base.min_rating for base in bases
    )
    changes_of_question = Counter(key for flip in flips for key in flip.questions)
    (board_before, no_before), (board_after, no_after) = (
        _board_or_reason(project, measure, policy) for policy in (old, new)
    )
    shift = shift_against(project, board_before, board_after, against, measure, queries)
    return StateChanges(
        before=old,
        after=new,
        differing=differing,
        compared=len(pooled_passages(project)),
        flips=flips,
        relevance=int((was_relevant != is_relevant).sum()),
        partial=(
            grading_progress(project, bases[0]).partial_labels,
            grading_progress(project, bases[1]).partial_labels,
        ),
        questions=[
            (change, changes_of_question[change.question_id])
            for change in question_changes(*bases, of)
        ],
        board_before=board_before,
        board_after=board_after,
        no_board=no_before or no_after,
        systems=list_system_changes(board_before, board_after),
        shift=shift,
    )


def _resolve_policy(project: Project, policy: Policy) -> Policy:
    base = basis(project, policy)
    return replace(base.policy, grader=base.grader.spec.name, bank_version=base.version)


def _pool_labels(project: Project, policy: Policy) -> Ratings:
    """Return the labels of the pool in its order; MISSING for no label."""
    return pooled_labels(project, basis(project, policy)).labels


def _find_flips(project: Project, old: Policy, new: Policy, banks: Banks) -> list[LabelFlip]:
    before, known = _pool_labels(project, old), pooled_labels(project, basis(project, new))
    after, open_pairs = known.labels, known.needed - known.usable
    rows = np.flatnonzero(before != after)
    if not len(rows):
        return []
    parts = [part for part in LABEL_PARTS if getattr(old, part) != getattr(new, part)]
    if "grader" in parts and "rating" in parts:
        parts.remove("rating")
    responsible_rows = _responsible_parts(project, old, new, parts)
    bases = (basis(project, old), basis(project, new))
    kinds: dict[str, dict[str, tuple[str, ...]]] = {}
    of_query: dict[str, dict[str, tuple[str, ...]]] = {}
    rated = overridden_questions(project, bases) if "overrides" in parts else {}
    flips = []
    differing = pooled_passages(project).select(["query_id", "passage_id"]).take(rows)
    ids = zip(*(column.to_pylist() for column in differing.columns), strict=True)
    for row, (query_id, passage_id) in zip(rows.tolist(), ids, strict=True):
        causes: list[str] = []
        questions: tuple[str, ...] = ()
        if "bank_version" in parts and responsible_rows["bank_version"][row]:
            if query_id not in of_query:
                kinds[query_id] = changed_questions(*bases, banks, query_id)
                of_query[query_id] = responsible_questions(
                    project, *bases, banks, query_id, list(kinds[query_id])
                )
            questions = of_query[query_id][passage_id]
            causes += [kind for key in questions for kind in kinds[query_id][key]]
        causes += [
            cause
            for part, cause in _CAUSE_OF_PART.items()
            if part in parts and responsible_rows[part][row]
        ]
        if "override" in causes:
            questions += tuple(
                key for key in rated.get((query_id, passage_id), ()) if key not in questions
            )
        flips.append(
            LabelFlip(
                query_id,
                passage_id,
                None if before[row] == MISSING else int(before[row]),
                None if after[row] == MISSING else int(after[row]),
                tuple(cause for cause in CAUSES if cause in causes),
                questions,
                int(open_pairs[row]),
            )
        )
    return flips


def _responsible_parts(
    project: Project, old: Policy, new: Policy, parts: Sequence[str]
) -> Mapping[str, Flags]:
    """Return, by differing part of the policy, whether it alone moves or restores the label of each
    row of the pool.
    """
    before, after = _pool_labels(project, old), _pool_labels(project, new)
    if len(parts) == 1:
        return {parts[0]: np.ones(len(before), bool)}
    alone_by_part = {}
    for part in parts:
        # A rating rule fits only some graders, so it changes with the grader.
        fields = ("grader", "rating") if part == "grader" else (part,)
        moved_labels = _pool_labels(
            project, replace(old, **{field: getattr(new, field) for field in fields})
        )
        back = _pool_labels(
            project, replace(new, **{field: getattr(old, field) for field in fields})
        )
        alone_by_part[part] = (moved_labels != before) | (back != after)
    together = ~np.logical_or.reduce(list(alone_by_part.values()))
    return {part: alone | together for part, alone in alone_by_part.items()}


def _board_or_reason(
    project: Project, measure: str, policy: Policy
) -> tuple[Leaderboard | None, str]:
    # An invalid measure is refused in every state.
    parse_measure(measure, policy.cutoff)
    try:
        return leaderboard(project, measure, policy=policy, with_ungraded=True), ""
    except InputError as error:
        # One state may have nothing to score, such as the bank before its first version; its labels
        # can still be compared.
        return None, f"Bank version {policy.bank_version} has no leaderboard. {error}"


def flips_csv(project: Project, compared: StateChanges) -> str:
    """Return the labels that differ as CSV, one per line; cells that could be formulas are
    neutralised.
    """
    texts = {query.query_id: query.text for query in query_overviews(project)}
    return csv_text(
        (
            "query_id",
            "query",
            "passage_id",
            "label_before",
            "label_after",
            "causes",
            "questions",
            "open_pairs",
        ),
        (
            (
                *(flip.query_id, texts[flip.query_id], flip.passage_id, flip.before, flip.after),
                *("; ".join(flip.causes), "; ".join(flip.questions), flip.open_pairs),
            )
            for flip in compared.flips
        ),
    )
