"""A proposal to shorten an exam: its steps, their effect on information and ranking, and the items to retire."""

from collections.abc import Sequence

import streamlit as st

from exam_workbench.measures.item_response import FEWEST_ITEMS, Improvement
from exam_workbench.pipelines import Item
from exam_workbench.project import Project
from exam_workbench.text import how_many
from pages.parts.exams import charts
from pages.parts.exams.worth import RETIRING, going, retire_all
from pages.parts.shared import presses, ui

CRITERION_NAMES = {"information": "Information", "d": "Discrimination (d)", "item-rest": "Item-rest correlation"}


def draw(project: Project, exam: str, items: Sequence[Item], found: Improvement) -> None:
    """Draw the steps, their curves, and the list of items to confirm."""
    curves = {f"{step.items} items": step.curve.tolist() for step in found.steps}
    st.vega_lite_chart(charts.information(curves))
    st.dataframe(
        {
            "Items": [step.items for step in found.steps],
            "Mean information": [step.information for step in found.steps],
            "Rank correlation with the full exam": [step.ranking for step in found.steps],
            "Items to drop": [len(step.dropped) for step in found.steps],
        },
        hide_index=True,
        column_config={
            name: st.column_config.NumberColumn(format="%.3f")
            for name in ("Mean information", "Rank correlation with the full exam")
        },
    )
    if found.stopped:
        st.caption(f":material/info: {ui.plain(found.stopped)}.")
    _held_out(found)
    _list(project, exam, items, found)


def _held_out(found: Improvement) -> None:
    held = found.held_out
    if held is None:
        st.caption(
            "Too few examinees for a held-out check. The items were chosen by the same examinees, so the rise in"
            " information may be overfitted."
        )
        return
    ranking = (
        ""
        if held.ranking is None
        else f" The rank correlation of their abilities before and after is {held.ranking:z.3f}."
    )
    st.markdown(
        f"**Held-out examinees** ({held.students}): the other half would drop {how_many(held.dropped, 'items')}."
        f" All examinees together would drop {held.shared} of these. Mean information changes from"
        f" {held.before:.3f} to {held.after:.3f}.{ranking}"
    )


def _list(project: Project, exam: str, items: Sequence[Item], found: Improvement) -> None:
    texts = {item.question_id: item.text for item in items}
    gone = going(project, exam)
    active = {item.question_id for item in items if item.active} - gone
    rows = [row for row in found.retire if row.item in active]
    if not rows:
        more = " more" if gone else ""
        st.caption(f"No{more} items to drop. An exam keeps at least {FEWEST_ITEMS} items.")
        return
    st.container(key="would-drop").markdown(f"**{how_many(len(rows), 'items')} to retire.** {RETIRING}")
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
    if presses.button(
        f"Retire {how_many(len(wanted), 'items')}",
        icon=":material/remove_circle:",
        type="primary",
        disabled=not wanted,
        key="retire shortened",
    ):
        retire_all(project, wanted)
        st.rerun()
