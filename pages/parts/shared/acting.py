"""Acts that a part of our own in the browser reports: each is done once, in order, and none is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import streamlit as st

from exam_workbench.errors import WorkbenchError
from pages.parts.shared import person

TOLD = 20.0
"""Seconds for which it is said that something was not saved, unless something else is done meanwhile."""


Act = dict[str, Any]
"""What somebody did: its number, `do` for what it is, and what belongs to it."""


@dataclass
class Asked:
    """What somebody did in a part and no run has done yet.

    The browser sends an act again until it sees that it was taken: Streamlit ends a run, and with it what a callback
    was about to note, as soon as the next message comes.

    Args:
        key: of the part.
        taken: number of the last act that was noted.
        saving: held while acts are saved, as a run that was told to end goes on beside the next one until it asks the
            session something.
        refused: when acts were not saved last, and which and why: the run that found it out may have been ended.
    """

    key: str
    taken: int = 0
    acts: list[Act] = field(default_factory=list)
    saving: Lock = field(default_factory=Lock)
    refused: tuple[float, str] = (0.0, "")

    def note(self) -> None:
        """Take in what the browser sent, as a callback."""
        for act in st.session_state[self.key].acts or []:
            if act["id"] > self.taken:
                self.acts.append(act)
                self.taken = act["id"]

    def press(self, act: Act) -> None:
        """Take in what a button of Streamlit's beside the part was pressed for, as a callback."""
        self.acts.append(act)

    def take(self, act: Act) -> bool:
        """Whether an act is still to be done; from here on it is not."""
        try:
            self.acts.remove(act)
        except ValueError:
            return False
        return True

    def each(self) -> Iterator[Act]:
        """The acts in order; each is given out once, also where the run ends on it."""
        while self.acts:
            yield self.acts.pop(0)


def asked_of(key: str) -> Asked:
    """What was asked in a part of this browser tab."""
    found: Asked = st.session_state.setdefault(f"asked of {key}", Asked(key))
    return found


def save_all(
    asked: Asked, acts: list[Act], home: str, save: Callable[[Act, str], str], called: Callable[[Act], str]
) -> None:
    """Save what somebody decided in a project, each act by itself, and say so.

    The session is not asked between an act and its saving, so that the run is not ended there. What is drawn after this
    shows what was saved, also where the run before it saved it.

    Args:
        acts: of those that were asked for, as the caller found them: others may be noted meanwhile, by the next run.
        home: the name of the project; each act says in which it was done.
        save: saves an act under a name, and says what was saved; it must not ask the session either.
        called: what an act is called where it was not saved.

    Raises:
        WorkbenchError: some were not saved, now or a moment ago; says which, and why.
    """
    author = _author(asked) if acts else ""
    saved, lost = [], []
    with asked.saving:
        if acts:
            asked.refused = 0.0, ""
        for act in filter(asked.take, acts):
            try:
                if act["home"] != home:
                    raise WorkbenchError(
                        "other-project", "It belongs to another project.", "Open that project and enter it again."
                    )
                saved.append(save(act, author))
            except WorkbenchError as error:
                lost.append(f"{called(act)} was not saved. {error.message} {error.hint or 'Enter it again.'}")
        if lost:
            asked.refused = time.monotonic(), " ".join(lost)
    for said in saved:
        st.toast(said, icon=":material/gavel:")
    when, words = asked.refused
    if words and time.monotonic() - when < TOLD:
        raise WorkbenchError("not-saved", words)


def _author(asked: Asked) -> str:
    if not person.known():
        # Whoever is asked for their name is told to do it once more.
        asked.acts.clear()
    return person.author()
