"""A grader for drills that takes its process down with it where a passage has a certain word."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.graders import GRADERS, Control, Grader, Outcome, Pair, make_grader
from core.types import Asked, GraderSpec


class Deadly:
    """The embedding grader, until it reads the word."""

    def __init__(self, word: str) -> None:
        self._word, self._grader = str(word), make_grader("embedding", {})

    @property
    def spec(self) -> GraderSpec:
        spec = self._grader.spec
        return replace(spec, name="deadly", method="deadly", parameters=spec.parameters | {"word": self._word})

    def grade(
        self, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair], control: Control
    ) -> Iterator[list[Outcome]]:
        if any(self._word in passages[passage] for _, passage in pairs):
            os._exit(1)
        yield from self._grader.grade(questions, passages, pairs, control)


class Word(str):
    """A word that brings this module along to wherever it is sent, and with it the kind of grader."""


def _make(parameters: Mapping[str, Any], prompts: Mapping[str, Any]) -> Grader:
    return Deadly(parameters["word"])


GRADERS["deadly"] = replace(GRADERS["embedding"], name="deadly", make=_make, settable=("word",))
