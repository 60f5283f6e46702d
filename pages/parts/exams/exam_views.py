"""Results of the examinees, as views of the Examinees screen."""

from dataclasses import dataclass

import streamlit as st

from exam_workbench import charts, choices, exams
from exam_workbench.measures.item_response import IntervalEstimate
from exam_workbench.store import Project
from exam_workbench.text import format_interval, how_many
from pages.parts.shared import chart_display, ui

ITEMS_SHOWN = 20
"""Number of items listed for each side among those that two examinees answer differently."""

TEST_NAMES = {"mcnemar": "McNemar", "randomisation": "Randomisation"}


@dataclass(frozen=True)
class AnsweredExam:
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
    items: list[exams.Item]
    found: exams.Responses
    rows: list[exams.ExamineeRow]
    known: exams.ExamStatistics


def draw_board(sat: AnsweredExam) -> None:
    """Draw examinees by accuracy, next to the scores of answers that ignore the question."""
    chart_display.draw_chart(charts.accuracy_chart(sat.rows, sat.known.baselines))
    said = " and ".join(f"{what} ({share:.0%})" for what, share in sat.known.baselines.items())
    st.container(key="baselines").caption(
        "Accuracy is the share of right answers, with Wilson's 95% interval. Dashed lines show"
        f" {said}. Strict accuracy counts failed answers as wrong. Accuracy leaves them out."
    )
    st.dataframe(
        {
            "Examinee": [row.student.name for row in sat.rows],
            "Accuracy": [row.score.accuracy for row in sat.rows],
            "95% interval": [format_interval(row.score.accuracy_interval) for row in sat.rows],
            "Right": [row.score.right for row in sat.rows],
            "Answered": [row.score.answered for row in sat.rows],
            "Failed": [row.score.failed for row in sat.rows],
            "Not asked": [row.score.missing for row in sat.rows],
            "Strict accuracy": [row.score.strict_accuracy for row in sat.rows],
        },
        hide_index=True,
        column_config={
            name: st.column_config.NumberColumn(format="%.3f")
            for name in ("Accuracy", "Strict accuracy")
        },
    )


def draw_models(sat: AnsweredExam) -> None:
    """Draw accuracy by model and context; of several numbers of worked examples, the best one
    counts.
    """
    accuracies = exams.leaderboard_grid(sat.rows)
    table = {"Model": accuracies.models} | {
        name: [
            ui.as_number(accuracies.accuracy(model, name))
            + " (best)" * (name in accuracies.best[model])
            for model in accuracies.models
        ]
        for name in accuracies.retrievals
    }
    st.dataframe(table, hide_index=True)
    st.caption(
        "Each cell shows the accuracy with the best number of worked examples, and marks the best"
        " retrieval of each model. Closed book and oracle are not ranked."
    )


def draw_topics(sat: AnsweredExam) -> None:
    """Draw accuracy by topic, if there are enough items."""
    rows = exams.by_topic(sat.found)
    ui.require_content(
        rows,
        "No topic has enough answers",
        f"Each cell needs {choices.LEAST_TOPIC_ANSWERS} answers of one examinee to items of one"
        " topic. Topics come with generated or imported items.",
    )
    chart_display.draw_chart(charts.topic_chart(rows, [row.student.name for row in sat.rows]))
    st.caption(
        "Share of right answers and number of answers. Cells with fewer than"
        f" {choices.LEAST_TOPIC_ANSWERS} answers are left out."
    )


def draw_two(sat: AnsweredExam) -> None:
    """Draw two examinees on the items that both answered, and the items that they answer
    differently.
    """
    names = [row.student.name for row in sat.rows]
    ui.require_content(len(names) > 1, "Only one examinee", "Add another examinee to compare with.")
    left, right, how = st.columns([3, 3, 2])
    first = str(left.selectbox("First examinee", names, key="first", bind="query-params"))
    others = [name for name in names if name != first]
    second = str(right.selectbox("Second examinee", others, key="second", bind="query-params"))
    test = how.selectbox(
        "Test",
        list(TEST_NAMES),
        format_func=TEST_NAMES.__getitem__,
        key="test",
        bind="query-params",
    )
    examinees = {first, second}
    earlier = next(
        each
        for each in exams.compare_examinees(sat.found, test)
        if {each.first, each.second} == examinees
    )
    st.container(key="verdict").markdown(_describe_comparison(earlier))
    texts = {item.question_id: item.text for item in sat.items}
    for column, name, items in zip(
        st.columns(2), (first, second), exams.only_right(sat.found, first, second), strict=True
    ):
        item_texts = [texts[item] for item in items]
        with column, st.container(key=f"only {name}"):
            st.markdown(f"**Only {ui.escape(name)} is right: {len(item_texts):,}**")
            for text in item_texts[:ITEMS_SHOWN]:
                st.text(text)
            if len(item_texts) > ITEMS_SHOWN:
                st.caption(f"and {len(item_texts) - ITEMS_SHOWN:,} more")


def _describe_comparison(comparison: exams.Comparison) -> str:
    if comparison.p is None or comparison.adjusted is None or comparison.difference is None:
        return "**Not separated**: both got the same items right."
    better, worse = (
        (comparison.first, comparison.second)
        if comparison.difference > 0
        else (comparison.second, comparison.first)
    )
    significance = (
        f"p = {comparison.p:.3f}, {comparison.adjusted:.3f} after Holm correction over"
        " all pairs of examinees"
    )
    on = f"on {how_many(comparison.items, 'items')} that both answered"
    if comparison.differ:
        by = abs(comparison.difference)
        return (
            f"**{ui.escape(better)} is better** than {ui.escape(worse)} by {by:.1%} {on}"
            f" ({significance})."
        )
    ahead = (
        f"{ui.escape(better)} is ahead by {abs(comparison.difference):.1%}"
        if comparison.difference
        else "equal accuracy"
    )
    return f"**Not separated** {on}: {ahead} ({significance})."


@ui.errors()
def draw_ability(sat: AnsweredExam) -> None:
    """Draw the effect of each component of the examinees, by item response theory."""
    intervals = st.toggle(
        "Intervals",
        key="intervals",
        bind="query-params",
        help="95% intervals from 200 bootstrap samples of the items.",
    )
    with st.spinner("Fitting abilities and items"):
        estimates = exams.fit_abilities(sat.project, sat.exam, intervals=intervals)
    for remark in estimates.remarks:
        st.caption(f":material/info: {ui.escape(remark)}")
    if estimates.components:
        st.markdown("**Components**")
        parts = {
            "Factor": [row.factor for row in estimates.components],
            "Level": [row.level for row in estimates.components],
            "Examinees": [row.students for row in estimates.components],
            "Accuracy": [row.accuracy for row in estimates.components],
            "Effect": [row.ability.value for row in estimates.components],
            "Interval": [_format_interval(row.ability) for row in estimates.components],
            "Difference from first level": [
                row.difference.value if row.difference else None for row in estimates.components
            ],
            "Interval of difference": [
                _format_interval(row.difference) for row in estimates.components
            ],
        }
        st.dataframe(
            {
                name: values
                for name, values in parts.items()
                if intervals or "interval" not in name.lower()
            },
            hide_index=True,
            placeholder="–",
            column_config=_decimal_columns("Accuracy", "Effect", "Difference from first level"),
        )
    st.markdown("**Examinees**")
    ordered = sorted(estimates.students, key=lambda row: -row.ability.value)
    bounds = {"Interval": [_format_interval(row.ability) for row in ordered]} if intervals else {}
    st.dataframe(
        {
            "Examinee": [row.student for row in ordered],
            "Ability": [row.ability.value for row in ordered],
            **bounds,
            "Accuracy": [row.accuracy for row in ordered],
            "Answered": [row.answered for row in ordered],
        },
        hide_index=True,
        column_config=_decimal_columns("Ability", "Accuracy"),
    )
    st.caption(
        "Abilities are relative to the mean of all examinees. Effects are relative to the"
        " mean of their factor."
    )
    st.markdown("**Fit**")
    names, means, spreads = zip(*estimates.statistics.table, strict=True)
    st.dataframe(
        {"Quantity": names, "Mean": means, "SD": spreads},
        hide_index=True,
        column_config=_decimal_columns("Mean", "SD"),
    )
    st.caption(
        "Accuracy and ability are averaged over examinees. RMSE, d, b and g are"
        " averaged over items."
    )


def _format_interval(bounded: IntervalEstimate | None) -> str:
    return format_interval(bounded and (bounded.low, bounded.high))


def _decimal_columns(*names: str) -> dict[str, object]:
    return {name: st.column_config.NumberColumn(format="%.3f") for name in names}
