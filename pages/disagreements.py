"""Disagreements: labels, judgments, graders and people against one another, and what to do where they part."""

from __future__ import annotations

import streamlit as st

from core.catalogue import graders
from core.labels import Policy
from core.project import Project
from core.review import Agreement, Cell, Order, Person, Side, agreement, queue
from pages.parts.review import rows
from pages.parts.review import table as parts
from pages.parts.shared import policy_widgets, ui

VIEWS = {
    "queue": "Disagreements",
    "strays": "Answered by non-relevant passages",
    "uncovered": "Relevant, but not covered",
    "record": "Settled",
}
ORDERS: dict[Order, str] = {
    "worst": "Worst first",
    "left": "Left higher",
    "right": "Right higher",
    "board": "Check next: leaderboard",
    "kappa": "Check next: kappa",
}


def chosen_policy(project: Project) -> Policy | None:
    """The policy that labels come from; None where nothing has been graded."""
    if not any(grader.grades for grader in graders(project)):
        return None
    return policy_widgets.view().policy


def overview(found: Agreement, cell: Cell | None) -> None:
    """Both tables, the coefficients, and what is missing."""
    wide, narrow = st.columns([7, 6], gap="medium")
    with wide:
        parts.cross_table(found, cell)
    with narrow:
        parts.coefficients(found)
        parts.cross_table(found, cell, merged=True)
        parts.downloads(found)
    parts.missing(found)


def disagreement_list(
    project: Project, left: Side, right: Side, found: Agreement, cell: Cell | None, policy: Policy | None
) -> None:
    """The queue in the order that is chosen, or the pairs of a cell."""
    about_questions = isinstance(left, Person) or isinstance(right, Person)
    names = _order_names(found)
    offered = [order for order in names if not about_questions or order not in ("board", "kappa")]
    query_id = parts.choose_query(project)
    order = st.segmented_control(
        "Order", offered, default="worst", format_func=names.__getitem__, key="order", bind="query-params",
        required=True, label_visibility="collapsed",
    )  # fmt: skip
    first, second = st.columns([4, 8], vertical_alignment="bottom")
    measure = "nDCG@10"
    if order in ("board", "kappa"):
        with first:
            measure = policy_widgets.measure("Measure", cover=False, key="check_measure")
    else:
        second = first
    show_settled = second.toggle("Show settled cases", key="show_settled", bind="query-params")
    pager = rows.pager("queue", (left, right, order, cell, show_settled, query_id))
    with st.spinner("Looking for what to check", show_time=False):
        listed = queue(
            project, left, right, order, cell, show_settled, measure, rows.ROWS_A_PAGE, rows.offset(pager), query_id
        )
    with st.container(horizontal=True, vertical_alignment="center"):
        what = "disagreement" if cell is None else "pair"
        where = "" if cell is None else f" in the cell {parts.cell_name(found, cell)}"
        where += " of this query" if query_id is not None else ""
        settled = f", {listed.hidden:,} settled" if listed.hidden else ""
        st.markdown(f"**{listed.total:,} {what}{'' if listed.total == 1 else 's'}**{ui.plain(where + settled)}")
        if cell is not None:
            st.button("All disagreements", type="tertiary", icon=":material/close:", on_click=parts.drop_cell)
    if listed.next_up is not None:
        rows.explain_order(listed.next_up, order, found)
    if not listed.rows:
        st.text(_why_empty(found, bool(listed.hidden), order == "worst", query_id is not None))
    for row in listed.rows:
        rows.pair(project, left, right, found, row, policy)
    rows.turn(pager, listed.total)


def _why_empty(found: Agreement, some_settled: bool, all_orders: bool, of_query: bool) -> str:
    if not found.n:
        return "No pair has both values, so there is nothing to disagree on. Choose other sides."
    if of_query:
        return "Nothing is listed for this query. Clear the query to see the others."
    if some_settled:
        return "Nothing is left: all cases are settled."
    return "The sides agree wherever both have a value." if all_orders else "Nothing here in this order."


def _order_names(found: Agreement) -> dict[Order, str]:
    names = dict(ORDERS)
    named = found.names != (found.left.owner, found.right.owner)
    left, right = (name.capitalize() if named and name.isalpha() else name for name in found.names)
    return names | {"left": f"{left} higher", "right": f"{right} higher"}


ui.begin()
project = ui.project()
policy = chosen_policy(project)
known = parts.sides(project, policy)
if len(known) < 2:
    ui.empty("There are no two sides to compare yet.", "Import judgments, or grade the pool.", "home")
left, right = parts.choose_sides(known)
found = agreement(project, left, right)
cell = parts.chosen_cell(found)
overview(found, cell)
st.divider()
offered = [view for view in VIEWS if view in ("queue", "record") or rows.judged_by(left, right, project, policy)]
view = st.segmented_control(
    "Show", offered, default="queue", format_func=VIEWS.__getitem__, key="view", bind="query-params", required=True,
    label_visibility="collapsed",
)  # fmt: skip
if view == "strays":
    rows.stray_list(project, left, right, policy)
elif view == "uncovered":
    rows.uncovered_list(project, left, right, policy)
elif view == "record":
    rows.record_list(project)
else:
    disagreement_list(project, left, right, found, cell, policy)
