"""Who else is in the query that is open, and what others saved meanwhile, on a server that several people share."""

from __future__ import annotations

import streamlit as st

from core.errors import WorkbenchError
from core.project import Project, acted_since, latest_act
from core.review import Presence
from pages.parts.shared import login, presses, ui

LOOKS_EVERY = 15.0
"""Seconds between two looks at who is there."""


@st.cache_resource(show_spinner=False)
def _presence() -> Presence:
    return Presence()


def beside(project: Project, query_id: str) -> None:
    """Say who else is in a query, and keep that current; nothing where one person is by themselves."""
    if login.needed() and ui.person():
        _others(project, query_id)


def accompany() -> None:
    """Say on every screen when others have saved something since it was drawn; nothing where one is by oneself.

    It is drawn again when its person says so: of its own accord that would take a dialog away in which they type.
    """
    if not login.needed() or not ui.person():
        return
    try:
        project = ui.chosen_project()
    except WorkbenchError:
        # The screen itself says what is wrong.
        return
    if project is not None and project.allows("read the bank"):
        _news(project, latest_act(project))


@st.fragment(run_every=LOOKS_EVERY)
def _news(project: Project, seen: int) -> None:
    others = acted_since(project, seen, ui.person())
    if not others:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f":material/sync: {ui.plain(', '.join(others))} saved something since.", width="content")
        if presses.button("Show it", type="tertiary", key="show what others saved"):
            st.rerun()


@st.fragment(run_every=LOOKS_EVERY)
def _others(project: Project, query_id: str) -> None:
    others = _presence().see(project.path, query_id, ui.person())
    if others:
        names = ", ".join(others)
        st.caption(f":material/group: {ui.plain(names)} {'is' if len(others) == 1 else 'are'} in this query, too.")
