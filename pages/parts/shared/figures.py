"""Charts that compare leaderboards, systems and queries; a clicked item is in the selection `picked`."""

import json
from collections.abc import Sequence

import pandas as pd

from exam_workbench.study import Difference, Panel, QueryPoints, SystemPoint, outstanding
from pages.parts.shared import charts
from pages.parts.shared.charts import Spec, chart, clickable, constant, either, layer, number, over, selection, word

PICKED = "picked"
NAMED_POINTS = 12
"""Number of systems up to which all in a scatter plot have a name."""
NAME_WIDTH, NAME_HEIGHT = 0.5, 0.06
"""Size of a name in a scatter plot, as shares of the spread of the points; names have at most 22 letters."""
OUTSTANDING = 6
"""Number of names with more systems: those with the largest change of rank."""
FEW = 8
"""Number of systems up to which there is plenty of space."""
LEGEND_HEIGHT = 115
"""Height for the legend of a chart and its axis."""
BOARD_HEIGHT = 8
"""Height per leaderboard within the row of a system."""
SCALED = "Score, scaled from 0 (lowest) to 1 (highest)"
VERDICTS = ("separated", "not separated", "no test")


def _picked(*fields: str) -> Spec:
    return selection(PICKED, *fields, on="click", toggle=False, clear=False)


def panel(found: Panel, marked: str | None = None) -> Spec:
    """Return a chart of leaderboards on one scale, each with a colour and a shape; a click picks `run` and `board`.

    Args:
        marked: the run to highlight.
    """
    table = pd.DataFrame([vars(mark) for mark in found.marks])
    boards = list(dict.fromkeys(mark.board for mark in found.marks))
    # The systems are on the vertical axis, since names on a horizontal one would overlap.
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
        # A click on the legend highlights a leaderboard.
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
    """Return a scatter plot of systems on two leaderboards with bars of one standard error; a click picks `run`.

    Args:
        x_name, y_name: titles of the leaderboards.
        marked: the run to highlight.
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
                # The name is on the side with more space.
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
    """Return the systems with the largest changes of rank whose names do not overlap."""
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
    """Return a scatter plot of queries by the scores of two systems; a click picks `query_id`.

    A query that one of them skipped has a hollow point.

    Args:
        x_name, y_name: titles of the two sides.
        alike: whether both scores use the same measure, so that the axes are equal and the diagonal means a draw.
        marked: id of the query to highlight.
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
    """Return a matrix of system pairs; a click picks `run` and `against`.

    Cells are blue if the systems differ, and have a dot if their error bars overlap. Rows are labelled with rank and
    name, columns with the rank only, so that any number fits.

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
        # The best system has no cells in its row, but its label is needed.
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
        # Screen readers would announce an empty layer as an image without a name.
        *([dots] if (table["bars"] == "overlap").any() else []),
        params=[_picked("run", "against")],
        height=side * max(3, len(order)) + LEGEND_HEIGHT,
    )
