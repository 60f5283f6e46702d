"""Beside a passage: one's own judgment, the judgments of all sources, the rank in every run."""

from __future__ import annotations

import streamlit as st

from core.project import SCALE, Project, judging, judgment_history, own_judgment, withdraw
from core.review import Desk
from pages.parts.review import passage_list
from pages.parts.shared import presses, ui
from pages.parts.shared.acting import Act, save_all
from pages.parts.shared.html import known_html

WITHDRAW = "withdraw judgment"


def act(project: Project, at: tuple[str, str]) -> None:
    """Do what the buttons of `judge` were pressed for, before anything is drawn.

    Args:
        at: query and passage that are open.

    Raises:
        WorkbenchError: it could not be done.
    """
    for value in SCALE:
        if presses.pressed(_key(value)):
            note = str(st.session_state.get(_note(at)) or "")
            judging.judge(project, *at, value, ui.author(), note)
            st.toast(f"Your judgment: {value}, {SCALE[value]}.", icon=":material/gavel:")
    if presses.pressed(WITHDRAW):
        # In another window it may be gone already, which is as it should be.
        if own_judgment(project, *at, ui.author()) is not None:
            withdraw(project, *at, ui.author())
        st.toast("Your judgment is withdrawn.", icon=":material/undo:")


def act_on_keys(project: Project) -> None:
    """Save the judgments that were given by keys, each of the passage that was chosen when its key was pressed.

    Raises:
        WorkbenchError: some were not saved; says of which passages.
    """
    asked = passage_list.judgments()
    acts = list(asked.acts)
    notes = {at: str(st.session_state.get(_note(at)) or "") for at in map(_at, acts)}

    def save(one: Act, author: str) -> str:
        value = int(one["value"])
        judging.judge(project, *_at(one), value, author, notes[_at(one)])
        return f"Your judgment: {value}, {SCALE[value]}."

    def called(one: Act) -> str:
        return f"Your judgment {one['value']} of passage {one['passage']}"

    save_all(asked, acts, project.name, save, called)


def _at(act: Act) -> tuple[str, str]:
    return str(act["query"]), str(act["passage"])


def judge(project: Project, desk: Desk) -> None:
    """The person's own judgment: give it, replace it, take it back."""
    at = desk.query_id, desk.passage_id
    own = own_judgment(project, *at, ui.person()) if ui.person() else None
    # In a narrow window it stays at the lower edge, in sight with the passage.
    with st.container(key="desk-judge"):
        st.markdown("**Your judgment**", width="content")
        st.text_input("Note", key=_note(at), placeholder="Note", label_visibility="collapsed", persist_state="session")
        for value, meaning in SCALE.items():
            presses.button(
                meaning.capitalize(),
                key=_key(value),
                shortcut=str(value),
                type="primary" if own == value else "secondary",
                width="stretch",
                disabled=desk.text is None,
            )
        if own is not None:
            presses.button("Withdraw your judgment", key=WITHDRAW, type="tertiary", icon=":material/undo:")


def _key(value: int) -> str:
    return f"judge {value}"


def _note(at: tuple[str, str]) -> str:
    return f"note {at[0]} {at[1]}"


def known(project: Project, desk: Desk) -> None:
    """Judgments by source with their history, and the rank in every run."""
    st.html(known_html(desk, judgment_history(project, desk.query_id, desk.passage_id)))
