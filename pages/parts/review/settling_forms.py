"""Settling a disagreement: override, edit of the question, dispute of the judgment, comment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from exam_workbench import errors, labels, review, types
from exam_workbench.store import Project
from pages.parts.shared import address, awaited_edits, html, presses, ui

HOW: dict[types.Act, str] = {
    "override": "Override ratings",
    "edit": "Edit question",
    "dispute": "Dispute judgment",
    "comment": "Comment only",
}
SAYS: dict[types.Act, str] = {
    "override": "Your rating replaces the grader's for this passage and the selected questions.",
    "edit": (
        "Describe the problem with the question. The case is resolved when you save an edit of it."
    ),
    "dispute": "The judgment still counts. It is added to the list of disputed judgments.",
    "comment": "The case leaves the queue. No values change.",
}
LEAST_LEFT = "The case stays in the queue."
AWAITS_EDIT = "The case stays in the queue until you save an edit of the question."


@dataclass(frozen=True)
class SettlementResult:
    """The result of the latest settlement.

    Args:
        words: message about it.
        case: the case to reopen on Undo; None if the case stays open.
        overridden: whether it was an override, which Undo also withdraws.
    """

    words: str
    case: review.Case | None
    overridden: bool


def offer_settlements(
    project: Project,
    left: review.Side,
    right: review.Side,
    row: review.QueueRow,
    policy: labels.Policy | None,
) -> dict[str, Any]:
    """Return the possible settlements of a case, with the questions and judgments that may be
    wrong.
    """
    judged = [side.source for side in (left, right) if isinstance(side, review.Judgments)]
    ways: list[types.Act] = ["comment"]
    if judged:
        ways.insert(0, "dispute")
    suspects = [] if policy is None or len(judged) == 2 else _find_suspects(project, row, policy)
    if suspects:
        ways = ["override", "edit", *ways]
    question_ids = {candidate.question_id for candidate in (*row.left_from, *row.right_from)}
    return {
        "ways": [{"name": how, "title": HOW[how], "says": SAYS[how]} for how in ways],
        "asked": [
            {
                "id": candidate.question.question_id,
                "text": html.as_shown(candidate.question.shown_text),
                "rating": candidate.rating,
                "gives": candidate.question.question_id in question_ids,
            }
            for candidate in suspects
        ],
        "judged": judged,
        "ratings": list(types.RATINGS),
        "alone": policy is not None and not policy.overrides,
    }


def weigh_override(
    project: Project,
    left: review.Side,
    right: review.Side,
    row: review.QueueRow,
    policy: labels.Policy,
    questions: Sequence[str],
    rating: int,
) -> dict[str, Any]:
    """Return the effect of a rating for some questions on the label and on the case, before it is
    saved.
    """
    outcome = review.override_effect(
        project,
        left,
        right,
        row.pair,
        policy,
        questions,
        rating,
        ui.person(),
    )
    return {
        "questions": list(questions),
        "rating": rating,
        "words": _label_words(outcome, rating, is_saved=False),
        "moves": outcome.before != outcome.after,
        "agrees": outcome.agrees,
    }


def settle_case(
    project: Project,
    left: review.Side,
    right: review.Side,
    row: review.QueueRow,
    policy: labels.Policy | None,
    settlement: Mapping[str, Any],
) -> SettlementResult:
    """Settle a case and return the result; after an override that does not resolve it, the case may
    stay open.

    Args:
        settlement: how, question, questions, rating, source, reason, and whether the case leaves
            the queue in any case.

    Raises:
        InputError: no reason, or anything else that `exam_workbench.review` refuses.
        AlreadySettled: another person was first.
    """
    if row.settling is not None:
        raise review.AlreadySettled(row.settling)
    case = review.case_of(project, left, right, row.pair)
    how, reason = settlement["how"], str(settlement.get("reason") or "")
    question_id = settlement.get("question") or None
    me = ui.author()
    if how == "override" and policy is not None:
        questions, rating = [str(one) for one in settlement["questions"]], int(settlement["rating"])
        outcome = review.override_effect(
            project, left, right, row.pair, policy, questions, rating, me
        )
        leaves = outcome.agrees or bool(settlement.get("leaves"))
        if leaves:
            review.settle_by_override(project, case, questions, rating, reason, me, first=True)
        else:
            labels.override_all(
                project, case.passage_id, dict.fromkeys(questions, rating), reason, me
            )
        message = _label_words(outcome, rating, is_saved=True)
        return SettlementResult(
            f"{message} {'The case is resolved.' if leaves else LEAST_LEFT}",
            case if leaves else None,
            leaves,
        )
    if how == "edit":
        if not reason.strip():
            raise errors.InputError(
                "empty-reason", "The reason is empty.", "Describe the problem with the question."
            )
        awaited_edits.list_awaited().append(
            awaited_edits.AwaitedEdit(project.name, case, question_id, reason)
        )
        return SettlementResult(AWAITS_EDIT, None, False)
    if how == "dispute":
        review.settle_by_dispute(project, case, str(settlement["source"]), reason, me, first=True)
    else:
        review.settle_by_comment(project, case, reason, me, first=True)
    return SettlementResult("Case resolved. It is listed under Resolved.", case, False)


def reopen_settled_case(project: Project, case: review.Case, withdraw: bool) -> str:
    """Reopen a settled case; return a message about it.

    Args:
        withdraw: also withdraw the override that settled it.

    Raises:
        InputError: it is not settled any more.
    """
    withdrawn = review.reopen_case(project, case, "", ui.author(), withdraw)
    gone = f" Overrides withdrawn: {withdrawn}."
    return "Case reopened." + (gone if withdrawn else "")


def draw_reopener(project: Project, settling: review.SettlingAction) -> None:
    """Draw a button that reopens a case of the record; for an override, it offers to withdraw it,
    too.
    """
    if settling.act != "override":
        if presses.button(
            "Reopen", key=f"reopen {settling.key}", type="tertiary", icon=":material/undo:"
        ):
            _reopen_case(project, settling, False)
        return
    with st.popover("Reopen", type="tertiary", icon=":material/undo:"):
        st.text(f"This case was resolved by an override with rating {settling.rating}.")
        kept = "If you keep the override, its rating still applies in the reopened case."
        too = st.checkbox(
            "Also withdraw the override", True, key=f"withdraw {settling.key}", help=kept
        )
        if presses.button("Reopen case", key=f"reopen {settling.key}", type="primary"):
            _reopen_case(project, settling, too)


@ui.errors()
def _reopen_case(project: Project, settling: review.SettlingAction, withdraw: bool) -> None:
    message = reopen_settled_case(project, settling.case, withdraw)
    if settling.act == "override" and not withdraw:
        message += " The override still applies."
    st.toast(message, icon=":material/undo:", duration="long")
    st.rerun()


def to_bank(query_id: str, passage_id: str, question_id: str | None = None) -> None:
    """Go to the questions of a query, with a passage next to them, and to a question if given."""
    st.session_state[awaited_edits.TO_EDIT] = question_id
    st.session_state["beside"] = (query_id, passage_id)
    there = {**address.kept_parameters(), "query": query_id, "passage": passage_id}
    st.switch_page("pages/question_bank.py", query_params=there)


def _find_suspects(
    project: Project, row: review.QueueRow, policy: labels.Policy
) -> list[review.AskedQuestion]:
    """Return the questions that may be wrong, highest rating first."""
    desk = review.read_passage(project, policy, row.pair.query_id, row.pair.passage_id)
    suspects = [
        suspect
        for suspect in desk.asked
        if suspect.number
        and suspect.counts
        and row.pair.question_id in (None, suspect.question.question_id)
    ]
    return sorted(suspects, key=lambda suspect: (suspect.rating is None, -(suspect.rating or 0)))


def _label_words(outcome: review.OverrideEffect, rating: int, is_saved: bool) -> str:
    """Return the effect of an override on the label, in words.

    Args:
        is_saved: whether it is saved already.
    """
    before, after = html.name_label(outcome.before), html.name_label(outcome.after)
    because = ""
    if outcome.also and outcome.after is not None and rating < outcome.after:
        first, also = outcome.also[0], "also " if outcome.before == outcome.after else ""
        more = f", like {len(outcome.also) - 1} more" if outcome.also[1:] else ""
        because = (
            f" because “{ui.shorten_text(first.text, 100)}” is {also}rated {first.rating}{more}"
        )
    if before == after:
        return f"The label stays {after}{because}."
    return (
        f"The label is now {after}{because}." if is_saved else f"Label {before} → {after}{because}"
    )
