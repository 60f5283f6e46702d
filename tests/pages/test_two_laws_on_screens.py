"""What screens say where words are not known, and over which queries two boards are compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from exam_workbench import bank
from exam_workbench.labels import compare
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.bank.test_unknown_words import BREAD, by_id
from tests.made.projects import fill, judge
from tests.made.screens import board, edit, holds, metric, note, numbers, rows, tell, visit

__all__ = ["by_id"]  # fixtures

SYSTEMS = [f"s{i}" for i in range(5)]
QUERIES = [f"q{i}" for i in range(6)]


def said(app: AppTest) -> str:
    kinds = ("title", "subheader", "markdown", "text", "caption", "info", "error")
    return "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind)).replace("\\", "")


def html(app: AppTest) -> str:
    return "\n".join(str(element.proto.body) for element in app.get("html"))


@pytest.fixture
def part(project: Project) -> Project:
    """Three of six queries have questions, five are judged, two of them with a question."""
    passages = ["a", "b", "c", "d"]
    dice = np.random.default_rng(5)
    runs = {run: {q: [str(p) for p in dice.permutation(passages)] for q in QUERIES} for run in SYSTEMS}
    ratings = {(f"{q}?", p): int(dice.integers(0, 6)) for q in QUERIES[:3] for p in passages}
    fill(project, [Question(f"{q}/1", q, f"{q}?") for q in QUERIES[:3]], ratings, runs)
    judge(project, {(q, p): int(dice.integers(0, 3)) for q in QUERIES[1:] for p in passages}, "NIST")
    return project


@pytest.mark.parametrize("over", ["common", "own"])
def test_the_leaderboard_says_over_which_queries_it_compares(part: Project, over: str) -> None:
    app = visit("leaderboard", over_queries=over)
    found = compare(part, "nDCG@10", "NIST", queries=over)
    assert metric(app, "metric Spearman") == f"{found.correlation.spearman:.3f}"
    assert found.queries.says in said(app)
    shown = board(app)
    assert dict(shown["Score"]) == pytest.approx(found.board.scores)
    assert dict(shown["Official Score"]) == pytest.approx(found.official.scores)


def test_the_measures_screen_counts_queries_beside_every_correlation(part: Project) -> None:
    app = visit("measures", measures="nDCG@10")
    held = holds(app, "agreements")["table"]
    assert {row["fixed"]["Queries"] for row in held["rows"]} == {"2 of 3 / 5", "5"}
    opened = holds(tell(app, "agreements", "pick", [0, 0]), "agreements")["detail"]
    assert {2, 3, 5} <= set(numbers(opened["says"]))


def test_the_changes_screen_says_over_which_queries_the_correlation_shifts(part: Project) -> None:
    bank.save_version(part, [Question("q1/1", "q1", "q2?")], "reworded", "ann")
    assert {2, 3, 5} <= set(numbers(note(visit("changes", from_version="1", to_version="2"), "about-change")))


def test_the_bank_says_that_the_old_words_are_not_known(by_id: Project) -> None:
    app = visit("question_bank", query="q1")
    row = rows(app)[0]
    assert row["lost"]
    assert row["text"] is None
    # A box that is emptied again leaves words that nobody knows as they are.
    edit(app, None, text="  ")
    assert not bank.list_drafts(by_id, "ann")
    edit(app, None, text="How do I bake bread?")
    assert bank.list_drafts(by_id, "ann")[row["id"]].question.text == "How do I bake bread?"
    bank.save_version(by_id, [replace(BREAD, text="How do I bake bread?")], "clearer", "ann")
    text = said(visit("changes", from_version="1", to_version="2", differs="Questions"))
    text += html(visit("changes", from_version="1", to_version="2", differs="Questions"))
    assert "words not known" in text


def test_the_passages_screen_shows_ratings_of_unknown_words_as_such(by_id: Project) -> None:
    asked = holds(visit("passages", query="q1", passage="p1"), "question-ratings")["questions"]
    assert "q1/bread (words not known)" in [one["words"] for one in asked]
