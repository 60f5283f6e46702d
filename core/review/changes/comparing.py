"""What a query's questions and ratings are before and after a change, one beside the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...labels import MISSING, Basis, QueryRatings, Ratings, scored, wording
from ...types import GraderSpec, Question

Asked = Mapping[str, Question]
"""The questions that a query asks, by id."""


@dataclass(frozen=True)
class RatingRow:
    """One question and what it gives a passage, before and after a change.

    Args:
        before, after: the ratings; None where the question does not count or is not graded.
        graded: whether the wording after, where it counts, has a grade for the passage.
    """

    question_id: str
    text: str
    before: int | None
    after: int | None
    graded: bool


def rating_rows(
    before: Asked, after: Asked, was: Mapping[str, int | None], now: Mapping[str, int | None]
) -> list[RatingRow]:
    """The ratings behind a label in two states, question by question, as far as a question counts in one of them.

    Args:
        was, now: by question id, the rating of those that count; None where there is none.
    """
    return [
        RatingRow(key, (after.get(key) or before[key]).shown, was.get(key), now.get(key), now.get(key, 0) is not None)
        for key in {**before, **after}
        if key in was or key in now
    ]


def ratings_of_passage(
    base: Basis, known: QueryRatings, questions: Sequence[Question], row: int
) -> dict[str, int | None]:
    """The rating of every question that counts for one passage, by id; None where there is none."""
    asked = scored(questions, base.grader)
    values = known.of(asked)[row]
    return {
        question.question_id: None if value == MISSING else int(value)
        for question, value in zip(asked, values, strict=True)
    }


def scoring_part(question: Question | None, spec: GraderSpec) -> tuple[object, ...] | None:
    """What of a question can change a score; None for one that is not there or not active."""
    if question is None or not question.active:
        return None
    return (wording(question, spec), question.kind, question.weight)


def responsible(
    keys: Sequence[str], sides: Sequence[tuple[Callable[[Asked], Ratings], Asked, Asked]]
) -> dict[str, NDArray[np.bool_]]:
    """By question, the passages whose label it moves alone.

    Args:
        keys: ids of the questions that differ.
        sides: for the state before and the one after: how labels come from what is asked, the state, and the other.

    Returns:
        By question id, p; true where the label moves when the question alone is changed in the state before, or comes
        back when it alone is undone in the state after.
    """
    did: dict[str, NDArray[np.bool_]] = {}
    for labels, state, other in sides:
        whole = labels(state)
        for key in keys:
            moved = labels(swapped(state, other, key)) != whole
            did[key] = did[key] | moved if key in did else moved
    return did


def swapped(state: Asked, other: Asked, key: str) -> dict[str, Question]:
    """A state with one question as it is in the other state."""
    rest = {k: question for k, question in state.items() if k != key}
    return rest | ({key: other[key]} if key in other else {})
