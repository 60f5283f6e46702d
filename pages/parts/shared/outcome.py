"""Results of actions, shown by the next run of the screen."""

from collections.abc import Callable

import streamlit as st

from exam_workbench.errors import WorkbenchError
from pages.parts.shared import ui

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
