"""The questions of a passage with what graders and people say of each, as one component of our own.

It keeps what is being overridden, and the reason as far as it is typed, in the browser's tab. What is done comes as an
act with a number, which the tab sends again until it was taken: Streamlit ends a run as soon as the next message comes,
and what that run was told goes with it.
"""

from __future__ import annotations

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
    """What goes on in a browser tab: one object for all its runs.

    Args:
        asked: the act that came last, as the component gives it.
        handled: the number of the act that was taken last.
        refused: why it was not done, as code, message and hint; None where it was.
        place: the passage of what follows.
        tried: ratings that a person is about to give, by question id.
        made: keys of the overrides made last, which can be taken back together.
    """

    asked: dict[str, Any] | None = None
    handled: str = ""
    refused: tuple[str, str, str] | None = None
    place: Place | None = None
    tried: dict[str, int] = field(default_factory=dict)
    made: list[int] = field(default_factory=list)

    def about(self, place: Place) -> None:
        """Begin anew where another passage is open now."""
        if self.place != place:
            self.place, self.tried, self.made = place, {}, []


def bench() -> Bench:
    """That of this browser tab."""
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
    """Draw the questions of the open passage, those first that bear most on the label.

    Args:
        graders: by name, those to look at.
        tab: tells what is typed here from what is typed for other projects and people.
        hidden: whether nothing but the questions is shown, in the order of the bank.
        opened: the question whose raw output is shown.
        can_override: whether there is something to override, and a text to read.
        note: what to know about the scale of the grader, if anything.
        foretold: the label before and after what is tried.
        on_act, on_try, on_look: called when an act came, when ratings are tried, and when a question was opened:
            `take`, `tried` and `looked` give them.
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
    """What the component just reported under a name; None for nothing."""
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
    """Ratings by question id, as they come from a browser."""
    return {str(question_id): int(rating) for question_id, rating in given.items()}


def tab_of(project: str) -> str:
    """Tells what one person types for one project from all else that the browser keeps."""
    return f"{project}\n{ui.person()}"
