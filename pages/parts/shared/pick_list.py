"""A list to choose one from, such as the query whose questions are looked at: scrolled, and found by words.

What is chosen comes as a state with a number and not as a trigger: a run that is ended takes a trigger with it, while a
state comes again with the next run.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import streamlit as st

from pages.parts.shared.components import component

_list = component("pick_list", "shared/pick_list.css", "shared/pick_list.js")


@dataclass(frozen=True)
class Mark:
    """A sign beside a text of the list.

    Args:
        says: what it means, for whoever points at it or hears it.
    """

    kind: Literal["changed", "alert"]
    sign: str
    says: str


@dataclass(frozen=True)
class Pick:
    """One of the list.

    Args:
        href: where its link leads, relative to the screen.
        about: what is said of it in small.
    """

    id: str
    text: str
    href: str
    about: str = ""
    marks: tuple[Mark, ...] = ()


def picked(key: str) -> str | None:
    """What was chosen in a list and is not marked as taken yet: to be asked before the list is drawn."""
    given = _given(key)
    return str(given["id"]) if given and int(given["n"]) > _taken(key) else None


def take(key: str) -> None:
    """Mark what was chosen as taken, once it has been acted on."""
    if given := _given(key):
        st.session_state[f"taken {key}"] = int(given["n"])


def draw(key: str, label: str, find: str, none: str, picks: Sequence[Pick], chosen: str) -> None:
    """Draw a list.

    Args:
        label: what is listed.
        find: what the box to find in says.
        none: what is said where nothing has the words that are looked for.
        chosen: the id of the one that is chosen.
    """
    data = {
        "label": label,
        "find": find,
        "none": none,
        "chosen": chosen,
        "session": _session(),
        "taken": _taken(key),
        "rows": [asdict(pick) for pick in picks],
    }
    _list(key=key, data=data, on_picked_change=lambda: None)


def _given(key: str) -> dict[str, Any] | None:
    state = st.session_state.get(key)
    found = state.get("picked") if isinstance(state, dict) else None
    # A browser that comes to a server which has forgotten it brings along what it chose long ago.
    return found if isinstance(found, dict) and found.get("session") == _session() else None


def _session() -> str:
    return str(st.session_state.setdefault("pick list", uuid.uuid4().hex))


def _taken(key: str) -> int:
    return int(st.session_state.get(f"taken {key}", 0))
