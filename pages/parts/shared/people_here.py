"""Other people in the open query and their recent changes, on a shared server."""

import streamlit as st

from exam_workbench import review
from exam_workbench.records import acted_since, latest_action
from exam_workbench.store import Project
from pages.parts.shared import components, login, presses, ui

LOOKS_EVERY = 15.0
"""Seconds between two updates."""
PRESENCE = review.Presence()
"""The people in each query, in any browser."""


def draw_people(project: Project, query_id: str) -> None:
    """Draw the other people in a query, with regular updates; draw nothing without login."""
    if login.is_required() and ui.person():
        _draw_others(project, query_id)


def redraw_on_changes() -> None:
    """Redraw the screen when other people have saved changes; do nothing without login.

    If a redraw would disturb, because the person is typing or has a dialog open, a button offers it
    instead. Without new changes an update needs no query.
    """
    if not login.is_required() or not ui.person():
        return
    project = ui.project_or_none()
    if project is not None and project.allows("read the bank"):
        _draw_news(project, latest_action(project))


@st.fragment(run_every=LOOKS_EVERY)
def _draw_news(project: Project, last_seen: int) -> None:
    others = acted_since(project, last_seen, ui.person())
    # Only the browser knows whether a person is typing, reads a dialog, or has the window in sight.
    # The number of the newest action, so that the browser recognizes further changes.
    news = latest_action(project) if others else 0
    answer = components.draw(
        "news",
        "redraw",
        {"news": news},
        on_redraw_change=lambda: None,
        on_looked_change=lambda: None,
    )
    if others and answer.redraw:
        st.rerun()
    if not others:
        return
    # It floats next to the page: if it moved an open list, the browser would close it.
    with st.container(key="news", horizontal=True, vertical_alignment="center"):
        st.container(key="news-of-others", width="content").caption(
            f":material/sync: {ui.escape(', '.join(others))} saved changes.", width="content"
        )
        if presses.button("Refresh", type="tertiary", key="show what others saved"):
            st.rerun()


@st.fragment(run_every=LOOKS_EVERY)
def _draw_others(project: Project, query_id: str) -> None:
    if others := PRESENCE.record_visit(project.path, query_id, ui.person()):
        st.container(key="others-here").caption(
            f":material/group: {ui.escape(', '.join(others))} {'are' if others[1:] else 'is'} also"
            " working on this query."
        )
