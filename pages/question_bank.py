"""Question bank: queries on the left, the questions of one in the middle, their impact on the right."""

from __future__ import annotations

import streamlit as st

from core import bank, drafts, grading
from core.bank import QueryOverview
from core.errors import WorkbenchError
from core.grades import graders
from core.project import Project
from pages import bank_impact, bank_proposals, bank_review, bank_rows, ui

QUERIES_A_PAGE = 16


def opened(found: list[QueryOverview]) -> int:
    """Place of the query that the URL names, or that was open last; else the first."""
    wanted = st.query_params.get("query") or st.session_state.get("last query")
    at = next((i for i, q in enumerate(found) if q.query_id == wanted), 0)
    st.session_state["last query"] = found[at].query_id
    return at


def neighbours(found: list[QueryOverview], at: int) -> None:
    """On to the next query, or back to the one before."""
    with st.container(horizontal=True):
        if st.button("Previous query", shortcut="Alt+K", disabled=at == 0, type="tertiary"):
            _go_to(found[at - 1].query_id)
        if st.button("Next query", shortcut="Alt+J", disabled=at == len(found) - 1, type="tertiary"):
            _go_to(found[at + 1].query_id)


def _go_to(query_id: str) -> None:
    st.query_params["query"] = query_id
    st.rerun()


def query_list(project: Project, found: list[QueryOverview], chosen: QueryOverview) -> None:
    """The queries with their counts and alerts."""
    edited = {draft.question.query_id for draft in drafts.drafts(project, ui.author()).values()}
    wanted = st.text_input("Find a query", key="find", placeholder="Find a query", label_visibility="collapsed")
    shown = [q for q in found if wanted.lower() in f"{q.query_id} {q.text}".lower()]
    if not shown:
        st.caption("No query has these words.")
        return
    pages = -(-len(shown) // QUERIES_A_PAGE)
    page = st.pagination(pages, key="queries page", max_visible_pages=5) if pages > 1 else 1
    for query in shown[(page - 1) * QUERIES_A_PAGE : page * QUERIES_A_PAGE]:
        alert = " :orange[:material/edit:]" if query.query_id in edited else ""
        if not query.active:
            alert += " :red[:material/warning:]"
        if st.button(
            f"{ui.plain(query.text)}{alert}  \n:small[:gray[{query.active} questions · {query.pooled} passages]]",
            key=f"query button {query.query_id}",
            type="secondary" if query.query_id == chosen.query_id else "tertiary",
            width="stretch",
            help="No active question: nothing can be graded." if not query.active else None,
        ):
            _go_to(query.query_id)


def save_bar(project: Project) -> None:
    """Unsaved changes of this person over all queries: undo, save with a note, discard."""
    mine = drafts.drafts(project, ui.author())
    newest = bank.latest_version(project)
    with st.container(border=True):
        said, buttons = st.columns([3, 2], vertical_alignment="center")
        buttons = buttons.container(horizontal=True, horizontal_alignment="right")
        if mine:
            queries = len({draft.question.query_id for draft in mine.values()})
            said.markdown(
                f"**{len(mine)} unsaved change{'s' * (len(mine) > 1)}** in"
                f" {queries} quer{'ies' if queries > 1 else 'y'}, on top of version {newest}"
            )
        else:
            said.caption(f"Bank version {newest}. No unsaved changes." if newest else "Nothing has been saved yet.")
        undoable, redoable = drafts.steps(project, ui.author())
        if buttons.button("Undo", icon=":material/undo:", shortcut="Alt+Z", disabled=not undoable):
            drafts.undo(project, ui.author())
            st.rerun()
        if buttons.button("Redo", icon=":material/redo:", shortcut="Alt+Y", disabled=not redoable):
            drafts.redo(project, ui.author())
            st.rerun()
        if not mine:
            return
        if open_conflicts := drafts.conflicts(project, ui.author()):
            bank_review.settle(project, open_conflicts)
            return
        note, save, drop = st.columns([10, 3, 2], vertical_alignment="bottom")
        why = note.text_input("Note", placeholder="What changed and why", key="save note", persist_state="page")
        if save.button("Save version", type="primary", width="stretch", shortcut="Ctrl+S"):
            try:
                version = drafts.save_drafts(project, ui.author(), why)
            except WorkbenchError as error:
                if drafts.conflicts(project, ui.author()):
                    st.rerun()
                ui.show_error(error)
                st.toast(ui.plain(str(error)), icon=":material/error:")
                return
            st.session_state["just saved"] = version
            st.session_state.pop("beside", None)
            st.session_state.pop("save note", None)
            st.rerun()
        if drop.button("Discard all", width="stretch"):
            drafts.take_back(project, ui.author())
            st.rerun()


ui.begin("Question bank")
project = ui.project()
queries = bank.overview(project)
if not queries:
    ui.empty("The project has no queries.", "Import queries on the Home screen.", "home")
save_bar(project)
graded = any(grader.grades for grader in graders(project))
if graded and st.session_state.get("just saved") and not drafts.drafts(project, ui.author()):
    bank_review.offer_regrading(project, int(st.session_state["just saved"]))
at = opened(queries)
chosen_query = queries[at]
left, middle, right = st.columns([3, 8, 5], gap="medium")
with left, st.container(key="queries-list"):
    query_list(project, queries, chosen_query)
with right, st.container(key="impact"):
    st.markdown("**Impact**")
    job = grading.current_job(project)
    if job is not None and not job.progress.over:
        bank_impact.watch(project, job)
    elif not graded:
        st.caption("Nothing has been graded yet: grade once, and the impact of every change shows here.")
        ui.go("grading")
    if graded:
        policy, measure, against = bank_impact.controls(project)
        bank_review.passage_beside(project, chosen_query.query_id)
        bank_impact.panel(project, policy, measure, against)
with middle:
    diagnosis = bank_review.diagnosis(project, chosen_query.query_id, policy, against) if graded else None
    bank_rows.editor(project, chosen_query, diagnosis)
    bank_proposals.panel(project, chosen_query)
    neighbours(queries, at)
    if graded and diagnosis is not None:
        bank_review.lists(project, chosen_query, diagnosis)
    bank_review.override_list(project, chosen_query.query_id)
    bank_review.versions(project)
