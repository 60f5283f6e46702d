"""The line on the readiness of a leaderboard, and the leaderboard in grey."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from exam_workbench import bank, exchange
from exam_workbench.board_summary import board_readiness
from exam_workbench.labels import Policy
from exam_workbench.store import Project
from pages.parts.shared.readiness import GREYED
from tests.made.screens import QUESTIONS, board, boxes, looked_at, note, numbers, press, served, shared, small, visit

__all__ = ["looked_at", "served", "shared", "small"]


def parts(app: AppTest) -> list[tuple[str, list[float]]]:
    """The linked screens of the line, with the numbers in the links."""
    found = boxes(app)["readiness"].get("page_link")
    return [(one.proto.page, numbers(one.proto.label)) for one in found]


@pytest.mark.parametrize("screen", ["home", "leaderboard", "export"])
def test_the_same_facts_stand_on_three_screens(shared: Project, screen: str) -> None:
    found = board_readiness(shared, Policy(), "nDCG@10")
    expected = [("grading", [94, 10]), ("disagreements", [found.disagreements]), ("audit", []), ("changes", [1])]
    if screen == "leaderboard":
        # The sentence above the line has the graded share and the audit.
        assert parts(visit(screen)) == [expected[1], expected[3]]
        return
    assert parts(visit(screen)) == expected
    # The measure of the address decides which pairs count.
    (graded, *_) = parts(visit(screen, measure="P@1"))
    only = board_readiness(shared, Policy(), "P@1")
    assert graded == ("grading", [int(only.graded.strip("%")), 1])


def test_a_publication_follows_a_checklist_and_states_its_readiness(small: Project) -> None:
    app = press(visit("export"), "publish")
    links = [one.proto.page for one in boxes(app)["checklist"].get("page_link")]
    assert links == ["grading", "grading", "disagreements", "audit", "passages", "leaderboard"]
    (manifest,) = exchange.list_publications(small)
    assert manifest["readiness"] == vars(board_readiness(small, Policy(), "nDCG@10"))


def test_no_line_stands_before_the_first_grades(project: Project) -> None:
    assert "readiness" not in boxes(visit("home"))


def test_a_leaderboard_from_less_than_half_of_the_grades_is_grey(small: Project) -> None:
    assert GREYED not in boxes(visit("leaderboard"))
    bank.save_version(small, [replace(one, text=f"{one.text} Why?") for one in QUESTIONS[1:]], "", "bob")
    app = visit("leaderboard")
    assert GREYED in boxes(app)
    assert numbers(note(app, "few-graded-why")) == numbers(board_readiness(small, Policy(), "nDCG@10").grading)
    # No query is complete, so that nothing is compared; the systems are shown nevertheless.
    assert not board(app).empty and "Official" not in board(app)
