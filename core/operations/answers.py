"""Commands about answers that models write from passages: generation, grading, LLM-retEval."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast

from .. import answers, exchange, formats, graders, grading, jobs, labels, measures, records, study
from ..choices import (
    ANSWER_CASES,
    ANSWER_CHECKS,
    ANSWER_PROMPT,
    ANSWER_SEED,
    GOLD_DRAWS,
    GOLD_TEMPERATURE,
    MOST_ANSWER_TOKENS,
    PASSAGE_ORDER,
    PASSAGE_ORDERS,
    STATED_TOKENS,
    UNANNOTATED_JUDGMENT,
    AnswerCase,
    AnswerRule,
    PassageOrder,
    Retriever,
)
from ..errors import InputError, Report, check_known, check_rules, unknown_name
from ..text import first_few, how_many
from .console import (
    ProgressLines,
    call_note_printer,
    check_ended,
    find_total_failure,
    price_words,
    print_message,
    progress_watcher,
    sent_file,
    table_lines,
)
from .grader_options import (
    Api,
    BackEnd,
    BaseUrl,
    Dtype,
    GraderChoice,
    GraderOptions,
    ModelName,
    Patience,
    may_use_key,
)
from .registry import (
    MOST_DRAWS,
    Argument,
    Author,
    GatheredOptions,
    Option,
    Output,
    Project,
    current_author,
    operation,
)


def _model_options(
    *,
    model: ModelName = None,
    back_end: BackEnd = None,
    base_url: BaseUrl = None,
    key_variable: Annotated[
        str | None, Option(help="Environment variable with the endpoint's API key.")
    ] = None,
    revision: Annotated[
        str | None, Option(help="Branch, tag or commit of a model on the Hugging Face hub.")
    ] = None,
    dtype: Dtype = None,
    api: Api = None,
) -> dict[str, str]:
    options = {
        "model": model,
        "back_end": back_end,
        "base_url": base_url,
        "key_variable": key_variable,
        "revision": revision,
        "dtype": dtype,
        "api": api,
    }
    return {name: value for name, value in options.items() if value}


ModelOptions = Annotated[dict[str, str], GatheredOptions(_model_options)]
"""The given settings of a model."""


def _extent_options(
    *,
    limit: Annotated[int | None, Option(help="Process at most this many answers.", least=1)] = None,
    max_calls: Annotated[int | None, Option(help="Call limit, retries included.", least=1)] = None,
    max_cost: Annotated[
        float | None, Option(help="Cost limit, in the currency of exam prices.", least=0)
    ] = None,
    concurrency: Annotated[int, Option(help="Parallel calls.", least=1, most=1024)] = 8,
    patience: Patience,
    retry_failed: Annotated[bool, Option(help="Also retry the failed calls.")] = False,
    only_failed: Annotated[bool, Option(help="Retry only the failed calls.")] = False,
) -> jobs.JobScope:
    return jobs.JobScope(
        limit=limit,
        max_calls=max_calls,
        max_cost=max_cost,
        concurrency=concurrency,
        patience=patience,
        retry_failed=retry_failed,
        only_failed=only_failed,
    )


CapsOptions = Annotated["jobs.JobScope", GatheredOptions(_extent_options)]
"""Options that limit a job."""
DryRun = Annotated[
    bool,
    Option("--dry-run", help="Show the planned calls and their estimated cost; call no model."),
]

Against = Annotated[
    tuple[str, ...],
    Option(
        "--against",
        help="Judgment source, or gold for imported gold passages; may be repeated."
        " Default: imported gold passages, else the first source.",
        metavar="SOURCE",
    ),
]
GoldJudgment = Annotated[
    int | None,
    Option(
        "--min-judgment",
        help=(
            "Lowest judgment of a gold passage (default: the level of an"
            " imported data set, else 1)."
        ),
        kept=labels.usual_min_judgment,
    ),
]


def _gold_options(*, against: Against = (), min_judgment: GoldJudgment = None) -> answers.Gold:
    return answers.Gold(
        against or None, answers.Gold.min_judgment if min_judgment is None else min_judgment
    )


GoldOptions = Annotated["answers.Gold", GatheredOptions(_gold_options)]
"""Options that select the gold passages."""


def _view_options(
    *,
    runs: Annotated[tuple[str, ...], Option("--run", help="Only this run; may be repeated.")] = (),
    ks: Annotated[
        tuple[int, ...],
        Option("--k", help="Passages per answer; may be repeated (default: 1, 5, 10).", least=1),
    ] = (),
    generator: Annotated[
        str | None, Option(help="Generator of the answers (default: the last added).")
    ] = None,
    temperature: Annotated[
        float, Option(help="Temperature of the answers from gold passages.", least=0)
    ] = GOLD_TEMPERATURE,
    judge: Annotated[
        str,
        Option(
            help="Answer check: the method that decides which answers are right.",
            choices=ANSWER_CHECKS,
        ),
    ] = "llm",
    judge_model: Annotated[
        str | None, Option(help="Model for --judge llm or graded (default: the last added).")
    ] = None,
    threshold: Annotated[
        float | None, Option(help="Lowest answer-check score of a right answer.")
    ] = None,
    same_text: Annotated[bool, Option(help="Count near copies of gold passages as gold.")] = False,
    without_people: Annotated[bool, Option(help="Ignore answer checks by people.")] = False,
    against: Against = (),
    min_judgment: GoldJudgment = None,
) -> answers.RetEvalChoices:
    return answers.RetEvalChoices(
        runs or None,
        tuple(sorted(set(ks))) or answers.KS,
        generator,
        temperature,
        judge,
        judge_model,
        threshold,
        _gold_options(against=against, min_judgment=min_judgment),
        same_text,
        not without_people,
    )


ViewOptions = Annotated["answers.RetEvalChoices", GatheredOptions(_view_options)]
"""Options that select answers and the check of their correctness."""


def describe_price(things: str, tag: grading.PriceTag, more: dict[str, Any]) -> Output:
    """Return the estimated calls, tokens and cost of a job."""
    return Output({things: tag.pairs, "price_tag": vars(tag)} | more).note(
        f"Planned: {how_many(tag.pairs, things)}{price_words(tag)}."
    )


def describe_end(things: str, final: jobs.Progress, more: dict[str, Any]) -> Output:
    """Return the result of a job that has ended.

    Raises:
        GradingError: the job failed or was cancelled.
    """
    check_ended(final, things)
    counts = {
        "state": final.state,
        things: final.graded,
        "failed": final.failed,
        "seconds": round(final.seconds, 2),
    }
    output = Output(counts | vars(final.usage) | {"message": final.message} | more)
    summary = f"{how_many(final.graded, things)}, {final.failed:,} failed. {final.message}"
    return output.note(summary.rstrip()).failing(find_total_failure(final, things))


@operation("answers generate", act="run exams")
def generate(
    project: Project,
    *,
    runs: Annotated[
        tuple[str, ...],
        Option("--run", help="Answer from this run; may be repeated (default: all)."),
    ] = (),
    ks: Annotated[
        tuple[int, ...],
        Option("--k", help="Passages per answer; may be repeated (default: 1, 5, 10).", least=1),
    ] = (),
    sides: Annotated[
        tuple[str, ...],
        Option(
            "--from",
            help="Source of the passages; may be repeated (default: both).",
            choices=["runs", "gold"],
        ),
    ] = (),
    draws: Annotated[
        int, Option(help="Answers per query from gold passages.", least=1, most=MOST_DRAWS)
    ] = GOLD_DRAWS,
    temperature: Annotated[
        float, Option(help="Temperature of the answers from gold passages.", least=0)
    ] = GOLD_TEMPERATURE,
    seed: Annotated[
        int,
        Option(
            help="Random seed of the first answer from gold passages; later ones add 1.", least=0
        ),
    ] = ANSWER_SEED,
    queries: Annotated[
        tuple[str, ...], Option("--query", help="Only this query; may be repeated.")
    ] = (),
    generator: Annotated[
        str | None, Option(help="Use this earlier generator again, without model options.")
    ] = None,
    rule: Annotated[AnswerRule | None, Option(help="Answer by this rule, without a model.")] = None,
    prompt: Annotated[str, Option(help="Name of the prompt.")] = ANSWER_PROMPT,
    n_tokens: Annotated[
        int, Option(help="Answer length that the prompt asks for, in tokens.", least=1)
    ] = STATED_TOKENS,
    max_tokens: Annotated[
        int, Option(help="Maximum length of an answer, in tokens.", least=1, metavar="N")
    ] = MOST_ANSWER_TOKENS,
    order: Annotated[
        str,
        Option(
            help="Order of the passages in one prompt; one-by-one: a prompt per passage.",
            choices=[name.replace(" ", "-") for name in PASSAGE_ORDERS],
        ),
    ] = PASSAGE_ORDER.replace(" ", "-"),
    name: Annotated[
        str | None, Option(help="Name of the generator (default: from the model).")
    ] = None,
    gold: GoldOptions,
    settings: ModelOptions,
    caps: CapsOptions,
    dry_run: DryRun = False,
) -> Output:
    """Generate missing answers to queries from passages. Interrupted jobs resume."""
    from_runs, from_gold = "runs" in sides or not sides, "gold" in sides or not sides
    request = answers.WantedAnswers(
        (runs or None) if from_runs else (),
        tuple(dict.fromkeys(ks)) or answers.KS,
        from_gold,
        gold,
        draws,
        temperature,
        seed,
        queries or None,
    )
    with may_use_key(settings):
        plan = answers.GeneratorPlan(
            settings,
            rule,
            prompt,
            n_tokens,
            max_tokens,
            name,
            cast(PassageOrder, order.replace("-", " ")),
        )
        ready = _choose_generator(project, generator, plan)
        planned = answers.plan_answers(project, ready, request, caps)
        plan_counts = {
            "needed": planned.needed,
            "known": planned.known,
            "shared": planned.shared,
            "skipped": planned.skipped,
            "without_text": planned.without_text,
            "generator": ready.model.name,
        }
        if dry_run:
            return describe_price(
                "answers", answers.answers_price(project, ready, planned), plan_counts
            )
        control = graders.Control(report=call_note_printer())
        final = answers.generate_answers(
            project, ready, request, current_author(), caps, progress_watcher("answers"), control
        )
    if planned.skipped or planned.without_text:
        print_message(
            f"Skipped: {how_many(planned.skipped, 'answers')} without retrieved passages,"
            f" {planned.without_text:,} without passage texts."
        )
    return describe_end("answers", final, {"generator": ready.model.name})


def _choose_generator(
    project: Project, name: str | None, plan: answers.GeneratorPlan
) -> answers.ReadyGenerator:
    is_new = bool(plan.settings or plan.rule)
    check_rules(
        (
            name is not None and is_new,
            InputError(
                "options-exclude-each-other",
                "--generator cannot be combined with --rule or the options of a model.",
                "Use --generator alone, or remove it.",
            ),
        ),
        (
            name is None and not is_new,
            InputError(
                "option-missing",
                "No generator was chosen.",
                "Use --model, --rule nearest-sentence or --generator.",
            ),
        ),
    )
    if name is None:
        return answers.make_generator(project, plan)
    return answers.generator_again(project, records.find_answer_model(project, "generator", name))


@operation("answers import", act="import files")
def import_(
    project: Project,
    *,
    files: Annotated[tuple[Path, ...], Argument(file="read", exists=True)],
    name: Annotated[
        str | None, Option(help="Name of the generator (default: the file name).")
    ] = None,
) -> Output:
    """Import answers that a model wrote elsewhere.

    The format is JSONL with query_id, run (or gold), k, draw and answer.
    """
    imported = exchange.import_files(
        project,
        "answers",
        [formats.Source.from_path(file) for file in files],
        current_author(),
        exchange.Options(source=name),
    )
    return Output(asdict(imported)).note(
        ", ".join(f"{count:,} {what}" for what, count in imported.counts.items()) + "."
    )


@operation("answers list", act="read the bank", reads=True)
def list_(
    project: Project,
) -> Output:
    """List generators, models of answer checks, and their jobs."""
    models = answers.answering_so_far(project)
    listed = [
        {
            "key": job.key,
            "role": "generator" if job.kind == "generating" else "judge",
            "name": job.name,
            "asked": job.request,
            "state": job.state,
            "total": job.total,
            "written": job.done,
            "failed": job.failed,
            "message": job.message,
            "author": job.author,
            "started_at": job.started_at,
            "ended_at": job.ended_at,
            "calls": job.calls,
            "cost": job.cost,
        }
        for job in jobs.find_jobs(project, "generating", "comparing")
    ]
    output = Output({"models": [asdict(item) for item in models], "jobs": listed}).table(
        ("role", "name", "model", "prompt", "written", "failed"),
        [
            (
                item.role,
                item.name,
                item.model or None,
                item.prompt or None,
                item.written,
                item.failed,
            )
            for item in models
        ],
    )
    rows = [
        (
            str(item["key"]),
            *(
                item[name]
                for name in ("role", "name", "state", "total", "written", "failed", "calls")
            ),
        )
        for item in listed
    ]
    if rows:
        output.table(("job", "role", "name", "state", "planned", "done", "failed", "calls"), rows)
    return output


@operation("answers retrieve", act="run exams")
def retrieve(
    project: Project,
    *,
    name: Annotated[str, Argument()],
    retriever: Annotated[Retriever, Option("--with", help="Retriever.")],
    depth: Annotated[int, Option(help="Passages per query in the run.", least=1)] = 20,
) -> str:
    """Create the run NAME: rank the project's passages for every query."""
    return answers.describe_new_run(
        name, answers.make_run(project, name, retriever, current_author(), depth, print_message)
    )


@operation("answers grade", act="run exams")
def grade(
    project: Project,
    *,
    generator: Annotated[
        str | None, Option(help="Generator of the answers (default: the last added).")
    ] = None,
    run: Annotated[str, Option(help="Run that the answers were generated from.")],
    k: Annotated[int, Option(help="Passages per answer.", least=1)],
    name: Annotated[
        str | None, Option(help="Name of the system (default: from generator, run and k).")
    ] = None,
    chosen: GraderOptions,
    patience: Patience,
) -> Output:
    """Grade generated answers with the question bank.

    The answers become responses of a system, so that EXAM-Cover can be compared with LLM-retEval.
    """
    return _grade_responses(
        project,
        records.find_answer_model(project, "generator", generator),
        run,
        k,
        name,
        chosen,
        patience,
    )


def _grade_responses(
    project: Project,
    model: records.AnswerModel,
    run: str,
    k: int,
    name: str | None,
    chosen: GraderChoice,
    patience: float,
) -> Output:
    """Turn answers into responses, and grade them."""
    system, counts = answers.answers_as_responses(project, model, run, k, current_author(), name)
    grader = chosen.make(project)
    request = grading.Request(patience=patience)
    final = grading.run_job(
        project,
        grader,
        request,
        current_author(),
        ProgressLines("pairs").show,
        grading.make_control(project, grader, request, lambda line: print_message(f"exam: {line}")),
    )
    check_ended(final, "grades")
    result: dict[str, Any] = {
        "system": system,
        "grader": grader.spec.name,
        "graded": final.graded,
        "failed": final.failed,
    } | counts
    output = Output(result).note(
        f"{result['system']}: {how_many(result['responses'], 'responses')},"
        f" {how_many(result['graded'], 'pairs')} graded by {result['grader']}, {result['failed']:,}"
        " failed. Next: exam leaderboard --measure EXAM-Cover@20"
    )
    return output.failing(find_total_failure(final, "grades"))


@operation("answers rag", act="run exams")
def rag(
    project: Project,
    *,
    retriever: Annotated[Retriever, Option("--with", help="Retriever.")] = "bm25",
    run: Annotated[
        str | None, Option(help="Name of the run to create or reuse (default: the retriever).")
    ] = None,
    k: Annotated[int, Option(help="Passages per answer.", least=1)] = 5,
    depth: Annotated[int, Option(help="Passages per query in the run.", least=1)] = 20,
    rule: Annotated[AnswerRule | None, Option(help="Answer by this rule, without a model.")] = None,
    n_tokens: Annotated[
        int, Option(help="Answer length that the prompt asks for, in tokens.", least=1)
    ] = 100,
    max_tokens: Annotated[
        int, Option(help="Maximum length of an answer, in tokens.", least=1, metavar="N")
    ] = 400,
    chosen: GraderOptions,
    patience: Patience,
) -> Output:
    """Retrieve passages, generate answers and grade them.

    Without --rule, a model answers: set --model, --base-url and the other model options. The same
    model grades if the method of --grader uses a model. Interrupted commands resume.
    """
    name = run or retriever
    author = current_author()
    options: dict[str, Any] = {
        key: chosen.parameters[key]
        for key in ("model", "back_end", "base_url", "dtype", "api")
        if key in chosen.parameters
    }
    if chosen.kind == "embedding":
        chosen.parameters = {
            key: value for key, value in chosen.parameters.items() if key not in options
        }
    if name not in records.run_names(project):
        print_message(
            answers.describe_new_run(
                name, answers.make_run(project, name, retriever, author, depth, print_message)
            )
        )
    plan = answers.GeneratorPlan(options, None, n_tokens=n_tokens, max_tokens=max_tokens)
    if rule is not None:
        plan = answers.GeneratorPlan(rule=rule)
    ready = _choose_generator(project, None, plan)
    queries = tuple(query.query_id for query in answers.asked_queries(project))
    request = answers.WantedAnswers((name,), (k,), from_gold=False, query_ids=queries)
    final = answers.generate_answers(
        project,
        ready,
        request,
        author,
        jobs.JobScope(patience=patience),
        progress_watcher("answers"),
        graders.Control(report=call_note_printer()),
    )
    check_ended(final, "answers")
    model = records.find_answer_model(project, "generator", ready.model.fingerprint)
    return _grade_responses(project, model, name, k, None, chosen, patience)


@operation("reteval", act="read the bank", reads=True, not_json=["latex"])
def reteval(
    project: Project,
    *,
    view: ViewOptions,
    require_complete: Annotated[
        bool, Option(help="Fail if an answer or a comparison is missing or failed.")
    ] = False,
    latex: Annotated[bool, Option(help="Print a LaTeX tabular.")] = False,
) -> Output:
    """Compare retrievers by LLM-retEval, Recall, Precision and F1.

    LLM-retEval scores the answers that a model generates from the passages of a run.
    """
    evaluation = answers.evaluate_answers(project, view)
    failed = answers.count_failures(project, evaluation)
    if require_complete and not evaluation.complete:
        raise InputError(
            "incomplete-table",
            f"Incomplete table ({_describe_missing(evaluation)}).",
            "Complete it with exam answers generate and exam reteval compare, or omit"
            " --require-complete.",
        )
    if latex:
        return Output().text(answers.reteval_latex(evaluation, failed))
    names = ("Recall", "Precision", "F1", "LLM-retEval", "GPT-Eval")
    output = Output(answers.reteval_values(evaluation, failed)).table(
        ("run", "k", *names, "std error", "queries", "failed", "pending", "A-C", "D-F"),
        [
            (
                row.run,
                row.k,
                *(answers.row_values(row)[name][0] for name in names),
                row.reteval.error,
                row.reteval.queries,
                row.reteval.failed,
                row.reteval.waiting,
                failed[row.run, row.k].recall,
                failed[row.run, row.k].reteval,
            )
            for row in evaluation.rows
        ],
    )
    if evaluation.ideal is not None and evaluation.ideal.mean is not None:
        output.line(
            f"ideal retriever (answers from the gold passages): {evaluation.ideal.mean:.4f}"
        )
    judge = (
        evaluation.judge_model.name
        if evaluation.judge_model
        else answers.JUDGES[evaluation.view.judge].title
    )
    confirmed = sum(failure.confirmed for failure in failed.values())
    every = sum(failure.recall + failure.reteval for failure in failed.values())
    lacking = (
        f"Incomplete table ({_describe_missing(evaluation)}). Missing results are left out, not"
        " counted as wrong."
    )
    return output.note(
        f"{len(evaluation.gold):,} queries with gold passages; answers by"
        f" {evaluation.generator.name}; answer check: {judge}.",
        "Cases A-C are Recall failures, D-F are LLM-retEval failures. Confirmed:"
        f" {confirmed:,} of {every:,}.",
        None if evaluation.complete else lacking,
    )


def _describe_missing(evaluation: answers.Evaluation) -> str:
    rows = evaluation.rows
    counts = {
        "pending answers": sum(row.waiting for row in rows),
        "failed answers": sum(row.failed for row in rows),
        "pending comparisons": sum(row.reteval.waiting - row.waiting for row in rows),
        "failed comparisons": sum(row.reteval.failed - row.failed for row in rows),
    }
    return ", ".join(how_many(count, what) for what, count in counts.items() if count > 0)


@operation("reteval compare", act="run exams")
def compare(
    project: Project,
    *,
    view: ViewOptions,
    prompt: Annotated[
        str | None,
        Option(help="Name of the prompt. Default: the usual prompt of the answer check."),
    ] = None,
    name: Annotated[
        str | None, Option(help="Name of the answer check. Default: derived from the model.")
    ] = None,
    human: Annotated[
        str | None,
        Option(
            help="Compare the answers that assessors checked instead: a source or a file.",
            file="read if sent",
            metavar="FILE",
        ),
    ] = None,
    settings: ModelOptions,
    caps: CapsOptions,
    dry_run: DryRun = False,
) -> Output:
    """Compare answers with a model (--judge llm or graded).

    Only missing comparisons are requested. Equal texts are compared once.
    """
    with may_use_key(settings):
        if human is not None:
            pairs = [one.pair for one in _people_checks(project, human)]
        else:
            pairs = answers.evaluate_answers(project, view).pairs
        ready = answers.make_judge(project, answers.JudgePlan(view.judge, settings, prompt, name))
        if dry_run:
            wanted = answers.pairs_to_compare(project, ready, pairs, caps)
            return describe_price(
                "comparisons",
                answers.comparing_price(project, ready, wanted),
                {"judge": ready.model.name},
            )
        control = graders.Control(report=call_note_printer())
        final = answers.compare_answers(
            project, ready, pairs, current_author(), caps, progress_watcher("comparisons"), control
        )
    return describe_end("comparisons", final, {"judge": ready.model.name})


@operation("reteval cases", act="read the bank", reads=True)
def cases(
    project: Project,
    *,
    view: ViewOptions,
    only: Annotated[AnswerCase | None, Option("--case", help="Only this case.")] = None,
    to_do: Annotated[bool, Option(help="Only unconfirmed cases.")] = False,
) -> Output:
    """List disagreements between Recall and LLM-retEval per query, each with a proposed case.

    Queries that may change the chosen run are listed first.
    """
    rows = answers.list_cases(
        project, answers.evaluate_answers(project, view), only=only, to_do=to_do
    )
    return Output({"cases": [_case_record(row) for row in rows]}).table(
        ("query", "run", "k", "case", "confirmed by", "answer", "reason"),
        [
            (
                row.line.query_id,
                row.line.run,
                row.line.k,
                row.case,
                ", ".join(f"{one.author} {one.case}" for one in row.confirmed) or None,
                row.line.answer,
                row.proposal.reason,
            )
            for row in rows
        ],
    )


def _case_record(row: answers.CaseRow) -> dict[str, Any]:
    line = row.line
    return {
        "query": line.query_id,
        "run": line.run,
        "k": line.k,
        "case": row.case,
        "proposed": row.proposal.case,
        "reason": row.proposal.reason,
        "others": row.proposal.others,
        "verdicts": asdict(row.verdicts),
        "answer": line.answer,
        "draws": row.side.draws,
        "gold_answers": row.side.query.answers,
        "confirmed": [asdict(one) for one in row.confirmed],
        "stake": None if row.stake is None else asdict(row.stake),
    }


def _run_and_depth(view: answers.RetEvalChoices) -> tuple[str, int]:
    if view.runs is None or len(view.runs) != 1 or len(view.ks) != 1:
        raise InputError(
            "option-missing", "A case needs one run and one depth.", "Use --run RUN and --k K."
        )
    return view.runs[0], view.ks[0]


@operation("reteval confirm", act="confirm cases")
def confirm(
    project: Project,
    *,
    query: Annotated[str, Argument(metavar="QUERY")],
    view: ViewOptions,
    case: Annotated[AnswerCase, Option(help="Case to confirm.")],
    note: Annotated[str, Option(help="Reason.")] = "",
    judge_passage: Annotated[
        str | None,
        Option(help="Case A: also judge this passage of the top k as relevant.", metavar="PASSAGE"),
    ] = None,
    value: Annotated[int, Option(help="Value of that judgment, 0 to 3.")] = UNANNOTATED_JUDGMENT,
    add_answer: Annotated[
        bool, Option(help="Case E: also add the answer to the query's right answers.")
    ] = False,
    author: Author,
) -> str:
    """Confirm a case of QUERY for one run at one depth.

    The case may differ from the proposed case.
    """
    run, k = _run_and_depth(view)
    evaluation = answers.evaluate_answers(project, view)
    row = answers.case_at(project, evaluation, query, run, k)
    if add_answer and row.line.answer is None:
        raise InputError(
            "unknown-answer", f"No answer of run '{run}' to query '{query}'.", "Omit --add-answer."
        )
    if judge_passage is not None:
        answers.judge_as_relevant(project, row, judge_passage, author, value)
    if add_answer:
        records.add_gold_answer(project, query, row.line.answer or "", author)
    answers.confirm_case(project, evaluation, query, run, k, case, author, note)
    return f"{query}: case {case} confirmed for {run} at depth {k} ({ANSWER_CASES[case]})."


@operation("reteval withdraw", act="confirm cases")
def withdraw(
    project: Project,
    *,
    query: Annotated[str, Argument(metavar="QUERY")],
    view: ViewOptions,
    judgment_of: Annotated[
        str | None, Option(help="Also withdraw your judgment of this passage.", metavar="PASSAGE")
    ] = None,
    answer: Annotated[
        str | None, Option(help="Also remove this text from the query's right answers.")
    ] = None,
    author: Author,
) -> str:
    """Withdraw your confirmed case of QUERY for one run at one depth. The case stays on record."""
    run, k = _run_and_depth(view)
    answers.take_back_case(project, answers.evaluate_answers(project, view), query, run, k, author)
    if judgment_of is not None:
        records.judging.withdraw_judgment(project, query, judgment_of, author)
    if answer is not None:
        records.withdraw_gold_answer(project, query, answer, author)
    return f"{query}: case withdrawn for {run} at depth {k}."


@operation("reteval correlate", act="read the bank", reads=True)
def correlate(
    project: Project,
    *,
    view: ViewOptions,
    refined: Annotated[
        bool, Option(help="Also exclude proposed cases A, B and C from the refined set.")
    ] = False,
    choice: Annotated[bool, Option(help="Show instead which run each evaluation chooses.")] = False,
    beside: Annotated[
        tuple[str, ...],
        Option(
            help="With --choice: another leaderboard, such as 'NIST: nDCG@10'; may be repeated."
            " Default: the first few.",
            metavar="BOARD",
        ),
    ] = (),
) -> Output:
    """Correlate Recall with LLM-retEval per query. The refined correlation excludes Recall
    failures.
    """
    evaluation = answers.evaluate_answers(project, view)
    if choice:
        return _describe_choices(project, evaluation, beside)
    rows = answers.correlate_recall(project, evaluation, "proposed" if refined else "confirmed")
    output = Output({"rows": [asdict(row) for row in rows]}).table(
        ("run", "k", "spearman", "low", "high", "queries", "refined", "low", "high", "removed"),
        [
            (
                row.run,
                row.k,
                row.every.spearman.value,
                row.every.spearman.low,
                row.every.spearman.high,
                row.every.queries,
                row.refined.spearman.value,
                row.refined.spearman.low,
                row.refined.spearman.high,
                row.refined.removed,
            )
            for row in rows
        ],
    )
    whose = "proposed or confirmed" if refined else "confirmed by assessors"
    return output.note(
        f"Refined: without cases A, B and C {whose}.",
        *(
            f"Correlation undefined for {row.run} at depth {row.k}: {row.every.spearman.undefined}."
            for row in rows
            if row.every.spearman.undefined
        ),
    )


def _describe_choices(
    project: Project, evaluation: answers.Evaluation, named: tuple[str, ...]
) -> Output:
    choosings = {k: _choose_runs(project, evaluation, k, named) for k in evaluation.view.ks}
    output = Output({"depths": {str(k): asdict(choosing) for k, choosing in choosings.items()}})
    for k, choosing in choosings.items():
        beside = {pair.one: pair for pair in choosing.pairings if pair.other == f"LLM-retEval@{k}"}
        lines = table_lines(
            (
                "evaluation",
                "chooses",
                "chance",
                "queries",
                "failed",
                "kendall",
                "low",
                "high",
                "same choice",
                "loss",
            ),
            [
                (
                    choice.evaluation,
                    ", ".join(choice.chosen),
                    max((choice.chance.get(run, 0.0) for run in choice.chosen), default=None),
                    choice.queries,
                    choice.failed,
                    *_pairing_cells(beside.get(choice.evaluation)),
                )
                for choice in choosing.choices
            ],
        )
        # Unlike tables of an output, these have no empty line between them.
        output.text("".join(lines))
    return output.note("The columns from kendall to loss compare each evaluation with LLM-retEval.")


def _choose_runs(
    project: Project, evaluation: answers.Evaluation, k: int, named: tuple[str, ...]
) -> measures.EvaluationChoices:
    """Return the runs that answer measures, leaderboards, and EXAM-Cover of the answers choose at a
    depth.
    """
    offered = study.boards_to_choose_by(project, k)
    check_known("unknown-board", f"leaderboard at depth {k}:", offered, *named)
    boards = {name: offered[name] for name in named or list(offered)[: study.BESIDE]}
    tables = answers.choice_tables(evaluation, k)
    waiting = answers.waiting_runs(evaluation, k)
    for name, table in answers.cover_tables(project, evaluation, k).items():
        if lacks := [
            run for run in evaluation.view.runs or () if run not in table and run not in waiting
        ]:
            print_message(
                f"{name} is left out: no graded answers of {first_few(lacks)}."
                " Run: exam answers grade"
            )
        else:
            tables[name] = table
    for run, count in waiting.items():
        print_message(
            f"LLM-retEval@{k} has no score for {run}: {how_many(count, 'queries')} pending."
        )
    compared = study.compare_choices(project, boards, labels.Policy(), tables)
    for name, error in compared.left_out.items():
        print_message(f"{name} is left out: {error}")
    return compared.found


def _pairing_cells(pair: measures.EvaluationPair | None) -> tuple[float | None, ...]:
    if pair is None:
        return (None,) * 5
    return (
        pair.kendall.value,
        pair.kendall.low,
        pair.kendall.high,
        pair.same_chance,
        pair.loss.value,
    )


@operation("reteval agreement", act="read the bank", reads=True)
def agreement(
    project: Project,
    *,
    human: Annotated[
        str | None,
        Option(
            help="Assessors' answer checks: a source or a file. Default: all sources.",
            file="read if sent",
            metavar="FILE",
        ),
    ] = None,
    judges: Annotated[
        tuple[str, ...], Option("--judge", help="Only this answer check.", choices=ANSWER_CHECKS)
    ] = (),
    curve: Annotated[bool, Option(help="Show the agreement at each threshold.")] = False,
) -> Output:
    """Compare answer checks with assessors: accuracy, kappa, precision and recall."""
    rows = answers.agreement_with_people(project, _people_checks(project, human), judges or None)
    output = Output({"judges": [asdict(row) | {"judge": row.judge.name} for row in rows]})
    if curve:
        return output.table(
            ("answer check", "threshold", "accuracy", "kappa", "precision", "recall"),
            [
                (
                    row.judge.name,
                    point.threshold,
                    point.accuracy,
                    point.kappa,
                    point.precision,
                    point.recall,
                )
                for row in rows
                for point in row.curve
            ],
        )
    output.table(
        (
            "answer check",
            "model",
            "accuracy",
            "kappa",
            "low",
            "high",
            "precision",
            "recall",
            "answers",
            "failed",
            "best threshold",
            "kappa at best threshold",
        ),
        [
            (
                row.judge.name,
                row.model,
                row.against.accuracy.value,
                row.against.kappa.value,
                row.against.kappa.low,
                row.against.kappa.high,
                row.against.precision.value,
                row.against.recall.value,
                row.against.answers,
                row.against.failed,
                row.tested.threshold if row.tested else None,
                row.tested.tested.kappa.value if row.tested else None,
            )
            for row in rows
        ],
    )
    waiting = ", ".join(
        f"{how_many(row.waiting, 'answers')} by {row.judge.name}" for row in rows if row.waiting
    )
    return output.note(f"Not checked yet: {waiting}" if waiting else None)


def _people_checks(project: Project, human: str | None) -> list[answers.PeopleVerdict]:
    """Return people's answer checks, from a source of the project or from a file, which is not
    stored.
    """
    if human is None or human in dict(answers.verdict_sources(project)):
        return answers.people_verdicts(project, human)
    file = sent_file(human)
    if file is None:
        source_names = [name for name, _ in answers.verdict_sources(project)]
        raise unknown_name(
            "unknown-source",
            "source or file",
            human,
            source_names,
            "To add results: exam import answer-verdicts FILE.",
        )
    report = Report()
    verdicts = formats.read_answer_verdicts(formats.Source.from_path(file), report)
    report.raise_if_refused("Correct the file.")
    return answers.match_verdicts(
        project, [(verdict.query_id, verdict.answer, verdict.acceptable) for verdict in verdicts]
    )
