"""Chart of the judgments that an audit needs."""

from __future__ import annotations

import altair as alt
import pandas as pd

from ..audit import Forecast, Goal
from ._chart_marks import ACCENT, GREY, PADDING, Chart, layered, legend

DESIGNS = {
    "width": "with the grader's labels",
    "without_machine": "without labels",
    "uniform": "uniform sample, without labels",
}
WIDTHS = {"pair": "Half width of the difference", "best": "Half width (median difference)"}
"""Title of the widths, by goal of the audit."""


def forecast_chart(found: Forecast, goal: Goal) -> Chart:
    """Return a chart of widths by judgments with a line for each design, the present state, and the goal.

    Args:
        goal: decides which widths are shown.
    """
    rows = [
        (point.judgments, getattr(point, name) / 2, title) for point in found.curve for name, title in DESIGNS.items()
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
            alt.X("judgments:Q", title="Judgments", scale=alt.Scale(nice=False, zero=True), axis=alt.Axis(tickCount=8)),
            alt.Y("half:Q", title=WIDTHS.get(goal.aim, "Half width (median system)"), axis=alt.Axis(tickCount=5)),
            alt.Color(
                "design:N",
                sort=designs,
                title=None,
                scale=colours,
                legend=legend(direction="vertical", symbolType="stroke"),
            ),
            alt.StrokeDash("design:N", sort=designs, title=None, scale=dashes),
            tooltip=[alt.Tooltip("design:N", title="Design"), *tooltip],
        )
    )
    layers = [lines]
    if found.needed is not None and found.needed <= found.curve[-1].judgments:
        needed = pd.DataFrame([{"judgments": found.needed, "says": f"{found.needed:,} needed"}])
        layers.append(
            alt.Chart(needed)
            .mark_rule(strokeDash=[3, 3], color=GREY)
            .encode(alt.X("judgments:Q"), tooltip=[alt.Tooltip("says:N", title="Judgments")])
        )
    if found.width is not None:
        now = pd.DataFrame([{"judgments": found.made, "half": found.width / 2, "says": "now"}])
        layers.append(
            alt.Chart(now)
            .mark_point(filled=True, size=110, color=ACCENT, opacity=1)
            .encode(alt.X("judgments:Q"), alt.Y("half:Q"), tooltip=[alt.Tooltip("says:N", title="State"), *tooltip])
        )
    return layered(*layers, height=360, padding=PADDING)
