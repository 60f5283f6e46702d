"""Settling one disagreement: override, edit of the question, dispute of the judgment, or a comment."""

from __future__ import annotations

import streamlit as st

from core.errors import WorkbenchError
from core.labels import Policy, override
from core.project import Project, find_source
from core.review import (
    AskedQuestion,
    Case,
    Judgments,
    Labels,
    Outcome,
    Row,
    Settling,
    Side,
    case_of,
    outcome,
    read_passage,
    reopen,
    settle_by_comment,
    settle_by_dispute,
    settle_by_edit,
    settle_by_override,
)
from core.types import RATINGS, Act
from pages.parts.shared import presses, ui

HOW: dict[Act, str] = {
    "override": "Override",
    "edit": "Edit the question",
    "dispute": "Dispute the judgment",
    "comment": "Comment",
}
SAYS = {
    "edit": "Say what is wrong with the question. The case leaves the queue, and the bank opens with the passage.",
    "dispute": "The judgment stays and counts as before; it is listed among the disputed ones.",
    "comment": "The case leaves the queue as it is.",
}
OPEN = "settling"


def opener(key: str) -> None:
    """The button that opens the form of a case, and closes it again."""
    st.button(
        "Close" if is_open(key) else "Settle",
        key=f"settle {key}",
        icon=":material/expand_less:" if is_open(key) else ":material/task_alt:",
        on_click=_open,
        args=(None if is_open(key) else key,),
    )


def is_open(key: str) -> bool:
    """Whether the form of a case is open."""
    return bool(st.session_state.get(OPEN) == key)


def _open(key: str | None) -> None:
    st.session_state[OPEN] = key


def reopener(project: Project, one: Settling) -> None:
    """The button that puts a case back; where an override settled it, it asks whether that goes too."""
    if one.act != "override":
        if presses.button("Reopen", key=f"reopen {one.key}", type="tertiary", icon=":material/undo:"):
            _reopen(project, one, False)
        return
    with st.popover("Reopen", type="tertiary", icon=":material/undo:"):
        st.text(f"An override with rating {one.rating} settled this case.")
        kept = "Otherwise it stays in force, and the case is open with the label that it gives."
        too = st.checkbox("Withdraw the override too", True, key=f"withdraw {one.key}", help=kept)
        if presses.button("Reopen the case", key=f"reopen {one.key}", type="primary"):
            _reopen(project, one, too)


def _reopen(project: Project, one: Settling, withdraw: bool) -> None:
    try:
        withdrawn = reopen(project, one.case, "", ui.author(), withdraw)
    except WorkbenchError as error:
        ui.show_error(error)
        return
    said = "The case is back in the queue."
    if one.act == "override":
        said += " The override is withdrawn." if withdrawn else " An override of the question stays in force."
    st.toast(said, icon=":material/undo:", duration="long")
    st.rerun()


def to_bank(query_id: str, passage_id: str) -> None:
    """Go to the questions of a query, with a passage beside them."""
    st.session_state["beside"] = (query_id, passage_id)
    st.switch_page("pages/question_bank.py", query_params={"query": query_id, "passage": passage_id})


def form(project: Project, left: Side, right: Side, row: Row, policy: Policy | None, key: str) -> None:
    """How a case is settled, and why."""
    case = case_of(project, left, right, row.pair)
    judged = [find_source(project, side.source) for side in (left, right) if isinstance(side, Judgments)]
    offered: list[Act] = ["comment"]
    if judged:
        offered.insert(0, "dispute")
    asked = [] if policy is None or len(judged) == 2 else _asked(project, left, right, row, policy)
    if asked:
        offered = ["override", "edit", *offered]
    with st.container(border=True):
        how = st.segmented_control(
            "Settle by", offered, default=offered[0], format_func=HOW.__getitem__, key=f"how {key}", required=True
        )
        if how in SAYS:
            st.caption(SAYS[how])
        question, rating, source = None, None, None
        expected, leaves = None, True
        if how in ("override", "edit"):
            question = _question(asked, row, key, missing=how == "edit")
        if how == "override" and policy is not None and question is not None:
            rating = st.segmented_control("Rating", list(RATINGS), key=f"rating {key}")
            if rating is not None:
                used = _policy(left, right, policy)
                about = question.question.question_id
                expected = outcome(project, left, right, row.pair, used, about, int(rating), ui.person())
                leaves = _label_line(expected, used, int(rating), key)
        if how == "dispute":
            source = (
                judged[0]
                if len(judged) == 1
                else st.radio("Whose", judged, format_func=ui.plain, key=f"whose {key}", horizontal=True)
            )
        reason = st.text_input("Comment" if how == "comment" else "Reason", key=f"reason {key}")
        ready = how != "override" or (rating is not None and question is not None)
        label = "Settle and open the bank" if how == "edit" else "Settle" if leaves else "Override, keep the case open"
        if not presses.button(label, key=f"do {key}", type="primary", disabled=not ready):
            return
        try:
            if leaves:
                _settle(project, case, how, reason, question, rating, source)
            elif question is not None and rating is not None:
                override(project, question.question.question_id, case.passage_id, int(rating), reason, ui.author())
        except WorkbenchError as error:
            ui.show_error(error)
            return
    _open(None)
    if how == "edit":
        to_bank(case.query_id, case.passage_id)
    said = "The case is settled. It stays in the record." if leaves else "The case stays in the queue."
    if expected is not None and rating is not None:
        said = f"{_label_words(expected, int(rating), given=True)} {said}"
    st.toast(ui.plain(said), icon=":material/task_alt:", duration="long")
    st.rerun()


def _settle(
    project: Project,
    case: Case,
    how: Act,
    reason: str,
    question: AskedQuestion | None,
    rating: int | None,
    source: str | None,
) -> None:
    me = ui.author()
    if how == "override" and question is not None and rating is not None:
        settle_by_override(project, case, question.question.question_id, int(rating), reason, me)
    elif how == "edit":
        settle_by_edit(project, case, question.question.question_id if question else None, reason, me)
    elif how == "dispute" and source is not None:
        settle_by_dispute(project, case, source, reason, me)
    else:
        settle_by_comment(project, case, reason, me)


def _policy(left: Side, right: Side, policy: Policy) -> Policy:
    """The policy of the first side that has one."""
    return next((side.policy for side in (left, right) if isinstance(side, Labels)), policy)


def _asked(project: Project, left: Side, right: Side, row: Row, policy: Policy) -> list[AskedQuestion]:
    """The questions that may be to blame: highest rating first."""
    desk = read_passage(project, _policy(left, right, policy), row.pair.query_id, row.pair.passage_id)
    asked = [one for one in desk.asked if one.number and one.counts]
    if row.pair.question_id is not None:
        asked = [one for one in asked if one.question.question_id == row.pair.question_id]
    return sorted(asked, key=lambda one: (one.rating is None, -(one.rating or 0)))


def _question(asked: list[AskedQuestion], row: Row, key: str, missing: bool) -> AskedQuestion | None:
    options: list[AskedQuestion | None] = [*asked, None] if missing else [*asked]
    names = {one.question.question_id: one for one in asked}
    ids = [one.question.question_id if one else "" for one in options]
    given = {one.question_id for one in (*row.left_from, *row.right_from)}

    def said(question_id: str) -> str:
        if not question_id:
            return "A question is missing in the bank"
        one = names[question_id]
        mark = ", gives the label" if question_id in given else ""
        rated = "no rating" if one.rating is None else f"rated {one.rating}"
        return f"{one.question.shown}  ({rated}{mark})"

    picked = st.selectbox("Question", ids, format_func=said, key=f"asked {missing} {key}")
    if len(given) > 1 and not missing:
        st.caption(f"{len(given)} questions give this label: it stays until each of them is overridden.")
    return names.get(picked)


def _label_line(found: Outcome, policy: Policy, rating: int, key: str) -> bool:
    """What the label would become; returns whether the case is to leave the queue."""
    words = ui.plain(_label_words(found, rating, given=False))
    st.markdown(words if found.before == found.after else f":violet[**{words}**]")
    if not policy.overrides:
        st.caption("On this screen the grader stands by itself: an override counts under the policy, not here.")
    if found.agrees:
        return True
    return st.checkbox(
        "The sides still disagree after this override. Settle the case all the same", key=f"leaves {key}"
    )


def _label_words(found: Outcome, rating: int, given: bool) -> str:
    """What an override makes of the label.

    Args:
        given: whether it has been given.
    """
    before, after = ("none" if value is None else str(value) for value in (found.before, found.after))
    because = ""
    if found.also and found.after is not None and rating < found.after:
        first, also = found.also[0], "also " if found.before == found.after else ""
        more = f", as {'does' if len(found.also) == 2 else 'do'} {len(found.also) - 1} more" if found.also[1:] else ""
        because = f" because “{ui.shortened(first.text, 100)}” {also}gives {first.rating}{more}"
    if before == after:
        return f"The label stays {after}{because}."
    return f"The label is now {after}{because}." if given else f"Label {before} → {after}{because}"
