"""Students: who sits the exam, what each gets right, by model and context, by topic, and two beside each other."""

from __future__ import annotations

import streamlit as st

from core.pipelines import exam_board, responses, statistics
from pages.parts.exams import adding, boards, sitting
from pages.parts.exams.opened import opened
from pages.parts.shared import ui, views

VIEWS = {
    "board": ("Board", boards.board),
    "grid": ("Models by context", boards.models),
    "topics": ("Topics", boards.topics),
    "two": ("Two students", boards.two),
    "ability": ("Ability", boards.ability),
}

ui.begin()
project = ui.project()
exam, items = opened(project)
with st.container(horizontal=True, vertical_alignment="center"):
    adding.offer(project, exam)
    sitting.offer(project, exam)
sitting.progress(project)
found = responses(project, query_id=exam)
if not found.students:
    ui.empty(
        "Nobody has sat this exam.",
        "Add a student above: chance and the longest choice show what reading nothing earns, the embedded model needs"
        " no download. Answers that were given elsewhere can be imported on the Home screen.",
        code="nobody-sat",
    )
view = views.choose(list(VIEWS), lambda name: VIEWS[name][0])
VIEWS[view][1](boards.Sat(project, exam, items, found, exam_board(found), statistics(items)))
