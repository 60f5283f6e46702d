"""Commands that read the records of a project: the pool, vectors, jobs, failed pairs, publications."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, cast

from ..bank import check_version, counts, find_grader, how_to_grade
from ..exchange import publications as published
from ..grading import Which, count_vectors, doubtful_pairs, drop_vectors, reasons
from ..jobs import jobs as recorded_jobs
from ..records import JOB_SUBJECTS, Job, JobKind, pool_depth, set_pool_depth
from ..store import Project, current_author
from ..text import how_many
from .registry import Option, Output, operation


@operation("pool", act="organize", reads=lambda given: given["depth"] is None)
def pool(
    project: Project,
    *,
    depth: Annotated[
        int | None, Option(help="Set the pool depth (passages per run and query) and rebuild the pool.", least=1)
    ] = None,
) -> Output:
    """Show the pool depth and the number of pooled passages, or set the depth."""
    if depth is not None:
        with project.transaction() as cursor:
            set_pool_depth(cursor, depth, current_author())
    found = {"depth": project.read(pool_depth), "passages": counts(project)["pooled passages"]}
    return Output(found).table(("what", "count"), list(found.items()))


@operation("jobs", act="read the bank", reads=True)
def jobs(
    project: Project,
    *,
    limit: Annotated[int, Option(help="List the newest N jobs.", least=1, metavar="N")] = 20,
    kind: Annotated[str, Option(help="Kind of job.", choices=list(JOB_SUBJECTS))] = "grading",
) -> Output:
    """List the jobs of a kind with their progress and result, newest first."""
    found = recorded_jobs(project, cast(JobKind, kind))[:limit]
    subject, planned, done = ("grader", "pairs", "graded") if kind == "grading" else ("name", "planned", "done")
    return Output({"jobs": [_as_dict(job) for job in found]}).table(
        ("job", "started", subject, "state", planned, done, "failed", "by", "message"),
        [
            (
                str(job.key),
                f"{job.started_at:%Y-%m-%d %H:%M}",
                job.name,
                job.state,
                job.total,
                job.done,
                job.failed,
                job.author,
                job.message,
            )
            for job in found
        ],
    )


def _as_dict(job: Job) -> dict[str, Any]:
    return {
        "key": job.key, "grader": job.name, "asked": job.request, "state": job.state, "total": job.total,
        "graded": job.done, "failed": job.failed, "message": job.message, "author": job.author,
        "started_at": job.started_at, "ended_at": job.ended_at, "calls": job.calls, "cost": job.cost,
        "input_tokens": job.input_tokens, "output_tokens": job.output_tokens, "cached_tokens": job.cached_tokens,
        "thinking_tokens": job.thinking_tokens,
    }  # fmt: skip


@operation("failures", act="read the bank", reads=True)
def failures(
    project: Project,
    *,
    grader_name: Annotated[str | None, Option("--grader", help="Name of the grader; see exam graders list.")] = None,
    bank_version: Annotated[int | None, Option(help="Bank version (default: the newest).")] = None,
    defaulted: Annotated[
        bool, Option(help="List pairs graded by default instead, because the answer had no number.")
    ] = False,
    reason: Annotated[str | None, Option(help="Only pairs with this reason.")] = None,
    limit: Annotated[int, Option(help="List at most N pairs.", least=1, metavar="N")] = 20,
) -> Output:
    """List the pairs that a grader failed to grade, with the reason and the model's answer."""
    which: Which = "defaulted" if defaulted else "failed"
    grader = find_grader(project, grader_name)
    version = check_version(project, bank_version)
    told = reasons(project, grader, which, version)
    pairs = doubtful_pairs(project, grader, which, version, reason, limit=limit)
    again = how_to_grade(project, grader.spec, "--only-failed").removeprefix("Run: ")
    value = {"grader": grader.spec.name, "reasons": dict(told), "pairs": [asdict(pair) for pair in pairs]}
    output = Output(value).table(("reason", "pairs"), told)
    output.table(
        ("query", "passage", "question", "answer"),
        [(one.query_id, one.passage_id, one.asked.text, _one_line(one.raw)) for one in pairs],
    )
    return output.note(f"To retry these pairs: {again}") if told and not defaulted else output


def _one_line(raw: str | None) -> str | None:
    if raw is None:
        return None
    line = " ".join(raw.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


@operation("publications", act="read the bank", reads=True)
def publications(
    project: Project,
) -> Output:
    """List the publications, newest first.

    With --json, print their manifests, from which you can reproduce them.
    """
    found = published(project)
    return Output({"publications": found}).table(
        ("publication", "published at", "by", "grader", "bank", "lines", "note"),
        [
            (
                str(m["publication"]),
                m["published_at"],
                m["published_by"],
                m["grader"]["name"],
                m["bank"]["version"],
                m["qrels"]["lines"],
                m["note"],
            )
            for m in found
        ],
    )


@operation("vectors", act="organize", reads=lambda given: not given["drop"])
def vectors(
    project: Project,
    *,
    drop: Annotated[bool, Option(help="Delete all vectors; grading computes them again.")] = False,
) -> Output:
    """Count the cached vectors of the embedding grader, or delete them.

    Without this cache, reworded questions are graded more slowly. The ratings are the same.
    """
    dropped = drop_vectors(project) if drop else 0
    found = count_vectors(project)
    output = Output({"dropped": dropped, "vectors": [asdict(one) for one in found]})
    if drop:
        return output.note(
            f"Deleted the vectors of {how_many(dropped, 'texts')}. The file reuses their space as it grows."
        )
    if not found:
        return output.note("No cached vectors. The embedding grader has not graded in this project yet.")
    return output.table(
        ("kind", "texts", "size", "encoder"),
        [(one.role, one.texts, f"{one.size / 1e6:.1f} MB", one.encoder) for one in found],
    )
