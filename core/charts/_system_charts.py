"""Charts of systems: leaderboards, the order on two of them, scatter plots, a matrix of pairs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from ..labels import CoverCurves, Leaderboard
from ..run_names import short_names
from ..study import Difference, Panel, QueryPoints, SystemPoint, outstanding_systems
from ._chart_marks import (
    ACCENT,
    FAINT,
    GREY,
    PADDING,
    ROW_HEIGHT,
    Chart,
    emphasise_marked,
    label_expression,
    layer_charts,
    make_legend,
    names_axis,
    select_by_click,
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
"""Width in pixels of a letter, and of the symbol before a name of the legend with its margin."""
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
        groups: first and last place, from 0, of systems that are not separated. A bracket joins
            each group.
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
    y = alt.Y(
        "run:N",
        sort=order,
        title=None,
        axis=names_axis(order, grid=True),
        scale=alt.Scale(domain=order),
    )
    score: dict[str, Any] = {
        "title": board.measure,
        "scale": alt.Scale(zero=False),
        "axis": alt.Axis(tickCount=6),
    }
    tooltip = [
        alt.Tooltip("run:N", title="Run"),
        alt.Tooltip("score:Q", title="Score", format=".4f"),
        alt.Tooltip("std_error:Q", title="Standard error", format=".4f"),
    ]
    base = alt.Chart(table).encode(y, tooltip=tooltip)
    groups_drawn = alt.Chart(pd.DataFrame(brackets, columns=["run", "last", "lane"]))
    return layer_charts(
        base.mark_rule(color=GREY, strokeWidth=1.2).encode(
            alt.X("low:Q", **score), alt.X2("high:Q")
        ),
        base.mark_circle(color=ACCENT, size=50, opacity=1).encode(alt.X("score:Q", **score)),
        groups_drawn.mark_rule(color=GREY, strokeWidth=2, strokeCap="round").encode(
            x=alt.value(alt.expr(f"width + {BRACKET} * (datum.lane + 1)")), y=y, y2=alt.Y2("last:N")
        ),
        height=ROW_HEIGHT * max(3, len(order)),
        padding=PADDING | {"right": BRACKET * (len(lanes) + 1)},
    )


def panel_chart(panel: Panel, marked: str | None = None) -> Chart:
    """Return a chart of leaderboards on one scale, each with a colour and a shape; a click picks
    `run` and `board`.

    Args:
        marked: the run to highlight.
    """
    table = pd.DataFrame([{**vars(mark), "marked": mark.run == marked} for mark in panel.marks])
    boards = list(dict.fromkeys(mark.board for mark in panel.marks))
    chosen = alt.selection_point(name="legend", fields=["board"], bind="legend")
    # Equal domains and legends of colours and shapes become one legend.
    key = make_legend(columns=2, symbolOpacity=1, symbolSize=90)
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
    return layer_charts(
        base.mark_line(strokeWidth=1, strokeOpacity=0.45).encode(
            scaled, detail="board:N", order="place:Q"
        ),
        base.mark_rule(strokeWidth=1.2).encode(alt.X("low:Q", title=SCALED), alt.X2("high:Q")),
        base.mark_point(filled=True)
        .encode(scaled, shape, size=emphasise_marked(150, 48))
        .add_params(select_by_click("run", "board"), chosen),
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
    first_ranks = {system.run: system.rank for system in first.systems}
    right = {system.run: system.rank for system in second.systems}
    common = [run for run in right if run in first_ranks]
    # Tied systems share a rank but get separate positions, so that names do not overlap.
    places = {
        titles[0]: sorted(common, key=lambda run: (first_ranks[run], right[run])),
        titles[1]: sorted(common, key=lambda run: (right[run], first_ranks[run])),
    }
    short = short_names(common)
    rows = [
        {
            "run": run,
            "board": board,
            "place": place,
            "name": f"{short[run]}  {first_ranks[run]}"
            if board == titles[0]
            else f"{right[run]}  {short[run]}",
            "move": first_ranks[run] - right[run],
            "marked": run == marked,
        }
        for board, order in places.items()
        for place, run in enumerate(order, 1)
    ]
    table = pd.DataFrame(rows, columns=["run", "board", "place", "name", "move", "marked"])
    # Each title is wrapped and ends above the dots of its leaderboard, so that long titles do not
    # meet.
    wrapped = {title: textwrap.wrap(title, TITLE_LENGTH) for title in titles}
    further_lines = TITLE_LINE * (max(map(len, wrapped.values())) - 1)
    boards = alt.Axis(
        labelAngle=0,
        labelLimit=0,
        orient="top",
        domain=False,
        ticks=False,
        grid=False,
        labelAlign=alt.when("datum.index == 0")
        .then(alt.value("right"))
        .otherwise(alt.value("left")),
        labelExpr=label_expression(wrapped),
        labelPadding=16 + further_lines,
        labelLineHeight=TITLE_LINE,
    )
    base = alt.Chart(table).encode(
        alt.X(
            "board:N", sort=list(places), title=None, axis=boards, scale=alt.Scale(range=SLOPE_ENDS)
        ),
        alt.Y("place:Q", scale=alt.Scale(reverse=True, zero=False, nice=False), axis=None),
        color=emphasise_marked(ACCENT, GREY),
        detail="run:N",
        tooltip=[
            alt.Tooltip("run:N", title="Run"),
            alt.Tooltip("move:Q", title=f"Ranks gained in {titles[1]}"),
        ],
    )
    named = base.encode(text="name:N", color=alt.when("datum.marked").then(alt.value(ACCENT)))
    return layer_charts(
        base.mark_line(point=True).encode(strokeWidth=emphasise_marked(3, 1.3)),
        *(
            named.mark_text(align=side, dx=dx).transform_filter(
                alt.FieldEqualPredicate(field="board", equal=board)
            )
            for board, (side, dx) in zip(titles, ENDS, strict=True)
        ),
        height=ROW_HEIGHT * max(3, len(common)) + further_lines + 50,
    )


def coverage_chart(
    curves: CoverCurves, chosen: Sequence[str], colours: Sequence[str] = COLOURS
) -> Chart:
    """Return a chart of coverage over the number of passages, a line per system with a band of one
    standard error.

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
            for curve in curves.curves
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
            scale=alt.Scale(domain=[1, curves.max_k], nice=False),
            axis=alt.Axis(tickMinStep=1),
        ),
        alt.Color(
            "run:N",
            title=None,
            scale=alt.Scale(domain=list(chosen), range=list(colours[: len(chosen)])),
            legend=make_legend(columns=columns, labelExpr=label_expression(names), symbolOpacity=1),
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
        base.mark_area(opacity=1, fillOpacity=0.08).encode(
            alt.Y("low:Q", title="EXAM-Cover"), alt.Y2("high:Q")
        ),
        scored.mark_line(strokeWidth=2),
        scored.mark_circle(size=24, opacity=1),
    ]
    if curves.pool_depth < curves.max_k:
        end = alt.Chart(pd.DataFrame({"k": [curves.pool_depth]}))
        layers.append(end.mark_rule(strokeDash=[4, 4], color=GREY).encode(alt.X("k:Q")))
    return layer_charts(*layers, height=480)


SCATTER_HEIGHT = 460
CLOUD, PRINTED_CLOUD = (280, 320), (400, 380)
"""Least width and height of the cloud of points on a screen and in print, in pixels; names are
placed for this size.
"""
LINE, DOT = 13.0, 8.0
"""Height of a name and size of a point, in pixels."""
GAP = 0.04
"""Space between cells, as a share of a cell."""
FEW = 8
"""Number of systems up to which there is plenty of space."""
VERDICTS = ("separated", "not separated", "no test")
ERROR_BARS = {True: "overlap", False: "apart", None: "unknown"}
"""State of the error bars of two systems, by whether they overlap."""
SIDES: tuple[tuple[Any, int, int], ...] = (
    ("left", 8, -8),
    ("right", -8, -8),
    ("left", 8, 10),
    ("right", -8, 10),
)
"""Alignment and distance of a name from its point, the preferred place first."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom of a name or a point, in pixels."""


def system_scatter(
    points: Sequence[SystemPoint],
    x_name: str,
    y_name: str,
    marked: str | None = None,
    size: tuple[int, int] = CLOUD,
) -> Chart:
    """Return a scatter plot of systems on two leaderboards with bars of one standard error; a click
    picks `run`.

    Names that would overlap are left out.

    Args:
        x_name, y_name: titles of the leaderboards.
        marked: the run to highlight.
        size: least width and height of the cloud of points, in pixels.
    """
    short = short_names(point.run for point in points)
    places = _name_places(points, short, marked, size)
    table = pd.DataFrame(
        [
            {
                **vars(point),
                "x_low": point.x - (point.x_error or 0),
                "x_high": point.x + (point.x_error or 0),
                "y_low": point.y - (point.y_error or 0),
                "y_high": point.y + (point.y_error or 0),
                "marked": point.run == marked,
                "side": places.get(point.run),
                "name": short[point.run],
            }
            for point in points
        ]
    )
    scale = alt.Scale(zero=False, nice=True)
    x, y = alt.X("x:Q", title=x_name, scale=scale), alt.Y("y:Q", title=y_name, scale=scale)
    base = alt.Chart(table).encode(
        x,
        y,
        tooltip=[
            alt.Tooltip("run:N", title="Run"),
            alt.Tooltip("x:Q", title=x_name, format=".4f"),
            alt.Tooltip("x_error:Q", title="Standard error", format=".4f"),
            alt.Tooltip("x_rank:Q", title="Rank"),
            alt.Tooltip("y:Q", title=y_name, format=".4f"),
            alt.Tooltip("y_error:Q", title="Standard error ", format=".4f"),
            alt.Tooltip("y_rank:Q", title="Rank "),
        ],
    )
    coloured = base.encode(color=emphasise_marked(ACCENT, GREY))
    bars = coloured.mark_rule(strokeOpacity=0.45)
    return layer_charts(
        bars.encode(alt.X("x_low:Q", title=x_name, scale=scale), alt.X2("x_high:Q")),
        bars.encode(alt.Y("y_low:Q", title=y_name, scale=scale), alt.Y2("y_high:Q")),
        coloured.mark_circle(size=85, opacity=1).add_params(select_by_click("run")),
        *(
            base.mark_text(align=align, dx=dx, dy=dy)
            .encode(text="name:N")
            .transform_filter(f"datum.side === {side}")
            for side, (align, dx, dy) in enumerate(SIDES)
            if side in places.values()
        ),
        height=SCATTER_HEIGHT,
        padding=PADDING,
    )


def _name_places(
    points: Sequence[SystemPoint], short: dict[str, str], marked: str | None, size: tuple[int, int]
) -> dict[str, int]:
    """Return the side of each name that overlaps no point and no other name; the largest changes of
    rank go first.
    """
    (left, width), (top, height) = (
        (min(values), (max(values) - min(values)) or 1.0)
        for values in ([point.x for point in points], [-point.y for point in points])
    )
    at = {p.run: ((p.x - left) / width * size[0], (-p.y - top) / height * size[1]) for p in points}
    boxes: list[Box] = [
        (x - DOT / 2, y - DOT / 2, x + DOT / 2, y + DOT / 2) for x, y in at.values()
    ]
    places: dict[str, int] = {}
    # The highlighted system has a name in any case.
    for run in dict.fromkeys(
        [*([marked] if marked in at else []), *outstanding_systems(points, len(points)), *at]
    ):
        x, y = at[run]
        for side, (align, dx, dy) in enumerate(SIDES):
            start = x + dx - (LETTER * len(short[run]) if align == "right" else 0)
            box = (start, y + dy - LINE / 2, start + LETTER * len(short[run]), y + dy + LINE / 2)
            free = (
                not any(_boxes_overlap(box, other) for other in boxes)
                and box[0] >= -DOT
                and box[2] <= size[0] + 2 * DOT
            )
            if free or (run == marked and side == len(SIDES) - 1):
                places[run] = side
                boxes.append(box)
                break
    return places


def _boxes_overlap(first: Box, second: Box) -> bool:
    return (
        first[0] < second[2]
        and second[0] < first[2]
        and first[1] < second[3]
        and second[1] < first[3]
    )


def query_scatter(
    points: QueryPoints, x_name: str, y_name: str, alike: bool, marked: str | None = None
) -> Chart:
    """Return a scatter plot of queries by the scores of two systems; a click picks `query_id`.

    A query that one of them skipped has a hollow point.

    Args:
        x_name, y_name: titles of the two sides.
        alike: whether both scores use the same measure, so that the axes are equal and the diagonal
            means a draw.
        marked: id of the query to highlight.
    """
    table = pd.DataFrame(
        [
            {
                **vars(point),
                "skipped": ", ".join(point.skipped),
                "answered": not point.skipped,
                "marked": point.query_id == marked,
                "gain": point.y - point.x,
            }
            for point in points.points
        ]
    )
    scores = [score for point in points.points for score in (point.x, point.y)]
    ends = [min(scores), max(scores)]
    equal = alike and ends[0] < ends[1]
    scale = alt.Scale(domain=ends, nice=True) if equal else alt.Scale(zero=False, nice=True)
    x, y = alt.X("x:Q", title=x_name, scale=scale), alt.Y("y:Q", title=y_name, scale=scale)
    skipped = [alt.Tooltip("skipped:N", title="Skipped by")] if table["skipped"].any() else []
    dots = (
        alt.Chart(table)
        .mark_point(strokeWidth=1.6)
        .encode(
            x,
            y,
            stroke=emphasise_marked(ACCENT, GREY),
            fill=emphasise_marked(ACCENT, GREY),
            fillOpacity=alt.when("datum.answered").then(alt.value(0.75)).otherwise(alt.value(0)),
            size=emphasise_marked(190, 80),
            order="marked:Q",
            tooltip=[
                alt.Tooltip("text:N", title="Query"),
                alt.Tooltip("x:Q", title=x_name, format=".4f"),
                alt.Tooltip("y:Q", title=y_name, format=".4f"),
                alt.Tooltip("gain:Q", title="Difference", format="+.4f"),
                *skipped,
            ],
        )
        .add_params(select_by_click("query_id"))
    )
    draws = alt.Chart(pd.DataFrame({"x": ends, "y": ends})).mark_line(
        strokeDash=[4, 4], strokeWidth=1, color=GREY
    )
    return layer_charts(*([draws.encode(x, y)] if alike else []), dots, height=SCATTER_HEIGHT)


def difference_matrix(rows: Sequence[Difference], order: Sequence[str]) -> Chart:
    """Return a matrix of system pairs; a click picks `run` and `against`.

    Cells are blue if the systems differ, and have a dot if their error bars overlap. Rows are
    labelled with rank and name, columns with the rank only, so that any number fits.

    Args:
        order: the systems, best first.
    """
    verdicts = {True: VERDICTS[0], False: VERDICTS[1], None: VERDICTS[2]}
    table = pd.DataFrame(
        [
            {
                **vars(row),
                "verdict": verdicts[row.differs],
                "bars": ERROR_BARS[row.error_bars_overlap],
            }
            for row in rows
        ]
    )
    colours = dict(zip(VERDICTS, (ACCENT, FAINT, "transparent"), strict=True))
    verdicts_shown = [verdict for verdict in VERDICTS if (table["verdict"] == verdict).any()]
    short = short_names(order)
    places = {run: str(place) for place, run in enumerate(order, 1)}
    by_place = label_expression(places)
    by_name = label_expression({run: f"{short[run]}  {place}" for run, place in places.items()})
    x_axis = names_axis(
        (), orient="top", labelAngle=0, labelOverlap="parity", labelExpr=by_place, grid=False
    )
    y_axis = names_axis((), labelAngle=0, labelExpr=by_name, grid=False)
    why = (
        [alt.Tooltip("undefined:N", title="Reason for no test")]
        if VERDICTS[2] in verdicts_shown
        else []
    )
    base = alt.Chart(table).encode(
        alt.X(
            "run:N",
            sort=list(order),
            title=None,
            axis=x_axis,
            scale=alt.Scale(domain=list(order)[:-1], paddingInner=GAP),
        ),
        # The best system has no cells in its row, but its label is needed.
        alt.Y(
            "against:N",
            sort=list(order),
            title=None,
            axis=y_axis,
            scale=alt.Scale(domain=list(order), paddingInner=GAP),
        ),
        tooltip=[
            alt.Tooltip("run:N", title="Better"),
            alt.Tooltip("against:N", title="Worse"),
            alt.Tooltip("difference:Q", title="Difference", format=".4f"),
            alt.Tooltip("p:Q", title="p", format=".2g"),
            alt.Tooltip("corrected:Q", title="Corrected p", format=".2g"),
            alt.Tooltip("bars:N", title="Error bars"),
            *why,
        ],
    )
    colour = alt.Color(
        "verdict:N",
        title=None,
        scale=alt.Scale(
            domain=verdicts_shown, range=[colours[verdict] for verdict in verdicts_shown]
        ),
        legend=make_legend(symbolStrokeColor=GREY, symbolStrokeWidth=1),
    )
    outlined = alt.when(f"datum.verdict === '{VERDICTS[2]}'").then(alt.value(FAINT))
    cells = (
        base.mark_rect(strokeWidth=1)
        .encode(colour, stroke=outlined)
        .add_params(select_by_click("run", "against"))
    )
    dots = base.mark_circle(size=16, opacity=1).transform_filter("datum.bars === 'overlap'")
    side = 40 if len(order) <= FEW else 22 if len(order) <= 30 else 18
    # Screen readers would announce an empty layer as an image without a name.
    return layer_charts(
        cells,
        *([dots] if (table["bars"] == "overlap").any() else []),
        height=side * max(3, len(order)) + LEGEND_HEIGHT,
    )
