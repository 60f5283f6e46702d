"""Who works here, without a browser: reading needs no name, acting asks for one, and edits hang on it."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from exam_workbench import bank
from exam_workbench.bank import change_draft, list_drafts, put_draft
from exam_workbench.store import Project
from exam_workbench.types import Question
from pages.parts.shared import person
from tests.made.projects import fill, judge
from tests.made.refusals import mentions
from tests.made.screens import edit, edited, holds, in_bank, numbers, press, shows, sound, texts, visit

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
    monkeypatch.setattr(person, "remembered_name", lambda: "")


def said(app: AppTest) -> str:
    return "\n".join(
        str(element.value) for kind in ("markdown", "text", "caption", "toast") for element in app.get(kind)
    )


def act(app: AppTest, name: str, /, **more: object) -> AppTest:
    return in_bank(app, {"act": name, **more})


def downloads(app: AppTest) -> list[str]:
    return [str(element.key) for element in app.get("download_button")]


def give_name(app: AppTest, name: str) -> AppTest:
    app.text_input("name given").set_value(name)
    return press(app, "give name")


READ = ("home", "question_bank", "grading", "passages", "leaderboard", "disagreements", "changes", "export", "activity")


def test_reading_needs_no_name_and_records_nothing(small: Project, new_here: None) -> None:
    before = small.value("SELECT count(*) FROM activity")
    for screen in READ:
        app = visit(screen)
        # The account's name is proposed, not taken.
        assert app.text_input("name given").value == "ann", screen
        assert shows(app, "about-names"), screen
        assert small.value("SELECT count(*) FROM activity") == before, screen
        assert not app.error, screen


def test_a_first_act_asks_for_a_name_with_letters_and_is_not_done(small: Project, new_here: None) -> None:
    app = visit("question_bank")
    assert holds(app, "questions")["readonly"]
    act(app, "add", query="q1", name="")
    assert shows(app, "not-done-yet")
    assert not small.value("SELECT count(*) FROM drafts")
    assert shows(give_name(app, "   "), "about-names")
    give_name(app, " zoe ")
    assert app.text_input("author").value == "zoe"
    assert not holds(app, "questions")["readonly"]
    act(app, "add", query="q1", name="0123456789ab")
    assert len(list_drafts(small, "zoe")) == 1


def test_a_download_asks_for_the_name_first(small: Project, new_here: None) -> None:
    for screen in ("home", "export"):
        app = visit(screen)
        assert not {"download qrels", "download test.qrels"} & set(downloads(app))
        press(app, "name for test.qrels")
        assert shows(app, "not-done-yet")
        give_name(app, "zoe")
        assert {"download qrels", "download test.qrels"} & set(downloads(app))


def test_another_name_is_another_person_and_the_edits_of_the_former_are_named(small: Project) -> None:
    put_draft(small, "bob", Question("q1/b", "q1", "What is B to Bob?"))
    app = visit("question_bank")
    edit(app, "What is A?", text="Who is A?")
    assert mentions(holds(app, "bank")["others"], "bob") and numbers(holds(app, "bank")["others"]) == [1, 1]
    app.text_input("author").set_value("bob")
    sound(app.run())
    assert texts(app) == ["What is A?", "What is B to Bob?"]
    assert mentions(holds(app, "bank")["others"], "ann") and numbers(holds(app, "bank")["others"]) == [1, 1]
    act(app, "discard")
    assert (list(list_drafts(small, "ann")), list(list_drafts(small, "bob"))) == (["q1/a"], [])


def test_typing_over_an_unseen_edit_of_another_window_asks_which_stays(small: Project) -> None:
    app = visit("question_bank")
    for takes, kept in (False, "Theirs?"), (True, "Mine?"):
        before = texts(app)[0]
        change_draft(small, "ann", ASKED[0], "text", "Theirs?")
        number = str(holds(app, "bank")["done"] + 1)
        edit(app, before, text="Mine?")
        # It is shown as it is stored, and what was typed waits in the browser for a choice.
        assert texts(app)[0] == "Theirs?"
        assert holds(app, "bank")["refused"] == {number: None}
        edit(app, "Theirs?", text="Mine?") if takes else act(app, "leave")
        assert texts(app)[0] == kept
        assert list_drafts(small, "ann")["q1/a"].question.text == kept
        assert holds(app, "bank")["refused"] == {}
        act(app, "discard")


def test_several_edits_in_one_window_never_cross_and_saving_takes_along_what_was_typed(small: Project) -> None:
    app = visit("question_bank")
    in_bank(app, edited(app, "What is A?", text="Who is A?"), {"act": "save", "note": ""})
    assert bank.latest_version(small) == 2
    assert bank.list_questions(small)[0].text == "Who is A?"
    assert (holds(app, "bank")["version"], holds(app, "bank")["unsaved"]) == (2, 0)
    act(app, "save")
    assert holds(app, "bank")["said"]
    assert bank.latest_version(small) == 2
    for text in ("One?", "Two?", "Three?"):
        edit(app, texts(app)[0], text=text)
    act(app, "undo")
    edit(app, "Two?", text="Four?")
    assert list_drafts(small, "ann")["q1/a"].question.text == "Four?"
    act(app, "save")
    assert bank.list_versions(small)[0].note == "1 reworded in query q1"


def test_what_another_window_did_is_shown_when_the_window_comes_to_the_front_and_before_it_is_discarded(
    small: Project,
) -> None:
    app = visit("question_bank")
    change_draft(small, "ann", ASKED[0], "text", "From elsewhere?")
    act(app, "look")
    assert texts(app)[0] == "From elsewhere?"
    act(app, "discard")
    assert list_drafts(small, "ann") == {}
    edit(app, "What is A?", text="Who is A?")
    # Another window of ann's.
    change_draft(small, "ann", ASKED[1], "text", "Who is B?")
    act(app, "discard")
    assert list(list_drafts(small, "ann")) == ["q1/a", "q1/b"]
    assert texts(app) == ["Who is A?", "Who is B?"]
    assert holds(app, "bank")["said"]
    act(app, "discard")
    assert list_drafts(small, "ann") == {}
    act(app, "undo")
    assert list(list_drafts(small, "ann")) == ["q1/a", "q1/b"]
