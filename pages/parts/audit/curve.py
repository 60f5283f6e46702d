"""The forecast curve of an audit: width of the intervals by number of judgments, with and without a machine."""

import pandas as pd
import streamlit as st

from exam_workbench.audit import Forecast, Goal
from pages.parts.shared import charts, ui
from pages.parts.shared.vega import Spec, chart, layer, number, over, word

HEIGHT = 360
DESIGNS = {
    "width": "with the grader's labels",
    "without_machine": "without labels",
    "uniform": "uniform sample, without labels",
}

WIDTHS = {"pair": "Half width of the difference", "best": "Half width (median difference)"}
"""Title of the widths, by goal of the audit."""


def draw(found: Forecast, goal: Goal) -> None:
    """Draw the number of judgments needed, and the curve."""
    st.container(key="judgments-needed").markdown(ui.plain(found.says))
    st.vega_lite_chart(spec(found, goal))


def spec(found: Forecast, goal: Goal) -> Spec:
    """Return the chart: widths by judgments with a line for each design, the present state, and the goal.

    Args:
        goal: decides which widths are shown.
    """
    rows = [
        {"judgments": one.judgments, "half": getattr(one, name) / 2, "design": title}
        for one in found.curve
        for name, title in DESIGNS.items()
    ]
    table = pd.DataFrame(rows, columns=["judgments", "half", "design"])
    x = number("judgments", title="Judgments", scale={"nice": False, "zero": True}, axis={"tickCount": 8})
    y = number("half", title=WIDTHS.get(goal.aim, "Half width (median system)"), axis={"tickCount": 5})
    lines = {
        "x": x,
        "y": y,
        "color": word(
            "design", sort=list(DESIGNS.values()), title=None,
            scale={"domain": list(DESIGNS.values()), "range": [charts.ACCENT, charts.GREY, charts.GREY]},
            legend={"orient": "top", "direction": "vertical", "labelLimit": 0, "symbolType": "stroke"},
        ),
        "strokeDash": word(
            "design", sort=list(DESIGNS.values()), title=None,
            scale={"domain": list(DESIGNS.values()), "range": [[1, 0], [1, 0], [4, 4]]},
        ),
        "tooltip": [
            word("design", title="Design"),
            number("judgments", title="Judgments", format=",d"),
            number("half", title="±", format=".4f"),
        ],
    }  # fmt: skip
    layers = [layer("line", lines, strokeWidth=2)]
    if found.needed is not None and found.needed <= found.curve[-1].judgments:
        needed = pd.DataFrame([{"judgments": found.needed, "says": f"{found.needed:,} needed"}])
        at = {"x": number("judgments"), "tooltip": [word("says", title="Judgments")]}
        layers.append(over(needed, layer("rule", at, strokeDash=[3, 3], color=charts.GREY)))
    if found.width is not None:
        now = pd.DataFrame([{"judgments": found.made, "half": found.width / 2, "says": "now"}])
        at = {
            "x": number("judgments"), "y": number("half"),
            "tooltip": [word("says", title="State"), number("judgments", title="Judgments", format=",d"),
                        number("half", title="±", format=".4f")],
        }  # fmt: skip
        layers.append(over(now, layer("point", at, filled=True, size=110, color=charts.ACCENT, opacity=1)))
    return chart(table, *layers, height=HEIGHT, padding=charts.PADDING)
