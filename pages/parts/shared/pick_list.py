"""A scrolled and searchable list to choose from, such as the queries of the question bank.

The choice arrives as a numbered state and not as a trigger. An ended run loses a trigger, while a state is sent again
with the next run.
"""

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import streamlit as st

from pages.parts.shared.components import component

_list = component("pick_list", "shared/pick_list.css", "shared/pick_list.js")


@dataclass(frozen=True)
class Mark:
    """A symbol next to a text of the list.

    Args:
        says: its meaning, for the tooltip and screen readers.
    """

    kind: Literal["changed", "alert"]
    sign: str
    says: str


@dataclass(frozen=True)
class Pick:
    """An entry of the list.

    Args:
        href: link relative to the screen.
        about: a remark in small type.
    """

    id: str
    text: str
    href: str
    about: str = ""
    marks: tuple[Mark, ...] = ()


def picked(key: str) -> str | None:
    """Return the latest choice in a list that is not marked as taken; call this before the list is drawn."""
    given = _given(key)
    return str(given["id"]) if given and int(given["n"]) > _taken(key) else None


def take(key: str) -> None:
    """Mark the latest choice as taken, after acting on it."""
    if given := _given(key):
        st.session_state[f"taken {key}"] = int(given["n"])


def draw(key: str, label: str, find: str, none: str, picks: Sequence[Pick], chosen: str) -> None:
    """Draw a list.

    Args:
        label: title of the list.
        find: placeholder of the search box.
        none: message if no entry matches.
        chosen: the id of the chosen entry.
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
    # After a restart of the server, a browser may send an old choice.
    return found if isinstance(found, dict) and found.get("session") == _session() else None


def _session() -> str:
    return str(st.session_state.setdefault("pick list", uuid.uuid4().hex))


def _taken(key: str) -> int:
    return int(st.session_state.get(f"taken {key}", 0))
