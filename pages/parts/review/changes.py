"""What differs between two states, drawn: the labels, the questions, the leaderboards."""

from __future__ import annotations

import streamlit as st

from core import bank
from core.bank import word_difference
from core.project import Project, passage_texts, pooled_queries
from core.review import LabelFlip, QuestionChange, StateChanges, SystemChange, why_label
from pages.parts.shared import policy_widgets, presses, ui
from pages.parts.shared.html import visible

FLIPS_A_PAGE = 12
QUESTIONS_A_PAGE = 10
CAUSE_NAMES = {
    "reworded": "Question reworded",
    "added": "Question added",
    "retired": "Question retired",
    "restored": "Question restored",
    "reweighted": "Question reweighted",
    "answer key": "Answer key changed",
    "kind": "Kind of question changed",
    "override": "Override",
    "grader": "Other grader",
    "label rule": "Other label rule",
    "weights": "Use of weights",
}


def labels(project: Project, found: StateChanges) -> None:
    """The labels that differ, by cause and by query; each leads to its passage."""
    if not found.flips:
        st.text("No label differs. The leaderboards may still: look there.")
        return
    texts = pooled_queries(project)
    by_cause, by_query = found.by_cause, found.by_query
    left, right = st.columns([4, 9], gap="medium")
    with left:
        _keep("cause", by_cause)
        cause = st.selectbox(
            "Cause", list(by_cause), index=None, key="cause", bind="query-params", placeholder="Any cause",
            format_func=lambda name: CAUSE_NAMES.get(name, name),
        )  # fmt: skip
        told = ui.told_apart({key: texts.get(key, key) for key in by_query})
        _keep("flips_of", by_query)
        query = st.selectbox(
            "Query", list(by_query), index=None, key="flips_of", bind="query-params", placeholder="All queries",
            format_func=lambda key: told.get(key, key),
        )  # fmt: skip
        _counts("By cause", "Cause", {CAUSE_NAMES[name]: count for name, count in by_cause.items()})
        _counts("By query", "Query", {texts.get(key, key): count for key, count in by_query.items()})
    chosen = [
        flip
        for flip in found.flips
        if (cause is None or cause in flip.causes) and (query is None or flip.query_id == query)
    ]
    with right:
        _flip_list(project, found, chosen, texts, f"flips {hash((found.before, found.after, cause, query))}")


def _keep(key: str, options: dict[str, int]) -> None:
    """Forget a filter that fits none of the flips of these states."""
    if st.session_state.get(key) not in (None, *options):
        st.session_state[key] = None


def _counts(title: str, what: str, counts: dict[str, int]) -> None:
    st.caption(f"**{title}**")
    st.dataframe(
        {what: list(counts), "Labels": list(counts.values())},
        hide_index=True,
        height="content" if len(counts) <= 8 else 320,
        column_config={
            what: st.column_config.TextColumn(width=190),
            "Labels": st.column_config.NumberColumn(width=60),
        },
    )


def _flip_list(
    project: Project, found: StateChanges, flips: list[LabelFlip], texts: dict[str, str], pager: str
) -> None:
    st.caption(f"{len(flips):,} label{'' if len(flips) == 1 else 's'}")
    if not flips:
        st.text("No label fits both. Take a filter away.")
        return
    page = int(st.session_state.get(pager, 1))
    part = flips[(page - 1) * FLIPS_A_PAGE : page * FLIPS_A_PAGE]
    passages = passage_texts(project, [flip.passage_id for flip in part])
    asked = _wordings(project, found, part)
    for flip in part:
        text = " ".join(passages.get(flip.passage_id, flip.passage_id).split())
        with st.container(key=f"question-flip-{flip.query_id}-{flip.passage_id}"):
            label, body, why = st.columns([2, 12, 2], vertical_alignment="center")
            label.markdown(f":violet[**{_said(flip.before)} → {_said(flip.after)}**]")
            with body:
                _passage_link(found, flip, ui.plain(ui.shortened(text, 78)))
                st.caption(
                    ui.plain(f"{ui.shortened(texts.get(flip.query_id, flip.query_id), 70)} · {_cause(flip, asked)}")
                )
            if presses.button("Why", why, key=f"why {flip.query_id} {flip.passage_id}", type="tertiary"):
                _why(project, found, flip, passages.get(flip.passage_id, ""), asked)
    if len(flips) > FLIPS_A_PAGE:
        st.pagination(-(-len(flips) // FLIPS_A_PAGE), key=pager)


def _passage_link(found: StateChanges, flip: LabelFlip, label: str) -> None:
    """A link to the passage under the policy of the state after."""
    after = found.after
    st.page_link(
        "pages/passages.py",
        label=label,
        query_params={
            **({"project": str(st.session_state["project"])} if st.session_state.get("project") else {}),
            "query": flip.query_id,
            "passage": flip.passage_id,
            "grader": str(after.grader),
            "tau": str(after.min_rating),
            # A bound choice is in the URL under the words that it is shown with.
            "label": policy_widgets.LABEL_RULES.get(after.label, after.label),
        },
    )


def _wordings(project: Project, found: StateChanges, flips: list[LabelFlip]) -> dict[str, str]:
    """The words of the questions behind some flips."""
    return {
        question.question_id: question.shown
        for policy in (found.before, found.after)
        for query_id in dict.fromkeys(flip.query_id for flip in flips if flip.questions)
        for question in bank.questions(project, policy.bank_version, query_id)
    }


def _cause(flip: LabelFlip, asked: dict[str, str]) -> str:
    named = ", ".join(CAUSE_NAMES[cause].lower() for cause in flip.causes)
    questions = [ui.shortened(asked.get(key, key), 70) for key in flip.questions[:2]]
    more = f" and {len(flip.questions) - 2} more" if len(flip.questions) > 2 else ""
    waiting = f" · {flip.open_pairs} of its pairs ungraded or failed" if flip.open_pairs else ""
    return named + (f": {'; '.join(questions)}{more}" if questions else "") + waiting


def _said(label: int | None) -> str:
    return "none" if label is None else str(label)


@st.dialog("Why the label differs", width="large")
def _why(project: Project, found: StateChanges, flip: LabelFlip, text: str, asked: dict[str, str]) -> None:
    st.markdown(f":violet[**{_said(flip.before)} → {_said(flip.after)}**] {ui.plain(_cause(flip, asked))}")
    st.text(text or flip.passage_id)
    rows = why_label(project, found.before, found.after, flip.query_id, flip.passage_id)
    rows.sort(key=lambda row: (row.question_id not in flip.questions, -max(row.before or 0, row.after or 0)))
    st.dataframe(
        {
            "Question": [row.text for row in rows],
            "Before": [_rating(row.before) for row in rows],
            "After": [_rating(row.after) for row in rows],
            "": [
                ", ".join(
                    said
                    for said, so in (("did it", row.question_id in flip.questions), ("not graded", not row.graded))
                    if so
                )
                for row in rows
            ],
        },
        hide_index=True,
        column_config={"Question": st.column_config.TextColumn(width="large")},
    )
    _passage_link(found, flip, "Open the passage")


def _rating(value: int | None) -> str:
    return "–" if value is None else str(value)


def _moved(system: SystemChange) -> str:
    if system.rank_before is None or system.rank_after is None or system.rank_before == system.rank_after:
        return ""
    gained = system.rank_before - system.rank_after
    return f"{'▲' if gained > 0 else '▼'} {abs(gained)}"


def questions(project: Project, found: StateChanges) -> None:
    """The questions that differ, before and after, with the number of labels that each moves."""
    if not found.questions:
        st.text("No question differs in what can change a score.")
        return
    ordered = sorted(found.questions, key=lambda pair: -pair[1])
    texts = pooled_queries(project)
    pager = f"questions {hash((found.before, found.after))}"
    page = int(st.session_state.get(pager, 1))
    st.caption(f"{len(ordered):,} question{'' if len(ordered) == 1 else 's'}, those that move most labels first")
    for change, flips in ordered[(page - 1) * QUESTIONS_A_PAGE : page * QUESTIONS_A_PAGE]:
        with st.container(key=f"question-differs-{change.question_id}"):
            body, link = st.columns([11, 2], vertical_alignment="center")
            with body:
                st.html(f'<div class="asked" dir="auto"><div class="words">{_difference(change)}</div></div>')
                moves = "moves no label" if not flips else f"moves {flips:,} label{'' if flips == 1 else 's'}"
                query = ui.shortened(texts.get(change.query_id, change.query_id), 70)
                st.caption(ui.plain(f"{', '.join(change.kinds)} · {moves} · {query}"))
            with link:
                ui.go("question_bank", "In the bank", query=change.query_id)
    if len(ordered) > QUESTIONS_A_PAGE:
        st.pagination(-(-len(ordered) // QUESTIONS_A_PAGE), key=pager)


def _difference(change: QuestionChange) -> str:
    """The question before and after in one piece of HTML, with what else of it changed."""
    old, new = change.before, change.after
    if old is None or new is None or "retired" in change.kinds:
        shown = new or old
        return visible(shown.shown) if shown else ""
    lines = [_marked(old.shown, new.shown)]
    if old.weight != new.weight:
        lines.append(f"Weight {old.weight:g} → {new.weight:g}")
    if old.kind != new.kind:
        lines.append(f"{old.kind.capitalize()} → {new.kind}")
    if "answer key" in change.kinds:
        keys = [" | ".join((q.answer_key or "", *q.choices)) or "none" for q in (old, new)]
        lines.append(f"Answer key: {_marked(*keys)}")
    return "<br>".join(lines)


def _marked(before: str, after: str) -> str:
    tags = {"same": "{}", "removed": "<del>{}</del>", "added": "<ins>{}</ins>"}
    parts = [tags[tag].format(visible(part)) for tag, part in word_difference(before, after)]
    # A space between what went and what came keeps the two words apart.
    return "".join(parts).replace("</del><ins>", "</del> <ins>")


def boards(_: Project, found: StateChanges) -> None:
    """Both leaderboards in one table, with the rank and score shift of every system."""
    if found.board_before is None and found.board_after is None:
        st.text("Neither state has a leaderboard.")
        return
    board = found.board_after or found.board_before
    measure = board.measure if board else ""
    shifts = [
        None if s.score_before is None or s.score_after is None else s.score_after - s.score_before
        for s in found.systems
    ]
    st.caption(ui.plain(f"Systems by {measure}, in the order of the state after"))
    st.dataframe(
        {
            "Run": [s.run for s in found.systems],
            "Rank before": [s.rank_before for s in found.systems],
            "Rank after": [s.rank_after for s in found.systems],
            "Moved": [_moved(s) for s in found.systems],
            "Score before": [s.score_before for s in found.systems],
            "Score after": [s.score_after for s in found.systems],
            "Shift": shifts,
        },
        hide_index=True,
        height="content" if len(found.systems) <= 30 else 600,
        column_config={
            "Score before": st.column_config.NumberColumn(format="%.4f"),
            "Score after": st.column_config.NumberColumn(format="%.4f"),
            "Shift": st.column_config.NumberColumn(format="%+.4f"),
        },
    )
