"""Answer checks: agreement of each one with people, and the threshold at which it is highest."""

import streamlit as st

from pages.parts.answers import check_agreement
from pages.parts.shared import job_progress, ui

project = ui.project()
check_agreement.imports(project)
job_progress.watch_steps(project, "answers", "Generate and compare")
known = check_agreement.truth(project)
if known is None:
    check_agreement.missing(project)
    st.stop()
beside, said = known
rows = check_agreement.table(project, beside, said)
check_agreement.curve(rows)
check_agreement.ask_model(project, said)
