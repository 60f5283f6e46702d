"""The tour of the demo: three steps of a minute in total, each marked on its screen; it can be
skipped for good.
"""

from dataclasses import dataclass

import streamlit as st

from exam_workbench import exchange
from pages.parts.shared import address, components

COOKIE = "exam-workbench-toured"
STOP_COOKIE = "exam-workbench-tour-stop"
"""Name of the cookie with the number of the browser's current step. The tour continues there after
a reload.
"""


@dataclass(frozen=True)
class TourStep:
    """A step of the tour.

    Args:
        title: a few words.
        todo: the instruction.
        screen, query: address of the step.
        points_at: kind of the marked element (`field` or `button`), and the beginning of its text
            or its accessible name.
    """

    title: str
    todo: str
    screen: str
    query: dict[str, str]
    points_at: tuple[str, str]


STOPS = (
    TourStep(
        "Change a question and see which labels change",
        "“What happened to the bridge?” is too broad: passages that are not relevant answer it. Set"
        " its weight to 0. The impact shows which labels change and which systems change rank. Your"
        " change has no effect until you save it.",
        "question_bank",
        {"query": "tacoma-bridge"},
        ("field", "What happened to the bridge?"),
    ),
    TourStep(
        "Find what fooled the grader",
        "Some passages of this query were planted to mislead the grader. This one only asks, but"
        " the grader rates it as an answer. Rate it 0 and enter a reason. Your override replaces"
        " the grader's rating. Disagreements lists the other planted passages.",
        "passages",
        {"query": "fish-mercury", "passage": "fish-mercury-04", "question": "fish-mercury/q01"},
        ("button", "Rate 0"),
    ),
    TourStep(
        "Download the qrels",
        "Press the button to get the labels as a file for trec_eval. The numbers below show how"
        " complete the labels are.",
        "export",
        {},
        ("button", "Download qrels"),
    ),
)

WHY_SO = (
    f"{exchange.MADE_COLLECTION} The grader of the demo is a small embedding model that compares"
    " texts by similarity. In one query, an advert, a bare question and a copy with false facts"
    " mislead it. It also favours the “dense” systems, which search with the same model. You can"
    " correct this with better questions and overrides."
)


def _has_cookie() -> bool:
    """Return whether this browser has skipped or finished the tour before."""
    return st.context.cookies.get(COOKIE) == "1"


def _left_at() -> int | None:
    """Return the step of this browser before a reload; None if the tour was not running."""
    said = st.context.cookies.get(STOP_COOKIE, "")
    return int(said) if said.isdecimal() and int(said) < len(STOPS) else None


def draw_greeting() -> None:
    """Draw the introduction on Home of the demo: the steps if they are new here, and remarks on the
    demo's results.
    """
    if st.session_state.get("toured") or _has_cookie():
        st.caption(WHY_SO)
        st.button(
            "Take the tour", key="tour again", type="tertiary", on_click=_ask_for_stop, args=(0,)
        )
        return
    stops_done = st.session_state.setdefault("toured stops", set())
    with st.container(border=True, key="greeting", gap="xsmall"):
        st.subheader("Welcome. Three steps to know the app", anchor=False)
        for at, stop in enumerate(STOPS):
            st.button(
                f"{at + 1}. {stop.title}{' (done)' if at in stops_done else ''}",
                key=f"tour step {at}",
                type="tertiary",
                on_click=_ask_for_stop,
                args=(at,),
            )
        st.caption(WHY_SO)
        with st.container(horizontal=True):
            st.button(
                "Start the tour",
                key="start tour",
                type="primary",
                on_click=_ask_for_stop,
                args=(0,),
            )
            st.button("Skip the tour", key="skip tour", on_click=_end_tour)


def draw_tour_step(screen: str) -> None:
    """Draw the instruction of a step on its screen; draw nothing outside the tour.

    Args:
        screen: the open screen; the tour continues after a reload if it belongs to the present
            step.
    """
    if "tour known" not in st.session_state:
        st.session_state["tour known"] = True
        left = _left_at()
        if left is not None and STOPS[left].screen == screen:
            st.session_state["tour stop"] = left
            st.session_state["toured stops"] = set(range(left + 1))
    if (at := st.session_state.pop("tour asked", None)) is not None:
        st.session_state["tour stop"] = at
        st.session_state.setdefault("toured stops", set()).add(at)
        place = address.kept_parameters() | STOPS[at].query
        st.switch_page(f"pages/{STOPS[at].screen}.py", query_params=place)
    at = st.session_state.get("tour stop")
    if st.session_state.get("toured"):
        components.draw("cookie", "tour over", {"cookie": COOKIE, "value": "1"})
        components.draw("cookie", "no tour step", {"cookie": STOP_COOKIE, "value": ""})
    if at is None:
        return
    stop, is_last = STOPS[at], at + 1 == len(STOPS)
    # Over the menu, it covers nothing that the tour points at.
    with st.container(key="tour-step"):
        st.caption(f"Tour, step {at + 1} of {len(STOPS)}")
        st.subheader(stop.title, anchor=False)
        st.text(stop.todo)
        if not is_last:
            st.button(
                "Next", key="next step", type="primary", on_click=_ask_for_stop, args=(at + 1,)
            )
        st.button("Done" if is_last else "End the tour", key="end tour", on_click=_end_tour)
        components.draw(
            "cookie", "kept step", {"cookie": STOP_COOKIE, "value": str(at), "lasts": None}
        )
        components.draw("tour", "tour", {"points_at": stop.points_at})


def _ask_for_stop(at: int) -> None:
    st.session_state["tour asked"] = at


def _end_tour() -> None:
    st.session_state["toured"] = True
    st.session_state.pop("tour stop", None)
