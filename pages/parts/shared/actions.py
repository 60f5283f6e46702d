"""Actions of people in a component, each of which is done once."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import streamlit as st

from exam_workbench.errors import WorkbenchError
from pages.parts.shared import components, html, person, screen_hints

TOLD = 20.0
"""Seconds for which a failure to save is shown, unless another action follows."""


Act = dict[str, Any]
"""An action of a person: its number as `id`, its kind as `do`, and further fields."""


@dataclass
class PendingActions:
    """The actions of a component that no run has done yet.

    The browser sends an action again until it sees that it was taken. This is needed because
    Streamlit ends a run as soon as the next message arrives, and then a callback's notes are lost.

    Args:
        key: key of the component.
        taken: number of the latest action that was noted.
        saving: held while actions are saved, since a stopped run continues in parallel until it
            accesses the session state.
        refused: time and reason of the latest failure to save; the run that found it may have been
            ended.
        said: message about the last action, with what undoes it, for the component.
    """

    key: str
    taken: int = 0
    acts: list[Act] = field(default_factory=list)
    saving: Lock = field(default_factory=Lock)
    refused: tuple[float, str] = (0.0, "")
    said: dict[str, Any] | None = None

    def note_actions(self) -> None:
        """Note the actions that the browser sent; a callback."""
        for act in st.session_state[self.key].acts or []:
            if act["id"] > self.taken:
                self.acts.append(act)
                self.taken = act["id"]

    def draw(self, kind: str, data: dict[str, Any]) -> None:
        """Draw the content of a kind, whose actions are noted here."""
        components.draw(
            kind, self.key, {"taken": self.taken, **data}, on_acts_change=self.note_actions
        )

    def note_press(self, act: Act) -> None:
        """Note the press of a Streamlit button near the component; a callback."""
        self.acts.append(act)

    def remove(self, act: Act) -> bool:
        """Remove an action; return whether it was still to be done."""
        try:
            self.acts.remove(act)
        except ValueError:
            return False
        return True

    def pop_actions(self) -> Iterator[Act]:
        """Yield the actions in order; each is yielded once, even if the run ends during it."""
        while self.acts:
            yield self.acts.pop(0)

    def do_actions(self, act: Callable[[Act], object]) -> dict[str, Any] | None:
        """Do the actions in order; return the last refused one and the reason."""
        error = None
        for pending in self.pop_actions():
            try:
                act(pending)
            except WorkbenchError as refused:
                error = {name: pending.get(name) for name in ("id", "query", "passage")} | {
                    "code": refused.code,
                    "message": html.as_shown(refused.message),
                    "hint": html.as_shown(screen_hints.hint_on_screen(refused.hint)[0]),
                }
        return error


def pending_actions(key: str) -> PendingActions:
    """Return the pending actions of a component in this browser tab."""
    return st.session_state.setdefault(f"asked of {key}", PendingActions(key))


def save_all(
    pending_acts: PendingActions,
    acts: list[Act],
    home: str,
    save: Callable[[Act, str], str],
    called: Callable[[Act], str],
) -> None:
    """Save people's decisions in a project, each action separately, and show a message for each.

    The session state is not accessed between an action and its saving, so that the run cannot end
    there. The screen then shows the saved decisions, even if an earlier run saved them.

    Args:
        acts: selected from the pending ones by the caller; the next run may note others meanwhile.
        home: the name of the project; each action names the project that it was made in.
        save: saves an action under the person's name and returns a message; it must not access the
            session state either.
        called: returns the name of an action for the message that it was not saved.

    Raises:
        WorkbenchError: some were not saved, now or a moment ago; the message says which and why.
    """
    if acts and not person.current_name():
        # A person who has to enter a name first is asked to repeat the action.
        pending_acts.acts.clear()
    author = person.require_author() if acts else ""
    saved, lost = [], []
    with pending_acts.saving:
        if acts:
            pending_acts.refused = 0.0, ""
        for act in filter(pending_acts.remove, acts):
            try:
                if act["home"] != home:
                    raise WorkbenchError(
                        "other-project",
                        "It belongs to another project.",
                        "Open that project and enter it again.",
                    )
                saved.append(save(act, author))
            except WorkbenchError as error:
                lost.append(
                    f"{called(act)} was not saved. {error.message}"
                    f" {screen_hints.hint_on_screen(error.hint)[0] or 'Enter it again.'}"
                )
        if lost:
            pending_acts.refused = time.monotonic(), " ".join(lost)
    for said in saved:
        st.toast(said, icon=":material/gavel:")
    when, words = pending_acts.refused
    if words and time.monotonic() - when < TOLD:
        raise WorkbenchError("not-saved", words)
