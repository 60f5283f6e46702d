"""Examinees of an exam, their accuracy by model, context and topic, and a comparison of two."""

import streamlit as st

from exam_workbench.exams import exam_board, examinee_responses, summarize_items
from pages.parts.exams import exam_facts, exam_jobs, exam_views
from pages.parts.shared import job_progress, ui, view_choice

VIEWS = {
    "board": ("Leaderboard", exam_views.draw_board),
    "grid": ("Models by context", exam_views.draw_models),
    "topics": ("Topics", exam_views.draw_topics),
    "two": ("Two examinees", exam_views.draw_two),
    "ability": ("Ability", exam_views.draw_ability),
}

project = ui.require_project()
exam, items = exam_facts.choose_exam(project)
with st.container(horizontal=True, vertical_alignment="center"):
    exam_jobs.offer_adding(project, exam)
    exam_jobs.offer_sitting(project, exam)
job_progress.watch_steps(project, "exams", "Run the exam")
sat_answers = examinee_responses(project, query_id=exam)
ui.require_content(
    sat_answers.students,
    "No examinee has answered this exam yet",
    "Add an examinee above, then run the exam. To import answers from elsewhere, go"
    " to the Home screen.",
    code="nobody-sat",
)
if st.query_params.get("view") == "Two students":
    # Addresses of earlier versions have this name of the view.
    st.query_params["view"] = VIEWS["two"][0]
view = view_choice.choose_view(list(VIEWS), lambda name: VIEWS[name][0])
VIEWS[view][1](
    exam_views.AnsweredExam(
        project, exam, items, sat_answers, exam_board(sat_answers), summarize_items(items)
    )
)
