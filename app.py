"""The app: declares the screens and draws the frame around them."""

from __future__ import annotations

import streamlit as st

from pages import ui

st.set_page_config(page_title="Exam Workbench", page_icon=":material/rule:", layout="wide")

screens = [
    st.Page("pages/home.py", title="Home", icon=":material/home:", default=True),
    st.Page("pages/question_bank.py", title="Question bank", icon=":material/quiz:"),
    st.Page("pages/grading.py", title="Grading", icon=":material/fact_check:"),
    st.Page("pages/leaderboard.py", title="Leaderboard", icon=":material/leaderboard:"),
    st.Page("pages/export.py", title="Export", icon=":material/download:"),
]
screen = st.navigation(screens)
ui.frame()
with ui.errors():
    screen.run()
