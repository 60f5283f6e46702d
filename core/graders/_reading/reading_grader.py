"""Graders that combine a method, a model and a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...types import Asked, Grade, GraderSpec
from .._grader_interface import Control, Outcome, Pair
from .calls import BackEnd, Steps

EMPTY_PASSAGE = Grade(None, "failed", reason="the passage is empty")
"""Grade for a pair with an empty passage: no model is asked."""

Method = Callable[[Asked, str], Steps]
"""Returns the steps of one pair for a question and a passage."""


@dataclass(eq=False)
class ReadingGrader:
    """Asks a model about every pair by the steps of a method.

    Args:
        spec: identity of the grader.
        method: returns the steps of one pair.
        back_end: the model.
        by_passage: whether to ask passage by passage, because prompts about the same passage share their beginning; if
            False, question by question.
    """

    spec: GraderSpec
    method: Method
    back_end: BackEnd
    by_passage: bool

    def steps(self, asked: Asked, passage: str) -> Steps:
        """Return the steps of one pair."""
        return self.method(asked, passage)

    def ordered(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs in an order in which similar prompts are neighbours, for models that cache prefixes."""
        return sorted(pairs, key=lambda pair: pair[::-1] if self.by_passage else pair)

    def grade(
        self, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair], control: Control
    ) -> Iterator[list[Outcome]]:
        """Grade pairs, as many at a time as suits the model; see `Grader.grade`."""
        order = self.ordered(pairs)
        empty = [(question, passage, EMPTY_PASSAGE) for question, passage in order if not passages[passage].strip()]
        if empty:
            yield empty
        yield from self.back_end.drive(
            (
                ((question, passage), self.steps(questions[question], passages[passage]))
                for question, passage in order
                if passages[passage].strip()
            ),
            control,
        )
