"""A grader that reads: one method, one model and one prompt put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...types import Asked, Grade, GraderSpec
from ..base import Outcome, Pair
from ..control import Control
from .calls import BackEnd, Steps

EMPTY_PASSAGE = Grade(None, "failed", reason="the passage is empty")
"""What becomes of a pair whose passage has no words: no model is asked."""

Method = Callable[[Asked, str], Steps]
"""How one pair is graded, given what is asked and the passage."""


@dataclass(eq=False)
class ReadingGrader:
    """Asks a model about every pair by the steps of a method.

    Args:
        spec: what identifies the grader.
        method: makes the steps of one pair.
        back_end: the model.
        by_passage: whether prompts about one passage share their beginning, so that pairs are best asked passage
            by passage; if not, they share most question by question.
    """

    spec: GraderSpec
    method: Method
    back_end: BackEnd
    by_passage: bool

    def steps(self, asked: Asked, passage: str) -> Steps:
        """How one pair is graded."""
        return self.method(asked, passage)

    def ordered(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Pairs in the order in which prompts that begin alike follow each other, for models that keep beginnings."""
        return sorted(pairs, key=lambda pair: pair[::-1] if self.by_passage else pair)

    def grade(
        self, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair], control: Control
    ) -> Iterator[list[Outcome]]:
        """Grade pairs, as many at a time as suits the model; as `Grader.grade` says."""
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
