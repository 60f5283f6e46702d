"""Charts of one value over another: an audit by judgments, leaderboards by sample size, agreement
by threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import altair as alt
import pandas as pd

from ..answers import AgreementRow
from ..audit import Forecast, Goal
from ..study import SampleSize
from ._chart_marks import ACCENT, GREY, PADDING, Chart, layer_charts, make_legend

DESIGNS = {
    "width": "with the grader's labels",
    "without_machine": "without labels",
    "uniform": "uniform sample, without labels",
}
WIDTHS = {"pair": "Half width of the difference", "best": "Half width (median difference)"}
"""Title of the widths, by goal of the audit."""


def forecast_chart(forecast: Forecast, goal: Goal) -> Chart:
    """Return a chart of widths by judgments with a line for each design, the present state, and the
    goal.

    Args:
        goal: decides which widths are shown.
    """
    rows = [
        (point.judgments, getattr(point, name) / 2, title)
        for point in forecast.curve
        for name, title in DESIGNS.items()
    ]
    designs = list(DESIGNS.values())
    colours = alt.Scale(domain=designs, range=[ACCENT, GREY, GREY])
    dashes = alt.Scale(domain=designs, range=[[1, 0], [1, 0], [4, 4]])
    tooltip = [
        alt.Tooltip("judgments:Q", title="Judgments", format=",d"),
        alt.Tooltip("half:Q", title="±", format=".4f"),
    ]
    lines = (
        alt.Chart(pd.DataFrame(rows, columns=["judgments", "half", "design"]))
        .mark_line(strokeWidth=2)
        .encode(
            alt.X(
                "judgments:Q",
                title="Judgments",
                scale=alt.Scale(nice=False, zero=True),
                axis=alt.Axis(tickCount=8),
            ),
            alt.Y(
                "half:Q",
                title=WIDTHS.get(goal.aim, "Half width (median system)"),
                axis=alt.Axis(tickCount=5),
            ),
            alt.Color(
                "design:N",
                sort=designs,
                title=None,
                scale=colours,
                legend=make_legend(direction="vertical", symbolType="stroke"),
            ),
            alt.StrokeDash("design:N", sort=designs, title=None, scale=dashes),
            tooltip=[alt.Tooltip("design:N", title="Design"), *tooltip],
        )
    )
    layers = [lines]
    if forecast.needed is not None and forecast.needed <= forecast.curve[-1].judgments:
        needed = pd.DataFrame(
            [{"judgments": forecast.needed, "says": f"{forecast.needed:,} needed"}]
        )
        layers.append(
            alt.Chart(needed)
            .mark_rule(strokeDash=[3, 3], color=GREY)
            .encode(alt.X("judgments:Q"), tooltip=[alt.Tooltip("says:N", title="Judgments")])
        )
    if forecast.width is not None:
        now = pd.DataFrame(
            [{"judgments": forecast.made, "half": forecast.width / 2, "says": "now"}]
        )
        layers.append(
            alt.Chart(now)
            .mark_point(filled=True, size=110, color=ACCENT, opacity=1)
            .encode(
                alt.X("judgments:Q"),
                alt.Y("half:Q"),
                tooltip=[alt.Tooltip("says:N", title="State"), *tooltip],
            )
        )
    return layer_charts(*layers, height=360, padding=PADDING)


SEPARABLE = "Smallest difference that is separated"
LARGEST = 4
"""Differences are drawn up to this multiple of the whole leaderboard's. With few queries they are
much larger.
"""


def sample_chart(
    sizes: Sequence[SampleSize], value: Literal["separable", "kendall"], things: str
) -> Chart:
    """Return a chart of a value over the size of a sample; Kendall's tau has a band from the least
    to the greatest.

    Args:
        sizes: by rising number; the last one is the whole leaderboard.
        things: title of the horizontal axis.
    """
    known_sizes = [size for size in sizes if getattr(size, value) is not None]
    if value == "separable":
        known_sizes = [
            size
            for size in known_sizes
            if getattr(size, value) <= LARGEST * getattr(known_sizes[-1], value)
        ]
    table = pd.DataFrame(
        [vars(size) for size in known_sizes], columns=list(SampleSize.__dataclass_fields__)
    )
    y_scale = alt.Scale(zero=value == "separable")
    kendall = f"Kendall with the order by all {things.partition(' ')[0].lower()}"
    title = SEPARABLE if value == "separable" else kendall
    x = alt.X(
        "count:Q",
        title=things,
        scale=alt.Scale(zero=False, nice=False),
        axis=alt.Axis(tickMinStep=1, format=",d"),
    )
    base = alt.Chart(table).encode(
        x,
        tooltip=[
            alt.Tooltip("count:Q", title=things, format=",d"),
            alt.Tooltip("separable:Q", title=SEPARABLE, format=".4f"),
            alt.Tooltip("kendall:Q", title=kendall, format=".3f"),
        ],
    )
    y = alt.Y(f"{value}:Q", title=title, scale=y_scale)
    band = base.mark_area(color=ACCENT, fillOpacity=0.12, opacity=1).encode(
        alt.Y("low:Q", title=title, scale=y_scale), alt.Y2("high:Q")
    )
    lines = base.mark_line(color=ACCENT, strokeWidth=2).encode(y)
    points = base.mark_circle(color=ACCENT, size=40, opacity=1).encode(y)
    return layer_charts(
        *([band] if value == "kendall" else []), lines, points, height=300, padding=PADDING
    )


VALUES = ("accuracy", "kappa", "precision", "recall")


def threshold_chart(row: AgreementRow, threshold: float) -> Chart:
    """Return a chart of accuracy, kappa, precision and recall by threshold, with a line at this and
    the best one.
    """
    points = [
        (name.capitalize(), point.threshold, value)
        for point in row.curve
        for name in VALUES
        if (value := getattr(point, name)) is not None
    ]
    marks = [("Your threshold", threshold)]
    if row.tested is not None:
        marks.append(("Best threshold", row.tested.threshold))
    lines = (
        alt.Chart(pd.DataFrame(points, columns=["what", "threshold", "value"]))
        .mark_line(strokeWidth=2)
        .encode(
            alt.X("threshold:Q", title="Threshold", scale=alt.Scale(domain=[0, row.judge.top])),
            alt.Y("value:Q", title=None),
            alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(domain=[name.capitalize() for name in VALUES]),
                legend=make_legend(),
            ),
            tooltip=[
                alt.Tooltip("what:N", title="Measure"),
                alt.Tooltip("threshold:Q", title="Threshold", format=".2f"),
                alt.Tooltip("value:Q", title="Value", format=".3f"),
            ],
        )
    )
    rules = alt.Chart(pd.DataFrame(marks, columns=["what", "threshold"])).mark_rule(
        strokeDash=[4, 4], color=GREY
    )
    where = [alt.Tooltip("what:N"), alt.Tooltip("threshold:Q", format=".2f")]
    return layer_charts(lines, rules.encode(alt.X("threshold:Q"), tooltip=where), height=260)
