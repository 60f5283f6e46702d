"""One window of perhaps several in which a person edits the bank: whatever is done there is done exactly once.

Streamlit ends a run as soon as the next message comes, its callbacks too: any question to the session state may be the
last. So nothing that must not be lost rests on a callback, nor on a run that comes to its end. The browser numbers what
is done there and keeps it until it hears that the server did it (`channel.js`); all that is open comes along with every
run, as the state of a component. A run first does what is new to it, in the order of the numbers, and says so with
whatever it draws.
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
"""Of the component whose state holds what was done in the browser."""


@dataclass
class Shown:
    """What a window has shown of the bank to a person.

    Args:
        author: their name; empty for somebody who only reads.
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
    """What a window has shown and done: one object for all its runs, also those that overlap.

    Args:
        token: names the window; what was done in one that the server has forgotten is not done in the next.
        lock: held while an act is done and taken note of.
        sent: what the browser sends, by number: all that it has not heard to be done.
        done: the number of the last act that was done.
        refused: what could not be stored, by the number of the act, with the reason; None where another window had
            changed the same.
        shown: by project and author.
        stint: the visit of a field in which something was typed last.
        query: the one that was asked for; empty where none was.
        dialog: what was asked for, with the question that it is about.
        focus: the question that is to be written next, by id; `turns` counts how often one was chosen.
        saved: the project and the version that was saved last, until there are changes again.
        said: what came of the last act, where that is not to be seen.
        error: why the last act failed.
        told: where the drafts stood when `said` and `error` were shown first; None before that.
        nameless: whether something was done by somebody who has not said who they are.
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
        """Do an act of the browser, unless it was done; what could not be stored is tried again."""
        number = act["n"]
        with self.lock:
            # What another window had changed waits for a choice.
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
                    # In the bar, too, which is in sight wherever one is on the page.
                    self.error, self.said = error, error.message
            finally:
                self.done = max(self.done, number)

    def did(self, shown: Shown, what: Callable[..., Any], *arguments: Any) -> Any:
        """Do something to a person's drafts; what this window did itself, it has seen.

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
        """What this window has shown to a person of a project."""
        shown = self.shown.setdefault((project.name, author), Shown(project, author))
        shown.project = project
        return shown

    def go_to(self, question: Question) -> None:
        """Have the caret go to a question, whatever is in sight now."""
        self.query, self.focus, self.turns = question.query_id, question.question_id, self.turns + 1

    def unstored(self, shown: Shown) -> list[str]:
        """Ids of questions in which a person typed what could not be stored, and is neither mended nor left yet."""
        place = shown.project.name, shown.author
        return [
            str(act.get("id"))
            for number, act in self.sent.items()
            if (act.get("project"), act.get("author")) == place and self.refused.get(number) is not None
        ]

    def outlived(self, project: Project, author: str) -> None:
        """Forget what came of the last act once the drafts that it was about are others: it was settled elsewhere."""
        with self.lock:
            now = _now(project, author)
            if self.told is None:
                self.told = now
            elif self.told != now:
                self.error, self.said = None, ""

    def tells(self) -> dict[str, Any]:
        """What every component of the bank has to know of its window."""
        return {
            "window": self.token,
            "done": self.done,
            "refused": {str(number): why for number, why in self.refused.items()},
        }


def window() -> Window:
    """The window that this run draws."""
    found: Window = st.session_state.setdefault("bank window", Window())
    return found


def take_in() -> None:
    """Do what was done in the browser and not here yet."""
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
        # What the browser sends no more has been given up; on a screen without the bank it sends nothing.
        if sent is not None:
            here.refused = {number: why for number, why in here.refused.items() if number in known}
    if here.nameless:
        here.nameless = False
        ui.author()


def open_for(project: Project) -> None:
    """Let a window take in what is done in a project, before anything of it is drawn: the browser may be quick."""
    window().place(project, ui.person())


def show(project: Project, questions: list[Question]) -> None:
    """Remember that this window shows a person's questions, and their drafts as they are now."""
    shown = window().place(project, ui.person())
    shown.questions.update((question.question_id, question) for question in questions)
    shown.drafts = mark(project, shown.author)


def act(project: Project, what: Callable[..., Any], *arguments: Any) -> Any:
    """Do something to the person's drafts that no component asked for, as a dialog does.

    Args:
        what: a function of the project, the author and the arguments.
    """
    author, here = ui.author(), window()
    # From here on the session is not asked, so that the run is not ended between the act and the note of it.
    return here.did(here.place(project, author), what, *arguments)


def _now(project: Project, author: str) -> tuple[str, str, Mark]:
    return project.name, author, mark(project, author)
