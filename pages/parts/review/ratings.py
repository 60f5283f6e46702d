"""The questions of a passage with the ratings of graders and people, in a component.

The browser tab keeps the unfinished override and its reason. Actions arrive as numbered actions, which the tab sends
again until they are taken. This is needed because Streamlit ends a run, and loses its input, as soon as the next
message arrives.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from exam_workbench.labels import Override
from exam_workbench.review import AskedQuestion, Desk, Said, strongest_first
from pages.parts.review.passage_list import Place
from pages.parts.shared import ui
from pages.parts.shared.components import component

KEY = "question-ratings"

_ratings = component("ratings", "review/ratings.css", "review/ratings.js")


@dataclass
class Bench:
    """The state of a browser tab: one object for all its runs.

    Args:
        asked: the latest action of the component.
        handled: number of the latest action that was taken.
        refused: code, message and hint if it failed, otherwise None.
        place: the passage of the fields below.
        tried: ratings that a person is trying, by question id.
        made: keys of the latest overrides, which can be withdrawn together.
    """

    asked: dict[str, Any] | None = None
    handled: str = ""
    refused: tuple[str, str, str] | None = None
    place: Place | None = None
    tried: dict[str, int] = field(default_factory=dict)
    made: list[int] = field(default_factory=list)

    def about(self, place: Place) -> None:
        """Reset the state if another passage is open now."""
        if self.place != place:
            self.place, self.tried, self.made = place, {}, []


def bench() -> Bench:
    """Return the bench of this browser tab."""
    return st.session_state.setdefault("override bench", Bench())


def ratings(
    desk: Desk,
    graders: Collection[str],
    *,
    tab: str,
    hidden: bool,
    opened: str | None,
    can_override: bool,
    note: str,
    foretold: tuple[int | None, int | None] | None,
    on_act: Callable[[], None],
    on_try: Callable[[], None],
    on_look: Callable[[], None],
) -> None:
    """Draw the questions of the open passage, beginning with those that affect the label most.

    Args:
        graders: names of the graders to show.
        tab: distinguishes the typed text from that for other projects and people.
        hidden: whether only the questions are shown, in the order of the bank.
        opened: the question whose raw output is shown.
        can_override: whether there is a rating to override and a text to read.
        note: remark on the grader's scale, if any.
        foretold: the label before and after the tried ratings.
        on_act, on_try, on_look: called for an action, for tried ratings, and for an opened question; `told` returns
            each.
    """
    here = bench()
    asked = desk.asked if hidden else strongest_first(desk.asked)
    _ratings(
        key=KEY,
        data={
            "at": (desk.query_id, desk.passage_id),
            "tab": tab,
            "hidden": hidden,
            "can": can_override and not hidden,
            "several": len(graders) > 1,
            "questions": [_question(one, graders, hidden, opened == one.question.question_id) for one in asked],
            "note": note,
            "tried": here.tried,
            "label": foretold,
            "handled": here.handled,
            "refused": here.refused,
            "made": here.made,
        },
        on_act_change=on_act,
        on_try_change=on_try,
        on_look_change=on_look,
    )


def told(name: str) -> Any:
    """Return the component's latest report of a name; None without a report."""
    return st.session_state[KEY].get(name)


def _question(one: AskedQuestion, graders: Collection[str], hidden: bool, opened: bool) -> dict[str, Any]:
    question = one.question
    kind = [] if question.kind == "question" else [question.kind]
    weight = [] if question.weight == 1 else [f"weight {question.weight:g}"]
    avoid = ["counts against the response"] if question.weight < 0 else []
    about: dict[str, Any] = {
        "id": question.question_id,
        "number": one.number,
        "words": "The query itself" if one.number == 0 else question.shown,
        "about": [*kind, *weight, *avoid],
    }
    if hidden:
        return about
    return about | {
        "gives": one.gives_label,
        "counts": one.counts,
        "rating": one.override.rating if one.override and not one.counts else one.rating,
        "said": [_said(name, one.said.get(name), opened) for name in graders],
        "override": None if one.override is None else _override(one.override),
        "stale": [_override(old) | {"wording": old.wording} for old in one.stale],
        "opened": opened,
    }


def _said(grader: str, said: Said | None, opened: bool) -> dict[str, Any]:
    if said is None:
        return {"grader": grader, "status": "not asked"}
    more = [] if said.confidence is None else [f"confidence {said.confidence:.0%}"]
    more += [part for part in (said.reason, said.note) if part]
    about: dict[str, Any] = {
        "grader": grader,
        "status": said.status,
        "rating": said.rating,
        "answer": said.answer,
        "more": more,
    }
    if opened:
        about |= {"raw": said.raw, "chances": None if said.distribution is None else list(said.distribution)}
    return about


def _override(one: Override) -> dict[str, Any]:
    return {
        "key": one.key,
        "rating": one.rating,
        "by": f"{one.author}, {one.made_at:%d %B %Y}",
        "reason": one.reason,
        "held": one.held,
    }


def ratings_of(given: Mapping[str, Any]) -> dict[str, int]:
    """Return ratings by question id from the browser's data."""
    return {str(question_id): int(rating) for question_id, rating in given.items()}


def tab_of(project: str) -> str:
    """Return a key for the text that a person types in a project."""
    return f"{project}\n{ui.person()}"
