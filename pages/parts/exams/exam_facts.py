"""Facts about an exam before examinees sit it: its items, its size, and the score of guessing."""

from collections.abc import Sequence
from string import ascii_uppercase

import streamlit as st

from exam_workbench import bank, exams, grouping
from exam_workbench.store import Project
from pages.parts.shared import html, ui


def draw_summary(statistics: exams.ExamStatistics) -> None:
    """Draw the statistics of the exam, in one line."""
    unkeyed = "Items without a right choice. Answers to them cannot be graded."
    without: ui.Fact = ("", "Without a key", f"{statistics.without_key:,}", unkeyed)
    ui.draw_metrics(
        ("", "Items", f"{statistics.items:,}", None),
        ("", "Retired", f"{statistics.retired:,}", None),
        *([without] if statistics.without_key else []),
        (
            "",
            f"Always {statistics.fixed_letter or 'A'}",
            ui.as_percent(statistics.fixed_answer),
            "Accuracy of answering every item with this letter, the most frequent key.",
        ),
        (
            "",
            "Longest choice",
            ui.as_percent(statistics.longest_answer),
            "Share of items whose key is at least as long as every other choice.",
        ),
        width="content",
    )


def draw_items(project: Project, items: Sequence[exams.Item]) -> None:
    """Draw the items; a selected one opens below."""
    chosen = ui.choose_rows(
        {
            "Item": [item.text for item in items],
            "Topic": [item.topic for item in items],
            "Key": [
                "none"
                if item.key_position is None
                else f"{ascii_uppercase[item.key_position]}) {item.key}"
                for item in items
            ],
            "Source": [item.source_passage_id for item in items],
            "State": ["" if item.active else "retired" for item in items],
        },
        "items of the exam",
        column_config={"Item": st.column_config.TextColumn(width="large")},
    )
    draw_item(project, items[chosen[0] if chosen else 0])


def draw_details(statistics: exams.ExamStatistics) -> None:
    """Draw the origin of the items, their question words and their topics."""
    if (made := statistics.making) is not None:
        st.markdown("**Origin of the items**")
        steps, numbers = zip(*made.table, strict=True)
        st.dataframe({"Step": steps, "Items": numbers}, hide_index=True, placeholder="–")
    if statistics.question_length is not None:
        st.caption(f"Average question length: {statistics.question_length:.0f} characters")
    left, right = st.columns(2)
    for column, title, counts in (
        (left, "Question words", statistics.question_types),
        (right, "Topics", {name or "no topic": count for name, count in statistics.topics.items()}),
    ):
        with column:
            st.markdown(f"**{title}**")
            st.dataframe({title: list(counts), "Items": list(counts.values())}, hide_index=True)


STYLE = """
.item { max-width: 60rem; }
.item .asks { font-size: 1.1rem; font-weight: 600; margin: 0.2rem 0 0.5rem; }
.item ol { list-style: none; margin: 0; padding: 0; }
.item li { padding: 0.15rem 0.4rem; border-radius: 4px; }
.item li.key { background: var(--ew-line); font-weight: 600; }
.item .letter { color: var(--ew-dim); }
.item .source { margin-top: 0.7rem; padding-left: 0.8rem; border-left: 3px solid var(--ew-line);
  line-height: 1.5; white-space: pre-wrap; }
.item .dim { color: var(--ew-dim); font-size: 0.87rem; }
"""


def draw_item(project: Project, item: exams.Item) -> None:
    """Draw an item."""
    choices = "".join(
        f'<li{" class=key" if at == item.key_position else ""} dir="auto">'
        f'<span class="letter">{ascii_uppercase[at]})</span> {html.as_html(choice)}'
        f"{' <span class=dim>right choice</span>' if at == item.key_position else ''}</li>"
        for at, choice in enumerate(item.choices)
    )
    topic = f'<div class="dim">{html.as_html(item.topic)}</div>' if item.topic else ""
    source = (
        f'<div class="source" dir="auto">{html.as_html(item.source_text)}</div>'
        if item.source_text
        else '<div class="dim">The source passage of this item is unknown.</div>'
    )
    st.html(
        f'<style>{STYLE}</style><div class="item">{topic}<div class="asks"'
        f' dir="auto">{html.as_html(item.text)}</div>'
        f"<ol>{choices}</ol>{source}</div>"
    )
    with st.container(horizontal=True):
        ui.draw_link("question_bank", "Edit in the question bank", query=item.query_id)
        if item.source_passage_id:
            st.caption(f"Source: passage {ui.escape(item.source_passage_id)}")


HOW = (
    "Import an exam on the Home screen, or write multiple-choice questions in the question bank. A"
    " model can write items from passages on the Exam screen."
)


def choose_exam(project: Project, proposed: bool = False) -> tuple[str, list[exams.Item]]:
    """Return the id of the exam's query, and its items; end the screen if no exam exists.

    Args:
        proposed: whether exams with only proposed items can be chosen too; they have no items.
    """
    items_by_exam = grouping.group_pairs(
        (item.query_id, item) for item in exams.exam_items(project)
    )
    for item in exams.proposed_items(project) if proposed else ():
        items_by_exam.setdefault(item.query_id, [])
    ui.require_content(items_by_exam, "No exam yet", HOW, "home", code="no-exam")
    if len(items_by_exam) == 1:
        return next(iter(items_by_exam.items()))
    names = ui.distinct_option_texts(
        {
            query.query_id: query.text
            for query in bank.query_overviews(project)
            if query.query_id in items_by_exam
        }
    )
    wanted = st.query_params.get("exam")
    if wanted is not None and wanted not in names.values():
        st.warning(
            f"Unknown exam {ui.escape(wanted)}. The first exam is shown instead.",
            icon=":material/info:",
        )
    picked = st.selectbox(
        "Exam",
        list(items_by_exam),
        format_func=names.__getitem__,
        key="exam",
        bind="query-params",
        width=420,
    )
    return str(picked), items_by_exam[str(picked)]
