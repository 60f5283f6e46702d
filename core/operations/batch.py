"""Commands about batches: show their progress, fetch their results, and cancel them."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated

from ..bank import remember_settings
from ..errors import GradingError
from ..grading import Request, Standing, call_batches, cancel, follow, outcome, send, step, waiting_jobs
from ..jobs import jobs
from ..store import Project, current_author
from .console import close_unfinished, counted, pause, tell
from .describing import Option
from .grader_options import GraderChoice, GraderOptions
from .opening import Opening
from .output import Output
from .progress import tell_of_calls
from .registry import operation


def grade_in_batches(opening: Opening, chosen: GraderChoice, request: Request, no_wait: bool) -> Output | str:
    """Send the missing pairs as batches, and wait for them; between two checks other programs can use the project.

    Args:
        no_wait: whether to return as soon as they are sent.
    """
    with opening() as project:
        close_unfinished(project)
        grader = chosen.make(project)
        remember_settings(project, grader, chosen.kind, chosen.parameters, current_author())
        keys = send(project, grader, request, current_author(), tell_of_calls())
    return _follow(opening, chosen, keys, "All pairs are graded or already sent.", not no_wait)


@operation("batch status", act="read the bank", reads=True)
def status(
    project: Project,
) -> Output:
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


@operation("batch fetch", act="grade")
def fetch(
    opening: Opening,
    *,
    chosen: GraderOptions,
    wait: Annotated[bool, Option(help="Wait until all batches are finished.")] = False,
) -> Output | str:
    """Import the results of a grader's finished batches, and send follow-up calls."""
    with opening() as project:
        close_unfinished(project)
        keys = [job.key for job in waiting_jobs(project, chosen.make(project).spec)]
    return _follow(opening, chosen, keys, "This grader has no open batches.", wait)


@operation("batch cancel", act="grade")
def cancel_all(
    project: Project,
    *,
    chosen: GraderOptions,
) -> str:
    """Cancel a grader's batches. Finished calls are billed; exam batch fetch imports them."""
    close_unfinished(project)
    now = cancel(project, chosen.make(project), current_author())
    return f"Cancelled. {_said(now)}" if now.jobs else "Cancelled. No batches are open."


def _follow(opening: Opening, chosen: GraderChoice, keys: list[int], nothing: str, wait: bool) -> Output | str:
    """Check the batches of jobs once, or until all are finished.

    Args:
        nothing: the result without jobs.
    """
    if not keys:
        return nothing
    said: set[str] = set()

    def look() -> Standing:
        with opening() as project:
            now = step(project, replace(chosen).make(project), current_author())
        if now.jobs and now.said not in said:
            said.add(now.said)
            tell(f"exam: {now.said}")
        return now

    if wait:
        follow(look, lambda message: tell(f"exam: {message}"), pause)
    elif (now := look()).jobs:
        tell(_said(now))
        return Output(asdict(now))
    with opening() as project:
        final = outcome(project, keys)
    if final.state in ("failed", "cancelled"):
        raise GradingError("job-failed", final.message, f"Saved: {counted(final.graded, 'grade')}.")
    result = {"state": final.state, "graded": final.graded, "failed": final.failed, **asdict(final.usage)}
    return Output(result).note(f"Graded {counted(final.graded, 'pair')}, {final.failed:,} failed.", final.message)


def _said(now: Standing) -> str:
    return f"{now.said}. To import the remaining results: exam batch fetch, with the same grader"
