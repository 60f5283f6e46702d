"""Sealed questions on the Leaderboard screen: seal, compare systems, and open."""

from functools import partial

import streamlit as st

from exam_workbench import bank, study, text
from exam_workbench.records import sealed_questions
from pages.parts.boards.leaderboard_views import Screen
from pages.parts.shared import presses, ui


def sealed(screen: Screen) -> None:
    """Draw the comparison of public and sealed questions, or the form that seals some."""
    project = screen.project
    known = sealed_questions(project)
    st.caption(
        "Sealed questions are hidden from everyone but their authors. A system that answers public questions better"
        " than sealed ones may have seen the questions. The grader's endpoint reads sealed questions, too."
    )
    if known:
        _compared(screen)
    if not project.allows("organize"):
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if known:
            presses.doing(
                f"Open {text.how_many(len(known), 'questions')}", bank.open_sealed, project,
                icon=":material/lock_open:", key="open seals",
            )  # fmt: skip
            return
        each = st.number_input("Sealed per query", 2, None, bank.SEALED_PER_QUERY, key="seals", width=170)
        seal = partial(bank.seal, per_query=int(each))
        presses.doing("Seal questions", seal, project, type="primary", icon=":material/lock:", key="seal")


@ui.errors()
def _compared(screen: Screen) -> None:
    found = study.sealed_coverage(screen.project, screen.policy)
    st.container(key="sealed").markdown(ui.plain(found.says))
    st.dataframe(
        {
            "System": [one.run for one in found.systems],
            "Public": [one.public for one in found.systems],
            "Sealed": [one.sealed for one in found.systems],
            "Surplus": [one.surplus for one in found.systems],
            "p": [one.p for one in found.systems],
        },
        hide_index=True,
        column_config={
            name: st.column_config.NumberColumn(format="%.3f", help=about)
            for name, about in (
                ("Public", "Mean coverage of the public questions"),
                ("Sealed", "Mean coverage of the sealed questions"),
                ("Surplus", "Public minus sealed coverage, minus that of the median system"),
                ("p", "Chance of such a surplus without knowing the questions, corrected by Holm's method"),
            )
        },
    )
    st.caption(f"{text.how_many(found.queries, 'queries')} with sealed questions.")
