"""Batches that wait at an endpoint while nobody looks: how far they were, and taking them up again."""

from __future__ import annotations

import streamlit as st

from exam_workbench.catalogue import find_grader, grader_again
from exam_workbench.grading import Request, Scope, standing
from exam_workbench.jobs import jobs
from exam_workbench.project import Project
from pages.parts.shared import presses, ui
from pages.parts.shared.job_plan import start


def waiting(project: Project) -> None:
    """Draw what is under way, while no job of this process looks at it."""
    for name in sorted({job.name for job in jobs(project, "grading", state="waiting")}):
        spec = find_grader(project, name).spec
        with st.container(border=True), ui.errors():
            st.container(key=f"batches {spec.fingerprint}").markdown(
                f"**{ui.plain(name)}** has batches at the endpoint. {ui.plain(standing(project, spec).said)}."
            )
            st.caption("State at the last check. Check again to import new answers.")
            if presses.button("Check batches", icon=":material/refresh:", key=f"look {spec.fingerprint}"):
                if (grader := grader_again(project, spec)) is not None:
                    # The batches that wait are taken up, and no others are sent.
                    start(project, grader, Request(Scope(limit=0), batch=True))
                else:
                    st.warning(
                        "The settings of this grader are missing. Set it up above as it was before.",
                        icon=":material/warning:",
                    )
