"""Sitting an exam: the missing answers, limits, and the running job."""

import streamlit as st

from exam_workbench.graders import back_end_name
from exam_workbench.jobs import current_job
from exam_workbench.pipelines import Sit, standing, start_sitting
from exam_workbench.project import Project, find_students
from pages.parts.shared import job_progress, ui
from pages.parts.shared.job_plan import choose_patience


def offer(project: Project, exam: str) -> None:
    """Draw the form that starts the missing answers; draw nothing while a job runs."""
    running = current_job(project, "exams")
    if running is not None and not running.over:
        return
    students = [one for one in find_students(project, None) if not one.sat_elsewhere]
    known = [standing(project, one, exam) for one in students]
    missing, failed = sum(one.missing for one in known), sum(one.failed for one in known)
    if not missing and not failed:
        return
    with st.popover(
        "Run the exam", icon=":material/edit_square:", type="primary" if missing else "secondary", key="sitting"
    ):
        st.markdown(f"**{missing:,}** to answer, **{failed:,}** failed")
        again = st.checkbox("Retry failed answers", value=not missing, disabled=not failed, key="sit again")
        calls = st.number_input(
            "Call limit", 1, None, None, key="sit calls", placeholder="No limit",
            help="Calls of models. Examinees that answer by a rule make none.",
        )  # fmt: skip
        cost = st.number_input("Cost limit", 0.0, None, None, key="sit cost", placeholder="No limit")
        patience = Sit.patience
        # An examinee of an earlier version may have a back end that was removed.
        known = [one.parameters for one in students if one.parameters.get("back_end") != "vllm"]
        if any(back_end_name(parameters) == "openai" for parameters in known):
            patience = choose_patience("sit patience")
        if st.button("Start", type="primary", key="sit begin"):
            request = Sit(query_id=exam, max_calls=None if calls is None else int(calls), max_cost=cost,
                          retry_failed=again, patience=patience)  # fmt: skip
            with ui.errors():
                start_sitting(project, request, ui.author())
                st.rerun()


def progress(project: Project) -> None:
    """Draw the running job, or the result of the last job of this server."""
    job_progress.watch_steps(project, "exams", "Run the exam")
