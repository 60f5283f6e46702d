"""Charts of exams: accuracy and the score of guessing, accuracy by topic, and information by ability."""

from collections.abc import Mapping, Sequence

import pandas as pd

from exam_workbench.measures.item_response import GRID
from exam_workbench.pipelines import Row, TopicRow
from pages.parts.shared import charts
from pages.parts.shared.vega import Spec, chart, layer, number, over, word

HEIGHT = 24
"""Height of a row in pixels."""
AROUND = 60
"""Pixels for the axis of a chart and its title."""
TALL = 20
"""Number of rows that fit on a page."""
COLOURS = 6
"""Number of line colours in the theme."""


def accuracy(board: Sequence[Row], baselines: Mapping[str, float]) -> Spec:
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
    table = pd.DataFrame(rows, columns=["student", "accuracy", "low", "high", "right"])
    names = [row["student"] for row in rows]
    axis = {"labelExpr": charts.name_labels(names), "labelLimit": 0, "labelOverlap": False,
            "labelFlush": False, "title": None}  # fmt: skip
    scale = {"domain": [0, 1]}
    base = {
        "y": word("student", sort=names, axis=axis),
        "tooltip": [
            word("student", title="Examinee"), number("accuracy", title="Accuracy", format=".3f"),
            word("right", title="Right"),
        ],
    }  # fmt: skip
    # An axis below a long chart would be out of sight.
    where = "top" if len(rows) > TALL else "bottom"
    shown = base | {
        "x": number("accuracy", title="Accuracy", scale=scale, axis={"format": "%", "orient": where, "tickCount": 10})
    }
    lines = pd.DataFrame(
        [{"what": what, "share": share} for what, share in baselines.items()], columns=["what", "share"]
    )
    return chart(
        table,
        layer("rule", base | {"x": number("low", title="Accuracy", scale=scale), "x2": {"field": "high"}},
              color=charts.GREY),
        layer("circle", shown, size=60, color=charts.ACCENT, opacity=1),
        over(lines, layer("rule", {"x": number("share"), "tooltip": [word("what", title="Baseline"),
                                                                    number("share", title="Accuracy", format=".1%")]},
                          strokeDash=[4, 4], color=charts.GREY)),
        height=HEIGHT * max(2, len(rows)) + AROUND,
    )  # fmt: skip


def topics(rows: Sequence[TopicRow], order: Sequence[str]) -> Spec:
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
    base = {
        "x": word("topic", title=None,
                  axis={"labelAngle": 0, "labelLimit": 160, "labelOverlap": False, "labelFlush": False,
                        "orient": "top"}),
        "y": word("student", sort=list(order), title=None,
                  axis={"labelExpr": charts.name_labels(order), "labelLimit": 0, "labelFlush": False}),
        "tooltip": [word("student", title="Examinee"), word("topic", title="Topic"), word("said", title="Right")],
    }  # fmt: skip
    colour = number("accuracy", scale={"domain": [0, 1], "range": ["#f1f3f5", "#7fa3cf"]}, legend=None)
    text = {"text": word("said"), "color": {"value": "#1d232b"}}
    return chart(
        table,
        layer("rect", base | {"color": colour}),
        layer("text", base | text, fontSize=11),
        height=(HEIGHT + 4) * max(2, len(order)) + AROUND,
    )


def information(
    curves: Mapping[str, Sequence[float]], crosses: Sequence[float] = (), title: str = "Mean information per item"
) -> Spec:
    """Return a chart of values over ability, a line per name.

    Args:
        curves: values at the abilities of `GRID`.
        crosses: abilities of examinees, marked at the bottom; the axis reaches to all of them.
        title: title of the values.
    """
    table = pd.DataFrame(
        [
            {"name": name, "ability": ability, "information": value}
            for name, values in curves.items()
            for ability, value in zip(GRID.tolist(), values, strict=True)
        ],
        columns=["name", "ability", "information"],
    )
    # The colours of the theme suit light and dark pages.
    scheme = {} if len(curves) <= COLOURS else {"scheme": "tableau10"}
    colour = word("name", title=None, scale={"domain": list(curves), **scheme},
                  legend={"orient": "top", "labelLimit": 0, "columns": 3})  # fmt: skip
    reach = [min(GRID[0], *crosses), max(GRID[-1], *crosses)] if crosses else [GRID[0], GRID[-1]]
    lines = layer(
        "line",
        {
            "x": number("ability", title="Ability", scale={"domain": reach}, axis={"tickCount": 12}),
            "y": number("information", title=title),
            "color": colour,
            "tooltip": [
                word("name", title="Curve"), number("ability", title="Ability", format=".1f"),
                number("information", title=title, format=".3f"),
            ],
        },
        strokeWidth=2,
    )  # fmt: skip
    # At zero information, which is the bottom of a chart of any height.
    ticks = layer("tick", {"x": number("ability"), "y": {"datum": 0}}, color=charts.GREY, thickness=2, size=12,
                  orient="vertical", aria=False)  # fmt: skip
    seen = pd.DataFrame({"ability": crosses}, columns=["ability"])
    return chart(table, lines, over(seen, ticks), height=300)
