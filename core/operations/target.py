"""Commands about live targets: record snapshots of an endpoint, watch it, and compare two snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from .. import answers
from ..answers import LEVEL, Fall, Frozen, Target, diff_of_runs, measure_fall, read_target
from ..errors import GradingError, InputError, check_known
from ..graders import acting, naming
from ..records import drop_freeze, freezes, run_names
from ..text import how_many
from .console import ProgressLines, text_of
from .registry import Argument, Author, Option, Output, Project, current_author, operation

ExistingFile = Annotated[Path, Argument(file="read", exists=True)]


@operation("snapshots add", act="run exams")
def freeze(
    project: Project,
    *,
    file: ExistingFile,
    name: Annotated[str, Option(help="Name of the new run.")],
    queries: Annotated[tuple[str, ...], Option("--query", help="Only this query; may be repeated.")] = (),
    allow_failed: Annotated[bool, Option(help="Keep the snapshot even if queries failed.")] = False,
) -> Output:
    """Query the endpoint that FILE describes, and record its results as a run or as responses.

    If the command is interrupted, run it again with the same name. Only the remaining queries are sent.
    """
    asked = read_target(text_of(file), file.name)
    found = _freeze(project, asked, name, queries or None, allow_failed)
    return Output(asdict(found)).note(*_summary(found))


def _freeze(project: Project, asked: Target, name: str, queries: tuple[str, ...] | None, allow_failed: bool) -> Frozen:
    # The person who runs the command gives the address and the variable of its key together, in one file.
    with acting(naming(asked.url, asked.key_variable or None)):
        return answers.freeze(
            project, asked, name, current_author(), queries, allow_failed, ProgressLines("queries").count
        )


def _summary(found: Frozen) -> Iterator[str]:
    for query_id, reason in list(found.failed.items())[:10]:
        yield f"exam: {query_id} failed: {reason}"
    kept = " and ".join(filter(None, (found.run, found.system)))
    if found.before:
        yield f"Queries answered earlier and not sent again: {found.before:,}."
    yield (
        f"Queries answered: {found.answered:,} of {found.queries:,}, {found.empty:,} with no results,"
        f" {len(found.failed):,} failed. Saved as {kept}."
    )
    if found.changed:
        yield f"{how_many(found.changed, 'passages')} changed: same id, new text."


@operation("snapshots list", act="read the bank", reads=True)
def list_(
    project: Project,
) -> Output:
    """List snapshots of targets, newest first.

    To complete an open snapshot, run exam snapshots add again with its name.
    """
    found = freezes(project)
    return Output({"freezes": [asdict(one) | {"open": one.open} for one in found]}).table(
        ("name", "target", "started", "by", "queries", "failed", "state"),
        [
            (
                one.name,
                one.url,
                f"{one.started_at:%Y-%m-%d %H:%M}",
                one.author,
                one.queries,
                one.failed,
                f"open, {how_many(one.came, 'answers')}" if one.open else "complete",
            )
            for one in found
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
    came = drop_freeze(project, name, author)
    return f"{name}: open snapshot discarded, with {how_many(came, 'answers')}."


@operation("snapshots watch", act="run exams")
def watch(
    project: Project,
    *,
    file: ExistingFile,
    since: Annotated[str, Option(help="Run to compare with.", metavar="RUN")],
    name: Annotated[str | None, Option(help="Name of the new run. Default: --since with the time.")] = None,
    measure: Annotated[str, Option(help="Measure that must not fall.")] = "nDCG@10",
    source: Annotated[str, Option(help="Source of judgments; `exam` for labels from grades.")] = "judgments",
    level: Annotated[
        float, Option(help="Significance level: a fall with a smaller p-value counts.", least=0, most=1)
    ] = LEVEL,
    allow_failed: Annotated[bool, Option(help="Continue even if queries failed.")] = False,
) -> Output:
    """Record a new snapshot, and fail (exit 1) if a measure fell by more than noise since RUN."""
    asked = read_target(text_of(file), file.name)
    check_known("unknown-run", "run", run_names(project), since, hint="Take a snapshot: exam snapshots add.")
    found = _freeze(project, asked, name or f"{since}-{datetime.now(UTC):%Y%m%dT%H%M%S}", None, allow_failed)
    if found.run is None:
        raise InputError(
            "target-without-passages",
            f"{file.name}: the target returns no passages, so no run can be measured.",
            "Set the path of the passages in this file.",
        )
    fall = measure_fall(project, since, found.run, measure, source, level=level)
    changes = diff_of_runs(project, since, found.run, asked.k)
    output = Output({"frozen": asdict(found), "fall": asdict(fall), "changed_queries": len(changes)}).note(
        *_summary(found), _fall(fall, len(changes))
    )
    if fall.fell:
        output.failing(
            GradingError(
                "measure-fell",
                f"{fall.measure} fell from {fall.before:.4f} to {fall.after:.4f}, by more than noise"
                f" (p = {fall.p:.4f}).",
                f"Compare the runs: exam snapshots compare {since} {found.run}.",
            )
        )
    return output


def _fall(fall: Fall, changed: int) -> str:
    chance = "no query differs" if fall.p is None else f"p = {fall.p:.4f}"
    return (
        f"{fall.measure} ({fall.source}): {fall.before:.4f} before, {fall.after:.4f} after"
        f" ({fall.difference:+z.4f} [{fall.low:+z.4f}, {fall.high:+z.4f}], {chance}, {fall.queries:,} queries)."
        f" Queries with different top results: {changed:,}."
    )


@operation("snapshots compare", act="read the bank", reads=True)
def diff(
    project: Project,
    *,
    before: Annotated[str, Argument(metavar="RUN")],
    after: Annotated[str, Argument(metavar="RUN")],
    depth: Annotated[int, Option(help="Number of top ranks to compare.", least=1)] = 10,
) -> Output:
    """List queries whose top results or answers differ between two runs, largest difference first."""
    found = diff_of_runs(project, before, after, depth)
    rows: list[tuple[Any, ...]] = [
        (
            one.query_id, round(one.overlap, 4), " ".join(one.gone) or None, " ".join(one.new) or None, len(one.moved),
            "differs" if one.answer else None,
        )
        for one in found
    ]  # fmt: skip
    return Output({"queries": [asdict(one) for one in found]}).table(
        ("query", "overlap", "removed", "added", "moved", "answer"), rows
    )
