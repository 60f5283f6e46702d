"""Actions of the queue of disagreements, by name: each changes the project and reports the result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from exam_workbench import errors, labels, review
from exam_workbench.records import pooled_queries
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.review import disagreement_tables, disagreements_address, settling_forms
from pages.parts.shared import actions, address, html, policy_widgets, ui

SAID = "said of the cases"
DONE = "done of the cases"


@dataclass
class Desk:
    """The queue as a person sees it, and the result of the last action.

    Args:
        policy: the scoring settings; None if nothing has been graded.
        measure: the measure for an order by effect.
        said: message about the last action, and whether it can be undone; kept until the person moves on. If another
            person was first, also the case of the refusal.
        weighed: the effect of a tried rating on the open case.
    """

    project: Project
    left: review.Side
    right: review.Side
    policy: labels.Policy | None
    order: review.Order
    measure: str
    said: dict[str, Any] | None = field(default_factory=lambda: st.session_state.get(SAID))
    weighed: dict[str, Any] | None = None
    _refused: str = ""

    def say(self, words: str, undo: bool, refused: str = "") -> None:
        """Show a message about an action, or about its refusal for a case."""
        # If several actions arrive together, the message names every refused one.
        words = f"{self._refused} {words}".lstrip()
        if refused:
            self._refused = words
        self.said = {"words": html.as_shown(words), "undo": undo, "refused": refused}
        st.session_state[SAID] = self.said

    def forget(self) -> None:
        """Drop the message about the last action."""
        if self._refused:
            return
        self.said = None
        st.session_state.pop(SAID, None)


def listed(desk: Desk, cell: review.Cell | None, case: str | None = None) -> review.Queue:
    """Return the page of the queue that contains a case.

    Args:
        cell: the selected cell of the table; None for all disagreements.
        case: None for the open case.
    """
    query_id = disagreements_address.named("query") or None
    with st.spinner("Finding disagreements", show_time=False):
        return review.queue(
            desk.project, desk.left, desk.right, desk.order, cell, with_settled(), desk.measure, CASES_A_PAGE,
            at_of_address(), query_id, _place(disagreements_address.open_case() if case is None else case),
        )  # fmt: skip


def with_settled() -> bool:
    """Return whether settled cases are listed, too."""
    return disagreements_address.named("settled") == "shown"


def _place(case: str) -> tuple[str, str, str | None]:
    query_id, passage_id, question_id = (*case.split(" ", 2), "", "")[:3]
    return query_id, passage_id, question_id or None


def _open(desk: Desk, act: actions.Act) -> None:
    desk.forget()
    disagreements_address.put(case=act.get("case") or "", at=int(act["at"]))


def _list_cell(desk: Desk, act: actions.Act) -> None:
    desk.forget()
    disagreements_address.put(cell=act["cell"], case="", at="")


def _clear(desk: Desk, act: actions.Act) -> None:
    # The filter by query is cleared in `cases`, where its widget is drawn.
    disagreements_address.put(**{act["what"]: ""}, case="", at="")


def _read(desk: Desk, act: actions.Act) -> None:
    more = {"question": act["question"]} if act.get("question") else {}
    disagreements_address.write()
    there = {"query": act["query"], "passage": act["passage"], **more}
    st.switch_page("pages/passages.py", query_params={**address.travelling(), **there})


def _to_bank(desk: Desk, act: actions.Act) -> None:
    disagreements_address.write()
    settling_forms.to_bank(act["query"], act["passage"])


def _put_back(desk: Desk, act: actions.Act) -> None:
    undone = st.session_state.get(DONE)
    if undone is not None:
        desk.say(settling_forms.put_back(desk.project, undone.case, undone.overridden), False)
        disagreements_address.put(case=name_of(*undone.case.place))
        st.session_state.pop(DONE)


def _case(desk: Desk, act: actions.Act) -> review.Row:
    """Return the case of an action, at its present place in the queue."""
    row = review.row_of(desk.project, desk.left, desk.right, _place(act["case"]))
    if row is None:
        raise errors.WorkbenchError(
            "unknown-case", "One side has no value for this case any more.", "Open the next case."
        )
    return row


def _number(desk: Desk, case: str, cell: review.Cell | None) -> int | None:
    """Return the position of a case in the queue; None if it is not listed."""
    page = listed(desk, cell, case)
    return next((page.first + at for at, row in enumerate(page.rows) if id_of(row) == case), None)


def _weigh(desk: Desk, act: actions.Act) -> None:
    row = _case(desk, act)
    # Other people's actions may have moved the case. Without this, another case would open in its place and the typed
    # text would be lost.
    disagreements_address.hold(act["case"])
    if desk.policy is not None:
        rating = int(act["rating"])
        found = settling_forms.weigh(desk.project, desk.left, desk.right, row, desk.policy, act["questions"], rating)
        desk.weighed = found | {"case": act["case"]}


def _reopen(desk: Desk, act: actions.Act) -> None:
    row = _case(desk, act)
    if row.settling is not None:
        desk.say(settling_forms.put_back(desk.project, row.settling.case, bool(act.get("withdraw"))), False)


def _settle(desk: Desk, act: actions.Act) -> None:
    row = _case(desk, act)
    if row.settling is None and act.get("values") not in (None, [row.pair.left, row.pair.right]):
        _say_changed(desk, act, row)
        return
    cell = disagreement_tables.chosen_cell(review.agreement(desk.project, desk.left, desk.right))
    at = _number(desk, act["case"], cell)
    try:
        done = settling_forms.settle(desk.project, desk.left, desk.right, row, desk.policy, act)
    except review.AlreadySettled as error:
        _say_settled(desk, act, row, error)
        return
    st.session_state[DONE] = done
    desk.say(done.words, done.case is not None)
    if done.case is not None:
        # A settled case leaves the queue and the next one takes its place, unless settled cases are shown.
        stays = with_settled()
        disagreements_address.put(case="", at=(at_of_address() if at is None else at) + stays)
    else:
        # A changed label may have moved the case within the queue.
        disagreements_address.put(case=act["case"])
    if act["how"] == "edit":
        disagreements_address.write()
        settling_forms.to_bank(row.pair.query_id, row.pair.passage_id, act.get("question") or None)


def _say_changed(desk: Desk, act: actions.Act, row: review.Row) -> None:
    """Refuse an action that was meant for earlier values of the case, which stays open with the typed text."""
    case, now = act["case"], (row.pair.left, row.pair.right)
    found = review.agreement(desk.project, desk.left, desk.right)
    pairs = zip(found.names, act["values"], now, strict=True)
    differ = [f"{name} {was} → {value}" for name, was, value in pairs if was != value]
    words = f"{_lost(act, row)} Its values have changed since you opened it: {', '.join(differ)}."
    cell = disagreement_tables.chosen_cell(found)
    if cell is not None and _number(desk, case, cell) is None and _number(desk, case, None) is not None:
        words += " It is no longer in the selected cell, so all cases are listed."
        cell = None
        disagreements_address.put(cell="")
    if _number(desk, case, cell) is None:
        desk.say(f"{words} It is no longer in this list. {_typed(act)}", False, case)
        return
    disagreements_address.put(case=case)
    desk.say(f"{words} Check the case, then resolve it again.", False, case)


def _say_settled(desk: Desk, act: actions.Act, row: review.Row, error: review.AlreadySettled) -> None:
    """Refuse to settle a case that another person has settled meanwhile; show who, how, and the typed text."""
    done = error.settling
    disagreements_address.put(case=act["case"] if with_settled() else "")
    how = f"{act_words(done)}: {ui.shortened(done.reason, 300)}"
    words = f"{_lost(act, row)} {done.author} has already resolved this case by {how}"
    desk.say(f"{words if words.endswith(('.', '!', '?')) else words + '.'} {_typed(act)}", False, act["case"])


def _lost(act: actions.Act, row: review.Row) -> str:
    """Return a sentence with the unsaved action and its case."""
    query = ui.shortened(row.pair.query_text, 80)
    return f"Your {ACT_WORDS[act['how']]} for passage {row.pair.passage_id} of query “{query}” was not saved."


def _typed(act: actions.Act) -> str:
    return f"Your text: “{ui.shortened(str(act.get('reason') or ''), 300)}”"


ACTS: Mapping[str, Callable[[Desk, actions.Act], None]] = {
    "open": _open,
    "cell": _list_cell,
    "clear": _clear,
    "read": _read,
    "bank": _to_bank,
    "put back": _put_back,
    "weigh": _weigh,
    "reopen": _reopen,
    "settle": _settle,
}
"""All actions of the component."""


CASES_A_PAGE = 25
SNIPPET = 170
LONGEST = 400_000
"""Largest number of shown characters of a passage."""
QUESTIONS_NAMED = 3
GONE = "The case that {} is no longer in this list. Another case is shown instead."


def at_of_address() -> int:
    """Return the position of the open case in the queue, from the address."""
    said = disagreements_address.named("at")
    return int(said) if said.isdecimal() else 0


def id_of(row: review.Row) -> str:
    """Return the id of a case in the queue."""
    return name_of(row.pair.query_id, row.pair.passage_id, row.pair.question_id)


def name_of(query_id: str, passage_id: str, question_id: str | None) -> str:
    """Return the address's name of a case; ids of queries and passages contain no blanks."""
    return " ".join((query_id, passage_id, question_id or "")).rstrip()


def _open_row(listed: review.Queue) -> int | None:
    """Return the open row of the page: the wanted case, otherwise the one at its former position."""
    if not listed.rows:
        return None
    wanted = disagreements_address.open_case()
    found = (at for at, row in enumerate(listed.rows) if wanted and id_of(row) == wanted)
    return next(found, min(max(0, at_of_address() - listed.first), len(listed.rows) - 1))


def shown(
    project: Project,
    left: review.Side,
    right: review.Side,
    found: review.Agreement,
    cell: review.Cell | None,
    listed: review.Queue,
    policy: labels.Policy | None,
    order: review.Order,
) -> dict[str, Any]:
    """Return the data for the browser.

    Args:
        found: agreement of the two sides.
        cell: the selected cell of the table; None for all disagreements.
        listed: the page of the queue with the open case.
        policy: the scoring settings; None if nothing has been graded.
        order: order of the queue.
    """
    at, wanted = _open_row(listed), disagreements_address.open_case()
    gone = GONE.format("the link names" if disagreements_address.named("case") == wanted else "was open")
    queries = pooled_queries(project)
    query_id = disagreements_address.named("query")
    filters = []
    if cell is not None:
        filters.append({"what": "cell", "says": disagreement_tables.cell_name(found, cell)})
    if query_id:
        filters.append({"what": "query", "says": html.as_shown(ui.shortened(queries.get(query_id) or query_id, 90))})
    what = "disagreements" if cell is None else "pairs"
    return {
        # The displayed names of the sides cannot identify the list, because they change with the first override.
        "home": f"{project.name} {review.side_name(project, left)} {review.side_name(project, right)}",
        "names": [html.as_shown(name) for name in found.names],
        "tables": disagreement_tables.tables(found, cell),
        "coefficients": disagreement_tables.coefficients(found),
        "to_merge": disagreement_tables.scales_differ(found),
        "missing": html.as_shown(
            f"{disagreement_tables.missing(found)} {review.confirmation(project, left, right) or ''}".strip()
        ),
        "filters": filters,
        "count": how_many(listed.total, what),
        "hidden": f"{listed.hidden:,} resolved (hidden)" if listed.hidden else "",
        "total": listed.total,
        "first": listed.first,
        "page": CASES_A_PAGE,
        "explains": "" if listed.next_up is None else html.as_shown(explain_order(listed.next_up, order, found)),
        "rows": [_row(row) for row in listed.rows],
        "open": None if at is None else _case_fields(project, left, right, found, listed, at, policy),
        "gone": gone if at is not None and wanted not in ("", id_of(listed.rows[at])) else "",
        "empty": "" if listed.rows else _why_empty(found, bool(listed.hidden), order, bool(query_id), cell),
    }


def _row(row: review.Row) -> dict[str, Any]:
    one = row.pair
    text = one.passage_text
    snippet = (
        f"No text imported for passage {one.passage_id}." if text is None else " ".join(text[: 4 * SNIPPET].split())
    )
    return {
        "id": id_of(row),
        "values": [one.left, one.right],
        "query": html.as_shown(ui.shortened(one.query_text, 120)),
        "text": html.as_shown(ui.shortened(snippet, SNIPPET)),
        "settled": row.settling is not None,
    }


def _case_fields(
    project: Project,
    left: review.Side,
    right: review.Side,
    found: review.Agreement,
    listed: review.Queue,
    at: int,
    policy: labels.Policy | None,
) -> dict[str, Any]:
    """Return the open case with all data needed to settle it."""
    row = listed.rows[at]
    one = row.pair
    blamed = one.question_id or next((g.question_id for g in (*row.left_from, *row.right_from)), None)
    there = {"project": project.name, **address.travelling(), "query": one.query_id, "passage": one.passage_id}
    data: dict[str, Any] = {
        **_row(row),
        "at": listed.first + at,
        "query": html.as_shown(one.query_text),
        "query_id": one.query_id,
        "passage_id": one.passage_id,
        "passage": None if one.passage_text is None else html.as_shown(one.passage_text[:LONGEST]),
        "question": None if one.question_text is None else html.as_shown(one.question_text),
        "blamed": blamed,
        "givers": [
            {"side": html.as_shown(name), **_giving(given)}
            for name, given in zip(found.names, (row.left_from, row.right_from), strict=True)
            if given
        ],
        "check": "" if row.check is None else html.as_shown(_check(row.check, found)),
        "read": "passages?" + urlencode(there | ({"question": blamed} if blamed else {})),
        "bank": "question_bank?" + urlencode(there),
        "settling": None if row.settling is None else _settled(row.settling),
    }
    if row.settling is None:
        data |= settling_forms.offer(project, left, right, row, policy)
        for asked in data["asked"]:
            asked["text"] = html.as_shown(asked["text"])
    return data


def _giving(given: tuple[review.Giving, ...]) -> dict[str, Any]:
    shown = [{"text": html.as_shown(one.text), "rating": one.rating} for one in given[:QUESTIONS_NAMED]]
    return {"questions": shown, "more": max(0, len(given) - QUESTIONS_NAMED)}


def _settled(one: review.Settling) -> dict[str, Any]:
    return {
        "words": html.as_shown(f"Resolved by {one.author}, {one.made_at:%d %B %Y}: {act_words(one)}"),
        "reason": html.as_shown(one.reason),
        "override": one.act == "override",
        "rating": one.rating,
    }


ACT_WORDS = {
    "override": "override",
    "edit": "question edit",
    "dispute": "dispute",
    "comment": "comment",
    "reopen": "case reopened",
}


def act_words(one: review.Settling) -> str:
    """Return a description of a settlement."""
    if one.act == "dispute":
        return f"{ACT_WORDS[one.act]}: {one.source} judged {one.value}"
    words = ACT_WORDS[one.act] if one.rating is None else f"{ACT_WORDS[one.act]} with rating {one.rating}"
    if one.touched is None:
        return words
    more = f" and {one.others} more" if one.others else ""
    return f"{words}: “{ui.shortened(one.question_text or one.touched, 160)}”{more}"


def explain_order(found: review.CheckNext, by: str, agreed: review.Agreement) -> str:
    """Return an explanation of the orders by effect, and of the number of tested cases.

    Args:
        by: "board" or "kappa".
    """
    rater = agreed.left if found.side == "left" else agreed.right
    said = (
        f"Effect on the leaderboard ({found.measure}) and on merged kappa if the {rater.noun} of a pair changed to"
        " the value of the other side."
    )
    if (tried := len(found.checks)) < found.disagreements:
        which = "runs rank highest" if by == "board" else "change kappa most"
        said += f" Only {tried:,} of {found.disagreements:,} disagreements were tested: those that {which}."
    return said


def _check(check: review.Check, found: review.Agreement) -> str:
    noun = found.left.noun if found.left.noun == "label" else found.right.noun
    noun = noun if "label" in (found.left.noun, found.right.noun) else "judgment"
    if check.value == check.target:
        return f"The {noun} {check.value} is already the closest value on its scale."
    swaps = how_many(check.swaps, "rank swaps")
    moved = f"scores of {how_many(check.moved, 'systems')} change by {check.shift:.4f} in total"
    kappa = (
        "kappa undefined" if check.kappa is None else f"kappa {check.kappa:+.5f}" if check.kappa else "kappa unchanged"
    )
    return f"If the {noun} were {check.target}: {' · '.join((swaps, moved, kappa))}"


def _why_empty(
    found: review.Agreement, some_settled: bool, order: review.Order, of_query: bool, cell: review.Cell | None
) -> str:
    if not found.n:
        return "No pair has a value on both sides. Choose other sides."
    if of_query:
        return "No cases for this query. Clear the query filter to see all cases."
    if some_settled:
        return "All cases are resolved."
    if cell is not None and order != "worst":
        return "This order lists no pairs of the selected cell. Choose another order or clear the filter."
    return "No disagreements: the values of all pairs agree." if order == "worst" else "No cases in this order."


KEY = "cases"
ORDERS: dict[review.Order, str] = {
    "worst": "Largest difference first",
    "left": "Left higher",
    "right": "Right higher",
    "board": "Largest effect on the leaderboard",
    "kappa": "Largest effect on kappa",
}


def set_widgets(project: Project) -> None:
    """Set the filters as in the address."""
    disagreements_address.set_widget("query", pooled_queries(project), "")
    if not st.session_state["query_listed"]:
        st.session_state["query_listed"] = None
    disagreements_address.set_widget("order", ORDERS, "worst")
    st.session_state["show_settled"] = with_settled()


@st.fragment
def queue_view(project: Project, left: review.Side, right: review.Side, policy: labels.Policy | None) -> None:
    """Draw the filters, the table, the cases, and the open case."""
    asked = actions.asked_of(KEY)
    order, measure = _filters(project, left, right, review.agreement(project, left, right), asked)
    desk = Desk(project, left, right, policy, order, measure)
    error = asked.do(lambda act: ACTS[act["do"]](desk, act))
    found = review.agreement(project, left, right)
    cell = disagreement_tables.chosen_cell(found)
    data = shown(project, left, right, found, cell, listed(desk, cell), policy, order)
    data |= {"said": desk.said, "error": error, "weighed": desk.weighed}
    disagreements_address.write()
    asked.draw("cases", data)


def _filters(
    project: Project, left: review.Side, right: review.Side, found: review.Agreement, asked: actions.Asked
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
    if any(disagreements_address.named(name) != value for name, value in filters.items()):
        disagreements_address.put(**filters, case="", at="")
    return order, measure


def _order_names(found: review.Agreement) -> dict[review.Order, str]:
    names = dict(ORDERS)
    named = found.names != (found.left.owner, found.right.owner)
    left, right = (name.capitalize() if named and name.isalpha() else name for name in found.names)
    return names | {"left": f"{left} higher", "right": f"{right} higher"}
