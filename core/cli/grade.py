"""Commands that plan and run grading jobs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from core.bank import latest_version
from core.cli.options import is_terminal, json_option, opened, print_json, print_table, project_option, tell
from core.errors import GradingError
from core.graders import GRADERS, make_grader
from core.grading import Progress, Request, run_job
from core.jobs import close_interrupted
from core.pairs import make_plan
from core.project import current_author

_grader_option = click.option(
    "--grader",
    "name",
    type=click.Choice(list(GRADERS)),
    default="embedding",
    show_default=True,
    help="What grades.",
)
_query_option = click.option("--query", "queries", multiple=True, help="Only this query; may be repeated.")
_retry_option = click.option("--retry-failed", is_flag=True, help="Ask failed pairs again.")
_limit_option = click.option("--limit", type=click.IntRange(min=1), help="Grade at most this many pairs.")


@click.command()
@project_option
@_grader_option
@_query_option
@_retry_option
@json_option
def plan(project_path: Path | None, name: str, queries: tuple[str, ...], retry_failed: bool, as_json: bool) -> None:
    """Say what a grading job would do: pairs needed, known, failed, to grade."""
    with opened(project_path) as project:
        spec = make_grader(name, {}).spec
        found = asdict(make_plan(project, spec, latest_version(project), queries or None, retry_failed))
    if as_json:
        print_json(found)
    else:
        print_table(("pairs", "count"), [(what.replace("_", " "), count) for what, count in found.items()])


@click.command()
@project_option
@_grader_option
@_query_option
@_retry_option
@_limit_option
@click.option("--dry-run", is_flag=True, help="Only say what would be graded.")
@json_option
def grade(
    project_path: Path | None,
    name: str,
    queries: tuple[str, ...],
    retry_failed: bool,
    limit: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Grade the pairs that are missing. Stopped at any moment, it goes on where it was."""
    with opened(project_path) as project:
        close_interrupted(project)
        grader = make_grader(name, {})
        chosen = queries or None
        planned = make_plan(project, grader.spec, latest_version(project), chosen, retry_failed, limit)
        if dry_run:
            print_json(asdict(planned)) if as_json else tell(f"{planned.to_grade:,} pairs would be graded.")
            return
        request = Request(queries=chosen, retry_failed=retry_failed, limit=limit)
        final = run_job(project, grader, request, current_author(), _show if is_terminal() else _quiet)
    if final.state != "done":
        raise GradingError(final.message, f"{final.graded:,} pairs were graded and are kept.")
    if as_json:
        print_json({"graded": final.graded, "failed": final.failed, "seconds": round(final.seconds, 2)})
    else:
        tell(f"Graded {final.graded:,} pairs, {final.failed:,} failed, in {final.seconds:.0f} s.")


def _show(progress: Progress) -> None:
    left = progress.seconds_left
    rest = f", {left:.0f} s left" if left is not None and not progress.over else ""
    line = f"\r{progress.done:,} of {progress.total:,} pairs, {progress.rate:.0f} a second{rest}"
    click.echo(f"{line:<78}", err=True, nl=progress.over)


def _quiet(progress: Progress) -> None:
    """Nobody watches: say nothing until the end."""
