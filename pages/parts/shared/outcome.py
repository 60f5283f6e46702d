"""What came of an act, said by the run of the screen that follows it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from exam_workbench.errors import WorkbenchError
from pages.parts.shared import ui

_KEPT = "last outcome"


def did(act: Callable[[], object], said: str = "") -> None:
    """Do something, keep what came of it, and draw the screen anew.

    Args:
        said: what to say where it is done; what the act returns, if empty.
    """
    try:
        made = act()
        st.session_state[_KEPT] = said or str(made), None
    except WorkbenchError as error:
        st.session_state[_KEPT] = "", error
    st.rerun()


def form_key(name: str) -> str:
    """The key of a form whose fields hold what was typed until what it asks for was done; see `empty`."""
    return f"{name} {st.session_state.get(_times(name), 0)}"


def empty(name: str) -> None:
    """Let a form be empty when it is drawn next: what it asked for was done."""
    st.session_state[_times(name)] = st.session_state.get(_times(name), 0) + 1


def _times(name: str) -> str:
    return f"times the form {name} was done"


def tell() -> None:
    """Say once what came of the last act, or why it was refused."""
    said, error = st.session_state.pop(_KEPT, ("", None))
    if error is not None:
        ui.show_error(error)
    if said:
        st.toast(ui.plain(said))
