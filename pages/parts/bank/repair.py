"""Repair of a question: new wordings, tested on passages with judgments or overrides."""

import streamlit as st

from exam_workbench import bank, labels, review
from exam_workbench.records import sources
from exam_workbench.store import Project
from pages.parts.shared import presses, ui


def draw(project: Project, query_id: str, policy: labels.Policy | None) -> None:
    """Draw the form that tests rewordings of one question, for people who may grade."""
    asked = {
        one.question_id: one.shown
        for one in bank.readable(project, bank.questions(project, query_id=query_id))
        if one.active
    }
    known = sources(project)
    if policy is None or not asked or not known or not project.allows("grade"):
        return
    with st.expander("Test new wordings of a question", key="repair"):
        st.caption(
            "Half of the passages with an override or a judgment choose the best wording. The other half tests it once."
            " The grader rates the new wordings first, which may cost money."
        )
        chosen = str(st.selectbox("Question", list(asked), format_func=asked.__getitem__, key="repaired"))
        texts = st.text_area("New wordings, one per line", key="wordings")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            source = str(st.selectbox("Judgments", known, key="repair source", width=280))
            pressed = presses.button("Test wordings", icon=":material/build:", key="test wordings")
        if pressed:
            with ui.errors(), st.spinner("Grading and testing the wordings"):
                found = review.repair(project, chosen, texts.splitlines(), policy, source, ui.author())
                st.container(key="repair result").markdown(ui.plain(found.says))
