"""Charts that compare systems: scatter plots of systems and of queries, and a matrix of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from ..run_names import short_names
from ..study import Difference, QueryPoints, SystemPoint, outstanding
from ._chart_marks import ACCENT, FAINT, GREY, PADDING, Chart, emphasis, layered, legend, names_axis, pick, replaced_by

HEIGHT = 460
CLOUD, PRINTED_CLOUD = (280, 320), (400, 380)
"""Least width and height of the cloud of points on a screen and in print, in pixels; names are placed for this size."""
LETTER, LINE, DOT = 7.0, 13.0, 8.0
"""Width of a letter, height of a name and size of a point, in pixels."""
GAP = 0.04
"""Space between cells, as a share of a cell."""
FEW = 8
"""Number of systems up to which there is plenty of space."""
LEGEND_HEIGHT = 115
"""Height for the legend of a chart and its axis."""
VERDICTS = ("separated", "not separated", "no test")
SIDES: tuple[tuple[Any, int, int], ...] = (("left", 8, -8), ("right", -8, -8), ("left", 8, 10), ("right", -8, 10))
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
    """Return a scatter plot of systems on two leaderboards with bars of one standard error; a click picks `run`.

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
    coloured = base.encode(color=emphasis(ACCENT, GREY))
    bars = coloured.mark_rule(strokeOpacity=0.45)
    return layered(
        bars.encode(alt.X("x_low:Q", title=x_name, scale=scale), alt.X2("x_high:Q")),
        bars.encode(alt.Y("y_low:Q", title=y_name, scale=scale), alt.Y2("y_high:Q")),
        coloured.mark_circle(size=85, opacity=1).add_params(pick("run")),
        *(
            base.mark_text(align=align, dx=dx, dy=dy).encode(text="name:N").transform_filter(f"datum.side === {side}")
            for side, (align, dx, dy) in enumerate(SIDES)
            if side in places.values()
        ),
        height=HEIGHT,
        padding=PADDING,
    )


def _name_places(
    points: Sequence[SystemPoint], short: dict[str, str], marked: str | None, size: tuple[int, int]
) -> dict[str, int]:
    """Return the side of each name that overlaps no point and no other name; the largest changes of rank go first."""
    (left, width), (top, height) = (
        (min(values), (max(values) - min(values)) or 1.0)
        for values in ([point.x for point in points], [-point.y for point in points])
    )
    at = {p.run: ((p.x - left) / width * size[0], (-p.y - top) / height * size[1]) for p in points}
    taken: list[Box] = [(x - DOT / 2, y - DOT / 2, x + DOT / 2, y + DOT / 2) for x, y in at.values()]
    places: dict[str, int] = {}
    # The highlighted system has a name in any case.
    for run in dict.fromkeys([*([marked] if marked in at else []), *outstanding(points, len(points)), *at]):
        x, y = at[run]
        for side, (align, dx, dy) in enumerate(SIDES):
            start = x + dx - (LETTER * len(short[run]) if align == "right" else 0)
            box = (start, y + dy - LINE / 2, start + LETTER * len(short[run]), y + dy + LINE / 2)
            free = not any(_overlap(box, other) for other in taken) and box[0] >= -DOT and box[2] <= size[0] + 2 * DOT
            if free or (run == marked and side == len(SIDES) - 1):
                places[run] = side
                taken.append(box)
                break
    return places


def _overlap(first: Box, second: Box) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]


def query_scatter(found: QueryPoints, x_name: str, y_name: str, alike: bool, marked: str | None = None) -> Chart:
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
                **vars(point),
                "skipped": ", ".join(point.skipped),
                "answered": not point.skipped,
                "marked": point.query_id == marked,
                "gain": point.y - point.x,
            }
            for point in found.points
        ]
    )
    scores = [score for point in found.points for score in (point.x, point.y)]
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
            stroke=emphasis(ACCENT, GREY),
            fill=emphasis(ACCENT, GREY),
            fillOpacity=alt.when("datum.answered").then(alt.value(0.75)).otherwise(alt.value(0)),
            size=emphasis(190, 80),
            order="marked:Q",
            tooltip=[
                alt.Tooltip("text:N", title="Query"),
                alt.Tooltip("x:Q", title=x_name, format=".4f"),
                alt.Tooltip("y:Q", title=y_name, format=".4f"),
                alt.Tooltip("gain:Q", title="Difference", format="+.4f"),
                *skipped,
            ],
        )
        .add_params(pick("query_id"))
    )
    draws = alt.Chart(pd.DataFrame({"x": ends, "y": ends})).mark_line(strokeDash=[4, 4], strokeWidth=1, color=GREY)
    return layered(*([draws.encode(x, y)] if alike else []), dots, height=HEIGHT)


def difference_matrix(rows: Sequence[Difference], order: Sequence[str]) -> Chart:
    """Return a matrix of system pairs; a click picks `run` and `against`.

    Cells are blue if the systems differ, and have a dot if their error bars overlap. Rows are labelled with rank and
    name, columns with the rank only, so that any number fits.

    Args:
        order: the systems, best first.
    """
    verdicts = {True: VERDICTS[0], False: VERDICTS[1], None: VERDICTS[2]}
    bars = {True: "overlap", False: "apart", None: "unknown"}
    table = pd.DataFrame(
        [{**vars(row), "verdict": verdicts[row.differs], "bars": bars[row.error_bars_overlap]} for row in rows]
    )
    colours = dict(zip(VERDICTS, (ACCENT, FAINT, "transparent"), strict=True))
    shown = [verdict for verdict in VERDICTS if (table["verdict"] == verdict).any()]
    short = short_names(order)
    places = {run: str(place) for place, run in enumerate(order, 1)}
    by_place = replaced_by(places)
    by_name = replaced_by({run: f"{short[run]}  {place}" for run, place in places.items()})
    x_axis = names_axis((), orient="top", labelAngle=0, labelOverlap="parity", labelExpr=by_place, grid=False)
    y_axis = names_axis((), labelAngle=0, labelExpr=by_name, grid=False)
    why = [alt.Tooltip("undefined:N", title="Reason for no test")] if VERDICTS[2] in shown else []
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
        scale=alt.Scale(domain=shown, range=[colours[verdict] for verdict in shown]),
        legend=legend(symbolStrokeColor=GREY, symbolStrokeWidth=1),
    )
    outlined = alt.when(f"datum.verdict === '{VERDICTS[2]}'").then(alt.value(FAINT))
    cells = base.mark_rect(strokeWidth=1).encode(colour, stroke=outlined).add_params(pick("run", "against"))
    dots = base.mark_circle(size=16, opacity=1).transform_filter("datum.bars === 'overlap'")
    side = 40 if len(order) <= FEW else 22 if len(order) <= 30 else 18
    # Screen readers would announce an empty layer as an image without a name.
    return layered(
        cells, *([dots] if (table["bars"] == "overlap").any() else []), height=side * max(3, len(order)) + LEGEND_HEIGHT
    )
