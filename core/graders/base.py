"""What every grader can do: take pairs of texts, give back grades as they arrive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from ..types import Asked, Grade, GraderSpec
from .control import Control

Pair = tuple[int, int]
"""(question text key, passage text key): the two texts that one grade is about."""

Outcome = tuple[int, int, Grade]
"""A pair with the grade that it got."""


class PairsToGrade(NamedTuple):
    """Pairs that a job still has to ask, with their texts by text key.

    Args:
        questions: what is asked; has every key that `pairs` names.
        passages: likewise.
        pairs: each once.
    """

    questions: Mapping[int, Asked]
    passages: Mapping[int, str]
    pairs: Sequence[Pair]


class Grader(Protocol):
    """A method with its model, prompt and parameters, ready to grade."""

    @property
    def spec(self) -> GraderSpec:
        """What identifies this grader."""
        ...

    def grade(
        self, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair], control: Control
    ) -> Iterator[list[Outcome]]:
        """Grade pairs, a batch at a time.

        Args:
            questions: what is asked by text key; has every key that `pairs` names.
            passages: passage text by text key; likewise.
            pairs: the pairs to grade, each once.
            control: is asked before every call of a model whether it may be made.

        Yields:
            Small batches of outcomes in any order. A caller may stop between two batches and
            loses nothing but the calls in flight. Together they cover every pair, unless `control` stops it.

        Raises:
            GradingError: the grader cannot go on at all (no model, no access).
        """
        ...
