"""The differences between two states: questions and leaderboards."""

import streamlit as st

from exam_workbench import bank, review, text
from exam_workbench.project import Project, pooled_queries
from pages.parts.shared import html, ui

QUESTIONS_A_PAGE = 10
KIND_NAMES = {"reweighted": "weight changed", "kind": "kind changed", "answer key": "answer key changed",
              "subtopic": "subtopic changed"}  # fmt: skip
"""Longer names of changes whose key is too short."""


def _moved(system: review.SystemChange) -> str:
    if system.rank_before is None or system.rank_after is None or system.rank_before == system.rank_after:
        return ""
    gained = system.rank_before - system.rank_after
    return f"{'▲' if gained > 0 else '▼'} {abs(gained)}"


def questions(project: Project, found: review.StateChanges) -> None:
    """Draw the changed questions, before and after, with the number of labels that each changes."""
    if not found.questions:
        st.text("No differences between the questions that can change a score.")
        return
    ordered = sorted(found.questions, key=lambda pair: -pair[1])
    texts = pooled_queries(project)
    pager = f"questions {hash((found.before, found.after))}"
    page = int(st.session_state.get(pager, 1))
    st.caption(f"{text.how_many(len(ordered), 'questions')}, sorted by number of changed labels")
    for change, flips in ordered[(page - 1) * QUESTIONS_A_PAGE : page * QUESTIONS_A_PAGE]:
        with st.container(key=f"question-differs-{change.question_id}"):
            body, link = st.columns([10, 3], vertical_alignment="center")
            with body:
                st.container(key=f"wordings {change.question_id}").html(
                    f'<div class="asked" dir="auto"><div class="words">{_difference(change)}</div></div>'
                )
                moves = f"changes {text.how_many(flips, 'labels')}"
                query = ui.shortened(texts.get(change.query_id, change.query_id), 70)
                st.container(key=f"moves {change.question_id}").caption(
                    ui.plain(f"{', '.join(KIND_NAMES.get(kind, kind) for kind in change.kinds)} · {moves} · {query}")
                )
            with link:
                ui.go("question_bank", "Edit question", query=change.query_id)
    if len(ordered) > QUESTIONS_A_PAGE:
        st.pagination(-(-len(ordered) // QUESTIONS_A_PAGE), key=pager)


def _difference(change: review.QuestionChange) -> str:
    """Return HTML of a question before and after, with its other changes."""
    old, new = change.before, change.after
    if old is None or new is None or "retired" in change.kinds:
        shown = new or old
        return html.visible(shown.shown) if shown else ""
    lines = [marked(old.shown, new.shown)]
    if old.weight != new.weight:
        lines.append(f"Weight {old.weight:g} → {new.weight:g}")
    if old.kind != new.kind:
        lines.append(f"{old.kind.capitalize()} → {new.kind}")
    if "answer key" in change.kinds:
        keys = [" | ".join((q.answer_key or "", *q.choices)) or "none" for q in (old, new)]
        lines.append(f"Answer key: {marked(*keys)}")
    return "<br>".join(lines)


def marked(before: str, after: str) -> str:
    """Return HTML of a text before and after: removed words are struck out, added words underlined."""
    tags = {"same": "{}", "removed": "<del>{}</del>", "added": "<ins>{}</ins>"}
    parts = [tags[tag].format(html.visible(part)) for tag, part in bank.word_difference(before, after)]
    # A space separates a removed word from the added one.
    return "".join(parts).replace("</del><ins>", "</del> <ins>")


def boards(_: Project, found: review.StateChanges) -> None:
    """Draw both leaderboards in one table, with each system's rank and change of score."""
    if found.board_before is None and found.board_after is None:
        st.text("Neither state has a leaderboard.")
        return
    board = found.board_after or found.board_before
    measure = board.measure if board else ""
    shifts = [
        None if s.score_before is None or s.score_after is None else s.score_after - s.score_before
        for s in found.systems
    ]
    st.caption(ui.plain(f"Systems by {measure}, sorted by their rank after the change"))
    st.dataframe(
        {
            "Run": [s.run for s in found.systems],
            "Rank before": [s.rank_before for s in found.systems],
            "Rank after": [s.rank_after for s in found.systems],
            "Rank change": [_moved(s) for s in found.systems],
            "Score before": [s.score_before for s in found.systems],
            "Score after": [s.score_after for s in found.systems],
            "Score change": shifts,
        },
        hide_index=True,
        height="content" if len(found.systems) <= 30 else 600,
        column_config={
            "Score before": st.column_config.NumberColumn(format="%.4f"),
            "Score after": st.column_config.NumberColumn(format="%.4f"),
            "Score change": st.column_config.NumberColumn(format="%+.4f"),
        },
    )
