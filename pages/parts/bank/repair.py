"""Repair of a question: new wordings, tested on passages with judgments or overrides."""

import streamlit as st

from exam_workbench import bank, labels, review
from exam_workbench.records import sources
from exam_workbench.store import Project
from pages.parts.bank.proposal_list import rewordings_dialog
from pages.parts.shared import presses, ui


def draw(project: Project, query_id: str, policy: labels.Policy | None) -> None:
    """Draw the form that tests rewordings of one question, for people who may grade."""
    found = bank.readable(project, bank.questions(project, query_id=query_id))
    asked = {one.question_id: one for one in found if one.active}
    known = sources(project)
    if policy is None or not asked or not known or not project.allows("grade"):
        return
    with st.expander("Test new wordings of a question", key="repair"):
        st.caption(
            "Half of the passages with an override or a judgment choose the best wording. The other half tests it once."
            " The grader rates the new wordings first, which may cost money."
        )
        chosen = str(st.selectbox("Question", list(asked), format_func=lambda one: asked[one].shown, key="repaired"))
        proposed = bank.proposed_wordings(project, chosen, ui.person())
        key = f"wordings {chosen} {len(proposed)}" if proposed else "wordings"
        texts = st.text_area("New wordings, one per line", "\n".join(proposed), key=key)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            source = str(st.selectbox("Judgments", known, key="repair source", width=280))
            suggest = presses.button(
                "Suggest wordings",
                icon=":material/lightbulb:",
                disabled=not project.allows("ask models"),
                key="suggest wordings",
            )
            pressed = presses.button("Test wordings", icon=":material/build:", key="test wordings")
        if suggest and ui.author():
            rewordings_dialog(project, asked[chosen], policy, source)
        if pressed:
            with ui.errors(), st.spinner("Grading and testing the wordings"):
                told = review.repair(project, chosen, texts.splitlines(), policy, source, ui.author())
                st.container(key="repair result").markdown(ui.plain(told.says))
