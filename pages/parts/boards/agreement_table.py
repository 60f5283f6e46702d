"""The table of the Meta-evaluation screen: correlations as numbers or colours, and the two
leaderboards of a cell.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from exam_workbench import labels, study
from pages.parts.boards import leaderboard_table as boards
from pages.parts.shared import address, components, ui

KEY = "agreements"
PLACE = "cell"
SIGNS = {"spearman": "ρ", "kendall": "τ", "tau_ap": "τ_AP"}
MIN_RATING = "Min rating"
FIXED = {
    MIN_RATING: "Binary measures count a passage as relevant from this rating.",
    "Queries": (
        "“4 of 5 / 93”: 4 common queries, of 5 of the row and 93 of the official leaderboard."
    ),
    "Pairs": "Share of the needed pairs with a grade. The remaining pairs are ungraded or failed.",
}


def draw(
    table: study.MetaTable,
    shown: Sequence[str],
    heat: bool,
    detail: Mapping[str, Any] | None = None,
    so_far: bool = False,
    on_pick: Callable[[], None] = lambda: None,
) -> None:
    """Draw the table.

    Args:
        shown: the coefficients, from left to right within each measure.
        heat: whether cells are coloured by value; otherwise by their rank in the column.
        detail: the open cell, as `cell_data` returns it.
        so_far: whether rows are still missing, so that no cell is marked as best.
        on_pick: called after a click on a cell.
    """
    fixed = [
        {
            MIN_RATING: "" if row.min_rating is None else str(row.min_rating),
            "Queries": row.queries,
            "Pairs": ui.as_percent(row.usable / row.needed) if row.usable < row.needed else "",
        }
        for row in table.rows
    ]
    # Columns that are empty in all rows are left out.
    fixed_columns = [name for name in FIXED if any(row[name] for row in fixed)]
    components.draw(
        "agreements",
        f"{KEY} after {len(table.rows)}" if so_far else KEY,
        {
            "table": {
                "heat": heat,
                "fixed": [{"title": name, "help": FIXED[name]} for name in fixed_columns],
                "heads": [
                    {
                        "title": column.title,
                        "help": f"Correlation with {column.against_measure} of {column.against}",
                        "signs": [
                            {"sign": SIGNS[name], "name": study.TITLES[name]} for name in shown
                        ],
                    }
                    for column in table.columns
                ],
                "rows": [
                    {
                        "name": row.name,
                        "fixed": values,
                        "cells": [
                            [_cell_data(cell, name, so_far) for name in shown] for cell in row.cells
                        ],
                    }
                    for row, values in zip(table.rows, fixed, strict=True)
                ],
            },
            "open": list(detail["place"]) if detail else None,
            "detail": detail,
        },
        on_pick_change=on_pick,
    )


def _cell_data(cell: study.Cell, name: str, so_far: bool) -> dict[str, Any]:
    value, interval = cell.value(name), cell.intervals.get(name)
    return {
        "coefficient": study.TITLES[name],
        "value": value,
        "said": study.UNDEFINED if value is None else f"{value:z.3f}",
        "mark": "plain" if so_far else cell.marks[name],
        "why": cell.correlation.undefined or "",
        "interval": f"{interval[0]:z.2f} to {interval[1]:z.2f}"
        if value is not None and interval
        else None,
    }


def find_open_cell(table: study.MetaTable) -> tuple[int, int] | None:
    """Return row and measure of the open cell in the address; None if no cell is open."""
    parts = st.query_params.get(PLACE, "").split(",")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        return None
    row, at = int(parts[0]), int(parts[1])
    return (row, at) if row < len(table.rows) and at < len(table.columns) else None


def keep_picked_cell() -> None:
    """Write the clicked cell into the address, or remove the closed one."""
    chosen = st.session_state[KEY].get("pick") or ()
    address.write_parameters({PLACE: ",".join(str(int(part)) for part in chosen)})


def cell_data(
    table: study.MetaTable,
    at: tuple[int, int],
    compared: labels.Comparison | None,
    href: str | None,
) -> dict[str, Any]:
    """Return the two leaderboards of a cell, and their agreement.

    Args:
        compared: the leaderboards; None if the cell is empty.
        href: link to both on the Leaderboard screen, if it can show them.
    """
    row, column = table.rows[at[0]], table.columns[at[1]]
    cell = row.cells[at[1]]
    facts = [
        {
            "name": name,
            "value": ui.as_number(cell.value(coefficient)),
            "more": f"95 %: {interval[0]:z.3f} to {interval[1]:z.3f}"
            if (interval := cell.intervals.get(coefficient))
            else "",
        }
        for coefficient, name in study.TITLES.items()
    ]
    return {
        "place": at,
        "title": (
            f"{cell.measure} of {study.full_name(row)} compared with {column.against_measure} of"
            f" {column.against}"
        ),
        "undefined": cell.correlation.undefined,
        "facts": [
            *facts,
            {
                "name": "Systems on both leaderboards",
                "value": str(cell.correlation.systems),
                "more": "",
            },
        ],
        "says": cell.queries.description if cell.queries else "",
        "href": href,
        "board": compared
        and boards.board_data(
            boards.NamedLeaderboard(f"Row {compared.board.measure}", compared.board),
            boards.NamedLeaderboard(
                f"{column.against} {compared.official.measure}", compared.official
            ),
        ),
    }
