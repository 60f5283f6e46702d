"""What can be asked for in the queue of disagreements, by name: each does it, and says what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from core.errors import WorkbenchError
from core.labels import Policy
from core.project import Project
from core.review import Cell, Order, Queue, Row, Side, agreement, queue
from pages.parts.review import place, settling, table
from pages.parts.review.case_data import CASES_A_PAGE, at_of_address, id_of, name_of
from pages.parts.shared import address
from pages.parts.shared.acting import Act
from pages.parts.shared.html import as_shown

SAID = "said of the cases"
DONE = "done of the cases"


def _kept() -> dict[str, Any] | None:
    return st.session_state.get(SAID)


@dataclass
class Desk:
    """The queue as somebody looks at it, and what came of what they did.

    Args:
        policy: None where nothing has been graded.
        measure: that an order by effect goes by.
        said: words for what was done last, and whether it can be put back; they stay until one goes on.
        error: why something could not be done.
        weighed: what a rating would make of the open case.
    """

    project: Project
    left: Side
    right: Side
    policy: Policy | None
    order: Order
    measure: str
    said: dict[str, Any] | None = field(default_factory=_kept)
    error: dict[str, str] | None = None
    weighed: dict[str, Any] | None = None

    def say(self, words: str, undo: bool) -> None:
        """Say what was done."""
        self.said = {"words": as_shown(words), "undo": undo}
        st.session_state[SAID] = self.said

    def forget(self) -> None:
        """Say no more of what was done before."""
        self.said = None
        st.session_state.pop(SAID, None)


def do(desk: Desk, act: Act) -> None:
    """Do what somebody asked for in the part; what could not be done is said."""
    try:
        ACTS[act["do"]](desk, act)
    except WorkbenchError as error:
        desk.error = {"message": error.message, "hint": error.hint or ""}


def listed(desk: Desk, cell: Cell | None) -> Queue:
    """The page of the queue with the open case.

    Args:
        cell: the one of the table that is listed; None for all disagreements.
    """
    query_id = place.named("query") or None
    with st.spinner("Looking for what to check", show_time=False):
        return queue(
            desk.project, desk.left, desk.right, desk.order, cell, with_settled(), desk.measure, CASES_A_PAGE,
            at_of_address(), query_id, _place(place.named("case")),
        )  # fmt: skip


def with_settled() -> bool:
    """Whether settled cases are listed, too."""
    return place.named("settled") == "shown"


def _place(case: str) -> tuple[str, str, str | None]:
    query_id, passage_id, question_id = (*case.split(" ", 2), "", "")[:3]
    return query_id, passage_id, question_id or None


def _open(desk: Desk, act: Act) -> None:
    desk.forget()
    place.put(case=act.get("case") or "", at=int(act["at"]))


def _list_cell(desk: Desk, act: Act) -> None:
    desk.forget()
    place.put(cell=act["cell"], case="", at="")


def _clear(desk: Desk, act: Act) -> None:
    # The query is cleared where its list is drawn.
    place.put(**{act["what"]: ""}, case="", at="")


def _read(desk: Desk, act: Act) -> None:
    more = {"question": act["question"]} if act.get("question") else {}
    place.write()
    there = {"query": act["query"], "passage": act["passage"], **more}
    st.switch_page("pages/passages.py", query_params={**address.travelling(), **there})


def _to_bank(desk: Desk, act: Act) -> None:
    place.write()
    settling.to_bank(act["query"], act["passage"])


def _put_back(desk: Desk, act: Act) -> None:
    undone = st.session_state.get(DONE)
    if undone is not None:
        desk.say(settling.put_back(desk.project, undone.case, undone.overridden), False)
        place.put(case=name_of(*undone.case.place))
        st.session_state.pop(DONE)


def _case(desk: Desk, act: Act) -> tuple[Row, int]:
    """The case that an act is about, and its place in the queue."""
    cell = table.chosen_cell(agreement(desk.project, desk.left, desk.right))
    page = listed(desk, cell)
    for at, row in enumerate(page.rows):
        if id_of(row) == act["case"]:
            return row, page.first + at
    raise WorkbenchError("This case is not in the queue any more.", "Somebody may have settled it: go on.")


def _weigh(desk: Desk, act: Act) -> None:
    row, _ = _case(desk, act)
    if desk.policy is not None:
        rating = int(act["rating"])
        found = settling.weigh(desk.project, desk.left, desk.right, row, desk.policy, act["questions"], rating)
        desk.weighed = found | {"case": act["case"]}


def _reopen(desk: Desk, act: Act) -> None:
    row, _ = _case(desk, act)
    if row.settling is not None:
        desk.say(settling.put_back(desk.project, row.settling.case, bool(act.get("withdraw"))), False)


def _settle(desk: Desk, act: Act) -> None:
    row, at = _case(desk, act)
    done = settling.settle(desk.project, desk.left, desk.right, row, desk.policy, act)
    st.session_state[DONE] = done
    desk.say(done.words, done.case is not None)
    if done.case is not None:
        # What is settled leaves the queue and the next case takes its place, unless settled ones are shown.
        stays = with_settled()
        place.put(case="", at=at + stays)
    if act["how"] == "edit" and act.get("bank"):
        place.write()
        settling.to_bank(row.pair.query_id, row.pair.passage_id)


ACTS: Mapping[str, Callable[[Desk, Act], None]] = {
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
"""All that the part can ask for."""
