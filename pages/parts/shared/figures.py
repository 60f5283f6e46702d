"""Figures that set leaderboards, systems and their queries beside each other; what is clicked has the name `picked`."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.study import Difference, Panel, QueryPoints, SystemPoint, outstanding
from pages.parts.shared import charts

PICKED = "picked"
NAMED_POINTS = 12
"""Up to so many systems of a scatter all carry their names."""
NAME_WIDTH, NAME_HEIGHT = 0.5, 0.06
"""Room that a name takes in a scatter, as shares of the spread of the points; names are at most 22 letters long."""
OUTSTANDING = 6
"""Of more systems, so many carry theirs: those whose rank differs most."""
FEW = 8
"""Up to so many systems there is room to spare."""
NAMES_HEIGHT = 230
"""Room for the legend above a chart and the names below it."""
SCALED = "Score, from lowest 0 to highest 1"
VERDICTS = ("differs", "does not differ", "no test")


def _clickable(*fields: str) -> alt.Parameter:
    return alt.selection_point(name=PICKED, fields=list(fields), on="click", toggle=False, clear=False)


def panel(found: Panel, marked: str | None = None) -> alt.LayerChart:
    """Boards on one scale, a colour and a shape each, the systems along the axis; a click picks `run` and `board`.

    Args:
        marked: the run to point out.
    """
    table = pd.DataFrame([vars(mark) for mark in found.marks])
    boards = list(dict.fromkeys(mark.board for mark in found.marks))
    # A click on the legend lets one board stand out.
    named = alt.selection_point(name="legend", fields=["board"], bind="legend")
    names = alt.Axis(
        labelAngle=-60, labelLimit=0, labelExpr=charts.name_labels(found.order), labelOverlap=False, ticks=False,
        grid=True, labelColor=charts.ink(), domain=False,
    )  # fmt: skip
    padding = 0.8 if len(found.order) <= FEW else 0.3
    base = alt.Chart(table).encode(
        x=alt.X(
            "run", sort=found.order, title=None, axis=names, scale=alt.Scale(domain=found.order, paddingInner=padding)
        ),
        xOffset=alt.XOffset("board", sort=boards),
        color=alt.Color(
            "board", sort=boards, title=None,
            legend=alt.Legend(orient="top", columns=3, labelLimit=0, symbolOpacity=1, symbolSize=90),
        ),
        opacity=alt.condition(named, alt.value(1), alt.value(0.12)),
        tooltip=[
            alt.Tooltip("run", title="Run"),
            alt.Tooltip("board", title="Board"),
            alt.Tooltip("score", title="Score", format=".4f"),
            alt.Tooltip("std_error", title="Standard error", format=".4f"),
            alt.Tooltip("scaled", title="Scaled", format=".3f"),
        ],
    )  # fmt: skip
    scaled = alt.Y("scaled", title=SCALED, axis=alt.Axis(tickCount=6))
    lines = base.mark_line(strokeWidth=1, strokeOpacity=0.45).encode(y=scaled, detail="board")
    bars = base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low", title=SCALED), y2="high")
    dots = base.mark_point(filled=True).encode(
        y=scaled,
        shape=alt.Shape("board", sort=boards, title=None),
        size=alt.condition(alt.datum.run == (marked or ""), alt.value(150), alt.value(48)),
    )
    return alt.layer(lines, bars, dots.add_params(_clickable("run", "board"), named)).properties(height=540)


def system_scatter(
    points: Sequence[SystemPoint], x_name: str, y_name: str, marked: str | None = None
) -> alt.LayerChart:
    """Systems by their scores on two boards with bars of one standard error; a click picks `run`.

    Args:
        x_name, y_name: what the boards are called.
        marked: the run to point out.
    """
    named = {p.run for p in points} if len(points) <= NAMED_POINTS else _legible(points)
    short = charts.short_names(p.run for p in points)
    middle = (min(p.x for p in points) + max(p.x for p in points)) / 2
    table = pd.DataFrame(
        [
            {
                **vars(p),
                "x_low": p.x - (p.x_error or 0),
                "x_high": p.x + (p.x_error or 0),
                "y_low": p.y - (p.y_error or 0),
                "y_high": p.y + (p.y_error or 0),
                "marked": p.run == marked,
                # A name stands on the side where there is room.
                "right": p.x > middle,
                "name": short[p.run] if p.run == marked or p.run in named else "",
            }
            for p in points
        ]
    )
    base = alt.Chart(table).encode(
        color=alt.condition("datum.marked", alt.value(charts.ACCENT), alt.value(charts.GREY)),
        order=alt.Order("marked:Q"),
        tooltip=[
            alt.Tooltip("run", title="Run"),
            alt.Tooltip("x", title=x_name, format=".4f"),
            alt.Tooltip("x_error", title="± error", format=".4f"),
            alt.Tooltip("x_rank", title="Rank"),
            alt.Tooltip("y", title=y_name, format=".4f"),
            alt.Tooltip("y_error", title="± error ", format=".4f"),
            alt.Tooltip("y_rank", title="Rank "),
        ],
    )
    scale = alt.Scale(zero=False, nice=True)
    x, y = alt.X("x", title=x_name, scale=scale), alt.Y("y", title=y_name, scale=scale)
    across = base.mark_rule(strokeOpacity=0.45).encode(x=alt.X("x_low", title=x_name, scale=scale), x2="x_high", y=y)
    upright = base.mark_rule(strokeOpacity=0.45).encode(y=alt.Y("y_low", title=y_name, scale=scale), y2="y_high", x=x)
    dots = base.mark_circle(size=85, opacity=1).encode(x=x, y=y).add_params(_clickable("run"))
    names = [
        base.transform_filter(alt.datum.right == right)
        .mark_text(align="right" if right else "left", dx=-8 if right else 8, dy=-8)
        .encode(x=x, y=y, text="name", color=alt.value(charts.ink()))
        for right in (False, True)
    ]
    return alt.layer(across, upright, dots, *names).properties(height=460, padding=charts.PADDING)


def _legible(points: Sequence[SystemPoint]) -> set[str]:
    """Of the systems whose rank differs most, those whose names do not cover each other."""
    width, height = (max(values) - min(values) for values in ([p.x for p in points], [p.y for p in points]))
    place = {p.run: p for p in points}
    found: list[SystemPoint] = []
    for run in outstanding(points, len(points)):
        point = place[run]
        if len(found) < OUTSTANDING and all(
            abs(point.x - other.x) > NAME_WIDTH * width or abs(point.y - other.y) > NAME_HEIGHT * height
            for other in found
        ):
            found.append(point)
    return {point.run for point in found}


def query_scatter(
    found: QueryPoints, x_name: str, y_name: str, alike: bool, marked: str | None = None
) -> alt.LayerChart:
    """Queries by the scores of two systems, hollow where one of them skipped the query; a click picks `query_id`.

    Args:
        x_name, y_name: what the two sides are called.
        alike: whether both scores are of one measure, so that the axes are equal and the diagonal means a draw.
        marked: id of the query to point out.
    """
    table = pd.DataFrame(
        [
            {
                **vars(p),
                "skipped": ", ".join(p.skipped),
                "answered": not p.skipped,
                "marked": p.query_id == marked,
                "gain": p.y - p.x,
            }
            for p in found.points
        ]
    )
    scale = alt.Scale(zero=False, nice=True)
    ends = [min(min(p.x, p.y) for p in found.points), max(max(p.x, p.y) for p in found.points)]
    if alike and ends[0] < ends[1]:
        scale = alt.Scale(domain=ends, nice=True)
    colour = alt.condition("datum.marked", alt.value(charts.ACCENT), alt.value(charts.GREY))
    dots = (
        alt.Chart(table)
        .mark_point(strokeWidth=1.6)
        .encode(
            x=alt.X("x", title=x_name, scale=scale),
            y=alt.Y("y", title=y_name, scale=scale),
            stroke=colour,
            fill=alt.condition("datum.marked", alt.value(charts.ACCENT), alt.value(charts.GREY)),
            fillOpacity=alt.condition("datum.answered", alt.value(0.75), alt.value(0)),
            size=alt.condition("datum.marked", alt.value(190), alt.value(80)),
            order=alt.Order("marked:Q"),
            tooltip=[
                alt.Tooltip("text", title="Query"),
                alt.Tooltip("x", title=x_name, format=".4f"),
                alt.Tooltip("y", title=y_name, format=".4f"),
                alt.Tooltip("gain", title="Difference", format="+.4f"),
                *([alt.Tooltip("skipped", title="Skipped by")] if any(p.skipped for p in found.points) else []),
            ],
        )
        .add_params(_clickable("query_id"))
    )
    if not alike:
        return alt.layer(dots).properties(height=460)
    draw = (
        alt.Chart(pd.DataFrame({"x": ends, "y": ends}))
        .mark_line(strokeDash=[4, 4], strokeWidth=1, color=charts.GREY)
        .encode(x=alt.X("x", scale=scale), y=alt.Y("y", scale=scale))
    )
    return alt.layer(draw, dots).properties(height=460)


def difference_matrix(rows: Sequence[Difference], order: Sequence[str]) -> alt.LayerChart:
    """Every two systems: blue where they differ, a dot where error bars overlap; a click picks `run` and `against`.

    Args:
        order: the systems, best first.
    """
    table = pd.DataFrame(
        [
            {
                **vars(row),
                "verdict": VERDICTS[2] if row.differs is None else VERDICTS[0] if row.differs else VERDICTS[1],
                "bars": {True: "overlap", False: "apart", None: "unknown"}[row.error_bars_overlap],
            }
            for row in rows
        ]
    )
    colours = dict(zip(VERDICTS, (charts.ACCENT, charts.faint(), "transparent"), strict=True))
    verdicts = {verdict: colour for verdict, colour in colours.items() if (table["verdict"] == verdict).any()}
    x_axis, y_axis = (
        alt.Axis(
            labelLimit=0, labelExpr=charts.name_labels(order), labelOverlap=False, labelFlush=False, labelAngle=angle,
            labelColor=charts.ink(), ticks=False, domain=False, grid=False,
        )
        for angle in (-60, 0)
    )  # fmt: skip
    base = alt.Chart(table).encode(
        x=alt.X("run", sort=list(order), title=None, axis=x_axis, scale=alt.Scale(domain=list(order)[:-1])),
        y=alt.Y("against", sort=list(order), title=None, axis=y_axis, scale=alt.Scale(domain=list(order)[1:])),
        tooltip=[
            alt.Tooltip("run", title="Better"),
            alt.Tooltip("against", title="Worse"),
            alt.Tooltip("difference", title="Difference", format=".4f"),
            alt.Tooltip("p", title="p", format=".2g"),
            alt.Tooltip("corrected", title="p corrected", format=".2g"),
            alt.Tooltip("bars", title="Error bars"),
            *([alt.Tooltip("undefined", title="No test because")] if VERDICTS[2] in verdicts else []),
        ],
    )
    cells = base.mark_rect(stroke=charts.faint(), strokeWidth=1).encode(
        color=alt.Color(
            "verdict",
            title=None,
            scale=alt.Scale(domain=list(verdicts), range=list(verdicts.values())),
            legend=alt.Legend(orient="top", symbolStrokeColor=charts.GREY, symbolStrokeWidth=1),
        )
    )
    dots = (
        base.transform_filter(alt.datum.bars == "overlap")
        .mark_circle(size=16, opacity=1)
        .encode(color=alt.value(charts.ink()))
    )
    side = 40 if len(order) <= FEW else 22 if len(order) <= 30 else 18
    return alt.layer(cells.add_params(_clickable("run", "against")), dots).properties(
        height=side * max(3, len(order) - 1) + NAMES_HEIGHT
    )
