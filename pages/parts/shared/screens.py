"""The screens: every file directly in `pages/`, with its title, its icon and its place in the list."""

from __future__ import annotations

from itertools import chain

import streamlit as st

GROUPS = {
    "Project": {
        "home": ("Home", ":material/home:"),
        "activity": ("Activity", ":material/history:"),
    },
    "Curate": {
        "question_bank": ("Question bank", ":material/quiz:"),
        "prompts": ("Prompts", ":material/edit_note:"),
        "grading": ("Grading", ":material/fact_check:"),
    },
    "Review": {
        "passages": ("Passages", ":material/article:"),
        "disagreements": ("Disagreements", ":material/compare_arrows:"),
        "changes": ("Changes", ":material/difference:"),
    },
    "Publish": {
        "leaderboard": ("Leaderboard", ":material/leaderboard:"),
        "measures": ("Meta-evaluation", ":material/table_chart:"),
        "export": ("Export", ":material/download:"),
    },
}
"""Title and icon of every screen, by the name of its file, under what one does there.

The first is where one arrives.
"""

SCREENS = dict(chain.from_iterable(screens.items() for screens in GROUPS.values()))


def navigation() -> st.Page:
    """Declare the screens; returns the one that the person is on."""
    return st.navigation(
        {
            group: [
                st.Page(f"pages/{name}.py", title=title, icon=icon, default=name == "home")
                for name, (title, icon) in screens.items()
            ]
            for group, screens in GROUPS.items()
        }
    )
