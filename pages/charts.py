"""Charts of leaderboards."""

from __future__ import annotations

import altair as alt
import pandas as pd

from core.comparison import Comparison
from core.leaderboard import Leaderboard

GREY = "#8a919c"
ACCENT = "#3b73b9"
ROW_HEIGHT = 22


def board(found: Leaderboard, marked: str | None = None) -> alt.LayerChart:
    """Systems as dots with error bars of one standard error, best on top.

    Args:
        marked: the run to point out.
    """
    table = pd.DataFrame(
        {
            "run": [s.run for s in found.systems],
            "score": [s.score for s in found.systems],
            "low": [s.score - (s.std_error or 0) for s in found.systems],
            "high": [s.score + (s.std_error or 0) for s in found.systems],
            "error": [s.std_error for s in found.systems],
            "rank": [s.rank for s in found.systems],
            "marked": [s.run == marked for s in found.systems],
        }
    )
    tooltip = [
        alt.Tooltip("run", title="Run"),
        alt.Tooltip("rank", title="Rank"),
        alt.Tooltip("score", title=found.measure, format=".4f"),
        alt.Tooltip("error", title="Standard error", format=".4f"),
    ]
    colour = alt.condition("datum.marked", alt.value(ACCENT), alt.value(GREY))
    base = alt.Chart(table).encode(
        y=alt.Y("run", sort=list(table["run"]), title=None, axis=alt.Axis(labelLimit=230, ticks=False)),
        tooltip=tooltip,
        color=colour,
    )
    title = alt.X("low", title=found.measure, scale=alt.Scale(zero=False, nice=True))
    bars = base.mark_rule(strokeWidth=1.5).encode(x=title, x2="high")
    dots = base.mark_circle(size=70, opacity=1).encode(x="score")
    return alt.layer(bars, dots).properties(height=ROW_HEIGHT * max(3, len(table)) + 30)


def slope(found: Comparison, marked: str | None = None) -> alt.LayerChart:
    """Ranks on the official board and on the board under study, a line a system.

    Args:
        marked: the run to point out.
    """
    left = {s.run: s.rank for s in found.official.systems}
    right = {s.run: s.rank for s in found.board.systems}
    common = [run for run in right if run in left]
    names = [f"Official: {found.official.measure}", f"Exam: {found.board.measure}"]
    rows = [
        {
            "run": run,
            "board": name,
            "rank": ranks[run],
            "move": left[run] - right[run],
            "marked": run == marked,
        }
        for run in common
        for name, ranks in zip(names, (left, right), strict=True)
    ]
    table = pd.DataFrame(rows, columns=["run", "board", "rank", "move", "marked"])
    base = alt.Chart(table).encode(
        x=alt.X(
            "board",
            sort=names,
            title=None,
            axis=alt.Axis(labelAngle=0, orient="top", domain=False, ticks=False),
        ),
        y=alt.Y("rank", scale=alt.Scale(reverse=True, zero=False), title="Rank", axis=alt.Axis(tickMinStep=1)),
        color=alt.condition("datum.marked", alt.value(ACCENT), alt.value(GREY)),
        tooltip=[
            alt.Tooltip("run", title="Run"),
            alt.Tooltip("rank", title="Rank"),
            alt.Tooltip("move", title="Ranks gained on the exam board"),
        ],
        detail="run",
    )
    lines = base.mark_line(point=True, strokeWidth=1.5)
    labels = [
        base.transform_filter(alt.datum.board == name).mark_text(align=align, dx=dx, limit=220).encode(text="run")
        for name, align, dx in ((names[0], "right", -10), (names[1], "left", 10))
    ]
    return alt.layer(lines, *labels).properties(height=ROW_HEIGHT * max(3, len(common)) + 40)
