"""The interface of graders: pairs of texts in, grades out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from ..types import Asked, Grade, GraderSpec
from ._job_control import Control

Pair = tuple[int, int]
"""(question text key, passage text key): the two texts that a grade is about."""

Outcome = tuple[int, int, Grade]
"""A pair and its grade."""


class PairsToGrade(NamedTuple):
    """Pairs that a job still has to ask, with their texts by text key.

    Args:
        questions: question texts; has every key that `pairs` names.
        passages: passage texts; has every key that `pairs` names.
        pairs: each once.
    """

    questions: Mapping[int, Asked]
    passages: Mapping[int, str]
    pairs: Sequence[Pair]


class Grader(Protocol):
    """A method with its model, prompt and parameters, ready to grade."""

    @property
    def spec(self) -> GraderSpec:
        """Identity of this grader."""
        ...

    def grade(
        self, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair], control: Control
    ) -> Iterator[list[Outcome]]:
        """Grade pairs, a batch at a time.

        Args:
            questions: question texts by text key; has every key that `pairs` names.
            passages: passage texts by text key; has every key that `pairs` names.
            pairs: the pairs to grade, each once.
            control: gives permission before every model call.

        Yields:
            Small batches of outcomes in any order. A caller may stop between two batches and loses only the calls in
            flight. Together the batches cover every pair, unless `control` stops the job.

        Raises:
            GradingError: the grader cannot continue at all (no model, no access).
        """
        ...
