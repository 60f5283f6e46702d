"""Waiting for batches: they are looked at again and again, ever more seldom, until nothing is left to wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from core.graders import MOST_CALLS, Control, Grader, PassingError, Usage
from core.grading.batch_planning import begin
from core.grading.batch_rounds import cancel, step
from core.grading.batch_standing import Standing, standing, waiting_jobs
from core.grading.budgets import budget
from core.grading.jobs import jobs
from core.grading.progress import Progress
from core.grading.request import Request, asked_of
from core.project import Project

FIRST_PAUSE = 2.0
GROWTH = 1.5
LONGEST_PAUSE = 120.0
"""Seconds between two looks: a batch takes minutes at least, and a day at most."""
MOST_FAILED_LOOKS = 60
"""Looks in a row that may fail before nobody waits any longer: about two hours."""


def pauses() -> Iterator[float]:
    """Seconds to wait before each next look."""
    seconds = FIRST_PAUSE
    while True:
        yield seconds
        seconds = min(seconds * GROWTH, LONGEST_PAUSE)


def begin_batches(
    project: Project, grader: Grader, request: Request, author: str, report: Callable[[str], None]
) -> list[int]:
    """Plan batches of what is missing, beside those that wait already.

    Returns:
        The keys of the jobs that wait now.

    Raises:
        GradingError, InputError: as `begin`.
    """
    caps = budget(project, grader.spec.model, getattr(grader, "back_end", None), request.max_calls, request.max_cost)
    waiting = [job.key for job in waiting_jobs(project, grader)]
    size = request.batch_size or MOST_CALLS
    begun = begin(project, grader, asked_of(request), request.scope, request.bank_version, author, caps, report, size)
    return waiting if begun is None else [*waiting, begun]


def outcome(project: Project, keys: list[int]) -> Progress:
    """How jobs of batches ended that nobody waits for any more."""
    found = [job for job in jobs(project) if job.key in keys]
    worst = next(
        (state for state in ("failed", "cancelled", "stopped") if state in {job.state for job in found}), "done"
    )
    usage = Usage()
    for job in found:
        used = Usage(
            job.calls or 0, job.input_tokens or 0, job.output_tokens or 0, job.cost or 0.0,
            job.cached_tokens or 0, job.thinking_tokens or 0,
        )  # fmt: skip
        usage = usage.plus(used)
    message = " ".join(job.message for job in found)
    return Progress(
        worst,
        sum(job.total for job in found),
        sum(job.graded for job in found),
        sum(job.failed for job in found),
        message=message,
        usage=usage,
        remarks=message,
    )


def run_batches(
    project: Project,
    grader: Grader,
    request: Request,
    author: str,
    report: Callable[[Progress], None],
    control: Control,
    wait: Callable[[float], None],
) -> Progress:
    """Grade what is missing in batches, in this thread, until nothing is left to wait for.

    Args:
        report: is told of the progress after every look.
        control: cancelled, it lets the batches be cancelled; the line of a look that failed goes to its report.
        wait: passes so many seconds, or fewer where somebody pulls the reins.

    Raises:
        GradingError, InputError: as `begin_batches` and `step`; what is under way at the endpoint goes on there, and
            is taken up by the next run.
    """
    keys = begin_batches(project, grader, request, author, control.report)
    pause, failures, cancelling = pauses(), 0, False
    now = standing(project, grader)
    while now.jobs:
        report(_progress(now))
        try:
            if control.cancelled and not cancelling:
                now, cancelling = cancel(project, grader, author), True
            else:
                now = step(project, grader, author)
            failures = 0
        except PassingError as error:
            failures += 1
            control.report(error.message)
            if failures > MOST_FAILED_LOOKS:
                raise
        if now.jobs:
            wait(next(pause))
    final = outcome(project, keys)
    report(final)
    return final


def _progress(now: Standing) -> Progress:
    return replace(Progress("running", now.total, now.graded, now.failed), message=now.said, usage=now.usage)
