"""Commands that plan and run grading jobs."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from core.bank import check_version
from core.catalogue import find_grader, remember_settings
from core.cli.grader_options import GraderChoice, grader_options
from core.cli.options import Whole, counted, json_option, opened, print_json, print_table, project_option, tell
from core.cli.progress import ProgressLines
from core.errors import GradingError
from core.grading import (
    PriceTag,
    Progress,
    Request,
    Scope,
    close_interrupted,
    left_out,
    make_control,
    make_plan,
    price_tag,
    run_job,
)
from core.project import Project, current_author
from core.types import GraderSpec


def _scope_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which pairs are meant; the command gets them as `scope`."""

    @functools.wraps(command)
    def with_scope(
        *args: Any,
        queries: tuple[str, ...],
        runs: tuple[str, ...],
        retry_failed: bool,
        only_failed: bool,
        **others: Any,
    ) -> Any:
        return command(*args, scope=Scope(queries or None, runs or None, retry_failed, only_failed), **others)

    for option in (
        click.option("--only-failed", is_flag=True, help="Ask failed pairs again and nothing else."),
        click.option("--retry-failed", is_flag=True, help="Ask failed pairs again, too."),
        click.option("--run", "runs", multiple=True, help="Only what this run has in the pool; may be repeated."),
        click.option("--query", "queries", multiple=True, help="Only this query; may be repeated."),
    ):
        with_scope = option(with_scope)
    return with_scope


_version_option = click.option("--bank-version", type=Whole(), help="Bank version; the newest where not given.")
_limit_option = click.option("--limit", type=Whole(1), help="Grade at most this many pairs.")


@click.command()
@project_option
@grader_options
@_scope_options
@_version_option
@json_option
def plan(
    project_path: Path | None,
    chosen: GraderChoice,
    scope: Scope,
    bank_version: int | None,
    as_json: bool,
) -> None:
    """Say what a grading job would do: pairs needed, known, failed, to grade."""
    with opened(project_path) as project:
        spec = chosen.make(project).spec
        version = check_version(project, bank_version)
        _tell_unknown(project, spec, version, scope)
        found = asdict(make_plan(project, spec, version, scope))
    if as_json:
        print_json(found)
    else:
        textless = found.pop("without_text")
        print_table(("pairs", "count"), [(what.replace("_", " "), count) for what, count in found.items()])
        if textless:
            tell(f"{textless:,} pooled passages have no text: they cannot be graded and are not counted here.")


@click.command()
@project_option
@grader_options
@_scope_options
@_version_option
@_limit_option
@click.option("--max-cost", type=click.FloatRange(min=0), help="Money that the job may spend at most.")
@click.option("--max-calls", type=Whole(1), help="Calls of the model at most, retries included.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1024),
    default=Request.concurrency,
    show_default=True,
    help="Calls in flight at most.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be graded, and what that would take.")
@json_option
def grade(
    project_path: Path | None,
    chosen: GraderChoice,
    scope: Scope,
    bank_version: int | None,
    limit: int | None,
    max_cost: float | None,
    max_calls: int | None,
    concurrency: int,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Grade the pairs that are missing. Stopped at any moment, it goes on where it was."""
    scope = replace(scope, limit=limit)
    with opened(project_path) as project:
        close_interrupted(project)
        grader = chosen.make(project)
        version = check_version(project, bank_version)
        _tell_unknown(project, grader.spec, version, scope)
        if dry_run:
            planned = make_plan(project, grader.spec, version, scope)
            tag = price_tag(project, grader, version, scope)
            if as_json:
                print_json(asdict(planned) | {"price_tag": asdict(tag)})
            else:
                tell(f"To be graded: {counted(planned.to_grade, 'pair')}{_price(tag)}.")
            return
        request = Request(scope, bank_version, max_calls, max_cost, concurrency)
        remember_settings(project, grader, chosen.kind, chosen.parameters, current_author())
        control = make_control(project, grader, request, lambda line: tell(f"exam: {line}"))
        final = run_job(project, grader, request, current_author(), _watch(), control)
        shown = find_grader(project, None).spec
        name = find_grader(project, grader.spec.fingerprint).spec.name
    if final.state in ("failed", "cancelled"):
        raise GradingError(final.message, f"{counted(final.graded, 'pair')} graded so far: kept.")
    if as_json:
        print_json(_result(final) | {"grader": name, "boards_show": shown.name})
        return
    tell(f"Graded {counted(final.graded, 'pair')}, {final.failed:,} failed, in {final.seconds:.0f} s.")
    if final.defaulted:
        tell(f"{final.defaulted:,} of the ratings are defaults: the model gave no number.")
    if final.message:
        tell(final.message)
    if shown.fingerprint not in grader.spec.fingerprints:
        tell(
            f"Boards and labels show '{shown.name}' where no grader is named."
            f" To see this one, add: --grader {shlex.quote(name)}"
        )


def _tell_unknown(project: Project, spec: GraderSpec, version: int, scope: Scope) -> None:
    """Say what cannot be asked because nobody knows its words; an id is never asked in their place."""
    if unknown := left_out(project, spec, version, scope.queries).no_text:
        what, kind = ("queries", "queries") if spec.method == "direct" else ("questions", "bank")
        tell(f"Not asked: {unknown:,} {what} known by id only. Import their words: exam import {kind} FILE.")


def _result(final: Progress) -> dict[str, Any]:
    return {
        "state": final.state,
        "graded": final.graded,
        "defaulted": final.defaulted,
        "failed": final.failed,
        "seconds": round(final.seconds, 2),
        **asdict(final.usage),
    }


def _price(tag: PriceTag) -> str:
    if not tag.calls:
        return ""
    cost = "" if tag.cost is None else f", {tag.cost:,.2f} in money"
    about = "" if tag.counted else "about "
    return f": {tag.calls:,} calls, {about}{tag.input_tokens:,} tokens read and {tag.output_tokens:,} written{cost}"


def _watch() -> Callable[[Progress], None]:
    lines = ProgressLines("pairs")
    return lambda progress: lines.say(progress.done, progress.total, progress.rate, progress.over)
