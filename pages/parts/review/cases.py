"""The queue of the Disagreements screen: the table in small, the cases, and the one that is open with its settling.

It is one part of our own in the browser: what is typed there waits for no server, and the next case opens in place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from core.errors import WorkbenchError
from core.labels import Policy
from core.project import Project, pooled_queries
from core.review import (
    Agreement,
    Cell,
    Check,
    CheckNext,
    Giving,
    Order,
    Person,
    Queue,
    Row,
    Settling,
    Side,
    agreement,
    queue,
)
from pages.parts.review import place, settling, table
from pages.parts.review.acting import Asked, asked_of
from pages.parts.shared import address, policy_widgets, ui
from pages.parts.shared.html import as_shown

KEY = "cases"
CASES_A_PAGE = 25
SNIPPET = 170
LONGEST = 400_000
QUESTIONS_NAMED = 3
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
    data = _data(project, left, right, found, cell, listed, policy, order)
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
            project, left, right, order, cell, _with_settled(), measure, CASES_A_PAGE, _at(), query_id,
            _place(place.named("case")),
        )  # fmt: skip


def _with_settled() -> bool:
    return place.named("settled") == "shown"


def _at() -> int:
    """Which case is open, by its place in the queue."""
    said = place.named("at")
    return int(said) if said.isdecimal() else 0


def _id(row: Row) -> str:
    return _named(row.pair.query_id, row.pair.passage_id, row.pair.question_id)


def _named(query_id: str, passage_id: str, question_id: str | None) -> str:
    """A case as the address names it; ids of queries and passages have no blanks."""
    return " ".join((query_id, passage_id, question_id or "")).rstrip()


def _place(case: str) -> tuple[str, str, str | None]:
    query_id, passage_id, question_id = (*case.split(" ", 2), "", "")[:3]
    return query_id, passage_id, question_id or None


def _open(listed: Queue) -> int | None:
    """Which row of the page is open: the case that the address names, else what stands in its place now."""
    if not listed.rows:
        return None
    wanted = place.named("case")
    found = (at for at, row in enumerate(listed.rows) if wanted and _id(row) == wanted)
    return next(found, min(max(0, _at() - listed.first), len(listed.rows) - 1))


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
            place.put(case=_named(*undone.case.place))
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
    here = next((at for at, row in enumerate(listed.rows) if _id(row) == act["case"]), None)
    if here is None:
        raise WorkbenchError("This case is not in the queue any more.", "Somebody may have settled it: go on.")
    row = listed.rows[here]
    if act["do"] == "weigh":
        if policy is not None:
            news.weighed = settling.weigh(project, *sides, row, policy, act["question"], int(act["rating"]))
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


def _data(
    project: Project,
    left: Side,
    right: Side,
    found: Agreement,
    cell: Cell | None,
    listed: Queue,
    policy: Policy | None,
    order: Order,
) -> dict[str, Any]:
    """What the browser shows."""
    at = _open(listed)
    queries = pooled_queries(project)
    query_id = place.named("query")
    filters = []
    if cell is not None:
        filters.append({"what": "cell", "says": table.cell_name(found, cell)})
    if query_id:
        filters.append({"what": "query", "says": as_shown(ui.shortened(queries.get(query_id) or query_id, 90))})
    what = "disagreement" if cell is None else "pair"
    return {
        "home": f"{project.name} {found.left} {found.right} {found.left.by_itself} {found.right.by_itself}",
        "names": [as_shown(name) for name in found.names],
        "tables": table.tables(found, cell),
        "coefficients": table.coefficients(found),
        "missing": as_shown(table.missing(found)),
        "filters": filters,
        "count": f"{listed.total:,} {what}{'' if listed.total == 1 else 's'}",
        "hidden": f"{listed.hidden:,} settled, not shown" if listed.hidden else "",
        "total": listed.total,
        "first": listed.first,
        "page": CASES_A_PAGE,
        "explains": "" if listed.next_up is None else as_shown(explain_order(listed.next_up, order, found)),
        "rows": [_row(row) for row in listed.rows],
        "open": None if at is None else _case(project, left, right, found, listed, at, policy),
        "empty": "" if listed.rows else _why_empty(found, bool(listed.hidden), order, bool(query_id)),
    }


def _row(row: Row) -> dict[str, Any]:
    one = row.pair
    text = one.passage_text
    snippet = f"The text of {one.passage_id} has not been imported." if text is None else _one_line(text)
    return {
        "id": _id(row),
        "values": [one.left, one.right],
        "query": as_shown(ui.shortened(one.query_text, 120)),
        "text": as_shown(ui.shortened(snippet, SNIPPET)),
        "settled": row.settling is not None,
    }


def _one_line(text: str) -> str:
    return " ".join(text[: 4 * SNIPPET].split())


def _case(
    project: Project,
    left: Side,
    right: Side,
    found: Agreement,
    listed: Queue,
    at: int,
    policy: Policy | None,
) -> dict[str, Any]:
    """The open case: all that one needs to settle it."""
    row = listed.rows[at]
    one = row.pair
    blamed = one.question_id or next((g.question_id for g in (*row.left_from, *row.right_from)), None)
    there = {"project": project.name, **address.travelling(), "query": one.query_id, "passage": one.passage_id}
    data: dict[str, Any] = {
        **_row(row),
        "at": listed.first + at,
        "query": as_shown(one.query_text),
        "query_id": one.query_id,
        "passage_id": one.passage_id,
        "passage": None if one.passage_text is None else as_shown(one.passage_text[:LONGEST]),
        "question": None if one.question_text is None else as_shown(one.question_text),
        "blamed": blamed,
        "givers": [
            {"side": as_shown(name), **_giving(given)}
            for name, given in zip(found.names, (row.left_from, row.right_from), strict=True)
            if given
        ],
        "check": "" if row.check is None else as_shown(_check(row.check, found)),
        "read": "passages?" + urlencode(there | ({"question": blamed} if blamed else {})),
        "bank": "question_bank?" + urlencode(there),
        "settling": None if row.settling is None else _settled(row.settling),
    }
    if row.settling is None:
        data |= settling.offer(project, left, right, row, policy)
        for asked in data["asked"]:
            asked["text"] = as_shown(asked["text"])
    return data


def _giving(given: tuple[Giving, ...]) -> dict[str, Any]:
    shown = [{"text": as_shown(one.text), "rating": one.rating} for one in given[:QUESTIONS_NAMED]]
    return {"questions": shown, "more": max(0, len(given) - QUESTIONS_NAMED)}


def _settled(one: Settling) -> dict[str, Any]:
    return {
        "words": as_shown(f"Settled by {one.author}, {one.made_at:%d %B %Y}: {act_words(one)}"),
        "reason": as_shown(one.reason),
        "override": one.act == "override",
        "rating": one.rating,
    }


ACTS = {
    "override": "override",
    "edit": "edit of the question",
    "dispute": "dispute of the judgment",
    "comment": "comment",
    "reopen": "case reopened",
}


def act_words(one: Settling) -> str:
    """What was done, and about what."""
    if one.act == "dispute":
        return f"{ACTS[one.act]}: {one.source} judged {one.value}"
    words = ACTS[one.act] if one.rating is None else f"{ACTS[one.act]} with rating {one.rating}"
    return words if one.touched is None else f"{words}: “{ui.shortened(one.question_text or one.touched, 160)}”"


def explain_order(found: CheckNext, by: str, agreed: Agreement) -> str:
    """What the orders by effect go by, and how much of it was tried.

    Args:
        by: board or kappa.
    """
    rater = agreed.left if found.side == "left" else agreed.right
    said = (
        f"What happens to the board by {found.measure} and to the merged kappa if the {rater.noun} gives way,"
        " one pair at a time."
    )
    if (tried := len(found.checks)) < found.disagreements:
        which = "runs rank highest" if by == "board" else "change kappa most"
        said += f" Tried were the {tried:,} of {found.disagreements:,} disagreements that {which}."
    return said


def _check(check: Check, found: Agreement) -> str:
    noun = found.left.noun if found.left.noun == "label" else found.right.noun
    noun = noun if "label" in (found.left.noun, found.right.noun) else "judgment"
    if check.value == check.target:
        return f"The {noun} stays {check.value}: no value of its scale is nearer."
    swaps = "no systems swap" if not check.swaps else f"{check.swaps} swap{'s' * (check.swaps > 1)} of two systems"
    moved = f"{check.moved} system{'s' * (check.moved != 1)} move by {check.shift:.4f} in sum"
    kappa = "kappa undefined" if check.kappa is None else f"kappa {check.kappa:+.5f}" if check.kappa else "same kappa"
    return f"If the {noun} were {check.target}: {' · '.join((swaps, moved, kappa))}"


def _why_empty(found: Agreement, some_settled: bool, order: Order, of_query: bool) -> str:
    if not found.n:
        return "No pair has both values, so there is nothing to disagree on. Choose other sides."
    if of_query:
        return "Nothing is listed for this query. Clear the query to see the others."
    if some_settled:
        return "Nothing is left: all cases are settled."
    return "The sides agree wherever both have a value." if order == "worst" else "Nothing here in this order."
