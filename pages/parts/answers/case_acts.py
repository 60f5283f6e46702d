"""Actions of the cases component, by name: each changes the project and reports the result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from exam_workbench.errors import WorkbenchError
from exam_workbench.measures.answers import CASES
from exam_workbench.pipelines import (
    RELEVANT,
    Evaluation,
    View,
    case_at,
    check_case,
    confirm_case,
    evaluate,
    judge_as_relevant,
    take_back_case,
    unseen_by,
)
from exam_workbench.project import Project, add_gold_answer, judging, withdraw_gold_answer
from pages.parts.answers import desk
from pages.parts.shared import ui
from pages.parts.shared.acting import Act, asked_of
from pages.parts.shared.html import as_shown

SAID = "said of the cases of answers"


@dataclass
class Desk:
    """The cases as a person sees them, and the result of the last action.

    Args:
        said: message about the last action and the action that undoes it; kept until the next action.
        error: why an action failed.
        sources: whether the sources of gold passages may have changed.
    """

    project: Project
    view: View
    said: dict[str, Any] | None = field(default_factory=lambda: st.session_state.get(SAID))
    error: dict[str, str] | None = None
    sources: bool = False

    @property
    def evaluation(self) -> Evaluation:
        """The current evaluation, remembered until a change is saved."""
        return evaluate(self.project, self.view)

    def say(self, words: str, undo: Act | None = None) -> None:
        """Show a message about an action, until the next one."""
        self.said = {"words": as_shown(words), "undo": undo}
        st.session_state[SAID] = self.said


@st.fragment
def draw(project: Project, view: View) -> None:
    """Draw the list and the open case, and do the person's actions since the last run."""
    asked = asked_of(desk.KEY)
    at = Desk(project, view)
    for act in asked.each():
        try:
            ACTS[act["do"]](at, act)
        except WorkbenchError as error:
            at.error = {"code": error.code, "message": error.message, "hint": error.hint or ""}
    if at.sources:
        # The line at the top names the sources of gold passages and offers the present judges.
        st.rerun()
    data = desk.shown(project, at.evaluation, at.said, at.error)
    desk.case_list(key=desk.KEY, data=data | {"taken": asked.taken}, on_acts_change=asked.note)


def _place(act: Act) -> tuple[str, str, int]:
    found = desk.place_of(str(act["case"]))
    if found is None:
        raise WorkbenchError("unknown-case", "This case no longer exists.", "Go to the next case.")
    return found


def _open(at: Desk, act: Act) -> None:
    name = str(act.get("case") or "")
    if not name:
        rows = desk.listed(at.project, at.evaluation)
        row = rows[min(max(int(act["at"]), 0), len(rows) - 1)].line if rows else None
        name = "" if row is None else desk.id_of(row.query_id, row.run, row.k)
    desk.put(at=name)


def _filter(at: Desk, act: Act) -> None:
    if act["name"] in desk.NAMES:
        desk.put(**{act["name"]: str(act["value"]), "at": ""})


def _confirm(at: Desk, act: Act) -> None:
    query_id, run, k = _place(act)
    letter = check_case(str(act["letter"]))
    author = ui.author()
    confirm_case(at.project, at.evaluation, query_id, run, k, letter, author, str(act.get("note") or ""))
    row = case_at(at.project, at.evaluation, query_id, run, k)
    text = ui.shortened(row.side.query.text, 80)
    words = f"{letter} for “{text}”: {CASES[letter]}."
    if meanwhile := unseen_by(row, author, act.get("seen") or ()):
        said = " and ".join(f"{one.author} {one.case} ({CASES[one.case]})" for one in meanwhile)
        words += f" Also confirmed by {said}. Your decision counts because it is the latest."
    at.say(words, {"do": "take back", "case": act["case"]})
    desk.put(at=str(act.get("next") or ""))


def _take_back(at: Desk, act: Act) -> None:
    query_id, run, k = _place(act)
    take_back_case(at.project, at.evaluation, query_id, run, k, ui.author())
    at.say("Decision withdrawn. The case is open again.")
    desk.put(at=str(act["case"]))


def _judge(at: Desk, act: Act) -> None:
    query_id, run, k = _place(act)
    author = ui.author()
    row = case_at(at.project, at.evaluation, query_id, run, k)
    judge_as_relevant(at.project, row, str(act["passage"]), author)
    at.say(
        f"Passage {act['passage']} is judged {RELEVANT}. To count it as gold, choose"
        f" “{judging.source_of(author)}” under Change settings.",
        {"do": "unjudge", "case": act["case"], "passage": act["passage"]},
    )
    at.sources = True
    desk.put(at=str(act["case"]))


def _unjudge(at: Desk, act: Act) -> None:
    query_id, _, _ = _place(act)
    judging.withdraw(at.project, query_id, str(act["passage"]), ui.author())
    at.say("Judgment withdrawn.")
    at.sources = True


def _add_answer(at: Desk, act: Act) -> None:
    query_id, run, k = _place(act)
    answer = case_at(at.project, at.evaluation, query_id, run, k).line.answer
    if answer is None:
        raise WorkbenchError("unknown-answer", "This case has no answer to add.", "Go to the next case.")
    add_gold_answer(at.project, query_id, answer, ui.author())
    at.say(
        f"“{ui.shortened(answer, 80)}” is now a gold answer of the query.",
        {"do": "remove answer", "case": act["case"], "answer": answer},
    )
    desk.put(at=str(act["case"]))


def _remove_answer(at: Desk, act: Act) -> None:
    query_id, _, _ = _place(act)
    withdraw_gold_answer(at.project, query_id, str(act["answer"]), ui.author())
    at.say("Gold answer removed.")


ACTS: Mapping[str, Callable[[Desk, Act], None]] = {
    "open": _open,
    "filter": _filter,
    "confirm": _confirm,
    "take back": _take_back,
    "judge": _judge,
    "unjudge": _unjudge,
    "add answer": _add_answer,
    "remove answer": _remove_answer,
}
"""All actions of the component."""
