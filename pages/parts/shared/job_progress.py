"""The grading job that runs, or ran last: how far it is, what it used, and its reins."""

from __future__ import annotations

import streamlit as st

from exam_workbench.bank import latest_version
from exam_workbench.errors import WorkbenchError
from exam_workbench.graders import loading
from exam_workbench.grading import BackgroundJob, Progress, current_job
from exam_workbench.project import Project
from pages.parts.shared import background, policy_widgets, presses, ui
from pages.parts.shared.job_plan import MOST_IN_FLIGHT, count, is_endpoint

LOG_LINES = 30
PACES = ((15.0, 1.0), (60.0, 2.0))
"""Up to how many seconds of a job it is looked at how often, in seconds."""
SLOWEST = 3.0
WATCHING = ("question_bank", "grading")
"""The screens that show the job themselves."""


def progress(project: Project) -> bool:
    """Draw the job; whether it is running."""
    job = current_job(project)
    if job is None:
        return False
    if not job.progress.over:
        every = pace(job)
        st.fragment(_watch, run_every=every)(project, every, job.control.paused)
        return True
    _ended(project, job)
    return False


def say_not_begun(project: Project, key: str) -> None:
    """Say that a press began no job as another was under way; until one is begun, for that other is soon gone.

    Args:
        key: of the button, which is not there while a job is under way.
    """
    job = current_job(project)
    if job is None:
        return
    mine = job.author == ui.person() and job.request.trial is None
    # Whoever began the job itself pressed twice.
    if not job.progress.over and presses.pressed(key) and not mine:
        st.session_state["not begun"] = project.path, job.started_at
    if st.session_state.get("not begun") == (project.path, job.started_at):
        is_over = job.progress.over
        st.container(key="not begun").warning(
            f"Your job did not start, because {whose(job)} {'was' if is_over else 'is'} running."
            f" Press {key.capitalize()} again{'' if is_over else ' when it has finished'}.",
            icon=":material/info:",
        )


def whose(job: BackgroundJob) -> str:
    """What a job is to whoever looks at it, as Markdown, such as "a trial of bob"."""
    what = "trial" if job.request.trial is not None else "job"
    return f"your {what}" if job.author == ui.person() else f"a {what} started by {ui.plain(job.author)}"


def accompany(screen: str) -> None:
    """On the other screens: how far the job is; at its end what is shown is drawn again from its grades.

    Args:
        screen: the one that is drawn.
    """
    try:
        project = ui.chosen_project()
    except WorkbenchError:
        # The screen itself says what is wrong.
        return
    job = None if project is None or screen in WATCHING else current_job(project)
    if project is not None and job is not None and not job.progress.over and job.request.trial is None:
        st.fragment(_accompany, run_every=SLOWEST)(project)


def _accompany(project: Project) -> None:
    job = current_job(project)
    if job is None or job.progress.over:
        st.rerun()
        return
    now = job.progress
    how_far = f": {now.done:,} of {now.total:,} pairs" if now.total else " starts"
    st.progress(now.done / now.total if now.total else 0.0, text=f"Grading{how_far}{_standing_still(job)}")


def _standing_still(job: BackgroundJob) -> str:
    """Why a job does not go on now, to follow how far it is; empty where it does."""
    if job.control.paused:
        return ", paused"
    if (waits := job.control.awaited) is not None:
        return f", waiting for the endpoint, next try at {waits.next_try:%H:%M}"
    return "" if job.quiet is None else f", no answer for {ui.duration(job.quiet)}"


def pace(job: BackgroundJob) -> float:
    """Seconds between two looks at a job: a long one is looked at less often, since looking slows it."""
    return next((every for until, every in PACES if job.seconds < until), SLOWEST)


def _watch(project: Project, every: float, paused: bool) -> None:
    job = current_job(project)
    # The pace is that of the whole screen, so another one begins with it. The list of jobs below names a paused one.
    if job is None or job.progress.over or (pace(job), job.control.paused) != (every, paused):
        st.rerun()
        return
    now = job.progress
    with st.container(border=True):
        share = now.done / now.total if now.total else 0.0
        pairs = f": {now.done:,} of {now.total:,} pairs" if now.total else ""
        others = "" if job.author == ui.person() else f", {whose(job)}"
        st.progress(share, text=f"{ui.plain(job.grader_name)}{pairs}{others}")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            with st.container():
                st.container(key="job-state").markdown(state(job))
                st.markdown(_counts(now))
                if used := _used(job):
                    st.caption(used)
            _reins(job)
        _log(job)


def _reins(job: BackgroundJob) -> None:
    """What is held in hand while it runs: how much at once, a pause, its end."""
    if is_endpoint(job.spec) and not job.request.batch:
        flying = st.number_input(
            "Parallel calls", 1, MOST_IN_FLIGHT, job.control.concurrency, key="calls in flight now", width=120
        )
        if flying != job.control.concurrency:
            job.control.concurrency = int(flying)
    if job.control.paused:
        st.button("Resume", icon=":material/play_arrow:", on_click=job.control.resume, key="resume job")
    else:
        st.button(
            "Pause", icon=":material/pause:", on_click=job.control.pause, disabled=job.control.cancelled,
            help="Running calls finish and count. No new calls start.", key="pause job"
        )  # fmt: skip
    st.button(
        "Cancel", icon=":material/stop:", on_click=job.cancel, disabled=job.control.cancelled,
        help="Keeps the finished grades. You can grade the remaining pairs later.", key="cancel job"
    )  # fmt: skip


def state(job: BackgroundJob) -> str:
    """What a running job does at this moment, and since when, as Markdown."""
    now, since = job.progress, f"since {job.started_at:%H:%M}, for {ui.duration(job.seconds)}"
    if job.request.batch:
        return _state_of_batches(job, since)
    if not job.control.cancelled and (found := loading()):
        return f"{ui.plain(found[0])}, for {ui.duration(found[1])}."
    if still := background.standing_still(job.control):
        return f"{still} Started at {job.started_at:%H:%M}, {ui.duration(job.seconds)} ago."
    if not now.done and job.log:
        return f"**No answer yet**, running {since}. Last log entry: {ui.plain(job.log[-1])}"
    if not now.done:
        return f"Preparing {since}. No answers yet."
    if (quiet := job.quiet) is not None:
        again = ""
        if is_endpoint(job.spec):
            again = " Failed calls are repeated. If the endpoint is unavailable, the job waits for it."
        return f"**No answer for {ui.duration(quiet)}.**{again} Running {since}."
    return f"{_rate(now.rate)} · {ui.duration(now.seconds_left)} left · running {since}"


def _state_of_batches(job: BackgroundJob, since: str) -> str:
    """How far batches are, which nobody need wait for."""
    said = ui.plain(job.progress.message) or "Preparing the batches. Keep the app open until they are sent"
    if job.control.cancelled:
        return f"Cancelling. Answers that are already billed are kept. {said}."
    if job.control.paused:
        return f"**Paused**. The app does not check the batches, but the endpoint still works on them. {said}."
    return f"{said}. Running {since}. The endpoint works on sent batches even if you close the app."


def _rate(rate: float) -> str:
    return f"{rate:,.0f} pairs per second" if rate >= 2 else f"{rate * 60:,.0f} pairs per minute"


def _counts(now: Progress) -> str:
    failed = f":red[**{now.failed:,} failed**]" if now.failed else "0 failed"
    defaulted = f":orange[**{now.defaulted:,} by default**]" if now.defaulted else "0 by default"
    return f"{now.graded:,} graded ({defaulted}) · {failed}"


def _used(job: BackgroundJob) -> str:
    """Calls, tokens and money against the caps; empty for a grader that asks no model."""
    used, asked = job.progress.usage if job.request.batch else job.control.usage, job.request
    if not used.calls:
        return ""
    calls = f"{used.calls:,}" + (f" of {asked.max_calls:,}" if asked.max_calls else "") + " calls"
    cached = f" ({count(used.cached_tokens)} cached)" if used.cached_tokens else ""
    thinking = f" ({count(used.thinking_tokens)} thinking)" if used.thinking_tokens else ""
    tokens = f"{count(used.input_tokens)} input tokens{cached}, {count(used.output_tokens)} output tokens{thinking}"
    spent = f"{used.cost:,.4f}" if used.cost < 1 else f"{used.cost:,.2f}"
    money = f" · {spent} of {asked.max_cost:,.2f} spent" if asked.max_cost is not None else f" · {spent} spent"
    return f"{calls} · {tokens}" + (money if used.cost or asked.max_cost is not None else "")


def _log(job: BackgroundJob) -> None:
    if lines := list(job.log):
        # Where nothing failed, a job may still have noted how it asks, as that an endpoint takes no JSON schema.
        with st.expander("Last failed calls" if job.progress.failed else "Job log"):
            st.code("\n".join(lines[-LOG_LINES:]), language=None, wrap_lines=True)


def _ended(project: Project, job: BackgroundJob) -> None:
    final = job.progress
    defaulted = f" ({final.defaulted:,} by default)" if final.defaulted else ""
    said = (
        f"{final.graded:,} pairs graded{defaulted}, {final.failed:,} failed, in {ui.duration(final.seconds)}."
    )  # fmt: skip
    # What is still to grade stands below: a trial of a while ago is not taken for it.
    said = f"{said} Started at {job.started_at:%H:%M} with {ui.plain(job.grader_name)}."
    ended = st.container(key=f"job {final.state}")
    if final.state == "done":
        of = "" if job.author == ui.person() else f" by {ui.plain(job.author)}"
        ended.success(f"Last {'trial' if job.request.trial else 'job'}{of} done: {said}", icon=":material/check:")
    elif final.state == "cancelled":
        ended.info(
            f"Last job cancelled: {said} Start this grader again to grade the remaining pairs.",
            icon=":material/stop_circle:",
        )
    elif final.state == "stopped":
        ended.warning(
            f"Last job stopped at its limit: {said} Start this grader again to grade the remaining pairs.",
            icon=":material/savings:",
        )
    else:
        ended.error(f"Last job failed: {ui.plain(final.message)} {said}", icon=":material/error:")
    if final.remarks and final.state != "failed":
        st.container(key="job-remarks").info(ui.plain(final.remarks), icon=":material/info:")
    if used := _used(job):
        st.container(key="job-used").caption(used)
    _log(job)
    if final.state == "done":
        with st.container(horizontal=True):
            _see(project, job)


def _see(project: Project, job: BackgroundJob) -> None:
    """Links to what came of a job that is done."""
    if job.request.trial is not None:
        # That of another's trial is theirs to see.
        if job.author == ui.person():
            ui.go("question_bank", "See the impact")
        return
    looks_by = policy_widgets.grader(project)
    if looks_by is None or looks_by.name == job.grader_name:
        ui.go("changes", "See the changes")
    else:
        # It changed nothing of what is shown: its own labels stand beside those.
        version = str(latest_version(project))
        states = {"from-grader": looks_by.name, "to-grader": job.grader_name} | {
            f"{side}-version": version for side in ("from", "to")
        }
        ui.go("changes", f"Compare its labels with those of {ui.plain(looks_by.name)}", **states)
    ui.go("leaderboard")
