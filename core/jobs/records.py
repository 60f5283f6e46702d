"""Jobs as people see them: the project's records, combined with the state of this process."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..graders import Control, Usage
from ..project import Cursor, Job, JobKind, Project, recorded_jobs, set_usage

CARRIED: dict[tuple[str, int], Control] = {}
"""Controls of the jobs that this process runs, by project path and job key."""


def jobs(project: Project, *kinds: JobKind, **chosen: Any) -> list[Job]:
    """Return jobs like `project.recorded_jobs`, with the state "paused" for paused ones."""
    return [replace(job, state=_state_now(project, job)) for job in recorded_jobs(project, *kinds, **chosen)]


def _state_now(project: Project, job: Job) -> str:
    """Return the recorded state of a job, or "paused" if a person paused it in this process."""
    control = CARRIED.get((str(project.path), job.key))
    return "paused" if control is not None and control.paused and job.state == "running" else job.state


def find_job(project: Project, key: int) -> Job:
    """Return a grading job as currently recorded."""
    return jobs(project, "grading", keys=[key])[0]


def usage_of(job: Job) -> Usage:
    """Return the usage of a job so far."""
    return Usage(
        job.calls or 0,
        job.input_tokens or 0,
        job.output_tokens or 0,
        job.cost or 0.0,
        job.cached_tokens or 0,
        job.thinking_tokens or 0,
    )


def record_usage(cursor: Cursor, job: int, usage: Usage) -> None:
    """Record the usage of a job so far."""
    set_usage(cursor, job, usage.calls, usage.tokens, usage.cost)
