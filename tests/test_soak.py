"""A short soak in CI: two persons at work in the demo project, with a fixed seed. `make soak` runs long ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.soak.person import Unsaved
from tests.soak.walk import Soak, run

ROUNDS = 12
"""Acts of each person: about two minutes."""


@pytest.mark.browser
def test_two_persons_at_work_lose_nothing_and_see_what_is_true(chromium: Browser, tmp_path: Path) -> None:
    done: Counter[str] = Counter()
    run(Soak(tmp_path, seed=1, persons=2, rounds=ROUNDS), done)
    assert sum(done.values()) == 2 * ROUNDS


def test_a_person_knows_what_undo_and_redo_bring_back() -> None:
    unsaved = Unsaved()
    unsaved.step({"q1": {"text": "What?"}})
    unsaved.step({"q1": {"weight": 2.0}, "q2": {"active": False}})
    unsaved.undo()
    assert unsaved.now == {"q1": {"text": "What?"}}
    unsaved.redo()
    assert unsaved.now == {"q1": {"text": "What?", "weight": 2.0}, "q2": {"active": False}}
    unsaved.take_back(["q1"])
    assert unsaved.now == {"q2": {"active": False}}
    unsaved.undo()
    unsaved.undo()
    unsaved.step({"q3": {"text": "Who?"}})
    assert (len(unsaved.done), unsaved.undone) == (2, [])
