"""Following a score down: one system's queries, what it returned for one of them, and on to the passages."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.labels import Policy
from core.leaderboard import Leaderboard, QueryScore, inspect_query, per_query_scores
from core.project import Project, sources
from pages.parts.shared import ui

DIFFERENCE = "Difference"
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
    columns: dict[str, list[float | None]] = {
        board.measure: [row.score for row in scores],
        "Mean of all systems": [row.mean for row in scores],
    }
    if official and official.per_query:
        name = beside or f"Official {official.measure}"
        columns |= {
            name: [row.official for row in scores],
            f"Mean, {name if beside else 'official'}": [row.official_mean for row in scores],
            DIFFERENCE: [None if row.loss is None else -row.loss for row in scores],
        }
        st.caption(
            f"{DIFFERENCE}: {ui.plain(board.measure)} less {ui.plain(name)};"
            " the query with the greatest loss comes first."
        )
    digits = {name: st.column_config.NumberColumn(format="%.4f") for name in columns}
    chosen = st.dataframe(
        {"Query": [row.text for row in scores], **columns},
        hide_index=True, on_select="rerun", selection_mode="single-row", key=table_key(run, scores),
        column_config={
            "Query": st.column_config.TextColumn(width="large"),
            **digits,
            DIFFERENCE: st.column_config.NumberColumn(format="%+.4f"),
        },
        height=min(420, 38 + 35 * len(scores)),
    )  # fmt: skip
    if not chosen.selection.rows:
        st.caption("Select a query to read what the system returned for it.")
        return
    query = scores[chosen.selection.rows[0]]
    st.markdown(f"**{ui.plain(query.text)}**")
    query_links(query.query_id)
    judged_by = official.source if official and official.source in sources(project) else None
    for row in inspect_query(project, run, query.query_id, policy, judged_by):
        with st.container(border=True):
            rank, body = st.columns([1, 11])
            rank.markdown(f"**{row.rank}**")
            body.text(row.text or f"The text of {row.passage_id} has not been imported.")
            label = "no label" if row.label is None else f"label {row.label}"
            judged = "" if judged_by is None else f" · judged {'–' if row.judgment is None else row.judgment}"
            body.caption(ui.plain(f"{label}{judged}" + (f" · {row.question}" if row.question else "")))
            with body:
                ui.go("passages", "All ratings of this passage", query=query.query_id, passage=row.passage_id)


def query_links(query_id: str) -> None:
    """Links from a query to its questions and to its disagreements."""
    with st.container(horizontal=True):
        ui.go("question_bank", "Its questions", query=query_id)
        ui.go("disagreements", "Its disagreements", query=query_id)


def table_key(run: str, scores: Sequence[QueryScore]) -> str:
    """Key of the table of a system's queries: another order is another table, whose selected row would be another."""
    return f"queries of {run} {hash(tuple(row.query_id for row in scores))}"


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
