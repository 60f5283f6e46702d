"""Who works here, without a browser: reading needs no name, acting asks for one, and edits hang on it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from core import bank
from core.bank import change_draft, drafts, put_draft
from core.project import Project
from core.types import Question
from pages.parts.shared import person
from tests.made.projects import fill, judge
from tests.made.screens import served, sound, visit

__all__ = ["served"]

ASKED = [Question("q1/a", "q1", "What is A?"), Question("q1/b", "q1", "What is B?")]
RATINGS = {("What is A?", "p1"): 5, ("What is A?", "p2"): 1, ("What is B?", "p1"): 0, ("What is B?", "p2"): 3}


@pytest.fixture
def small(project: Project) -> Project:
    """A project with a query, two questions, two passages, two runs, grades and judgments."""
    fill(project, ASKED, RATINGS, {"good": {"q1": ["p1", "p2"]}, "bad": {"q1": ["p2", "p1"]}})
    judge(project, {("q1", "p1"): 1, ("q1", "p2"): 0})
    return project


@pytest.fixture
def new_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser of somebody who was never here."""
    monkeypatch.setattr(person, "remembered", lambda: "")


def said(app: AppTest) -> str:
    return "\n".join(
        str(element.value) for kind in ("markdown", "text", "caption", "toast") for element in app.get(kind)
    )


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click()
    return sound(app.run())


def boxes(app: AppTest) -> list[Any]:
    return [area for area in app.text_area if area.label == "Question"]


def give_name(app: AppTest, name: str) -> AppTest:
    app.text_input("name given").set_value(name)
    return press(app, "Work under this name")


@pytest.mark.parametrize(
    "screen",
    ["home", "question_bank", "grading", "passages", "leaderboard", "disagreements", "changes", "export", "activity"],
)
def test_reading_needs_no_name_and_records_nothing(small: Project, new_here: None, screen: str) -> None:
    before = small.value("SELECT count(*) FROM activity")
    app = visit(screen)
    # The account's name is proposed, not taken.
    assert app.text_input("name given").value == "ann"
    assert "Reading needs none." in said(app)
    assert small.value("SELECT count(*) FROM activity") == before
    assert not app.error


def test_a_first_act_asks_for_the_name_and_is_not_done(small: Project, new_here: None) -> None:
    app = visit("question_bank")
    assert all(box.disabled for box in boxes(app))
    press(app, "Add a question")
    assert "it was not done yet" in said(app)
    assert not small.value("SELECT count(*) FROM drafts")
    give_name(app, " zoe ")
    assert app.text_input("author").value == "zoe"
    assert not any(box.disabled for box in boxes(app))
    press(app, "Add a question")
    assert len(drafts(small, "zoe")) == 1


def test_a_name_without_letters_is_no_name(small: Project, new_here: None) -> None:
    app = give_name(visit("question_bank"), "   ")
    assert "Reading needs none." in said(app)


def test_another_name_is_another_person_and_the_edits_of_the_former_are_named(small: Project) -> None:
    put_draft(small, "bob", Question("q1/b", "q1", "What is B to Bob?"))
    app = visit("question_bank")
    boxes(app)[0].set_value("Who is A?")
    sound(app.run())
    assert "bob has 1 unsaved edit, 1 of them here" in said(app)
    app.text_input("author").set_value("bob")
    sound(app.run())
    assert [box.value for box in boxes(app)] == ["What is A?", "What is B to Bob?"]
    assert "ann has 1 unsaved edit, 1 of them here" in said(app)
    press(app, "Discard all")
    assert (list(drafts(small, "ann")), list(drafts(small, "bob"))) == (["q1/a"], [])


def test_what_another_window_did_is_shown_before_it_can_be_discarded(small: Project) -> None:
    app = visit("question_bank")
    boxes(app)[0].set_value("Who is A?")
    sound(app.run())
    # Another window of ann's.
    change_draft(small, "ann", ASKED[1], "text", "Who is B?")
    press(app, "Discard all")
    assert list(drafts(small, "ann")) == ["q1/a", "q1/b"]
    assert [box.value for box in boxes(app)] == ["Who is A?", "Who is B?"]
    assert "press again" in said(app)
    press(app, "Discard all")
    assert drafts(small, "ann") == {}
    press(app, "Undo")
    assert list(drafts(small, "ann")) == ["q1/a", "q1/b"]


@pytest.mark.parametrize(("choice", "kept"), [("Take what I gave here", "Mine?"), ("Leave it", "Theirs?")])
def test_typing_over_an_unseen_edit_of_another_window_asks_which_stays(small: Project, choice: str, kept: str) -> None:
    app = visit("question_bank")
    change_draft(small, "ann", ASKED[0], "text", "Theirs?")
    boxes(app)[0].set_value("Mine?")
    sound(app.run())
    assert boxes(app)[0].value == "Theirs?"
    assert "Here you gave “Mine?”" in said(app).replace("\\", "")
    press(app, choice)
    assert boxes(app)[0].value == kept
    assert drafts(small, "ann")["q1/a"].question.text == kept
    assert choice not in [button.label for button in app.button]


def test_several_edits_in_one_window_never_cross(small: Project) -> None:
    app = visit("question_bank")
    for text in ("One?", "Two?", "Three?"):
        boxes(app)[0].set_value(text)
        sound(app.run())
    press(app, "Undo")
    boxes(app)[0].set_value("Four?")
    sound(app.run())
    assert drafts(small, "ann")["q1/a"].question.text == "Four?"
    press(app, "Save version")
    assert bank.versions(small)[0].note == "1 reworded in query q1"


def hear(app: AppTest, event: str) -> AppTest:
    """What the browser sends when the part that listens to the window hears something."""
    part = next(e.proto for e in app.get("bidi_component") if e.proto.component_name == "window_of_the_bank")
    states = app._tree.get_widget_states()
    heard = json.dumps([{"event": event, "value": True}])
    states.widgets.append(WidgetState(id=_make_trigger_id(part.id, "events"), json_trigger_value=heard))
    return sound(app._run(states))


def test_the_key_that_saves_takes_what_was_typed_with_it(small: Project) -> None:
    app = visit("question_bank")
    boxes(app)[0].set_value("Who is A?")
    hear(app, "save")
    assert bank.latest_version(small) == 2
    assert bank.questions(small)[0].text == "Who is A?"
    assert "Bank version 2. No unsaved changes." in said(app)
    hear(app, "save")
    assert "There is nothing to save." in said(app)
    assert bank.latest_version(small) == 2


def test_a_window_that_comes_to_the_front_shows_what_another_did(small: Project) -> None:
    app = visit("question_bank")
    change_draft(small, "ann", ASKED[0], "text", "From elsewhere?")
    hear(app, "looked")
    assert boxes(app)[0].value == "From elsewhere?"
    press(app, "Discard all")
    assert drafts(small, "ann") == {}
