"""Sealed questions on the screens: sealing and opening beside the leaderboard, and hidden words of the bank."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from exam_workbench import bank
from exam_workbench.records import sealed_questions
from exam_workbench.store import Project
from tests.bank.test_seals import put
from tests.made.projects import copy_of
from tests.made.screens import holds, press, served, shows, sound, visit

__all__ = ["served"]


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Project]:
    yield from copy_of(put, tmp_path)


def test_questions_are_sealed_compared_and_opened(filled: Project) -> None:
    app = sound(press(visit("leaderboard", view="Sealed questions"), "seal"))
    assert len(sealed_questions(filled)) == 24
    assert shows(app, "sealed") and len(app.dataframe[0].value) == 4
    rows = holds(visit("question_bank", query="q1"), "questions")["rows"]
    hidden = {row["id"] for row in rows if "Secret" not in row["text"]}
    assert hidden == {one for one in sealed_questions(filled) if one.startswith("q1/")}
    assert not [text for q in bank.list_questions(filled) if q.question_id in hidden and (text := q.text) in repr(rows)]
    app = press(visit("leaderboard", view="Sealed questions"), "open seals")
    assert sealed_questions(filled) == frozenset() and not shows(app, "sealed")
