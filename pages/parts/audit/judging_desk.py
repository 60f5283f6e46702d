"""The judging desk: an assessor's passages in order, in a component that has the next ones already.

The browser sends each judgment as an action, and again until the server has received it. So a
closed browser loses no sent action, and the assessor does not wait for the server between two
passages.
"""

from typing import Any

import streamlit as st

from exam_workbench import audit as room, types
from exam_workbench.store import Project
from pages.parts.shared import actions, html, ui

KEY = "judging"
AHEAD = 6
"""Minimum number of passages in the browser, if so many are left."""
VERDICTS: dict[str, types.Said] = {
    "cannot say": "cannot say",
    "skip": "skipped",
    "take back": "taken back",
}
"""The verdicts without a value, by the action that records them."""


@st.fragment
@ui.errors()
def draw(project: Project, audit: room.Audit) -> None:
    """Draw the assessor's desk if there is a batch, and judge its passages until it is finished."""
    ui.require_content(
        room.list_batches(project, audit),
        "No passages to judge yet.",
        "Draw a batch in the Leaderboard view.",
    )
    ui.require_content(
        not audit.ended,
        "This audit has ended.",
        "Its leaderboard and judgments are kept.",
        code="audit-ended",
    )
    person = ui.person()
    ui.require_content(
        person,
        "Your name is missing.",
        "Enter your name above. Your judgments are stored under it.",
    )
    pending = actions.pending_actions(KEY)
    error = pending.do_actions(lambda act: _do_action(project, audit, person, act))
    batch = room.list_batches(project, audit)[-1]
    hands = [] if batch.ended else room.deal_ahead(project, audit, person, AHEAD)
    open_count = (
        hands[0].left if hands else 0 if batch.ended else room.count_open_judgments(project, audit)
    )
    pending.draw(
        "judging",
        _desk_data(project, audit, person, batch, hands, open_count)
        | {"left": open_count, "error": error},
    )


def _desk_data(
    project: Project,
    audit: room.Audit,
    person: str,
    batch: room.Batch,
    hands: list[room.AssignedQuery],
    open_count: int,
) -> dict[str, Any]:
    people = room.list_audit_assessors(project, audit)
    me = next((assessor for assessor in people if assessor.name == person), None)
    others = [
        assessor.name
        for assessor in people
        if assessor.name != person and assessor.query_id is not None
    ]
    also = html.as_shown(f"also judging: {', '.join(others[:3])}") if others else ""
    cards = [_card_data(assessor, card) for assessor in hands for card in assessor.cards]
    return {
        # If a part of it changes, the tab starts again.
        "home": f"{project.path} {audit.key} {batch.number} {person}",
        "queries": {
            hand.query.query_id: {
                "text": html.as_shown(hand.query.text),
                "narrative": html.as_shown(hand.query.narrative or ""),
                "questions": [html.as_shown(question.shown_text) for question in hand.questions],
            }
            for hand in hands
        },
        "cards": cards,
        "open": [at for at, card in enumerate(cards) if not card["settled"]],
        "scale": [
            {"value": value, "says": says} for value, says in room.judgment_scale(audit).items()
        ],
        "labels": st.session_state.get(_seen_labels_key(audit), []),
        "tools": ["cannot say", "skip", "look"],
        "latest": next((card for card in reversed(cards) if card["settled"]), None),
        "progress": {
            "of": f"of batch {batch.number}",
            "drawn": batch.drawn + batch.doubled,
            "done": batch.judged + batch.cannot_say + batch.judged_twice,
            "mine": me.judged + me.cannot_say if me else 0,
            "others": also,
        },
        "finished": _finished_text(batch.number, open_count, also),
    }


def _finished_text(batch: int, open_count: int, also: str) -> dict[str, str]:
    """Return the text of the desk if the person has no passage to judge, and the action that it
    offers.
    """
    if not open_count:
        return {
            "title": f"Batch {batch} is judged.",
            "about": "The leaderboard shows the result.",
            "act": "board",
            "words": "Show leaderboard",
        }
    about = (
        "Other assessors have the remaining judgments of the batch"
        f" ({'; '.join(filter(None, (str(open_count), also)))})."
        " You get the passages that they skip or release."
    )
    return {
        "title": "No passages for you at the moment.",
        "about": about,
        "act": "again",
        "words": "Check again",
    }


def _card_data(hand: room.AssignedQuery, card: room.AssignedPassage) -> dict[str, Any]:
    return {
        "query": hand.query.query_id,
        "passage": card.passage_id,
        "text": None if card.text is None else html.as_shown(card.text),
        "said": card.said,
        "value": card.value,
        "settled": card.is_settled,
        "again": hand.turn == 2,
    }


def _seen_labels_key(audit: room.Audit) -> str:
    """Return the session key for the labels that the person asked to see."""
    return f"labels shown in audit {audit.key}"


def _do_action(project: Project, audit: room.Audit, person: str, act: actions.Act) -> None:
    """Do an action of the desk; "again" only reads the assigned passages again."""
    match act["do"]:
        case "judge":
            value = int(act["value"])
            room.judge_drawn(project, audit, act["query"], act["passage"], value, person)
        case "cannot say" | "skip" | "take back" as what:
            verdict = room.Verdict(act["query"], act["passage"], VERDICTS[what])
            room.store_verdict(project, audit, verdict, person)
        case "look":
            seen_label = room.reveal_label(project, audit, act["query"], act["passage"], person)
            st.session_state.setdefault(_seen_labels_key(audit), []).append(
                {
                    "query": act["query"],
                    "passage": act["passage"],
                    "label": seen_label.label,
                    "highest": seen_label.highest,
                    "more": "The audit records that you have seen the label.",
                }
            )
        case "board":
            st.session_state["view"] = "Board"
            st.rerun(scope="app")
