"""Examinees: those of an exam, their accuracy by model, context and topic, and a comparison of two."""

import streamlit as st

from exam_workbench.pipelines import exam_board, responses, statistics
from pages.parts.exams import boards, facts, jobs
from pages.parts.shared import ui, views

VIEWS = {
    "board": ("Leaderboard", boards.board),
    "grid": ("Models by context", boards.models),
    "topics": ("Topics", boards.topics),
    "two": ("Two examinees", boards.two),
    "ability": ("Ability", boards.ability),
}

project = ui.project()
exam, items = facts.opened(project)
with st.container(horizontal=True, vertical_alignment="center"):
    jobs.offer_adding(project, exam)
    jobs.offer_sitting(project, exam)
jobs.sitting_progress(project)
found = responses(project, query_id=exam)
if not found.students:
    ui.empty(
        "No examinee has answered this exam yet",
        "Add an examinee above, then run the exam. To import answers from elsewhere, go to the Home screen.",
        code="nobody-sat",
    )
if st.query_params.get("view") == "Two students":
    # Addresses of earlier versions have this name of the view.
    st.query_params["view"] = VIEWS["two"][0]
view = views.choose(list(VIEWS), lambda name: VIEWS[name][0])
VIEWS[view][1](boards.Sat(project, exam, items, found, exam_board(found), statistics(items)))
