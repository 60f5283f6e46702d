"""Robustness probe: a grader is asked about changed passages of the project, and its flips are counted."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ..bank import grader_key
from ..errors import InputError
from ..graders import CHANGES, Control, Grader
from ..store import Project, log
from ..types import ANSWERED
from ._needed_pairs import with_texts

PROBED = 20
"""Default number of pairs for each change."""


def probe(project: Project, grader: Grader, author: str, control: Control, pairs: int = PROBED) -> int:
    """Ask a grader about changed passages of pairs that it graded, and store its answers.

    Changes that keep an answer start from answered pairs, all others from pairs without an answer.

    Returns:
        The number of answers.

    Raises:
        InputError: the grader has no answered pair, or only answered ones.
    """
    project.require("grade", author=author)
    spec = grader.spec
    key = project.read(lambda cursor: grader_key(cursor, spec))
    chosen = {
        answered: project.rows(
            "SELECT question_text_key, passage_text_key, rating FROM grades WHERE grader_key = ?"
            f" AND (rating >= {spec.min_rating(ANSWERED):d}) = {answered} ORDER BY random() LIMIT {pairs:d}",
            [key],
        )
        for answered in (True, False)
    }
    if not all(chosen.values()):
        raise InputError(
            "too-few-grades",
            f"'{spec.name}' needs a pair with an answer and a pair without one for a probe.",
            f"Grade more pairs: exam grade --grader '{spec.name}'",
        )
    texts = with_texts(project, spec, [pair[:2] for found in chosen.values() for pair in found])
    rows, passages, asked = [], dict[int, str](), []
    for name, change in CHANGES.items():
        for number, (question, passage, before) in enumerate(chosen[change.keeps]):
            other = _other(chosen[True], question, number, texts.passages)
            text = change.make(texts.questions[question].text, texts.passages[passage], other, number)
            rows.append((name, question, passage, before))
            passages[len(passages)] = text
            asked.append((question, len(passages) - 1))
    found = {
        place: grade.rating
        for batch in grader.grade(texts.questions, passages, asked, control)
        for _, place, grade in batch
    }
    with project.transaction(act="grade", author=author) as cursor:
        ((number,),) = cursor.execute("SELECT coalesce(max(probe) + 1, 1) FROM probe_answers").fetchall()
        cursor.executemany(
            "INSERT INTO probe_answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP)",
            [[key, number, *rows[place], rating, author] for place, rating in found.items()],
        )
        log(cursor, author, "probe grader", grader=spec.name, answers=len(found))
    return len(found)


def _other(answered: Sequence[tuple[int, int, int]], question: int, number: int, passages: Mapping[int, str]) -> str:
    """Return a passage that answers another question; if only one question was answered, a passage that answers it."""
    others = [passage for asked, passage, _ in answered if asked != question] or [answered[0][1]]
    return passages[random.Random(number).choice(others)]
