"""Answers: evaluate retrievers by the answers generated from their passages, next to Recall, Precision and F1."""

import streamlit as st

from exam_workbench import answers, jobs
from pages.parts.answers import answer_job_forms, answer_settings, answer_tables
from pages.parts.shared import ui, view_choice

VIEWS = {"table": "Runs by depth", "choice": "Which evaluation chooses which system", "correlation": "Correlation",
         "generate": "Generate and compare"}  # fmt: skip

project = ui.project()
answer_settings.begin(project)
answer_job_forms.progress(project)
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
view = view_choice.choose(list(VIEWS), VIEWS.__getitem__)
if view == "table":
    answer_tables.draw_grid(project, found)
elif view == "choice":
    answer_tables.draw_choices(project, found)
elif view == "correlation":
    answer_tables.correlation(project, found)
else:
    answer_job_forms.view(project, found)
