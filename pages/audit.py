"""Audit: judgments of a random sample correct the leaderboard and show its uncertainty."""

import streamlit as st

from exam_workbench.audit import find_audits
from pages.parts.audit import audit_form, audit_reports, audit_state, judging_desk
from pages.parts.shared import ui, view_choice

VIEWS = {
    "Board": audit_state.draw,
    "Judge": judging_desk.draw,
    "Labels": audit_reports.draw_labels,
    "Graders": audit_reports.draw_graders,
    "Roles": audit_reports.draw_roles,
    "Paper": audit_reports.draw_paper,
}
PLAN = "Plan another audit"

project = ui.require_project()
known = find_audits(project)
if not known:
    st.container(key="why-audit").markdown(audit_form.WHY)
    audit_form.draw_form(project, "audit")
    st.stop()
with st.container(horizontal=True, vertical_alignment="bottom"):
    audit = audit_state.choose_audit(known)
    view = view_choice.choose_view(
        [*VIEWS, PLAN],
        lambda view: {"Board": "Leaderboard", "Paper": "Report and files"}.get(view, view),
    )
if view == PLAN:
    audit_form.draw_form(project, audit_state.free_name(known))
else:
    if view != "Board":
        audit_state.draw_about(project, audit)
    VIEWS[str(view)](project, audit)
