"""Batches that wait at an endpoint while nobody looks: how far they were, and taking them up again."""

from __future__ import annotations

import streamlit as st

from core.catalogue import find_grader, grader_again
from core.grading import Request, Scope, UnderWay, under_way
from core.project import Project
from pages.parts.shared import presses, ui
from pages.parts.shared.job_plan import start

NOTHING_NEW = Request(Scope(limit=0), batch=True)
"""Takes up what is under way, and sends nothing else."""


def waiting(project: Project) -> None:
    """Draw what is under way, while no job of this process looks at it."""
    for one in under_way(project):
        with st.container(border=True):
            st.markdown(f"**Batches of {ui.plain(one.grader)}** wait at the endpoint. {ui.plain(one.standing.said)}.")
            st.caption(
                "As they were when they were looked at last. The answers are taken in when somebody looks again."
            )
            if presses.button("Look again", icon=":material/refresh:", key=f"look {one.fingerprint}"):
                _take_up(project, one)


def _take_up(project: Project, one: UnderWay) -> None:
    with ui.errors():
        grader = grader_again(project, find_grader(project, one.fingerprint).spec)
        if grader is None:
            st.warning(
                "How this grader is asked is not known here any more: set it up above as it was.",
                icon=":material/warning:",
            )
            return
        start(project, grader, NOTHING_NEW)
