"""Audit: judgments of a random sample correct the machine's leaderboard and show its uncertainty."""

import streamlit as st

from exam_workbench.audit import audits
from pages.parts.audit import beginning, judging, reports, standing
from pages.parts.shared import ui, views

VIEWS = {
    "Board": standing.draw,
    "Judge": judging.draw,
    "Labels": reports.draw_labels,
    "Roles": reports.draw_roles,
    "Paper": reports.draw_paper,
}
PLAN = "Plan another audit"

project = ui.project()
known = audits(project)
if not known:
    beginning.why()
    beginning.form(project, "audit")
    st.stop()
with st.container(horizontal=True, vertical_alignment="bottom"):
    audit = standing.choose(known)
    view = views.choose(
        [*VIEWS, PLAN], lambda view: {"Board": "Leaderboard", "Paper": "Report and files"}.get(view, view)
    )
if view == PLAN:
    beginning.form(project, standing.free_name(known))
else:
    standing.about(project, audit)
    VIEWS[str(view)](project, audit)
