"""The screens: every file directly in `pages/`, with its title, its icon and its place in the list."""

from __future__ import annotations

import streamlit as st

SCREENS = {
    "home": ("Home", ":material/home:"),
    "question_bank": ("Question bank", ":material/quiz:"),
    "grading": ("Grading", ":material/fact_check:"),
    "prompts": ("Prompts", ":material/edit_note:"),
    "passages": ("Passages", ":material/article:"),
    "leaderboard": ("Leaderboard", ":material/leaderboard:"),
    "measures": ("Measures", ":material/table_chart:"),
    "disagreements": ("Disagreements", ":material/compare_arrows:"),
    "changes": ("Changes", ":material/difference:"),
    "export": ("Export", ":material/download:"),
    "activity": ("Activity", ":material/history:"),
}
"""Title and icon of every screen, by the name of its file; the first is where people arrive."""


def navigation() -> st.Page:
    """Declare the screens; returns the one that the person is on."""
    pages = [
        st.Page(f"pages/{name}.py", title=title, icon=icon, default=name == "home")
        for name, (title, icon) in SCREENS.items()
    ]
    return st.navigation(pages)
