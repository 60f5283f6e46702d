"""How far the jobs are whose calls are answered in batches, and what they used."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.catalogue import grader_key, prices
from core.graders import NOTHING_USED, Grader, Price, Tokens, Usage, used_by
from core.grading.batch_records import CallBatch, call_batches
from core.project import Project


@dataclass(frozen=True)
class BatchJob:
    """A job whose calls are answered in batches.

    Args:
        key: the job's.
        asked: what was asked of it, and how the endpoint is spoken to.
        total, graded, failed: pairs.
    """

    key: int
    asked: dict[str, Any]
    total: int
    graded: int
    failed: int


@dataclass(frozen=True)
class Standing:
    """How far the batches of a grader are.

    Args:
        jobs: that wait for batches.
        batches: that something may come of, by what the endpoint calls their state.
        calls, done: in these batches, and those that the endpoint has made.
        graded, failed: pairs, of these jobs.
        total: pairs of these jobs.
        usage: of these jobs so far.
    """

    jobs: int = 0
    batches: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    done: int = 0
    graded: int = 0
    failed: int = 0
    total: int = 0
    usage: Usage = NOTHING_USED

    @property
    def said(self) -> str:
        """How far they are, as half a sentence."""
        states = ", ".join(f"{number:,} {state.replace('_', ' ')}" for state, number in sorted(self.batches.items()))
        return f"{self.done:,} of {self.calls:,} calls made; batches: {states or 'none under way'}"


def waiting_jobs(project: Project, grader: Grader) -> list[BatchJob]:
    """The jobs of a grader that wait for batches, oldest first."""
    return _waiting(project, key_of(project, grader))


def _waiting(project: Project, grader: int) -> list[BatchJob]:
    return [
        BatchJob(key, json.loads(asked), *counts)
        for key, asked, *counts in project.rows(
            "SELECT job_key, asked, total, graded, failed FROM jobs WHERE state = 'waiting' AND grader_key = ?"
            " ORDER BY job_key",
            [grader],
        )
    ]


@dataclass(frozen=True)
class UnderWay:
    """Batches of a grader that wait at an endpoint.

    Args:
        grader, fingerprint: whose.
        standing: how far they are, as far as it was looked at.
    """

    grader: str
    fingerprint: str
    standing: Standing


def under_way(project: Project) -> list[UnderWay]:
    """The graders that have batches at an endpoint, by name."""
    return [
        UnderWay(name, fingerprint, _standing(project, key, model))
        for key, name, fingerprint, model in project.rows(
            "SELECT DISTINCT grader_key, name, fingerprint, model FROM jobs JOIN graders USING (grader_key)"
            " WHERE state = 'waiting' ORDER BY name"
        )
    ]


def standing(project: Project, grader: Grader) -> Standing:
    """How far the batches of a grader are, as far as it was looked at; nothing is asked."""
    return _standing(project, key_of(project, grader), grader.spec.model)


def _standing(project: Project, grader: int, model: str) -> Standing:
    found = _waiting(project, grader)
    states: dict[str, int] = {}
    calls = done = 0
    usage = NOTHING_USED
    for job in found:
        batches = call_batches(project, job.key)
        for batch in batches:
            if batch.open:
                state = (batch.remote or batch.state) + (", to be cancelled" if batch.cancelling else "")
                states[state] = states.get(state, 0) + 1
            if batch.open or batch.state == "taken":
                calls += batch.calls
                done += batch.calls if batch.state == "taken" else min(batch.done, batch.calls)
        usage = usage.plus(usage_of(project, model, job, batches))
    return Standing(
        len(found), states, calls, done,
        sum(job.graded for job in found), sum(job.failed for job in found), sum(job.total for job in found), usage,
    )  # fmt: skip


def usage_of(project: Project, model: str, job: BatchJob, batches: Sequence[CallBatch]) -> Usage:
    """What a job used: the call that was made alone, and what came of its batches at their price."""
    alone = Usage(**job.asked.get("alone", {}))
    price = prices(project).get(model) or Price()
    tokens, calls = Tokens(), 0
    for batch in batches:
        tokens, calls = tokens.plus(batch.tokens), calls + (batch.answered or 0)
    return used_by(alone.calls + calls, alone.tokens.plus(tokens), alone.cost + price.batch * price.of_tokens(tokens))


def key_of(project: Project, grader: Grader) -> int:
    """The key of a grader; -1 where it has none yet, which is that of none."""
    key = project.read(lambda cursor: grader_key(cursor, grader.spec))
    return -1 if key is None else key
