"""Comparison of a query's questions and ratings before and after a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import bank
from ...labels import MISSING, Basis, QueryRatings, Ratings, scored, wording
from ...store import Project
from ...types import GraderSpec, Question

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
    """Return the ratings behind a label in two states, question by question, for questions that count in either state.

    Args:
        was, now: ratings in the two states by id of a question that counts; None for a missing rating.
    """
    asked = {**before, **after}
    keys = [key for key in asked if key in was or key in now]
    shown = bank.readable(project, [asked[key] for key in keys])
    return [
        RatingRow(key, one.shown, was.get(key), now.get(key), now.get(key, 0) is not None)
        for key, one in zip(keys, shown, strict=True)
    ]


def ratings_of_passage(
    base: Basis, known: QueryRatings, questions: Sequence[Question], row: int
) -> dict[str, int | None]:
    """Return the ratings of a passage by id of a question that counts; None for a missing rating."""
    asked = scored(questions, base.grader)
    values = known.of(asked)[row]
    return {
        question.question_id: None if value == MISSING else int(value)
        for question, value in zip(asked, values, strict=True)
    }


def scoring_part(question: Question | None, spec: GraderSpec) -> tuple[object, ...] | None:
    """Return the parts of a question that can change a score; None for a missing or inactive question."""
    if question is None or not question.active:
        return None
    return (wording(question, spec), question.kind, question.weight)


def responsible(
    keys: Sequence[str], sides: Sequence[tuple[Callable[[Asked], Ratings], Asked, Asked]]
) -> dict[str, NDArray[np.bool_]]:
    """Return, by question, the passages whose changed label it is responsible for.

    Args:
        keys: ids of the questions that differ.
        sides: for the state before, and for the state after: the function from questions to labels, the state, and the
            other state.

    Returns:
        By question id, a flag for each of the p passages. It is True in two cases: the change of only this question
        moves the label of the state before, or undoing only this change in the state after restores the label.
    """
    did: dict[str, NDArray[np.bool_]] = {}
    for labels, state, other in sides:
        whole = labels(state)
        for key in keys:
            moved = labels(swapped(state, other, key)) != whole
            did[key] = did[key] | moved if key in did else moved
    return did


def swapped(state: Asked, other: Asked, key: str) -> dict[str, Question]:
    """Return a state with one question as in the other state."""
    rest = {k: question for k, question in state.items() if k != key}
    return rest | ({key: other[key]} if key in other else {})
