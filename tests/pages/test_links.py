"""A link that names what is not there says so, and shows something that is."""

from __future__ import annotations

from exam_workbench.project import Project
from tests.made.screens import holds, looked_at, served, shared, shows, visit

__all__ = ["looked_at", "served", "shared"]  # fixtures


def test_a_link_to_a_query_that_is_not_there_says_so_and_shows_the_first_passage(shared: Project) -> None:
    app = visit("passages", query="q*9")
    assert shows(app, "another-query", "q*9")
    assert holds(app, "place")["values"]["query"] == "q1"
    assert not visit("passages", query="q2").warning


def test_a_link_to_a_prompt_that_is_not_there_says_so_and_shows_the_usual_one(shared: Project) -> None:
    assert shows(visit("prompts", prompt="gone"), "another-prompt", "gone", "self-rating")
