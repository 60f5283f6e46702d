"""Buttons whose press is not lost.

Streamlit ends a run as soon as the next message comes, such as the regular look at a job. A press is known to the run
that it began and to no other, so that one which was ended before it drew the button would take the press with it.
Callbacks come first in a run: here a callback notes the press, and the run that draws the button takes it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

LONGEST = 20.0
"""Seconds after which a press is no longer what the person wants now."""


@dataclass
class Presses:
    """What was pressed in a browser tab and not acted on yet: when and where, by the key of the button.

    A callback asks the session nothing, as any question to it can be the end of the run: it has this object.
    """

    made: dict[str, tuple[float, object]] = field(default_factory=dict)

    def press(self, key: str, place: object = None) -> None:
        self.made[key] = time.monotonic(), place

    def take(self, key: str, place: object = None) -> bool:
        """Whether a button was pressed a moment ago and in the same place; from here on it was not."""
        pressed, there = self.made.pop(key, (None, None))
        return pressed is not None and there == place and time.monotonic() - pressed < LONGEST

    def forget(self, *keys: str) -> None:
        """Drop what is left of some buttons that are not there now, or of all at the end of a run that came to it."""
        for key in keys or tuple(self.made):
            self.made.pop(key, None)


def presses() -> Presses:
    """Those of this browser tab."""
    return st.session_state.setdefault("presses", Presses())


def _place() -> object:
    """The screen with the project and all that its address names, so that what is pressed here happens here."""
    return st.session_state.get("screen"), st.session_state.get("project"), dict(st.query_params)


def pressed(key: str) -> bool:
    """Whether a button of `button` was pressed, asked before it is drawn, so that what is drawn shows what it did."""
    return presses().take(key, _place())


def button(label: str, at: Any = st, **options: Any) -> bool:
    """A button; whether it was pressed, in this run or in one that was ended before it came to it.

    A button of a dialog is none of these: what was pressed in a dialog that was closed is not to happen in the next.

    Args:
        at: the container to draw it in.
        options: as `st.button` takes them, without a callback.
    """
    here, key, place = presses(), str(options.get("key", label)), _place()
    at.button(label, on_click=here.press, args=(key, place), **options)
    return here.take(key, place) and not options.get("disabled", False)
