"""Improve: items that an exam does not need, the effect of dropping them, and their retirement by a
person.
"""

import streamlit as st

from exam_workbench import exams
from exam_workbench.choices import ITEM_CRITERIA, ITEM_DROP, ITEM_STEPS
from pages.parts.exams import exam_facts, item_quality
from pages.parts.shared import ui

project = ui.require_project()
exam, items = exam_facts.choose_exam(project)
with st.container(horizontal=True, vertical_alignment="bottom"):
    by = st.selectbox(
        "Drop items with the lowest",
        ITEM_CRITERIA,
        format_func=item_quality.CRITERION_NAMES.__getitem__,
        key="by",
        bind="query-params",
        width=260,
    )
    drop = st.number_input(
        "Items per step (%)", 1, 50, int(ITEM_DROP), key="drop", bind="query-params", width=150
    )
    steps = st.number_input("Steps", 1, 10, ITEM_STEPS, key="steps", bind="query-params", width=120)
with ui.or_empty("students"), st.spinner("Dropping items and fitting the model again"):
    found = exams.propose_shorter_exam(project, exam, float(drop), int(steps), by)
item_quality.draw_shortening(project, exam, items, found)
item_quality.offer_planting(project, exam)
