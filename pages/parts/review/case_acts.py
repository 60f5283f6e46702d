"""Actions of the queue of disagreements: each changes the project and reports the result."""

from dataclasses import dataclass
from typing import Any

import streamlit as st

from exam_workbench import choices, errors, labels, review
from exam_workbench.records import pooled_queries
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.review import disagreement_tables, disagreements_address, settling_forms
from pages.parts.shared import actions, address, html, scoring_settings, ui

DONE = "done of the cases"


@dataclass
class QueueDesk:
    """The queue as a person sees it, and the result of the last action.

    Args:
        policy: the scoring settings of the first side that has its own, otherwise those of the
            screen; None if nothing has been graded.
        measure: the measure for an order by effect.
        asked: the pending actions, with the message about the last one; it is kept until the person
            moves on. If another person was first, it names the case of the refusal.
        weighed: the effect of a tried rating on the open case.
    """

    project: Project
    left: review.Side
    right: review.Side
    policy: labels.Policy | None
    order: choices.DisagreementOrder
    measure: str
    asked: actions.PendingActions
    weighed: dict[str, Any] | None = None
    _refused: str = ""

    def show_message(self, words: str, undo: bool, refused: str = "") -> None:
        """Show a message about an action, or about its refusal for a case."""
        # If several actions arrive together, the message names every refused one.
        words = f"{self._refused} {words}".lstrip()
        if refused:
            self._refused = words
        self.asked.said = {"words": html.as_shown(words), "undo": undo, "refused": refused}

    def drop_message(self) -> None:
        """Drop the message about the last action."""
        if not self._refused:
            self.asked.said = None


def find_queue_page(
    desk: QueueDesk, cell: review.Cell | None, case: str | None = None
) -> review.Queue:
    """Return the page of the queue that contains a case.

    Args:
        cell: the selected cell of the table; None for all disagreements.
        case: None for the open case.
    """
    query_id = disagreements_address.place_part("query") or None
    with st.spinner("Finding disagreements", show_time=False):
        return review.list_disagreements(
            desk.project,
            desk.left,
            desk.right,
            desk.order,
            cell,
            with_settled(),
            desk.measure,
            CASES_A_PAGE,
            at_of_address(),
            query_id,
            _parse_case(disagreements_address.open_case() if case is None else case),
        )


def with_settled() -> bool:
    """Return whether settled cases are listed, too."""
    return disagreements_address.place_part("settled") == "shown"


def _parse_case(case: str) -> tuple[str, str, str | None]:
    query_id, passage_id, question_id = (*case.split(" ", 2), "", "")[:3]
    return query_id, passage_id, question_id or None


def _do_action(desk: QueueDesk, act: actions.Act) -> None:
    """Do an action of the component."""
    match act["do"]:
        case "open":
            desk.drop_message()
            disagreements_address.change_place(case=act.get("case") or "", at=int(act["at"]))
        case "cell":
            desk.drop_message()
            disagreements_address.change_place(cell=act["cell"], case="", at="")
        case "clear":
            # The filter by query is cleared in `cases`, where its widget is drawn.
            disagreements_address.change_place(**{act["what"]: ""}, case="", at="")
        case "read":
            disagreements_address.write_address()
            place = {name: act[name] for name in ("query", "passage", "question") if act.get(name)}
            st.switch_page("pages/passages.py", query_params={**address.kept_parameters(), **place})
        case "bank":
            disagreements_address.write_address()
            settling_forms.to_bank(act["query"], act["passage"])
        case "put back":
            if (undone := st.session_state.get(DONE)) is not None:
                case = undone.case
                desk.show_message(
                    settling_forms.reopen_settled_case(desk.project, case, undone.overridden), False
                )
                disagreements_address.change_place(case=name_of(*case.place))
                st.session_state.pop(DONE)
        case "weigh":
            _weigh_override(desk, act, _find_case(desk, act))
        case "reopen":
            if (settling := _find_case(desk, act).settling) is not None:
                message = settling_forms.reopen_settled_case(
                    desk.project, settling.case, bool(act.get("withdraw"))
                )
                desk.show_message(message, False)
        case "settle":
            _settle_case(desk, act, _find_case(desk, act))


def _find_case(desk: QueueDesk, act: actions.Act) -> review.QueueRow:
    """Return the case of an action, at its present place in the queue."""
    row = review.row_of(desk.project, desk.left, desk.right, _parse_case(act["case"]))
    if row is None:
        raise errors.WorkbenchError(
            "unknown-case", "One side has no value for this case any more.", "Open the next case."
        )
    return row


def _find_position(desk: QueueDesk, case: str, cell: review.Cell | None) -> int | None:
    """Return the position of a case in the queue; None if it is not listed."""
    page = find_queue_page(desk, cell, case)
    return next((page.first + at for at, row in enumerate(page.rows) if id_of(row) == case), None)


def _weigh_override(desk: QueueDesk, act: actions.Act, row: review.QueueRow) -> None:
    # Other people's actions may have moved the case. Without this, another case would open in its
    # place and the typed text would be lost.
    disagreements_address.keep_open(act["case"])
    if desk.policy is not None:
        effect = settling_forms.weigh_override(
            desk.project,
            desk.left,
            desk.right,
            row,
            desk.policy,
            act["questions"],
            int(act["rating"]),
        )
        desk.weighed = effect | {"case": act["case"]}


def _settle_case(desk: QueueDesk, act: actions.Act, row: review.QueueRow) -> None:
    if row.settling is None and act.get("values") not in (None, [row.pair.left, row.pair.right]):
        _refuse_changed(desk, act, row)
        return
    cell = disagreement_tables.chosen_cell(
        review.side_agreement(desk.project, desk.left, desk.right)
    )
    at = _find_position(desk, act["case"], cell)
    try:
        result = settling_forms.settle_case(
            desk.project, desk.left, desk.right, row, desk.policy, act
        )
    except review.AlreadySettled as error:
        # Another person has settled it meanwhile.
        done, how = error.settling, act_words(error.settling)
        words = (
            f"{_describe_unsaved(act, row)} {done.author} has already resolved this case by {how}:"
            f" {ui.shorten_text(done.reason, 300)}"
        )
        end = "" if words.endswith((".", "!", "?")) else "."
        disagreements_address.change_place(case=act["case"] if with_settled() else "")
        desk.show_message(f"{words}{end} {_quote_typed_text(act)}", False, act["case"])
        return
    st.session_state[DONE] = result
    desk.show_message(result.words, result.case is not None)
    if result.case is not None:
        # A settled case leaves the queue and the next one takes its place, unless settled cases are
        # shown.
        stays = with_settled()
        disagreements_address.change_place(
            case="", at=(at_of_address() if at is None else at) + stays
        )
    else:
        # A changed label may have moved the case within the queue.
        disagreements_address.change_place(case=act["case"])
    if act["how"] == "edit":
        disagreements_address.write_address()
        settling_forms.to_bank(row.pair.query_id, row.pair.passage_id, act.get("question") or None)


def _refuse_changed(desk: QueueDesk, act: actions.Act, row: review.QueueRow) -> None:
    """Refuse an action that was meant for earlier values of the case, which stays open with the
    typed text.
    """
    case, now = act["case"], (row.pair.left, row.pair.right)
    agreement = review.side_agreement(desk.project, desk.left, desk.right)
    pairs = zip(agreement.names, act["values"], now, strict=True)
    differ = [f"{name} {was} → {value}" for name, was, value in pairs if was != value]
    words = (
        f"{_describe_unsaved(act, row)} Its values have changed since you opened it:"
        f" {', '.join(differ)}."
    )
    cell = disagreement_tables.chosen_cell(agreement)
    if (
        cell is not None
        and _find_position(desk, case, cell) is None
        and _find_position(desk, case, None) is not None
    ):
        words += " It is no longer in the selected cell, so all cases are listed."
        cell = None
        disagreements_address.change_place(cell="")
    if _find_position(desk, case, cell) is None:
        desk.show_message(
            f"{words} It is no longer in this list. {_quote_typed_text(act)}", False, case
        )
        return
    disagreements_address.change_place(case=case)
    desk.show_message(f"{words} Check the case, then resolve it again.", False, case)


def _describe_unsaved(act: actions.Act, row: review.QueueRow) -> str:
    """Return a sentence with the unsaved action and its case."""
    query = ui.shorten_text(row.pair.query_text, 80)
    return (
        f"Your {ACT_WORDS[act['how']]} for passage {row.pair.passage_id} of query"
        f" “{query}” was not saved."
    )


def _quote_typed_text(act: actions.Act) -> str:
    return f"Your text: “{ui.shorten_text(str(act.get('reason') or ''), 300)}”"


CASES_A_PAGE = 25
SNIPPET = 170
LONGEST = 400_000
"""Largest number of shown characters of a passage."""
QUESTIONS_NAMED = 3
GONE = "The case that {} is no longer in this list. Another case is shown instead."


def at_of_address() -> int:
    """Return the position of the open case in the queue, from the address."""
    said = disagreements_address.place_part("at")
    return int(said) if said.isdecimal() else 0


def id_of(row: review.QueueRow) -> str:
    """Return the id of a case in the queue."""
    return name_of(row.pair.query_id, row.pair.passage_id, row.pair.question_id)


def name_of(query_id: str, passage_id: str, question_id: str | None) -> str:
    """Return the address's name of a case; ids of queries and passages contain no blanks."""
    return " ".join((query_id, passage_id, question_id or "")).rstrip()


def _open_row(listed: review.Queue) -> int | None:
    """Return the open row of the page: the wanted case, or else the one at its old position."""
    if not listed.rows:
        return None
    wanted = disagreements_address.open_case()
    found = (at for at, row in enumerate(listed.rows) if wanted and id_of(row) == wanted)
    return next(found, min(max(0, at_of_address() - listed.first), len(listed.rows) - 1))


def queue_data(
    project: Project,
    left: review.Side,
    right: review.Side,
    agreement: review.Agreement,
    cell: review.Cell | None,
    listed: review.Queue,
    policy: labels.Policy | None,
    order: choices.DisagreementOrder,
) -> dict[str, Any]:
    """Return the data for the browser.

    Args:
        agreement: agreement of the two sides.
        cell: the selected cell of the table; None for all disagreements.
        listed: the page of the queue with the open case.
        policy: the scoring settings; None if nothing has been graded.
        order: order of the queue.
    """
    at, case_wanted = _open_row(listed), disagreements_address.open_case()
    gone = GONE.format(
        "the link names" if disagreements_address.place_part("case") == case_wanted else "was open"
    )
    queries = pooled_queries(project)
    query_id = disagreements_address.place_part("query")
    filters = []
    if cell is not None:
        filters.append({"what": "cell", "says": disagreement_tables.cell_name(agreement, cell)})
    if query_id:
        filters.append(
            {
                "what": "query",
                "says": html.as_shown(ui.shorten_text(queries.get(query_id) or query_id, 90)),
            }
        )
    row_noun = "disagreements" if cell is None else "pairs"
    return {
        # The displayed names of the sides cannot identify the list, because they change with the
        # first override.
        "home": (
            f"{project.name} {review.side_name(project, left)} {review.side_name(project, right)}"
        ),
        "names": [html.as_shown(name) for name in agreement.names],
        "tables": disagreement_tables.tables_data(agreement, cell),
        "coefficients": disagreement_tables.list_coefficients(agreement),
        "to_merge": disagreement_tables.scales_differ(agreement),
        "filters": filters,
        "count": how_many(listed.total, row_noun),
        "hidden": f"{listed.hidden:,} resolved (hidden)" if listed.hidden else "",
        "total": listed.total,
        "first": listed.first,
        "page": CASES_A_PAGE,
        "explains": ""
        if listed.next_up is None
        else html.as_shown(explain_order(listed.next_up, order, agreement)),
        "rows": [_row_data(row) for row in listed.rows],
        "open": None
        if at is None
        else _case_fields(project, left, right, agreement, listed, at, policy),
        "gone": gone if at is not None and case_wanted not in ("", id_of(listed.rows[at])) else "",
        "empty": ""
        if listed.rows
        else _why_empty(agreement, bool(listed.hidden), order, bool(query_id), cell),
    }


def _row_data(row: review.QueueRow) -> dict[str, Any]:
    pair = row.pair
    text = pair.passage_text
    snippet = (
        f"No text imported for passage {pair.passage_id}."
        if text is None
        else " ".join(text[: 4 * SNIPPET].split())
    )
    return {
        "id": id_of(row),
        "values": [pair.left, pair.right],
        "query": html.as_shown(ui.shorten_text(pair.query_text, 120)),
        "text": html.as_shown(ui.shorten_text(snippet, SNIPPET)),
        "settled": row.settling is not None,
    }


def _case_fields(
    project: Project,
    left: review.Side,
    right: review.Side,
    agreement: review.Agreement,
    listed: review.Queue,
    at: int,
    policy: labels.Policy | None,
) -> dict[str, Any]:
    """Return the open case with all data needed to settle it."""
    row = listed.rows[at]
    pair = row.pair
    blamed = pair.question_id or next(
        (g.question_id for g in (*row.left_from, *row.right_from)), None
    )
    place = {"query": pair.query_id, "passage": pair.passage_id}
    data: dict[str, Any] = {
        **_row_data(row),
        "at": listed.first + at,
        "query": html.as_shown(pair.query_text),
        "query_id": pair.query_id,
        "passage_id": pair.passage_id,
        "passage": None
        if pair.passage_text is None
        else html.as_shown(pair.passage_text[:LONGEST]),
        "question": None if pair.question_text is None else html.as_shown(pair.question_text),
        "blamed": blamed,
        "givers": [
            {"side": html.as_shown(name), **_giving_data(given)}
            for name, given in zip(agreement.names, (row.left_from, row.right_from), strict=True)
            if given
        ],
        "check": "" if row.check is None else html.as_shown(_describe_check(row.check, agreement)),
        "read": address.screen_link("passages", **place, question=blamed),
        "bank": address.screen_link("question_bank", **place),
        "settling": None
        if (settling := row.settling) is None
        else {
            "words": html.as_shown(
                f"Resolved by {settling.author}, {settling.made_at:%d %B %Y}: {act_words(settling)}"
            ),
            "reason": html.as_shown(settling.reason),
            "override": settling.act == "override",
            "rating": settling.rating,
        },
    }
    if row.settling is None:
        data |= settling_forms.offer_settlements(project, left, right, row, policy)
    return data


def _giving_data(questions: tuple[review.SupportingQuestion, ...]) -> dict[str, Any]:
    questions_shown = [
        {"text": html.as_shown(question.text), "rating": question.rating}
        for question in questions[:QUESTIONS_NAMED]
    ]
    return {"questions": questions_shown, "more": max(0, len(questions) - QUESTIONS_NAMED)}


ACT_WORDS = {
    "override": "override",
    "edit": "question edit",
    "dispute": "dispute",
    "comment": "comment",
    "reopen": "case reopened",
}


def act_words(settling: review.SettlingAction) -> str:
    """Return a description of a settlement."""
    if settling.act == "dispute":
        return f"{ACT_WORDS[settling.act]}: {settling.source} judged {settling.value}"
    words = (
        ACT_WORDS[settling.act]
        if settling.rating is None
        else f"{ACT_WORDS[settling.act]} with rating {settling.rating}"
    )
    if settling.touched is None:
        return words
    more = f" and {settling.others} more" if settling.others else ""
    return f"{words}: “{ui.shorten_text(settling.question_text or settling.touched, 160)}”{more}"


def explain_order(next_check: review.CheckNext, by: str, agreed: review.Agreement) -> str:
    """Return an explanation of the orders by effect, and of the number of tested cases.

    Args:
        by: "board" or "kappa".
    """
    rater = agreed.left if next_check.side == "left" else agreed.right
    explanation = (
        f"Effect on the leaderboard ({next_check.measure}) and on merged kappa if the {rater.noun}"
        " of a pair changed to the value of the other side."
    )
    if (tried := len(next_check.checks)) < next_check.disagreements:
        which = "runs rank highest" if by == "board" else "change kappa most"
        explanation += (
            f" Only {tried:,} of {next_check.disagreements:,} disagreements were tested:"
            f" those that {which}."
        )
    return explanation


def _describe_check(check: review.Check, agreement: review.Agreement) -> str:
    noun = "label" if "label" in (agreement.left.noun, agreement.right.noun) else "judgment"
    if check.value == check.target:
        return f"The {noun} {check.value} is already the closest value on its scale."
    swaps = how_many(check.swaps, "rank swaps")
    moved = f"scores of {how_many(check.moved, 'systems')} change by {check.shift:.4f} in total"
    kappa = (
        "kappa undefined"
        if check.kappa is None
        else f"kappa {check.kappa:+.5f}"
        if check.kappa
        else "kappa unchanged"
    )
    return f"If the {noun} were {check.target}: {' · '.join((swaps, moved, kappa))}"


def _why_empty(
    agreement: review.Agreement,
    some_settled: bool,
    order: choices.DisagreementOrder,
    of_query: bool,
    cell: review.Cell | None,
) -> str:
    reasons = (
        (not agreement.n, "No pair has a value on both sides. Choose other sides."),
        (of_query, "No cases for this query. Clear the query filter to see all cases."),
        (some_settled, "All cases are resolved."),
        (
            cell is not None,
            "No open cases in the selected cell. Clear the filter or choose another order to see"
            " other cases.",
        ),
        (order == "worst", "No disagreements: the values of all pairs agree."),
        (True, "No cases in this order."),
    )
    return next(words for applies, words in reasons if applies)


KEY = "cases"
ORDERS: dict[choices.DisagreementOrder, str] = {
    "worst": "Largest difference first",
    "left": "Left higher",
    "right": "Right higher",
    "board": "Largest effect on the leaderboard",
    "kappa": "Largest effect on kappa",
}


def set_widgets(project: Project) -> None:
    """Set the filters as in the address."""
    disagreements_address.set_widget("query", pooled_queries(project), None)
    disagreements_address.set_widget("order", ORDERS, "worst")
    st.session_state["show_settled"] = with_settled()


@st.fragment
def queue_view(
    project: Project, left: review.Side, right: review.Side, policy: labels.Policy | None
) -> None:
    """Draw the filters, the table, the cases, and the open case."""
    pending = actions.pending_actions(KEY)
    own = (side.policy for side in (left, right) if isinstance(side, review.Labels))
    policy = next(own, policy)
    order, measure = _draw_filters(
        project, left, right, review.side_agreement(project, left, right), pending
    )
    desk = QueueDesk(project, left, right, policy, order, measure, pending)
    error = pending.do_actions(lambda act: _do_action(desk, act))
    found = review.side_agreement(project, left, right)
    cell = disagreement_tables.chosen_cell(found)
    data = queue_data(project, left, right, found, cell, find_queue_page(desk, cell), policy, order)
    here = data["open"] and data["open"]["id"]
    # A message is shown only with the case that was open when it appeared.
    if pending.said and pending.said.setdefault("with", here) != here:
        desk.drop_message()
    data |= {"said": pending.said, "error": error, "weighed": desk.weighed}
    disagreements_address.write_address()
    pending.draw("cases", data)


def _draw_filters(
    project: Project,
    left: review.Side,
    right: review.Side,
    agreement: review.Agreement,
    pending: actions.PendingActions,
) -> tuple[choices.DisagreementOrder, str]:
    """Draw the filters; return the order and its measure."""
    about_questions = isinstance(left, review.Person) or isinstance(right, review.Person)
    names = _order_names(agreement)
    offered = [order for order in names if not about_questions or order not in ("board", "kappa")]
    for act in pending.acts:
        if act["do"] == "clear" and act["what"] == "query":
            st.session_state["query_listed"] = None
    texts = ui.distinct_option_texts(pooled_queries(project))
    with st.container(horizontal=True, vertical_alignment="bottom", key="case-filters"):
        chosen = st.selectbox(
            "Query",
            list(texts),
            index=None,
            key="query_listed",
            placeholder="All queries",
            width="stretch",
            format_func=lambda query_id: texts.get(query_id) or query_id,
        )
        order = st.selectbox(
            "Order", offered, format_func=names.__getitem__, key="order", width=250
        )
        measure = choices.DEFAULT_MEASURE
        if order in ("board", "kappa"):
            with st.container(width=150):
                measure = scoring_settings.choose_measure(
                    "Measure", cover=False, key="check_measure"
                )
        settled = st.toggle("Show resolved", key="show_settled", width="content")
    filters = {
        "query": chosen or "",
        "order": "" if order == "worst" else order,
        "settled": "shown" if settled else "",
    }
    if any(disagreements_address.place_part(name) != value for name, value in filters.items()):
        disagreements_address.change_place(**filters, case="", at="")
    return order, measure


def _order_names(agreement: review.Agreement) -> dict[choices.DisagreementOrder, str]:
    names = dict(ORDERS)
    named = agreement.names != (agreement.left.owner, agreement.right.owner)
    left, right = (
        name.capitalize() if named and name.isalpha() else name for name in agreement.names
    )
    return names | {"left": f"{left} higher", "right": f"{right} higher"}
