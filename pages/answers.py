"""Answers: evaluate retrievers by the answers generated from their passages, next to Recall,
Precision and F1.
"""

import streamlit as st

from exam_workbench import answers, jobs
from pages.parts.answers import answer_job_forms, answer_settings, answer_tables
from pages.parts.shared import job_progress, ui, view_choice

VIEWS = {
    "table": ("Runs by depth", answer_tables.draw_grid),
    "choice": ("Which evaluation chooses which system", answer_tables.draw_choices),
    "correlation": ("Correlation", answer_tables.draw_correlation),
    "generate": ("Generate and compare", answer_job_forms.draw_forms),
}

project = ui.require_project()
answer_settings.explain_missing_inputs(project)
job_progress.watch_steps(project, "answers", "Generate and compare")
if not answer_settings.generator_models(project):
    st.markdown(answer_settings.WHAT)
    if answers.missing_data(project).answers:
        st.caption(
            ":material/info: No query has gold answers, so GPT-Eval is unavailable. Import queries"
            " with gold answers on the Home screen."
        )
    if jobs.current_job(project, "answers") is None:
        st.container(key="no-answers").markdown(
            "**No answers yet.** Generate answers here, or import answers on the Home screen."
        )
    answer_job_forms.draw_forms(project, None)
    st.stop()
evaluation = answer_settings.choose_evaluation(project)
view = view_choice.choose_view(list(VIEWS), lambda name: VIEWS[name][0])
VIEWS[view][1](project, evaluation)
