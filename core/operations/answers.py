"""Commands about answers that models write from retrieved passages: generate, import, list and grade them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast

from .. import answers
from ..answers import (
    ANSWER_RULES,
    DRAWS,
    KS,
    MAX_TOKENS,
    N_TOKENS,
    ORDER,
    ORDERS,
    SEED,
    TEMPERATURE,
    AnswerRule,
    GeneratorPlan,
    PassageOrder,
    ReadyGenerator,
    WantedAnswers,
    answers_price,
    generate_answers,
    generator_again,
    make_generator,
    plan_answers,
)
from ..errors import GradingError, InputError
from ..exams import RETRIEVERS, Retriever
from ..exchange import Options, import_files
from ..formats import Source
from ..graders import Control
from ..grading import Request, make_control, run_job
from ..jobs import Extent, jobs
from ..records import AnswerModel, find_answer_model, run_names
from ..store import Project, current_author
from .answer_options import (
    CapsOptions,
    DryRun,
    GoldOptions,
    ModelOptions,
    describe_end,
    describe_price,
    may_use_key,
    watch,
)
from .console import close_unfinished, counted, tell
from .describing import MOST_DRAWS, Argument, Option
from .grader_options import GraderChoice, GraderOptions
from .output import Output
from .patience import Patience
from .progress import ProgressLines, tell_of_calls
from .registry import operation


@operation("answers generate", act="run exams")
def generate(
    project: Project,
    *,
    runs: Annotated[
        tuple[str, ...], Option("--run", help="Answer from this run; may be repeated (default: all).")
    ] = (),
    ks: Annotated[
        tuple[int, ...], Option("--k", help="Passages per answer; may be repeated (default: 1, 5, 10).", least=1)
    ] = (),
    sides: Annotated[
        tuple[str, ...],
        Option("--from", help="Source of the passages; may be repeated (default: both).", choices=["runs", "gold"]),
    ] = (),
    draws: Annotated[int, Option(help="Answers per query from gold passages.", least=1, most=MOST_DRAWS)] = DRAWS,
    temperature: Annotated[float, Option(help="Temperature of the answers from gold passages.", least=0)] = TEMPERATURE,
    seed: Annotated[
        int, Option(help="Random seed of the first answer from gold passages; later ones add 1.", least=0)
    ] = SEED,
    queries: Annotated[tuple[str, ...], Option("--query", help="Only this query; may be repeated.")] = (),
    generator: Annotated[str | None, Option(help="Use this earlier generator again, without model options.")] = None,
    rule: Annotated[
        str | None, Option(help="Answer by this rule, without a model.", choices=list(ANSWER_RULES))
    ] = None,
    prompt: Annotated[str, Option(help="Name of the prompt.")] = GeneratorPlan.prompt,
    n_tokens: Annotated[int, Option(help="Answer length that the prompt asks for, in tokens.", least=1)] = N_TOKENS,
    max_tokens: Annotated[
        int, Option(help="Maximum length of an answer, in tokens.", least=1, metavar="N")
    ] = MAX_TOKENS,
    order: Annotated[
        str,
        Option(
            help="Order of the passages in one prompt; one-by-one: a prompt per passage.",
            choices=[name.replace(" ", "-") for name in ORDERS],
        ),
    ] = ORDER.replace(" ", "-"),
    name: Annotated[str | None, Option(help="Name of the generator (default: from the model).")] = None,
    gold: GoldOptions,
    settings: ModelOptions,
    caps: CapsOptions,
    dry_run: DryRun = False,
) -> Output:
    """Generate missing answers to queries from passages. Interrupted jobs resume."""
    from_runs, from_gold = "runs" in sides or not sides, "gold" in sides or not sides
    wanted = WantedAnswers(
        (runs or None) if from_runs else (), tuple(dict.fromkeys(ks)) or KS, from_gold, gold, draws, temperature, seed,
        queries or None,
    )  # fmt: skip
    with may_use_key(settings):
        close_unfinished(project)
        plan = GeneratorPlan(
            settings, cast(AnswerRule | None, rule), prompt, n_tokens, max_tokens, name,
            cast(PassageOrder, order.replace("-", " ")),
        )  # fmt: skip
        ready = _generator(project, generator, plan)
        planned = plan_answers(project, ready, wanted, caps)
        shown = {
            "needed": planned.needed, "known": planned.known, "shared": planned.shared, "skipped": planned.skipped,
            "without_text": planned.without_text, "generator": ready.model.name,
        }  # fmt: skip
        if dry_run:
            return describe_price("answers", answers_price(project, ready, planned), shown)
        control = Control(report=tell_of_calls())
        final = generate_answers(project, ready, wanted, current_author(), caps, watch("answers"), control)
    if planned.skipped or planned.without_text:
        tell(
            f"Skipped: {counted(planned.skipped, 'answer')} without retrieved passages,"
            f" {planned.without_text:,} without passage texts."
        )
    return describe_end("answers", final, {"generator": ready.model.name})


def _generator(project: Project, name: str | None, plan: GeneratorPlan) -> ReadyGenerator:
    if name is not None:
        if plan.settings or plan.rule:
            raise InputError(
                "options-exclude-each-other",
                "--generator cannot be combined with --rule or the options of a model.",
                "Use --generator alone, or remove it.",
            )
        return generator_again(project, find_answer_model(project, "generator", name))
    if not plan.settings and plan.rule is None:
        raise InputError(
            "option-missing", "No generator was chosen.", "Use --model, --rule nearest-sentence or --generator."
        )
    return make_generator(project, plan)


@operation("answers import", act="import files")
def import_(
    project: Project,
    *,
    files: Annotated[tuple[Path, ...], Argument(file="read", exists=True)],
    name: Annotated[str | None, Option(help="Name of the generator (default: the file name).")] = None,
) -> Output:
    """Import answers that a model wrote elsewhere.

    The format is JSONL with query_id, run (or gold), k, draw and answer.
    """
    done = import_files(project, "answers", [Source.of(file) for file in files], current_author(), Options(source=name))
    return Output(asdict(done)).note(", ".join(f"{count:,} {what}" for what, count in done.counts.items()) + ".")


@operation("answers list", act="read the bank", reads=True)
def list_(
    project: Project,
) -> Output:
    """List generators, models of answer checks, and their jobs."""
    found = answers.answering_so_far(project)
    listed = [
        {
            "key": job.key, "role": "generator" if job.kind == "generating" else "judge", "name": job.name,
            "asked": job.request, "state": job.state, "total": job.total, "written": job.done, "failed": job.failed,
            "message": job.message, "author": job.author, "started_at": job.started_at, "ended_at": job.ended_at,
            "calls": job.calls, "cost": job.cost,
        }
        for job in jobs(project, "generating", "comparing")
    ]  # fmt: skip
    output = Output({"models": [asdict(one) for one in found], "jobs": listed}).table(
        ("role", "name", "model", "prompt", "written", "failed"),
        [(one.role, one.name, one.model or None, one.prompt or None, one.written, one.failed) for one in found],
    )
    rows = [
        (str(one["key"]), *(one[name] for name in ("role", "name", "state", "total", "written", "failed", "calls")))
        for one in listed
    ]
    if rows:
        output.table(("job", "role", "name", "state", "planned", "done", "failed", "calls"), rows)
    return output


@operation("answers retrieve", act="run exams")
def retrieve(
    project: Project,
    *,
    name: Annotated[str, Argument()],
    retriever: Annotated[Retriever, Option("--with", help="Retriever.", choices=RETRIEVERS)],
    depth: Annotated[int, Option(help="Passages per query in the run.", least=1)] = 20,
) -> str:
    """Create the run NAME: rank the project's passages for every query."""
    return answers.said_of_run(name, answers.make_run(project, name, retriever, current_author(), depth, tell))


@operation("answers grade", act="run exams")
def grade(
    project: Project,
    *,
    generator: Annotated[str | None, Option(help="Generator of the answers (default: the last added).")] = None,
    run: Annotated[str, Option(help="Run that the answers were generated from.")],
    k: Annotated[int, Option(help="Passages per answer.", least=1)],
    name: Annotated[str | None, Option(help="Name of the system (default: from generator, run and k).")] = None,
    chosen: GraderOptions,
    patience: Patience,
) -> Output:
    """Grade generated answers with the question bank.

    The answers become responses of a system, so that EXAM-Cover can be compared with LLM-retEval.
    """
    close_unfinished(project)
    return _grade(project, find_answer_model(project, "generator", generator), run, k, name, chosen, patience)


def _grade(
    project: Project, model: AnswerModel, run: str, k: int, name: str | None, chosen: GraderChoice, patience: float
) -> Output:
    """Turn answers into responses, and grade them."""
    system, counts = answers.answers_as_responses(project, model, run, k, current_author(), name)
    grader = chosen.make(project)
    lines = ProgressLines("pairs")
    request = Request(patience=patience)
    control = make_control(project, grader, request, lambda line: tell(f"exam: {line}"))
    final = run_job(
        project, grader, request, current_author(),
        lambda one: lines.say(one.done, one.total, one.rate, one.over), control,
    )  # fmt: skip
    if final.state in ("failed", "cancelled"):
        raise GradingError("job-failed", final.message, f"Saved: {counted(final.graded, 'grade')}.")
    graded = {"graded": final.graded, "failed": final.failed}
    done: dict[str, Any] = {"system": system, "grader": grader.spec.name} | graded | counts
    return Output(done).note(
        f"{done['system']}: {counted(done['responses'], 'response')}, {counted(done['graded'], 'pair')} graded by"
        f" {done['grader']}, {done['failed']:,} failed. Next: exam leaderboard --measure EXAM-Cover@20"
    )


@operation("answers rag", act="run exams")
def rag(
    project: Project,
    *,
    retriever: Annotated[Retriever, Option("--with", help="Retriever.", choices=RETRIEVERS)] = "bm25",
    run: Annotated[str | None, Option(help="Name of the run to create or reuse (default: the retriever).")] = None,
    k: Annotated[int, Option(help="Passages per answer.", least=1)] = 5,
    depth: Annotated[int, Option(help="Passages per query in the run.", least=1)] = 20,
    rule: Annotated[
        str | None, Option(help="Answer by this rule, without a model.", choices=list(ANSWER_RULES))
    ] = None,
    n_tokens: Annotated[int, Option(help="Answer length that the prompt asks for, in tokens.", least=1)] = 100,
    max_tokens: Annotated[int, Option(help="Maximum length of an answer, in tokens.", least=1, metavar="N")] = 400,
    chosen: GraderOptions,
    patience: Patience,
) -> Output:
    """Retrieve passages, generate answers and grade them.

    Without --rule, a model answers: set --model, --base-url and the other model options. The same model grades if the
    method of --grader uses a model. Interrupted commands resume.
    """
    name = run or retriever
    author = current_author()
    given: dict[str, Any] = {key: chosen.parameters[key] for key in ("model", "back_end", "base_url", "dtype", "api")
             if key in chosen.parameters}  # fmt: skip
    if chosen.kind == "embedding":
        chosen.parameters = {key: value for key, value in chosen.parameters.items() if key not in given}
    close_unfinished(project)
    if name not in run_names(project):
        tell(answers.said_of_run(name, answers.make_run(project, name, retriever, author, depth, tell)))
    plan = GeneratorPlan(given, None, n_tokens=n_tokens, max_tokens=max_tokens)
    if rule is not None:
        plan = GeneratorPlan(rule=cast(AnswerRule | None, rule))
    ready = _generator(project, None, plan)
    queries = tuple(query.query_id for query in answers.asked_queries(project))
    wanted = WantedAnswers((name,), (k,), from_gold=False, query_ids=queries)
    control = Control(report=tell_of_calls())
    final = generate_answers(project, ready, wanted, author, Extent(patience=patience), watch("answers"), control)
    if final.state in ("failed", "cancelled"):
        raise GradingError("job-failed", final.message, f"Saved: {counted(final.graded, 'answer')}.")
    model = find_answer_model(project, "generator", ready.model.fingerprint)
    return _grade(project, model, name, k, None, chosen, patience)
