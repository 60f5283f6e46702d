"""The tour of the demo: three steps of a minute in total, each marked on its screen; it can be skipped for good."""

from dataclasses import dataclass
from typing import Any

import streamlit as st

from exam_workbench import exchange
from pages.parts.home import panels
from pages.parts.shared import components

COOKIE = "exam-workbench-toured"
STOP_COOKIE = "exam-workbench-tour-stop"
"""Name of the cookie with the number of the browser's current step. The tour continues there after a reload."""


@dataclass(frozen=True)
class Stop:
    """A step of the tour.

    Args:
        title: a few words.
        todo: the instruction.
        screen, query: address of the step.
        points_at: kind of the marked element (`field` or `button`), and the beginning of its text or its accessible
            name.
    """

    title: str
    todo: str
    screen: str
    query: dict[str, str]
    points_at: tuple[str, str]


STOPS = (
    Stop(
        "Change a question and see which labels change",
        "“What happened to the bridge?” is too broad: passages that are not relevant answer it. Set its weight to 0."
        " The impact shows which labels change and which systems change rank. Your change has no effect until you save"
        " it.",
        "question_bank",
        {"query": "tacoma-bridge"},
        ("field", "What happened to the bridge?"),
    ),
    Stop(
        "Find what fooled the grader",
        "Some passages of this query were planted to mislead the grader. This one only asks, but the grader rates it"
        " as an answer. Rate it 0 and enter a reason. Your override replaces the grader's rating. Disagreements lists"
        " the other planted passages.",
        "passages",
        {"query": "fish-mercury", "passage": "fish-mercury-04", "question": "fish-mercury/q01"},
        ("button", "Rate 0"),
    ),
    Stop(
        "Download the qrels",
        "Press the button to get the labels as a file for trec_eval. The numbers below show how complete the labels"
        " are.",
        "export",
        {},
        ("button", "Download qrels"),
    ),
)

WHY_SO = (
    f"{exchange.MADE_COLLECTION} The grader of the demo is a small embedding model that compares texts by similarity."
    " In one query, an advert, a bare question and a copy with false facts mislead it. It also favours the “dense”"
    " systems, which search with the same model. You can correct this with better questions and overrides."
)


def is_tour_over() -> bool:
    """Return whether this browser has skipped or finished the tour."""
    return bool(st.session_state.get("toured")) or _has_cookie()


def _has_cookie() -> bool:
    return st.context.cookies.get(COOKIE) == "1"


def _left_at() -> int | None:
    """Return the step of this browser before a reload; None if the tour was not running."""
    said = st.context.cookies.get(STOP_COOKIE, "")
    return int(said) if said.isdecimal() and int(said) < len(STOPS) else None


def draw_greeting() -> None:
    """Draw the introduction on Home of the demo: the steps if they are new here, and remarks on the demo's results."""
    if is_tour_over():
        _draw_tour("tour again", {"mode": "about", "why": WHY_SO})
        return
    done = st.session_state.setdefault("toured stops", set())
    stops = [{"title": stop.title, "done": at in done} for at, stop in enumerate(STOPS)]
    _draw_tour("greeting", {"mode": "greeting", "stops": stops, "why": WHY_SO})


def accompany(screen: str) -> None:
    """Draw the instruction of a step on its screen; draw nothing outside the tour.

    Args:
        screen: the open screen; the tour continues after a reload if it belongs to the present step.
    """
    if "tour known" not in st.session_state:
        st.session_state["tour known"] = True
        left = _left_at()
        if left is not None and STOPS[left].screen == screen:
            st.session_state["tour stop"] = left
            st.session_state["toured stops"] = set(range(left + 1))
    if (at := st.session_state.pop("tour asked", None)) is not None:
        _go_to_stop(at)
    at = st.session_state.get("tour stop")
    if at is None:
        return
    stop = STOPS[at]
    kind, words = stop.points_at
    _draw_tour(
        "tour",
        {
            "mode": "stop",
            "number": at + 1,
            "of": len(STOPS),
            "title": stop.title,
            "todo": stop.todo,
            "points_at": kind,
            "words": words,
        },
    )


def _go_to_stop(at: int) -> None:
    if not 0 <= at < len(STOPS):
        return
    st.session_state["tour stop"] = at
    st.session_state.setdefault("toured stops", set()).add(at)
    stop = STOPS[at]
    panels.switch_screen(stop.screen, stop.query)


def _draw_tour(key: str, data: dict[str, Any]) -> None:
    components.draw(
        "tour",
        key,
        data | {"cookie": COOKIE, "stop_cookie": STOP_COOKIE},
        on_stop_change=lambda: _keep_asked_stop(key),
        on_end_change=_end_tour,
        on_again_change=_start_again,
    )


def _keep_asked_stop(key: str) -> None:
    given = st.session_state[key]["stop"]
    st.session_state["tour asked"] = given if isinstance(given, int) else None


def _end_tour() -> None:
    st.session_state["toured"] = True
    st.session_state.pop("tour stop", None)


def _start_again() -> None:
    st.session_state["tour asked"] = 0
