"""The queue of the Disagreements screen: a small table, the cases, and the open case with its settlement.

It is a browser component: typed text does not wait for the server, and the next case opens in place.
"""

import streamlit as st

from exam_workbench import labels, review
from exam_workbench.project import Project, pooled_queries
from pages.parts.review import case_acts, place, table
from pages.parts.shared import components, policy_widgets, ui

KEY = "cases"
ORDERS: dict[review.Order, str] = {
    "worst": "Largest difference first",
    "left": "Left higher",
    "right": "Right higher",
    "board": "Largest effect on the leaderboard",
    "kappa": "Largest effect on kappa",
}

_component = components.component(
    "cases_of_the_queue", *components.ACTING, "review/cases.css", "review/cases_settling.js", "review/cases.js"
)


def set_widgets(project: Project) -> None:
    """Set the filters as in the address."""
    place.set_widget("query", pooled_queries(project), "")
    if not st.session_state["query_listed"]:
        st.session_state["query_listed"] = None
    place.set_widget("order", ORDERS, "worst")
    st.session_state["show_settled"] = case_acts.with_settled()


@st.fragment
def queue_view(project: Project, left: review.Side, right: review.Side, policy: labels.Policy | None) -> None:
    """Draw the filters, the table, the cases, and the open case."""
    asked = components.asked_of(KEY)
    order, measure = _filters(project, left, right, review.agreement(project, left, right), asked)
    desk = case_acts.Desk(project, left, right, policy, order, measure)
    for act in asked.each():
        case_acts.do(desk, act)
    found = review.agreement(project, left, right)
    cell = table.chosen_cell(found)
    data = case_acts.shown(project, left, right, found, cell, case_acts.listed(desk, cell), policy, order)
    data |= {"taken": asked.taken, "said": desk.said, "error": desk.error, "weighed": desk.weighed}
    place.write()
    _component(key=KEY, data=data, on_acts_change=asked.note)


def _filters(
    project: Project, left: review.Side, right: review.Side, found: review.Agreement, asked: components.Asked
) -> tuple[review.Order, str]:
    """Draw the filters; return the order and its measure."""
    about_questions = isinstance(left, review.Person) or isinstance(right, review.Person)
    names = _order_names(found)
    offered = [order for order in names if not about_questions or order not in ("board", "kappa")]
    for act in asked.acts:
        if act["do"] == "clear" and act["what"] == "query":
            st.session_state["query_listed"] = None
    if st.session_state.get("order") not in offered:
        st.session_state["order"] = "worst"
    texts = ui.told_apart(pooled_queries(project))
    with st.container(horizontal=True, vertical_alignment="bottom", key="case-filters"):
        chosen = st.selectbox(
            "Query", list(texts), index=None, key="query_listed", placeholder="All queries", width="stretch",
            format_func=lambda query_id: texts.get(query_id) or query_id,
        )  # fmt: skip
        order = st.selectbox("Order", offered, format_func=names.__getitem__, key="order", width=250)
        measure = "nDCG@10"
        if order in ("board", "kappa"):
            with st.container(width=150):
                measure = policy_widgets.measure("Measure", cover=False, key="check_measure")
        settled = st.toggle("Show resolved", key="show_settled", width="content")
    filters = {
        "query": chosen or "",
        "order": "" if order == "worst" else order,
        "settled": "shown" if settled else "",
    }
    if any(place.named(name) != value for name, value in filters.items()):
        place.put(**filters, case="", at="")
    return order, measure


def _order_names(found: review.Agreement) -> dict[review.Order, str]:
    names = dict(ORDERS)
    named = found.names != (found.left.owner, found.right.owner)
    left, right = (name.capitalize() if named and name.isalpha() else name for name in found.names)
    return names | {"left": f"{left} higher", "right": f"{right} higher"}
