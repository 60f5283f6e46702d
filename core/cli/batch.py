"""Commands about batches: how far they are, taking in what came, and cancelling them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import click

from ..catalogue import remember_settings
from ..errors import GradingError
from ..grading import Request, Standing, call_batches, cancel, follow, outcome, send, step, waiting_jobs
from ..jobs import jobs
from ..project import Project, current_author
from .grader_options import GraderChoice, grader_options
from .guests import close_unfinished, pause
from .options import counted, json_option, opened, print_json, project_option, tell
from .printing import Output, on_project
from .progress import tell_of_calls


def grade_in_batches(
    project_path: Path | None, chosen: GraderChoice, request: Request, no_wait: bool, as_json: bool
) -> None:
    """Send what is missing as batches, and wait for them; between two looks the project is free for others.

    Args:
        no_wait: whether to leave as soon as they are sent.
    """
    with opened(project_path) as project:
        close_unfinished(project)
        grader = chosen.make(project)
        remember_settings(project, grader, chosen.kind, chosen.parameters, current_author())
        keys = send(project, grader, request, current_author(), tell_of_calls())
    _follow(project_path, chosen, keys, "All pairs are graded or already sent.", not no_wait, as_json)


@click.group()
def batch() -> None:
    """List, fetch and cancel the batches of calls that exam grade --batch sent."""


@batch.command()
@project_option
@json_option
@on_project
def status(project: Project) -> Output:
    """List the open batches with their state at the last check."""
    waiting = jobs(project, "grading", state="waiting")
    found = [(job, one) for job in waiting for one in call_batches(project, job.key)]
    return Output({"batches": [{"grader": job.name, **asdict(one)} for job, one in found]}).table(
        ("job", "grader", "batch", "state", "calls", "done", "message"),
        [
            (
                str(job.key),
                job.name,
                one.batch_id or "",
                one.status,
                one.calls,
                one.done,
                one.message,
            )
            for job, one in found
        ],
    )


@batch.command()
@project_option
@grader_options
@click.option("--wait", is_flag=True, help="Wait until all batches are finished.")
@json_option
def fetch(project_path: Path | None, chosen: GraderChoice, wait: bool, as_json: bool) -> None:
    """Import the results of a grader's finished batches, and send follow-up calls."""
    with opened(project_path) as project:
        close_unfinished(project)
        keys = [job.key for job in waiting_jobs(project, chosen.make(project).spec)]
    _follow(project_path, chosen, keys, "This grader has no open batches.", wait, as_json)


@batch.command(name="cancel")
@project_option
@grader_options
def cancel_all(project_path: Path | None, chosen: GraderChoice) -> None:
    """Cancel a grader's batches. Finished calls are billed; exam batch fetch imports them."""
    with opened(project_path) as project:
        close_unfinished(project)
        now = cancel(project, chosen.make(project), current_author())
    tell(f"Cancelled. {_said(now)}" if now.jobs else "Cancelled. No batches are open.")


def _follow(
    project_path: Path | None, chosen: GraderChoice, keys: list[int], nothing: str, wait: bool, as_json: bool
) -> None:
    """Look at the batches of jobs once, or until nothing is left to wait for, and say what came of it.

    Args:
        nothing: to say if there are no jobs.
    """
    if not keys:
        tell(nothing)
        return
    said: set[str] = set()

    def look() -> Standing:
        with opened(project_path) as project:
            now = step(project, replace(chosen).make(project), current_author())
        if now.jobs and now.said not in said:
            said.add(now.said)
            tell(f"exam: {now.said}")
        return now

    if wait:
        follow(look, lambda message: tell(f"exam: {message}"), pause)
    elif (now := look()).jobs:
        if as_json:
            print_json(asdict(now))
        tell(_said(now))
        return
    with opened(project_path) as project:
        final = outcome(project, keys)
    if final.state in ("failed", "cancelled"):
        raise GradingError("job-failed", final.message, f"Saved: {counted(final.graded, 'grade')}.")
    if as_json:
        print_json({"state": final.state, "graded": final.graded, "failed": final.failed, **asdict(final.usage)})
    else:
        tell(f"Graded {counted(final.graded, 'pair')}, {final.failed:,} failed.")
        tell(final.message)


def _said(now: Standing) -> str:
    return f"{now.said}. To import the remaining results: exam batch fetch, with the same grader"
