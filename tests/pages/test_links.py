"""A link that names what is not there says so, and shows something that is."""

from __future__ import annotations

from exam_workbench.store import Project
from pages.parts.shared.screens import MENU, SCREENS, entry_of
from tests.made.screens import boxes, errors, holds, looked_at, served, shared, shows, visit

__all__ = ["looked_at", "served", "shared"]  # fixtures


def test_a_link_to_a_query_that_is_not_there_says_so_and_shows_the_first_passage(shared: Project) -> None:
    app = visit("passages", query="q*9")
    assert shows(app, "another-query", "q*9")
    assert holds(app, "place")["values"]["query"] == "q1"
    assert not visit("passages", query="q2").warning


def test_a_link_to_a_prompt_that_is_not_there_says_so_and_shows_the_usual_one(shared: Project) -> None:
    assert shows(visit("prompts", prompt="gone"), "another-prompt", "gone", "self-rating")


OLD = (
    *("home", "my_work", "question_bank", "grading", "passages", "disagreements", "adjudication", "changes"),
    *("leaderboard", "audit", "measures", "export", "exam", "students", "items", "improve", "answers", "cases"),
    *("judges", "prompts", "people", "activity"),
)
"""Screens to which links were sent when each had its own entry in the menu."""


def test_the_menu_has_eleven_entries_and_old_links_lead_to_their_screens(shared: Project) -> None:
    assert len(MENU) == 11
    for name in OLD:
        app = visit(name)
        assert app.title[0].value == SCREENS[name][0]
        assert not errors(app)


def test_people_and_activity_are_behind_a_gear_and_unused_parts_are_folded(shared: Project) -> None:
    icon, screens = MENU[entry_of("people")]
    assert (icon, list(screens)) == (":material/settings:", ["people", "activity"])
    folded = boxes(visit("home"))["menu-more"].get("page_link")
    assert [entry_of(link.proto.page) for link in folded] == ["Exams", "Answers"]
