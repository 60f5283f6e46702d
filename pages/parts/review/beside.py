"""Beside a passage: one's own judgment, the judgments of all sources, the rank in every run."""

from __future__ import annotations

import streamlit as st

from core.errors import WorkbenchError
from core.project import SCALE, Project, judging, judgment_history, own_judgment, withdraw
from core.review import Desk
from pages.parts.shared import presses, ui
from pages.parts.shared.html import known_html


def judge(project: Project, desk: Desk) -> None:
    """The person's own judgment: give it, replace it, take it back."""
    own = own_judgment(project, desk.query_id, desk.passage_id, ui.person()) if ui.person() else None
    st.markdown("**Your judgment**")
    note = st.text_input(
        "Note", key=f"note {desk.query_id} {desk.passage_id}", placeholder="Note", label_visibility="collapsed",
        persist_state="session",
    )  # fmt: skip
    try:
        for value, meaning in SCALE.items():
            if presses.button(
                meaning.capitalize(),
                key=f"judge {value}",
                shortcut=str(value),
                type="primary" if own == value else "secondary",
                width="stretch",
                disabled=desk.text is None,
            ):
                judging.judge(project, desk.query_id, desk.passage_id, value, ui.author(), str(note or ""))
                st.rerun()
        if own is not None and presses.button("Withdraw your judgment", type="tertiary", icon=":material/undo:"):
            withdraw(project, desk.query_id, desk.passage_id, ui.author())
            st.rerun()
    except WorkbenchError as error:
        ui.show_error(error)


def known(project: Project, desk: Desk) -> None:
    """Judgments by source with their history, and the rank in every run."""
    st.html(known_html(desk, judgment_history(project, desk.query_id, desk.passage_id)))
