"""Commands about live targets: freezing what an endpoint gives, watching it, and what differs between two freezes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from .. import pipelines
from ..errors import GradingError, InputError, unknown_name
from ..graders import acting, naming
from ..pipelines import LEVEL, Fall, Frozen, Target, diff_of_runs, measure_fall, read_target
from ..project import Project, current_author, drop_freeze, freezes, run_names
from .guests import File, text_of
from .options import (
    Whole,
    author_option,
    counted,
    json_option,
    opened,
    project_option,
)
from .printing import Output, on_project, printed
from .progress import ProgressLines

_file = click.argument("file", type=File(path_type=Path, exists=True, dir_okay=False))


@click.group()
def target() -> None:
    """Query live targets: search and RAG endpoints."""


@target.command("freeze")
@_file
@project_option
@click.option("--name", required=True, help="Name of the new run.")
@click.option("--query", "queries", multiple=True, help="Only this query; may be repeated.")
@click.option("--allow-failed", is_flag=True, help="Keep the snapshot even if queries failed.")
@json_option
@printed
def freeze(file: Path, project_path: Path | None, name: str, queries: tuple[str, ...], allow_failed: bool) -> Output:
    """Query the endpoint that FILE describes, and record its results as a run or as responses.

    If the command is interrupted, run it again with the same name. Only the remaining queries are sent.
    """
    asked = read_target(text_of(file), file.name)
    with opened(project_path) as project:
        found = _freeze(project, asked, name, queries or None, allow_failed)
    return Output(asdict(found)).note(*_summary(found))


def _freeze(project: Project, asked: Target, name: str, queries: tuple[str, ...] | None, allow_failed: bool) -> Frozen:
    # Who runs a command names the address and the variable of its key together, in the file that they give it.
    with acting(naming(asked.url, asked.key_variable or None)):
        return pipelines.freeze(
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
        yield f"{counted(found.changed, 'passage')} changed: same id, new text."


@target.command("list")
@project_option
@json_option
@on_project
def list_(project: Project) -> Output:
    """List snapshots of targets, newest first.

    To complete an open snapshot, run exam target freeze again with its name.
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
                f"open, {counted(one.came, 'answer')}" if one.open else "complete",
            )
            for one in found
        ],
    )


@target.command("drop")
@click.argument("name")
@project_option
@author_option
@on_project
def drop(name: str, project: Project, author: str) -> str:
    """Discard the open snapshot NAME and its answers so far. Saved runs stay."""
    came = drop_freeze(project, name, author)
    return f"{name}: open snapshot discarded, with {counted(came, 'answer')}."


@target.command("watch")
@_file
@project_option
@click.option("--since", required=True, metavar="RUN", help="Run to compare with.")
@click.option("--name", help="Name of the new run. Default: --since with the time.")
@click.option("--measure", default="nDCG@10", show_default=True, help="Measure that must not fall.")
@click.option(
    "--source", default="judgments", show_default=True, help="Source of judgments; `exam` for labels from grades."
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1),
    default=LEVEL,
    show_default=True,
    help="Significance level: a fall with a smaller p-value counts.",
)
@click.option("--allow-failed", is_flag=True, help="Continue even if queries failed.")
@json_option
def watch(
    file: Path,
    project_path: Path | None,
    since: str,
    name: str | None,
    measure: str,
    source: str,
    level: float,
    allow_failed: bool,
    as_json: bool,
) -> None:
    """Record a new snapshot, and fail (exit 1) if a measure fell by more than noise since RUN."""
    asked = read_target(text_of(file), file.name)
    with opened(project_path) as project:
        if since not in run_names(project):
            raise unknown_name("unknown-run", "run", since, run_names(project), "Take a snapshot: exam target freeze.")
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
    output.print(as_json)
    if fall.fell:
        raise GradingError(
            "measure-fell",
            f"{fall.measure} fell from {fall.before:.4f} to {fall.after:.4f}, by more than noise (p = {fall.p:.4f}).",
            f"Compare the runs: exam target diff {since} {found.run}.",
        )


def _fall(fall: Fall, changed: int) -> str:
    chance = "no query differs" if fall.p is None else f"p = {fall.p:.4f}"
    return (
        f"{fall.measure} ({fall.source}): {fall.before:.4f} before, {fall.after:.4f} after"
        f" ({fall.difference:+z.4f} [{fall.low:+z.4f}, {fall.high:+z.4f}], {chance}, {fall.queries:,} queries)."
        f" Queries with different top results: {changed:,}."
    )


@target.command("diff")
@click.argument("before", metavar="RUN")
@click.argument("after", metavar="RUN")
@project_option
@click.option("--depth", type=Whole(1), default=10, show_default=True, help="Ranks to compare.")
@json_option
@on_project
def diff(before: str, after: str, project: Project, depth: int) -> Output:
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
