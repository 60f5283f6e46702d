"""Discrimination of each question of a query by item response theory, with a verdict and advice on weights."""

from typing import cast

import streamlit as st

from exam_workbench.labels import Policy
from exam_workbench.project import Project
from exam_workbench.study import Examinees, QuestionWorth, bank_worth
from pages.parts.shared import ui

OF: dict[Examinees, str] = {"systems": "Systems", "passages": "Passages"}


@ui.errors()
def panel(project: Project, query_id: str, policy: Policy) -> None:
    """Draw the saved questions of a query as items, with systems or passages as examinees."""
    picked = st.segmented_control(
        "Compare", list(OF), default="systems", format_func=OF.__getitem__, key="told apart", required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    with st.spinner("Fitting the item response model"):
        found = bank_worth(project, policy, query_id, cast(Examinees, picked))
    rows = found.questions
    names = {row.question_id: row.text for row in rows}
    st.dataframe(
        {
            "Question": [row.text for row in rows],
            "Verdict": [_verdict(row, names) for row in rows],
            "Suggestion": [row.suggestion for row in rows],
            "Answered": [row.answered for row in rows],
            "At the top": [row.at_top for row in rows],
            "d": [row.discrimination for row in rows],
            "b": [row.difficulty for row in rows],
        },
        hide_index=True,
        column_config={
            "Question": st.column_config.TextColumn(width="medium"),
            "Answered": st.column_config.NumberColumn(format="percent"),
            **{
                name: st.column_config.NumberColumn(format="%.2f", help=about)
                for name, about in (
                    ("At the top", "Information about the best systems or passages"),
                    ("d", "Discrimination"),
                    ("b", "Difficulty"),
                )
            },
        },
    )
    best = ", ".join(list(found.abilities)[: found.top][:5]) if picked == "systems" else ""
    st.caption(
        "Based on the saved questions. The verdict compares systems. “At the top” is the information about the best"
        f" {found.top} of {len(found.abilities)} {found.examinees}{f' ({ui.plain(best)})' if best else ''}."
    )
    for remark in found.remarks:
        st.caption(f":material/info: {ui.plain(remark)}")


def _verdict(row: QuestionWorth, names: dict[str, str]) -> str:
    if row.alike is None:
        return row.verdict
    return f"{row.verdict} with “{ui.shortened(names.get(row.alike, row.alike), 60)}”"
