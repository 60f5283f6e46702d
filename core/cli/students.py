"""Commands about the students of an exam: adding them, the passages that they are given, and sitting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click

from core import pipelines
from core.cli.guests import File, close_unfinished
from core.cli.options import (
    Whole,
    counted,
    json_option,
    opened,
    print_json,
    print_rows,
    project_option,
    tell,
)
from core.cli.patience import patience_option
from core.cli.progress import ProgressLines
from core.errors import GradingError, InputError
from core.formats import Source
from core.graders import BACK_ENDS, DTYPES, NORMALISATIONS, acting, naming
from core.grading import Progress
from core.pipelines import (
    DEPTH,
    NORMALISE,
    RETRIEVERS,
    RULES,
    Plan,
    Reins,
    Retriever,
    Sit,
    add_student,
    import_retrieval,
    make_retrieval,
    retrievals,
    standing,
)
from core.project import CLOSED_BOOK, current_author
from core.project import students as every_student

_query_option = click.option("--query", "query_id", help="Only items of this query.")


@click.group()
def students() -> None:
    """The students of an exam: models with the way in which they are given context, and rules without a model."""


@students.command("add")
@project_option
@click.option("--name", help="What it is called; made of what it is where not given.")
@click.option("--by", type=click.Choice(["likelihood", "letter", *RULES]), help="How it chooses; a rule has no model.")
@click.option("--model", help="Name or folder of the model.")
@click.option("--back-end", type=click.Choice(BACK_ENDS), help="Where the model runs.")
@click.option("--base-url", help="Address of an OpenAI-compatible endpoint, as http://localhost:8000/v1.")
@click.option("--key-variable", help="Variable of the environment with the endpoint's key.")
@click.option("--revision", help="Branch, tag or commit of a model on the hub.")
@click.option("--dtype", type=click.Choice(DTYPES), help="Number format of a model on this computer.")
@click.option(
    "--normalise",
    type=click.Choice(NORMALISATIONS),
    help=f"What the likelihood of a choice is divided by; {NORMALISE} where not given.",
)
@click.option(
    "--retrieval", default=CLOSED_BOOK, show_default=True, help="closed-book, oracle, or the name of a retrieval."
)
@click.option("--k", type=Whole(1), default=1, show_default=True, help="Passages of the retrieval.")
@click.option("--icl", type=Whole(0), default=0, show_default=True, help="Worked items before the question.")
@click.option("--seed", type=Whole(0), default=0, show_default=True, help="Of worked items, and of chance.")
@click.option("--factor", "factors", multiple=True, metavar="NAME=LEVEL", help="A further component; may be repeated.")
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
    """Add a student; one that is there already stays the one that it is."""
    given = {setting: value for setting, value in settings.items() if value is not None}
    levels = dict(map(_factor, factors))
    with opened(project_path) as project, acting(naming(given.get("base_url"), given.get("key_variable"))):
        student = add_student(project, Plan(by, given, retrieval, k, icl, seed, name, levels), current_author())
    if as_json:
        print_json(asdict(student))
    else:
        tell(f"Student: {student.name}")


def _factor(text: str) -> tuple[str, str]:
    factor, equals, level = text.partition("=")
    if not (factor.strip() and equals and level.strip()):
        raise InputError("invalid-component", f"'{text}' is no component.", "Write NAME=LEVEL.")
    return factor.strip(), level.strip()


@students.command("list")
@project_option
@_query_option
@json_option
def list_(project_path: Path | None, query_id: str | None, as_json: bool) -> None:
    """List the students, and how far each is with the exam."""
    with opened(project_path) as project:
        found = [(student, standing(project, student, query_id)) for student in every_student(project)]
        made = retrievals(project)
    print_rows(
        as_json,
        {
            "students": [asdict(one) | {"standing": asdict(far) | {"missing": far.missing}} for one, far in found],
            "retrievals": [asdict(one) for one in made],
        },
        ("student", "model", "retrieval", "icl", "items", "answered", "failed", "missing"),
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
@click.option("--with", "retriever", type=click.Choice(RETRIEVERS), help="Rank the project's passages by this.")
@click.option("--run", type=File(path_type=Path, exists=True, dir_okay=False), help="A run whose queries are items.")
@click.option("--depth", type=Whole(1), default=DEPTH, show_default=True, help="Passages that are kept for an item.")
@click.option("--rerank", metavar="MODEL", help="Re-rank the first 100 by this cross-encoder.")
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
    """Give items passages that students can be given: from a TREC run with item ids as query ids, or made here."""
    if (retriever is None) == (run is None):
        raise InputError(
            "option-missing",
            "It is not said where the passages come from.",
            f"Give --run FILE, or --with {', '.join(RETRIEVERS)}.",
        )
    if run is not None and rerank is not None:
        raise InputError("option-missing", "An imported run is not re-ranked.", "Give --rerank together with --with.")
    with opened(project_path) as project:
        if run is not None:
            items = import_retrieval(project, name, Source.of(run), current_author())
        else:
            items = make_retrieval(project, name, retriever or "bm25", current_author(), depth, query_id, tell, rerank)
    tell(f"Retrieval {name}: passages for {counted(items, 'item')}.")


@click.command("sit")
@project_option
@click.option("--student", "names", multiple=True, help="Only this student; may be repeated.")
@_query_option
@click.option("--bank-version", type=Whole(), help="Bank version; the newest where not given.")
@click.option("--limit", type=Whole(1), help="Ask at most this many answers, of all students together.")
@click.option("--max-cost", type=click.FloatRange(min=0), help="Money that may be spent at most.")
@click.option("--max-calls", type=Whole(1), help="Calls of models at most, retries included.")
@click.option(
    "--concurrency", type=click.IntRange(1, 1024), default=8, show_default=True, help="Calls in flight at most."
)
@patience_option
@click.option("--retry-failed", is_flag=True, help="Ask what failed again, too.")
@click.option("--only-failed", is_flag=True, help="Ask what failed again and nothing else.")
@click.option("--base-url", help="Address of an endpoint that --key-variable is for.")
@click.option("--key-variable", help="Variable of the environment with the key of the endpoint at --base-url.")
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
    """Let students answer what they have not answered. Stopped at any moment, it goes on where it was."""
    if key_variable and not base_url:
        raise InputError("option-missing", "--key-variable names no address.", "Give --base-url as well.")
    request = Sit(
        names or None, query_id, bank_version, limit, max_calls, max_cost, concurrency, retry_failed, only_failed,
        patience,
    )  # fmt: skip
    with opened(project_path) as project, acting(naming(base_url, key_variable)):
        close_unfinished(project)
        ended = pipelines.sit(
            project, request, current_author(), _watch(), Reins(lambda line: tell(f"exam: {line}"))
        )  # fmt: skip
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
        raise GradingError("job-failed", broken[0], "What was answered so far is kept.")


def _watch() -> Callable[[str, Progress], None]:
    lines = ProgressLines("answers")
    return lambda student, progress: lines.say(progress.done, progress.total, progress.rate, progress.over)
