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
    """What was pressed in a browser tab and not acted on yet.

    A callback asks the session nothing, as any question to it can be the end of the run: it has this object.

    Args:
        place: where the person is; somewhere else, what was pressed here is forgotten.
        times: when each button was pressed, by its key.
    """

    place: object = None
    times: dict[str, float] = field(default_factory=dict)

    def press(self, key: str) -> None:
        self.times[key] = time.monotonic()

    def take(self, key: str) -> bool:
        """Whether a button was pressed; from here on it was not."""
        pressed = self.times.pop(key, None)
        return pressed is not None and time.monotonic() - pressed < LONGEST

    def come_to(self, place: object) -> None:
        if place != self.place:
            self.times.clear()
        self.place = place


def presses() -> Presses:
    """Those of this browser tab."""
    return st.session_state.setdefault("presses", Presses())


def button(label: str, at: Any = st, **options: Any) -> bool:
    """A button; whether it was pressed, in this run or in one that was ended before it came to it.

    A button of a dialog is none of these: what was pressed in a dialog that was closed is not to happen in the next.

    Args:
        at: the container to draw it in.
        options: as `st.button` takes them, without a callback.
    """
    here, key = presses(), str(options.get("key", label))
    at.button(label, on_click=here.press, args=(key,), **options)
    return here.take(key) and not options.get("disabled", False)
