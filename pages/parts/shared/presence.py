"""Who else is in the query that is open, on a server that several people share."""

from __future__ import annotations

import streamlit as st

from core.project import Project
from core.review import Presence
from pages.parts.shared import login, ui

LOOKS_EVERY = 15.0
"""Seconds between two looks at who is there."""


@st.cache_resource(show_spinner=False)
def _presence() -> Presence:
    return Presence()


def beside(project: Project, query_id: str) -> None:
    """Say who else is in a query, and keep that current; nothing where one person is by themselves."""
    if login.needed() and ui.person():
        _others(project, query_id)


@st.fragment(run_every=LOOKS_EVERY)
def _others(project: Project, query_id: str) -> None:
    others = _presence().see(project.path, query_id, ui.person())
    if others:
        names = ", ".join(others)
        st.caption(f":material/group: {ui.plain(names)} {'is' if len(others) == 1 else 'are'} in this query, too.")
