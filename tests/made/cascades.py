"""A small collection for tests of cascades: four systems, a cheap grader that errs, and an expensive one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from core.graders import Control, Outcome
from core.graders.base import Pair
from core.project import Project
from core.types import Asked, Grade, GraderSpec, Question
from tests.made.projects import fill, grade

CHEAP = GraderSpec("cheap", "self-rating", "small")
EXPENSIVE = GraderSpec("expensive", "self-rating", "large")
QUERIES = [f"q{i}" for i in range(1, 9)]
DEEP = 12
"""Passages of a query; systems rank all of them."""


def truth(question: str, passage: str) -> int:
    """What the expensive grader says: 0 to 5, by the two texts' ends."""
    return (int(passage.rpartition("p")[2]) * 7 + int(question.rstrip("?").rpartition("q")[2]) * 3) % 6


class Expensive:
    """The expensive grader; keeps what it was asked, and breaks after so many pairs."""

    spec = EXPENSIVE

    def __init__(self, breaks_at: int | None = None) -> None:
        self.breaks_at = breaks_at
        self.asked: list[tuple[str, str]] = []

    def grade(
        self, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair], control: Control
    ) -> Iterator[list[Outcome]]:
        for question, passage in pairs:
            if len(self.asked) == self.breaks_at:
                raise OSError("the plug was pulled")
            texts = questions[question].text, passages[passage]
            self.asked.append(texts)
            yield [(question, passage, Grade(truth(*texts)))]


def fill_cheap(project: Project) -> None:
    """Eight queries of twelve passages each; the cheap grader is off by up to two, systems by ever more."""
    chance = random.Random(3)
    questions = [Question(f"{query}/a", query, f"What of {query}?") for query in QUERIES]
    passages = {query: [f"{query}p{i}" for i in range(1, DEEP + 1)] for query in QUERIES}
    true = {(f"What of {q}?", p): truth(f"What of {q}?", p) for q in QUERIES for p in passages[q]}
    ratings = {pair: min(5, max(0, value + chance.choice((-2, -1, 0, 0, 0, 1)))) for pair, value in true.items()}
    runs = {
        name: {
            q: sorted(passages[q], key=lambda p, q=q: -true[f"What of {q}?", p] + spread * chance.random())  # type: ignore[misc]
            for q in QUERIES
        }
        for name, spread in {"good": 0.5, "fair": 4.0, "poor": 9.0, "lost": 40.0}.items()
    }
    fill(project, questions, ratings, runs, CHEAP)


def grade_all(project: Project) -> None:
    """Let the expensive grader grade the whole pool."""
    pairs = [(f"What of {q}?", f"{q}p{i}") for q in QUERIES for i in range(1, DEEP + 1)]
    grade(project, {pair: truth(*pair) for pair in pairs}, EXPENSIVE)


def fill_both(project: Project) -> None:
    """The same, with the expensive grader's grades of everything."""
    fill_cheap(project)
    grade_all(project)
