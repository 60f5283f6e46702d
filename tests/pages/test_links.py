"""A link that names what is not there says so, and shows something that is."""

from __future__ import annotations

from core.project import Project
from tests.made.screens import as_text, looked_at, served, shared, visit

__all__ = ["looked_at", "served", "shared"]  # fixtures


def test_a_link_to_a_query_that_is_not_there_says_so_and_shows_the_first_passage(shared: Project) -> None:
    app = visit("passages", query="q*9")
    assert as_text(app.warning[0].value) == "No passage here is of a query q*9. This is the first one."
    assert app.query_params["query"] == "q1"
    assert not visit("passages", query="q2").warning


def test_a_link_to_a_prompt_that_is_not_there_says_so_and_shows_the_usual_one(shared: Project) -> None:
    assert as_text(visit("prompts", prompt="gone").warning[0].value) == (
        "There is no prompt gone here. This is self-rating."
    )
