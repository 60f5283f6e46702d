"""One window of perhaps several in which a person edits the bank: what it has shown, what is typed there, its keys.

Streamlit ends a run as soon as the next message comes, its callbacks too: any question to the session state may be the
last. It never calls such a callback again. So what must not be lost does not rest on callbacks: a window remembers what
its fields have shown, and every run stores what stands in them otherwise.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import streamlit as st

from core.bank import CrossedEdit, Mark, change_draft, drafted_bank, mark
from core.errors import WorkbenchError
from core.project import Project
from core.types import Question
from pages.parts.shared import presses, ui

SAVE = "the key that saves"


@dataclass(frozen=True)
class Field:
    """A field of a question as a window has shown it.

    Args:
        question: as it stood there.
        name: of the field, as `Question` has it.
        stored: what the draft or the bank had for it.
        shown: what was put into the field for that, as the field gives it back where nobody typed.
        optional: whether an empty field means that there is nothing.
    """

    project: Project
    question: Question
    name: str
    stored: object
    shown: object
    optional: bool

    def read(self, given: Any) -> object:
        """What is to be stored for what stands in the field."""
        return given.strip() or None if self.optional else given


@dataclass
class Window:
    """What a window has shown: one object for all its runs, also those that overlap.

    Args:
        lock: held while an act is done and taken note of.
        drafts: where the person's drafts stood when they were shown last.
        fields: by the key of the widget.
        crossed: what was typed over an edit of another window, by the key of the widget.
        unstored: why what stands in a field could not be stored, by the key of the widget.
    """

    lock: threading.RLock = field(default_factory=threading.RLock)
    drafts: object = None
    fields: dict[str, Field] = field(default_factory=dict)
    crossed: dict[str, CrossedEdit] = field(default_factory=dict)
    unstored: dict[str, WorkbenchError] = field(default_factory=dict)


# What is being typed reaches the server when its field is left. A key that acts leaves the field first, so that
# it acts on what the person sees. Undoing while typing is about the words being typed, as Ctrl+Z is.
#
# The part stands in the page and not in a fragment: Streamlit sends what happens in one moment as one message, and as
# one of the fragment where any of it happened in one, so that a click elsewhere on the page would be lost.
_listener = st.components.v2.component(
    "window_of_the_bank",
    js="""
const SAVE = 83, UNDO = 90, REDO = 89, ADD = 78, NEXT = 74, PREVIOUS = 75;
const FIELDS = "textarea, input:not([type=checkbox]):not([type=radio]):not([type=file])";
let listening = null;

export default function ({ setTriggerValue }) {
  // Drawn anew, the part is set up once more before what it was is cleaned up: each cleans up after itself alone.
  const mine = new AbortController();
  listening?.abort();
  listening = mine;
  const typedIn = new WeakSet();
  const on = (name, act) => window.addEventListener(name, act, { capture: true, signal: mine.signal });
  const take = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };

  on("focus", (event) => {
    if (event.target === window) setTriggerValue("looked", true);
  });
  on("input", (event) => typedIn.add(event.target));
  on("focusout", (event) => typedIn.delete(event.target));
  on("keydown", (event) => {
    const key = event.keyCode;
    const ctrl = (event.ctrlKey || event.metaKey) && !event.altKey;
    const alt = event.altKey && !event.ctrlKey && !event.metaKey;
    const save = ctrl && !event.shiftKey && key === SAVE;
    const field = document.activeElement?.matches(FIELDS) ? document.activeElement : null;
    if (ctrl && event.key === "Enter") typedIn.delete(field);
    if (alt && [UNDO, REDO].includes(key) && typedIn.has(field)) {
      take(event);
      document.execCommand(key === UNDO ? "undo" : "redo");
    } else if (save || (alt && [UNDO, REDO, ADD, NEXT, PREVIOUS].includes(key))) {
      // Nothing happens behind an open dialog: the page drawn anew would close it, with all that was typed there.
      const behind = document.querySelector("[data-testid=stDialog]");
      if (behind || save) take(event);
      if (behind) return;
      field?.blur();
      // The page hands over what was typed once it has drawn the field as left.
      if (save) requestAnimationFrame(() => setTimeout(() => setTriggerValue("save", true)));
    }
  });
  return () => mine.abort();
}
""",
)


def save_key() -> bool:
    """Listen to the window; whether Ctrl+S was pressed, and what was being typed is stored.

    When the window comes to the front, the page is drawn anew, with what another window did meanwhile.
    """
    here = presses.presses()
    _listener(key="bank-window", on_save_change=partial(here.press, SAVE), on_looked_change=lambda: None)
    return here.take(SAVE)


def window() -> Window:
    """The window that this run draws."""
    return st.session_state.setdefault("bank window", Window())


def look(project: Project) -> None:
    """Remember the drafts as they are now: this window shows them."""
    window().drafts = _now(project, ui.person())


def unseen(project: Project) -> bool:
    """Whether another window of this person changed something that this one has not shown."""
    return bool(window().drafts != _now(project, ui.person()))


def act(project: Project, what: Callable[..., Any], *arguments: Any) -> Any:
    """Do something to the person's drafts; what this window did itself, it has seen.

    Args:
        what: a function of the project, the author and the arguments.
    """
    author, here = ui.author(), window()
    # From here on the session is not asked, so that the run is not ended between the act and the note of it.
    with here.lock:
        current = here.drafts == _now(project, author)
        result = what(project, author, *arguments)
        if current:
            here.drafts = _now(project, author)
    return result


def show(fields: Mapping[str, Field]) -> None:
    """Remember the fields that were drawn, by their keys; those that are not among them are no longer there."""
    window().fields = dict(fields)


def take_in() -> None:
    """Store what stands in the fields and was not there when they were drawn: somebody typed it.

    What cannot be stored, as on a full disk, stays in its field, which says so; every run tries again.
    """
    here = window()
    for key, at in list(here.fields.items()):
        given = st.session_state.get(key, at.shown)
        here.unstored.pop(key, None)
        if given == at.shown:
            continue
        value = at.read(given)
        # A run that was ended while it drew has put into the field what is stored, and nobody typed.
        if value == _stored(at):
            here.fields[key] = replace(at, stored=value, shown=given)
            continue
        try:
            act(at.project, change_draft, at.question, at.name, value, at.stored)
        except CrossedEdit as crossed:
            here.crossed[key] = crossed
        except WorkbenchError as error:
            here.unstored[key] = error
        else:
            here.fields[key] = replace(at, stored=value, shown=given)


def _stored(at: Field) -> object:
    """What the person's draft or the bank has for a field now."""
    now = drafted_bank(at.project, ui.person(), at.question.query_id)
    return next((getattr(one, at.name) for one in now if one.question_id == at.question.question_id), None)


def _now(project: Project, author: str) -> tuple[str, str, Mark]:
    return project.name, author, mark(project, author)
