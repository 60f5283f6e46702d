"""Adjudication: independent ratings or judgments of the same pair, next to the passage, for a
person to decide.
"""

from collections import Counter

import streamlit as st

from exam_workbench import choices, review, types
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


def draw_position(project: Project, listed: list[review.ContestedCase], at: int) -> None:
    """Draw the position in the list, and the buttons to move on."""
    query_id = listed[at].query_id
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="content"):
            contested_places.draw(project, listed, at)
        if same := [
            place for place in listed if place.query_id == query_id and place.standing == "agrees"
        ]:
            contested_places.draw_button(
                f"Accept agreed values of this query ({len(same):,})",
                project,
                "accept",
                {"query": query_id},
                key="accept agreed",
                icon=":material/done_all:",
            )


def draw_contested_pair(project: Project, contested: review.ContestedCase) -> None:
    """Draw the query, the passage, and the question if a rating is contested."""
    st.html(f'<div class="asked" dir="auto"><b>{html.as_html(contested.query)}</b></div>')
    st.caption(ui.escape(f"Passage {contested.passage_id}"))
    text = passage_texts(project, [contested.passage_id]).get(contested.passage_id)
    st.html(
        html.text_html(text, [])
        if text
        else '<p class="gray">No text imported for this passage.</p>'
    )
    if contested.question_id is not None:
        st.html(
            '<div class="asked"'
            f' dir="auto">{html.as_html(contested.question or contested.question_id)}</div>'
        )
    ui.draw_link(
        "passages",
        "Open passage",
        query=contested.query_id,
        passage=contested.passage_id,
        question=contested.question_id,
    )


def draw_given_values(project: Project, contested: review.ContestedCase) -> None:
    """Draw the values that people gave, the present decision, and buttons to make or withdraw a
    decision.
    """
    judged = contested.question_id is None
    given = st.container(key="given-values")
    for name, value in contested.given.items():
        what = "no value" if value is None else f"{value}, {SCALE[value]}" if judged else str(value)
        given.markdown(f"**{ui.escape(name)}**: {ui.escape(what)}")
    st.caption(ui.escape(choices.ADJUDICATION_STATES[contested.standing].capitalize() + "."))
    if contested.decision is not None:
        st.success(
            ui.escape(
                f"{contested.decision.author} decided {contested.decision.value}:"
                f" {contested.decision.reason}"
            ),
            icon=":material/gavel:",
        )
        contested_places.draw_button(
            "Withdraw decision",
            project,
            "undo",
            {"place": contested.place},
            key="undo decision",
            type="tertiary",
            icon=":material/undo:",
        )
    if contested.standing == "waiting":
        return
    contested_places.draw_reason(project, contested.place)
    with st.container(horizontal=True):
        for value in SCALE if judged else types.RATINGS:
            label = SCALE[value].capitalize() if judged else f"Rating {value}"
            contested_places.draw_button(
                label,
                project,
                "decide",
                {
                    "place": contested.place,
                    "value": value,
                    "over": contested_places.decision_time(contested),
                },
                key=f"decide {value}",
                help=f"Decide {value}",
                shortcut=str(value),
            )


def draw_decision_history(project: Project, contested: review.ContestedCase) -> None:
    """Draw the earlier decisions and withdrawals."""
    if past := review.list_decisions(project, contested.place):
        with st.expander("History", icon=":material/history:"):
            for decision in past:
                description = (
                    "withdrew the decision"
                    if decision.value is None
                    else f"decided {decision.value}: {decision.reason}"
                )
                st.text(f"{decision.stated_at:%Y-%m-%d %H:%M} {decision.author} {description}")


project = ui.require_project(STYLE)
project.require("adjudicate")
ui.require_content(
    review.may_decide(project, ui.person()),
    "Nothing for you to adjudicate.",
    "Organizers make double assignments on the People screen. You cannot"
    " adjudicate your own queries.",
    "people",
    code="nothing-to-decide",
)
# The container is there even when empty. Otherwise Streamlit would redraw the widgets below while a
# person types in them.
message_area = st.container()
with message_area, ui.errors():
    contested_places.do_actions(project)
places = review.contested_cases(project)
contested_places.choose_linked_list(project, places)
counts = Counter(one.standing for one in places)
state = st.segmented_control(
    "Show",
    list(TITLES),
    key=contested_places.STATE,
    required=True,
    label_visibility="collapsed",
    format_func=lambda name: f"{TITLES[name]} {counts[name]:,}",
)
listed = [one for one in places if one.standing == state]
if contested_places.is_link_unlisted():
    message_area.container(key="not-listed").warning(
        "The pair in the link is not in this list."
        + " Another pair is shown instead." * bool(listed)
    )
ui.require_content(
    listed,
    NOTHING[str(state)],
    "This screen lists the values that assessors give in double assignments.",
    code="nothing-listed",
)
at = contested_places.find_open_place(listed)
current = listed[at]
draw_position(project, listed, at)
with st.container(horizontal=True, key="adjudicate"):
    with st.container():
        draw_contested_pair(project, current)
    with st.container():
        draw_given_values(project, current)
        draw_decision_history(project, current)
        passage_panel.draw_guidelines(project, current.query_id)
