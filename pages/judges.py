"""Answer checks: agreement of each one with people, and the threshold at which it is highest."""

import streamlit as st

from pages.parts.answers import check_agreement
from pages.parts.shared import job_progress, ui

project = ui.require_project()
check_agreement.draw_import(project)
job_progress.watch_steps(project, "answers", "Generate and compare")
verdicts = check_agreement.choose_reference(project)
if verdicts is None:
    check_agreement.explain_missing(project)
    st.stop()
rows = check_agreement.draw_agreement(project, verdicts)
check_agreement.draw_threshold_curve(rows)
check_agreement.ask_model(project, verdicts)
