"""Chart of the agreement of an answer check with people at each threshold."""

from __future__ import annotations

import altair as alt
import pandas as pd

from ..answers import AgreementRow
from ._chart_marks import GREY, Chart, layered, legend

VALUES = ("accuracy", "kappa", "precision", "recall")


def threshold_chart(row: AgreementRow, threshold: float) -> Chart:
    """Return a chart of accuracy, kappa, precision and recall by threshold, with a line at this and the best one."""
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
                "what:N", title=None, scale=alt.Scale(domain=[name.capitalize() for name in VALUES]), legend=legend()
            ),
            tooltip=[
                alt.Tooltip("what:N", title="Measure"),
                alt.Tooltip("threshold:Q", title="Threshold", format=".2f"),
                alt.Tooltip("value:Q", title="Value", format=".3f"),
            ],
        )
    )
    rules = alt.Chart(pd.DataFrame(marks, columns=["what", "threshold"])).mark_rule(strokeDash=[4, 4], color=GREY)
    where = [alt.Tooltip("what:N"), alt.Tooltip("threshold:Q", format=".2f")]
    return layered(lines, rules.encode(alt.X("threshold:Q"), tooltip=where), height=260)
