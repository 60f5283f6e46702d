"""The chosen exam: a query with multiple-choice items."""

import streamlit as st

from exam_workbench.bank import overview
from exam_workbench.pipelines import Item, exam_items, proposed_items
from exam_workbench.project import Project
from pages.parts.shared import ui

HOW = (
    "Import an exam on the Home screen, or write multiple-choice questions in the question bank. A model can write"
    " items from passages, on the Exam screen or with the command “exam items generate”."
)


def opened(project: Project, proposed: bool = False) -> tuple[str, list[Item]]:
    """Return the id of the exam's query, and its items; end the screen if no exam exists.

    Args:
        proposed: whether exams with only proposed items can be chosen too; they have no items.
    """
    found: dict[str, list[Item]] = {}
    for item in exam_items(project):
        found.setdefault(item.query_id, []).append(item)
    for item in proposed_items(project) if proposed else ():
        found.setdefault(item.query_id, [])
    if not found:
        ui.empty("No exam yet", HOW, "home", code="no-exam")
    if len(found) == 1:
        return next(iter(found.items()))
    names = ui.told_apart({query.query_id: query.text for query in overview(project) if query.query_id in found})
    wanted = st.query_params.get("exam")
    if wanted is not None and wanted not in found:
        st.warning(f"Unknown exam {ui.plain(wanted)}. The first exam is shown instead.", icon=":material/info:")
        del st.query_params["exam"]
    picked = st.selectbox(
        "Exam", list(found), format_func=names.__getitem__, key="exam", bind="query-params", width=420
    )
    return str(picked), found[str(picked)]
