"""Commands about the students of an exam: adding them, the passages that they are given, and sitting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click

from .. import pipelines
from ..errors import GradingError, InputError
from ..formats import Source
from ..graders import BACK_ENDS, DTYPES, NORMALISATIONS, Control, acting, naming
from ..jobs import Progress
from ..pipelines import (
    DEPTH,
    NORMALISE,
    RETRIEVERS,
    RULES,
    Plan,
    Retriever,
    Sit,
    add_student,
    import_retrieval,
    make_retrieval,
    retrievals,
    standing,
)
from ..project import CLOSED_BOOK, Project, current_author
from ..project import students as every_student
from .guests import File, close_unfinished
from .options import (
    Whole,
    counted,
    json_option,
    opened,
    print_json,
    project_option,
    tell,
)
from .patience import patience_option
from .printing import Output, on_project
from .progress import ProgressLines, tell_of_calls

_query_option = click.option("--query", "query_id", help="Only items of this query.")


@click.group()
def students() -> None:
    """Add and list examinees: models with a mode of context, and rules without a model."""


@students.command("add")
@project_option
@click.option("--name", help="Name of the examinee. Default: derived from its settings.")
@click.option("--by", type=click.Choice(["likelihood", "letter", *RULES]), help="How it chooses; a rule uses no model.")
@click.option("--model", help="Name or folder of the model.")
@click.option(
    "--back-end", type=click.Choice(BACK_ENDS), help="transformers: on this computer; openai: at an endpoint."
)
@click.option("--base-url", help="Address of an OpenAI-compatible endpoint, such as http://localhost:8000/v1.")
@click.option("--key-variable", help="Environment variable with the endpoint's key.")
@click.option("--revision", help="Branch, tag or commit of a model on the hub.")
@click.option("--dtype", type=click.Choice(DTYPES), help="Number format of a model on this computer.")
@click.option(
    "--normalise",
    type=click.Choice(NORMALISATIONS),
    help=f"Unit of a choice's length, by which its likelihood is divided. Default: {NORMALISE}.",
)
@click.option(
    "--retrieval", default=CLOSED_BOOK, show_default=True, help="Context: closed-book, oracle, or a retrieval."
)
@click.option("--k", type=Whole(1), default=1, show_default=True, help="Passages from the retrieval.")
@click.option("--icl", type=Whole(0), default=0, show_default=True, help="Worked examples before the question.")
@click.option(
    "--seed", type=Whole(0), default=0, show_default=True, help="Random seed of worked examples and of chance."
)
@click.option("--factor", "factors", multiple=True, metavar="NAME=LEVEL", help="Another component; may be repeated.")
@json_option
def add(
    project_path: Path | None,
    name: str | None,
    by: str | None,
    retrieval: str,
    k: int,
    icl: int,
    seed: int,
    factors: tuple[str, ...],
    as_json: bool,
    **settings: str | None,
) -> None:
    """Add an examinee. An existing examinee stays unchanged."""
    given = {setting: value for setting, value in settings.items() if value is not None}
    levels = dict(map(_factor, factors))
    with opened(project_path) as project, acting(naming(given.get("base_url"), given.get("key_variable"))):
        student = add_student(project, Plan(by, given, retrieval, k, icl, seed, name, levels), current_author())
    if as_json:
        print_json(asdict(student))
    else:
        tell(f"Examinee: {student.name}")


def _factor(text: str) -> tuple[str, str]:
    factor, equals, level = text.partition("=")
    if not (factor.strip() and equals and level.strip()):
        raise InputError("invalid-component", f"Invalid component '{text}'.", "Use NAME=LEVEL.")
    return factor.strip(), level.strip()


@students.command("list")
@project_option
@_query_option
@json_option
@on_project
def list_(project: Project, query_id: str | None) -> Output:
    """List examinees and their progress in the exam."""
    found = [(student, standing(project, student, query_id)) for student in every_student(project)]
    value = {
        "students": [asdict(one) | {"standing": asdict(far) | {"missing": far.missing}} for one, far in found],
        "retrievals": [asdict(one) for one in retrievals(project)],
    }
    return Output(value).table(
        ("examinee", "model", "retrieval", "icl", "items", "answered", "failed", "unanswered"),
        [
            (
                one.name,
                one.factors.get("model"),
                one.factors.get("retrieval"),
                one.factors.get("icl"),
                *(far.items, far.answered, far.failed, far.missing),
            )
            for one, far in found
        ],
    )


@students.command("retrieve")
@click.argument("name")
@project_option
@click.option("--with", "retriever", type=click.Choice(RETRIEVERS), help="Retriever that ranks the project's passages.")
@click.option(
    "--run", type=File(path_type=Path, exists=True, dir_okay=False), help="TREC run with item ids as query ids."
)
@click.option("--depth", type=Whole(1), default=DEPTH, show_default=True, help="Passages to keep per item.")
@click.option("--rerank", metavar="MODEL", help="Cross-encoder that re-ranks the first 100.")
@_query_option
def retrieve(
    name: str,
    project_path: Path | None,
    retriever: Retriever | None,
    run: Path | None,
    depth: int,
    rerank: str | None,
    query_id: str | None,
) -> None:
    """Add a retrieval: passages for each item that examinees can get as context.

    The passages come from a TREC run with item ids as query ids (--run), or from a retriever (--with).
    """
    if (retriever is None) == (run is None):
        raise InputError(
            "option-missing",
            "Exactly one of --run and --with is needed.",
            f"Use --run FILE, or --with {', '.join(RETRIEVERS)}.",
        )
    if run is not None and rerank is not None:
        raise InputError("option-missing", "--rerank does not work with --run.", "Use --rerank with --with.")
    with opened(project_path) as project:
        if run is not None:
            items = import_retrieval(project, name, Source.of(run), current_author())
        else:
            items = make_retrieval(project, name, retriever or "bm25", current_author(), depth, query_id, tell, rerank)
    tell(f"Retrieval {name}: passages for {counted(items, 'item')}.")


@click.command("sit")
@project_option
@click.option("--student", "names", multiple=True, help="Only this examinee; may be repeated.")
@_query_option
@click.option("--bank-version", type=Whole(), help="Bank version. Default: the newest.")
@click.option("--limit", type=Whole(1), help="Maximum number of answers, over all examinees.")
@click.option("--max-cost", type=click.FloatRange(min=0), help="Cost limit.")
@click.option("--max-calls", type=Whole(1), help="Call limit, retries included.")
@click.option("--concurrency", type=click.IntRange(1, 1024), default=8, show_default=True, help="Parallel calls.")
@patience_option
@click.option("--retry-failed", is_flag=True, help="Also retry failed answers.")
@click.option("--only-failed", is_flag=True, help="Retry only failed answers.")
@click.option("--base-url", help="Address of the endpoint for --key-variable.")
@click.option("--key-variable", help="Environment variable with the key of the endpoint at --base-url.")
@json_option
def sit(
    project_path: Path | None,
    names: tuple[str, ...],
    query_id: str | None,
    bank_version: int | None,
    limit: int | None,
    max_cost: float | None,
    max_calls: int | None,
    concurrency: int,
    patience: float,
    retry_failed: bool,
    only_failed: bool,
    base_url: str | None,
    key_variable: str | None,
    as_json: bool,
) -> None:
    """Run the exam: examinees answer their unanswered items. Interrupted jobs resume."""
    if key_variable and not base_url:
        raise InputError("option-missing", "--key-variable needs an endpoint.", "Add --base-url URL.")
    request = Sit(
        names or None, query_id, bank_version, limit=limit, max_calls=max_calls, max_cost=max_cost,
        concurrency=concurrency, retry_failed=retry_failed, only_failed=only_failed, patience=patience,
    )  # fmt: skip
    with opened(project_path) as project, acting(naming(base_url, key_variable)):
        close_unfinished(project)
        control = Control(report=tell_of_calls())
        ended = pipelines.sit(project, request, current_author(), _watch(), control)
    if as_json:
        print_json(
            {
                name: {"state": one.state, "answered": one.graded, "failed": one.failed, "message": one.message}
                | asdict(one.usage)
                for name, one in ended.items()
            }
        )
    else:
        for name, one in ended.items():
            tell(f"{name}: {counted(one.graded, 'answer')}, {one.failed:,} failed. {one.message}".rstrip())
    if broken := [f"{name}: {one.message}" for name, one in ended.items() if one.state in ("failed", "cancelled")]:
        raise GradingError("job-failed", broken[0], "Run the command again to resume. Saved answers are kept.")


def _watch() -> Callable[[str, Progress], None]:
    lines = ProgressLines("answers")
    return lambda student, progress: lines.say(progress.done, progress.total, progress.rate, progress.over)
