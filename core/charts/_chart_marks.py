"""Colours, axes and selections that the charts share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

import altair as alt

from ..run_names import short_names

GREY = "#737b87"
ACCENT = "#3b73b9"
FAINT = "rgba(115, 123, 135, 0.22)"
"""A decoration, on a light and on a dark page."""
INK = {False: "#3a4250", True: "#d5d9df"}
"""Colour of text, by whether the page is dark."""
ROW_HEIGHT = 22
PADDING = {"left": 5, "right": 14, "top": 5, "bottom": 20}
"""Space around a chart; the last number of an axis may extend to the right."""
PICKED = "picked"
"""Selection that holds the fields of the clicked mark."""

Chart = alt.LayerChart


def label_expression(texts: Mapping[str, Any]) -> str:
    """Return the Vega expression by which an axis or legend shows other texts than its values."""
    return f"{json.dumps(texts)}[datum.label]"


def layer_charts(*layers: Any, **properties: Any) -> Chart:
    """Return a chart of layers, the last one on top."""
    return cast(Chart, alt.layer(*layers).properties(**properties))


def names_axis(names: Iterable[str], **options: Any) -> alt.Axis:
    """Return an axis with a short name for each of these runs."""
    usual: dict[str, Any] = {
        "labelExpr": label_expression(short_names(names)),
        "labelLimit": 0,
        "labelOverlap": False,
        "labelFlush": False,
    }
    return alt.Axis(**(usual | {"ticks": False, "domain": False} | options))


def make_legend(**options: Any) -> alt.Legend:
    """Return a legend above the chart."""
    return alt.Legend(**{"orient": "top", "labelLimit": 0, **options})


def emphasise_marked(value: Any, otherwise: Any) -> Any:
    """Return a value for marked rows, and another for the others."""
    return alt.when("datum.marked").then(alt.value(value)).otherwise(alt.value(otherwise))


def select_by_click(*fields: str) -> alt.Parameter:
    """Return the selection of a mark's fields by a click."""
    return alt.selection_point(
        name=PICKED, fields=list(fields), on="click", toggle=False, clear=False
    )


def text_colours(dark: bool) -> dict[str, Any]:
    """Return the part of a configuration that makes text legible on a light or on a dark page."""
    ink = {"color": INK[dark]}
    return {"text": ink, "circle": ink, "axisDiscrete": {"labelColor": INK[dark]}}
