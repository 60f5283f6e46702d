"""A test of the criteria for bad items: on demand, spoilt items are planted in a copy of the answers."""

import streamlit as st

from exam_workbench.measures.item_response import CRITERIA, TIMES, Planting
from exam_workbench.pipelines import planted
from exam_workbench.project import Project
from pages.parts.exams.shortening import CRITERION_NAMES
from pages.parts.shared import presses, ui

FAULT_NAMES = {
    "answered at random": "Answered at random",
    "key wrong": "Key wrong",
    "two right": "Two choices right",
    "answer in the question": "Answer in the question",
}
SHOWN = "planted in"
"""Session key of the project and exam in which a person planted bad items."""


def offer(project: Project, exam: str) -> None:
    """Draw a button that plants bad items, and the number that each criterion found."""
    st.markdown("**Test of the criteria**")
    here = (project.path, exam)
    if presses.button("Test with spoilt items", icon=":material/bug_report:", key="plant"):
        st.session_state[SHOWN] = here
    if st.session_state.get(SHOWN) != here:
        st.container(key="not-planted").caption(
            "Spoils some items in a copy of the answers, then counts how many each criterion ranks last."
            " The project does not change."
        )
        return
    with ui.errors():
        with st.spinner("Spoiling items and fitting the model again"):
            found = planted(project, exam)
        _table(found)


def _table(found: list[Planting]) -> None:
    one = found[0]
    st.dataframe(
        {"Fault": [FAULT_NAMES[row.fault] for row in found]}
        | {CRITERION_NAMES[by]: [row.found[by] for row in found] for by in CRITERIA},
        hide_index=True,
        column_config={
            CRITERION_NAMES[by]: st.column_config.ProgressColumn(format="%.1f", min_value=0.0, max_value=one.planted)
            for by in CRITERIA
        },
    )
    st.container(key="planted").caption(
        f"Of {one.items} items, {one.planted} were spoilt in a copy of the answers. The table shows how"
        f" many are among the {one.last} items that a criterion ranks last (mean of {TIMES} repetitions). By chance it"
        f" would be {one.by_chance:.1f}. Other bad items of the exam may take some of these ranks."
    )
