"""What can be asked for in the queue of disagreements, by name: each does it, and says what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from exam_workbench.errors import WorkbenchError
from exam_workbench.labels import Policy
from exam_workbench.project import Project
from exam_workbench.review import AlreadySettled, Cell, Order, Queue, Row, Side, agreement, queue, row_of
from pages.parts.review import place, settling, table
from pages.parts.review.case_data import ACTS as ACT_NAMES
from pages.parts.review.case_data import CASES_A_PAGE, act_words, at_of_address, id_of, name_of
from pages.parts.shared import address, ui
from pages.parts.shared.acting import Act
from pages.parts.shared.html import as_shown

SAID = "said of the cases"
DONE = "done of the cases"


@dataclass
class Desk:
    """The queue as somebody looks at it, and what came of what they did.

    Args:
        policy: None where nothing has been graded.
        measure: that an order by effect goes by.
        said: words for what was done last, and whether it can be put back; they stay until one goes on. Where it was
            refused, because somebody else was there before, of which case.
        error: why something could not be done.
        weighed: what a rating would make of the open case.
    """

    project: Project
    left: Side
    right: Side
    policy: Policy | None
    order: Order
    measure: str
    said: dict[str, Any] | None = field(default_factory=lambda: st.session_state.get(SAID))
    error: dict[str, str] | None = None
    weighed: dict[str, Any] | None = None
    _refused: str = ""

    def say(self, words: str, undo: bool, refused: str = "") -> None:
        """Say what was done, or of which case it was refused."""
        # Of several acts that came together none is refused without a word.
        words = f"{self._refused} {words}".lstrip()
        if refused:
            self._refused = words
        self.said = {"words": as_shown(words), "undo": undo, "refused": refused}
        st.session_state[SAID] = self.said

    def forget(self) -> None:
        """Say no more of what was done before."""
        if self._refused:
            return
        self.said = None
        st.session_state.pop(SAID, None)


def do(desk: Desk, act: Act) -> None:
    """Do what somebody asked for in the part; what could not be done is said."""
    try:
        ACTS[act["do"]](desk, act)
    except WorkbenchError as error:
        desk.error = {"code": error.code, "message": error.message, "hint": error.hint or ""}


def listed(desk: Desk, cell: Cell | None, case: str | None = None) -> Queue:
    """The page of the queue with a case.

    Args:
        cell: the one of the table that is listed; None for all disagreements.
        case: None for the open one.
    """
    query_id = place.named("query") or None
    with st.spinner("Finding disagreements", show_time=False):
        return queue(
            desk.project, desk.left, desk.right, desk.order, cell, with_settled(), desk.measure, CASES_A_PAGE,
            at_of_address(), query_id, _place(place.open_case() if case is None else case),
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


def _case(desk: Desk, act: Act) -> Row:
    """The case that an act is about, wherever it stands by now."""
    row = row_of(desk.project, desk.left, desk.right, _place(act["case"]))
    if row is None:
        raise WorkbenchError("unknown-case", "One side has no value for this case any more.", "Open the next case.")
    return row


def _number(desk: Desk, case: str, cell: Cell | None) -> int | None:
    """Which one in the queue a case is; None where it is not listed."""
    page = listed(desk, cell, case)
    return next((page.first + at for at, row in enumerate(page.rows) if id_of(row) == case), None)


def _weigh(desk: Desk, act: Act) -> None:
    row = _case(desk, act)
    # Others may have led it elsewhere: another one would be there in its place, without what is being typed.
    place.hold(act["case"])
    if desk.policy is not None:
        rating = int(act["rating"])
        found = settling.weigh(desk.project, desk.left, desk.right, row, desk.policy, act["questions"], rating)
        desk.weighed = found | {"case": act["case"]}


def _reopen(desk: Desk, act: Act) -> None:
    row = _case(desk, act)
    if row.settling is not None:
        desk.say(settling.put_back(desk.project, row.settling.case, bool(act.get("withdraw"))), False)


def _settle(desk: Desk, act: Act) -> None:
    row = _case(desk, act)
    if row.settling is None and act.get("values") not in (None, [row.pair.left, row.pair.right]):
        _say_changed(desk, act, row)
        return
    cell = table.chosen_cell(agreement(desk.project, desk.left, desk.right))
    at = _number(desk, act["case"], cell)
    try:
        done = settling.settle(desk.project, desk.left, desk.right, row, desk.policy, act)
    except AlreadySettled as error:
        _say_settled(desk, act, row, error)
        return
    st.session_state[DONE] = done
    desk.say(done.words, done.case is not None)
    if done.case is not None:
        # What is settled leaves the queue and the next case takes its place, unless settled ones are shown.
        stays = with_settled()
        place.put(case="", at=(at_of_address() if at is None else at) + stays)
    else:
        # Another label may have led it to another place in the queue.
        place.put(case=act["case"])
    if act["how"] == "edit":
        place.write()
        settling.to_bank(row.pair.query_id, row.pair.passage_id, act.get("question") or None)


def _say_changed(desk: Desk, act: Act, row: Row) -> None:
    """Refuse what was meant for other values than the case has now; it stays open, with what was typed."""
    case, now = act["case"], (row.pair.left, row.pair.right)
    found = agreement(desk.project, desk.left, desk.right)
    pairs = zip(found.names, act["values"], now, strict=True)
    differ = [f"{name} {was} → {value}" for name, was, value in pairs if was != value]
    words = f"{_lost(act, row)} Its values have changed since you opened it: {', '.join(differ)}."
    cell = table.chosen_cell(found)
    if cell is not None and _number(desk, case, cell) is None and _number(desk, case, None) is not None:
        words += " It is no longer in the selected cell, so all cases are listed."
        cell = None
        place.put(cell="")
    if _number(desk, case, cell) is None:
        desk.say(f"{words} It is no longer in this list. {_typed(act)}", False, case)
        return
    place.put(case=case)
    desk.say(f"{words} Check the case, then resolve it again.", False, case)


def _say_settled(desk: Desk, act: Act, row: Row, error: AlreadySettled) -> None:
    """Refuse to settle what somebody has settled meanwhile, and say who, how, and what was to be said."""
    done = error.settling
    place.put(case=act["case"] if with_settled() else "")
    how = f"{act_words(done)}: {ui.shortened(done.reason, 300)}"
    words = f"{_lost(act, row)} {done.author} has already resolved this case by {how}"
    desk.say(f"{words if words.endswith(('.', '!', '?')) else words + '.'} {_typed(act)}", False, act["case"])


def _lost(act: Act, row: Row) -> str:
    """What was not saved, and of which case."""
    query = ui.shortened(row.pair.query_text, 80)
    return f"Your {ACT_NAMES[act['how']]} for passage {row.pair.passage_id} of query “{query}” was not saved."


def _typed(act: Act) -> str:
    return f"Your text: “{ui.shortened(str(act.get('reason') or ''), 300)}”"


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
