"""Records of jobs: request, progress, usage and end. Only this module changes them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ..store import Cursor, Project

JobKind = Literal["grading", "sitting", "generating", "comparing", "draft", "items"]

_OWN = ("jobs", "job_key", "request->>'$.model'")
JOB_SUBJECTS: Mapping[JobKind, tuple[str, str, str]] = {
    "grading": ("graders", "grader_key", "name"),
    "sitting": ("students", "student_key", "name"),
    "generating": ("generators", "generator_key", "name"),
    "comparing": ("answer_judges", "judge_key", "name"),
    "draft": _OWN,
    "items": _OWN,
}
"""For each kind of job, the table of its subjects, the key column of this table, and SQL for the
name.

Models that draft have no table: their job is its own subject, and its request names the model.
"""
_SUBJECTS = " UNION ".join(
    f"SELECT {key} AS subject_key, {name} AS name FROM {table}"
    for table, key, name in JOB_SUBJECTS.values()
)
"""SQL for the names of all subjects of jobs. Their keys are unique, because they come from one
sequence.
"""
_LARGEST = 2**63 - 1
"""Largest number in a column of counts. Larger token counts are clipped, so that results can still
be written.
"""


@dataclass(frozen=True)
class Job:
    """A job.

    Args:
        name: name of the grader, examinee, generator, answer check or drafting model.
        request: the request; its field `told` is the price tag shown before the start.
        state: running, waiting (for batches), done, cancelled, stopped, failed, interrupted or
            imported.
        done, failed: numbers of usable results and of failures.
        calls, cost, ..._tokens: usage so far, see `graders.Usage`; None if no model was called.
    """

    key: int
    kind: JobKind
    name: str
    request: dict[str, Any]
    state: str
    total: int
    done: int
    failed: int
    message: str
    author: str
    started_at: datetime
    ended_at: datetime | None
    calls: int | None
    cost: float | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    thinking_tokens: int | None


def recorded_jobs(
    project: Project,
    *kinds: JobKind,
    keys: Collection[int] | None = None,
    subject: int | None = None,
    state: str | None = None,
) -> list[Job]:
    """Return the jobs of some kinds, or of all if no kind is given, newest first.

    Args:
        keys: keys of the jobs to return; None for all.
        subject: key of the jobs' grader, examinee, generator or answer check; None for any.
        state: the jobs' state; None for any.
    """
    return [
        Job(row[0], row[1], row[2], json.loads(row[3]), *row[4:])
        for row in project.rows(
            "SELECT job_key, kind, name, request, state, total, done, failed, message, author,"
            " started_at, ended_at,"
            " calls, cost, input_tokens, output_tokens, cached_tokens, thinking_tokens"
            f" FROM jobs JOIN ({_SUBJECTS}) USING (subject_key) WHERE ($kinds IS NULL"
            " OR list_contains($kinds, kind))"
            " AND ($keys IS NULL OR list_contains($keys, job_key)) AND ($subject IS NULL"
            " OR subject_key = $subject)"
            " AND ($state IS NULL OR state = $state) ORDER BY job_key DESC",
            {
                "kinds": kinds or None,
                "keys": keys and list(keys),
                "subject": subject,
                "state": state,
            },
        )
    ]


def add_job(
    cursor: Cursor,
    kind: JobKind,
    subject: int | None,
    request: Mapping[str, Any],
    total: int,
    author: str,
) -> int:
    """Record a new job as running and return its key.

    Args:
        subject: key of the grader, examinee, generator or answer check; None if the request names a
            model instead.
        request: the part of the request to keep, as a JSON object.
        total: the expected number of results.
    """
    job = int(cursor.execute("SELECT nextval('keys')").fetchall()[0][0])
    cursor.execute(
        "INSERT INTO jobs (job_key, kind, subject_key, request, state, total, done, failed,"
        " message, author,"
        " started_at) VALUES (?, ?, ?, ?, 'running', ?, 0, 0, '', ?, now()::TIMESTAMP)",
        [job, kind, subject or job, json.dumps(request), total, author],
    )
    return job


def count_results(cursor: Cursor, job: int, done_count: int, failed: int, more: int = 0) -> None:
    """Add to the counts of a job, in the transaction that writes the results.

    Args:
        more: added to the total.
    """
    cursor.execute(
        "UPDATE jobs SET done = done + ?, failed = failed + ?, total = total + ? WHERE job_key = ?",
        [done_count, failed, more, job],
    )


def set_usage(cursor: Cursor, job: int, calls: int, tokens: Sequence[int], cost: float) -> None:
    """Record what a job has used so far.

    Args:
        tokens: read, written, cached and thinking.
    """
    cursor.execute(
        "UPDATE jobs SET calls = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?,"
        " thinking_tokens = ?, cost = ? WHERE job_key = ?",
        [calls, *(min(number, _LARGEST) for number in tokens), cost, job],
    )


def written_results(cursor: Cursor, job: int) -> int:
    """Return the number of results of a job that are stored, including failures."""
    return int(
        cursor.execute("SELECT done + failed FROM jobs WHERE job_key = ?", [job]).fetchall()[0][0]
    )


def wait_for_batches(cursor: Cursor, job: int, request: Mapping[str, Any]) -> None:
    """Record that a job waits for batches, and replace its request."""
    cursor.execute(
        "UPDATE jobs SET state = 'waiting', request = ? WHERE job_key = ?",
        [json.dumps(request), job],
    )


def end_job(
    cursor: Cursor, job: int, state: str, message: str = "", paused_seconds: float = 0.0
) -> bool:
    """Record how a job ended; return whether it had not ended before.

    Args:
        paused_seconds: how long it was paused, or waited for an unreachable endpoint; the request
            keeps it if it is above 0.
    """
    if paused_seconds:
        cursor.execute(
            "UPDATE jobs SET request = json_merge_patch(request, ?) WHERE job_key = ?",
            [json.dumps({"paused_seconds": paused_seconds}), job],
        )
    ended = cursor.execute(
        "UPDATE jobs SET state = ?, message = ?, ended_at = now()::TIMESTAMP"
        " WHERE job_key = ? AND state IN ('running', 'waiting')",
        [state, message, job],
    ).fetchall()
    return bool(ended[0][0])


def close_interrupted(project: Project) -> int:
    """Mark jobs of an ended process as interrupted; return their number. Call it when a project is
    opened.
    """
    # A project that was closed properly opens without a write.
    if project.read_only or not (
        jobs := project.rows("SELECT job_key FROM jobs WHERE state = 'running'")
    ):
        return 0
    message = "The process ended before the job did. Start the job again to do the remaining work."
    with project.transaction() as cursor:
        for (job,) in jobs:
            end_job(cursor, job, "interrupted", message)
    return len(jobs)


def asked_models(project: Project) -> bool:
    """Return whether a job of this project has made calls, which may have been billed."""
    return bool(project.value("SELECT EXISTS (FROM jobs WHERE calls > 0)"))
