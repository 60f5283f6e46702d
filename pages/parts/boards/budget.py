"""Coverage by budget: each system's coverage by number of passages read, and the judged share."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from exam_workbench.leaderboard import DEFAULT_MAX_K, CoverCurves, cover_curves
from exam_workbench.project import deepest_rank
from pages.parts.boards import unjudged as unjudged_passages
from pages.parts.boards.views import Screen
from pages.parts.shared import charts
from pages.parts.shared.vega import Spec, chart, layer, number, over, word

COLOURS = (
    "#4c78a8", "#f58518", "#e45756", "#72b7b2", "#54a24b", "#eeca3b", "#b279a2", "#ff9da6", "#9d755d", "#bab0ac",
)  # fmt: skip
"""The palette tableau10, whose colours are easy to distinguish."""
DRAWN, MOST_DRAWN = 5, len(COLOURS)
"""Default and largest number of lines."""
HEIGHT = 480
LETTER, SWATCH = 7, 34
"""Width in pixels of a letter of the legend, and of the symbol before a name with its margin."""


def coloured(chosen: list[str], before: Mapping[str, str]) -> dict[str, str]:
    """Return a colour for each run: its former one, otherwise an unused one."""
    kept = {run: before[run] for run in chosen if run in before}
    free = (colour for colour in COLOURS if colour not in kept.values())
    return {run: kept[run] if run in kept else next(free) for run in chosen}


def lines(found: CoverCurves, chosen: list[str], colours: Mapping[str, str]) -> Spec:
    """Return a chart of coverage over the number of passages, a line per system with a band of one standard error.

    Args:
        chosen: the runs to draw, best first.
        colours: by run.
    """
    table = pd.DataFrame(
        [
            {"run": curve.run, "k": k, "score": score, "error": error,
             "low": score - (error or 0), "high": score + (error or 0)}
            for curve in found.curves if curve.run in chosen
            for k, (score, error) in enumerate(zip(curve.scores, curve.std_errors, strict=True), 1)
        ],
        columns=["run", "k", "score", "error", "low", "high"],
    )  # fmt: skip
    # The legend has as many names per row as fit, so that it does not narrow the chart.
    widest = LETTER * max(map(len, charts.short_names(chosen).values()), default=0) + SWATCH
    base = {
        "x": number(
            "k", title="Passages read", scale={"domain": [1, found.max_k], "nice": False}, axis={"tickMinStep": 1}
        ),
        "color": word(
            "run", title=None, scale={"domain": chosen, "range": [colours[run] for run in chosen]},
            legend={
                "orient": "top", "columns": {"expr": f"max(1, floor(width / {widest}))"}, "labelLimit": 0,
                "labelExpr": charts.name_labels(chosen), "symbolOpacity": 1,
            },
        ),
        "tooltip": [
            word("run", title="Run"),
            number("k", title="Passages"),
            number("score", title="Coverage", format=".4f"),
            number("error", title="Standard error", format=".4f"),
        ],
    }  # fmt: skip
    scored = base | {"y": number("score", title="EXAM-Cover", scale={"zero": True})}
    layers = [
        layer("area", base | {"y": number("low", title="EXAM-Cover"), "y2": {"field": "high"}}, opacity=0.08),
        layer("line", scored, strokeWidth=2),
        layer("circle", scored, size=24),
    ]
    if found.pool_depth < found.max_k:
        end = layer("rule", {"x": number("k")}, strokeDash=[4, 4], color=charts.GREY)
        layers.append(over(pd.DataFrame({"k": [found.pool_depth]}), end))
    return chart(table, *layers, height=HEIGHT)


def by_budget(screen: Screen) -> None:
    """Draw the lines of the chosen systems, then the labelled and judged shares of each system's top."""
    deepest = min(DEFAULT_MAX_K, max(deepest_rank(screen.project), 1))
    found = cover_curves(screen.project, screen.policy, deepest)
    k = min(screen.policy.cutoff, found.max_k)
    order = [curve.run for curve in sorted(found.curves, key=lambda curve: -curve.scores[k - 1])]
    chosen = st.multiselect("Systems", order, order[:DRAWN], key="curves of", max_selections=MOST_DRAWN)
    # If colours followed the order, lines would change colours with every min rating.
    colours = st.session_state["colours of curves"] = coloured(chosen, st.session_state.get("colours of curves", {}))
    if chosen:
        st.vega_lite_chart(lines(found, [run for run in order if run in chosen], colours))
    if found.pool_depth < found.max_k:
        st.container(key="pool-ends").caption(
            f":material/info: The pool ends at rank {found.pool_depth}. Curves may be too flat after this rank,"
            " because many deeper passages are not graded."
        )
    if screen.project.allows("read the bank"):
        unjudged_passages.judged(screen.project, screen.policy)
