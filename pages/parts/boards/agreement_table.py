"""The table of the Meta-evaluation screen: correlations as numbers or colours."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from exam_workbench import study
from pages.parts.shared import address, ui

KEY = "agreements"
PLACE = "cell"
SIGNS = {"spearman": "ρ", "kendall": "τ", "tau_ap": "τ_AP"}
METHOD, INTERVAL = "Method", ", 95%"
FIXED = {
    "Min rating": "Binary measures count a passage as relevant from this rating.",
    "Queries": (
        "“4 of 5 / 93”: 4 common queries, of 5 of the row and 93 of the official leaderboard."
    ),
    "Pairs": "Share of the needed pairs with a grade. The remaining pairs are ungraded or failed.",
}
BOLD = "font-weight: 700; "
STYLES = {
    "best": f"{BOLD}background-color: rgba(59, 115, 185, 0.3)",
    "near": "background-color: rgba(59, 115, 185, 0.12)",
    "poor": "color: #8a8f98",
    "itself": "color: #8a8f98",
}
"""Styles of cells by their rank in the column, on a light and on a dark page."""
POSITIVE, NEGATIVE = "59, 115, 185", "217, 128, 63"
"""Colours of a heat map: blue and orange."""


def draw(
    table: study.MetaTable, coefficients: Sequence[str], heat: bool, so_far: bool = False
) -> None:
    """Draw the table; a click on a cell writes it into the address.

    Args:
        coefficients: the coefficients, from left to right within each measure.
        heat: whether cells are coloured by value; otherwise by their rank in the column.
        so_far: whether rows are still missing, so that no cell is marked as best.
    """
    rows = table.rows
    fixed = {
        "Min rating": ["" if row.min_rating is None else str(row.min_rating) for row in rows],
        "Queries": [row.queries for row in rows],
        "Pairs": [
            ui.as_percent(row.usable / row.needed) if row.usable < row.needed else ""
            for row in rows
        ],
    }
    # Columns that are empty in all rows are left out.
    content: dict[str, Any] = {METHOD: [row.name for row in rows]} | {
        name: values for name, values in fixed.items() if any(values)
    }
    heads = {
        f"{column.title} {SIGNS[name]}": (at, name)
        for at, column in enumerate(table.columns)
        for name in coefficients
    }
    config: dict[str, object] = {
        METHOD: st.column_config.TextColumn(pinned=True),
        **{name: st.column_config.TextColumn(help=about) for name, about in FIXED.items()},
        **{
            title: st.column_config.NumberColumn(
                format="%.3f",
                help=ui.escape(
                    f"{study.TITLES[name]} correlation with {table.columns[at].against_measure}"
                    f" of {table.columns[at].against}"
                ),
            )
            for title, (at, name) in heads.items()
        },
    }
    styles = {}
    marks = {} if so_far else STYLES
    for title, (at, name) in heads.items():
        cells = [row.cells[at] for row in rows]
        content[title] = pd.Series([cell.value(name) for cell in cells], dtype=float)
        styles[title] = [_cell_style(cell, name, heat, marks) for cell in cells]
        if table.samples:
            intervals = [interval_text(cell.intervals.get(name)) for cell in cells]
            content[title + INTERVAL] = intervals

    def keep_picked_cell() -> None:
        """Write the clicked cell into the address, or remove it."""
        cells = [
            f"{row},{heads[name.removesuffix(INTERVAL)][0]}"
            for row, name in st.session_state[KEY].selection.cells
            if name.removesuffix(INTERVAL) in heads
        ]
        address.write_parameters({PLACE: "".join(cells)})

    styled = pd.DataFrame(content).style.apply(
        lambda _: pd.DataFrame(styles), axis=None, subset=list(styles)
    )
    st.dataframe(
        styled,
        hide_index=True,
        column_config=config,
        placeholder=study.UNDEFINED,
        key=f"{KEY} after {len(rows)}" if so_far else KEY,
        selection_mode="single-cell",
        on_select="ignore" if so_far else keep_picked_cell,
    )


def _cell_style(cell: study.Cell, name: str, heat: bool, marks: Mapping[str, str]) -> str:
    value = cell.value(name)
    if not heat or value is None:
        return marks.get(cell.marks[name], "")
    colour = POSITIVE if value >= 0 else NEGATIVE
    weight = BOLD if marks and cell.marks[name] == "best" else ""
    return f"{weight}background-color: rgba({colour}, {0.6 * value**2:.2f})"


def interval_text(interval: tuple[float, float] | None) -> str:
    """Return an interval as text; empty if it is undefined."""
    return "" if interval is None else f"{interval[0]:z.2f} to {interval[1]:z.2f}"


def find_open_cell(table: study.MetaTable) -> tuple[int, int] | None:
    """Return row and measure of the open cell in the address; None if no cell is open."""
    parts = st.query_params.get(PLACE, "").split(",")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        return None
    row, at = int(parts[0]), int(parts[1])
    return (row, at) if row < len(table.rows) and at < len(table.columns) else None
