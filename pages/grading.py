"""Grading: choose a grader, see the plan, run it in the background, watch and cancel it."""

from __future__ import annotations

import streamlit as st

from core import bank, grading
from core.bank import latest_version
from core.collection import pool_depth, set_pool_depth
from core.errors import WorkbenchError
from core.graders import GRADERS, make_grader
from core.graders.base import Grader
from core.grades import graders
from core.grading import Request
from core.jobs import jobs
from core.pairs import make_plan
from core.project import Project
from pages import ui


def choose_grader() -> Grader | None:
    """The grader with its parameters; None while they make no sense."""
    name = st.selectbox("Grader", list(GRADERS), format_func=lambda name: GRADERS[name].title, key="grader kind")
    st.caption(ui.plain(GRADERS[name].about))
    return make_grader(name, {})


def plan(project: Project, grader: Grader) -> Request | None:
    """What a job would do; returns what to start, or None."""
    queries = {query.query_id: query.text for query in bank.overview(project)}
    chosen = st.multiselect(
        "Queries", list(queries), format_func=queries.__getitem__, placeholder="All queries", key="queries"
    )
    request = Request(queries=tuple(chosen) or None)
    found = make_plan(project, grader.spec, latest_version(project), request.queries)
    retry = found.failed and st.checkbox(f"Ask the {found.failed:,} failed pairs again")
    if retry:
        request = Request(queries=request.queries, retry_failed=True)
        found = make_plan(project, grader.spec, latest_version(project), request.queries, retry_failed=True)
    columns = st.columns(4)
    columns[0].metric("Pairs needed", f"{found.needed:,}", help="Active questions × pooled passages, by text")
    columns[1].metric("Known already", f"{found.known:,}")
    columns[2].metric("Failed", f"{found.failed:,}", help="Asked, and nothing usable came back. Not the same as 0.")
    columns[3].metric("To grade", f"{found.to_grade:,}")
    if found.without_text:
        st.caption(f":material/info: {found.without_text:,} pooled passages have no text and cannot be graded.")
    if not found.needed:
        ui.empty("There is nothing to grade.", "It takes questions, and passages from runs or judgments.", "home")
    if not found.to_grade:
        st.success("Every pair that the bank needs is graded.", icon=":material/check:")
        return None
    return request


def pool(project: Project) -> None:
    """How deep the runs are pooled."""
    with st.expander("Pool"):
        st.caption("Graded are the judged passages, those that a graded file lists, and the top of every run.")
        with project.cursor() as cursor:
            depth = pool_depth(cursor)
        wanted = st.number_input("Passages of each run that are pooled per query", 1, 1000, depth)
        if st.button("Pool again", disabled=wanted == depth):
            with project.transaction() as cursor:
                set_pool_depth(cursor, int(wanted), ui.author())
            st.rerun()


def progress(project: Project) -> None:
    """The job that runs, or ran last, in this app."""
    job = grading.current_job(project)
    if job is None:
        return
    _watch(project) if not job.progress.over else _ended(job.progress)


@st.fragment(run_every=1.0)
def _watch(project: Project) -> None:
    job = grading.current_job(project)
    if job is None or job.progress.over:
        st.rerun()
    else:
        now = job.progress
        share = now.done / now.total if now.total else 0.0
        with st.container(border=True):
            st.progress(
                share, text=f"{job.grader_name}: {now.done:,} of {now.total:,} pairs" if now.total else job.grader_name
            )
            facts, button = st.columns([4, 1], vertical_alignment="center")
            facts.caption(
                "Preparing: the model is being loaded"
                if not now.done
                else f"{now.rate:,.0f} pairs a second · {ui.duration(now.seconds_left)} left · {now.failed:,} failed"
            )
            if button.button("Cancel", icon=":material/stop:", width="stretch"):
                job.cancel()


def _ended(final: grading.Progress) -> None:
    said = f"{final.graded:,} pairs graded, {final.failed:,} failed, in {ui.duration(final.seconds)}."
    if final.state == "done":
        st.success(f"Last job done: {said}", icon=":material/check:")
        ui.go("leaderboard")
    elif final.state == "cancelled":
        st.info(f"Last job cancelled: {said} Start it again to grade the rest.", icon=":material/stop_circle:")
    else:
        st.error(f"Last job failed: {ui.plain(final.message)} {said}", icon=":material/error:")


def past_jobs(project: Project) -> None:
    """The record of all jobs."""
    found = jobs(project)
    if not found:
        return
    st.subheader("Jobs")
    st.dataframe(
        {
            "Started": [job.started_at for job in found],
            "Grader": [job.grader for job in found],
            "State": [job.state for job in found],
            "Pairs": [job.total or None for job in found],
            "Graded": [job.graded for job in found],
            "Failed": [job.failed for job in found],
            "By": [job.author for job in found],
            "What happened": [job.message for job in found],
        },
        column_config={"Started": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm")},
        hide_index=True,
    )


def known_graders(project: Project) -> None:
    """Every grader that has grades here."""
    found = graders(project)
    if not found:
        return
    st.subheader("Graders")
    st.dataframe(
        {
            "Grader": [g.spec.name for g in found],
            "Method": [g.spec.method for g in found],
            "Model": [g.spec.model for g in found],
            "Prompt": [g.spec.prompt or None for g in found],
            "Grades": [g.grades for g in found],
            "Failed attempts": [g.failures for g in found],
            "Fingerprint": [g.spec.fingerprint for g in found],
        },
        hide_index=True,
    )


ui.begin("Grading")
project = ui.project()
job = grading.current_job(project)
running = job is not None and not job.progress.over
progress(project)
if not running:
    grader = choose_grader()
    pool(project)
    request = plan(project, grader) if grader is not None else None
    if grader is not None and request is not None and st.button("Grade", type="primary", icon=":material/play_arrow:"):
        try:
            grading.start_job(project, grader, request, ui.author())
        except WorkbenchError as error:
            ui.show_error(error)
        else:
            st.rerun()
past_jobs(project)
known_graders(project)
