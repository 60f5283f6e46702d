"""Charts of one leaderboard, of several on one scale, and of the order of systems on two."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from ..labels import CoverCurves, Leaderboard
from ..run_names import short_names
from ..study import Panel
from ._chart_marks import (
    ACCENT,
    GREY,
    PADDING,
    ROW_HEIGHT,
    Chart,
    emphasis,
    layered,
    legend,
    names_axis,
    pick,
    replaced_by,
)

BRACKET = 8
"""Width of a bracket and the space before it, in pixels."""
BOARD_HEIGHT = 8
"""Height per leaderboard within the row of a system."""
LEGEND_HEIGHT = 115
"""Height for the legend of a chart and its axis."""
SCALED = "Score, scaled from 0 (lowest) to 1 (highest)"
SLOPE_ENDS = [alt.expr("min(160, width * 0.46)"), alt.expr("width - min(160, width * 0.46)")]
"""Space for a short name and a rank on either side, as long as some width is left for the lines."""
ENDS: tuple[tuple[Any, int], ...] = (("right", -9), ("left", 9))
"""Alignment and distance of the names at the left and at the right end of a line."""
TITLE_LENGTH = 24
TITLE_LINE = 14
LETTER, SWATCH = 7, 34
"""Width in pixels of a letter of the legend, and of the symbol before a name with its margin."""
COLOURS = (
    "#4c78a8",
    "#f58518",
    "#e45756",
    "#72b7b2",
    "#54a24b",
    "#eeca3b",
    "#b279a2",
    "#ff9da6",
    "#9d755d",
    "#bab0ac",
)
"""The palette tableau10, whose colours are easy to distinguish."""


def leaderboard_chart(board: Leaderboard, groups: Sequence[tuple[int, int]] = ()) -> Chart:
    """Return a chart of the scores of systems with bars of one standard error, best first.

    Args:
        groups: first and last place, from 0, of systems that are not separated. A bracket joins each group.
    """
    order = [system.run for system in board.systems]
    table = pd.DataFrame(
        [
            {
                **vars(system),
                "low": system.score - (system.std_error or 0),
                "high": system.score + (system.std_error or 0),
            }
            for system in board.systems
        ]
    )
    lanes: list[int] = []
    brackets = []
    for first, last in groups:
        lane = next((at for at, end in enumerate(lanes) if end < first), len(lanes))
        lanes[lane : lane + 1] = [last]
        brackets.append({"run": order[first], "last": order[last], "lane": lane})
    y = alt.Y("run:N", sort=order, title=None, axis=names_axis(order, grid=True), scale=alt.Scale(domain=order))
    score: dict[str, Any] = {"title": board.measure, "scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=6)}
    tooltip = [
        alt.Tooltip("run:N", title="Run"),
        alt.Tooltip("score:Q", title="Score", format=".4f"),
        alt.Tooltip("std_error:Q", title="Standard error", format=".4f"),
    ]
    base = alt.Chart(table).encode(y, tooltip=tooltip)
    groups_drawn = alt.Chart(pd.DataFrame(brackets, columns=["run", "last", "lane"]))
    return layered(
        base.mark_rule(color=GREY, strokeWidth=1.2).encode(alt.X("low:Q", **score), alt.X2("high:Q")),
        base.mark_circle(color=ACCENT, size=50, opacity=1).encode(alt.X("score:Q", **score)),
        groups_drawn.mark_rule(color=GREY, strokeWidth=2, strokeCap="round").encode(
            x=alt.value(alt.expr(f"width + {BRACKET} * (datum.lane + 1)")), y=y, y2=alt.Y2("last:N")
        ),
        height=ROW_HEIGHT * max(3, len(order)),
        padding=PADDING | {"right": BRACKET * (len(lanes) + 1)},
    )


def panel_chart(panel: Panel, marked: str | None = None) -> Chart:
    """Return a chart of leaderboards on one scale, each with a colour and a shape; a click picks `run` and `board`.

    Args:
        marked: the run to highlight.
    """
    table = pd.DataFrame([{**vars(mark), "marked": mark.run == marked} for mark in panel.marks])
    boards = list(dict.fromkeys(mark.board for mark in panel.marks))
    chosen = alt.selection_point(name="legend", fields=["board"], bind="legend")
    # Equal domains and legends of colours and shapes become one legend.
    key = legend(columns=2, symbolOpacity=1, symbolSize=90)
    base = alt.Chart(table).encode(
        # The systems are on the vertical axis, since names on a horizontal one would overlap.
        alt.Y(
            "run:N",
            sort=panel.order,
            title=None,
            axis=names_axis(panel.order, grid=True),
            scale=alt.Scale(domain=panel.order, paddingInner=0.4),
        ),
        alt.YOffset("board:N", sort=boards),
        alt.Color("board:N", scale=alt.Scale(domain=boards), title=None, legend=key),
        # A click on the legend highlights a leaderboard.
        opacity=alt.when(chosen).then(alt.value(1)).otherwise(alt.value(0.12)),
        tooltip=[
            alt.Tooltip("run:N", title="Run"),
            alt.Tooltip("board:N", title="Leaderboard"),
            alt.Tooltip("score:Q", title="Score", format=".4f"),
            alt.Tooltip("std_error:Q", title="Standard error", format=".4f"),
            alt.Tooltip("scaled:Q", title="Scaled score", format=".3f"),
        ],
    )
    scaled = alt.X("scaled:Q", title=SCALED, axis=alt.Axis(tickCount=6))
    shape = alt.Shape("board:N", scale=alt.Scale(domain=boards), title=None, legend=key)
    return layered(
        base.mark_line(strokeWidth=1, strokeOpacity=0.45).encode(scaled, detail="board:N", order="place:Q"),
        base.mark_rule(strokeWidth=1.2).encode(alt.X("low:Q", title=SCALED), alt.X2("high:Q")),
        base.mark_point(filled=True)
        .encode(scaled, shape, size=emphasis(150, 48))
        .add_params(pick("run", "board"), chosen),
        height=max(BOARD_HEIGHT * len(boards) + 8, ROW_HEIGHT) * len(panel.order) + LEGEND_HEIGHT,
        padding=PADDING,
    )


def slope_chart(
    first: Leaderboard,
    second: Leaderboard,
    marked: str | None = None,
    titles: tuple[str, str] = ("Official", "Exam"),
) -> Chart:
    """Return a chart of the order of the systems on two leaderboards, with a line per system.

    Args:
        marked: the run to highlight.
        titles: titles of the left and right leaderboard, which must differ.
    """
    left = {system.run: system.rank for system in first.systems}
    right = {system.run: system.rank for system in second.systems}
    common = [run for run in right if run in left]
    # Tied systems share a rank but get separate positions, so that names do not overlap.
    places = {
        titles[0]: sorted(common, key=lambda run: (left[run], right[run])),
        titles[1]: sorted(common, key=lambda run: (right[run], left[run])),
    }
    short = short_names(common)
    rows = [
        {
            "run": run,
            "board": board,
            "place": place,
            "name": f"{short[run]}  {left[run]}" if board == titles[0] else f"{right[run]}  {short[run]}",
            "move": left[run] - right[run],
            "marked": run == marked,
        }
        for board, order in places.items()
        for place, run in enumerate(order, 1)
    ]
    table = pd.DataFrame(rows, columns=["run", "board", "place", "name", "move", "marked"])
    # Each title is wrapped and ends above the dots of its leaderboard, so that long titles do not meet.
    wrapped = {title: textwrap.wrap(title, TITLE_LENGTH) for title in titles}
    further_lines = TITLE_LINE * (max(map(len, wrapped.values())) - 1)
    boards = alt.Axis(
        labelAngle=0,
        labelLimit=0,
        orient="top",
        domain=False,
        ticks=False,
        grid=False,
        labelAlign=alt.when("datum.index == 0").then(alt.value("right")).otherwise(alt.value("left")),
        labelExpr=replaced_by(wrapped),
        labelPadding=16 + further_lines,
        labelLineHeight=TITLE_LINE,
    )
    base = alt.Chart(table).encode(
        alt.X("board:N", sort=list(places), title=None, axis=boards, scale=alt.Scale(range=SLOPE_ENDS)),
        alt.Y("place:Q", scale=alt.Scale(reverse=True, zero=False, nice=False), axis=None),
        color=emphasis(ACCENT, GREY),
        detail="run:N",
        tooltip=[
            alt.Tooltip("run:N", title="Run"),
            alt.Tooltip("move:Q", title=f"Ranks gained in {titles[1]}"),
        ],
    )
    named = base.encode(text="name:N", color=alt.when("datum.marked").then(alt.value(ACCENT)))
    return layered(
        base.mark_line(point=True).encode(strokeWidth=emphasis(3, 1.3)),
        *(
            named.mark_text(align=side, dx=dx).transform_filter(alt.FieldEqualPredicate(field="board", equal=board))
            for board, (side, dx) in zip(titles, ENDS, strict=True)
        ),
        height=ROW_HEIGHT * max(3, len(common)) + further_lines + 50,
    )


def coverage_chart(found: CoverCurves, chosen: Sequence[str], colours: Sequence[str] = COLOURS) -> Chart:
    """Return a chart of coverage over the number of passages, a line per system with a band of one standard error.

    Args:
        chosen: the runs to draw, best first.
        colours: of the chosen runs.
    """
    table = pd.DataFrame(
        [
            {
                "run": curve.run,
                "k": k,
                "score": score,
                "error": error,
                "low": score - (error or 0),
                "high": score + (error or 0),
            }
            for curve in found.curves
            if curve.run in chosen
            for k, (score, error) in enumerate(zip(curve.scores, curve.std_errors, strict=True), 1)
        ],
        columns=["run", "k", "score", "error", "low", "high"],
    )
    # The legend has as many names per row as fit, so that it does not narrow the chart.
    names = short_names(chosen)
    widest = LETTER * max(map(len, names.values()), default=0) + SWATCH
    columns = alt.expr(f"max(1, floor(width / {widest}))")
    base = alt.Chart(table).encode(
        alt.X(
            "k:Q",
            title="Passages read",
            scale=alt.Scale(domain=[1, found.max_k], nice=False),
            axis=alt.Axis(tickMinStep=1),
        ),
        alt.Color(
            "run:N",
            title=None,
            scale=alt.Scale(domain=list(chosen), range=list(colours[: len(chosen)])),
            legend=legend(columns=columns, labelExpr=replaced_by(names), symbolOpacity=1),
        ),
        tooltip=[
            alt.Tooltip("run:N", title="Run"),
            alt.Tooltip("k:Q", title="Passages"),
            alt.Tooltip("score:Q", title="Coverage", format=".4f"),
            alt.Tooltip("error:Q", title="Standard error", format=".4f"),
        ],
    )
    scored = base.encode(alt.Y("score:Q", title="EXAM-Cover", scale=alt.Scale(zero=True)))
    layers = [
        base.mark_area(opacity=1, fillOpacity=0.08).encode(alt.Y("low:Q", title="EXAM-Cover"), alt.Y2("high:Q")),
        scored.mark_line(strokeWidth=2),
        scored.mark_circle(size=24, opacity=1),
    ]
    if found.pool_depth < found.max_k:
        end = alt.Chart(pd.DataFrame({"k": [found.pool_depth]}))
        layers.append(end.mark_rule(strokeDash=[4, 4], color=GREY).encode(alt.X("k:Q")))
    return layered(*layers, height=480)
