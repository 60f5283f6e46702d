"""Answer checks: agreement of each one with people, and the threshold at which it is highest."""

import streamlit as st

from pages.parts.answers import asking, people
from pages.parts.shared import ui

project = ui.project()
people.imports(project)
asking.progress(project)
known = people.truth(project)
if known is None:
    people.missing(project)
    st.stop()
beside, said = known
rows = people.table(project, beside, said)
people.curve(rows)
people.ask_model(project, said)
