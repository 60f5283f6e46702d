"""Causes of different labels in two states: changes of questions, and overrides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ... import bank
from ...bank import asked_questions, bank_for, query_as_question, questions_by_query
from ...errors import InputError
from ...labels import Basis, Policy, QueryRatings, Ratings, basis, labels_under, load_ratings, overriding, scored
from ...store import Project, cache
from ...types import Question
from .query_comparison import Asked, RatingRow, rating_rows, ratings_of_passage, responsible, scoring_part


@dataclass(frozen=True)
class QuestionChange:
    """A question that differs between two bank versions in a part that can change a score.

    Args:
        kinds: kinds of change: reworded, added, retired, restored, reweighted, answer key, kind, subtopic.
        before, after: None if it did not exist.
    """

    question_id: str
    query_id: str
    kinds: tuple[str, ...]
    before: Question | None
    after: Question | None


Banks = tuple[Mapping[str, Mapping[str, Question]], Mapping[str, Mapping[str, Question]]]
"""(before, after): by id of every query and topic, the questions that it asks, by their ids."""


def question_changes(before: Basis, after: Basis, of: Banks) -> list[QuestionChange]:
    """Return the questions that differ between the bank versions of two states, if either grader asks them.

    Args:
        of: the questions that queries ask in the two states.
    """
    old, new = ({key: q for asked in by_query.values() for key, q in asked.items()} for by_query in of)
    found = {key for query_id in {**of[1], **of[0]} for key in changed_questions(before, after, of, query_id)}
    return [
        QuestionChange(
            key,
            (new.get(key) or old[key]).query_id,
            _kinds(old.get(key), new.get(key)),
            old.get(key),
            new.get(key),
        )
        for key in {**new, **old}
        if key in found
    ]


def changed_questions(before: Basis, after: Basis, of: Banks, query_id: str) -> dict[str, tuple[str, ...]]:
    """Return the kinds of change of a query's questions, by id, for questions with a change that can affect a score.

    A question that moved to another subtopic counts as added to one topic and as retired from the other.
    """
    old, new = (by_query.get(query_id, {}) for by_query in of)
    specs = [base.grader.spec for base in (before, after) if base.grader.spec.method != "direct"]
    return {
        key: _kinds(old.get(key), new.get(key))
        for key in {**new, **old}
        if any(scoring_part(old.get(key), spec) != scoring_part(new.get(key), spec) for spec in specs)
    }


def _kinds(old: Question | None, new: Question | None) -> tuple[str, ...]:
    if old is None:
        return ("added",)
    if new is None:
        return ("retired",)
    said = {
        "retired": old.active and not new.active,
        "restored": new.active and not old.active,
        "reworded": old.text != new.text,
        "reweighted": old.weight != new.weight,
        "answer key": (old.answer_key, old.choices) != (new.answer_key, new.choices),
        "kind": old.kind != new.kind,
        "subtopic": old.subtopic_id != new.subtopic_id,
    }
    if said["retired"]:
        return ("retired",)
    return tuple(kind for kind, so in said.items() if so)


def banks(project: Project, before: Basis, after: Basis) -> Banks:
    """Return the questions of every query and topic in two states."""

    def compute() -> Banks:
        old, new = (
            {
                query_id: {question.question_id: question for question in asked}
                for query_id, asked in questions_by_query(project, bank.questions(project, base.version)).items()
            }
            for base in (before, after)
        )
        return old, new

    return project.cached(("banks", before.version, after.version), compute, cache.ASKED)


def responsible_questions(
    project: Project, before: Basis, after: Basis, of: Banks, query_id: str, keys: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return, by passage id, the changed questions of a query or topic that are responsible for the changed label.

    A question is responsible if its change alone moves the label of the state before. It is also responsible if undoing
    only its change in the state after restores the label. If no question is responsible alone, all changed questions
    are returned.

    Args:
        keys: ids of the questions that differ, as `changed_questions` returns them.
    """
    old, new = (by_query.get(query_id, {}) for by_query in of)
    texts = [*old.values(), *new.values()]
    known: dict[tuple[object, ...], QueryRatings] = {}
    sides = []
    for base, state, other in ((before, old, new), (after, new, old)):
        view = (*base.rated, base.overridden)
        if view not in known:
            known[view] = load_ratings(project, base, query_id, texts)
        # A direct grader is asked only about the query, so changes of the bank do not affect it.
        asks = base.grader.spec.method != "direct"
        sides.append((partial(_labels, base, known[view]), state if asks else {}, other if asks else {}))
    did = responsible(keys, sides)
    passage_ids = known[view].passage_ids
    return {
        passage_id: tuple(key for key in keys if did[key][row]) or tuple(keys)
        for row, passage_id in enumerate(passage_ids)
    }


def _labels(base: Basis, known: QueryRatings, asked: Asked) -> Ratings:
    return labels_under(base, known, list(asked.values()))


def overridden_questions(project: Project, bases: Sequence[Basis]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return, by (query id, passage id), the ids of questions with an override that counts in any of the states."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for base in bases:
        if not base.overridden:
            continue
        for query_id, passage_id, question_id in project.rows(
            f"SELECT query_id, passage_id, question_id FROM {overriding(base)} o"
            f" JOIN {bank_for(base.grader.spec)} b ON b.text_key = o.question_text_key"
            " JOIN pool p ON p.query_key = b.query_key AND p.text_key = o.passage_text_key"
            " JOIN queries ON queries.query_key = p.query_key JOIN passages USING (passage_key)"
            " JOIN questions USING (question_key) ORDER BY question_key",
            base.parameters,
        ):
            found.setdefault((query_id, passage_id), {})[question_id] = None
    return {pair: tuple(keys) for pair, keys in found.items()}


def why_label(project: Project, before: Policy, after: Policy, query_id: str, passage_id: str) -> list[RatingRow]:
    """Return the ratings behind a passage's label in two states, question by question.

    Raises:
        InputError: a grader, a version, the query or the passage is unknown.
    """
    states = [_ratings_of_passage(project, basis(project, policy), query_id, passage_id) for policy in (before, after)]
    (old, was), (new, now) = states
    return rating_rows(project, old, new, was, now)


def _ratings_of_passage(
    project: Project, base: Basis, query_id: str, passage_id: str
) -> tuple[dict[str, Question], dict[str, int | None]]:
    """Return the questions of a query, and the ratings of those that count for a passage; None for a missing rating."""
    if not project.value("SELECT count(*) FROM queries WHERE query_id = ?", [query_id]):
        raise InputError("unknown-query", f"Unknown query '{query_id}'.", "Choose a query from the list.")
    if base.grader.spec.method == "direct":
        questions = [query_as_question(project, query_id)]
    else:
        questions = asked_questions(project, base.version, query_id)
    asked = scored(questions, base.grader)
    known = load_ratings(project, base, query_id, asked)
    if passage_id not in known.passage_ids:
        raise InputError(
            "unknown-passage",
            f"Unknown passage '{passage_id}' for query {query_id}.",
            "Choose a passage from the list.",
        )
    row = known.passage_ids.index(passage_id)
    return {q.question_id: q for q in questions}, ratings_of_passage(base, known, questions, row)
