"""The person at this browser: the name is kept by the browser and asked for before the first
action.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import streamlit as st

from exam_workbench import errors, store
from pages.parts.shared import components, login

COOKIE = "exam-workbench-name"
LONGEST_NAME = 60


def remembered_name() -> str:
    """Return the name that this browser remembers; empty for a new browser."""
    return store.as_name(unquote(st.context.cookies.get(COOKIE, "")))[:LONGEST_NAME]


def current_name() -> str:
    """Return the name of the person in this window, from the login if there is one; empty if
    unknown.
    """
    if login.is_required():
        found = login.current_member()
        return found.name if found else ""
    return store.as_name(str(st.session_state.get("author") or ""))


def require_author() -> str:
    """Return the name under which actions are recorded; if it is unknown, ask for it and end the
    action.
    """
    if not (name := current_name()):
        if login.is_required():
            # A person who is signed in but has no role learns whom to ask for one.
            raise errors.NotAllowed(
                "no-role",
                "You have no role in this project.",
                "Choose another project, or ask an organizer for a role.",
            )
        _request_name()
        st.rerun()
        # In a callback, the rerun happens only after the callback.
        raise errors.WorkbenchError(
            "no-name", "Your name is missing.", "Enter your name, then try again."
        )
    return name


def draw_download(
    label: str,
    data: Callable[[], str | bytes],
    file_name: str,
    disabled: bool = False,
    **options: Any,
) -> None:
    """Draw a button that downloads a file; if the person's name is unknown, it asks for it first.

    Args:
        data: makes the content after the click.
        options: passed to `st.download_button`.
    """
    if current_name() or login.is_required():
        st.download_button(
            label, data, file_name, disabled=disabled or not current_name(), **options
        )
        return
    same = {name: options[name] for name in ("type", "icon", "help") if name in options}
    st.button(label, key=f"name for {file_name}", on_click=_request_name, disabled=disabled, **same)


def _request_name() -> None:
    st.session_state["ask who"] = True


def draw_box() -> None:
    """Draw the name in the sidebar; another name is another person, with separate drafts."""
    if login.is_required():
        login.draw_box()
        return
    st.session_state.setdefault("author", remembered_name())
    # Also without a name, so that the menu stays in place when it is entered.
    st.text_input(
        "Your name",
        key="author",
        persist_state="session",
        max_chars=LONGEST_NAME,
        placeholder="Not entered yet",
        on_change=_mark_given,
        help="The activity log shows this name, and this browser remembers it. Another name is"
        " another person with separate unsaved changes.",
    )
    # Streamlit can read cookies but not set them.
    said = current_name() if st.session_state.get("name said") else None
    components.draw("cookie", "remember", {"cookie": COOKIE, "value": said})


def ask_for_name() -> None:
    """Ask a new browser for the name: at the top of the page, and in a dialog before an action."""
    asks_now, name = st.session_state.pop("ask who", False), current_name()
    # On the screen where the name was entered, the line stays until the person leaves it, so that
    # nothing moves.
    if st.session_state.get("named on") != st.session_state["screen"]:
        st.session_state.pop("named on", None)
    if login.is_required() or (name and "named on" not in st.session_state):
        return
    if asks_now and not name:
        _draw_dialog()
    with st.container(key="name-wanted"):
        if name or asks_now:
            st.caption(
                "The activity log shows your name with your changes. You can"
                " change it in the sidebar."
            )
        else:
            _draw_form()


@st.dialog("Enter your name")
def _draw_dialog() -> None:
    if current_name():
        st.rerun()
    st.container(key="not-done-yet").text(
        "Your last action was not carried out. Enter your name, then try again."
    )
    _draw_form()


def _draw_form() -> None:
    with (
        st.form("who are you", border=False),
        st.container(horizontal=True, vertical_alignment="center"),
    ):
        st.text_input(
            "Your name",
            store.current_author(),
            key="name given",
            max_chars=LONGEST_NAME,
            width=150,
            label_visibility="collapsed",
            placeholder="Your name",
        )
        st.form_submit_button("Use this name", on_click=_take_given_name, key="give name")
        st.container(key="about-names", width="stretch").caption(
            "The activity log shows this name with your changes. You can read without a name."
        )


def _take_given_name() -> None:
    st.session_state["author"] = store.as_name(str(st.session_state["name given"]))
    _mark_given()


def _mark_given() -> None:
    if not st.session_state.get("name said") and not remembered_name():
        st.session_state["named on"] = st.session_state["screen"]
    st.session_state["name said"] = True
