"""Commands about live targets: freezing what an endpoint gives, watching it, and what differs between two freezes."""

from __future__ import annotations

from collections.abc import Callable
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
    print_json,
    print_rows,
    print_table,
    project_option,
    tell,
)
from .progress import ProgressLines

_file = click.argument("file", type=File(path_type=Path, exists=True, dir_okay=False))


@click.group()
def target() -> None:
    """Query live targets: search and RAG endpoints."""


def _read(file: Path) -> Target:
    return read_target(text_of(file), file.name)


@target.command("freeze")
@_file
@project_option
@click.option("--name", required=True, help="Name of the new run.")
@click.option("--query", "queries", multiple=True, help="Only this query; may be repeated.")
@click.option("--allow-failed", is_flag=True, help="Keep the snapshot even if queries failed.")
@json_option
def freeze(
    file: Path, project_path: Path | None, name: str, queries: tuple[str, ...], allow_failed: bool, as_json: bool
) -> None:
    """Query the endpoint that FILE describes, and record its results as a run or as responses.

    If the command is interrupted, run it again with the same name. Only the remaining queries are sent.
    """
    asked = _read(file)
    with opened(project_path) as project:
        found = _freeze(project, asked, name, queries or None, allow_failed)
    if as_json:
        print_json(asdict(found))
    else:
        _say(found)


def _freeze(project: Project, asked: Target, name: str, queries: tuple[str, ...] | None, allow_failed: bool) -> Frozen:
    # Who runs a command names the address and the variable of its key together, in the file that they give it.
    with acting(naming(asked.url, asked.key_variable or None)):
        return pipelines.freeze(project, asked, name, current_author(), queries, allow_failed, _watch())


def _watch() -> Callable[[int, int], None]:
    lines = ProgressLines("queries")
    return lambda done, total: lines.say(done, total, over=done == total)


def _say(found: Frozen) -> None:
    for query_id, reason in list(found.failed.items())[:10]:
        tell(f"exam: {query_id} failed: {reason}")
    kept = " and ".join(filter(None, (found.run, found.system)))
    if found.before:
        tell(f"Queries answered earlier and not sent again: {found.before:,}.")
    tell(
        f"Queries answered: {found.answered:,} of {found.queries:,}, {found.empty:,} with no results,"
        f" {len(found.failed):,} failed. Saved as {kept}."
    )
    if found.changed:
        tell(f"{counted(found.changed, 'passage')} changed: same id, new text.")


@target.command("list")
@project_option
@json_option
def list_(project_path: Path | None, as_json: bool) -> None:
    """List snapshots of targets, newest first.

    To complete an open snapshot, run exam target freeze again with its name.
    """
    with opened(project_path) as project:
        found = freezes(project)
    print_rows(
        as_json,
        {"freezes": [asdict(one) | {"open": one.open} for one in found]},
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
def drop(name: str, project_path: Path | None, author: str) -> None:
    """Discard the open snapshot NAME and its answers so far. Saved runs stay."""
    with opened(project_path) as project:
        came = drop_freeze(project, name, author)
    tell(f"{name}: open snapshot discarded, with {counted(came, 'answer')}.")


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
    asked = _read(file)
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
    if as_json:
        print_json({"frozen": asdict(found), "fall": asdict(fall), "changed_queries": len(changes)})
    else:
        _say(found)
        _say_fall(fall, len(changes))
    if fall.fell:
        raise GradingError(
            "measure-fell",
            f"{fall.measure} fell from {fall.before:.4f} to {fall.after:.4f}, by more than noise (p = {fall.p:.4f}).",
            f"Compare the runs: exam target diff {since} {found.run}.",
        )


def _say_fall(fall: Fall, changed: int) -> None:
    chance = "no query differs" if fall.p is None else f"p = {fall.p:.4f}"
    tell(
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
def diff(before: str, after: str, project_path: Path | None, depth: int, as_json: bool) -> None:
    """List queries whose top results or answers differ between two runs, largest difference first."""
    with opened(project_path) as project:
        found = diff_of_runs(project, before, after, depth)
    if as_json:
        print_json({"queries": [asdict(one) for one in found]})
        return
    rows: list[tuple[Any, ...]] = [
        (
            one.query_id, round(one.overlap, 4), " ".join(one.gone) or None, " ".join(one.new) or None, len(one.moved),
            "differs" if one.answer else None,
        )
        for one in found
    ]  # fmt: skip
    print_table(("query", "overlap", "removed", "added", "moved", "answer"), rows)
