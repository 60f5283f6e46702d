"""Buttons whose presses are not lost.

Streamlit ends a run as soon as the next message arrives, such as the regular update of a job. A
press is known only to the run that it starts. If that run is ended before it draws the button, the
press is lost. Callbacks run first: here a callback notes the press, and the run that draws the
button takes it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from pages.parts.shared import ui

LONGEST = 20.0
"""Seconds after which a press is too old to act on."""


@dataclass
class PendingPresses:
    """The pending presses in a browser tab: time and place, by the key of the button.

    Callbacks get this object because they must not access the session state: any access may end the
    run.
    """

    made: dict[str, tuple[float, object]] = field(default_factory=dict)

    def press(self, key: str, place: object = None) -> None:
        self.made[key] = time.monotonic(), place

    def remove(self, key: str, place: object = None) -> bool:
        """Return whether a button was recently pressed in the same place, and remove the press."""
        pressed, there = self.made.pop(key, (None, None))
        return pressed is not None and there == place and time.monotonic() - pressed < LONGEST

    def clear(self) -> None:
        """Drop all presses after a complete run: their buttons are not on the page."""
        self.made.clear()


def presses() -> PendingPresses:
    """Return the presses of this browser tab."""
    return st.session_state.setdefault("presses", PendingPresses())


def _current_place() -> object:
    """Return the screen, the project and the address, so that a press takes effect only in its
    place.
    """
    return st.session_state.get("screen"), st.session_state.get("project"), dict(st.query_params)


def was_pressed(key: str) -> bool:
    """Return whether a button of `button` was pressed; call this before drawing elements that show
    its effect.
    """
    return presses().remove(key, _current_place())


def button(label: str, at: Any = st, **options: Any) -> bool:
    """Draw a button; return whether it was pressed, in this run or in one that ended before it drew
    the button.

    Do not use it in a dialog: a press in a closed dialog would take effect in the next one.

    Args:
        at: the container to draw it in.
        options: passed to `st.button`; without a callback.
    """
    here, key, place = presses(), str(options.get("key", label)), _current_place()
    at.button(label, on_click=here.press, args=(key, place), **options)
    return here.remove(key, place) and not options.get("disabled", False)


def checkbox(label: str, value: bool, key: str, **options: Any) -> bool | None:
    """Draw a check box that shows `value`; return its new value if the person changed it, otherwise
    None.

    As for `button`, a change in a run that ended early is not lost.

    Args:
        options: passed to `st.checkbox`; without a callback.
    """
    all_presses, place = presses(), _current_place()
    changed = all_presses.remove(key, place)
    if not changed:
        st.session_state[key] = value
    wanted = st.checkbox(label, key=key, on_change=all_presses.press, args=(key, place), **options)
    return wanted if changed and wanted != value else None


def run_act(
    act: Callable[..., object], *given: object, message: str = "", icon: str | None = None
) -> None:
    """Do an act of core under the person's name and redraw the screen; an error is shown instead.

    Args:
        given: the arguments of the act; the author is added by name.
        message: message after success.
    """
    with ui.errors(rerun=True):
        act(*given, author=ui.author())
        if message:
            st.toast(message, icon=icon)


def act_button(
    label: str, act: Callable[..., object], *given: object, message: str = "", **options: Any
) -> None:
    """Draw a button that does an act of core; see `run_act`.

    Args:
        options: passed to `button`.
    """
    if button(label, **options):
        run_act(act, *given, message=message, icon=options.get("icon"))


def confirm_button(
    label: str,
    why: str,
    act: Callable[..., object],
    *given: object,
    now: str,
    now_key: str,
    **options: Any,
) -> None:
    """Draw a popover with a warning, and a button in it that does an act of core.

    Args:
        now, now_key: label and key of the button.
        options: passed to `st.popover`.
    """
    with st.popover(label, **options):
        st.text(why)
        act_button(now, act, *given, key=now_key)


def form_key(name: str) -> str:
    """Return the key of a form that keeps its input until its action succeeds; see `clear_form`."""
    return f"{name} {st.session_state.get(_form_counter(name), 0)}"


def clear_form(name: str) -> None:
    """Clear a form at its next drawing, after its action succeeded."""
    st.session_state[_form_counter(name)] = st.session_state.get(_form_counter(name), 0) + 1


def _form_counter(name: str) -> str:
    return f"times the form {name} was done"
