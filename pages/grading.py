"""Grading: choose a grader, test it on a pair and on judged passages, start a job, and repair
failed pairs.
"""

from functools import partial

import streamlit as st

from exam_workbench import grading
from pages.parts.graders import grader_setup, grading_tables, trial_form, trust
from pages.parts.shared import job_plan, job_progress, presses, ui

project = ui.require_project()
running = job_progress.draw_grading_job(project)
job_progress.show_not_begun(project, "grade")
if not running:
    st.header("1. Choose a grader", anchor=False)
    chosen = grader_setup.choose_grader(project, "setup")
    grading_tables.waiting_batches(project)
    if chosen is not None:
        new = grading.has_only_samples(project, chosen.grader.spec)
        st.header("2. Test it", anchor=False)
        with st.expander("Trial on one question", key="one question", expanded=new):
            st.caption("Results of a trial are not saved.")
            questions = partial(grading.questions_to_try, project, chosen.grader.spec)
            if (pair := trial_form.choose_pair(project, questions, "trial")) is not None:
                trial_form.draw_trial(project, chosen, pair, "trial")
        with st.expander("Trial on ten judged passages", key="ten passages", expanded=new):
            trial_form.try_sample(project, chosen)
    st.header("3. Plan and start", anchor=False)
    job_plan.draw_pool(project)
    if chosen is not None and (request := job_plan.draw_plan(project, chosen.grader)) is not None:
        presses.act_button(
            "Grade",
            job_plan.remember_and_start,
            project,
            chosen,
            request,
            type="primary",
            icon=":material/play_arrow:",
            key="grade",
        )
grading_tables.draw_failed_pairs(project, running)
grading_tables.draw_past_jobs(project)
grading_tables.draw_known_graders(project)
trust.draw(project)
grading_tables.price_table(project)
