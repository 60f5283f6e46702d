"""Disagreements: compare labels, judgments, graders and people, and decide the cases on which they
differ.
"""

import streamlit as st

from exam_workbench import review
from exam_workbench.records import for_tuning
from pages.parts.review import (
    case_acts,
    disagreement_tables as parts,
    disagreements_address,
    further_lists,
)
from pages.parts.shared import actions, scoring_settings, ui

VIEWS = {
    "queue": "Disagreements",
    "strays": "Doubtful questions",
    "uncovered": "Uncovered passages",
    "record": "Resolved",
}

if arrived := disagreements_address.apply_address():
    actions.pending_actions(case_acts.KEY).said = None
# People edit questions after these cases, so judgments that are held out are not among them.
project = for_tuning(ui.require_project(further_lists.STYLE))
looking = scoring_settings.current_view()
policy = looking.policy if looking else None
known = parts.list_sides(project, policy)
if len(known) < 2:
    ui.end_empty_screen(
        "Nothing to compare yet.",
        "Import judgments or grade the pool.",
        "home",
        code="no-two-sides",
    )
with st.container(horizontal=True, vertical_alignment="bottom", key="case-sides"):
    left, right = parts.choose_sides(known, arrived)
    # If the sides cannot be compared, the screen ends below; the address should name them anyway.
    disagreements_address.write_address()
    parts.draw_agreement(project, left, right)
    parts.hold_out(project)
sources = [side.source for side in (left, right) if isinstance(side, review.Judgments)]
source = scoring_settings.judged_by(project, *sources) if policy else None
offered = [view for view in VIEWS if view in ("queue", "record") or source]
if arrived or st.session_state.get(disagreements_address.WIDGETS["view"]) not in offered:
    disagreements_address.set_widget("view", offered, "queue")
view = st.segmented_control(
    "Show",
    offered,
    format_func=VIEWS.__getitem__,
    key=disagreements_address.WIDGETS["view"],
    required=True,
    label_visibility="collapsed",
)
disagreements_address.change_place(view="" if view == "queue" else view)
if view == "queue":
    if arrived or "order" not in st.session_state:
        case_acts.set_widgets(project)
    case_acts.queue_view(project, left, right, policy)
else:
    disagreements_address.write_address()
    further_lists.LISTS[str(view)](project, policy, source)
