"""Filters of items: adjustable thresholds, the items that fail each filter, and the two compared texts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from exam_workbench import errors, pipelines, text
from exam_workbench.project import Project
from pages.parts.exams import facts, worth
from pages.parts.shared import presses, ui

BOUNDS = {
    "extra_gram": (
        "Extra-candidate, n-grams (t1)",
        "A wrong choice shares more word sequences with the source than the right one.",
    ),
    "extra_embedding": ("Extra-candidate, meaning (t2)", "A wrong choice is closer to the source than the right one."),
    "intra_jaccard": ("Intra-candidate, words (t3)", "A wrong choice has nearly the same words as the right one."),
    "intra_embedding": ("Intra-candidate, meaning (t4)", "A wrong choice means nearly the same as the right one."),
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
def draw(project: Project, exam: str, items: Sequence[pipelines.Item]) -> None:
    """Draw the thresholds and the failing items; an item leaves the exam only if a person retires it."""
    with st.spinner("Comparing choices, sources and items"):
        values = pipelines.item_values(project, exam)
    if not values:
        ui.empty("No active items", "Restore an item in the question bank.", "question_bank")
    accepted = pipelines.last_acceptance(project, exam)
    found = pipelines.judged(
        values, _thresholds(accepted.thresholds if accepted else pipelines.usual_thresholds(values))
    )
    falling = [one for one in found if one.hits]
    counts = Counter(rule for one in falling for rule in {hit.rule for hit in one.hits})
    st.markdown(f"**{len(falling)} of {text.how_many(len(found), 'items')} would fail a filter**")
    if not falling:
        st.caption("All items pass at these thresholds.")
        return
    st.caption(" · ".join(f"{_title(rule)}: {count}" for rule, count in counts.most_common()))
    gone = worth.going(project, exam)
    _list(project, [one for one in falling if one.item.question_id not in gone])


def draw_proposed(project: Project, exam: str) -> None:
    """Draw the proposed items with their filter values and sources, and a button that accepts the passing ones."""
    try:
        with st.spinner("Comparing choices, sources and items"):
            values = pipelines.item_values(project, exam, "all")
    except errors.WorkbenchError as error:
        ui.show_error(error)
        return
    if all(one.item.proposal_key is None for one in values):
        ui.empty("No open proposals", "Write items with a model above.")
    thresholds = _thresholds(pipelines.usual_thresholds(values), "proposed ")
    checked = pipelines.judged(values, thresholds)
    proposed = sorted((one for one in checked if one.item.proposal_key is not None), key=lambda one: len(one.hits))
    passing = sum(not one.hits for one in proposed)
    st.markdown(f"**{passing} of {text.how_many(len(proposed), 'proposed items')} pass all filters**")
    if (
        presses.button(
            f"Accept {text.how_many(passing, 'passing items')}",
            type="primary",
            disabled=not passing,
            key="accept passing",
        )
        and ui.author()
    ):
        with ui.errors():
            pipelines.accept_passing(project, checked, thresholds, ui.author())
            st.toast("Accepted as unsaved changes. Save them in the question bank.", icon=":material/edit_note:")
            st.rerun()
    columns = zip(*(pipelines.value_row(one.values) for one in proposed), strict=True)
    picked = st.dataframe(
        {
            "Item": [one.item.text for one in proposed],
            "Failed filters": [", ".join(dict.fromkeys(_title(hit.rule) for hit in one.hits)) for one in proposed],
            **dict(zip(pipelines.VALUE_COLUMNS, columns, strict=True)),
        },
        hide_index=True,
        placeholder="–",
        on_select="rerun",
        selection_mode="single-row",
        key="proposed items",
        column_config={"Item": st.column_config.TextColumn(width="large")},
    )
    at = next(iter(picked.selection.rows), 0)
    facts.show(project, proposed[at if at < len(proposed) else 0].item)


def _title(rule: str) -> str:
    return TITLES.get(rule, rule.capitalize())


def _thresholds(usual: pipelines.Thresholds, prefix: str = "") -> pipelines.Thresholds:
    given: dict[str, float | None] = {}
    with st.expander("Thresholds", expanded=True):
        columns = st.columns(3)
        for at, (name, (title, about)) in enumerate(BOUNDS.items()):
            given[name] = columns[at % 3].number_input(
                title, -1.0, 1.0, getattr(usual, name), 0.01, "%.3f", key=f"{prefix}threshold {name}",
                placeholder="Off", help=f"{about} Empty: the filter is off.",
            )  # fmt: skip
        alone = st.checkbox(
            "Fail questions that name a paper, a study or documentation",
            usual.self_contained,
            key=f"{prefix}self-contained",
        )
        st.caption(
            "Defaults: the thresholds of the last acceptance, or values that each remove at most 5% of the items."
        )
    return replace(usual, self_contained=alone, **given)


def _list(project: Project, falling: Sequence[pipelines.Checked]) -> None:
    rows = [(one, hit) for one in falling for hit in one.hits]
    if not rows:
        return
    picked = st.dataframe(
        {
            "Item": [one.item.text for one, _ in rows],
            "Filter": [_title(hit.rule) for _, hit in rows],
            # The number of the pattern that matched is not a measured value.
            "Value": [None if hit.rule == "self-contained" else hit.value for _, hit in rows],
            "Threshold": [hit.threshold for _, hit in rows],
            "Text": [hit.one for _, hit in rows],
            "Compared with": ["" if hit.rule == "self-contained" else hit.other for _, hit in rows],
        },
        hide_index=True,
        placeholder="–",
        on_select="rerun",
        selection_mode="multi-row",
        key="falling items",
        column_config={
            "Item": st.column_config.TextColumn(width="large"),
            "Value": st.column_config.NumberColumn(format="%.3f"),
            "Threshold": st.column_config.NumberColumn(format="%.3f"),
        },
    )
    chosen = list(
        {rows[at][0].item.question_id: rows[at][0].item for at in picked.selection.rows if at < len(rows)}.values()
    )
    if not chosen:
        st.caption("Select items to see them or to retire them.")
        return
    if presses.button(
        f"Retire {text.how_many(len(chosen), 'items')}",
        icon=":material/remove_circle:",
        help=worth.RETIRING,
        key="retire falling",
    ):
        worth.retire_all(project, [item.question_id for item in chosen])
        st.rerun()
    facts.show(project, chosen[0])
