"""The running or latest jobs: progress, usage, and buttons that pause and cancel."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from exam_workbench import bank, graders, grading, jobs
from exam_workbench.store import Project
from pages.parts.shared import job_plan, presses, scoring_settings, ui

LOG_LINES = 30
PACES = ((15.0, 1.0), (60.0, 2.0))
"""Pairs of a job's age and the interval between updates up to that age, in seconds."""
SLOWEST = 3.0
STOPPED = {"cancelled": "Cancelled", "stopped": "Stopped at its limit", "done": "Done"}
"""Words for the end of a step that did not fail."""
WATCHING = {
    "grading": ("question_bank", "grading"),
    "exams": ("students",),
    "answers": ("answers",),
    "items": ("items",),
}
"""Screens that show a running job themselves, by the family of the job."""
CLOSING = "You can close this tab. The job continues while the app runs."


def draw_grading_job(project: Project, controls: bool = True) -> bool:
    """Draw the running grading job or the last one's result; return whether one is running."""
    return watch_job(project, "grading", partial(_draw_end, project), controls)


def watch_job(
    project: Project,
    family: str,
    ended: Callable[[jobs.BackgroundJob], None],
    controls: bool = True,
) -> bool:
    """Draw the running job of a family with regular updates, or the result of the last; return
    whether one is running.

    Args:
        controls: whether the job can be paused and cancelled here.
    """
    job = jobs.current_job(project, family)
    if job is None:
        return False
    if job.over:
        ended(job)
        return False
    every = update_interval(job)
    st.fragment(_draw_running, run_every=every)(
        project, family, every, job.control.paused, controls
    )
    return True


def watch_steps(project: Project, family: str, again: str) -> None:
    """Draw as `watch_job` does, for a job that asks examinees, generators or models one after the
    other.

    Args:
        again: the label of the button that starts such a job.
    """
    watch_job(project, family, partial(_steps_ended, again=again))


def _steps_ended(job: jobs.BackgroundJob, again: str) -> None:
    for name, end in job.ended.items():
        if end.state == "done" and not end.failed:
            continue
        result = (
            f"{ui.escape(name)}: {end.graded:,} {job.things}, {end.failed:,} failed, in"
            f" {ui.as_duration(end.seconds)}."
        )
        result += f" {ui.escape(end.message)}" if end.message else ""
        box, state = st.container(key=f"ended {end.state} {name}"), STOPPED.get(end.state, "Failed")
        if end.state == "failed":
            rest = f"Start again under “{again}” to get the missing answers."
            box.error(f"{state}: {result} {rest}", icon=":material/error:")
        else:
            # If a person or a limit stopped it, the message says how to continue.
            box.warning(f"{state}: {result}", icon=":material/info:")
    if not job.ended and job.progress.message:
        st.error(ui.escape(job.progress.message), icon=":material/error:")


def show_not_begun(project: Project, key: str) -> None:
    """Draw a note that a press started no job because another one was running, until a job starts.

    Args:
        key: key of the button, which is absent while a job is running.
    """
    job = jobs.current_job(project)
    if job is None:
        return
    mine = job.author == ui.person() and not is_trial(job)
    # If the running job is the person's own, they pressed twice and need no message.
    if not job.over and presses.was_pressed(key) and not mine:
        st.session_state["not begun"] = project.path, job.started_at
    if st.session_state.get("not begun") == (project.path, job.started_at):
        is_over = job.over
        st.container(key="not begun").warning(
            f"Your job did not start, because {describe_job(job)}"
            f" {'was' if is_over else 'is'} running. Press {key.capitalize()}"
            f" again{'' if is_over else ' when it has finished'}.",
            icon=":material/info:",
        )


def describe_job(job: jobs.BackgroundJob) -> str:
    """Return a description of a job for the present person as Markdown, such as "a trial started by
    bob".
    """
    noun = "trial" if is_trial(job) else "job"
    return (
        f"your {noun}"
        if job.author == ui.person()
        else f"a {noun} started by {ui.escape(job.author)}"
    )


def show_running_jobs(screen: str) -> None:
    """Show the progress of running jobs in the browser's title and on other screens; redraw the
    screen at their end.

    Args:
        screen: the open screen.
    """
    project = ui.project_or_none()
    if project is not None and (found := _running_by_family(project)):
        st.fragment(_show_progress, run_every=SLOWEST)(project, screen, set(found))


def _running_by_family(project: Project) -> dict[str, jobs.BackgroundJob]:
    """Return the running jobs by family, without trials."""
    return {family: job for family, job in jobs.running_jobs(project).items() if not is_trial(job)}


def _show_progress(project: Project, screen: str, families: set[str]) -> None:
    running = _running_by_family(project)
    if running.keys() != families:
        st.rerun()
        return
    ui.name_tab(f"{min(_done_share(job) for job in running.values()):.0%}")
    for family, job in running.items():
        if screen in WATCHING[family]:
            continue
        now = job.progress
        how_far = f": {now.done:,} of {now.total:,} {job.things}" if now.total else " starts"
        st.progress(
            _done_share(job), f"{ui.escape(job.name)}{how_far}{_state_in_short(job)}. {CLOSING}"
        )


def _done_share(job: jobs.BackgroundJob) -> float:
    return job.progress.done / job.progress.total if job.progress.total else 0.0


def _state_in_short(job: jobs.BackgroundJob) -> str:
    """Return why a job does not continue now, to append to its progress; empty if it continues."""
    if job.control.paused:
        return ", paused"
    if (waits := job.control.awaited) is not None:
        return f", waiting for the endpoint, next try at {waits.next_try:%H:%M}"
    return (
        "" if job.quiet_seconds is None else f", no answer for {ui.as_duration(job.quiet_seconds)}"
    )


def update_interval(job: jobs.BackgroundJob) -> float:
    """Return seconds between two updates of a job, longer for a long one, since each update slows
    it.
    """
    return next((every for until, every in PACES if job.seconds < until), SLOWEST)


def _draw_running(
    project: Project, family: str, every: float, paused: bool, controls: bool
) -> None:
    job = jobs.current_job(project, family)
    # A new interval needs a rerun of the whole screen. The list of jobs below shows a pause.
    if job is None or job.over or (update_interval(job), job.control.paused) != (every, paused):
        st.rerun()
        return
    now = job.progress
    with st.container(border=True):
        results = f": {now.done:,} of {now.total:,} {job.things}" if now.total else ""
        others = "" if job.author == ui.person() else f", {describe_job(job)}"
        st.progress(_done_share(job), text=f"{ui.escape(job.name)}{results}{others}")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            with st.container():
                st.container(key="job-state").markdown(describe_state(job))
                st.markdown(_describe_counts(job))
                if used := _describe_usage(job):
                    st.caption(used)
                st.caption(CLOSING)
            if controls:
                _draw_controls(job)
        _draw_log(job)


def _draw_controls(job: jobs.BackgroundJob) -> None:
    """Draw widgets that change the number of parallel calls, pause and cancel."""
    if asks_endpoint(job) and not in_batches(job):
        job.control.concurrency = st.number_input(
            "Parallel calls",
            1,
            job_plan.MOST_IN_FLIGHT,
            job.control.concurrency,
            key="calls in flight now",
            width=120,
        )
    if job.control.paused:
        st.button(
            "Resume", icon=":material/play_arrow:", on_click=job.control.resume, key="resume job"
        )
    else:
        st.button(
            "Pause",
            icon=":material/pause:",
            on_click=job.control.pause,
            disabled=job.control.cancelled,
            help="Running calls finish and count. No new calls start.",
            key="pause job",
        )
    st.button(
        "Cancel",
        icon=":material/stop:",
        on_click=job.control.cancel,
        disabled=job.control.cancelled,
        help="Keeps the finished results. You can get the missing ones later.",
        key="cancel job",
    )


def asks_endpoint(job: jobs.BackgroundJob) -> bool:
    """Return whether a grading job asks an endpoint."""
    return job.subject is not None and job_plan.is_endpoint(job.subject)


def in_batches(job: jobs.BackgroundJob) -> bool:
    """Return whether a grading job sends its calls in batches."""
    return isinstance(job.request, grading.Request) and job.request.batch


def is_trial(job: jobs.BackgroundJob) -> bool:
    """Return whether a grading job tries edits that are not saved."""
    return isinstance(job.request, grading.Request) and job.request.trial is not None


def describe_state(job: jobs.BackgroundJob) -> str:
    """Return what a running job is doing, and since when, as Markdown."""
    now, since = job.progress, f"since {job.started_at:%H:%M}, for {ui.as_duration(job.seconds)}"
    if in_batches(job):
        return _state_of_batches(job, since)
    if not job.control.cancelled and (found := graders.current_loading()):
        return f"{ui.escape(found[0])}, for {ui.as_duration(found[1])}."
    if still := standing_still(job.control):
        return f"{still} Started at {job.started_at:%H:%M}, {ui.as_duration(job.seconds)} ago."
    if not now.done and job.log:
        return f"**No answer yet**, running {since}. Last log entry: {ui.escape(job.log[-1])}"
    if not now.done:
        return f"Preparing {since}. No answers yet."
    if (quiet := job.quiet_seconds) is not None:
        again = (
            " Failed calls are repeated. If the endpoint is unavailable, the job waits for it."
            if asks_endpoint(job)
            else ""
        )
        return f"**No answer for {ui.as_duration(quiet)}.**{again} Running {since}."
    return (
        f"{_format_rate(now.rate, job.things)} · {ui.as_duration(now.seconds_left)}"
        f" left · running {since}"
    )


def standing_still(control: graders.Control) -> str:
    """Return why a job does not continue now, as Markdown: it is cancelled, paused or waits; empty
    if it continues.
    """
    if control.cancelled:
        return "Cancelling. Calls that are already running finish first."
    if control.paused:
        return "**Paused**. Calls that were already running finish and count."
    if (waits := control.awaited) is None:
        return ""
    until = "" if waits.until is None else f" It stops waiting at {waits.until:%H:%M}."
    return (
        f"**Waiting for the endpoint**, next try at {waits.next_try:%H:%M}:"
        f" {ui.escape(waits.reason)}. The job continues automatically.{until}"
    )


def _state_of_batches(job: jobs.BackgroundJob, since: str) -> str:
    """Return the progress of batches; the app may be closed while they run."""
    message = (
        ui.escape(job.progress.message)
        or "Preparing the batches. Keep the app open until they are sent"
    )
    if job.control.cancelled:
        return f"Cancelling. Answers that are already billed are kept. {message}."
    if job.control.paused:
        return (
            "**Paused**. The app does not check the batches, but the endpoint still works on"
            f" them. {message}."
        )
    return (
        f"{message}. Running {since}. The endpoint works on sent batches even if you close the app."
    )


def _format_rate(rate: float, things: str) -> str:
    return (
        f"{rate:,.0f} {things} per second" if rate >= 2 else f"{rate * 60:,.0f} {things} per minute"
    )


def _describe_counts(job: jobs.BackgroundJob) -> str:
    now = job.progress
    failed = f":red[**{now.failed:,} failed**]" if now.failed else "0 failed"
    if job.things != "pairs":
        return failed
    by_default = f" (:orange[**{now.defaulted:,} by default**])" if now.defaulted else ""
    return f"{now.graded:,} graded{by_default} · {failed}"


def _describe_usage(job: jobs.BackgroundJob) -> str:
    """Return calls, tokens and cost, with their limits; empty for a grader that asks no model."""
    used, control = job.progress.usage if in_batches(job) else job.control.usage, job.control
    if not used.calls:
        return ""
    calls = (
        f"{used.calls:,}" + (f" of {control.max_calls:,}" if control.max_calls else "") + " calls"
    )
    cached = f" ({job_plan.as_count(used.cached_tokens)} cached)" if used.cached_tokens else ""
    thinking = (
        f" ({job_plan.as_count(used.thinking_tokens)} thinking)" if used.thinking_tokens else ""
    )
    tokens = (
        f"{job_plan.as_count(used.input_tokens)} input tokens{cached},"
        f" {job_plan.as_count(used.output_tokens)} output tokens{thinking}"
    )
    spent = f"{used.cost:,.4f}" if used.cost < 1 else f"{used.cost:,.2f}"
    money = (
        f" · {spent} of {control.max_cost:,.2f} spent"
        if control.max_cost is not None
        else f" · {spent} spent"
    )
    return f"{calls} · {tokens}" + (money if used.cost or control.max_cost is not None else "")


def _draw_log(job: jobs.BackgroundJob) -> None:
    if lines := list(job.log):
        # Without failures, the log may still have remarks, such as an endpoint that refuses a JSON
        # schema.
        st.expander("Last failed calls" if job.progress.failed else "Job log").code(
            "\n".join(lines[-LOG_LINES:]), language=None, wrap_lines=True
        )


def _draw_end(project: Project, job: jobs.BackgroundJob) -> None:
    final = job.progress
    defaulted = f" ({final.defaulted:,} by default)" if final.defaulted else ""
    # The start time distinguishes the job from the plan below it.
    result = (
        f"{final.graded:,} pairs graded{defaulted}, {final.failed:,} failed, in"
        f" {ui.as_duration(final.seconds)}. Started at {job.started_at:%H:%M} with"
        f" {ui.escape(job.name)}."
    )
    ended = st.container(key=f"job {final.state}")
    of = "" if job.author == ui.person() else f" by {ui.escape(job.author)}"
    again = " Start this grader again to grade the remaining pairs."
    ends = {
        "done": (
            ended.success,
            "check",
            f"{'trial' if is_trial(job) else 'job'}{of} done: {result}",
        ),
        "cancelled": (ended.info, "stop_circle", f"job cancelled: {result}{again}"),
        "stopped": (ended.warning, "savings", f"job stopped at its limit: {result}{again}"),
    }
    failed = (ended.error, "error", f"job failed: {ui.escape(final.message)} {result}")
    box, icon, words = ends.get(final.state, failed)
    box(f"Last {words}", icon=f":material/{icon}:")
    if final.remarks and final.state != "failed":
        st.container(key="job-remarks").info(ui.escape(final.remarks), icon=":material/info:")
    if used := _describe_usage(job):
        st.container(key="job-used").caption(used)
    _draw_log(job)
    if final.state == "done":
        with st.container(horizontal=True):
            _draw_result_links(project, job)


def _draw_result_links(project: Project, job: jobs.BackgroundJob) -> None:
    """Draw links to the results of a finished job."""
    if is_trial(job):
        # Another person's trial is visible only to them.
        if job.author == ui.person():
            ui.draw_link("question_bank", "See the impact")
        return
    looks_by = scoring_settings.current_grader(project)
    if looks_by is None or looks_by.name == job.name:
        ui.draw_link("changes", "See the changes")
    else:
        # The job of another grader changes no shown labels, so both graders' labels are compared.
        version = str(bank.latest_version(project))
        states = {"from-grader": looks_by.name, "to-grader": job.name} | {
            f"{side}-version": version for side in ("from", "to")
        }
        ui.draw_link(
            "changes", f"Compare its labels with those of {ui.escape(looks_by.name)}", **states
        )
    ui.draw_link("leaderboard")
