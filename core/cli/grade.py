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
from core.cli.batch import grade_in_batches
from core.cli.grader_options import GraderChoice, grader_options
from core.cli.guests import File, Guest, close_unfinished, guest
from core.cli.options import (
    Whole,
    at_a_shell,
    counted,
    json_option,
    opened,
    print_json,
    print_table,
    project_option,
    tell,
)
from core.cli.patience import patience_option
from core.cli.progress import ProgressLines, tell_of_calls
from core.errors import GradingError, InputError
from core.formats import Source
from core.graders import grade_plan as grade_on_ray
from core.graders import holds_grades
from core.grading import (
    BackgroundJob,
    PriceTag,
    Progress,
    Request,
    Scope,
    left_out,
    make_control,
    make_plan,
    price_tag,
    run_job,
    start_job,
    take_in,
    take_in_grades,
    write_missing,
)
from core.project import Project, current_author
from core.types import GraderSpec

LOOK_SECONDS = 0.2
"""Between two looks at a job that runs in the server: so long a stop may take."""


def _scope_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which pairs are meant; the command gets them as `scope`."""

    @functools.wraps(command)
    def with_scope(
        *args: Any,
        queries: tuple[str, ...],
        runs: tuple[str, ...],
        top: int | None,
        retry_failed: bool,
        only_failed: bool,
        **others: Any,
    ) -> Any:
        scope = Scope(queries or None, runs or None, retry_failed, only_failed, top=top)
        return command(*args, scope=scope, **others)

    for option in (
        click.option("--only-failed", is_flag=True, help="Ask failed pairs again and nothing else."),
        click.option("--retry-failed", is_flag=True, help="Ask failed pairs again, too."),
        click.option("--top", type=Whole(1), metavar="K", help="Only the first K passages of each run per query."),
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
@click.option(
    "-o",
    "--output",
    type=File(written=True, path_type=Path, dir_okay=False),
    help="Write the missing calls or pairs to this file, for another engine: .jsonl (calls only) or .parquet.",
)
@click.option(
    "--after",
    "answers",
    type=File(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="Answers to earlier calls, so that second ones are written; may be repeated.",
)
@json_option
def plan(
    project_path: Path | None,
    chosen: GraderChoice,
    scope: Scope,
    bank_version: int | None,
    output: Path | None,
    answers: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Say what a grading job would do: pairs needed, known, failed, to grade."""
    if answers and output is None:
        raise InputError("option-missing", "--after is for writing calls.", "Name the file for them with -o.")
    with opened(project_path) as project:
        grader = chosen.make(project)
        spec = grader.spec
        version = check_version(project, bank_version)
        _tell_unknown(project, spec, version, scope)
        found = asdict(make_plan(project, spec, version, scope))
        if output is not None:
            sources = [Source.of(str(path)) for path in answers]
            written = write_missing(project, grader, output, version, scope, sources, chosen.parameters)
            remember_settings(project, grader, chosen.kind, chosen.parameters, current_author())
            found |= asdict(written)
    if as_json:
        print_json(found)
    else:
        textless = found.pop("without_text")
        if output is not None:
            tell(f"{counted(written.calls, 'row')} written to {output}. Take the answers in with exam ingest.")
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
@patience_option
@click.option("--batch", is_flag=True, help="As batches: an endpoint answers within a day, for half the price.")
@click.option("--batch-size", type=Whole(1), help="Calls of a batch at most.")
@click.option("--no-wait", is_flag=True, help="Send the batches and leave; run it again to take the answers in.")
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
    patience: float,
    batch: bool,
    batch_size: int | None,
    no_wait: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Grade the pairs that are missing. Stopped at any moment, it goes on where it was."""
    scope = replace(scope, limit=limit)
    if not batch and (batch_size is not None or no_wait):
        raise InputError("option-missing", "--batch-size and --no-wait are for batches.", "Say --batch too.")
    request = Request(
        scope, bank_version, max_calls, max_cost, concurrency, batch=batch, batch_size=batch_size,
        patience=patience,
    )  # fmt: skip
    if batch and not dry_run:
        grade_in_batches(project_path, chosen, request, no_wait, as_json)
        return
    with opened(project_path) as project:
        close_unfinished(project)
        grader = chosen.make(project)
        version = check_version(project, bank_version)
        _tell_unknown(project, grader.spec, version, scope)
        if dry_run:
            planned = make_plan(project, grader.spec, version, scope)
            tag = price_tag(project, grader, version, scope)
            if as_json:
                print_json(asdict(planned) | {"price_tag": asdict(tag)})
            else:
                tell(f"To be graded: {counted(planned.to_grade, 'pair')}{price_words(tag, batch)}.")
            return
        remember_settings(project, grader, chosen.kind, chosen.parameters, current_author())
        host = guest()
        if host is None:
            control = make_control(project, grader, request, tell_of_calls())
            final = run_job(project, grader, request, current_author(), _watch(), control)
        else:
            job = start_job(project, grader, request, current_author())
            if host.background:
                print_json({"grader": grader.spec.name, "state": job.progress.state})
                return
            final = _follow(job, host)
        shown = find_grader(project, None).spec
        name = find_grader(project, grader.spec.fingerprint).spec.name
    if final.state in ("failed", "cancelled"):
        raise GradingError("job-failed", final.message, f"{counted(final.graded, 'pair')} graded so far: kept.")
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


@click.command()
@project_option
@click.argument("files", type=File(path_type=Path), nargs=-1, required=True)
@grader_options
@json_option
def ingest(project_path: Path | None, files: tuple[Path, ...], chosen: GraderChoice, as_json: bool) -> None:
    """Take in answers or grades for what exam plan -o wrote.

    Give the same grader. The order of the files does not matter, and you can give them again. For a folder, all
    Parquet files in it are taken in.
    """
    if lacking := [path for path in files if not path.exists()]:
        if guest() is not None:
            raise InputError(
                "file-not-sent",
                f"{lacking[0].name}: no file of this name was sent to the server that has the project open.",
                "Name the files themselves, as FOLDER/*.parquet: a folder is not sent.",
            )
        raise InputError("no-such-file", f"{lacking[0]}: there is no such file.")
    files = tuple(one for path in files for one in (sorted(path.glob("*.parquet")) if path.is_dir() else [path]))
    if not files:
        raise InputError("no-such-file", "No Parquet file in the folder.", "Name the folder of exam grade-plan.")
    graded = [holds_grades(path) for path in files]
    if any(graded) and not all(graded):
        raise InputError(
            "mixed-files", "Some of the files hold grades, others hold answers.", "Take them in separately."
        )
    with opened(project_path) as project:
        close_unfinished(project)
        grader = chosen.make(project)
        if any(graded):
            taken = take_in_grades(project, grader, files, current_author())
        else:
            taken = take_in(project, grader, list(map(Source.of, map(str, files))), current_author())
        if taken.graded or taken.failed:
            remember_settings(project, grader, chosen.kind, chosen.parameters, current_author())
    if as_json:
        print_json(asdict(taken))
        return
    tell(f"Graded {counted(taken.graded, 'pair')}, {taken.failed:,} failed; {taken.known:,} had a grade before.")
    for number, what in (
        (taken.defaulted, "of the ratings are defaults: the model gave no number."),
        (taken.unanswered, "calls were not answered. exam plan -o writes them again."),
        (
            taken.unfinished,
            "pairs need another call: exam plan -o FILE --after ANSWERS writes it. Then give all answers.",
        ),
        (taken.unmatched, "answers are to calls that this grader does not make: its settings are others than planned."),
    ):
        if number:
            tell(f"{number:,} {what}")
    if taken.remarks:
        tell(taken.remarks)


@click.command("grade-plan")
@click.argument("plan", type=File(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "-o",
    "--output",
    type=File(True, path_type=Path),
    required=True,
    help="Folder for the grades; rows in it are not asked again.",
)
@click.option("--address", help="Of a Ray cluster, as head:6379; this computer alone if not given.")
@click.option(
    "--workers", type=Whole(1), help="Workers, each with a model; one for each GPU or processor if not given."
)
@click.option("--gpus", type=click.FloatRange(min=0), help="GPUs of each worker; 1 if the cluster has any.")
@json_option
def grade_plan(
    plan: Path, output: Path, address: str | None, workers: int | None, gpus: float | None, as_json: bool
) -> None:
    """Grade a plan on a Ray cluster; no project is needed. Take the grades in with exam ingest."""
    at_a_shell()
    done = grade_on_ray(plan, output, address, workers, gpus, lambda line: tell(f"exam: {line}"))
    if as_json:
        print_json(asdict(done))
    else:
        tell(f"{output} has {done.done:,} of {counted(done.rows, 'row')}, {done.done - done.before:,} of them new.")
    if missing := done.rows - done.done:
        raise GradingError(
            "rows-without-grade",
            f"{counted(missing, 'row')} without a grade: every worker that got them died.",
            "See the logs of Ray, and run the command again. exam ingest takes in the others.",
        )


def _tell_unknown(project: Project, spec: GraderSpec, version: int, scope: Scope) -> None:
    """Say what cannot be asked because nobody knows its words; an id is never asked in their place."""
    if unknown := left_out(project, spec, version, scope.queries).no_text:
        what, kind = ("queries", "queries") if spec.method == "direct" else ("questions", "bank")
        tell(f"Not asked: {unknown:,} {what} known by id only. Import their words: exam import {kind} FILE.")


def _follow(job: BackgroundJob, host: Guest) -> Progress:
    """Tell of a job that screens show too until it has ended; whoever asked for it can stop it meanwhile."""
    watch, told, over = _watch(), 0, False
    while not over:
        over = job.wait(LOOK_SECONDS)
        try:
            host.check_stopped()
            lines = list(job.log)
            told, fresh = len(lines), lines[told:]
            for line in fresh:
                tell(f"exam: {line}")
            watch(job.progress)
        except KeyboardInterrupt as stopped:
            job.cancel(str(stopped))
    return job.progress


def _result(final: Progress) -> dict[str, Any]:
    return {
        "state": final.state,
        "graded": final.graded,
        "defaulted": final.defaulted,
        "failed": final.failed,
        "seconds": round(final.seconds, 2),
        **asdict(final.usage),
    }


def price_words(tag: PriceTag, batch: bool = False) -> str:
    """What a price tag says, to follow a number of pairs; nothing where no model is called."""
    if not tag.calls:
        return ""
    money = tag.batch_cost if batch else tag.cost
    cost = "" if money is None else f", {money:,.2f} in money"
    if not batch and tag.batch_cost is not None:
        cost += f" ({tag.batch_cost:,.2f} with --batch)"
    about = "" if tag.counted else "about "
    cached = f" ({tag.cached_tokens:,} of them cached)" if tag.cached_tokens else ""
    thinking = f" ({tag.thinking_tokens:,} of them thinking)" if tag.thinking_tokens else ""
    return (
        f": {tag.calls:,} calls, {about}{tag.input_tokens:,} tokens read{cached} and {tag.output_tokens:,}"
        f" written{thinking}{cost}"
    )


def _watch() -> Callable[[Progress], None]:
    lines = ProgressLines("pairs")
    return lambda progress: lines.say(progress.done, progress.total, progress.rate, progress.over)
