"""One of perhaps several browser windows in which a person edits the bank; each action is done exactly once.

Streamlit ends a run, including its callbacks, as soon as the next message arrives. Any access to the session state
may be the last. So no important action relies on a callback, nor on a run that reaches its end. The browser numbers
the actions and keeps each one until it hears that the server has done it (`channel.js`). Every run receives all
pending actions as the state of a component. A run first does the new actions in the order of their numbers, and
reports this with the data that it draws.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from exam_workbench.bank import CrossedEdit, Mark, mark
from exam_workbench.errors import WorkbenchError
from exam_workbench.project import Project
from exam_workbench.types import Question
from pages.parts.bank import acts
from pages.parts.shared import ui

KEY = "bank"
"""Key of the component whose state holds the actions of the browser."""


@dataclass
class Shown:
    """The parts of the bank that a window has shown to a person.

    Args:
        author: the person's name; empty for a reader without one.
        questions: by id.
        drafts: the state of the person's drafts when this window last showed them; None before that.
    """

    project: Project
    author: str
    questions: dict[str, Question] = field(default_factory=dict)
    drafts: Mark | None = None

    @property
    def is_current(self) -> bool:
        """Whether no other window has changed the drafts since this one showed them."""
        return self.drafts == mark(self.project, self.author)


@dataclass
class Window:
    """The state of a window: one object for all its runs, also for overlapping ones.

    Args:
        token: names the window; after a restart of the server, actions of an older window are not done.
        lock: held while an action is done and noted.
        sent: the pending actions of the browser, by number.
        done: number of the last action that was done.
        refused: the reason by number of each action that could not be stored; None if another window had changed the
            same value.
        shown: by project and author.
        stint: the visit of a field that was last typed in.
        query: the query to open next; empty for none in particular.
        dialog: the dialog to open, with its question.
        focus: id of the question to edit next; `turns` counts these choices.
        saved: project and version of the last save, until there are new changes.
        said: result of the last action, if it is not visible otherwise.
        error: why the last action failed.
        told: state of the drafts when `said` and `error` were first shown; None before that.
        nameless: whether a person without a name tried to change something.
    """

    token: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    lock: threading.RLock = field(default_factory=threading.RLock)
    sent: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    done: int = 0
    refused: dict[int, str | None] = field(default_factory=dict)
    shown: dict[tuple[str, str], Shown] = field(default_factory=dict)
    stint: object = None
    query: str = ""
    dialog: tuple[str, str] | None = None
    focus: str = ""
    turns: int = 0
    near: bool = False
    subtopic: str | None = None
    saved: tuple[str, int] | None = None
    said: str = ""
    error: WorkbenchError | None = None
    told: object = None
    nameless: bool = False

    def take(self, act: Mapping[str, Any]) -> None:
        """Do an action of the browser, unless it is done already; refused actions are tried again."""
        number = act["n"]
        with self.lock:
            # If another window had changed the same value, a person has to choose first.
            again = self.refused.get(number) is not None
            if number <= self.done and not again:
                return
            self.refused.pop(number, None)
            if number > self.done:
                self.error, self.said, self.told = None, "", None
            try:
                acts.do(self, act)
            except CrossedEdit:
                self.refused[number] = None
            except WorkbenchError as error:
                if act.get("act") == "edit":
                    self.refused[number] = str(error)
                else:
                    # Also in the bar, which is in sight everywhere on the page.
                    self.error, self.said = error, error.message
            finally:
                self.done = max(self.done, number)

    def did(self, shown: Shown, what: Callable[..., Any], *arguments: Any) -> Any:
        """Apply a change to a person's drafts and return its result; the window has then seen its own change.

        Args:
            what: a function of the project, the author and the arguments.
        """
        with self.lock:
            current = shown.is_current
            result = what(shown.project, shown.author, *arguments)
            if current:
                shown.drafts = mark(shown.project, shown.author)
        return result

    def place(self, project: Project, author: str) -> Shown:
        """Return what this window has shown to a person in a project."""
        shown = self.shown.setdefault((project.name, author), Shown(project, author))
        shown.project = project
        return shown

    def go_to(self, question: Question) -> None:
        """Open the query of a question and move the caret to the question."""
        self.query, self.focus, self.turns = question.query_id, question.question_id, self.turns + 1

    def unstored(self, shown: Shown) -> list[str]:
        """Return ids of questions with a refused edit that the person has neither corrected nor given up."""
        place = shown.project.name, shown.author
        return [
            str(act.get("id"))
            for number, act in self.sent.items()
            if (act.get("project"), act.get("author")) == place and self.refused.get(number) is not None
        ]

    def outlived(self, project: Project, author: str) -> None:
        """Forget the result of the last action if the drafts have changed since: the problem was settled elsewhere."""
        with self.lock:
            now = _now(project, author)
            if self.told is None:
                self.told = now
            elif self.told != now:
                self.error, self.said = None, ""

    def tells(self) -> dict[str, Any]:
        """Return the window's state that every component of the bank needs."""
        return {
            "window": self.token,
            "done": self.done,
            "refused": {str(number): why for number, why in self.refused.items()},
        }


def window() -> Window:
    """Return the window that this run draws."""
    found: Window = st.session_state.setdefault("bank window", Window())
    return found


def take_in() -> None:
    """Do the actions of the browser that are not done yet."""
    here = window()
    state = st.session_state.get(KEY)
    sent = state.get("acts") if isinstance(state, Mapping) else None
    known = {
        act["n"]: act
        for act in (sent if isinstance(sent, list) else ())
        if isinstance(act, Mapping) and isinstance(act.get("n"), int) and act.get("window") == here.token
    }
    here.sent = known
    for number in sorted(known):
        here.take(known[number])
    with here.lock:
        # The browser has given up refused actions that it no longer sends. On screens without the bank it sends
        # nothing.
        if sent is not None:
            here.refused = {number: why for number, why in here.refused.items() if number in known}
    if here.nameless:
        here.nameless = False
        ui.author()


def open_for(project: Project) -> None:
    """Register a project with the window before anything is drawn, since the browser may send actions early."""
    window().place(project, ui.person())


def show(project: Project, questions: list[Question]) -> None:
    """Record that this window shows a person's questions, and the present state of their drafts."""
    shown = window().place(project, ui.person())
    shown.questions.update((question.question_id, question) for question in questions)
    shown.drafts = mark(project, shown.author)


def act(project: Project, what: Callable[..., Any], *arguments: Any) -> Any:
    """Apply a change that no component asked for, such as one from a dialog, to the person's drafts; return its
    result.

    Args:
        what: a function of the project, the author and the arguments.
    """
    author, here = ui.author(), window()
    # The session is not accessed below, so that the run cannot end between the change and its note.
    return here.did(here.place(project, author), what, *arguments)


def _now(project: Project, author: str) -> tuple[str, str, Mark]:
    return project.name, author, mark(project, author)
