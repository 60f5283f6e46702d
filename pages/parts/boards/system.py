"""The details of a score: one system's queries, the passages that it returned, and links to them."""

import streamlit as st

from exam_workbench.labels import Policy
from exam_workbench.leaderboard import Leaderboard, inspect_query
from exam_workbench.project import Project
from pages.parts.boards import board as boards
from pages.parts.shared import ui
from pages.parts.shared.components import component

SHOWN_TEXT = 110
"""Characters of a passage in a link to it."""
KEY = "queries of a system"

_queries = component(
    "queries_of_a_system", "boards/board.css", "boards/queries.js", "boards/table.js", "boards/system.js"
)


@st.fragment
def closer(
    project: Project, board: Leaderboard, official: Leaderboard | None, run: str, beside: str | None = None
) -> None:
    """Draw one system's queries, and the passages of an open query.

    Args:
        official: a leaderboard to compare with, if any.
        beside: the title of that leaderboard; by default its source and measure.
    """
    name = beside or (f"{official.source} {official.measure}" if official else "")
    _, asked = boards.followed()
    _queries(
        key=KEY, data=boards.detail(project, board, official, run, name, asked),
        on_ask_change=lambda: boards.put(boards.QUERY, st.session_state[KEY].get("ask")),
    )  # fmt: skip


def query_links(query_id: str) -> None:
    """Draw links from a query to its questions and to its disagreements."""
    with st.container(horizontal=True):
        ui.go("question_bank", "Questions of this query", query=query_id)
        ui.go("disagreements", "Disagreements of this query", query=query_id)


def returned(project: Project, run: str, query_id: str, policy: Policy, source: str | None) -> None:
    """Draw the passages that a system returned for a query, as links.

    Args:
        source: source of the judgments to show, if any.
    """
    st.markdown(f"**{ui.plain(run)}**")
    rows = inspect_query(project, run, query_id, policy, source)
    if not rows:
        st.caption("The system returned no passages for this query.")
    for row in rows:
        label = "no label" if row.label is None else f"label {row.label}"
        judged = "" if source is None else f", judged {'–' if row.judgment is None else row.judgment}"
        text = ui.shortened(row.text, SHOWN_TEXT) if row.text else row.passage_id
        ui.go("passages", ui.plain(f"{row.rank} · {label}{judged} · {text}"), query=query_id, passage=row.passage_id)
