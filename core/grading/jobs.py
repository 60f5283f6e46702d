"""The record of grading jobs: what was asked, how far each is, how it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..graders import Usage
from ..project import Cursor, Project
from .ledgers import Ledger, state_now


@dataclass(frozen=True)
class Job:
    """One grading session. `state` is running, paused, waiting (for batches), done, cancelled, stopped, failed,
    interrupted or imported; the tokens are those of `Tokens`, and `told` is what its price tag said before it began."""

    key: int
    grader: str
    asked: dict[str, Any]
    state: str
    total: int
    graded: int
    failed: int
    message: str
    author: str
    started_at: datetime
    ended_at: datetime | None
    calls: int | None
    cost: float | None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    thinking_tokens: int | None = None

    @property
    def usage(self) -> Usage:
        """What it used so far."""
        return Usage(
            self.calls or 0,
            self.input_tokens or 0,
            self.output_tokens or 0,
            self.cost or 0.0,
            self.cached_tokens or 0,
            self.thinking_tokens or 0,
        )


JOBS = Ledger("jobs", "job_key", "graded")


def start(cursor: Cursor, grader_key: int, asked: dict[str, Any], total: int, author: str) -> int:
    """Record a new job as running and return its key."""
    return JOBS.start(cursor, {"grader_key": grader_key}, asked, total, author)


def end(cursor: Cursor, job_key: int, state: str, message: str = "") -> bool:
    """Record how a job ended; whether that was not on record yet."""
    return JOBS.end(cursor, job_key, state, message)


def jobs(project: Project) -> list[Job]:
    """Every job, newest first."""
    return [
        Job(row[0], row[1], json.loads(row[2]), state_now(project, row[0], row[3]), *row[4:])
        for row in project.rows(
            "SELECT job_key, name, asked, state, total, graded, failed, message, author, started_at, ended_at,"
            " calls, cost, input_tokens, output_tokens, cached_tokens, thinking_tokens"
            " FROM jobs JOIN graders USING (grader_key) ORDER BY job_key DESC"
        )
    ]


def find_job(project: Project, key: int) -> Job:
    """A job as it is on record now."""
    return next(job for job in jobs(project) if job.key == key)


def close_interrupted(project: Project) -> int:
    """Mark jobs of every kind that were running when their process died; for when a project is opened.

    Returns:
        How many there were.
    """
    running = " UNION ALL ".join(f"SELECT '{table}' FROM {table} WHERE state = 'running'" for table in _JOBS)
    # A project that was closed as it should needs no change for being opened.
    found = [] if project.read_only else project.rows(running)
    if found:
        with project.transaction() as cursor:
            for table in _JOBS:
                cursor.execute(
                    f"UPDATE {table} SET state = 'interrupted', ended_at = now()::TIMESTAMP,"
                    " message = 'The process ended before the job did. Start the job again to do the remaining work.'"
                    " WHERE state = 'running'"
                )
    return len(found)


_JOBS = ("jobs", "sittings", "answer_jobs")
"""The tables of what runs long, in which a process that dies leaves a row as it was."""
