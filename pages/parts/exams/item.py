"""An item: its question, its choices with the right one, and its source passage."""

from string import ascii_uppercase

import streamlit as st

from exam_workbench.pipelines import Item
from exam_workbench.project import Project
from pages.parts.shared import ui
from pages.parts.shared.html import visible

STYLE = """
.item { max-width: 60rem; } .item .asks { font-size: 1.1rem; font-weight: 600; margin: 0.2rem 0 0.5rem; }
.item ol { list-style: none; margin: 0; padding: 0; } .item li { padding: 0.15rem 0.4rem; border-radius: 4px; }
.item li.key { background: var(--ew-line); font-weight: 600; } .item .letter { color: var(--ew-dim); }
.item .source { margin-top: 0.7rem; padding-left: 0.8rem; border-left: 3px solid var(--ew-line); line-height: 1.5;
  white-space: pre-wrap; }
.item .dim { color: var(--ew-dim); font-size: 0.87rem; }
"""


def show(project: Project, item: Item) -> None:
    """Draw an item."""
    choices = "".join(
        f'<li{" class=key" if at == item.key_position else ""} dir="auto">'
        f'<span class="letter">{ascii_uppercase[at]})</span> {visible(choice)}'
        f"{' <span class=dim>right choice</span>' if at == item.key_position else ''}</li>"
        for at, choice in enumerate(item.choices)
    )
    topic = f'<div class="dim">{visible(item.topic)}</div>' if item.topic else ""
    source = (
        f'<div class="source" dir="auto">{visible(item.source_text)}</div>'
        if item.source_text
        else '<div class="dim">The source passage of this item is unknown.</div>'
    )
    st.html(
        f'<style>{STYLE}</style><div class="item">{topic}<div class="asks" dir="auto">{visible(item.text)}</div>'
        f"<ol>{choices}</ol>{source}</div>"
    )
    with st.container(horizontal=True):
        ui.go("question_bank", "Edit in the question bank", query=item.query_id)
        if item.source_passage_id:
            st.caption(f"Source: passage {ui.plain(item.source_passage_id)}")
