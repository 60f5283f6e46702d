"""Facts about an exam before examinees sit it: its items, its size, and the score of guessing."""

from collections.abc import Sequence
from string import ascii_uppercase

import streamlit as st

from exam_workbench.pipelines import ExamStatistics, Item
from exam_workbench.project import Project
from pages.parts.exams.item import show
from pages.parts.shared import ui


def summary(known: ExamStatistics) -> None:
    """Draw the statistics of the exam, in one line."""
    with st.container(horizontal=True):
        st.metric("Items", f"{known.items:,}", width="content")
        st.metric("Retired", f"{known.retired:,}", width="content")
        if known.without_key:
            st.metric(
                "Without a key", f"{known.without_key:,}", width="content",
                help="Items without a right choice. Answers to them cannot be graded.",
            )  # fmt: skip
        letter = known.fixed_letter or "A"
        st.metric(
            f"Always {letter}", ui.percent(known.fixed_answer), width="content",
            help="Accuracy of answering every item with this letter, the most frequent key.",
        )  # fmt: skip
        st.metric(
            "Longest choice", ui.percent(known.longest_answer), width="content",
            help="Share of items whose key is at least as long as every other choice.",
        )  # fmt: skip


def listing(project: Project, items: Sequence[Item]) -> None:
    """Draw the items; a selected one opens below."""
    picked = st.dataframe(
        {
            "Item": [item.text for item in items],
            "Topic": [item.topic for item in items],
            "Key": [
                "none" if item.key_position is None else f"{ascii_uppercase[item.key_position]}) {item.key}"
                for item in items
            ],
            "Source": [item.source_passage_id for item in items],
            "State": ["" if item.active else "retired" for item in items],
        },
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key="items of the exam",
        column_config={"Item": st.column_config.TextColumn(width="large")},
    )
    at = next(iter(picked.selection.rows), 0)
    show(project, items[at if at < len(items) else 0])


def details(known: ExamStatistics) -> None:
    """Draw the origin of the items, their question words and their topics."""
    if (made := known.making) is not None:
        st.markdown("**Origin of the items**")
        steps, numbers = zip(*made.table, strict=True)
        st.dataframe({"Step": steps, "Items": numbers}, hide_index=True, placeholder="–")
    if known.question_length is not None:
        st.caption(f"Average question length: {known.question_length:.0f} characters")
    left, right = st.columns(2)
    for column, title, counts in (
        (left, "Question words", known.question_types),
        (right, "Topics", {name or "no topic": count for name, count in known.topics.items()}),
    ):
        with column:
            st.markdown(f"**{title}**")
            st.dataframe({title: list(counts), "Items": list(counts.values())}, hide_index=True)
