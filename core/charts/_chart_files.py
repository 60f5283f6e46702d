"""Charts as pictures in files, for print and for web pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import Lock
from typing import Any, cast

import altair as alt
import vl_convert

from ._chart_marks import INK, Chart, text_colours

CONVERTING = Lock()
"""Held while a chart becomes Vega-Lite: Altair keeps the settings of that step for all threads
together.
"""
WIDTH = 480
"""Width of a plot without its axes, in pixels; 96 are an inch in print."""
DOTS_PER_INCH = 300
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The first is part of vl-convert, and the second has letters of the same widths."""
CATEGORIES = ("#2f6399", "#c4762b", "#4b8b6f", "#a3505f", "#7a6aa0", "#8a8f94")
GRID = "#e3e6e9"


def for_screen(chart: Chart, dark: bool) -> Chart:
    """Return a chart with text that is legible on a light or on a dark page."""
    return cast(Chart, chart.configure(**text_colours(dark)))


def for_print(chart: Chart, width: int = WIDTH) -> Chart:
    """Return a chart with the width, fonts and lines of a printed figure, on white."""
    text = {"labelColor": INK[False], "titleColor": INK[False], "titleFontWeight": "normal"}
    return cast(
        Chart,
        chart.properties(width=width, background="white").configure(
            **text_colours(False),
            font=FONT,
            axis={
                **text,
                "gridColor": GRID,
                "domain": False,
                "ticks": False,
                "labelPadding": 6,
                "labelFlush": False,
            },
            legend=text,
            range={"category": CATEGORIES},
            view={"stroke": None},
        ),
    )


FORMATS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    ".pdf": lambda spec: bytes(vl_convert.vegalite_to_pdf(spec)),
    ".svg": lambda spec: str(vl_convert.vegalite_to_svg(spec)).encode(),
    ".png": lambda spec: bytes(
        vl_convert.vegalite_to_png(spec, scale=DOTS_PER_INCH / 96, ppi=DOTS_PER_INCH)
    ),
    ".json": lambda spec: json.dumps(spec, indent=1).encode(),
}
"""The writer of each kind of file, by ending."""


def render_chart(chart: Chart, ending: str) -> bytes:
    """Return the content of a file with a chart.

    Args:
        ending: of the file's name, one of `FORMATS`.
    """
    with CONVERTING, alt.data_transformers.disable_max_rows():
        spec = chart.to_dict()
    return FORMATS[ending](spec)
