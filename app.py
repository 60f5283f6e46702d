"""The app: declares the screens and draws the frame around them."""

from __future__ import annotations

import streamlit as st

from pages import ui

st.set_page_config(page_title="Exam Workbench", page_icon=":material/rule:", layout="wide")

screen = ui.navigation()
ui.frame()
with ui.errors():
    screen.run()
