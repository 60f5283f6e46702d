"""Actions of the queue of disagreements, by name: each changes the project and reports the result."""

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
    """The queue as a person sees it, and the result of the last action.

    Args:
        policy: the scoring settings; None if nothing has been graded.
        measure: the measure for an order by effect.
        said: message about the last action, and whether it can be undone; kept until the person moves on. If another
            person was first, also the case of the refusal.
        error: why an action failed.
        weighed: the effect of a tried rating on the open case.
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
        """Show a message about an action, or about its refusal for a case."""
        # If several actions arrive together, the message names every refused one.
        words = f"{self._refused} {words}".lstrip()
        if refused:
            self._refused = words
        self.said = {"words": as_shown(words), "undo": undo, "refused": refused}
        st.session_state[SAID] = self.said

    def forget(self) -> None:
        """Drop the message about the last action."""
        if self._refused:
            return
        self.said = None
        st.session_state.pop(SAID, None)


def do(desk: Desk, act: Act) -> None:
    """Do an action of the component, and show why it failed if it did."""
    try:
        ACTS[act["do"]](desk, act)
    except WorkbenchError as error:
        desk.error = {"code": error.code, "message": error.message, "hint": error.hint or ""}


def listed(desk: Desk, cell: Cell | None, case: str | None = None) -> Queue:
    """Return the page of the queue that contains a case.

    Args:
        cell: the selected cell of the table; None for all disagreements.
        case: None for the open case.
    """
    query_id = place.named("query") or None
    with st.spinner("Finding disagreements", show_time=False):
        return queue(
            desk.project, desk.left, desk.right, desk.order, cell, with_settled(), desk.measure, CASES_A_PAGE,
            at_of_address(), query_id, _place(place.open_case() if case is None else case),
        )  # fmt: skip


def with_settled() -> bool:
    """Return whether settled cases are listed, too."""
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
    # The filter by query is cleared in `cases`, where its widget is drawn.
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
    """Return the case of an action, at its present place in the queue."""
    row = row_of(desk.project, desk.left, desk.right, _place(act["case"]))
    if row is None:
        raise WorkbenchError("unknown-case", "One side has no value for this case any more.", "Open the next case.")
    return row


def _number(desk: Desk, case: str, cell: Cell | None) -> int | None:
    """Return the position of a case in the queue; None if it is not listed."""
    page = listed(desk, cell, case)
    return next((page.first + at for at, row in enumerate(page.rows) if id_of(row) == case), None)


def _weigh(desk: Desk, act: Act) -> None:
    row = _case(desk, act)
    # Other people's actions may have moved the case. Without this, another case would open in its place and the typed
    # text would be lost.
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
        # A settled case leaves the queue and the next one takes its place, unless settled cases are shown.
        stays = with_settled()
        place.put(case="", at=(at_of_address() if at is None else at) + stays)
    else:
        # A changed label may have moved the case within the queue.
        place.put(case=act["case"])
    if act["how"] == "edit":
        place.write()
        settling.to_bank(row.pair.query_id, row.pair.passage_id, act.get("question") or None)


def _say_changed(desk: Desk, act: Act, row: Row) -> None:
    """Refuse an action that was meant for earlier values of the case, which stays open with the typed text."""
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
    """Refuse to settle a case that another person has settled meanwhile; show who, how, and the typed text."""
    done = error.settling
    place.put(case=act["case"] if with_settled() else "")
    how = f"{act_words(done)}: {ui.shortened(done.reason, 300)}"
    words = f"{_lost(act, row)} {done.author} has already resolved this case by {how}"
    desk.say(f"{words if words.endswith(('.', '!', '?')) else words + '.'} {_typed(act)}", False, act["case"])


def _lost(act: Act, row: Row) -> str:
    """Return a sentence with the unsaved action and its case."""
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
"""All actions of the component."""
