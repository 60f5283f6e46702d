"""Commands that plan and run grading jobs."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from ..bank import check_version, find_grader, remember_settings
from ..errors import GradingError, InputError
from ..formats import Source
from ..graders import grade_plan as grade_on_ray, holds_grades
from ..grading import (
    PriceTag,
    Request,
    Scope,
    judged_sample,
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
from ..jobs import BackgroundJob, Progress
from ..records import find_source
from ..store import Project, current_author
from ..types import GraderSpec
from .batch import grade_in_batches
from .console import Guest, at_a_shell, close_unfinished, counted, guest, tell, warn_of_terms
from .describing import Argument, Gathered, Option
from .grader_options import GraderOptions
from .opening import Opening
from .output import Output
from .patience import Patience
from .progress import ProgressLines, tell_of_calls
from .registry import operation

LOOK_SECONDS = 0.2
"""Seconds between two checks of a job that runs in the server; a stop may take this long."""


def _scope(
    *,
    queries: Annotated[tuple[str, ...], Option("--query", help="Only this query; may be repeated.")] = (),
    runs: Annotated[tuple[str, ...], Option("--run", help="Only pooled passages of this run; may be repeated.")] = (),
    top: Annotated[
        int | None, Option(help="Only the first K passages of each run per query.", metavar="K", least=1)
    ] = None,
    retry_failed: Annotated[bool, Option(help="Retry failed pairs too.")] = False,
    only_failed: Annotated[bool, Option(help="Retry only failed pairs.")] = False,
    sentences: Annotated[
        bool, Option(help="Grade the sentences that cite instead of passages, for Supported-Cover.")
    ] = False,
) -> Scope:
    return Scope(queries or None, runs or None, retry_failed, only_failed, top=top, sentences=sentences)


ScopeOptions = Annotated[Scope, Gathered(_scope)]
"""Options that select pairs."""
BankVersion = Annotated[int | None, Option(help="Bank version (default: the newest).")]
_PLANNED = {
    "known": "already graded",
    "to_grade": "to grade",
    "weightless": "weight 0 or less",
    "sent": "sent in a batch",
    "calls": "rows written",
    "settled": "need no call",
}
"""Names of the counts of a plan, if they differ from their keys."""
Limit = Annotated[int | None, Option(help="Grade at most this many pairs.", least=1)]


@operation("plan", act="read the bank", reads=lambda given: given["examples"] is None and given["output"] is None)
def plan(
    opening: Opening,
    *,
    chosen: GraderOptions,
    scope: ScopeOptions,
    bank_version: BankVersion = None,
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            help="Write a file for grading elsewhere. FILE.jsonl: model calls; FILE.parquet: ungraded pairs.",
            file="write",
        ),
    ] = None,
    answers: Annotated[
        tuple[Path, ...],
        Option(
            "--after",
            help="Answers to earlier calls, to write follow-up calls; may be repeated.",
            file="read",
            exists=True,
        ),
    ] = (),
) -> Output:
    """Plan a grading job: count the pairs already graded, failed and to grade."""
    if answers and output is None:
        raise InputError("option-missing", "--after needs an output file.", "Use -o FILE too.")
    with opening() as project:
        grader = chosen.make(project)
        spec = grader.spec
        version = check_version(project, bank_version)
        _tell_unknown(project, spec, version, scope)
        found = asdict(make_plan(project, spec, version, scope))
        if output is not None:
            warn_of_terms(project)
            sources = [Source.of(str(path)) for path in answers]
            written = write_missing(project, grader, output, version, scope, sources, chosen.parameters)
            remember_settings(project, grader, chosen.kind, chosen.parameters, current_author())
            found |= asdict(written)
    printed_plan = Output(found)
    if output is not None:
        printed_plan.note(f"Wrote {counted(written.calls, 'row')} to {output}. To import the answers: exam ingest")
    counts = [(_PLANNED.get(what, what), count) for what, count in found.items() if what != "without_text"]
    printed_plan.table(("pairs", "count"), counts)
    if textless := found["without_text"]:
        printed_plan.note(f"Not counted: {counted(textless, 'passage')} without text.")
    return printed_plan


@operation("grade", act="grade")
def grade(
    opening: Opening,
    *,
    chosen: GraderOptions,
    scope: ScopeOptions,
    bank_version: BankVersion = None,
    limit: Limit = None,
    judged: Annotated[
        int | None,
        Option(help="Grade only so many judged passages, spread over the values of the first judgments.", least=1),
    ] = None,
    max_cost: Annotated[float | None, Option(help="Cost limit, in the currency of exam prices.", least=0)] = None,
    max_calls: Annotated[int | None, Option(help="Call limit, retries included.", least=1)] = None,
    concurrency: Annotated[int, Option(help="Parallel calls.", least=1, most=1024)] = Request.concurrency,
    patience: Patience,
    batch: Annotated[bool, Option(help="Send the calls as batches, answered within a day at half the price.")] = False,
    batch_size: Annotated[int | None, Option(help="Largest number of calls per batch.", least=1)] = None,
    no_wait: Annotated[
        bool, Option(help="Exit after sending the batches; exam batch fetch imports the answers.")
    ] = False,
    dry_run: Annotated[bool, Option(help="Show the planned pairs and their estimated cost; grade nothing.")] = False,
) -> Output | str:
    """Grade the ungraded pairs. Interrupted jobs resume."""
    scope = replace(scope, limit=limit)
    if not batch and (batch_size is not None or no_wait):
        raise InputError("option-missing", "--batch-size and --no-wait need --batch.", "Add --batch.")
    request = Request(
        scope, bank_version, max_calls=max_calls, max_cost=max_cost, concurrency=concurrency, patience=patience,
        batch=batch, batch_size=batch_size,
    )  # fmt: skip
    if batch and judged is not None:
        raise InputError(
            "options-exclude-each-other", "--judged cannot be combined with --batch.", "Remove one of them."
        )
    if batch and not dry_run:
        return grade_in_batches(opening, chosen, request, no_wait)
    with opening() as project:
        close_unfinished(project)
        grader = chosen.make(project)
        version = check_version(project, bank_version)
        if judged is not None:
            sample = judged_sample(project, grader.spec, find_source(project, "judgments"), judged)
            scope = replace(scope, passages=tuple((query, passage) for query, passage, _ in sample))
            request = replace(request, scope=scope)
        _tell_unknown(project, grader.spec, version, scope)
        if dry_run:
            planned = make_plan(project, grader.spec, version, scope)
            tag = price_tag(project, grader, version, scope)
            output = Output(asdict(planned) | {"price_tag": asdict(tag)})
            return output.note(f"Planned: {counted(planned.to_grade, 'pair')}{price_words(tag, batch)}.")
        remember_settings(project, grader, chosen.kind, chosen.parameters, current_author())
        host = guest()
        if host is None:
            control = make_control(project, grader, request, tell_of_calls())
            final = run_job(project, grader, request, current_author(), _watch(), control)
        else:
            job = start_job(project, grader, request, current_author())
            if host.background:
                return Output({"grader": grader.spec.name, "state": job.progress.state})
            final = _follow(job, host)
        of_citations = grader.spec.rates_citations
        shown = grader.spec if of_citations else find_grader(project, None).spec
        name = find_grader(project, grader.spec.fingerprint).spec.name
    if final.state in ("failed", "cancelled"):
        raise GradingError("job-failed", final.message, f"Saved: {counted(final.graded, 'grade')}.")
    output = Output(_result(final) | {"grader": name, "boards_show": None if of_citations else shown.name}).note(
        f"Graded {counted(final.graded, 'pair')}, {final.failed:,} failed, in {final.seconds:.0f} s.",
        f"Default ratings, because the model gave no number: {final.defaulted:,}." if final.defaulted else None,
        final.message,
    )
    if of_citations:
        output.note("To see the scores: exam support show")
    if shown.fingerprint not in grader.spec.fingerprints:
        output.note(
            f"The default grader of leaderboards and labels is '{shown.name}'."
            f" To use this grader, add: --grader {shlex.quote(name)}"
        )
    return output


@operation("ingest", act="import files")
def ingest(
    opening: Opening,
    *,
    files: Annotated[tuple[Path, ...], Argument(file="read")],
    chosen: GraderOptions,
) -> Output:
    """Import answers or grades for a file of exam plan -o.

    Use the same grader options as for the plan. You can import the files in any order and repeatedly. From a folder,
    all Parquet files are imported.
    """
    if lacking := [path for path in files if not path.exists()]:
        if guest() is not None:
            raise InputError(
                "file-not-sent",
                f"The server that has the project open did not receive the file {lacking[0].name}.",
                "Name files instead of a folder: FOLDER/*.parquet.",
            )
        raise InputError("no-such-file", f"File not found: {lacking[0]}.", "Check the path.")
    files = tuple(one for path in files for one in (sorted(path.glob("*.parquet")) if path.is_dir() else [path]))
    if not files:
        raise InputError(
            "no-such-file", "The folder has no Parquet files.", "Use the output folder of exam grade-plan."
        )
    graded = [holds_grades(path) for path in files]
    if any(graded) and not all(graded):
        raise InputError("mixed-files", "Some of the files contain grades, others answers.", "Import them separately.")
    with opening() as project:
        close_unfinished(project)
        grader = chosen.make(project)
        if any(graded):
            taken = take_in_grades(project, grader, files, current_author())
        else:
            taken = take_in(project, grader, list(map(Source.of, map(str, files))), current_author())
        if taken.graded or taken.failed:
            remember_settings(project, grader, chosen.kind, chosen.parameters, current_author())
    further = {
        "Default ratings, because the model gave no number": taken.defaulted,
        "Unanswered calls, to write again with exam plan -o FILE": taken.unanswered,
        "Pairs that need a follow-up call, to write with exam plan -o FILE --after ANSWERS": taken.unfinished,
        "Ignored answers, because the grader settings differ from the plan": taken.unmatched,
    }
    return Output(asdict(taken)).note(
        f"Graded {counted(taken.graded, 'pair')}, {taken.failed:,} failed, {taken.known:,} were already graded.",
        *(f"{what}: {number:,}." for what, number in further.items() if number),
        taken.remarks,
    )


@operation("grade-plan", act="grade", at_shell=True)
def grade_plan(
    *,
    plan: Annotated[Path, Argument(file="read", exists=True)],
    output: Annotated[
        Path, Option("-o", "--output", help="Output folder; rows in it are not graded again.", file="write")
    ],
    address: Annotated[
        str | None, Option(help="Address of a Ray cluster, for example head:6379 (default: this computer).")
    ] = None,
    workers: Annotated[
        int | None, Option(help="Workers, each with its own model (default: one per GPU or processor).", least=1)
    ] = None,
    gpus: Annotated[float | None, Option(help="GPUs per worker (default: 1 if the cluster has GPUs).", least=0)] = None,
) -> Output:
    """Grade a plan on a Ray cluster, without a project. Import the grades with exam ingest."""
    at_a_shell()
    done = grade_on_ray(plan, output, address, workers, gpus, lambda line: tell(f"exam: {line}"))
    missing = done.rows - done.done
    failure = GradingError(
        "rows-without-grade",
        f"Ungraded: {counted(missing, 'row')}, because their workers failed.",
        "Check the logs of Ray, and run the command again.",
    )
    summary = f"{output}: {done.done:,} of {counted(done.rows, 'row')} graded, {done.done - done.before:,} new."
    return Output(asdict(done)).note(summary).failing(failure if missing else None)


def _tell_unknown(project: Project, spec: GraderSpec, version: int, scope: Scope) -> None:
    """Print how many queries or questions are skipped because their text is unknown; an id is never graded instead."""
    if unknown := left_out(project, spec, version, scope.queries).no_text:
        what, kind = ("queries", "queries") if spec.method == "direct" else ("questions", "bank")
        tell(f"Skipped: {unknown:,} {what} without text. Import it: exam import {kind} FILE")


def _follow(job: BackgroundJob, host: Guest) -> Progress:
    """Print the progress of a job that screens show too, until it has ended or the person stops it."""
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
            job.control.cancel(str(stopped))
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
    """Return the words of a price tag that follow a number of pairs; empty if no model is called."""
    if not tag.calls:
        return ""
    money = tag.batch_cost if batch else tag.cost
    cost = "" if money is None else f", cost {money:,.2f}"
    if not batch and tag.batch_cost is not None:
        cost += f" ({tag.batch_cost:,.2f} with --batch)"
    about = "" if tag.counted else "about "
    cached = f" ({tag.cached_tokens:,} cached)" if tag.cached_tokens else ""
    thinking = f" ({tag.thinking_tokens:,} thinking)" if tag.thinking_tokens else ""
    again = f" ({tag.sentinels:,} repeated pairs included)" if tag.sentinels else ""
    return (
        f". Estimated: {tag.calls:,} calls{again}, {about}{tag.input_tokens:,} input tokens{cached} and"
        f" {tag.output_tokens:,} output tokens{thinking}{cost}"
    )


def _watch() -> Callable[[Progress], None]:
    lines = ProgressLines("pairs")
    return lambda progress: lines.say(progress.done, progress.total, progress.rate, progress.over)
