"""Grading: choose and try a grader, see the size of a job, run it in the background, and repair failed pairs."""

import streamlit as st

from exam_workbench.catalogue import remember_settings
from pages.parts.graders.failed import failed_pairs
from pages.parts.graders.setup import choose
from pages.parts.graders.tables import known_graders, past_jobs, price_table, waiting_batches
from pages.parts.graders.trial import ask, choose_pair, questions_of
from pages.parts.shared import presses, ui
from pages.parts.shared.job_plan import plan, pool, start
from pages.parts.shared.job_progress import progress, say_not_begun

ui.begin()
project = ui.project()
running = progress(project)
say_not_begun(project, "grade")
if not running:
    chosen = choose(project, "setup")
    waiting_batches(project)
    if chosen is not None:
        with st.expander("Trial on one question", key="one question"):
            st.caption("Results of a trial are not saved.")
            pair = choose_pair(project, questions_of(project, chosen.grader), "trial")
            if pair is not None:
                ask(project, chosen, pair, "trial")
    st.header("Plan", anchor=False)
    pool(project)
    if chosen is not None:
        request = plan(project, chosen.grader)
        if request is not None and presses.button("Grade", type="primary", icon=":material/play_arrow:", key="grade"):
            with ui.errors():
                # Makes the grader available later.
                remember_settings(project, chosen.grader, chosen.kind, chosen.parameters, ui.author())
                start(project, chosen.grader, request)
failed_pairs(project, running)
past_jobs(project)
known_graders(project)
price_table(project)
