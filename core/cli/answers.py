"""Commands about answers that models write from what was retrieved: generating them, importing them, listing them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import click

from core import pipelines
from core.cli.answer_options import caps_options, gold_options, model_options, say_end, say_price, watch
from core.cli.grader_options import GraderChoice, grader_options
from core.cli.guests import File, close_unfinished
from core.cli.options import (
    MOST_DRAWS,
    Whole,
    counted,
    json_option,
    opened,
    print_json,
    print_table,
    project_option,
    tell,
)
from core.cli.patience import patience_option
from core.cli.progress import ProgressLines
from core.errors import GradingError, InputError
from core.exchange import Options, import_files
from core.formats import Source
from core.grading import Request, make_control, run_job
from core.pipelines import (
    ANSWER_RULES,
    DRAWS,
    KS,
    MAX_TOKENS,
    N_TOKENS,
    ORDER,
    ORDERS,
    RETRIEVERS,
    SEED,
    TEMPERATURE,
    AnswerRule,
    Caps,
    GeneratorPlan,
    Gold,
    PassageOrder,
    ReadyGenerator,
    Reins,
    Retriever,
    WantedAnswers,
    answers_price,
    generate_answers,
    generator_again,
    make_generator,
    plan_answers,
)
from core.project import AnswerModel, Project, current_author, find_answer_model, run_names


@click.group()
def answers() -> None:
    """Answers that models write from the top of runs and from gold passages."""


@answers.command("generate")
@project_option
@click.option("--run", "runs", multiple=True, help="From the top of this run; may be repeated. All where not given.")
@click.option("--k", "ks", type=Whole(1), multiple=True, help="Depth; may be repeated. 1, 5, 10 if not given.")
@click.option(
    "--from",
    "sides",
    multiple=True,
    type=click.Choice(["runs", "gold"]),
    help="From the top of runs, from the gold passages; both where not given.",
)
@click.option(
    "--draws", type=Whole(1, MOST_DRAWS), default=DRAWS, show_default=True, help="Answers from the gold passages."
)
@click.option(
    "--temperature", type=click.FloatRange(min=0), default=TEMPERATURE, show_default=True, help="Of these draws."
)
@click.option("--seed", type=Whole(0), default=SEED, show_default=True, help="Of the first draw.")
@click.option("--query", "queries", multiple=True, help="Only for this query; may be repeated.")
@click.option("--generator", help="A generator that answered before, in the place of a model.")
@click.option("--rule", type=click.Choice(list(ANSWER_RULES)), help="A generator without a prompt.")
@click.option("--prompt", default=GeneratorPlan.prompt, show_default=True, help="Name of the prompt.")
@click.option(
    "--n-tokens",
    type=Whole(1),
    default=N_TOKENS,
    show_default=True,
    help="Length of an answer by the prompt.",
)
@click.option("--max-tokens", type=Whole(1), default=MAX_TOKENS, show_default=True, help="Where an answer is cut off.")
@click.option(
    "--order", type=click.Choice([name.replace(" ", "-") for name in ORDERS]), default=ORDER.replace(" ", "-"),
    show_default=True, help="How it is given its passages: all in one prompt, or each in one of its own.",
)  # fmt: skip
@click.option("--name", help="What the generator is called; made of the model where not given.")
@gold_options
@model_options
@caps_options
@json_option
def generate(
    project_path: Path | None,
    runs: tuple[str, ...],
    ks: tuple[int, ...],
    sides: tuple[str, ...],
    draws: int,
    temperature: float,
    seed: int,
    queries: tuple[str, ...],
    generator: str | None,
    rule: str | None,
    prompt: str,
    n_tokens: int,
    max_tokens: int,
    order: str,
    name: str | None,
    gold: Gold,
    settings: dict[str, str],
    caps: Caps,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Let a model answer queries from passages; only what is missing is asked. Stopped, it goes on where it was."""
    from_runs, from_gold = "runs" in sides or not sides, "gold" in sides or not sides
    wanted = WantedAnswers(
        (runs or None) if from_runs else (), tuple(dict.fromkeys(ks)) or KS, from_gold, gold, draws, temperature, seed,
        queries or None,
    )  # fmt: skip
    with opened(project_path) as project:
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
            say_price("answers", answers_price(project, ready, planned), as_json, shown)
            return
        reins = Reins(lambda line: tell(f"exam: {line}"))
        final = generate_answers(project, ready, wanted, current_author(), caps, watch("answers"), reins)
    if planned.skipped or planned.without_text:
        tell(
            f"Not asked: {counted(planned.skipped, 'place')} where a run has no passage,"
            f" {planned.without_text:,} where no passage has a text."
        )
    say_end("answers", final, as_json, {"generator": ready.model.name})


def _generator(project: Project, name: str | None, plan: GeneratorPlan) -> ReadyGenerator:
    if name is not None:
        if plan.settings or plan.rule:
            raise InputError(
                "options-exclude-each-other",
                "A generator that is there is asked as it was.",
                "Leave the model out, or --generator.",
            )
        return generator_again(project, find_answer_model(project, "generator", name))
    if not plan.settings and plan.rule is None:
        raise InputError(
            "option-missing", "It is not said who answers.", "Give --model, --rule nearest-sentence, or --generator."
        )
    return make_generator(project, plan)


@answers.command("import")
@project_option
@click.argument("files", nargs=-1, required=True, type=File(path_type=Path, exists=True, dir_okay=False))
@click.option("--name", help="Of the generator that wrote them; the file's where not given.")
@json_option
def import_(project_path: Path | None, files: tuple[Path, ...], name: str | None, as_json: bool) -> None:
    """Import answers that a model wrote elsewhere: JSONL with query_id, run (or gold), k, draw and answer."""
    with opened(project_path) as project:
        done = import_files(
            project, "answers", [Source.of(file) for file in files], current_author(), Options(source=name)
        )
    if as_json:
        print_json(asdict(done))
    else:
        tell(", ".join(f"{count:,} {what}" for what, count in done.counts.items()) + ".")


@answers.command("list")
@project_option
@json_option
def list_(project_path: Path | None, as_json: bool) -> None:
    """List who answered and who compared, how much, and the jobs in which they did."""
    with opened(project_path) as project:
        found = pipelines.answering_so_far(project)
        jobs = pipelines.answer_jobs(project)
    if as_json:
        print_json({"models": [asdict(one) for one in found], "jobs": [asdict(one) for one in jobs]})
        return
    print_table(
        ("role", "name", "model", "prompt", "written", "failed"),
        [(one.role, one.name, one.model or None, one.prompt or None, one.written, one.failed) for one in found],
    )
    rows: list[tuple[Any, ...]] = [
        (str(one.key), one.role, one.name, one.state, one.total, one.written, one.failed, one.calls) for one in jobs
    ]
    if rows:
        click.echo()
        print_table(("job", "role", "name", "state", "asked", "came", "failed", "calls"), rows)


@answers.command("retrieve")
@click.argument("name")
@project_option
@click.option("--with", "retriever", type=click.Choice(RETRIEVERS), required=True, help="What ranks.")
@click.option("--depth", type=Whole(1), default=20, show_default=True, help="Passages of each ranking.")
def retrieve(name: str, project_path: Path | None, retriever: Retriever, depth: int) -> None:
    """Make the run NAME: rank the project's passages for every query, by words or by meaning."""
    with opened(project_path) as project:
        queries = pipelines.make_run(project, name, retriever, current_author(), depth, tell)
    tell(pipelines.said_of_run(name, queries))


@answers.command("grade")
@project_option
@click.option("--generator", help="Whose answers; of the last one where not given.")
@click.option("--run", required=True, help="From the top of this run.")
@click.option("--k", type=Whole(1), required=True, help="From how many passages.")
@click.option("--name", help="What the system is called; made of generator, run and k where not given.")
@grader_options
@patience_option
@json_option
def grade(
    project_path: Path | None,
    generator: str | None,
    run: str,
    k: int,
    name: str | None,
    chosen: GraderChoice,
    patience: float,
    as_json: bool,
) -> None:
    """Make responses of answers and grade them with the question bank, so that EXAM-Cover stands beside."""
    with opened(project_path) as project:
        close_unfinished(project)
        model = find_answer_model(project, "generator", generator)
        done = _grade(project, model, run, k, name, chosen, patience)
    _say_graded(done, as_json)


def _grade(
    project: Project, model: AnswerModel, run: str, k: int, name: str | None, chosen: GraderChoice, patience: float
) -> dict[str, Any]:
    """Responses of answers, graded; what came of it."""
    system, counts = pipelines.answers_as_responses(project, model, run, k, current_author(), name)
    grader = chosen.make(project)
    lines = ProgressLines("pairs")
    request = Request(patience=patience)
    control = make_control(project, grader, request, lambda line: tell(f"exam: {line}"))
    final = run_job(
        project, grader, request, current_author(),
        lambda one: lines.say(one.done, one.total, one.rate, one.over), control,
    )  # fmt: skip
    if final.state in ("failed", "cancelled"):
        raise GradingError("job-failed", final.message, f"{counted(final.graded, 'pair')} graded so far: kept.")
    return {"system": system, "grader": grader.spec.name, "graded": final.graded, "failed": final.failed} | counts


def _say_graded(done: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(done)
        return
    tell(
        f"{done['system']}: {counted(done['responses'], 'response')}, {counted(done['graded'], 'pair')} graded by"
        f" {done['grader']}, {done['failed']:,} failed. See exam leaderboard --measure EXAM-Cover@20."
    )


@answers.command("rag")
@project_option
@click.option(
    "--with", "retriever", type=click.Choice(RETRIEVERS), default="bm25", show_default=True, help="What ranks."
)
@click.option("--run", help="Name of the run that it makes, or that is there; that of the retriever where not given.")
@click.option("--k", type=Whole(1), default=5, show_default=True, help="Passages that are answered from.")
@click.option("--depth", type=Whole(1), default=20, show_default=True, help="Passages of each ranking.")
@click.option("--rule", type=click.Choice(list(ANSWER_RULES)), help="A generator without a prompt.")
@click.option("--n-tokens", type=Whole(1), default=100, show_default=True, help="Length of an answer by the prompt.")
@click.option("--max-tokens", type=Whole(1), default=400, show_default=True, help="Where an answer is cut off.")
@grader_options
@patience_option
@json_option
def rag(
    project_path: Path | None,
    retriever: Retriever,
    run: str | None,
    k: int,
    depth: int,
    rule: str | None,
    n_tokens: int,
    max_tokens: int,
    chosen: GraderChoice,
    patience: float,
    as_json: bool,
) -> None:
    """Retrieve, generate and grade in one go: a run of the project's passages, answers from its top, their grades.

    Without --rule the model that answers is that of --model, --base-url and so on; it grades, too, where --grader names
    a method in which a model reads. Done again, it goes on with what is missing.
    """
    name = run or retriever
    author = current_author()
    given: dict[str, Any] = {key: chosen.parameters[key] for key in ("model", "back_end", "base_url", "dtype", "api")
             if key in chosen.parameters}  # fmt: skip
    if chosen.kind == "embedding":
        chosen.parameters = {key: value for key, value in chosen.parameters.items() if key not in given}
    with opened(project_path) as project:
        close_unfinished(project)
        if name not in run_names(project):
            tell(pipelines.said_of_run(name, pipelines.make_run(project, name, retriever, author, depth, tell)))
        plan = GeneratorPlan(given, None, n_tokens=n_tokens, max_tokens=max_tokens)
        if rule is not None:
            plan = GeneratorPlan(rule=cast(AnswerRule | None, rule))
        ready = _generator(project, None, plan)
        queries = tuple(query.query_id for query in pipelines.asked_queries(project))
        wanted = WantedAnswers((name,), (k,), from_gold=False, query_ids=queries)
        reins = Reins(lambda line: tell(f"exam: {line}"))
        final = generate_answers(project, ready, wanted, author, Caps(patience=patience), watch("answers"), reins)
        if final.state in ("failed", "cancelled"):
            raise GradingError("job-failed", final.message, f"{counted(final.graded, 'answer')} came so far: kept.")
        done = _grade(
            project, find_answer_model(project, "generator", ready.model.fingerprint), name, k, None, chosen, patience
        )
    _say_graded(done, as_json)
