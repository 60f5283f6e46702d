"""Answers: evaluate retrievers by the answers generated from their passages, next to Recall, Precision and F1."""

import streamlit as st

from exam_workbench import answers, jobs
from pages.parts.answers import answer_job_forms, answer_settings, answer_tables
from pages.parts.shared import job_progress, ui, view_choice

VIEWS = {
    "table": ("Runs by depth", answer_tables.draw_grid),
    "choice": ("Which evaluation chooses which system", answer_tables.draw_choices),
    "correlation": ("Correlation", answer_tables.correlation),
    "generate": ("Generate and compare", answer_job_forms.view),
}

project = ui.project()
answer_settings.begin(project)
job_progress.watch_steps(project, "answers", "Generate and compare")
if not answer_settings.generators(project):
    st.markdown(answer_settings.WHAT)
    if answers.lacking(project).answers:
        st.caption(
            ":material/info: No query has gold answers, so GPT-Eval is unavailable. Import queries with gold answers"
            " on the Home screen."
        )
    if jobs.current_job(project, "answers") is None:
        st.container(key="no-answers").markdown(
            "**No answers yet.** Generate answers here, or import answers on the Home screen."
        )
    answer_job_forms.view(project, None)
    st.stop()
found = answer_settings.look(project)
view = view_choice.choose(list(VIEWS), lambda name: VIEWS[name][0])
VIEWS[view][1](project, found)
