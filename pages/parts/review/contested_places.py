"""Navigation through contested places in a component, and people's decisions on them."""

from datetime import datetime
from typing import Any

import streamlit as st

from exam_workbench import review, text, types
from exam_workbench.records import SCALE
from exam_workbench.store import Project
from pages.parts.shared import actions, address

KEY = "deciding"
AHEAD = 20
"""Number of places before and after the open one that the browser can reach without the server."""
NAMES = ("query", "passage", "question")
"""Address parameters of the open place."""
STATE = "adjudicated state"
"""Key of the widget that selects the list."""
_LISTED, _HERE_DECIDED = "listed to decide", "decided in this tab"
"""Session keys: the places in order, including formerly listed ones, and the times of this tab's
decisions.
"""
_LACKING = "lacking to decide"
"""Session key of the list that is shown because the place in the address is in no list."""


def draw(project: Project, listed: list[review.ContestedCase], at: int) -> None:
    """Draw the position in the list and the buttons to move on; a pressed digit decides the open
    place.
    """
    first = max(0, at - AHEAD)
    data = {
        "home": project.name,
        "chosen": listed[at].place,
        "places": [one.place for one in listed[first : at + AHEAD + 1]],
        "decided": [decision_time(one) for one in listed[first : at + AHEAD + 1]],
        "first": first,
        "total": len(listed),
        "decides": listed[at].standing != "waiting",
        "judged": list(SCALE),
        "rated": list(types.RATINGS),
    }
    actions.pending_actions(KEY).draw("decisions", data)


def decision_time(contested: review.ContestedCase) -> str | None:
    """Return the time of the present decision, by which an action names the decision that it
    replaces; else None.
    """
    return contested.decision and contested.decision.stated_at.isoformat()


def choose_linked_list(project: Project, places: list[review.ContestedCase]) -> None:
    """If the person followed a link, choose the list that contains the linked place.

    Call this before the choice of the list is drawn, whose key is `STATE`.

    Args:
        places: the places of all lists.
    """
    came = _address_places().apply_address(project.name)
    standing = next(
        (contested.standing for contested in places if contested.place == _named_place()), None
    )
    if came and standing is not None:
        st.session_state[STATE] = standing
    st.session_state.setdefault(STATE, "differs")
    if came:
        st.session_state[_LACKING] = (
            st.session_state[STATE] if _address_places().present_place and standing is None else ""
        )


def find_open_place(listed: list[review.ContestedCase]) -> int:
    """Return the position of the open place in the list.

    If the place has left the list, as after a decision, the next listed place opens, and the
    address names it.
    """
    now = _named_place()
    numbers = {contested.place: at for at, contested in enumerate(listed)}
    order: list[review.Place] = st.session_state.get(_LISTED, [])
    if not numbers.keys() <= set(order):
        order = st.session_state[_LISTED] = list(numbers)
    if now not in numbers:
        at = order.index(now) if now in order else 0
        now = next(place for place in [*order[at:], *order[:at][::-1]] if place in numbers)
    # In every run, so that elements keep their positions on the page.
    address.begin_at(**_address_places().set(**_address_parts(now)))
    return numbers[now]


def is_link_unlisted() -> bool:
    """Return whether the address names an unlisted place, and another one is open instead."""
    return st.session_state.get(_LACKING) == st.session_state[STATE]


def draw_button(
    label: str, project: Project, do: str, fields: dict[str, Any], **options: Any
) -> None:
    """Draw a button whose presses are queued like the actions of the component.

    Args:
        do: `decide_case`, `undo` or `accept`.
        fields: the other fields of the action.
        options: passed to `st.draw_button`.
    """
    st.button(
        label,
        on_click=actions.pending_actions(KEY).note_press,
        args=({"do": do, "home": project.name, **fields},),
        **options,
    )


def draw_reason(project: Project, place: review.Place) -> None:
    """Draw the field for the reason of a decision; its text stays with its place."""
    st.text_input(
        "Reason",
        key=_reason_key(project, place),
        placeholder="Reason for the decision (required)",
        persist_state="session",
    )


def do_actions(project: Project) -> None:
    """Do the pending actions; each decision is on the place that was open when it was made.

    Raises:
        WorkbenchError: some decisions were not saved; the message names them.
    """
    pending_acts = actions.pending_actions(KEY)
    acts = list(pending_acts.acts)
    if acts:
        st.session_state[_LACKING] = ""
    steps = [pending for pending in acts if pending["do"] == "open"]
    if gone := [_place_of_act(pending) for pending in steps if pending["home"] == project.name]:
        # The steps leave the queue only afterwards: if the run ends here, the next run repeats
        # them.
        _address_places().go_to(**_address_parts(gone[-1]))
    for pending in steps:
        pending_acts.remove(pending)
    decided = [pending for pending in acts if pending["do"] != "open"]
    reasons = {
        _place_of_act(pending): str(
            st.session_state.get(_reason_key(project, _place_of_act(pending))) or ""
        )
        for pending in decided
        if pending["do"] == "decide"
    }

    decided_here: dict[review.Place, datetime] = st.session_state.setdefault(_HERE_DECIDED, {})

    def save_decision(pressed: actions.Act, author: str) -> str:
        if pressed["do"] == "accept":
            accepted = review.accept_agreed(project, str(pressed["query"]), author)
            return f"Saved {text.how_many(accepted, 'decisions')}."
        place = _place_of_act(pressed)
        if pressed["do"] == "undo":
            review.undo_decision(project, place, author)
            return "Decision withdrawn."
        # After two quick decisions, the second one does not know the time of the first one, which
        # it replaces.
        seen_at = datetime.fromisoformat(pressed["over"]) if pressed["over"] else None
        decided_here[place] = review.decide_case(
            project,
            place,
            int(pressed["value"]),
            reasons[place],
            author,
            {seen_at, decided_here.get(place, seen_at)},
        )
        return f"Decision saved: {pressed['value']}."

    actions.save_all(pending_acts, decided, project.name, save_decision, _name_act)


def _named_place() -> review.Place:
    """Return the open place; unknown parts are empty."""
    now = _address_places().present_place
    return now.get("query", ""), now.get("passage", ""), now.get("question")


def _address_places() -> address.ScreenPlaces:
    return address.places_of_screen(KEY, NAMES)


def _address_parts(place: review.Place) -> dict[str, str]:
    return {name: key or "" for name, key in zip(NAMES, place, strict=True)}


def _place_of_act(act: actions.Act) -> review.Place:
    query_id, passage_id, question_id = act["place"]
    return str(query_id), str(passage_id), None if question_id is None else str(question_id)


def _reason_key(project: Project, place: review.Place) -> str:
    return f"reason {project.name} {place}"


def _name_act(act: actions.Act) -> str:
    if act["do"] == "accept":
        return f"Your acceptance of the agreed values for query {act['query']}"
    _, passage_id, question_id = act["place"]
    where = (
        f"passage {passage_id}"
        if question_id is None
        else f"question {question_id} and passage {passage_id}"
    )
    return (
        f"The withdrawal of the decision on {where}"
        if act["do"] == "undo"
        else f"Your decision {act['value']} on {where}"
    )
