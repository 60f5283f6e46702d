"""Jobs as people see them: what is on record, and what this process knows of those that it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..graders import Control, Usage
from ..project import Cursor, Job, JobKind, Project, recorded_jobs, set_usage

CARRIED: dict[tuple[str, int], Control] = {}
"""The controls of the jobs that this process runs, by path of the project and key of the job."""


def jobs(project: Project, *kinds: JobKind, **chosen: Any) -> list[Job]:
    """Return jobs as `project.recorded_jobs` does; the state of a paused one is paused."""
    return [replace(job, state=_state_now(project, job)) for job in recorded_jobs(project, *kinds, **chosen)]


def _state_now(project: Project, job: Job) -> str:
    """Return the state of a job on record, or paused if this process runs the job and a person paused it."""
    control = CARRIED.get((str(project.path), job.key))
    return "paused" if control is not None and control.paused and job.state == "running" else job.state


def find_job(project: Project, key: int) -> Job:
    """Return a grading job as it is on record now."""
    return jobs(project, "grading", keys=[key])[0]


def usage_of(job: Job) -> Usage:
    """Return what a job used so far."""
    return Usage(
        job.calls or 0,
        job.input_tokens or 0,
        job.output_tokens or 0,
        job.cost or 0.0,
        job.cached_tokens or 0,
        job.thinking_tokens or 0,
    )


def record_usage(cursor: Cursor, job: int, usage: Usage) -> None:
    """Record what a job used so far."""
    set_usage(cursor, job, usage.calls, usage.tokens, usage.cost)
