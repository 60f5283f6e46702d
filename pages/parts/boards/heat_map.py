"""The heat map of the Meta-evaluation screen: the numbers of its table as colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from core.study import TITLES, UNDEFINED, MetaTable, full_name
from pages.parts.shared.vega import Spec, chart, clickable, either, layer, number, selection, word

CELL_HEIGHT = 24
# The min rating stands at the end of a name: what is cut is the middle.
SHORT_LABEL = "length(datum.label) > 44 ? slice(datum.label, 0, 22) + '…' + slice(datum.label, -21) : datum.label"
STRONG = 0.6
"""From this size on a colour is so dark that text on it is white."""


def draw(table: MetaTable, shown: Sequence[str], signs: Mapping[str, str]) -> tuple[int, int] | None:
    """The heat map; returns row and measure of the cell that is selected.

    Args:
        shown: the coefficients, from left to right within each measure.
        signs: how each coefficient is written.
    """
    picked = st.vega_lite_chart(_chart(table, shown, signs), on_select="rerun", key="heat").selection.get("picked", [])
    if not picked:
        return None
    row, at = int(picked[0]["row"]), int(picked[0]["at"])
    return (row, at) if row < len(table.rows) and at < len(table.columns) else None


def _chart(table: MetaTable, shown: Sequence[str], signs: Mapping[str, str]) -> Spec:
    dark = st.context.theme.type == "dark"
    neutral, ink = ("#23282d", "#e4e7ea") if dark else ("#f0f2f4", "#1f2428")
    cells = [
        {
            "row": line,
            "at": at,
            "name": full_name(row),
            "column": f"{column.title} {signs[name]}",
            "coefficient": TITLES[name],
            "value": cell.value(name),
            "said": UNDEFINED if cell.value(name) is None else f"{cell.value(name):.2f}",
            "why": cell.correlation.undefined or cell.marks[name],
            "queries": cell.queries.short if cell.queries else "",
            "best": cell.marks[name] == "best",
        }
        for line, row in enumerate(table.rows)
        for at, (column, cell) in enumerate(zip(table.columns, row.cells, strict=True))
        for name in shown
    ]
    columns = list(dict.fromkeys(cell["column"] for cell in cells))
    names = list(dict.fromkeys(cell["name"] for cell in cells))
    base = {
        "x": word(
            "column",
            sort=columns,
            title=None,
            axis={"orient": "top", "labelAngle": -40, "labelLimit": 0, "labelOverlap": False},
        ),
        "y": word(
            "name",
            sort=names,
            title=None,
            axis={"labelLimit": 0, "labelExpr": SHORT_LABEL, "labelOverlap": False, "labelFlush": False},
        ),
        "tooltip": [
            word("name", title="Row"),
            word("column", title="Column"),
            number("value", title="Correlation", format=".3f"),
            word("why", title="Standing"),
            word("queries", title="Queries"),
        ],
    }
    scale = {"domain": [-1, 0, 1], "range": ["#b3541e", neutral, "#1f5a96"], "interpolate": "rgb"}
    squares = base | {"color": number("value", scale=scale, legend=None)}
    numbers = base | {"text": word("said"), "color": either(f"abs(datum.value) >= {STRONG}", "white", ink)}
    return chart(
        pd.DataFrame(cells),
        clickable(layer("rect", squares, stroke=neutral, strokeWidth=1, cursor="pointer", invalid=None)),
        layer("text", numbers, only="!datum.best", fontSize=11),
        layer("text", numbers, only="datum.best", fontSize=12, fontWeight="bold"),
        params=[selection("picked", "row", "at")],
        height=CELL_HEIGHT * len(names) + 40,
    )
