"""The queue of the Disagreements screen: the table in small, the cases, and the one that is open with its settling.

It is one part of our own in the browser: what is typed there waits for no server, and the next case opens in place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from core.errors import WorkbenchError
from core.labels import Policy
from core.project import Project, pooled_queries
from core.review import (
    Agreement,
    Cell,
    Order,
    Person,
    Queue,
    Side,
    agreement,
    queue,
)
from pages.parts.review import place, settling, table
from pages.parts.review.acting import Asked, asked_of
from pages.parts.review.case_data import CASES_A_PAGE, at_of_address, id_of, name_of, shown
from pages.parts.shared import address, policy_widgets, ui
from pages.parts.shared.html import as_shown

KEY = "cases"
ORDERS: dict[Order, str] = {
    "worst": "Worst first",
    "left": "Left higher",
    "right": "Right higher",
    "board": "Most effect on the leaderboard",
    "kappa": "Most effect on kappa",
}

_HERE = Path(__file__)
_component = st.components.v2.component(
    "cases_of_the_queue",
    css="\n".join(_HERE.with_name(name).read_text() for name in ("making.css", "cases.css")),
    js="\n".join(_HERE.with_name(name).read_text() for name in ("making.js", "cases_settling.js", "cases.js")),
)


def set_widgets(project: Project) -> None:
    """Set the filters to what the address says."""
    place.set_widget("query", pooled_queries(project), "")
    if not st.session_state["query_listed"]:
        st.session_state["query_listed"] = None
    place.set_widget("order", ORDERS, "worst")
    st.session_state["show_settled"] = _with_settled()


@st.fragment
def queue_view(project: Project, left: Side, right: Side, policy: Policy | None) -> None:
    """The filters, the table, the cases, and the open one."""
    asked = asked_of(KEY)
    found = agreement(project, left, right)
    cell = table.chosen_cell(found)
    order, measure = _filters(project, left, right, found, asked)
    news = _News()
    for act in asked.each():
        try:
            _do(project, (left, right), policy, act, (order, measure), news)
        except WorkbenchError as error:
            news.error = {"message": error.message, "hint": error.hint or ""}
    found = agreement(project, left, right)
    cell = table.chosen_cell(found)
    listed = _listed(project, left, right, order, measure, cell)
    data = shown(project, left, right, found, cell, listed, policy, order)
    data |= {"taken": asked.taken, "said": news.said, "error": news.error, "weighed": news.weighed}
    place.write()
    _component(key=KEY, data=data, on_acts_change=asked.note)


class _News:
    """What acts came to."""

    def __init__(self) -> None:
        self.said: dict[str, Any] | None = st.session_state.get("said of the cases")
        self.error: dict[str, str] | None = None
        self.weighed: dict[str, Any] | None = None

    def say(self, words: str, undo: bool) -> None:
        self.said = {"words": as_shown(words), "undo": undo}
        st.session_state["said of the cases"] = self.said

    def forget(self) -> None:
        self.said = None
        st.session_state.pop("said of the cases", None)


def _filters(project: Project, left: Side, right: Side, found: Agreement, asked: Asked) -> tuple[Order, str]:
    """What is listed and in which order."""
    about_questions = isinstance(left, Person) or isinstance(right, Person)
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
        settled = st.toggle("Show settled", key="show_settled", width="content")
    filters = {
        "query": chosen or "",
        "order": "" if order == "worst" else order,
        "settled": "shown" if settled else "",
    }
    if any(place.named(name) != value for name, value in filters.items()):
        place.put(**filters, case="", at="")
    return order, measure


def _order_names(found: Agreement) -> dict[Order, str]:
    names = dict(ORDERS)
    named = found.names != (found.left.owner, found.right.owner)
    left, right = (name.capitalize() if named and name.isalpha() else name for name in found.names)
    return names | {"left": f"{left} higher", "right": f"{right} higher"}


def _listed(project: Project, left: Side, right: Side, order: Order, measure: str, cell: Cell | None) -> Queue:
    """The page of the queue with the open case."""
    query_id = place.named("query") or None
    with st.spinner("Looking for what to check", show_time=False):
        return queue(
            project, left, right, order, cell, _with_settled(), measure, CASES_A_PAGE, at_of_address(), query_id,
            _place(place.named("case")),
        )  # fmt: skip


def _with_settled() -> bool:
    return place.named("settled") == "shown"


def _place(case: str) -> tuple[str, str, str | None]:
    query_id, passage_id, question_id = (*case.split(" ", 2), "", "")[:3]
    return query_id, passage_id, question_id or None


def _do(
    project: Project,
    sides: tuple[Side, Side],
    policy: Policy | None,
    act: dict[str, Any],
    ordered: tuple[Order, str],
    news: _News,
) -> None:
    """Do what somebody asked for in the component."""
    what = act["do"]
    if what == "open":
        news.forget()
        place.put(case=act.get("case") or "", at=int(act["at"]))
    elif what == "cell":
        news.forget()
        place.put(cell=act["cell"], case="", at="")
    elif what == "clear":
        # The query is cleared where its list is drawn.
        place.put(**{act["what"]: ""}, case="", at="")
    elif what == "read":
        more = {"question": act["question"]} if act.get("question") else {}
        place.write()
        st.switch_page(
            "pages/passages.py",
            query_params={**address.travelling(), "query": act["query"], "passage": act["passage"], **more},
        )
    elif what == "bank":
        place.write()
        settling.to_bank(act["query"], act["passage"])
    elif what == "put back":
        undone = st.session_state.get("done of the cases")
        if undone is not None:
            news.say(settling.put_back(project, undone.case, undone.overridden), False)
            place.put(case=name_of(*undone.case.place))
            st.session_state.pop("done of the cases")
    else:
        _act_on(project, sides, policy, act, ordered, news)


def _act_on(
    project: Project,
    sides: tuple[Side, Side],
    policy: Policy | None,
    act: dict[str, Any],
    ordered: tuple[Order, str],
    news: _News,
) -> None:
    """Do what somebody asked for about one case."""
    cell = table.chosen_cell(agreement(project, *sides))
    listed = _listed(project, *sides, ordered[0], ordered[1], cell)
    here = next((at for at, row in enumerate(listed.rows) if id_of(row) == act["case"]), None)
    if here is None:
        raise WorkbenchError("This case is not in the queue any more.", "Somebody may have settled it: go on.")
    row = listed.rows[here]
    if act["do"] == "weigh":
        if policy is not None:
            news.weighed = settling.weigh(project, *sides, row, policy, act["questions"], int(act["rating"]))
            news.weighed["case"] = act["case"]
    elif act["do"] == "reopen" and row.settling is not None:
        withdraw = bool(act.get("withdraw"))
        news.say(settling.put_back(project, row.settling.case, withdraw), False)
    elif act["do"] == "settle":
        done = settling.settle(project, *sides, row, policy, act)
        st.session_state["done of the cases"] = done
        news.say(done.words, done.case is not None)
        if done.case is not None:
            # What is settled leaves the queue and the next case takes its place, unless settled ones are shown.
            stays = _with_settled()
            place.put(case="" if stays else act["case"], at=listed.first + here + stays)
        if act["how"] == "edit" and act.get("bank"):
            place.write()
            settling.to_bank(row.pair.query_id, row.pair.passage_id)
