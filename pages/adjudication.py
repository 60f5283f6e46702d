"""Adjudication: independent ratings or judgments of the same pair, next to the passage, for a person to decide."""

from collections import Counter

import streamlit as st

from exam_workbench import review, types
from exam_workbench.records import SCALE, passage_texts
from exam_workbench.store import Project
from pages.parts.review import contested_places, passage_panel
from pages.parts.shared import html, ui

TITLES = {"differs": "Disagree", "agrees": "Agree", "waiting": "Waiting", "decided": "Decided"}
NOTHING = {
    "differs": "No disagreements to adjudicate.",
    "agrees": "No agreed values to accept.",
    "waiting": "No pairs are waiting for an assessor.",
    "decided": "No decisions yet.",
}
# The passage takes the free width; the decision is on the right, or below in a narrow window.
STYLE = """
.st-key-adjudicate { flex-wrap: wrap; align-items: flex-start; }
.st-key-adjudicate > :first-child { flex: 3 1 26rem; min-width: min(100%, 26rem); }
.st-key-adjudicate > :last-child { flex: 2 1 18rem; min-width: min(100%, 18rem); }
"""


def step(project: Project, listed: list[review.Contested], at: int) -> None:
    """Draw the position in the list, and the buttons to move on."""
    query_id = listed[at].query_id
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="content"):
            contested_places.draw(project, listed, at)
        if same := [one for one in listed if one.query_id == query_id and one.standing == "agrees"]:
            contested_places.button(
                f"Accept agreed values of this query ({len(same):,})", project, "accept", {"query": query_id},
                key="accept agreed", icon=":material/done_all:",
            )  # fmt: skip


def about(project: Project, one: review.Contested) -> None:
    """Draw the query, the passage, and the question if a rating is contested."""
    st.html(f'<div class="asked" dir="auto"><b>{html.visible(one.query)}</b></div>')
    st.caption(ui.plain(f"Passage {one.passage_id}"))
    text = passage_texts(project, [one.passage_id]).get(one.passage_id)
    st.html(html.text_html(text, []) if text else '<p class="gray">No text imported for this passage.</p>')
    if one.question_id is not None:
        st.html(f'<div class="asked" dir="auto">{html.visible(one.question or one.question_id)}</div>')
    chosen = {"question": one.question_id} if one.question_id else {}
    ui.go("passages", "Open passage", query=one.query_id, passage=one.passage_id, **chosen)


def values(project: Project, one: review.Contested) -> None:
    """Draw the values that people gave, the present decision, and buttons to make or withdraw a decision."""
    judged = one.question_id is None
    given = st.container(key="given-values")
    for name, value in one.given.items():
        what = "no value" if value is None else f"{value}, {SCALE[value]}" if judged else str(value)
        given.markdown(f"**{ui.plain(name)}**: {ui.plain(what)}")
    st.caption(ui.plain(review.STANDINGS[one.standing].capitalize() + "."))
    if one.decision is not None:
        st.success(
            ui.plain(f"{one.decision.author} decided {one.decision.value}: {one.decision.reason}"),
            icon=":material/gavel:",
        )
        contested_places.button(
            "Withdraw decision", project, "undo", {"place": one.place},
            key="undo decision", type="tertiary", icon=":material/undo:",
        )  # fmt: skip
    if one.standing == "waiting":
        return
    contested_places.reason(project, one.place)
    with st.container(horizontal=True):
        for value in SCALE if judged else types.RATINGS:
            label = SCALE[value].capitalize() if judged else f"Rating {value}"
            contested_places.button(
                label, project, "decide", {"place": one.place, "value": value, "over": contested_places.stated(one)},
                key=f"decide {value}", help=f"Decide {value}", shortcut=str(value),
            )  # fmt: skip


def history(project: Project, one: review.Contested) -> None:
    """Draw the earlier decisions and withdrawals."""
    if past := review.decisions(project, one.place):
        with st.expander("History", icon=":material/history:"):
            for made in past:
                what = "withdrew the decision" if made.value is None else f"decided {made.value}: {made.reason}"
                st.text(f"{made.stated_at:%Y-%m-%d %H:%M} {made.author} {what}")


project = ui.project(STYLE)
project.require("adjudicate")
if not review.may_decide(project, ui.person()):
    ui.empty(
        "Nothing for you to adjudicate.",
        "Organizers make double assignments on the People screen. You cannot adjudicate your own queries.",
        "people",
        code="nothing-to-decide",
    )
# The container is there even when empty. Otherwise Streamlit would redraw the widgets below while a person types in
# them.
told = st.container()
with told, ui.errors():
    contested_places.act(project)
found = review.contested(project)
contested_places.arrive(project, found)
counts = Counter(one.standing for one in found)
state = st.segmented_control(
    "Show", list(TITLES), key=contested_places.STATE, required=True, label_visibility="collapsed",
    format_func=lambda name: f"{TITLES[name]} {counts[name]:,}",
)  # fmt: skip
listed = [one for one in found if one.standing == state]
if contested_places.lacking():
    told.container(key="not-listed").warning(
        "The pair in the link is not in this list." + " Another pair is shown instead." * bool(listed)
    )
if not listed:
    ui.empty(
        NOTHING[str(state)],
        "This screen lists the values that assessors give in double assignments.",
        code="nothing-listed",
    )
at = contested_places.opened(listed)
one = listed[at]
step(project, listed, at)
with st.container(horizontal=True, key="adjudicate"):
    with st.container():
        about(project, one)
    with st.container():
        values(project, one)
        history(project, one)
        passage_panel.guidelines_beside(project, one.query_id)
