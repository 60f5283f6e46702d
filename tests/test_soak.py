"""A short soak test: two people work in the demo project, with a fixed seed. `make soak` runs long ones."""

from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import Browser

from exam_workbench.exchange import make_demo
from exam_workbench.graders import make_grader
from exam_workbench.store import open_project
from tests.made.projects import examples, grade
from tests.soak.walk import Soak

ROUNDS = examples(3)
"""Actions per person, which take about twenty seconds."""


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """The demo project with random ratings: derived results must be right for any ratings."""
    path = tmp_path / "demo.duckdb"
    make_demo(path, "maker", False, lambda _: None)
    project = open_project(path)
    dice = Random(1)
    pairs = project.rows(
        "SELECT t.text, passage_id FROM pool JOIN questions USING (query_key) JOIN question_revisions r"
        " USING (question_key) JOIN question_texts t ON t.text_key = r.text_key JOIN passages USING (passage_key)"
        " ORDER BY ALL"
    )
    ratings = {pair: dice.choices(range(6), (8, 5, 3, 2, 1, 1))[0] for pair in pairs}
    grade(project, ratings, make_grader("embedding", {}).spec)
    project.close()
    return path


@pytest.mark.browser
def test_two_people_lose_no_edits_and_see_correct_data(chromium: Browser, demo: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    soak = Soak(tmp_path / "soak", 1, demo, tell=lines.append)
    soak.run(2, rounds=ROUNDS)
    assert soak.done.total() >= 2 * ROUNDS
