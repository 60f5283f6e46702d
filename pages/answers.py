"""Answers: evaluate retrievers by the answers generated from their passages, next to Recall, Precision and F1."""

import streamlit as st

from exam_workbench import jobs, pipelines
from pages.parts.answers import asking, looking, tables
from pages.parts.shared import ui, views

VIEWS = {"table": "Runs by depth", "choice": "Which evaluation chooses which system", "correlation": "Correlation",
         "generate": "Generate and compare"}  # fmt: skip

project = ui.project()
looking.begin(project)
asking.progress(project)
if not looking.generators(project):
    st.markdown(looking.WHAT)
    if pipelines.lacking(project).answers:
        st.caption(
            ":material/info: No query has gold answers, so GPT-Eval is unavailable. Import queries with gold answers"
            " on the Home screen."
        )
    if jobs.current_job(project, "answers") is None:
        st.container(key="no-answers").markdown(
            "**No answers yet.** Generate answers here, or import answers on the Home screen."
        )
    asking.view(project, None)
    st.stop()
found = looking.look(project)
view = views.choose(list(VIEWS), VIEWS.__getitem__)
if view == "table":
    tables.draw_grid(project, found)
elif view == "choice":
    tables.draw_choices(project, found)
elif view == "correlation":
    tables.correlation(project, found)
else:
    asking.view(project, found)
