"""Batches that wait at an endpoint between jobs: their state, and resuming them."""

import streamlit as st

from exam_workbench.catalogue import find_grader, grader_again
from exam_workbench.grading import Request, Scope, standing
from exam_workbench.jobs import jobs
from exam_workbench.project import Project
from pages.parts.shared import presses, ui
from pages.parts.shared.job_plan import start


def waiting(project: Project) -> None:
    """Draw the waiting batches that no job of this process is watching."""
    for name in sorted({job.name for job in jobs(project, "grading", state="waiting")}):
        spec = find_grader(project, name).spec
        with st.container(border=True), ui.errors():
            st.container(key=f"batches {spec.fingerprint}").markdown(
                f"**{ui.plain(name)}** has batches at the endpoint. {ui.plain(standing(project, spec).said)}."
            )
            st.caption("State at the last check. Check again to import new answers.")
            if presses.button("Check batches", icon=":material/refresh:", key=f"look {spec.fingerprint}"):
                if (grader := grader_again(project, spec)) is not None:
                    # A limit of 0 only resumes the waiting batches and sends no new ones.
                    start(project, grader, Request(Scope(limit=0), batch=True))
                else:
                    st.warning(
                        "The settings of this grader are missing. Set it up above as it was before.",
                        icon=":material/warning:",
                    )
