"""Commands about live targets: record snapshots of an endpoint, watch it, and compare two
snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from .. import answers, graders, records
from ..choices import SNAPSHOT_LEVEL
from ..errors import GradingError, InputError, check_known
from ..text import how_many
from .console import ProgressLines, read_text_file
from .registry import Argument, Author, Option, Output, Project, current_author, operation

ExistingFile = Annotated[Path, Argument(file="read", exists=True)]


@operation("snapshots add", act="run exams")
def freeze(
    project: Project,
    *,
    file: ExistingFile,
    name: Annotated[str, Option(help="Name of the new run.")],
    queries: Annotated[
        tuple[str, ...], Option("--query", help="Only this query; may be repeated.")
    ] = (),
    allow_failed: Annotated[bool, Option(help="Keep the snapshot even if queries failed.")] = False,
) -> Output:
    """Query the endpoint that FILE describes, and record its results as a run or as responses.

    If the command is interrupted, run it again with the same name. Only the remaining queries are
    sent.
    """
    asked = answers.read_target(read_text_file(file), file.name)
    found = _freeze_target(project, asked, name, queries or None, allow_failed)
    return Output(asdict(found)).note(*_describe_frozen(found))


def _freeze_target(
    project: Project,
    asked: answers.Target,
    name: str,
    queries: tuple[str, ...] | None,
    allow_failed: bool,
) -> answers.SnapshotResult:
    # The person who runs the command gives the address and the variable of its key together, in one
    # file.
    with graders.use_access(graders.extend_access(asked.url, asked.key_variable or None)):
        return answers.take_snapshot(
            project,
            asked,
            name,
            current_author(),
            queries,
            allow_failed,
            ProgressLines("queries").count,
        )


def _describe_frozen(frozen: answers.SnapshotResult) -> Iterator[str]:
    for query_id, reason in list(frozen.failed.items())[:10]:
        yield f"exam: {query_id} failed: {reason}"
    kept_names = " and ".join(filter(None, (frozen.run, frozen.system)))
    if frozen.before:
        yield f"Queries answered earlier and not sent again: {frozen.before:,}."
    yield (
        f"Queries answered: {frozen.answered:,} of {frozen.queries:,}, {frozen.empty:,} with no"
        f" results, {len(frozen.failed):,} failed. Saved as {kept_names}."
    )
    if frozen.changed:
        yield f"{how_many(frozen.changed, 'passages')} changed: same id, new text."


@operation("snapshots list", act="read the bank", reads=True)
def list_(
    project: Project,
) -> Output:
    """List snapshots of targets, newest first.

    To complete an open snapshot, run exam snapshots add again with its name.
    """
    snapshots = records.list_snapshots(project)
    return Output(
        {"freezes": [asdict(snapshot) | {"open": snapshot.open} for snapshot in snapshots]}
    ).table(
        ("name", "target", "started", "by", "queries", "failed", "state"),
        [
            (
                snapshot.name,
                snapshot.url,
                f"{snapshot.started_at:%Y-%m-%d %H:%M}",
                snapshot.author,
                snapshot.queries,
                snapshot.failed,
                f"open, {how_many(snapshot.came, 'answers')}" if snapshot.open else "complete",
            )
            for snapshot in snapshots
        ],
    )


@operation("snapshots remove", act="run exams")
def drop(
    project: Project,
    *,
    name: Annotated[str, Argument()],
    author: Author,
) -> str:
    """Discard the open snapshot NAME and its answers so far. Saved runs stay."""
    came = records.drop_freeze(project, name, author)
    return f"{name}: open snapshot discarded, with {how_many(came, 'answers')}."


@operation("snapshots watch", act="run exams")
def watch(
    project: Project,
    *,
    file: ExistingFile,
    since: Annotated[str, Option(help="Run to compare with.", metavar="RUN")],
    name: Annotated[
        str | None, Option(help="Name of the new run. Default: --since with the time.")
    ] = None,
    measure: Annotated[str, Option(help="Measure that must not fall.")] = "nDCG@10",
    source: Annotated[
        str, Option(help="Source of judgments; `exam` for labels from grades.")
    ] = "judgments",
    level: Annotated[
        float,
        Option(help="Significance level: a fall with a smaller p-value counts.", least=0, most=1),
    ] = SNAPSHOT_LEVEL,
    allow_failed: Annotated[bool, Option(help="Continue even if queries failed.")] = False,
) -> Output:
    """Record a new snapshot, and fail (exit 1) if a measure fell by more than noise since RUN."""
    target = answers.read_target(read_text_file(file), file.name)
    check_known(
        "unknown-run",
        "run",
        records.run_names(project),
        since,
        hint="Take a snapshot: exam snapshots add.",
    )
    frozen = _freeze_target(
        project, target, name or f"{since}-{datetime.now(UTC):%Y%m%dT%H%M%S}", None, allow_failed
    )
    if frozen.run is None:
        raise InputError(
            "target-without-passages",
            f"{file.name}: the target returns no passages, so no run can be measured.",
            "Set the path of the passages in this file.",
        )
    fall = answers.measure_fall(project, since, frozen.run, measure, source, level=level)
    changes = answers.diff_of_runs(project, since, frozen.run, target.k)
    output = Output(
        {"frozen": asdict(frozen), "fall": asdict(fall), "changed_queries": len(changes)}
    ).note(*_describe_frozen(frozen), _describe_fall(fall, len(changes)))
    if fall.fell:
        output.failing(
            GradingError(
                "measure-fell",
                f"{fall.measure} fell from {fall.before:.4f} to {fall.after:.4f}, by more than"
                f" noise (p = {fall.p:.4f}).",
                f"Compare the runs: exam snapshots compare {since} {frozen.run}.",
            )
        )
    return output


def _describe_fall(fall: answers.MeasureChange, changed: int) -> str:
    chance = "no query differs" if fall.p is None else f"p = {fall.p:.4f}"
    return (
        f"{fall.measure} ({fall.source}): {fall.before:.4f} before, {fall.after:.4f} after"
        f" ({fall.difference:+z.4f} [{fall.low:+z.4f}, {fall.high:+z.4f}], {chance},"
        f" {fall.queries:,} queries). Queries with different top results: {changed:,}."
    )


@operation("snapshots compare", act="read the bank", reads=True)
def diff(
    project: Project,
    *,
    before: Annotated[str, Argument(metavar="RUN")],
    after: Annotated[str, Argument(metavar="RUN")],
    depth: Annotated[int, Option(help="Number of top ranks to compare.", least=1)] = 10,
) -> Output:
    """List queries whose top results or answers differ between two runs, largest difference
    first.
    """
    differences = answers.diff_of_runs(project, before, after, depth)
    rows: list[tuple[Any, ...]] = [
        (
            difference.query_id,
            round(difference.overlap, 4),
            " ".join(difference.gone) or None,
            " ".join(difference.new) or None,
            len(difference.moved),
            "differs" if difference.answer else None,
        )
        for difference in differences
    ]
    return Output({"queries": [asdict(difference) for difference in differences]}).table(
        ("query", "overlap", "removed", "added", "moved", "answer"), rows
    )
