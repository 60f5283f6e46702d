"""Where somebody is on the Disagreements screen, as the address names it: sides, list, filters, order and case.

All of it is written at once, so that one step back in the browser is one step of the person.
"""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from pages.parts.shared import address

NAMES = ("left", "right", "view", "order", "settled", "query", "cell", "case", "at")
"""What of an address is about this screen."""
WIDGETS = {"query": "query_listed", "view": "cases_shown"}
"""Keys of widgets that are called something else in the address, as the other screens call theirs."""
_KEPT, _WRITTEN = "place of the disagreements", "address of the disagreements"
"""Where one is, which stays while one looks at other screens; and what of it the address was made to say."""


_HELD = "case before one"
"""The project and the case that somebody tries something on where the address names none."""


def arrive() -> bool:
    """Take over what the address says, or where one was before another screen; before the sides are drawn.

    Returns:
        Whether somebody comes from another screen or place, so that the widgets are to be set anew.
    """
    given = _given()
    # What a widget held is gone once another screen was drawn; where one was left before it was, it is still there.
    came = "left" not in st.session_state or address.arrived()
    # On the way to a passage the browser notes this screen with the address of that one: it is a step of nobody's.
    # Where one was may be the place without any filter.
    if came and _KEPT in st.session_state and (not given or "passage" in st.query_params):
        return True
    # What was chosen in a run that came to no end stands in no address yet.
    if not came and given == st.session_state.get(_WRITTEN):
        return False
    st.session_state[_KEPT] = given
    st.session_state[_WRITTEN] = given
    st.session_state.pop(_HELD, None)
    return True


def _given() -> dict[str, str]:
    return {name: said for name in NAMES if (said := st.query_params.get(name))}


def _kept() -> dict[str, str]:
    found: dict[str, str] = st.session_state.get(_KEPT, {})
    return found


def named(name: str) -> str:
    """What the address says of something; empty for nothing."""
    return _kept().get(name, "")


def hold(case: str) -> None:
    """Let a case stay open, though it may stand elsewhere in the queue by now: no step for Back, until one goes on."""
    st.session_state[_HELD] = st.session_state.get("project"), case


def open_case() -> str:
    """The case that is to be open; empty for the one at the place in the queue that the address says."""
    project, held = st.session_state.get(_HELD, (None, ""))
    return named("case") or (held if project == st.session_state.get("project") else "")


def put(**said: object) -> None:
    """Change what the address is to say; it is written by `write`.

    Args:
        said: by name; empty and None for nothing.
    """
    if "case" in said:
        st.session_state.pop(_HELD, None)
    kept = _kept() | {name: "" if value is None else str(value) for name, value in said.items()}
    st.session_state[_KEPT] = {name: value for name, value in kept.items() if value}


def write() -> None:
    """Let the address say where one is, in one step."""
    if _given() != _kept() or "passage" in st.query_params:
        address.say({name: named(name) for name in (*NAMES, "passage", "question")})
    st.session_state[_WRITTEN] = _kept()


def set_widget(name: str, options: Iterable[str], default: str) -> None:
    """Set the widget of a choice to what the address says, where that is one of the options.

    Args:
        default: without, or where the address says something else.
    """
    known = list(options)
    value = named(name)
    st.session_state[WIDGETS.get(name, name)] = value if value in known else default
