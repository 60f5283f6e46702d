"""Commands about live targets: freezing what an endpoint gives, watching it, and what differs between two freezes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from core import pipelines
from core.cli.guests import File, text_of
from core.cli.options import (
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
from core.cli.progress import ProgressLines
from core.errors import GradingError, InputError
from core.graders import acting, naming
from core.pipelines import LEVEL, Fall, Frozen, Target, diff_of_runs, measure_fall, read_target
from core.project import Project, current_author, drop_freeze, freezes, run_names

_file = click.argument("file", type=File(path_type=Path, exists=True, dir_okay=False))


@click.group()
def target() -> None:
    """Live targets: search and RAG endpoints that are asked for every query."""


def _read(file: Path) -> Target:
    return read_target(text_of(file), file.name)


@target.command("freeze")
@_file
@project_option
@click.option("--name", required=True, help="Of the run that it becomes; it must be new.")
@click.option("--query", "queries", multiple=True, help="Only this query; may be repeated.")
@click.option("--allow-failed", is_flag=True, help="Keep the rest where queries failed.")
@json_option
def freeze(
    file: Path, project_path: Path | None, name: str, queries: tuple[str, ...], allow_failed: bool, as_json: bool
) -> None:
    """Ask the endpoint that FILE describes for every query, and keep what it gives as a run, or responses.

    Interrupted, it keeps what came: done again under the same name, it asks the rest.
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
        tell(f"{found.before:,} had come before and were not asked again.")
    tell(
        f"{counted(found.answered, 'query').replace('querys', 'queries')} of {found.queries:,} answered,"
        f" {found.empty:,} with nothing, {len(found.failed):,} failed; kept as {kept}."
    )
    if found.changed:
        tell(f"{counted(found.changed, 'passage')} with another text than before under the same id.")


@target.command("list")
@project_option
@json_option
def list_(project_path: Path | None, as_json: bool) -> None:
    """List the freezes of targets, the newest first, with those that are open: freeze them again to ask the rest."""
    with opened(project_path) as project:
        found = freezes(project)
    print_rows(
        as_json,
        {"freezes": [asdict(one) | {"open": one.open} for one in found]},
        ("name", "target", "begun", "by", "queries", "failed", "state"),
        [
            (
                one.name,
                one.url,
                f"{one.started_at:%Y-%m-%d %H:%M}",
                one.author,
                one.queries,
                one.failed,
                f"open, {one.came:,} came" if one.open else "frozen",
            )
            for one in found
        ],
    )


@target.command("drop")
@click.argument("name")
@project_option
@author_option
def drop(name: str, project_path: Path | None, author: str) -> None:
    """Give up the open freeze NAME: what came so far goes. What was kept as a run stays."""
    with opened(project_path) as project:
        came = drop_freeze(project, name, author)
    tell(f"{name}: given up after {counted(came, 'answer')} had come.")


@target.command("watch")
@_file
@project_option
@click.option("--since", required=True, metavar="RUN", help="The run that it is compared with.")
@click.option("--name", help="Of the new run; --since with the time where not given.")
@click.option("--measure", default="nDCG@10", show_default=True, help="What must not fall.")
@click.option(
    "--source", default="judgments", show_default=True, help="Source of judgments; `exam` for what grades say."
)
@click.option(
    "--level", type=click.FloatRange(0, 1), default=LEVEL, show_default=True, help="Chance below which a fall counts."
)
@click.option("--allow-failed", is_flag=True, help="Go on where queries failed.")
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
    """Freeze the endpoint again and fail (exit 1) where a measure fell by more than noise since RUN."""
    asked = _read(file)
    with opened(project_path) as project:
        if since not in run_names(project):
            raise InputError(
                "unknown-run", f"There is no run '{since}'.", "Freeze the target first: exam target freeze."
            )
        found = _freeze(project, asked, name or f"{since}-{datetime.now(UTC):%Y%m%dT%H%M%S}", None, allow_failed)
        if found.run is None:
            raise InputError(
                "target-without-passages",
                "This target gives no passages, so that there is no run to measure.",
                "Name their path.",
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
            f"See what changed: exam target diff {since} {found.run}.",
        )


def _say_fall(fall: Fall, changed: int) -> None:
    chance = "no query differs" if fall.p is None else f"p = {fall.p:.4f}"
    tell(
        f"{fall.measure} by {fall.source}: {fall.before:.4f} before, {fall.after:.4f} after"
        f" ({fall.difference:+z.4f} [{fall.low:+z.4f}, {fall.high:+z.4f}], {chance}, {fall.queries:,} queries);"
        f" the top of {changed:,} differs."
    )


@target.command("diff")
@click.argument("before", metavar="RUN")
@click.argument("after", metavar="RUN")
@project_option
@click.option("--depth", type=Whole(1), default=10, show_default=True, help="How deep one looks.")
@json_option
def diff(before: str, after: str, project_path: Path | None, depth: int, as_json: bool) -> None:
    """Say for which queries the top or the answer of two runs differs, those that differ most first."""
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
    print_table(("query", "overlap", "gone", "new", "moved", "answer"), rows)
