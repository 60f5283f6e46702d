"""Commands that plan and run grading jobs, also as batches, and list jobs and failed pairs."""

from __future__ import annotations

import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, cast

from .. import bank, formats, graders, grading, jobs, records
from ..choices import CONCURRENCY
from ..errors import GradingError, InputError
from ..records import JOB_SUBJECTS
from ..text import how_many
from ..types import GraderSpec
from .console import (
    ProgressLines,
    ServedRequest,
    call_note_printer,
    check_ended,
    current_request,
    find_total_failure,
    pause_seconds,
    price_words,
    print_message,
    warn_of_terms,
)
from .grader_options import GraderChoice, GraderOptions, Patience
from .registry import (
    Argument,
    GatheredOptions,
    Opening,
    Option,
    Output,
    Project,
    at_most_one,
    current_author,
    operation,
)

LOOK_SECONDS = 0.2
"""Seconds between two checks of a job that runs in the server; a stop may take this long."""


def _scope_options(
    *,
    queries: Annotated[
        tuple[str, ...], Option("--query", help="Only this query; may be repeated.")
    ] = (),
    runs: Annotated[
        tuple[str, ...], Option("--run", help="Only pooled passages of this run; may be repeated.")
    ] = (),
    top: Annotated[
        int | None,
        Option(help="Only the first K passages of each run per query.", metavar="K", least=1),
    ] = None,
    retry_failed: Annotated[bool, Option(help="Retry failed pairs too.")] = False,
    only_failed: Annotated[bool, Option(help="Retry only failed pairs.")] = False,
    sentences: Annotated[
        bool, Option(help="Grade the sentences that cite instead of passages, for Supported-Cover.")
    ] = False,
) -> grading.Scope:
    return grading.Scope(
        queries or None, runs or None, retry_failed, only_failed, top=top, sentences=sentences
    )


ScopeOptions = Annotated["grading.Scope", GatheredOptions(_scope_options)]
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


@operation(
    "plan",
    act="read the bank",
    reads=lambda given: given["examples"] is None and given["output"] is None,
)
def plan(
    project: Project,
    *,
    chosen: GraderOptions,
    scope: ScopeOptions,
    bank_version: BankVersion = None,
    output: Annotated[
        Path | None,
        Option(
            "-o --output",
            help=(
                "Write a file for grading elsewhere. FILE.jsonl: model calls; FILE.parquet:"
                " ungraded pairs."
            ),
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
    grader = chosen.make(project)
    version, wrote = bank.check_version(project, bank_version), None
    _print_skipped(project, grader.spec, version, scope)
    planned = asdict(grading.make_plan(project, grader.spec, version, scope))
    if output is not None:
        warn_of_terms(project)
        sources = [formats.Source.from_path(str(path)) for path in answers]
        written = grading.write_missing(
            project, grader, output, version, scope, sources, chosen.parameters
        )
        bank.remember_settings(project, grader, chosen.kind, chosen.parameters, current_author())
        planned |= asdict(written)
        wrote = (
            f"Wrote {how_many(written.calls, 'rows')} to {output}. To import the"
            " answers: exam ingest"
        )
    counts = [
        (_PLANNED.get(what, what), count)
        for what, count in planned.items()
        if what != "without_text"
    ]
    textless = planned["without_text"]
    lacking = f"Not counted: {how_many(textless, 'passages')} without text." if textless else None
    return Output(planned).note(wrote).table(("pairs", "count"), counts).note(lacking)


@operation("grade", act="grade")
@at_most_one(judged="--judged", batch="--batch")
def grade(
    opening: Opening,
    *,
    chosen: GraderOptions,
    scope: ScopeOptions,
    bank_version: BankVersion = None,
    limit: Limit = None,
    judged: Annotated[
        int | None,
        Option(
            help=(
                "Grade only so many judged passages, spread over the values of the first judgments."
            ),
            least=1,
        ),
    ] = None,
    max_cost: Annotated[
        float | None, Option(help="Cost limit, in the currency of exam prices.", least=0)
    ] = None,
    max_calls: Annotated[int | None, Option(help="Call limit, retries included.", least=1)] = None,
    concurrency: Annotated[int, Option(help="Parallel calls.", least=1, most=1024)] = CONCURRENCY,
    patience: Patience,
    batch: Annotated[
        bool, Option(help="Send the calls as batches, answered within a day at half the price.")
    ] = False,
    batch_size: Annotated[
        int | None, Option(help="Largest number of calls per batch.", least=1)
    ] = None,
    no_wait: Annotated[
        bool, Option(help="Exit after sending the batches; exam batch fetch imports the answers.")
    ] = False,
    dry_run: Annotated[
        bool, Option(help="Show the planned pairs and their estimated cost; grade nothing.")
    ] = False,
) -> Output:
    """Grade the ungraded pairs. Interrupted jobs resume."""
    scope = replace(scope, limit=limit)
    if not batch and (batch_size is not None or no_wait):
        raise InputError(
            "option-missing", "--batch-size and --no-wait need --batch.", "Add --batch."
        )
    request = grading.Request(
        scope,
        bank_version,
        max_calls=max_calls,
        max_cost=max_cost,
        concurrency=concurrency,
        patience=patience,
        batch=batch,
        batch_size=batch_size,
    )
    if batch and not dry_run:
        return grade_in_batches(opening, chosen, request, no_wait)
    with opening() as project:
        grader = chosen.make(project)
        version = bank.check_version(project, bank_version)
        if judged is not None:
            sample = grading.judged_sample(
                project, grader.spec, records.find_source(project, "judgments"), judged
            )
            scope = replace(scope, passages=tuple((query, passage) for query, passage, _ in sample))
            request = replace(request, scope=scope)
        _print_skipped(project, grader.spec, version, scope)
        if dry_run:
            planned = grading.make_plan(project, grader.spec, version, scope)
            tag = grading.price_tag(project, grader, version, scope)
            return Output(asdict(planned) | {"price_tag": asdict(tag)}).note(
                f"Planned: {how_many(planned.to_grade, 'pairs')}{price_words(tag, batch)}."
            )
        bank.remember_settings(project, grader, chosen.kind, chosen.parameters, current_author())
        host = current_request()
        if host is None:
            control = grading.make_control(project, grader, request, call_note_printer())
            final = grading.run_job(
                project, grader, request, current_author(), ProgressLines("pairs").show, control
            )
        else:
            job = grading.start_job(project, grader, request, current_author())
            if host.background:
                return Output({"grader": grader.spec.name, "state": job.progress.state})
            final = _follow_job(job, host)
        of_citations = grader.spec.rates_citations
        default_spec = grader.spec if of_citations else bank.find_grader(project, None).spec
        name = bank.find_grader(project, grader.spec.fingerprint).spec.name
    check_ended(final, "grades")
    result = {
        "state": final.state,
        "graded": final.graded,
        "defaulted": final.defaulted,
        "failed": final.failed,
        "seconds": round(final.seconds, 2),
        **asdict(final.usage),
        "grader": name,
        "boards_show": None if of_citations else default_spec.name,
    }
    use = (
        f"The default grader of leaderboards and labels is '{default_spec.name}'. To use this"
        " grader, add: --grader"
    )
    output = Output(result).note(
        f"Graded {how_many(final.graded, 'pairs')}, {final.failed:,} failed, in"
        f" {final.seconds:.0f} s.",
        f"Default ratings, because the model gave no number: {final.defaulted:,}."
        if final.defaulted
        else None,
        final.message,
        "To see the scores: exam support show" if of_citations else None,
        None
        if default_spec.fingerprint in grader.spec.fingerprints
        else f"{use} {shlex.quote(name)}",
    )
    return output.failing(find_total_failure(final, "grades"))


@operation("ingest", act="import files")
def ingest(
    opening: Opening,
    *,
    files: Annotated[tuple[Path, ...], Argument(file="read")],
    chosen: GraderOptions,
) -> Output:
    """Import answers or grades for a file of exam plan -o.

    Use the same grader options as for the plan. You can import the files in any order and
    repeatedly. From a folder, all Parquet files are imported.
    """
    if lacking := [path for path in files if not path.exists()]:
        if current_request() is not None:
            raise InputError(
                "file-not-sent",
                f"The server that has the project open did not receive the file {lacking[0].name}.",
                "Name files instead of a folder: FOLDER/*.parquet.",
            )
        raise InputError("no-such-file", f"File not found: {lacking[0]}.", "Check the path.")
    files = tuple(
        one
        for path in files
        for one in (sorted(path.glob("*.parquet")) if path.is_dir() else [path])
    )
    if not files:
        raise InputError(
            "no-such-file",
            "The folder has no Parquet files.",
            "Use the output folder of exam grade-plan.",
        )
    graded = [graders.holds_grades(path) for path in files]
    if any(graded) and not all(graded):
        raise InputError(
            "mixed-files",
            "Some of the files contain grades, others answers.",
            "Import them separately.",
        )
    with opening() as project:
        grader = chosen.make(project)
        if any(graded):
            imported = grading.import_grade_files(project, grader, files, current_author())
        else:
            imported = grading.import_answer_files(
                project,
                grader,
                list(map(formats.Source.from_path, map(str, files))),
                current_author(),
            )
        if imported.graded or imported.failed:
            bank.remember_settings(
                project, grader, chosen.kind, chosen.parameters, current_author()
            )
    further = {
        "Default ratings, because the model gave no number": imported.defaulted,
        "Failed again": imported.failed_again,
        "Unanswered calls, to write again with exam plan -o FILE": imported.unanswered,
        (
            "Pairs that need a follow-up call, to write with exam plan -o FILE --after ANSWERS"
        ): imported.unfinished,
        "Ignored answers, because the grader settings differ from the plan": imported.unmatched,
    }
    return Output(asdict(imported)).note(
        f"Graded {how_many(imported.graded, 'pairs')}, {imported.failed:,} failed,"
        f" {imported.known:,} were"
        " already graded.",
        *(f"{what}: {number:,}." for what, number in further.items() if number),
        imported.remarks,
    )


@operation("grade-plan", act="grade", at_shell=True)
def grade_plan(
    *,
    plan: Annotated[Path, Argument(file="read", exists=True)],
    output: Annotated[
        Path,
        Option("-o --output", help="Output folder; rows in it are not graded again.", file="write"),
    ],
    address: Annotated[
        str | None,
        Option(help="Address of a Ray cluster, for example head:6379 (default: this computer)."),
    ] = None,
    workers: Annotated[
        int | None,
        Option(
            help="Workers, each with its own model (default: one per GPU or processor).", least=1
        ),
    ] = None,
    gpus: Annotated[
        float | None, Option(help="GPUs per worker (default: 1 if the cluster has GPUs).", least=0)
    ] = None,
) -> Output:
    """Grade a plan on a Ray cluster, without a project. Import the grades with exam ingest."""
    outcome = graders.grade_plan(
        plan, output, address, workers, gpus, lambda line: print_message(f"exam: {line}")
    )
    missing = outcome.rows - outcome.done
    failure = GradingError(
        "rows-without-grade",
        f"Ungraded: {how_many(missing, 'rows')}, because their workers failed.",
        "Check the logs of Ray, and run the command again.",
    )
    summary = (
        f"{output}: {outcome.done:,} of {how_many(outcome.rows, 'rows')} graded,"
        f" {outcome.done - outcome.before:,} new."
    )
    return Output(asdict(outcome)).note(summary).failing(failure if missing else None)


def _print_skipped(project: Project, spec: GraderSpec, version: int, scope: grading.Scope) -> None:
    """Print how many queries or questions are skipped because their text is unknown; an id is never
    graded instead.
    """
    if unknown := grading.count_skipped(project, spec, version, scope.queries).no_text:
        what, kind = ("queries", "queries") if spec.method == "direct" else ("questions", "bank")
        print_message(
            f"Skipped: {unknown:,} {what} without text. Import it: exam import {kind} FILE"
        )


def _follow_job(job: jobs.BackgroundJob, host: ServedRequest) -> jobs.Progress:
    """Print the progress of a job, which screens show too, until it ends or the person stops it."""
    lines, printed, over = ProgressLines("pairs"), 0, False
    while not over:
        over = job.wait(LOOK_SECONDS)
        try:
            host.check_stopped()
            log = list(job.log)
            for line in log[printed:]:
                print_message(f"exam: {line}")
            printed = len(log)
            lines.show(job.progress)
        except KeyboardInterrupt as stopped:
            job.control.cancel(str(stopped))
    return job.progress


def grade_in_batches(
    opening: Opening, chosen: GraderChoice, request: grading.Request, no_wait: bool
) -> Output:
    """Send the missing pairs as batches, and wait for them; between two checks other programs can
    use the project.

    Args:
        no_wait: whether to return as soon as they are sent.
    """
    with opening() as project:
        grader = chosen.make(project)
        bank.remember_settings(project, grader, chosen.kind, chosen.parameters, current_author())
        keys = grading.send_batches(project, grader, request, current_author(), call_note_printer())
    return _follow_batches(
        opening, chosen, keys, "All pairs are graded or already sent.", not no_wait
    )


@operation("batch status", act="read the bank", reads=True)
def status(
    project: Project,
) -> Output:
    """List the open batches with their state at the last check."""
    batches = [
        (job, batch)
        for job in jobs.find_jobs(project, "grading", state="waiting")
        for batch in grading.call_batches(project, job.key)
    ]
    return Output(
        {"batches": [{"grader": job.name, **asdict(batch)} for job, batch in batches]}
    ).table(
        ("job", "grader", "batch", "state", "calls", "done", "message"),
        [
            (
                str(job.key),
                job.name,
                batch.batch_id or "",
                batch.status,
                batch.calls,
                batch.done,
                batch.message,
            )
            for job, batch in batches
        ],
    )


@operation("batch fetch", act="grade")
def fetch(
    opening: Opening,
    *,
    chosen: GraderOptions,
    wait: Annotated[bool, Option(help="Wait until all batches are finished.")] = False,
) -> Output:
    """Import the results of a grader's finished batches, and send follow-up calls."""
    with opening() as project:
        keys = [job.key for job in grading.waiting_jobs(project, chosen.make(project).spec)]
    return _follow_batches(opening, chosen, keys, "This grader has no open batches.", wait)


@operation("batch cancel", act="grade")
def cancel_all(
    project: Project,
    *,
    chosen: GraderOptions,
) -> str:
    """Cancel a grader's batches. Finished calls are billed; exam batch fetch imports them."""
    now = grading.cancel_batches(project, chosen.make(project), current_author())
    return (
        f"Cancelled. {_describe_standing(now)}" if now.jobs else "Cancelled. No batches are open."
    )


def _follow_batches(
    opening: Opening, chosen: GraderChoice, keys: list[int], nothing: str, wait: bool
) -> Output:
    """Check the batches of jobs once, or until all are finished.

    Args:
        nothing: the message without jobs.
    """
    printed: set[str] = set()

    def check_once() -> grading.BatchProgress:
        with opening() as project:
            now = grading.advance_batches(project, replace(chosen).make(project), current_author())
        if now.jobs and now.description not in printed:
            printed.add(now.description)
            print_message(f"exam: {now.description}")
        return now

    if keys and wait:
        grading.follow_batches(
            check_once, lambda message: print_message(f"exam: {message}"), pause_seconds
        )
    elif keys and (now := check_once()).jobs:
        print_message(_describe_standing(now))
        return Output(asdict(now))
    with opening() as project:
        final = grading.jobs_outcome(project, keys)
    check_ended(final, "grades")
    result = {
        "state": final.state,
        "graded": final.graded,
        "defaulted": final.defaulted,
        "failed": final.failed,
        **asdict(final.usage),
    }
    return Output(result).note(
        f"Graded {how_many(final.graded, 'pairs')}, {final.failed:,} failed." if keys else nothing,
        f"Default ratings, because the model gave no number: {final.defaulted:,}."
        if final.defaulted
        else None,
        final.message,
    )


def _describe_standing(now: grading.BatchProgress) -> str:
    return (
        f"{now.description}. To import the remaining results: exam batch fetch, with the same"
        " grader"
    )


@operation("jobs", act="read the bank", reads=True)
def list_jobs(
    project: Project,
    *,
    limit: Annotated[int, Option(help="List the newest N jobs.", least=1, metavar="N")] = 20,
    kind: Annotated[str, Option(help="Kind of job.", choices=list(JOB_SUBJECTS))] = "grading",
) -> Output:
    """List the jobs of a kind with their progress and result, newest first."""
    recorded = jobs.find_jobs(project, cast(records.JobKind, kind))[:limit]
    subject, planned, done_noun = (
        ("grader", "pairs", "graded") if kind == "grading" else ("name", "planned", "done")
    )
    return Output({"jobs": [_job_record(job) for job in recorded]}).table(
        ("job", "started", subject, "state", planned, done_noun, "failed", "by", "message"),
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
            for job in recorded
        ],
    )


def _job_record(job: records.Job) -> dict[str, Any]:
    return {
        "key": job.key,
        "grader": job.name,
        "asked": job.request,
        "state": job.state,
        "total": job.total,
        "graded": job.done,
        "failed": job.failed,
        "message": job.message,
        "author": job.author,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
        "calls": job.calls,
        "cost": job.cost,
        "input_tokens": job.input_tokens,
        "output_tokens": job.output_tokens,
        "cached_tokens": job.cached_tokens,
        "thinking_tokens": job.thinking_tokens,
    }


@operation("failures", act="read the bank", reads=True)
def failures(
    project: Project,
    *,
    grader_name: Annotated[
        str | None, Option("--grader", help="Name of the grader; see exam graders list.")
    ] = None,
    bank_version: Annotated[int | None, Option(help="Bank version (default: the newest).")] = None,
    defaulted: Annotated[
        bool, Option(help="List pairs graded by default instead, because the answer had no number.")
    ] = False,
    reason: Annotated[str | None, Option(help="Only pairs with this reason.")] = None,
    limit: Annotated[int, Option(help="List at most N pairs.", least=1, metavar="N")] = 20,
) -> Output:
    """List the pairs that a grader failed to grade, with the reason and the model's answer."""
    which: grading.Which = "defaulted" if defaulted else "failed"
    grader = bank.find_grader(project, grader_name)
    version = bank.check_version(project, bank_version)
    reason_counts = grading.count_reasons(project, grader, which, version)
    pairs = grading.doubtful_pairs(project, grader, which, version, reason, limit=limit)
    value = {
        "grader": grader.spec.name,
        "reasons": dict(reason_counts),
        "pairs": [asdict(pair) for pair in pairs],
    }
    return (
        Output(value)
        .table(("reason", "pairs"), reason_counts)
        .table(
            ("query", "passage", "question", "answer"),
            [
                (one.query_id, one.passage_id, one.asked.text, _first_words(one.raw))
                for one in pairs
            ],
        )
        .note(
            f"To retry these pairs: {'; '.join(_retry_commands(project, grader.spec, version))}"
            if reason_counts and not defaulted
            else None
        )
    )


def _retry_commands(project: Project, spec: GraderSpec, version: int) -> list[str]:
    """Return the commands that retry failed passages and failed sentences that cite."""
    scopes = {"--only-failed": False, "--only-failed --sentences": True}
    return [
        bank.how_to_grade(project, spec, *options.split()).removeprefix("Run: ")
        for options, sentences in scopes.items()
        # A grader of citations has no other sentences to grade.
        if not (sentences and spec.rates_citations)
        and grading.make_plan(project, spec, version, grading.Scope(sentences=sentences)).failed
    ]


def _first_words(raw: str | None) -> str | None:
    line = None if raw is None else " ".join(raw.split())
    return line if line is None or len(line) <= 60 else f"{line[:59]}…"
