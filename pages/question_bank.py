"""Question bank: queries on the left, the questions of one in the middle, their impact on the right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core import bank
from core.bank import (
    QueryOverview,
    conflicts,
    latest_version,
    note_written,
    others,
    overview,
    redo,
    save_drafts,
    steps,
    take_back,
    undo,
)
from core.catalogue import graders
from core.errors import WorkbenchError
from core.grading import current_job
from core.project import Project
from pages.parts.bank import impact as bank_impact
from pages.parts.bank import proposals as bank_proposals
from pages.parts.bank import review as bank_review
from pages.parts.bank import rows as bank_rows
from pages.parts.bank import window as bank_window
from pages.parts.shared import policy_widgets, presses, ui

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
        if presses.button("Previous query", shortcut="Alt+K", disabled=at == 0, type="tertiary"):
            _go_to(found[at - 1].query_id)
        if presses.button("Next query", shortcut="Alt+J", disabled=at == len(found) - 1, type="tertiary"):
            _go_to(found[at + 1].query_id)


def _go_to(query_id: str) -> None:
    st.query_params["query"] = query_id
    st.rerun()


def query_list(project: Project, found: list[QueryOverview], chosen: QueryOverview) -> None:
    """The queries with their counts and alerts."""
    edited = {draft.question.query_id for draft in bank.drafts(project, ui.person()).values()}
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
        text = ui.plain(ui.shortened(query.text, ui.LISTED))
        if presses.button(
            f"{text}{alert}  \n:small[:gray[{query.active} questions · {query.pooled} passages]]",
            key=f"query button {query.query_id}",
            type="secondary" if query.query_id == chosen.query_id else "tertiary",
            width="stretch",
            help="No active question: nothing can be graded." if not query.active else None,
        ):
            _go_to(query.query_id)


def save_bar(project: Project, query: QueryOverview, save_key: bool) -> None:
    """Unsaved changes of this person over all queries: undo, save with a note, discard.

    Args:
        save_key: whether the key that saves was pressed.
    """
    mine = bank.drafts(project, ui.person())
    newest = latest_version(project)
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
        _others(project, query)
        undoable, redoable = steps(project, ui.person())
        if presses.button("Undo", buttons, icon=":material/undo:", shortcut="Alt+Z", disabled=not undoable):
            _on_all(project, undo)
        if presses.button("Redo", buttons, icon=":material/redo:", shortcut="Alt+Y", disabled=not redoable):
            _on_all(project, redo)
        if open_conflicts := conflicts(project, ui.person()):
            # What was pressed before anybody saw these was about another state than the one that they leave.
            presses.presses().forget("Save version", "Discard all")
            if save_key:
                st.toast("Choose a wording for each question that somebody else changed; then save.")
            bank_review.settle(project, open_conflicts)
            return
        # The row stands also where there is nothing to save: a page that moves under the hand loses clicks.
        note, save, drop = st.columns([10, 3, 2], vertical_alignment="bottom")
        written = note_written(project, ui.person()) if mine else ""
        why = note.text_input(
            "Note", placeholder=written or "What changed and why", key="save note", persist_state="page",
            disabled=not mine, help="Where you write none, it says what changed.",
        )  # fmt: skip
        pressed = presses.button(
            "Save version", save, type="primary", width="stretch", shortcut="Ctrl+S", disabled=not mine
        )
        if (pressed or save_key) and mine:
            _on_all(project, save_drafts, why, after=_saved)
        elif save_key:
            st.toast("There is nothing to save.")
        if presses.button("Discard all", drop, width="stretch", disabled=not mine, help="Yours alone; can be undone."):
            _on_all(project, take_back, after=lambda _: st.toast("Discarded. Undo brings your changes back."))


def _others(project: Project, query: QueryOverview) -> None:
    """Name those who have unsaved changes of their own; nothing here touches them."""
    here = others(project, ui.person(), query.query_id)
    said = [
        f"{name} has {count} unsaved edit{'s' * (count > 1)}" + (f", {here[name]} of them here" if name in here else "")
        for name, count in others(project, ui.person()).items()
    ]
    if said:
        st.caption(
            f":material/group: {ui.plain('; '.join(said))}.",
            help="They wait under that name, and nobody else saves or discards them. Should they be yours, made under"
            " another name, give that name on the left.",
        )


def _on_all(
    project: Project, what: Callable[..., Any], *arguments: Any, after: Callable[[Any], object] | None = None
) -> None:
    """Do something that concerns all drafts at once, unless that would touch what this window has not shown."""
    if bank_window.unseen(project):
        st.toast("Another window of yours changed something, and it shows here now. If you still want to, press again.")
        return
    try:
        result = bank_window.act(project, what, *arguments)
    except WorkbenchError as error:
        if conflicts(project, ui.person()):
            st.rerun()
        ui.show_error(error)
        st.toast(ui.plain(str(error)), icon=":material/error:")
        return
    if after is not None:
        after(result)
    st.rerun()


def _saved(version: int | None) -> None:
    st.session_state["just saved"] = version
    st.session_state.pop("beside", None)
    st.session_state.pop("save note", None)


ui.begin()
project = ui.project()
queries = overview(project)
if not queries:
    ui.empty("The project has no queries.", "Import queries on the Home screen.", "home")
graded = any(grader.grades for grader in graders(project))
if graded:
    view = policy_widgets.view()
    policy, measure, against = view.policy, view.measure, view.against
at = opened(queries)
chosen_query = queries[at]
save_bar(project, chosen_query, bank_window.save_key())
bank_window.look(project)
if graded and st.session_state.get("just saved") and not bank.drafts(project, ui.person()):
    bank_review.offer_regrading(project, int(st.session_state["just saved"]))
left, middle, right = st.columns([3, 8, 5], gap="medium")
with left, st.container(key="queries-list"):
    query_list(project, queries, chosen_query)
with right, st.container(key="impact"):
    st.markdown("**Impact**")
    job = current_job(project)
    if job is not None and not job.progress.over:
        bank_impact.watch(project, job)
    elif not graded:
        st.caption("Nothing has been graded yet: grade once, and the impact of every change shows here.")
        ui.go("grading")
    if graded:
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
