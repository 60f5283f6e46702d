"""Leaderboard: the board that the questions make, beside the official one, and down to the passages."""

from __future__ import annotations

import streamlit as st

from core.comparison import Comparison, compare
from core.inspection import inspect_query, per_query_scores
from core.leaderboard import COVER, Leaderboard, boards, leaderboard, official_sources
from core.policy import Policy
from core.project import Project
from pages import charts, policy_widgets, ui

NO_BOARD = "No official board"


def correlation_strip(found: Comparison) -> None:
    """The coefficients, or why there are none."""
    result = found.correlation
    if result.undefined:
        st.info(f"Correlation with the official board is undefined: {result.undefined}", icon=":material/help:")
        return
    columns = st.columns(5)
    for column, name, value, said in zip(
        columns,
        ("Spearman", "Kendall", "tau_AP", "Pearson"),
        (result.spearman, result.kendall, result.tau_ap, result.pearson),
        (
            "Rank correlation, from -1 to 1",
            "Share of pairs in the same order less the share swapped (tau-b)",
            "Like Kendall, but swaps at the top of the official board weigh more",
            "Correlation of the scores themselves",
        ),
        strict=False,
    ):
        column.metric(name, ui.number(value), help=said)
    columns[4].metric("Systems", result.systems, help="On both boards")


def table(board: Leaderboard, official: Leaderboard | None) -> str | None:
    """Both boards in one table; returns the run that is selected."""
    other = {system.run: system for system in official.systems} if official else {}
    rows = {
        "Rank": [s.rank for s in board.systems],
        "Run": [s.run for s in board.systems],
        board.measure: [s.score for s in board.systems],
        "± error": [s.std_error for s in board.systems],
    }
    if official is not None:
        matching = [other.get(s.run) for s in board.systems]
        rows |= {
            "Official rank": [o.rank if o else None for o in matching],
            f"Official {official.measure}": [o.score if o else None for o in matching],
            "± official": [o.std_error if o else None for o in matching],
            "Ranks gained": [o.rank - s.rank if o else None for o, s in zip(matching, board.systems, strict=True)],
        }
    numbers = {name: st.column_config.NumberColumn(format="%.4f") for name in rows if "±" in name or "@" in name}
    numbers |= {name: st.column_config.NumberColumn(format="%.4f") for name in rows if board.measure in name}
    numbers |= {"Rank": st.column_config.NumberColumn(width=55), "Run": st.column_config.TextColumn(width=345)}
    chosen = st.dataframe(
        rows, hide_index=True, on_select="rerun", selection_mode="single-row", key="systems",
        column_config=numbers, height="content" if len(board.systems) <= 30 else 600,
    )  # fmt: skip
    selected = chosen.selection.rows
    return board.systems[selected[0]].run if selected else None


def closer(project: Project, board: Leaderboard, official: Leaderboard | None, policy: Policy, run: str) -> None:
    """One system down to its queries, and one of its queries down to the passages."""
    st.subheader(f"{ui.plain(run)}, query by query", anchor=False)
    scores = per_query_scores(project, board, official, run)
    chosen = st.dataframe(
        {
            "Query": [row.text for row in scores],
            board.measure: [row.score for row in scores],
            "Mean of all systems": [row.mean for row in scores],
            **({f"Official {official.measure}": [row.official for row in scores]} if official else {}),
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
    for row in inspect_query(project, run, query.query_id, policy, official.source if official else None):
        with st.container(border=True):
            rank, body = st.columns([1, 11])
            rank.markdown(f"**{row.rank}**")
            body.text(row.text or f"The text of {row.passage_id} has not been imported.")
            label = "no label" if row.label is None else f"label {row.label}"
            judged = "" if official is None else f" · judged {'–' if row.judgment is None else row.judgment}"
            body.caption(ui.plain(f"{label}{judged}" + (f" · {row.question}" if row.question else "")))


ui.begin("Leaderboard")
project = ui.project()
policy = policy_widgets.policy(project, cutoff=True, judged=True)
left, middle, right, ties = st.columns([3, 3, 3, 3], vertical_alignment="bottom")
with left:
    measure = policy_widgets.measure("Measure", cover=True, key="measure")
against = middle.selectbox("Official board", [*official_sources(project), NO_BOARD], key="against", bind="query-params")
imported = dict(boards(project))
with right:
    if against in imported:
        official_measure = imported[against]
        st.text_input("Official measure", official_measure, disabled=True)
    elif against != NO_BOARD:
        same = measure if not measure.startswith((COVER, "alpha")) else "nDCG@10"
        official_measure = policy_widgets.measure("Official measure", cover=False, key=f"official {same}", default=same)
ties_rule = ties.segmented_control("Ties", ["average", "random"], default="average", key="ties", required=True)

if against == NO_BOARD:
    comparison, official = None, None
    board = leaderboard(project, measure, "exam", policy)
else:
    comparison = compare(project, measure, against, against_measure=official_measure, policy=policy, ties=ties_rule)
    board, official = comparison.board, comparison.official
    correlation_strip(comparison)
if board.usable < board.needed:
    st.caption(
        f":material/info: The labels rest on {board.usable:,} of {board.needed:,} needed pairs"
        f" ({board.usable / board.needed:.1%}); the rest is ungraded or failed."
    )
drawn = st.container()
run = table(board, official)
with drawn:
    if comparison is None:
        st.altair_chart(charts.board(board, "Exam", marked=run))
    else:
        first, second, third = st.columns([9, 5, 11], gap="small")
        order = [system.run for system in board.systems]
        first.altair_chart(charts.board(board, "Exam", marked=run))
        second.altair_chart(charts.board(comparison.official, "Official", order, run))
        third.altair_chart(charts.slope(comparison, run))
if run is None:
    st.caption("Select a system in the table to follow its score down to the passages.")
else:
    closer(project, board, official, policy, run)
