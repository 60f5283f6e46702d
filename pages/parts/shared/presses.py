"""Buttons whose presses are not lost.

Streamlit ends a run as soon as the next message arrives, such as the regular update of a job. A press is known only
to the run that it starts. If that run is ended before it draws the button, the press is lost. Callbacks run first:
here a callback notes the press, and the run that draws the button takes it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from exam_workbench.errors import WorkbenchError
from pages.parts.shared import ui

LONGEST = 20.0
"""Seconds after which a press is too old to act on."""


@dataclass
class Presses:
    """The pending presses in a browser tab: time and place, by the key of the button.

    Callbacks get this object because they must not access the session state: any access may end the run.
    """

    made: dict[str, tuple[float, object]] = field(default_factory=dict)

    def press(self, key: str, place: object = None) -> None:
        self.made[key] = time.monotonic(), place

    def take(self, key: str, place: object = None) -> bool:
        """Return whether a button was recently pressed in the same place, and remove the press."""
        pressed, there = self.made.pop(key, (None, None))
        return pressed is not None and there == place and time.monotonic() - pressed < LONGEST

    def forget(self, *keys: str) -> None:
        """Drop the presses of these buttons, which are not on the page; without keys, drop all after a complete run."""
        for key in keys or tuple(self.made):
            self.made.pop(key, None)


def presses() -> Presses:
    """Return the presses of this browser tab."""
    return st.session_state.setdefault("presses", Presses())


def _place() -> object:
    """Return the screen, the project and the address, so that a press takes effect only in its place."""
    return st.session_state.get("screen"), st.session_state.get("project"), dict(st.query_params)


def pressed(key: str) -> bool:
    """Return whether a button of `button` was pressed; call this before drawing elements that show its effect."""
    return presses().take(key, _place())


def button(label: str, at: Any = st, **options: Any) -> bool:
    """Draw a button; return whether it was pressed, in this run or in one that ended before it drew the button.

    Do not use it in a dialog: a press in a closed dialog would take effect in the next one.

    Args:
        at: the container to draw it in.
        options: passed to `st.button`; without a callback.
    """
    here, key, place = presses(), str(options.get("key", label)), _place()
    at.button(label, on_click=here.press, args=(key, place), **options)
    return here.take(key, place) and not options.get("disabled", False)


def checkbox(label: str, value: bool, key: str, **options: Any) -> bool | None:
    """Draw a check box that shows `value`; return its new value if the person changed it, otherwise None.

    As for `button`, a change in a run that ended early is not lost.

    Args:
        options: passed to `st.checkbox`; without a callback.
    """
    here, place = presses(), _place()
    changed = here.take(key, place)
    if not changed:
        st.session_state[key] = value
    wanted = st.checkbox(label, key=key, on_change=here.press, args=(key, place), **options)
    return wanted if changed and wanted != value else None


_KEPT = "last outcome"


def did(act: Callable[[], object], said: str = "") -> None:
    """Do an action, keep its result for the next run, and rerun the screen.

    Args:
        said: message after success; if empty, the action's return value.
    """
    try:
        made = act()
        st.session_state[_KEPT] = said or str(made), None
    except WorkbenchError as error:
        st.session_state[_KEPT] = "", error
    st.rerun()


def form_key(name: str) -> str:
    """Return the key of a form that keeps its input until its action succeeds; see `empty`."""
    return f"{name} {st.session_state.get(_times(name), 0)}"


def empty(name: str) -> None:
    """Clear a form at its next drawing, after its action succeeded."""
    st.session_state[_times(name)] = st.session_state.get(_times(name), 0) + 1


def _times(name: str) -> str:
    return f"times the form {name} was done"


def tell() -> None:
    """Show the result of the last action or its error, once."""
    said, error = st.session_state.pop(_KEPT, ("", None))
    if error is not None:
        ui.show_error(error)
    if said:
        st.toast(ui.plain(said))
