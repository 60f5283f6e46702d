"""Messages for unexpected errors, in place of Streamlit's own box."""

import logging
import secrets

import streamlit as st

from exam_workbench import errors, store
from pages.parts.shared import ui

_log = logging.getLogger(__name__)


def show(error: Exception) -> bool:
    """Draw an error that no screen caught, from a run of the screen, of a fragment, or from a
    callback.

    Args:
        error: a `WorkbenchError` says how to fix it; any other error gets a number, under which the
            log has the details.

    Returns:
        True, so that Streamlit draws no box of its own.
    """
    number = secrets.token_hex(3).upper()
    error = store.no_room("the project", error) or error
    if isinstance(error, errors.WorkbenchError):
        ui.show_error(error)
    else:
        _log.error("error %s: %s", number, error, exc_info=error)
        with st.container(border=True, key=f"error unforeseen {number}"):
            st.error(
                f"Unexpected error **{number}**. The log (the terminal output of the"
                " app) has the details.",
                icon=":material/error:",
            )
            st.text(
                "Saved work is not lost. Try again. If it fails again, give the number to the"
                " administrator of the server."
            )
    # Any click reruns the screen or its fragment.
    st.button("Try again", icon=":material/refresh:", key=f"try again {number}")
    return True
