"""Trust in a grader: the watch for a changed model."""

import streamlit as st

from exam_workbench import bank, grading, jobs
from exam_workbench.project import Project
from exam_workbench.types import GraderSpec
from pages.parts.shared import presses, ui


def draw(project: Project) -> None:
    """Draw what is known about the reliability of one grader with grades."""
    found = {one.spec.name: one for one in bank.stored_graders(project) if one.grades}
    if not found:
        return
    st.header("Trust in a grader", anchor=False)
    name = str(st.selectbox("Grader", list(found), key="trusted", bind="query-params"))
    spec = found[name].spec
    _watch(project, spec)


def _watch(project: Project, spec: GraderSpec) -> None:
    state = bank.drift(project, spec)
    with st.container(key="drift"):
        if state is None:
            if spec.parameters.get("back_end") != "openai":
                st.caption(":material/lock: The model cannot change: the fingerprint contains its weights.")
                return
            st.caption("Not watched: a change of the model behind the endpoint would go unnoticed.")
        else:
            st.caption(f":material/{'warning' if state.alarm else 'visibility'}: {ui.plain(state.says)}")
    label = "Watch the model" if state is None else "Check the model now"
    calls = grading.SENTINELS if state is None else grading.AGAIN
    if (state is None or state.alarm is None) and presses.button(
        label, key="watch", icon=":material/visibility:", help=f"Asks up to {calls} graded pairs again."
    ):
        with ui.errors(rerun=True), st.spinner("Asking graded pairs again"):
            grader = bank.grader_again(project, spec)
            if grader is None:
                st.warning("The settings of this grader are missing. Set it up above as it was before.")
                return
            grading.watch(project, grader, ui.author(), jobs.trial_control(project, grader))


def leaderboard_note(project: Project, grader: str | None) -> None:
    """Draw notes under a leaderboard: whether the model behind its grader changed, and how robust it is."""
    notes = bank.trust_notes(project, bank.find_grader(project, grader).spec)
    for at, note in enumerate(notes):
        st.container(key=f"trust {at}").caption(f":material/shield: {ui.plain(note)}")
