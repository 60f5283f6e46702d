"""Grading: choose and try a grader, see the size of a job, run it in the background, and repair failed pairs."""

import streamlit as st

from exam_workbench.bank import remember_settings
from pages.parts.graders import grader_setup, grading_tables, trial_form, trust
from pages.parts.shared import job_plan, job_progress, presses, ui

project = ui.project()
running = job_progress.progress(project)
job_progress.say_not_begun(project, "grade")
if not running:
    chosen = grader_setup.choose(project, "setup")
    grading_tables.waiting_batches(project)
    if chosen is not None:
        with st.expander("Trial on one question", key="one question"):
            st.caption("Results of a trial are not saved.")
            pair = trial_form.choose_pair(project, trial_form.questions_of(project, chosen.grader), "trial")
            if pair is not None:
                trial_form.ask(project, chosen, pair, "trial")
    st.header("Plan", anchor=False)
    job_plan.pool(project)
    if chosen is not None:
        request = job_plan.plan(project, chosen.grader)
        if request is not None and presses.button("Grade", type="primary", icon=":material/play_arrow:", key="grade"):
            with ui.errors():
                # Save the grader, so that other screens offer it later.
                remember_settings(project, chosen.grader, chosen.kind, chosen.parameters, ui.author())
                job_plan.start(project, chosen.grader, request)
grading_tables.failed_pairs(project, running)
grading_tables.past_jobs(project)
grading_tables.known_graders(project)
trust.draw(project)
grading_tables.price_table(project)
