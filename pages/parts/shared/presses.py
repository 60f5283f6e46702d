"""Buttons whose presses are not lost.

Streamlit ends a run as soon as the next message arrives, such as the regular update of a job. A press is known only
to the run that it starts. If that run is ended before it draws the button, the press is lost. Callbacks run first:
here a callback notes the press, and the run that draws the button takes it.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

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
        """Drop the presses of some buttons that are not on the page, or all of them at the end of a complete run."""
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
