"""Significance on the Leaderboard screen: columns of the table, and every two systems as a matrix."""

from typing import cast

import streamlit as st

from exam_workbench.leaderboard import Leaderboard
from exam_workbench.measures import ALPHA
from exam_workbench.study import Test, compare_neighbours, compare_systems, make_board, remembered_pairs
from exam_workbench.text import how_many
from pages.parts.boards.board import Column
from pages.parts.boards.views import Screen, board_choice, system_pair, take
from pages.parts.shared import address, figures, ui

TEST_NAMES: dict[Test, str] = {"t": "t test", "randomisation": "Randomisation"}
BARS = {True: "overlap", False: "apart", None: "unknown"}
BEST, ABOVE = "the best", "the one above"


def choices() -> tuple[Test, str | None]:
    """Draw the choices of the paired test and of the system that further columns compare with; return both."""
    address.own("test", TEST_NAMES)
    test = cast(
        Test,
        st.segmented_control(
            "Paired test", list(TEST_NAMES), default="t", key="test", required=True, bind="query-params",
            format_func=TEST_NAMES.__getitem__, help="Two-sided test over queries, corrected by Holm's method.",
        ),
    )  # fmt: skip
    against = st.segmented_control(
        "Add columns: differs from", [BEST, ABOVE], key="differs-from", bind="query-params",
        help="Corrected for these comparisons only, so these columns may find more differences.",
    )  # fmt: skip
    return test, against


def columns(board: Leaderboard, against: str | None, test: Test) -> list[Column]:
    """Return the chosen further columns for the table of systems.

    Args:
        against: which system each one is compared with; no columns for None.
    """
    if against is None:
        return []
    rows = compare_systems(board, None, test) if against == BEST else compare_neighbours(board, test)
    # The system that all others are compared with has no comparison of its own.
    by_run = {row.run: row for row in rows}
    found = [by_run.get(system.run) for system in board.systems]
    for reason in sorted({row.undefined for row in rows if row.undefined}):
        st.caption(f":material/help: Some p values are missing. {ui.plain(reason)}")
    answers = {True: "yes", False: "no", None: "no test"}
    return [
        Column(f"Differs from {against}", [answers[row.differs] if row else "" for row in found]),
        Column("p, corrected", [row.corrected if row else "" for row in found], digits=4),
        Column("Error bars", [BARS[row.error_bars_overlap] if row else "" for row in found]),
    ]


def matrix(screen: Screen) -> None:
    """Draw every two systems of a leaderboard: do they differ by a paired test, and do their error bars overlap?"""
    offered = screen.offered()
    name = board_choice("Leaderboard", offered, screen.names(offered)[1], "tested board")
    board = make_board(screen.project, offered[name], screen.policy)
    rows = remembered_pairs(screen.project, board, screen.test)
    if not rows:
        st.info("A comparison needs at least two systems.", icon=":material/help:")
        return
    differ, tied = sum(bool(row.differs) for row in rows), sum(bool(row.error_bars_overlap) for row in rows)
    st.caption(
        f"**{differ:,} of {len(rows):,} pairs of systems are separated** at {ALPHA:.0%} (blue). The error bars of"
        f" {how_many(tied, 'pairs')} overlap (dot). Click a pair to see its queries.",
        help="p values are corrected for all pairs. Columns and rows are systems by rank. *More* has the choice of the"
        " test, and comparisons with fewer pairs.",
    )
    for reason in sorted({row.undefined for row in rows if row.undefined}):
        st.caption(f":material/help: Some pairs have no test. {ui.plain(reason)}")
    runs = [system.run for system in board.systems]
    chart = "matrix of differences"
    st.vega_lite_chart(
        figures.difference_matrix(rows, runs), key=chart, selection_mode=[figures.PICKED],
        on_select=lambda: take(chart, **{"better system": "run", "worse system": "against"}),
    )  # fmt: skip
    left, right = st.columns(2)
    with left:
        first = st.selectbox("Better system", runs, index=None, key="better system", bind="query-params")
    with right:
        second = st.selectbox("Worse system", runs, index=None, key="worse system", bind="query-params")
    if first and second and first != second:
        with ui.errors():
            system_pair(screen, board, first, board, second)
