"""Quality of the items by item response theory: a table, the exam's information, and the failures
of one item.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from exam_workbench import charts, choices, exams, text
from exam_workbench.measures.item_response import (
    ESTIMATORS,
    FEWEST_ITEMS,
    GRID,
    TIMES,
    Analysis,
    Improvement,
    ItemWorth,
    answer_information,
    answer_probability,
)
from exam_workbench.store import Project
from pages.parts.exams import exam_facts
from pages.parts.shared import chart_display, presses, ui

SCHEMES = {"bloom": "Bloom's level", "question type": "Question word", "topic": "Topic"}
MODEL_NAMES = {
    "3pl": "With guessing (3PL)",
    "2pl": "Without guessing (2PL)",
    "1pl": "Difficulty alone (1PL)",
}
ESTIMATOR_NAMES = {"map": "Most probable", "paper": "Bounds of the paper"}
RETIRING = "The items stay in the exam until you save the question bank."
"""Help text of buttons that retire items."""


def choose_settings() -> tuple[choices.ResponseModel, choices.EstimatorName]:
    """Draw the choices of model and estimator and return them."""
    with st.popover(
        "Model",
        icon=":material/tune:",
        help="Item response model and its estimator",
        key="choosing model",
    ):
        model = st.selectbox(
            "Model",
            list(MODEL_NAMES),
            index=list(MODEL_NAMES).index("3pl"),
            format_func=MODEL_NAMES.__getitem__,
            key="model",
            bind="query-params",
        )
        estimator = st.selectbox(
            "Estimator",
            list(ESTIMATORS),
            format_func=ESTIMATOR_NAMES.__getitem__,
            key="estimator",
            bind="query-params",
            help="Most probable uses priors. The paper uses bounds instead.",
        )
    return model, estimator


def draw_quality(
    project: Project,
    exam: str,
    items: Sequence[exams.Item],
    responses: exams.Responses,
    analysis: Analysis,
    kinds: Mapping[str, Mapping[str, Sequence[str]]],
) -> None:
    """Draw the table of items, the selected item, and the information curves.

    Args:
        kinds: categories of the items by scheme and question id.
    """
    for remark in analysis.remarks:
        st.caption(f":material/info: {ui.escape(remark)}")
    by_id = {item.question_id: item for item in items}
    rows = sorted(analysis.items, key=lambda row: (row.information, row.item))
    positions = ui.choose_rows(
        {
            "Item": [by_id[row.item].text for row in rows],
            "Accuracy": [row.accuracy for row in rows],
            "Information": [row.information for row in rows],
            "Item-rest": [row.item_rest for row in rows],
            "d": [_format_parameter(row, "d") for row in rows],
            "b": [_format_parameter(row, "b") for row in rows],
            "g": [_format_parameter(row, "g") for row in rows],
            "Bloom's level": [", ".join(kinds["bloom"].get(row.item, ())) for row in rows],
            "Diagnosis": [row.reason for row in rows],
        },
        "worth of items",
        several=True,
        column_config={
            "Item": st.column_config.TextColumn(width="large"),
            **{
                name: st.column_config.NumberColumn(format="%.3f")
                for name in ("Accuracy", "Information")
            },
            "Item-rest": st.column_config.NumberColumn(
                format="%.3f",
                help="Correlation of this item with the examinee's other answers. If it is low, the"
                " answers hardly depend on ability, even if d is high.",
            ),
        },
    )
    st.caption(
        "Sorted by information at these examinees' abilities, lowest first. d is discrimination, b"
        " is difficulty and g"
        " is the guessing probability. An asterisk marks a bound of the estimator."
    )
    chosen = [rows[at] for at in positions]
    gone = find_retiring(project, exam)
    wanted = [row.item for row in chosen if by_id[row.item].active and row.item not in gone]
    if wanted:
        _retire_button(project, wanted, key="retire worthless", help=RETIRING)
    else:
        st.caption("Select items to see their text and curves or to retire them.")
    for row in chosen[:1]:
        exam_facts.draw_item(project, by_id[row.item])
        _draw_examinees(responses, row.item)
    _curves_of_items(analysis, chosen[: charts.LINE_COLOURS])
    _draw_information(analysis, kinds)


def _format_parameter(row: ItemWorth, kind: str) -> str:
    return f"{getattr(row, kind):z.2f}{'*' if kind in row.held else ''}"


def find_retiring(project: Project, exam: str) -> set[str]:
    """Return the ids of items that the person's drafts retire; draw a note that these items count
    until the save.
    """
    gone = exams.retired_in_drafts(project, ui.person()) if ui.person() else set()
    if gone:
        ui.draw_note(
            f":material/edit_note: Your unsaved changes retire {text.how_many(len(gone), 'items')}."
            " They count until you save.",
            "question_bank",
            "Save or discard in the question bank",
            "retired-drafts",
            query=exam,
        )
    return gone


def _retire_button(project: Project, question_ids: Sequence[str], **options: Any) -> None:
    """Draw a button that retires items in the person's drafts."""
    presses.act_button(
        f"Retire {text.how_many(len(question_ids), 'items')}",
        exams.retire_exam_items,
        project,
        question_ids,
        message="Retired in your unsaved changes. Save them in the question bank.",
        icon=":material/remove_circle:",
        **options,
    )


def _draw_examinees(responses: exams.Responses, item: str) -> None:
    at = responses.items.index(item)
    correct, failed = responses.correct[:, at], responses.failed[:, at]
    for title, fits in (("Right", correct == 1), ("Wrong", correct == 0), ("Failed", failed)):
        if names := [name for name, one in zip(responses.names, fits.tolist(), strict=True) if one]:
            st.markdown(f"**{title}**: {ui.escape(', '.join(names))}")


def _curves_of_items(analysis: Analysis, chosen: Sequence[ItemWorth]) -> None:
    """Draw the characteristic curves and the information of selected items."""
    if not chosen:
        return
    few = analysis.fit.items.select([analysis.items.index(row) for row in chosen])
    for title, values in (
        ("Probability of a right answer", answer_probability(GRID, few)),
        ("Information", answer_information(GRID, few)),
    ):
        curves = dict(zip([row.item for row in chosen], values.T.tolist(), strict=True))
        chart_display.draw_chart(charts.ability_curves(curves, analysis.fit.theta.tolist(), title))


def _draw_information(analysis: Analysis, kinds: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
    st.markdown("**Information by ability**")
    scheme = st.segmented_control(
        "By",
        ["all", *SCHEMES],
        default="all",
        format_func=lambda name: SCHEMES.get(name, "All items"),
        key="by",
        required=True,
        bind="query-params",
        label_visibility="collapsed",
    )
    curves, few = charts.information_curves(analysis, kinds.get(str(scheme), {}))
    chart_display.draw_chart(charts.ability_curves(curves, analysis.fit.theta.tolist()))
    st.caption(
        "Each tick is an examinee."
        + (
            " Too few items for a curve of"
            f" {ui.escape(', '.join(f'{name} ({n})' for name, n in few.items()))}."
            if few
            else ""
        )
    )


CRITERION_NAMES = {
    "information": "Information",
    "d": "Discrimination (d)",
    "item-rest": "Item-rest correlation",
}


def draw_shortening(
    project: Project, exam: str, items: Sequence[exams.Item], improvement: Improvement
) -> None:
    """Draw the steps, their curves, and the list of items to confirm."""
    curves = {f"{step.items} items": step.curve.tolist() for step in improvement.steps}
    chart_display.draw_chart(charts.ability_curves(curves))
    st.dataframe(
        {
            "Items": [step.items for step in improvement.steps],
            "Mean information": [step.information for step in improvement.steps],
            "Rank correlation with the full exam": [step.ranking for step in improvement.steps],
            "Items to drop": [len(step.dropped) for step in improvement.steps],
        },
        hide_index=True,
        column_config={
            name: st.column_config.NumberColumn(format="%.3f")
            for name in ("Mean information", "Rank correlation with the full exam")
        },
    )
    if improvement.stopped:
        st.caption(f":material/info: {ui.escape(improvement.stopped)}.")
    _draw_held_out(improvement)
    _draw_items_to_drop(project, exam, items, improvement)


def _draw_held_out(improvement: Improvement) -> None:
    test = improvement.held_out
    if test is None:
        st.caption(
            "Too few examinees for a held-out check. The same examinees chose the items and measure"
            " the gain in information, so the gain may be too optimistic."
        )
        return
    ranking = (
        ""
        if test.ranking is None
        else f" The rank correlation of their abilities before and after is {test.ranking:z.3f}."
    )
    st.markdown(
        "**Held-out check**: one half of the examinees selects"
        f" {text.how_many(test.dropped, 'items')} to drop. All"
        f" examinees together would drop {test.shared} of these. For the other half"
        f" ({test.students}), mean information"
        f" changes from {test.before:.3f} to {test.after:.3f}.{ranking}"
    )


def _draw_items_to_drop(
    project: Project, exam: str, items: Sequence[exams.Item], improvement: Improvement
) -> None:
    texts = {item.question_id: item.text for item in items}
    active = {item.question_id for item in items if item.active} - find_retiring(project, exam)
    rows = [row for row in improvement.retire if row.item in active]
    if not rows:
        # Only a fit that stopped early shows that no item is left to drop.
        st.container(key="no-items-to-drop" if improvement.stopped else "more-steps").caption(
            f"No items to drop. An exam keeps at least {FEWEST_ITEMS} items."
            if improvement.stopped
            else "All items of these steps are retired already. Add steps to find more."
        )
        return
    st.container(key="would-drop").markdown(
        f"**{text.how_many(len(rows), 'items')} to retire.** {RETIRING}"
    )
    chosen = st.data_editor(
        {
            "Retire": [True] * len(rows),
            "Item": [texts.get(row.item, row.item) for row in rows],
            "Information": [row.information for row in rows],
            "d": [row.d for row in rows],
            "Item-rest": [row.item_rest for row in rows],
            "Accuracy": [row.accuracy for row in rows],
            "Diagnosis": [row.reason for row in rows],
        },
        hide_index=True,
        disabled=["Item", "Information", "d", "Item-rest", "Accuracy", "Diagnosis"],
        key=f"to retire {[row.item for row in rows]}",
        column_config={
            "Item": st.column_config.TextColumn(width="large"),
            **{
                name: st.column_config.NumberColumn(format="%.3f")
                for name in ("Information", "d", "Item-rest", "Accuracy")
            },
        },
    )
    wanted = [row.item for row, keep in zip(rows, chosen["Retire"], strict=True) if keep]
    _retire_button(project, wanted, type="primary", disabled=not wanted, key="retire shortened")


FAULT_NAMES = {
    "answered at random": "Answered at random",
    "key wrong": "Key wrong",
    "two right": "Two choices right",
    "answer in the question": "Answer in the question",
}
SHOWN = "planted in"
"""Session key of the project and the exam in which a person planted bad items."""


@ui.errors()
def offer_planting(project: Project, exam: str) -> None:
    """Draw a button that plants bad items, and the number that each criterion found."""
    st.markdown("**Test of the criteria**")
    place = (project.path, exam)
    st.button(
        "Test with spoilt items",
        icon=":material/bug_report:",
        key="plant",
        on_click=st.session_state.update,
        args=({SHOWN: place},),
    )
    if st.session_state.get(SHOWN) != place:
        st.container(key="not-planted").caption(
            "Spoils some items in a copy of the answers, then counts how many each criterion ranks"
            " last. The project does not change."
        )
        return
    with st.spinner("Spoiling items and fitting the model again"):
        planted = exams.plant_bad_items(project, exam)
    head = planted[0]
    st.dataframe(
        {"Fault": [FAULT_NAMES[row.fault] for row in planted]}
        | {CRITERION_NAMES[by]: [row.found[by] for row in planted] for by in choices.ITEM_CRITERIA},
        hide_index=True,
        column_config={
            CRITERION_NAMES[by]: st.column_config.ProgressColumn(
                format="%.1f", min_value=0.0, max_value=head.planted
            )
            for by in choices.ITEM_CRITERIA
        },
    )
    st.container(key="planted").caption(
        f"Of {head.items} items, {head.planted} were spoilt in a copy of the answers. The"
        f" table shows how many are among the {head.last} items that a criterion ranks last"
        f" (mean of {TIMES} repetitions). By chance it would be {head.by_chance:.1f}. Other"
        " bad items of the exam may take some of these ranks."
    )


BOUNDS = {
    "extra_gram": (
        "Extra-candidate, n-grams (t1)",
        "A wrong choice shares more word sequences with the source than the right one.",
    ),
    "extra_embedding": (
        "Extra-candidate, meaning (t2)",
        "A wrong choice is closer to the source than the right one.",
    ),
    "intra_jaccard": (
        "Intra-candidate, words (t3)",
        "A wrong choice has nearly the same words as the right one.",
    ),
    "intra_embedding": (
        "Intra-candidate, meaning (t4)",
        "A wrong choice means nearly the same as the right one.",
    ),
    "intra_rouge": (
        "Intra-candidate, ROUGE-L",
        "Two choices share a long word sequence. This filter is not in the paper.",
    ),
    "near": ("Near-duplicates", "Two items ask nearly the same question."),
}
"""Title and meaning of each threshold."""

TITLES: dict[str, str] = {
    "extra n-gram": BOUNDS["extra_gram"][0],
    "extra embedding": BOUNDS["extra_embedding"][0],
    "intra jaccard": BOUNDS["intra_jaccard"][0],
    "intra embedding": BOUNDS["intra_embedding"][0],
    "intra rouge-l": BOUNDS["intra_rouge"][0],
    "near duplicate": BOUNDS["near"][0],
    "self-contained": "Names its source",
}
"""Titles of rules, the same as those of their threshold or checkbox."""


@ui.errors()
def draw_filters(project: Project, exam: str, items: Sequence[exams.Item]) -> None:
    """Draw the thresholds and the failing items; an item leaves the exam only if a person retires
    it.
    """
    with st.spinner("Comparing choices, sources and items"):
        values = exams.item_values(project, exam)
    ui.require_content(
        values, "No active items", "Restore an item in the question bank.", "question_bank"
    )
    accepted = exams.last_acceptance(project, exam)
    checked = exams.apply_thresholds(
        values,
        _choose_thresholds(accepted.thresholds if accepted else exams.usual_thresholds(values)),
    )
    falling = [item for item in checked if item.hits]
    counts = Counter(rule for item in falling for rule in {hit.rule for hit in item.hits})
    st.markdown(f"**{len(falling)} of {text.how_many(len(checked), 'items')} would fail a filter**")
    if not falling:
        st.caption("All items pass at these thresholds.")
        return
    st.caption(" · ".join(f"{_title_rule(rule)}: {count}" for rule, count in counts.most_common()))
    gone = find_retiring(project, exam)
    _list_filtered(project, [item for item in falling if item.item.question_id not in gone])


@ui.errors()
def draw_proposed(project: Project, exam: str) -> None:
    """Draw the proposed items with their filter values and sources, and a button that accepts the
    passing ones.
    """
    with st.spinner("Comparing choices, sources and items"):
        values = exams.item_values(project, exam, "all")
    ui.require_content(
        any(item.item.proposal_key is not None for item in values),
        "No open proposals",
        "Write items with a model above.",
    )
    thresholds = _choose_thresholds(exams.usual_thresholds(values), "proposed ")
    checked = exams.apply_thresholds(values, thresholds)
    proposed = sorted(
        (item for item in checked if item.item.proposal_key is not None),
        key=lambda item: len(item.hits),
    )
    passing = sum(not item.hits for item in proposed)
    st.markdown(
        f"**{passing} of {text.how_many(len(proposed), 'proposed items')} pass all filters**"
    )
    presses.act_button(
        f"Accept {text.how_many(passing, 'passing items')}",
        exams.accept_passing,
        project,
        checked,
        thresholds,
        type="primary",
        disabled=not passing,
        key="accept passing",
        message="Accepted as unsaved changes. Save them in the question bank.",
    )
    columns = zip(*(exams.value_row(item.values) for item in proposed), strict=True)
    chosen = ui.choose_rows(
        {
            "Item": [item.item.text for item in proposed],
            "Failed filters": [
                ", ".join(dict.fromkeys(_title_rule(hit.rule) for hit in item.hits))
                for item in proposed
            ],
            **dict(zip(exams.VALUE_COLUMNS, columns, strict=True)),
        },
        "proposed items",
        placeholder="–",
        column_config={"Item": st.column_config.TextColumn(width="large")},
    )
    exam_facts.draw_item(project, proposed[chosen[0] if chosen else 0].item)


def _title_rule(rule: str) -> str:
    return TITLES.get(rule, rule.capitalize())


def _choose_thresholds(usual: exams.Thresholds, prefix: str = "") -> exams.Thresholds:
    thresholds: dict[str, float | None] = {}
    with st.expander("Thresholds", expanded=True):
        columns = st.columns(3)
        for at, (name, (title, about)) in enumerate(BOUNDS.items()):
            thresholds[name] = columns[at % 3].number_input(
                title,
                -1.0,
                1.0,
                getattr(usual, name),
                0.01,
                "%.3f",
                key=f"{prefix}threshold {name}",
                placeholder="Off",
                help=f"{about} Empty: the filter is off.",
            )
        alone = st.checkbox(
            "Fail questions that name a paper, a study or documentation",
            usual.self_contained,
            key=f"{prefix}self-contained",
        )
        st.caption(
            "Defaults: the thresholds at the last acceptance of proposals. Without one, each"
            " default removes at most 5% of the items."
        )
    return replace(usual, self_contained=alone, **thresholds)


def _list_filtered(project: Project, falling: Sequence[exams.CheckedItem]) -> None:
    rows = [(failing, hit) for failing in falling for hit in failing.hits]
    if not rows:
        return
    positions = ui.choose_rows(
        {
            "Item": [failing.item.text for failing, _ in rows],
            "Filter": [_title_rule(hit.rule) for _, hit in rows],
            # The number of the pattern that matched is not a measured value.
            "Value": [None if hit.rule == "self-contained" else hit.value for _, hit in rows],
            "Threshold": [hit.threshold for _, hit in rows],
            "Text": [hit.one for _, hit in rows],
            "Compared with": ["" if hit.rule == "self-contained" else hit.other for _, hit in rows],
        },
        "falling items",
        several=True,
        placeholder="–",
        column_config={
            "Item": st.column_config.TextColumn(width="large"),
            "Value": st.column_config.NumberColumn(format="%.3f"),
            "Threshold": st.column_config.NumberColumn(format="%.3f"),
        },
    )
    chosen = {rows[at][0].item.question_id: rows[at][0].item for at in positions}
    if not chosen:
        st.caption("Select items to see them or to retire them.")
        return
    _retire_button(project, list(chosen), key="retire falling", help=RETIRING)
    exam_facts.draw_item(project, next(iter(chosen.values())))
