"""Following a score down: one system's queries, what it returned for one of them, and on to the passages."""

from __future__ import annotations

import streamlit as st

from core.inspection import inspect_query, per_query_scores
from core.leaderboard import Leaderboard, sources
from core.policy import Policy
from core.project import Project
from pages import ui

SHOWN_TEXT = 110
"""So much of a passage stands in a link to it."""


def closer(
    project: Project,
    board: Leaderboard,
    official: Leaderboard | None,
    policy: Policy,
    run: str,
    beside: str | None = None,
) -> None:
    """One system down to its queries, and one of its queries down to the passages.

    Args:
        official: a board to set beside, if any.
        beside: what that one is called; official for None.
    """
    st.subheader(f"{ui.plain(run)}, query by query", anchor=False)
    if not board.per_query:
        st.caption("This board was imported without scores by query.")
        return
    scores = per_query_scores(project, board, official, run)
    chosen = st.dataframe(
        {
            "Query": [row.text for row in scores],
            board.measure: [row.score for row in scores],
            "Mean of all systems": [row.mean for row in scores],
            **({beside or f"Official {official.measure}": [row.official for row in scores]} if official else {}),
        },
        hide_index=True, on_select="rerun", selection_mode="single-row", key=f"queries of {run}",
        column_config={"Query": st.column_config.TextColumn(width="large")},
        height=min(420, 38 + 35 * len(scores)),
    )  # fmt: skip
    if not chosen.selection.rows:
        st.caption("Select a query to read what the system returned for it.")
        return
    query = scores[chosen.selection.rows[0]]
    st.markdown(f"**{ui.plain(query.text)}**")
    judged_by = official.source if official and official.source in sources(project) else None
    for row in inspect_query(project, run, query.query_id, policy, judged_by):
        with st.container(border=True):
            rank, body = st.columns([1, 11])
            rank.markdown(f"**{row.rank}**")
            body.text(row.text or f"The text of {row.passage_id} has not been imported.")
            label = "no label" if row.label is None else f"label {row.label}"
            judged = "" if judged_by is None else f" · judged {'–' if row.judgment is None else row.judgment}"
            body.caption(ui.plain(f"{label}{judged}" + (f" · {row.question}" if row.question else "")))


def returned(project: Project, run: str, query_id: str, policy: Policy, source: str | None) -> None:
    """What one system returned for a query, a link to each passage.

    Args:
        source: source of the judgments to show, if any.
    """
    st.markdown(f"**{ui.plain(run)}**")
    rows = inspect_query(project, run, query_id, policy, source)
    if not rows:
        st.caption("It skipped this query.")
    for row in rows:
        label = "no label" if row.label is None else f"label {row.label}"
        judged = "" if source is None else f", judged {'–' if row.judgment is None else row.judgment}"
        text = ui.shortened(row.text, SHOWN_TEXT) if row.text else row.passage_id
        ui.go("passages", ui.plain(f"{row.rank} · {label}{judged} · {text}"), query=query_id, passage=row.passage_id)
