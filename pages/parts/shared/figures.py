"""Figures that set leaderboards, systems and their queries beside each other; what is clicked has the name `picked`."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd

from exam_workbench.study import Difference, Panel, QueryPoints, SystemPoint, outstanding
from pages.parts.shared import charts
from pages.parts.shared.vega import Spec, chart, clickable, constant, either, layer, number, over, selection, word

PICKED = "picked"
NAMED_POINTS = 12
"""Up to so many systems of a scatter all carry their names."""
NAME_WIDTH, NAME_HEIGHT = 0.5, 0.06
"""Room that a name takes in a scatter, as shares of the spread of the points; names are at most 22 letters long."""
OUTSTANDING = 6
"""Of more systems, so many carry theirs: those whose rank differs most."""
FEW = 8
"""Up to so many systems there is room to spare."""
LEGEND_HEIGHT = 115
"""Room for the legend of a chart and its axis."""
BOARD_HEIGHT = 8
"""Of the row of a system, so much for each board that it is on."""
SCALED = "Score, scaled from 0 (lowest) to 1 (highest)"
VERDICTS = ("separated", "not separated", "no test")


def _picked(*fields: str) -> Spec:
    return selection(PICKED, *fields, on="click", toggle=False, clear=False)


def panel(found: Panel, marked: str | None = None) -> Spec:
    """Boards on one scale, a colour and a shape each, the systems along the axis; a click picks `run` and `board`.

    Args:
        marked: the run to point out.
    """
    table = pd.DataFrame([vars(mark) for mark in found.marks])
    boards = list(dict.fromkeys(mark.board for mark in found.marks))
    # Names beside each other would cover each other; below each other there is room for any number of systems.
    names = {
        "labelLimit": 0, "labelExpr": charts.name_labels(found.order), "labelOverlap": False, "labelFlush": False,
        "ticks": False, "grid": True, "labelColor": charts.ink(), "domain": False,
    }  # fmt: skip
    base = {
        "y": word("run", sort=found.order, title=None, axis=names, scale={"domain": found.order, "paddingInner": 0.4}),
        "yOffset": word("board", sort=boards),
        "color": word(
            "board", sort=boards, title=None,
            legend={"orient": "top", "columns": 2, "labelLimit": 0, "symbolOpacity": 1, "symbolSize": 90},
        ),
        # A click on the legend lets one board stand out.
        "opacity": {"condition": {"param": "legend", "value": 1}, "value": 0.12},
        "tooltip": [
            word("run", title="Run"),
            word("board", title="Leaderboard"),
            number("score", title="Score", format=".4f"),
            number("std_error", title="Standard error", format=".4f"),
            number("scaled", title="Scaled score", format=".3f"),
        ],
    }  # fmt: skip
    scaled = number("scaled", title=SCALED, axis={"tickCount": 6})
    dots = base | {
        "x": scaled,
        "shape": word("board", sort=boards, title=None),
        "size": either(f"datum.run === {json.dumps(marked or '')}", 150, 48),
    }
    return chart(
        table,
        layer(
            "line", base | {"x": scaled, "detail": word("board"), "order": number("place")},
            strokeWidth=1, strokeOpacity=0.45,
        ),
        layer("rule", base | {"x": number("low", title=SCALED), "x2": {"field": "high"}}, strokeWidth=1.2),
        clickable(layer("point", dots, filled=True)),
        params=[_picked("run", "board"), selection("legend", "board", bind="legend")],
        height=max(BOARD_HEIGHT * len(boards) + 8, charts.ROW_HEIGHT) * len(found.order) + LEGEND_HEIGHT,
        padding=charts.PADDING,
    )  # fmt: skip


def system_scatter(points: Sequence[SystemPoint], x_name: str, y_name: str, marked: str | None = None) -> Spec:
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
    scale = {"zero": False, "nice": True}
    base = {
        "x": number("x", title=x_name, scale=scale),
        "y": number("y", title=y_name, scale=scale),
        "color": either("datum.marked", charts.ACCENT, charts.GREY),
        "order": number("marked"),
        "tooltip": [
            word("run", title="Run"),
            number("x", title=x_name, format=".4f"),
            number("x_error", title="Standard error", format=".4f"),
            number("x_rank", title="Rank"),
            number("y", title=y_name, format=".4f"),
            number("y_error", title="Standard error ", format=".4f"),
            number("y_rank", title="Rank "),
        ],
    }
    across = base | {"x": number("x_low", title=x_name, scale=scale), "x2": {"field": "x_high"}}
    upright = base | {"y": number("y_low", title=y_name, scale=scale), "y2": {"field": "y_high"}}
    names = base | {"text": word("name"), "color": constant(charts.ink())}
    return chart(
        table,
        layer("rule", across, strokeOpacity=0.45),
        layer("rule", upright, strokeOpacity=0.45),
        clickable(layer("circle", base, size=85, opacity=1)),
        layer("text", names, only="!datum.right", align="left", dx=8, dy=-8),
        layer("text", names, only="datum.right", align="right", dx=-8, dy=-8),
        params=[_picked("run")],
        height=460,
        padding=charts.PADDING,
    )


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


def query_scatter(found: QueryPoints, x_name: str, y_name: str, alike: bool, marked: str | None = None) -> Spec:
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
    scale: Spec = {"zero": False, "nice": True}
    ends = [min(min(p.x, p.y) for p in found.points), max(max(p.x, p.y) for p in found.points)]
    if alike and ends[0] < ends[1]:
        scale = {"domain": ends, "nice": True}
    colour = either("datum.marked", charts.ACCENT, charts.GREY)
    encoding = {
        "x": number("x", title=x_name, scale=scale),
        "y": number("y", title=y_name, scale=scale),
        "stroke": colour,
        "fill": colour,
        "fillOpacity": either("datum.answered", 0.75, 0),
        "size": either("datum.marked", 190, 80),
        "order": number("marked"),
        "tooltip": [
            word("text", title="Query"),
            number("x", title=x_name, format=".4f"),
            number("y", title=y_name, format=".4f"),
            number("gain", title="Difference", format="+.4f"),
            *([word("skipped", title="Skipped by")] if any(p.skipped for p in found.points) else []),
        ],
    }
    layers = [clickable(layer("point", encoding, strokeWidth=1.6))]
    if alike:
        diagonal = {"x": number("x", scale=scale), "y": number("y", scale=scale)}
        draw = layer("line", diagonal, strokeDash=[4, 4], strokeWidth=1, color=charts.GREY)
        layers.insert(0, over(pd.DataFrame({"x": ends, "y": ends}), draw))
    return chart(table, *layers, params=[_picked("query_id")], height=460)


def difference_matrix(rows: Sequence[Difference], order: Sequence[str]) -> Spec:
    """Every two systems: blue where they differ, a dot where error bars overlap; a click picks `run` and `against`.

    A row has the place and the name of its system, a column the place alone, so that any number finds room.

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
    short = charts.short_names(order)
    places = {run: str(at) for at, run in enumerate(order, 1)}
    rows_named = {run: f"{short[run]}  {place}" for run, place in places.items()}
    x_axis, y_axis = (
        {
            "labelLimit": 0, "labelExpr": f"{json.dumps(labels)}[datum.label]", "labelFlush": False, "labelAngle": 0,
            "labelColor": charts.ink(), "ticks": False, "domain": False, "grid": False, **options,
        }
        for labels, options in (
            (places, {"orient": "top", "labelOverlap": "parity"}), (rows_named, {"labelOverlap": False})
        )
    )  # fmt: skip
    base = {
        "x": word("run", sort=list(order), title=None, axis=x_axis, scale={"domain": list(order)[:-1]}),
        # The best one has no cell in its row, which says its name.
        "y": word("against", sort=list(order), title=None, axis=y_axis, scale={"domain": list(order)}),
        "tooltip": [
            word("run", title="Better"),
            word("against", title="Worse"),
            number("difference", title="Difference", format=".4f"),
            number("p", title="p", format=".2g"),
            number("corrected", title="Corrected p", format=".2g"),
            word("bars", title="Error bars"),
            *([word("undefined", title="Reason for no test")] if VERDICTS[2] in verdicts else []),
        ],
    }
    colour = word(
        "verdict",
        title=None,
        scale={"domain": list(verdicts), "range": list(verdicts.values())},
        legend={"orient": "top", "symbolStrokeColor": charts.GREY, "symbolStrokeWidth": 1},
    )
    dots = layer(
        "circle", base | {"color": constant(charts.ink())}, only="datum.bars === 'overlap'", size=16, opacity=1
    )
    side = 40 if len(order) <= FEW else 22 if len(order) <= 30 else 18
    return chart(
        table,
        clickable(layer("rect", base | {"color": colour}, stroke=charts.faint(), strokeWidth=1)),
        # A layer without a mark would be a picture without a name for screen readers.
        *([dots] if (table["bars"] == "overlap").any() else []),
        params=[_picked("run", "against")],
        height=side * max(3, len(order)) + LEGEND_HEIGHT,
    )
