"""Question bank: the questions of one query, edited in place, saved as a version with a note."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core import bank, drafts
from core.bank import QueryOverview
from core.errors import WorkbenchError
from core.project import Project
from core.types import KINDS, Question
from pages import ui

QUESTIONS_A_PAGE = 20
QUERIES_A_PAGE = 25
ROW = (13, 2.4, 1.5, 1.2)
"""Widths of the columns of a question: text, weight, active, more."""


def query_list(project: Project) -> str:
    """The queries with their counts on the left; returns the one that is open."""
    found = bank.overview(project)
    if not found:
        ui.empty("The project has no queries.", "Import queries on the Home screen.", "home")
    by_id = {query.query_id: query for query in found}
    mine = {draft.question.query_id for draft in drafts.drafts(project, ui.author()).values()}
    if st.session_state.get("query") not in by_id:
        st.session_state["query"] = found[0].query_id
    wanted = st.text_input("Find a query", key="find", placeholder="Find a query", label_visibility="collapsed")
    shown = [q for q in found if wanted.lower() in f"{q.query_id} {q.text}".lower()]
    if not shown:
        st.caption("No query has these words.")
        return str(st.session_state["query"])
    pages = -(-len(shown) // QUERIES_A_PAGE)
    page = st.pagination(pages, key="queries page", max_visible_pages=5) if pages > 1 else 1
    for query in shown[(page - 1) * QUERIES_A_PAGE : page * QUERIES_A_PAGE]:
        _query_button(query, query.query_id in mine)
    return str(st.session_state["query"])


def _query_button(query: QueryOverview, edited: bool) -> None:
    chosen = query.query_id == st.session_state["query"]
    alert = " :material/edit:" if edited else ""
    if not query.active:
        alert += " :material/warning:"
    if st.button(
        f"{ui.plain(query.text)}{alert}  \n:small[:gray[{query.active} questions · {query.pooled} passages]]",
        key=f"query button {query.query_id}",
        type="secondary" if chosen else "tertiary",
        width="stretch",
        help="No active question: nothing can be graded." if not query.active else None,
    ):
        st.session_state["query"] = query.query_id
        st.rerun()


def editor(project: Project, query: QueryOverview) -> None:
    """The questions of the open query, in place; every change is stored as a draft at once."""
    questions = drafts.drafted_bank(project, ui.author(), query.query_id)
    saved = {q.question_id: q for q in bank.questions(project, query_id=query.query_id)}
    st.subheader(ui.plain(query.text), anchor=False)
    if not questions:
        st.text("This query has no questions yet. Each should ask for one essential piece of information.")
    pages = -(-len(questions) // QUESTIONS_A_PAGE)
    page = st.pagination(pages, key=f"questions page {query.query_id}") if pages > 1 else 1
    header = st.columns(ROW)
    header[1].caption(
        "Weight",
        help="0 keeps a question out of every score; below 0 marks what a response should not say.",
    )
    header[2].caption("Active")
    for question in questions[(page - 1) * QUESTIONS_A_PAGE : page * QUESTIONS_A_PAGE]:
        _question_row(project, question, saved.get(question.question_id))
    if st.button("Add a question", icon=":material/add:", shortcut="Alt+N"):
        drafts.put_draft(project, ui.author(), drafts.new_question(query.query_id))
        st.rerun()


def _question_row(project: Project, question: Question, saved: Question | None) -> None:
    def store(field: str, key: str) -> None:
        value = st.session_state[key]
        if field in ("subtopic_id", "answer_key", "note"):
            value = value.strip() or None
        # Read again: another change may have been stored since this row was drawn.
        mine = drafts.drafted_bank(project, ui.author(), question.query_id)
        now = next((q for q in mine if q.question_id == question.question_id), question)
        drafts.put_draft(project, ui.author(), replace(now, **{field: value}))

    def widget(field: str, value: object) -> dict[str, object]:
        key = f"{field} {question.question_id}"
        # The project has the truth, not the browser: after taking back, under another name, after a save.
        if st.session_state.get(key) != value:
            st.session_state[key] = value
        return {"key": key, "on_change": store, "args": (field, key)}

    changed = saved != question
    state = "changed" if changed else "saved"
    with st.container(key=f"question-{state}-{question.question_id}"):
        text, weight, active, more = st.columns(ROW, vertical_alignment="center")
        text.text_area(
            "Question",
            height="content",
            label_visibility="collapsed",
            placeholder=(
                "Write the question"
                if question.text is not None
                else f"The text of {question.question_id} is not known: import the bank that has it"
            ),
            **widget("text", question.text or ""),
        )
        weight.number_input(
            "Weight", step=0.5, format="%g", label_visibility="collapsed", **widget("weight", question.weight),
        )  # fmt: skip
        active.checkbox("Active", label_visibility="collapsed", **widget("active", question.active))
        with more.popover("", icon=":material/more_vert:", type="tertiary", help="Details and history"):
            st.selectbox("Kind", KINDS, **widget("kind", question.kind))
            st.text_input("Subtopic", **widget("subtopic_id", question.subtopic_id or ""))
            st.text_input("Answer key", **widget("answer_key", question.answer_key or ""))
            st.text_area("Note", height=68, **widget("note", question.note or ""))
            st.caption(f"Id {ui.plain(question.question_id)}")
            if saved is not None and st.button("History", key=f"history {question.question_id}"):
                history(project, question)
        facts = [_change(question, saved)] if changed else []
        facts += [f"subtopic {question.subtopic_id}"] if question.subtopic_id else []
        facts += [question.kind] if question.kind != "question" else []
        if facts:
            left, right = st.columns([13, 4], vertical_alignment="center")
            left.caption(ui.plain(" · ".join(facts)))
            if changed and right.button(
                "Take back", key=f"back {question.question_id}", type="tertiary", icon=":material/undo:"
            ):
                drafts.take_back(project, ui.author(), [question.question_id])
                st.rerun()


def _change(question: Question, saved: Question | None) -> str:
    if saved is None:
        return "new, not saved"
    fields = {"text": "reworded", "weight": "weight", "active": "activity"}
    changed = [name for field, name in fields.items() if getattr(question, field) != getattr(saved, field)]
    return f"{', '.join(changed) or 'details'} changed, not saved"


@st.dialog("History of a question", width="large")
def history(project: Project, question: Question) -> None:
    """Every wording and setting that a question has had."""
    for revision in bank.history(project, question.question_id):
        old = revision.question
        with st.container(border=True):
            st.text(old.text or old.question_id)
            st.caption(
                ui.plain(
                    f"Version {revision.version} by {revision.author}, {revision.saved_at:%d %B %Y %H:%M}:"
                    f" {revision.note} · weight {old.weight:g} · {'active' if old.active else 'not active'}"
                )
            )


def save_bar(project: Project) -> None:
    """Unsaved changes of this person, over all queries, and saving them."""
    mine = drafts.drafts(project, ui.author())
    newest = bank.latest_version(project)
    with st.container(border=True):
        if not mine:
            st.caption(f"Bank version {newest}. No unsaved changes." if newest else "Nothing has been saved yet.")
            return
        queries = len({draft.question.query_id for draft in mine.values()})
        st.markdown(f"**{len(mine)} unsaved changes** in {queries} queries, on top of version {newest}")
        note, save, drop = st.columns([6, 2, 2], vertical_alignment="bottom")
        why = note.text_input("Note", placeholder="What changed and why", key="save note")
        if save.button("Save version", type="primary", width="stretch", shortcut="Ctrl+S"):
            try:
                version = drafts.save_drafts(project, ui.author(), why)
            except WorkbenchError as error:
                ui.show_error(error)
                return
            st.toast(f"Saved bank version {version}." if version else "Nothing differed: no new version.")
            st.session_state.pop("save note", None)
            st.rerun()
        if drop.button("Discard all", width="stretch"):
            drafts.take_back(project, ui.author())
            st.rerun()


def version_list(project: Project) -> None:
    """The saved versions of the whole bank."""
    saved = bank.versions(project)
    with st.expander(f"Versions of the bank ({len(saved)})"):
        st.dataframe(
            {
                "Version": [v.version for v in saved],
                "Note": [v.note for v in saved],
                "Author": [v.author for v in saved],
                "Saved": [v.saved_at for v in saved],
                "Questions changed": [v.changed for v in saved],
            },
            column_config={"Saved": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm")},
            hide_index=True,
        )


ui.begin("Question bank")
project = ui.project()
save_bar(project)
left, right = st.columns([2, 5], gap="medium")
with left, st.container(key="queries-list"):
    open_query = query_list(project)
with right:
    editor(project, next(q for q in bank.overview(project) if q.query_id == open_query))
    version_list(project)
