"""Results of the examinees, as views of the Examinees screen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from exam_workbench.measures.item_response import GRID, Bounded
from exam_workbench.pipelines import (
    LEAST,
    TESTS,
    Comparison,
    ExamStatistics,
    Item,
    Responses,
    Row,
    TopicRow,
    abilities,
    by_topic,
    compare,
    grid,
    only_right,
)
from exam_workbench.project import Project
from exam_workbench.text import how_many, said_interval
from pages.parts.shared import address, charts, html, ui
from pages.parts.shared.charts import Spec, chart, layer, number, over, word

ITEMS_SHOWN = 20
"""Number of items listed for each side among those that two examinees answer differently."""

TEST_NAMES = {"mcnemar": "McNemar", "randomisation": "Randomisation"}

STYLE = """
.by-model-room { overflow-x: auto; container-type: inline-size; }
.by-model { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.by-model :is(th, td) { padding: 0.25rem 0.8rem; text-align: right; border-bottom: 1px solid var(--ew-line);
  white-space: nowrap; }
.by-model :is(th, td):first-child { text-align: left; white-space: normal; overflow-wrap: anywhere;
  min-width: 9rem; max-width: 20rem; } .by-model th { color: var(--ew-dim); font-weight: 400; }
.by-model td.none { color: var(--ew-dim); }
@container (max-width: 46rem) {
  .by-model { font-size: 0.87rem; } .by-model :is(th, td) { padding: 0.25rem 0.4rem; } }
"""


@dataclass(frozen=True)
class Sat:
    """An exam with answers.

    Args:
        exam: id of its query.
        items: all items, including retired ones.
        found: the answers that count.
        rows: examinees in order of falling accuracy.
        known: facts about the exam that need no examinees.
    """

    project: Project
    exam: str
    items: list[Item]
    found: Responses
    rows: list[Row]
    known: ExamStatistics


def board(sat: Sat) -> None:
    """Draw examinees by accuracy, next to the scores of answers that ignore the question."""
    baselines = {
        f"always {sat.known.fixed_letter}": sat.known.fixed_answer,
        "always the longest choice": sat.known.longest_answer,
    }
    known = {what: share for what, share in baselines.items() if share is not None}
    st.vega_lite_chart(accuracy_chart(sat.rows, known))
    said = " and ".join(f"{what} ({share:.0%})" for what, share in known.items())
    st.container(key="baselines").caption(
        f"Accuracy is the share of right answers, with Wilson's 95% interval. Dashed lines show {said}."
        " Strict accuracy counts failed answers as wrong. Accuracy leaves them out."
    )
    st.dataframe(
        {
            "Examinee": [row.student.name for row in sat.rows],
            "Accuracy": [row.score.accuracy for row in sat.rows],
            "95% interval": [said_interval(row.score.accuracy_interval) for row in sat.rows],
            "Right": [row.score.right for row in sat.rows],
            "Answered": [row.score.answered for row in sat.rows],
            "Failed": [row.score.failed for row in sat.rows],
            "Not asked": [row.score.missing for row in sat.rows],
            "Strict accuracy": [row.score.strict_accuracy for row in sat.rows],
        },
        hide_index=True,
        column_config={name: st.column_config.NumberColumn(format="%.3f") for name in ("Accuracy", "Strict accuracy")},
    )


def models(sat: Sat) -> None:
    """Draw accuracy by model and context; of several numbers of worked examples, the best one counts."""
    found = grid(sat.rows)
    head = "".join(f"<th>{html.visible(name)}</th>" for name in found.retrievals)
    body = []
    for model in found.models:
        cells = []
        for retrieval in found.retrievals:
            share = found.accuracy(model, retrieval)
            if share is None:
                cells.append('<td class="none">–</td>')
            else:
                said = f"{share:.3f}"
                cells.append(f"<td>{f'<b>{said}</b>' if retrieval in found.best[model] else said}</td>")
        body.append(f"<tr><td>{html.visible(model)}</td>{''.join(cells)}</tr>")
    st.html(
        f"<style>{STYLE}</style><div class='by-model-room' tabindex=0><table class='by-model'>"
        f"<tr><th>Model</th>{head}</tr>{''.join(body)}</table></div>"
    )
    st.caption(
        "Each cell shows the accuracy with the best number of worked examples. Bold marks the best retrieval of each"
        " model. Closed book and oracle are not ranked."
    )


def topics(sat: Sat) -> None:
    """Draw accuracy by topic, if there are enough items."""
    rows = by_topic(sat.found)
    if not rows:
        ui.empty(
            "No topic has enough answers",
            f"Each cell needs {LEAST} answers of one examinee to items of one topic. Topics come with generated or"
            " imported items.",
        )
    st.vega_lite_chart(topic_chart(rows, [row.student.name for row in sat.rows]))
    st.caption(f"Share of right answers and number of answers. Cells with fewer than {LEAST} answers are left out.")


def two(sat: Sat) -> None:
    """Draw two examinees on the items that both answered, and the items that they answer differently."""
    names = [row.student.name for row in sat.rows]
    if len(names) < 2:
        ui.empty("Only one examinee", "Add another examinee to compare with.")
    left, right, how = st.columns([3, 3, 2])
    first = str(left.selectbox("First examinee", names, key="first", bind="query-params"))
    others = [name for name in names if name != first]
    second = str(right.selectbox("Second examinee", others, key="second", bind="query-params"))
    address.own("test", TESTS)
    test = how.selectbox("Test", TESTS, format_func=TEST_NAMES.__getitem__, key="test", bind="query-params")
    wanted = {first, second}
    one = next(each for each in compare(sat.found, test) if {each.first, each.second} == wanted)
    st.container(key="verdict").markdown(_verdict(one))
    texts = {item.question_id: item.text for item in sat.items}
    for column, name, items in zip(st.columns(2), (first, second), only_right(sat.found, first, second), strict=True):
        told = [texts[item] for item in items]
        with column, st.container(key=f"only {name}"):
            st.markdown(f"**Only {ui.plain(name)} is right: {len(told):,}**")
            for text in told[:ITEMS_SHOWN]:
                st.text(text)
            if len(told) > ITEMS_SHOWN:
                st.caption(f"and {len(told) - ITEMS_SHOWN:,} more")


def _verdict(one: Comparison) -> str:
    if one.p is None or one.adjusted is None or one.difference is None:
        return "**Not separated**: both got the same items right."
    better, worse = (one.first, one.second) if one.difference > 0 else (one.second, one.first)
    told = f"p = {one.p:.3f}, {one.adjusted:.3f} after Holm correction over all pairs of examinees"
    on = f"on {how_many(one.items, 'items')} that both answered"
    if one.differ:
        by = abs(one.difference)
        return f"**{ui.plain(better)} is better** than {ui.plain(worse)} by {by:.1%} {on} ({told})."
    ahead = f"{ui.plain(better)} is ahead by {abs(one.difference):.1%}" if one.difference else "equal accuracy"
    return f"**Not separated** {on}: {ahead} ({told})."


@ui.errors()
def ability(sat: Sat) -> None:
    """Draw the effect of each component of the examinees, by item response theory."""
    intervals = st.toggle(
        "Intervals",
        key="intervals",
        bind="query-params",
        help="95% intervals from 200 bootstrap samples of the items.",
    )
    with st.spinner("Fitting abilities and items"):
        told = abilities(sat.project, sat.exam, intervals=intervals)
    for remark in told.remarks:
        st.caption(f":material/info: {ui.plain(remark)}")
    if told.components:
        st.markdown("**Components**")
        parts = {
            "Factor": [row.factor for row in told.components],
            "Level": [row.level for row in told.components],
            "Examinees": [row.students for row in told.components],
            "Accuracy": [row.accuracy for row in told.components],
            "Effect": [row.ability.value for row in told.components],
            "Interval": [_interval(row.ability) for row in told.components],
            "Difference from first level": [
                row.difference.value if row.difference else None for row in told.components
            ],
            "Interval of difference": [_interval(row.difference) for row in told.components],
        }
        st.dataframe(
            {name: values for name, values in parts.items() if intervals or "interval" not in name.lower()},
            hide_index=True,
            placeholder="–",
            column_config=_decimals("Accuracy", "Effect", "Difference from first level"),
        )
    st.markdown("**Examinees**")
    ordered = sorted(told.students, key=lambda row: -row.ability.value)
    bounds = {"Interval": [_interval(row.ability) for row in ordered]} if intervals else {}
    st.dataframe(
        {
            "Examinee": [row.student for row in ordered],
            "Ability": [row.ability.value for row in ordered],
            **bounds,
            "Accuracy": [row.accuracy for row in ordered],
            "Answered": [row.answered for row in ordered],
        },
        hide_index=True,
        column_config=_decimals("Ability", "Accuracy"),
    )
    st.caption("Abilities are relative to the mean of all examinees. Effects are relative to the mean of their factor.")
    st.markdown("**Fit**")
    names, means, spreads = zip(*told.statistics.table, strict=True)
    st.dataframe(
        {"Quantity": names, "Mean": means, "SD": spreads}, hide_index=True, column_config=_decimals("Mean", "SD")
    )
    st.caption("Accuracy and ability are averaged over examinees. RMSE, d, b and g are averaged over items.")


def _interval(one: Bounded | None) -> str:
    return said_interval(one and (one.low, one.high))


def _decimals(*names: str) -> dict[str, object]:
    return {name: st.column_config.NumberColumn(format="%.3f") for name in names}


HEIGHT = 24
"""Height of a row in pixels."""
AROUND = 60
"""Pixels for the axis of a chart and its title."""
TALL = 20
"""Number of rows that fit on a page."""
COLOURS = 6
"""Number of line colours in the theme."""


def accuracy_chart(board: Sequence[Row], baselines: Mapping[str, float]) -> Spec:
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


def topic_chart(rows: Sequence[TopicRow], order: Sequence[str]) -> Spec:
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


def information_chart(
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
