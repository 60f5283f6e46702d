"""Beside a passage: one's own judgment, the label, the judgments of all sources, the rank in every run."""

from __future__ import annotations

import streamlit as st

from core.errors import WorkbenchError
from core.labels import Policy
from core.project import SCALE, Project, judging, judgment_history, own_judgment, withdraw
from core.review import Desk
from pages.parts.shared import presses, ui


def judge(project: Project, desk: Desk) -> None:
    """The person's own judgment: give it, replace it, take it back."""
    own = own_judgment(project, desk.query_id, desk.passage_id, ui.person()) if ui.person() else None
    st.markdown("**Your judgment**")
    note = st.text_input(
        "Note", key=f"note {desk.query_id} {desk.passage_id}", placeholder="Note", label_visibility="collapsed"
    )
    try:
        for value, meaning in SCALE.items():
            if presses.button(
                meaning.capitalize(),
                key=f"judge {value}",
                shortcut=str(value),
                type="primary" if own == value else "secondary",
                width="stretch",
                disabled=desk.text is None,
            ):
                judging.judge(project, desk.query_id, desk.passage_id, value, ui.author(), str(note or ""))
                st.rerun()
        if own is not None and presses.button("Withdraw your judgment", type="tertiary", icon=":material/undo:"):
            withdraw(project, desk.query_id, desk.passage_id, ui.author())
            st.rerun()
    except WorkbenchError as error:
        ui.show_error(error)


def known(project: Project, desk: Desk, policy: Policy | None) -> None:
    """The label and where it comes from, judgments by source with their history, and the rank in every run."""
    if policy is not None:
        st.metric("Label", "none" if desk.label is None else desk.label)
        given = [str(one.number) for one in desk.asked if one.gives_label and one.number]
        said = [f"from question{'s' * (len(given) > 1)} {', '.join(given)}"] if given else []
        partial = "" if desk.label is None else "partial: "
        said += [f"{partial}{desk.usable} of {desk.needed} pairs have a rating"] if desk.usable < desk.needed else []
        st.caption(" · ".join(said) if desk.pooled else "The passage is not in the pool: it has no label.")
    if desk.judgments:
        st.markdown("**Judgments**")
        st.dataframe(
            {"Source": [name for name, _ in desk.judgments], "Value": [value for _, value in desk.judgments]},
            hide_index=True,
            column_config={"Value": st.column_config.NumberColumn(width=60)},
        )
    if history := judgment_history(project, desk.query_id, desk.passage_id):
        with st.popover("History of judgments", type="tertiary"):
            for act in history:
                what = "withdrew the judgment" if act.value is None else f"judged {act.value}"
                st.text(f"{act.happened_at:%d %B %Y %H:%M}: {act.author} {what}" + f" ({act.note})" * bool(act.note))
    if desk.ranks:
        st.markdown("**Rank in every run**")
        st.dataframe(
            {"Run": [run for run, _ in desk.ranks], "Rank": [rank for _, rank in desk.ranks]},
            hide_index=True,
            column_config={"Rank": st.column_config.NumberColumn(width=60)},
            height=min(38 + 35 * len(desk.ranks), 390),
            placeholder="–",
        )
