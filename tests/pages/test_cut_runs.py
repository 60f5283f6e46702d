"""Question bank actions are applied once despite interrupted script runs and several windows."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from exam_workbench import bank
from exam_workbench.bank import summary_of_changes
from exam_workbench.store import Project
from exam_workbench.types import Question
from pages.parts.bank import editing_window as bank_window
from tests.made.projects import commit, fill

ASKED = Question("q1/a", "q1", "What is A?", note="old")


class Session(dict[str, Any]):
    """A session state that stops the script run after a limited number of reads."""

    left = 1_000

    def __getitem__(self, key: str) -> Any:
        return self._asked(super().__getitem__, key)

    def get(self, key: str, default: Any = None) -> Any:
        return self._asked(super().get, key, default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        return self._asked(super().setdefault, key, default)

    def _asked(self, what: Any, *arguments: Any) -> Any:
        if self.left == 0:
            raise StopException
        self.left -= 1
        return what(*arguments)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, project: Project) -> Iterator[Session]:
    """Replace Streamlit's session with ann's; her window shows the project's only question."""
    fill(project, [ASKED], {}, {"run": {"q1": ["p1"]}})
    state = Session(author="ann")
    monkeypatch.setattr(st, "session_state", state)
    bank_window.open_for(project)
    bank_window.note_shown(project, bank.drafted_bank(project, "ann", "q1"))
    yield state


def sent(session: Session, project: Project, *acts: dict[str, Any]) -> None:
    """Set the actions that the browser sends with every run until they are acknowledged."""
    place = {"window": bank_window.current_window().token, "project": project.name, "author": "ann"}
    first = bank_window.current_window().done + 1
    session["bank"] = {"acts": [{"n": first + at, **place, **act} for at, act in enumerate(acts)]}


def typed(value: str | float | None, field: str = "text", base: str | float | None = ASKED.text) -> dict[str, Any]:
    return {"act": "edit", "id": "q1/a", "field": field, "value": value, "base": base}


@pytest.mark.parametrize("asked", range(8))
def test_actions_survive_run_interrupted_at_any_point(project: Project, session: Session, asked: int) -> None:
    sent(session, project, typed("Who is A?"), {"act": "add", "query": "q1", "name": "0123456789ab"})
    session.left = asked
    with suppress(StopException):
        bank_window.take_in()
    session.left = 1_000
    for _ in range(2):
        bank_window.take_in()
    assert bank.list_drafts(project, "ann")["q1/a"].question.text == "Who is A?"
    assert [q.text for q in bank.drafted_bank(project, "ann", "q1")] == ["Who is A?", ""]
    assert bank.count_steps(project, "ann") == (2, 0)
    # Saving must not be refused: this window made the change, not another one.
    here = bank_window.current_window()
    assert here.shown[project.name, "ann"].is_current


def test_changes_can_be_saved_before_list_is_shown_again(project: Project, session: Session) -> None:
    sent(session, project, typed("Who is A?"))
    bank_window.take_in()
    # Bob briefly works in the same window. Ann saves before the window has shown her questions again.
    session["author"] = "bob"
    bank_window.open_for(project)
    bank_window.note_shown(project, bank.drafted_bank(project, "bob", "q1"))
    session["author"] = "ann"
    bank_window.open_for(project)
    sent(session, project, {"act": "save"})
    bank_window.take_in()
    assert bank.latest_version(project) == 2 and not bank.list_drafts(project, "ann")


def test_emptied_note_becomes_none(project: Project, session: Session) -> None:
    sent(session, project, typed("  ", "note", "old"))
    bank_window.take_in()
    assert bank.list_drafts(project, "ann")["q1/a"].question.note is None
    assert bank.list_questions(project)[0].note == "old"


def test_unstorable_input_blocks_saving_until_dropped(project: Project, session: Session) -> None:
    sent(session, project, typed("Who is A?"), typed(1e9, "weight", 1.0), {"act": "save"})
    bank_window.take_in()
    here = bank_window.current_window()
    assert "“Who is A?”" in here.said and bank.latest_version(project) == 1
    # The invalid input is dropped: the browser no longer sends it.
    sent(session, project, {"act": "save"})
    bank_window.take_in()
    assert here.refused == {} and bank.latest_version(project) == 2
    assert bank.list_questions(project)[0].text == "Who is A?"


def test_unstorable_input_of_discarded_question_does_not_block_saving(project: Project, session: Session) -> None:
    added = {"act": "edit", "id": "q1/new", "field": "weight", "value": 1e9, "base": 1.0}
    sent(session, project, typed("Who is A?"), {"act": "add", "query": "q1", "name": "new"}, added)
    bank_window.take_in()
    edit = session["bank"]["acts"][-1]
    back, save = ({**edit, "n": edit["n"] + 1, "act": "take back"}, {**edit, "n": edit["n"] + 2, "act": "save"})
    session["bank"]["acts"] = [edit, back, save]
    bank_window.take_in()
    assert bank_window.current_window().refused and bank.latest_version(project) == 2


@pytest.mark.parametrize("nonsense", [None, "x", {"acts": None}, {"acts": [None, 1, {}, {"n": 1}]}, {"acts": "x"}])
def test_malformed_actions_are_ignored(project: Project, session: Session, nonsense: object) -> None:
    session["bank"] = nonsense
    bank_window.take_in()
    sent(session, project, {"act": "edit"}, {"act": "shout"}, {"act": "edit", "id": 3, "field": "__class__"})
    bank_window.take_in()
    assert bank.list_drafts(project, "ann") == {}


def test_actions_before_screen_is_drawn_are_applied_later(project: Project, session: Session) -> None:
    bank_window.current_window().shown.clear()
    sent(session, project, typed("Who is A?"))
    bank_window.take_in()
    assert bank.list_drafts(project, "ann") == {}
    # The browser keeps the edit, because it is not acknowledged as stored.
    assert list(bank_window.current_window().refused) == [1]
    bank_window.open_for(project)
    bank_window.take_in()
    assert bank.list_drafts(project, "ann")["q1/a"].question.text == "Who is A?"
    assert bank_window.current_window().refused == {}


def test_own_edits_from_before_reload_do_not_conflict(session: Session, project: Project) -> None:
    first, second = "What was A?", "What was A then?"
    # The server stored both edits, but the reloaded tab received no acknowledgment.
    for value in (first, second):
        bank.change_draft(project, "ann", bank.drafted_bank(project, "ann", "q1")[0], "text", value)
    edit = {"act": "edit", "id": "q1/a", "field": "text", "mine": [first, second]}
    sent(session, project, {**edit, "value": first, "base": ASKED.text}, {**edit, "value": second, "base": first})
    bank_window.take_in()
    assert bank_window.current_window().refused == {}
    assert bank.drafted_bank(project, "ann", "q1")[0].text == second


A = Question("q1/a", "q1", "What is A?", answer_key="a")
B = Question("q1/b", "q1", "What is B?")
C = Question("q2/c", "q2", "What is C?")


@pytest.fixture
def banked(project: Project) -> Project:
    """A project with three questions for two queries."""
    fill(project, [A, B, C], {}, {"one": {"q1": ["p1", "p2"], "q2": ["p3"]}})
    return project


def test_every_draft_action_changes_draft_mark(banked: Project):
    marks = [bank.draft_mark(banked, "ann")]
    for act in (
        lambda: bank.put_draft(banked, "ann", replace(A, text="One?")),
        lambda: bank.put_draft(banked, "ann", replace(A, text="Two?")),
        lambda: bank.undo_step(banked, "ann"),
        lambda: bank.put_draft(banked, "ann", replace(A, text="Three?")),
        lambda: (bank.undo_step(banked, "ann"), bank.redo_step(banked, "ann")),
        lambda: bank.take_back(banked, "ann"),
    ):
        act()
        marks.append(bank.draft_mark(banked, "ann"))
        assert marks[-1] not in marks[:-1]
    assert bank.draft_mark(banked, "ann") == bank.draft_mark(banked, "ann")


def test_drafts_of_others_are_counted_and_keep_draft_mark(banked: Project):
    bank.put_draft(banked, "ann", replace(A, weight=2.0))
    bank.put_draft(banked, "bob", replace(A, weight=3.0))
    bank.take_back(banked, "ann")
    assert bank.count_others_drafts(banked, "ann") == {"bob": 1}
    assert bank.count_others_drafts(banked, "bob") == {}
    bank.take_back(banked, "bob")
    mine = bank.draft_mark(banked, "ann")
    bank.put_drafts(banked, "bob", [replace(A, weight=2.0), replace(C, weight=2.0)])
    bank.put_draft(banked, "eve", replace(C, active=False))
    bank.put_draft(banked, "ann", B)
    assert bank.draft_mark(banked, "ann") == mine
    assert bank.count_others_drafts(banked, "ann") == {"bob": 2, "eve": 1}
    assert bank.count_others_drafts(banked, "ann", "q1") == {"bob": 1}
    assert bank.count_others_drafts(banked, "bob") == {"eve": 1}


def test_change_summary_counts_questions_once_and_shortens_query(banked: Project):
    a, b, c = bank.list_questions(banked)
    new = Question("q1/n", "q1", "New?")
    assert summary_of_changes(banked, []) == ""
    both = [(a, replace(a, text="X?", active=False)), (b, replace(b, text="Y?"))]
    assert summary_of_changes(banked, [*both, (None, new)]) == "2 reworded, 1 added in query q1"
    assert summary_of_changes(banked, [(a, replace(a, active=False)), (c, replace(c, note="why"))]) == (
        "1 retired, 1 changed in detail in 2 queries"
    )
    commit(banked, "UPDATE queries SET text = repeat('word ', 40) WHERE query_id = 'q1'")
    said = summary_of_changes(banked, [(A, replace(A, weight=2.0))])
    assert said.endswith(" word…") and len(said) < 90
