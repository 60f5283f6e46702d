"""Charts of leaderboards from fewer queries, or from fewer questions per query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import altair as alt
import pandas as pd

from ..study import SampleSize
from ._chart_marks import ACCENT, PADDING, Chart, layered

TITLES = {"separable": "Smallest difference that is separated", "kendall": "Kendall with the whole leaderboard"}
LARGEST = 4
"""Differences are drawn up to this multiple of the whole leaderboard's. With few queries they are much larger."""


def sample_chart(sizes: Sequence[SampleSize], value: Literal["separable", "kendall"], things: str) -> Chart:
    """Return a chart of a value over the size of a sample; Kendall's tau has a band from the least to the greatest.

    Args:
        sizes: by rising number; the last one is the whole leaderboard.
        things: title of the horizontal axis.
    """
    known = [size for size in sizes if getattr(size, value) is not None]
    if value == "separable":
        known = [size for size in known if getattr(size, value) <= LARGEST * getattr(known[-1], value)]
    table = pd.DataFrame([vars(size) for size in known], columns=list(SampleSize.__dataclass_fields__))
    y_scale = alt.Scale(zero=value == "separable")
    x = alt.X(
        "count:Q", title=things, scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(tickMinStep=1, format=",d")
    )
    base = alt.Chart(table).encode(
        x,
        tooltip=[
            alt.Tooltip("count:Q", title=things, format=",d"),
            alt.Tooltip("separable:Q", title=TITLES["separable"], format=".4f"),
            alt.Tooltip("kendall:Q", title=TITLES["kendall"], format=".3f"),
        ],
    )
    y = alt.Y(f"{value}:Q", title=TITLES[value], scale=y_scale)
    band = base.mark_area(color=ACCENT, fillOpacity=0.12, opacity=1).encode(
        alt.Y("low:Q", title=TITLES[value], scale=y_scale), alt.Y2("high:Q")
    )
    lines = base.mark_line(color=ACCENT, strokeWidth=2).encode(y)
    points = base.mark_circle(color=ACCENT, size=40, opacity=1).encode(y)
    return layered(*([band] if value == "kendall" else []), lines, points, height=300, padding=PADDING)
