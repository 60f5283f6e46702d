"""Charts of an exam: accuracy of the examinees, also by topic, and values over ability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from ..exams import ExamineeRow, TopicRow
from ..measures.item_response import GRID, Analysis, information_by_category, mean_information
from ._chart_marks import ACCENT, GREY, Chart, layer_charts, make_legend, names_axis

HEIGHT = 24
"""Height of a row in pixels."""
AROUND = 60
"""Pixels for the axis of a chart and its title."""
TALL = 20
"""Number of rows that fit on a page."""
LINE_COLOURS = 6
"""Number of line colours in the theme."""
NAMED_LINES = 20
"""Number of lines up to which each has a colour and a name."""


def accuracy_chart(board: Sequence[ExamineeRow], baselines: Mapping[str, float]) -> Chart:
    """Return a chart of examinees by accuracy with 95% intervals, and a line for each baseline.

    Args:
        baselines: accuracies of answers that ignore the question, by description.
    """
    rows = [
        {
            "student": row.student.name,
            "accuracy": row.score.accuracy,
            **dict(zip(("low", "high"), row.score.accuracy_interval or (), strict=True)),
            "right": f"{row.score.right:,} of {row.score.answered:,}",
        }
        for row in board
        if row.score.accuracy is not None
    ]
    names = [str(row["student"]) for row in rows]
    scale = alt.Scale(domain=[0, 1])
    # An axis below a long chart would be out of sight.
    axis = alt.Axis(format="%", orient="top" if len(rows) > TALL else "bottom", tickCount=10)
    base = alt.Chart(
        pd.DataFrame(rows, columns=["student", "accuracy", "low", "high", "right"])
    ).encode(
        alt.Y("student:N", sort=names, title=None, axis=names_axis(names)),
        tooltip=[
            alt.Tooltip("student:N", title="Examinee"),
            alt.Tooltip("accuracy:Q", title="Accuracy", format=".3f"),
            alt.Tooltip("right:N", title="Right"),
        ],
    )
    lines = alt.Chart(pd.DataFrame(list(baselines.items()), columns=["what", "share"]))
    return layer_charts(
        base.mark_rule(color=GREY).encode(
            alt.X("low:Q", title="Accuracy", scale=scale), alt.X2("high:Q")
        ),
        base.mark_circle(size=60, color=ACCENT, opacity=1).encode(
            alt.X("accuracy:Q", title="Accuracy", scale=scale, axis=axis)
        ),
        lines.mark_rule(strokeDash=[4, 4], color=GREY).encode(
            alt.X("share:Q"),
            tooltip=[
                alt.Tooltip("what:N", title="Baseline"),
                alt.Tooltip("share:Q", title="Accuracy", format=".1%"),
            ],
        ),
        height=HEIGHT * max(2, len(rows)) + AROUND,
    )


def topic_chart(rows: Sequence[TopicRow], order: Sequence[str]) -> Chart:
    """Return a chart of the examinees' accuracy by topic, with the number of answers in each cell.

    Args:
        order: names of the examinees, in their order in the chart.
    """
    table = pd.DataFrame(
        [
            {
                "student": row.student.name,
                "topic": row.topic,
                "accuracy": row.score.accuracy,
                "said": f"{row.score.accuracy:.0%} of {row.score.answered}",
            }
            for row in rows
            if row.score.accuracy is not None
        ],
        columns=["student", "topic", "accuracy", "said"],
    )
    topics = alt.Axis(
        labelAngle=0, labelLimit=160, labelOverlap=False, labelFlush=False, orient="top"
    )
    base = alt.Chart(table).encode(
        alt.X("topic:N", title=None, axis=topics),
        alt.Y("student:N", sort=list(order), title=None, axis=names_axis(order)),
        tooltip=[
            alt.Tooltip("student:N", title="Examinee"),
            alt.Tooltip("topic:N", title="Topic"),
            alt.Tooltip("said:N", title="Right"),
        ],
    )
    shades = alt.Scale(domain=[0, 1], range=["#f1f3f5", "#7fa3cf"])
    return layer_charts(
        base.mark_rect().encode(alt.Color("accuracy:Q", scale=shades, legend=None)),
        base.mark_text(fontSize=11, color="#1d232b").encode(text="said:N"),
        height=(HEIGHT + 4) * max(2, len(order)) + AROUND,
    )


def information_curves(
    analysis: Analysis, categories: Mapping[str, Sequence[str]]
) -> tuple[dict[str, list[float]], Mapping[str, int]]:
    """Return the mean information of all items and of each category, and the sizes of categories
    with too few items.

    Args:
        categories: of each item, by its id.
    """
    parts, few = information_by_category(
        analysis.fit.items, [categories.get(row.item, ()) for row in analysis.items]
    )
    curves = {f"all {len(analysis.items)} items": mean_information(analysis.fit.items).tolist()}
    return curves | {f"{part.name} ({part.items})": part.values.tolist() for part in parts}, few


def ability_curves(
    curves: Mapping[str, Sequence[float]],
    abilities: Sequence[float] = (),
    title: str = "Mean information per item",
) -> Chart:
    """Return a chart of values over ability, a line per name. More than `NAMED_LINES` lines are
    grey.

    Args:
        curves: values at the abilities of `GRID`.
        abilities: abilities of examinees, marked at the bottom; the axis reaches to all of them.
        title: title of the values.
    """
    grid = GRID.tolist()
    table = pd.DataFrame(
        [
            (name, *point)
            for name, values in curves.items()
            for point in zip(grid, values, strict=True)
        ],
        columns=["name", "ability", "information"],
    )
    # The colours of the theme suit light and dark pages.
    scheme: Any = alt.Undefined if len(curves) <= LINE_COLOURS else "tableau10"
    reach = (
        [min(grid[0], *abilities), max(grid[-1], *abilities)] if abilities else [grid[0], grid[-1]]
    )
    colour = alt.Color(
        "name:N",
        title=None,
        scale=alt.Scale(domain=list(curves), scheme=scheme),
        legend=make_legend(columns=3),
    )
    named: dict[str, Any] = (
        {"color": colour} if len(curves) <= NAMED_LINES else {"detail": alt.Detail("name:N")}
    )
    lines = (
        alt.Chart(table)
        .mark_line(strokeWidth=2 if "color" in named else 1, color=GREY)
        .encode(
            alt.X(
                "ability:Q",
                title="Ability",
                scale=alt.Scale(domain=reach),
                axis=alt.Axis(tickCount=12),
            ),
            alt.Y("information:Q", title=title),
            **named,
            tooltip=[
                alt.Tooltip("name:N", title="Curve"),
                alt.Tooltip("ability:Q", title="Ability", format=".1f"),
                alt.Tooltip("information:Q", title=title, format=".3f"),
            ],
        )
    )
    examinees = alt.Chart(pd.DataFrame({"ability": list(abilities)}, columns=["ability"]))
    # At zero information, which is the bottom of a chart of any height.
    ticks = examinees.mark_tick(
        color=GREY, thickness=2, size=12, orient="vertical", aria=False
    ).encode(alt.X("ability:Q"), y=alt.datum(0))
    return layer_charts(lines, ticks, height=300)
