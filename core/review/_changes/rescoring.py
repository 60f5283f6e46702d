"""Leaderboards and ratings before and after a change, and the effects of overrides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...bank import ASKS, asked_questions, asking_queries, bank_for, readable_questions
from ...errors import InputError
from ...grouping import group_pairs
from ...labels import (
    MISSING,
    Basis,
    CorrelationShift,
    Leaderboard,
    Override,
    Policy,
    QueryChoice,
    QueryRatings,
    Ratings,
    basis,
    correlation_shift,
    find_overrides,
    gradable_questions,
    graded_sql,
    graded_wording,
    labels_of,
    leaderboard,
    load_ratings,
    official_board,
    order_systems,
    query_scores,
    weights_of,
    weights_that_count,
)
from ...records import visible_rows
from ...store import Project
from ...types import GraderSpec, Question


@dataclass(frozen=True)
class SystemChange:
    """A system on the leaderboards before and after a change; None for a leaderboard without it."""

    run: str
    score_before: float | None
    score_after: float | None
    rank_before: int | None
    rank_after: int | None


def rescore_board(
    board: Leaderboard, new_scores: Mapping[str, Mapping[str, float] | None]
) -> Leaderboard:
    """Return the leaderboard with new scores for some queries.

    Args:
        new_scores: by query id, the score of every run that answered the query. None removes the
            query from the mean, because it has nothing to score.
    """
    kept = [query for query in board.query_ids if new_scores.get(query, {}) is not None]
    query_ids = kept + [
        query for query, by_run in new_scores.items() if by_run is not None and query not in kept
    ]
    per_query = {
        run: _replace_scores(scores, run, new_scores) for run, scores in board.per_query.items()
    }
    # Systems with unchanged scores keep their means exactly, if the queries are the same.
    same = query_ids == board.query_ids
    stays = {
        system.run: system
        for system in board.systems
        if same and per_query[system.run] == board.per_query[system.run]
    }
    systems = order_systems(per_query, query_ids, board.policy, stays)
    return replace(board, systems=systems, per_query=per_query, query_ids=query_ids)


def _replace_scores(
    scores: Mapping[str, float], run: str, new_scores: Mapping[str, Mapping[str, float] | None]
) -> dict[str, float]:
    after = dict(scores)
    for query, by_run in new_scores.items():
        if by_run is not None and run in by_run:
            after[query] = by_run[run]
        else:
            after.pop(query, None)
    return after


def list_system_changes(
    before: Leaderboard | None, after: Leaderboard | None
) -> list[SystemChange]:
    """Return every system of two leaderboards, in the order of the later one. None counts as an
    empty leaderboard.
    """
    old, new = (
        {system.run: system for system in board.systems} if board else {}
        for board in (before, after)
    )
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


def shift_against(
    project: Project,
    before: Leaderboard | None,
    after: Leaderboard | None,
    against: str | None,
    measure: str,
    queries: QueryChoice = "common",
) -> CorrelationShift | None:
    """Return the shift in correlation with an official leaderboard between two leaderboards.

    Args:
        against: a source of judgments or an imported leaderboard.
        measure: of the two leaderboards, as requested.

    Returns:
        None if `against` is None, or a leaderboard is missing.

    Raises:
        InputError: the source is unknown, or it does not have this measure.
    """
    if against is None or before is None or after is None:
        return None
    return correlation_shift(
        before, after, official_board(project, against, measure, after.policy), queries=queries
    )


Asked = Mapping[str, Question]
"""The questions that a query asks, by id."""


@dataclass(frozen=True)
class RatingRow:
    """A question with its rating of a passage, before and after a change.

    Args:
        before, after: the ratings; None if the question does not count or is not graded.
        graded: False if the wording after the change counts, but has no grade for the passage.
    """

    question_id: str
    text: str
    before: int | None
    after: int | None
    graded: bool


def rating_rows(
    project: Project,
    before: Asked,
    after: Asked,
    was: Mapping[str, int | None],
    now: Mapping[str, int | None],
) -> list[RatingRow]:
    """Return the ratings behind a label in two states, question by question, for questions that
    count in either state.

    Args:
        was, now: ratings in the two states by id of a question that counts; None for a missing
            rating.
    """
    asked = {**before, **after}
    keys = [key for key in asked if key in was or key in now]
    shown = readable_questions(project, [asked[key] for key in keys])
    return [
        RatingRow(key, one.shown_text, was.get(key), now.get(key), now.get(key, 0) is not None)
        for key, one in zip(keys, shown, strict=True)
    ]


def ratings_of_passage(
    base: Basis, ratings_of_query: QueryRatings, questions: Sequence[Question], row: int
) -> dict[str, int | None]:
    """Return a passage's ratings by id of a question that counts; None for a missing rating."""
    bank_questions = gradable_questions(questions, base.grader)
    values = ratings_of_query.select_questions(bank_questions)[row]
    return {
        question.question_id: None if value == MISSING else int(value)
        for question, value in zip(bank_questions, values, strict=True)
    }


def single_label(policy: Policy, ratings: Sequence[tuple[float, int | None]]) -> int | None:
    """Return the label of a passage; None for no label.

    Args:
        ratings: weight and rating by each question; the rating is None if it is missing.
    """
    part = [(weight, one) for weight, one in ratings if weight > 0]
    row = np.array([[MISSING if one is None else one for _, one in part]], np.int8)
    weights = weights_that_count(np.array([weight for weight, _ in part], float), policy.weighted)
    value = int(labels_of(row.reshape(1, len(part)), weights, policy.rule)[0])
    return None if value == MISSING else value


def scoring_part(question: Question | None, spec: GraderSpec) -> tuple[object, ...] | None:
    """Return the parts of a question that can change a score; None for a missing or inactive
    question.
    """
    if question is None or not question.active:
        return None
    return (graded_wording(question, spec), question.kind, question.weight)


def responsible_passages(
    keys: Sequence[str],
    sides: Sequence[tuple[Callable[[Sequence[Question]], Ratings], Asked, Asked]],
) -> dict[str, NDArray[np.bool_]]:
    """Return, by question, the passages whose changed label it is responsible for.

    Args:
        keys: ids of the questions that differ.
        sides: for the state before, and for the state after: the function from questions to labels,
            the state, and the other state.

    Returns:
        By question id, a flag for each of the p passages. It is True in two cases: the change of
        only this question moves the label of the state before, or undoing only this change in the
        state after restores the label.
    """
    wholes = [labels(list(state.values())) for labels, state, _ in sides]

    def find_moved(key: str) -> NDArray[np.bool_]:
        moved = [
            labels(list(swap_question(state, other, key).values())) != whole
            for (labels, state, other), whole in zip(sides, wholes, strict=True)
        ]
        return np.asarray(np.logical_or.reduce(moved), bool)

    return {key: find_moved(key) for key in keys}


def swap_question(state: Asked, other: Asked, key: str) -> dict[str, Question]:
    """Return a state with one question as in the other state."""
    rest = {k: question for k, question in state.items() if k != key}
    return rest | ({key: other[key]} if key in other else {})


@dataclass(frozen=True)
class Effect:
    """Effects of other ratings for questions and a passage.

    Args:
        label_before, label_after: label of the passage for the question's query, or for its topic
            if only the topic has the passage in its pool; None for no label.
        systems: the systems whose rank or score changes, greatest change first.
        shift: shift of the correlation with the official leaderboard; None without an official
            leaderboard.
    """

    label_before: int | None
    label_after: int | None
    before: Leaderboard
    after: Leaderboard
    systems: list[SystemChange]
    shift: CorrelationShift | None


def ratings_effect(
    project: Project,
    measure: str,
    policy: Policy,
    passage_id: str,
    ratings: Mapping[str, tuple[int | None, int | None]],
    against: str | None = None,
) -> Effect:
    """Return the joint effects of changed ratings of some questions for a passage.

    Only the queries and topics that ask these questions are read and scored. All other data comes
    from the policy's leaderboard.

    Args:
        measure: the measure that orders the systems.
        ratings: by question id, the rating before, on the grader's scale, and the rating after, on
            the scale for people (0 to 5); None for no usable grade.
        against: the official leaderboard, a source of judgments or an imported leaderboard.

    Raises:
        InputError: the leaderboard cannot be made, or a question, the passage, the grader or the
            version is unknown.
    """
    board = leaderboard(project, measure, policy=policy, with_ungraded=True)
    base = basis(project, policy)
    was = {key: before for key, (before, _) in ratings.items()}
    new_ratings = {
        key: None if after is None else base.grader.spec.on_scale(after)
        for key, (_, after) in ratings.items()
    }
    states = [
        _scored_again(project, base, board, passage_id, state) for state in (was, new_ratings)
    ]
    (label_before, before), (label_after, after) = states
    shift = shift_against(project, before, after, against, measure)
    return Effect(label_before, label_after, before, after, _moved_systems(before, after), shift)


def override_labels(
    project: Project, policy: Policy
) -> list[tuple[Override, int | None, int | None]]:
    """Return every override that is not withdrawn, newest first, with its passage's label without
    it and with it.

    The label is for the question's query, or for its topic if only the topic has the passage in its
    pool. All other overrides apply to both labels. An override has no effect if it is stale at the
    policy's bank version, or if the policy ignores overrides. It also has no effect if a later
    override has the same question text and passage text.

    Raises:
        InputError: the grader or version is unknown.
    """
    base = basis(project, policy)
    listed = find_overrides(project, version=base.version)
    if not listed:
        return []
    behind = _behind_labels(project, base)
    texts = dict(
        project.rows(
            "SELECT override_key, [question_text_key, passage_text_key]"
            f" FROM {visible_rows(project, 'overrides')}"
            " ANTI JOIN held_overrides USING (override_key)"
        )
        if base.overridden
        else []
    )
    # Oldest first, so that the newest is last and counts.
    overrides_of_texts = group_pairs(
        (tuple(texts[override.key]), override)
        for override in reversed(listed)
        if override.key in texts
    )

    def label_without(pairs: Sequence[_Pair], out: Override | None) -> int | None:
        ratings = []
        for weight, rating, text_keys in pairs:
            people = (
                [one for one in overrides_of_texts.get(text_keys, []) if one is not out]
                if text_keys
                else []
            )
            ratings.append(
                (weight, base.grader.spec.on_scale(people[-1].rating) if people else rating)
            )
        return single_label(policy, ratings)

    return [
        (
            override,
            label_without(behind.get(override.key, []), override),
            label_without(behind.get(override.key, []), None),
        )
        for override in listed
    ]


_Pair = tuple[float, int | None, tuple[int, int] | None]
"""Weight of a question, the grader's rating, and the keys of the two texts that an override needs
to count.
"""


def _behind_labels(project: Project, base: Basis) -> dict[int, list[_Pair]]:
    """Return the pairs behind the label of each override's passage, by key of the override."""
    rows = project.rows(
        f"WITH bank AS MATERIALIZED {bank_for(base.grader.spec)},"
        " versions AS MATERIALIZED (SELECT * FROM bank_at($version)),"
        " places AS (SELECT override_key, pool.query_key, passage_key, pool.text_key"
        f"  FROM {visible_rows(project, 'overrides')}"
        " o JOIN questions q USING (question_key) LEFT JOIN versions r USING (question_key)"
        f"  JOIN places() t ON t.query_key = q.query_key AND {ASKS}"
        "  JOIN pool USING (passage_key)"
        " WHERE withdrawn_at IS NULL AND pool.query_key = t.asking_key QUALIFY"
        "  row_number() OVER (PARTITION BY override_key"
        " ORDER BY pool.query_key <> q.query_key, pool.query_key) = 1)"
        # A grader that reads more than the question has its own text for it. If the question has no
        # such text, its overrides do not count.
        " SELECT override_key, b.weight, g.rating, if(b.text_key IS NULL, NULL, r.text_key),"
        " places.text_key"
        " FROM places JOIN bank b USING (query_key) LEFT JOIN versions r USING (question_key)"
        f" LEFT JOIN {graded_sql(base)} g"
        " ON g.question_text_key = b.text_key AND g.passage_text_key = places.text_key"
        " ORDER BY override_key, b.question_key",
        base.parameters,
    )
    return group_pairs(
        (
            key,
            (weight, rating, None if question is None or passage is None else (question, passage)),
        )
        for key, weight, rating, question, passage in rows
    )


def _scored_again(
    project: Project,
    base: Basis,
    board: Leaderboard,
    passage_id: str,
    ratings: Mapping[str, int | None],
) -> tuple[int | None, Leaderboard]:
    """Return the label of a passage and the leaderboard, with given ratings for some questions."""
    questions_found = [_question_and_queries(project, base, question_id) for question_id in ratings]
    new_ratings = {
        text: MISSING if rating is None else rating
        for (text, _, _), rating in zip(questions_found, ratings.values(), strict=True)
    }
    places = [query_id for _, homes, _ in questions_found for query_id in homes]
    asking_them = [query_id for _, _, asking in questions_found for query_id in asking]
    new_scores: dict[str, dict[str, float] | None] = {}
    labels: dict[str, int] = {}
    for query_id in dict.fromkeys(asking_them):
        bank_questions = asked_questions(project, base.version, query_id)
        questions = gradable_questions(bank_questions, base.grader)
        ratings_before = load_ratings(project, base, query_id, questions)
        cells = ratings_before.select_questions(questions).copy()
        if passage_id in ratings_before.passage_ids:
            row = ratings_before.passage_ids.index(passage_id)
            same_text = ratings_before.text_keys == ratings_before.text_keys[row]
            words = [(q.text or q.question_id).strip() for q in questions]
            for text, rating in new_ratings.items():
                cells[np.ix_(same_text, np.array([one == text for one in words], bool))] = rating
            if query_id in places and ratings_before.pooled[row]:
                labels[query_id] = int(
                    labels_of(cells, weights_of(questions, base.policy.weighted), base.policy.rule)[
                        row
                    ]
                )
        new_scores[query_id] = query_scores(
            project, base, board.measure, ratings_before, bank_questions, cells
        )
    value = next((labels[query_id] for query_id in places if query_id in labels), MISSING)
    label = None if value == MISSING else value
    return label, rescore_board(board, new_scores)


def _question_and_queries(
    project: Project, base: Basis, question_id: str
) -> tuple[str, list[str], list[str]]:
    """Return the text of a question; the ids of the queries that ask it: its own query, then its
    topic; and the ids of the queries that ask a question with the same wording.
    """
    rows = project.rows(
        "WITH bank AS (SELECT * FROM bank_at($version))"
        " SELECT coalesce(t.text, question_id), query_id, subtopic_id FROM bank"
        " JOIN question_texts t USING (text_key) JOIN questions USING (question_key)"
        " JOIN queries q USING (query_key)"
        " WHERE text_key = (SELECT text_key FROM bank JOIN questions USING (question_key)"
        " WHERE question_id = $question) ORDER BY question_id <> $question",
        {"version": base.version, "question": question_id},
    )
    if not rows:
        raise InputError("unknown-question", f"Unknown question '{question_id}'.")
    places = [(query_id, subtopic_id) for _, query_id, subtopic_id in rows]
    return (
        str(rows[0][0]).strip(),
        asking_queries(project, places[:1]),
        asking_queries(project, places),
    )


def _moved_systems(before: Leaderboard, after: Leaderboard) -> list[SystemChange]:
    moved = [
        change
        for change in list_system_changes(before, after)
        if None not in (change.rank_before, change.rank_after)
        and (change.score_before, change.rank_before) != (change.score_after, change.rank_after)
    ]
    return sorted(
        moved,
        key=lambda s: (
            s.rank_before == s.rank_after,
            -abs((s.score_after or 0.0) - (s.score_before or 0.0)),
        ),
    )
