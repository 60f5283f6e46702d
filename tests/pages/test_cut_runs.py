"""What is typed into the fields of a question is stored, wherever Streamlit ends the run that took it in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from core import bank
from core.project import Project
from core.types import Question
from pages.parts.bank import window as bank_window
from tests.made.projects import fill

A = Question("q1/a", "q1", "What is A?", note="old")


class Session(dict[str, Any]):
    """The state of a session, which ends the run when it is asked once more than it may be."""

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
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """The session of ann, in place of Streamlit's."""
    state = Session(author="ann")
    monkeypatch.setattr(st, "session_state", state)
    yield state


def drawn(project: Project, session: Session, name: str, optional: bool = False) -> str:
    """Show a field as the question bank does; gives its key."""
    (question,) = (q for q in bank.drafted_bank(project, "ann", "q1") if q.question_id == "q1/a")
    key, stored = f"{name} q1/a", getattr(question, name)
    session[key] = "" if stored is None else stored
    bank_window.show({key: bank_window.Field(project, question, name, stored, session[key], optional)})
    bank_window.look(project)
    return key


@pytest.mark.parametrize("asked", range(12))
def test_an_edit_survives_a_run_that_is_ended_at_any_point(project: Project, session: Session, asked: int) -> None:
    fill(project, [A], {}, {"run": {"q1": ["p1"]}})
    key = drawn(project, session, "text")
    session[key] = "Who is A?"
    session.left = asked
    with suppress(StopException):
        bank_window.take_in()
    session.left = 1_000
    bank_window.take_in()
    assert bank.drafts(project, "ann")["q1/a"].question.text == "Who is A?"
    assert bank.steps(project, "ann") == (1, 0)
    # Saving is not refused for a change of another window: it was this one.
    assert not bank_window.unseen(project)


def test_what_nobody_typed_is_not_stored(project: Project, session: Session) -> None:
    fill(project, [A], {}, {"run": {"q1": ["p1"]}})
    key = drawn(project, session, "text")
    bank.put_draft(project, "ann", Question("q1/a", "q1", "From elsewhere?", weight=2.0))
    bank_window.take_in()
    # A run put into the field what is stored, and was ended before it had drawn all.
    session[key] = "From elsewhere?"
    bank_window.take_in()
    assert bank.steps(project, "ann") == (1, 0)
    bank.take_back(project, "ann")
    session[key] = "What is A?"
    bank_window.take_in()
    assert bank.drafts(project, "ann") == {}


def test_an_emptied_note_is_none(project: Project, session: Session) -> None:
    fill(project, [A], {}, {"run": {"q1": ["p1"]}})
    session[drawn(project, session, "note", optional=True)] = "  "
    bank_window.take_in()
    assert bank.drafts(project, "ann")["q1/a"].question.note is None
    assert bank.questions(project)[0].note == "old"


def test_typing_over_an_edit_of_another_window_waits_for_a_choice(project: Project, session: Session) -> None:
    fill(project, [A], {}, {"run": {"q1": ["p1"]}})
    key = drawn(project, session, "text")
    bank.put_draft(project, "ann", Question("q1/a", "q1", "From the other window?", note="old"))
    session[key] = "From this one?"
    for _ in range(2):
        bank_window.take_in()
    assert bank.drafts(project, "ann")["q1/a"].question.text == "From the other window?"
    assert [crossed.given for crossed in bank_window.window().crossed.values()] == ["From this one?"]
    assert bank_window.unseen(project)
