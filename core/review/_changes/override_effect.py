"""Effects of overrides: labels with and without an override, and the leaderboard with changed ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...bank import asked_questions, asking, asks, bank_for
from ...errors import InputError
from ...labels import (
    MISSING,
    Basis,
    Leaderboard,
    Override,
    Policy,
    Shift,
    basis,
    graded,
    labels_of,
    leaderboard,
    load_ratings,
    overrides,
    query_scores,
    scored,
    weights_of,
)
from ...records import visible
from ...store import Project
from .rescoring import SystemChange, moves, rescored, shift_against


@dataclass(frozen=True)
class Effect:
    """Effects of other ratings for questions and a passage.

    Args:
        label_before, label_after: label of the passage for the question's query, or for its topic if only the topic has
            the passage in its pool; None for no label.
        systems: the systems whose rank or score changes, greatest change first.
        shift: shift of the correlation with the official leaderboard; None without an official leaderboard.
    """

    label_before: int | None
    label_after: int | None
    before: Leaderboard
    after: Leaderboard
    systems: list[SystemChange]
    shift: Shift | None


def ratings_effect(
    project: Project,
    measure: str,
    policy: Policy,
    passage_id: str,
    ratings: Mapping[str, tuple[int | None, int | None]],
    against: str | None = None,
) -> Effect:
    """Return the joint effects of changed ratings of some questions for a passage.

    Only the queries and topics that ask these questions are read and scored. All other data comes from the policy's
    leaderboard.

    Args:
        measure: the measure that orders the systems.
        ratings: by question id, the rating before, on the grader's scale, and the rating after, on the scale for people
            (0 to 5); None for no usable grade.
        against: the official leaderboard, a source of judgments or an imported leaderboard.

    Raises:
        InputError: the leaderboard cannot be made, or a question, the passage, the grader or the version is unknown.
    """
    board = leaderboard(project, measure, policy=policy, with_ungraded=True)
    base = basis(project, policy)
    was = {key: before for key, (before, _) in ratings.items()}
    given = {key: None if after is None else base.grader.spec.on_scale(after) for key, (_, after) in ratings.items()}
    states = [_scored_again(project, base, board, passage_id, state) for state in (was, given)]
    (label_before, before), (label_after, after) = states
    shift = shift_against(project, before, after, against, measure)
    return Effect(label_before, label_after, before, after, _moved(before, after), shift)


def override_labels(project: Project, policy: Policy) -> list[tuple[Override, int | None, int | None]]:
    """Return every override that is not withdrawn, newest first, with its passage's label without it and with it.

    The label is for the question's query, or for its topic if only the topic has the passage in its pool. All other
    overrides apply to both labels. An override has no effect if it is stale at the policy's bank version, or if the
    policy ignores overrides. It also has no effect if a later override has the same question text and passage text.

    Raises:
        InputError: the grader or version is unknown.
    """
    base = basis(project, policy)
    found = overrides(project, version=base.version)
    if not found:
        return []
    behind = _behind_labels(project, base)
    texts = dict(
        project.rows(
            f"SELECT override_key, [question_text_key, passage_text_key] FROM {visible(project, 'overrides')}"
            " ANTI JOIN held_overrides USING (override_key)"
        )
        if base.overridden
        else []
    )
    # Oldest first, so that the newest is last and counts.
    given: dict[tuple[int, int], list[Override]] = {}
    for one in reversed(found):
        if one.key in texts:
            given.setdefault(tuple(texts[one.key]), []).append(one)

    def label(pairs: Sequence[_Pair], out: Override | None) -> int | None:
        ratings = []
        for weight, rating, text_keys in pairs:
            people = [one for one in given.get(text_keys, []) if one is not out] if text_keys else []
            ratings.append((weight, base.grader.spec.on_scale(people[-1].rating) if people else rating))
        part = [(w if policy.weighted else 1.0, r) for w, r in ratings if w > 0]
        row = np.array([[MISSING if r is None else r for _, r in part]], np.int8).reshape(1, len(part))
        value = int(labels_of(row, np.array([w for w, _ in part], float), policy.rule)[0])
        return None if value == MISSING else value

    return [(one, label(behind.get(one.key, []), one), label(behind.get(one.key, []), None)) for one in found]


_Pair = tuple[float, int | None, tuple[int, int] | None]
"""Weight of a question, the grader's rating, and the keys of the two texts that an override needs to count."""


def _behind_labels(project: Project, base: Basis) -> dict[int, list[_Pair]]:
    """Return the pairs behind the label of each override's passage, by key of the override."""
    found: dict[int, list[_Pair]] = {}
    for key, weight, rating, question_text, passage_text in project.rows(
        f"WITH bank AS MATERIALIZED {bank_for(base.grader.spec)},"
        f" versions AS MATERIALIZED (SELECT * FROM bank_at($version)),"
        " places AS (SELECT override_key, pool.query_key, passage_key, pool.text_key"
        f"  FROM {visible(project, 'overrides')}"
        " o JOIN questions q USING (question_key) LEFT JOIN versions r USING (question_key)"
        f"  JOIN places() t ON t.query_key = q.query_key AND {asks('t', 'r')}"
        "  JOIN pool USING (passage_key) WHERE withdrawn_at IS NULL AND pool.query_key = t.asking_key QUALIFY"
        "  row_number() OVER (PARTITION BY override_key ORDER BY pool.query_key <> q.query_key, pool.query_key) = 1)"
        # A grader that reads more than the question has its own text for it. If the question has no such text, its
        # overrides do not count.
        " SELECT override_key, b.weight, g.rating, if(b.text_key IS NULL, NULL, r.text_key), places.text_key"
        " FROM places JOIN bank b USING (query_key) LEFT JOIN versions r USING (question_key)"
        f" LEFT JOIN {graded(base)} g"
        " ON g.question_text_key = b.text_key AND g.passage_text_key = places.text_key"
        " ORDER BY override_key, b.question_key",
        base.parameters,
    ):
        texts = None if question_text is None or passage_text is None else (question_text, passage_text)
        found.setdefault(key, []).append((weight, rating, texts))
    return found


def _scored_again(
    project: Project, base: Basis, board: Leaderboard, passage_id: str, ratings: Mapping[str, int | None]
) -> tuple[int | None, Leaderboard]:
    """Return the label of a passage and the leaderboard, with given ratings for some questions."""
    given: dict[str, int] = {}
    places: list[str] = []
    asking_them: list[str] = []
    for question_id, rating in ratings.items():
        text, homes = _question(project, base, question_id)
        given[text] = MISSING if rating is None else rating
        places += homes
        asking_them += _asking(project, base, question_id)
    found: dict[str, dict[str, float] | None] = {}
    labels: dict[str, int] = {}
    for query_id in dict.fromkeys(asking_them):
        asked = asked_questions(project, base.version, query_id)
        questions = scored(asked, base.grader)
        known = load_ratings(project, base, query_id, questions)
        cells = known.of(questions).copy()
        if passage_id in known.passage_ids:
            row = known.passage_ids.index(passage_id)
            same_text = known.text_keys == known.text_keys[row]
            words = [(q.text or q.question_id).strip() for q in questions]
            for text, rating in given.items():
                cells[np.ix_(same_text, np.array([one == text for one in words], bool))] = rating
            if query_id in places and known.pooled[row]:
                labels[query_id] = int(
                    labels_of(cells, weights_of(questions, base.policy.weighted), base.policy.rule)[row]
                )
        found[query_id] = query_scores(project, base, board.measure, known, asked, cells)
    value = next((labels[query_id] for query_id in places if query_id in labels), MISSING)
    label = None if value == MISSING else value
    return label, rescored(board, found)


def _question(project: Project, base: Basis, question_id: str) -> tuple[str, list[str]]:
    """Return the text of a question, and the ids of the queries that ask it: its own query, then its topic."""
    rows = project.rows(
        "SELECT coalesce(t.text, question_id), query_id, subtopic_id FROM bank_at($version)"
        " JOIN question_texts t USING (text_key) JOIN questions USING (question_key) JOIN queries q USING (query_key)"
        " WHERE question_id = $question",
        {"version": base.version, "question": question_id},
    )
    if not rows:
        raise InputError("unknown-question", f"Unknown question '{question_id}'.")
    text, *place = rows[0]
    return str(text).strip(), asking(project, [(place[0], place[1])])


def _asking(project: Project, base: Basis, question_id: str) -> list[str]:
    """Return the ids of the queries that ask a question with the same wording."""
    places = project.rows(
        "WITH bank AS (SELECT * FROM bank_at($version)) SELECT DISTINCT query_id, subtopic_id FROM bank"
        " JOIN questions USING (question_key) JOIN queries USING (query_key) WHERE bank.text_key ="
        " (SELECT text_key FROM bank JOIN questions USING (question_key) WHERE question_id = $question)",
        {"version": base.version, "question": question_id},
    )
    return asking(project, ((query_id, subtopic_id) for query_id, subtopic_id in places))


def _moved(before: Leaderboard, after: Leaderboard) -> list[SystemChange]:
    moved = [
        one
        for one in moves(before, after)
        if None not in (one.rank_before, one.rank_after)
        and (one.score_before, one.rank_before) != (one.score_after, one.rank_after)
    ]
    return sorted(
        moved, key=lambda s: (s.rank_before == s.rank_after, -abs((s.score_after or 0.0) - (s.score_before or 0.0)))
    )
