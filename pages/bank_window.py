"""One window of perhaps several in which a person edits the bank: what it has seen, and its keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core import drafts
from core.project import Project
from pages import ui

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
    heard = _listener(key="bank-window", on_save_change=lambda: None, on_looked_change=lambda: None)
    return bool(heard.save)


def look(project: Project) -> None:
    """Remember the drafts as they are now: this window shows them."""
    st.session_state["drafts seen"] = _now(project)


def unseen(project: Project) -> bool:
    """Whether another window of this person changed something that this one has not shown."""
    return st.session_state.get("drafts seen") != _now(project)


def act(project: Project, what: Callable[..., Any], *arguments: Any) -> Any:
    """Do something to the person's drafts; what this window did itself, it has seen.

    Args:
        what: a function of the project, the author and the arguments.
    """
    author = ui.author()
    current = not unseen(project)
    result = what(project, author, *arguments)
    if current:
        look(project)
    return result


def _now(project: Project) -> tuple[str, str, drafts.Mark]:
    return project.name, ui.person(), drafts.mark(project, ui.person())
