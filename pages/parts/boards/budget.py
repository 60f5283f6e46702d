"""Coverage by budget: how each system's coverage grows with the passages read, and how much of them is judged."""

from __future__ import annotations

import altair as alt
import pandas as pd
import streamlit as st

from core.leaderboard import DEFAULT_MAX_K, CoverCurves, cover_curves
from core.project import deepest_rank
from pages.parts.boards import unjudged as unjudged_passages
from pages.parts.boards.views import Screen
from pages.parts.shared import charts

DRAWN, MOST_DRAWN = 5, 10
"""Lines at first, and as many as there are colours to tell them apart."""


def lines(found: CoverCurves, chosen: list[str]) -> alt.LayerChart:
    """Coverage over the number of passages, a line a system with a band of one standard error.

    Args:
        chosen: the runs to draw, best first.
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
    base = alt.Chart(table).encode(
        x=alt.X("k", title="Passages read", scale=alt.Scale(domain=[1, found.max_k], nice=False)),
        color=alt.Color(
            "run", title=None, scale=alt.Scale(domain=chosen, scheme="tableau10"),
            legend=alt.Legend(
                orient="top", columns=5, labelLimit=0, labelExpr=charts.name_labels(chosen), symbolOpacity=1
            ),
        ),
        tooltip=[
            alt.Tooltip("run", title="Run"),
            alt.Tooltip("k", title="Passages"),
            alt.Tooltip("score", title="Coverage", format=".4f"),
            alt.Tooltip("error", title="Standard error", format=".4f"),
        ],
    )  # fmt: skip
    score = alt.Y("score", title="EXAM-Cover", scale=alt.Scale(zero=True))
    layers = [
        base.mark_area(opacity=0.08).encode(y=alt.Y("low", title="EXAM-Cover"), y2="high"),
        base.mark_line(strokeWidth=2).encode(y=score),
        base.mark_circle(size=24).encode(y=score),
    ]
    if found.pool_depth < found.max_k:
        end = alt.Chart(pd.DataFrame({"k": [found.pool_depth]}))
        layers.append(end.mark_rule(strokeDash=[4, 4], color=charts.GREY).encode(x="k"))
    return alt.layer(*layers).properties(height=420)


def by_budget(screen: Screen) -> None:
    """The view: lines of the chosen systems, then what of each system's top is labelled or judged."""
    deepest = min(DEFAULT_MAX_K, max(deepest_rank(screen.project), 1))
    found = cover_curves(screen.project, screen.policy, deepest)
    k = min(screen.policy.cutoff, found.max_k)
    order = [curve.run for curve in sorted(found.curves, key=lambda curve: -curve.scores[k - 1])]
    chosen = st.multiselect("Systems", order, order[:DRAWN], key="curves of", max_selections=MOST_DRAWN)
    if chosen:
        st.altair_chart(lines(found, [run for run in order if run in chosen]))
    if found.pool_depth < found.max_k:
        st.caption(
            f":material/info: The pool ends at rank {found.pool_depth}: passages that lie deeper are graded only where"
            " another system or a judgment brought them in, so that curves may be too flat there."
        )
    unjudged_passages.judged(screen.project, screen.policy)
