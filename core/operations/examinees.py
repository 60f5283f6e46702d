"""Commands about the examinees of an exam: add them, choose their passages, run the exam, show its leaderboard."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from .. import exams
from ..errors import GradingError, InputError
from ..exams import (
    DEPTH,
    LEAST,
    NORMALISE,
    RETRIEVERS,
    RULES,
    TESTS,
    Comparison,
    Plan,
    Responses,
    Retriever,
    Row,
    Score,
    Sit,
    Test,
    add_student,
    by_topic,
    grid,
    import_retrieval,
    make_retrieval,
    responses,
    retrievals,
    standing,
)
from ..formats import Source
from ..graders import BACK_ENDS, DTYPES, NORMALISATIONS, Control, acting, naming
from ..records import CLOSED_BOOK, students as every_student
from ..store import Project, current_author
from ..text import how_many, said_interval
from .console import close_unfinished, tell, tell_of_calls, watch
from .grader_options import Patience, may_use_key
from .registry import Argument, Option, Output, at_most_one, operation

OnlyQuery = Annotated[str | None, Option("--query", help="Only items of this query.")]


@operation("examinees add", act="run exams")
def add(
    project: Project,
    *,
    name: Annotated[str | None, Option(help="Name of the examinee. Default: derived from its settings.")] = None,
    by: Annotated[
        str | None,
        Option(help="Method of choosing an answer; rules use no model.", choices=["likelihood", "letter", *RULES]),
    ] = None,
    model: Annotated[str | None, Option(help="Name or folder of the model.")] = None,
    back_end: Annotated[
        str | None, Option(help="transformers: on this computer; openai: at an endpoint.", choices=BACK_ENDS)
    ] = None,
    base_url: Annotated[
        str | None, Option(help="Address of an OpenAI-compatible endpoint, such as http://localhost:8000/v1.")
    ] = None,
    key_variable: Annotated[str | None, Option(help="Environment variable with the endpoint's key.")] = None,
    revision: Annotated[str | None, Option(help="Branch, tag or commit of a model on the hub.")] = None,
    dtype: Annotated[str | None, Option(help="Number format of a model on this computer.", choices=DTYPES)] = None,
    normalise: Annotated[
        str | None,
        Option(
            help=f"Unit for the length of a choice. Its likelihood is divided by that length. Default: {NORMALISE}.",
            choices=NORMALISATIONS,
        ),
    ] = None,
    retrieval: Annotated[str, Option(help="Context: closed-book, oracle, or a retrieval.")] = CLOSED_BOOK,
    k: Annotated[int, Option(help="Passages from the retrieval.", least=1)] = 1,
    icl: Annotated[int, Option(help="Worked examples before the question.", least=0)] = 0,
    seed: Annotated[int, Option(help="Random seed of worked examples and of chance.", least=0)] = 0,
    factors: Annotated[
        tuple[str, ...],
        Option("--factor", help="Level of another component, for exam irt; may be repeated.", metavar="NAME=LEVEL"),
    ] = (),
) -> Output:
    """Add an examinee. An existing examinee stays unchanged."""
    settings = {
        "model": model, "back_end": back_end, "base_url": base_url, "key_variable": key_variable,
        "revision": revision, "dtype": dtype, "normalise": normalise,
    }  # fmt: skip
    given = {setting: value for setting, value in settings.items() if value is not None}
    levels = dict(map(_factor, factors))
    with may_use_key(given):
        student = add_student(project, Plan(by, given, retrieval, k, icl, seed, name, levels), current_author())
    return Output(asdict(student)).note(f"Examinee: {student.name}")


def _factor(text: str) -> tuple[str, str]:
    factor, equals, level = text.partition("=")
    if not (factor.strip() and equals and level.strip()):
        raise InputError("invalid-component", f"Invalid component '{text}'.", "Use NAME=LEVEL.")
    return factor.strip(), level.strip()


@operation("examinees list", act="read the bank", reads=True)
def list_(
    project: Project,
    *,
    query_id: OnlyQuery = None,
) -> Output:
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


@operation("examinees retrieve", act="run exams")
def retrieve(
    project: Project,
    *,
    name: Annotated[str, Argument()],
    retriever: Annotated[
        Retriever | None, Option("--with", help="Retriever that ranks the project's passages.", choices=RETRIEVERS)
    ] = None,
    run: Annotated[Path | None, Option(help="TREC run with item ids as query ids.", file="read", exists=True)] = None,
    depth: Annotated[int, Option(help="Passages to keep per item.", least=1)] = DEPTH,
    rerank: Annotated[str | None, Option(help="Cross-encoder that re-ranks the first 100.", metavar="MODEL")] = None,
    query_id: OnlyQuery = None,
) -> str:
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
    if run is not None:
        items = import_retrieval(project, name, Source.of(run), current_author())
    else:
        items = make_retrieval(project, name, retriever or "bm25", current_author(), depth, query_id, tell, rerank)
    return f"Retrieval {name}: passages for {how_many(items, 'items')}."


@operation("examinees run", act="run exams")
def sit(
    project: Project,
    *,
    names: Annotated[tuple[str, ...], Option("--student", help="Only this examinee; may be repeated.")] = (),
    query_id: OnlyQuery = None,
    bank_version: Annotated[int | None, Option(help="Bank version. Default: the newest.")] = None,
    limit: Annotated[int | None, Option(help="Maximum number of answers, over all examinees.", least=1)] = None,
    max_cost: Annotated[float | None, Option(help="Cost limit.", least=0)] = None,
    max_calls: Annotated[int | None, Option(help="Call limit, retries included.", least=1)] = None,
    concurrency: Annotated[int, Option(help="Parallel calls.", least=1, most=1024)] = 8,
    patience: Patience,
    retry_failed: Annotated[bool, Option(help="Also retry failed answers.")] = False,
    only_failed: Annotated[bool, Option(help="Retry only failed answers.")] = False,
    base_url: Annotated[str | None, Option(help="Address of the endpoint for --key-variable.")] = None,
    key_variable: Annotated[
        str | None, Option(help="Environment variable with the key of the endpoint at --base-url.")
    ] = None,
) -> Output:
    """Run the exam: examinees answer their unanswered items. Interrupted jobs resume."""
    if key_variable and not base_url:
        raise InputError("option-missing", "--key-variable needs an endpoint.", "Add --base-url URL.")
    request = Sit(
        names or None, query_id, bank_version, limit=limit, max_calls=max_calls, max_cost=max_cost,
        concurrency=concurrency, retry_failed=retry_failed, only_failed=only_failed, patience=patience,
    )  # fmt: skip
    with acting(naming(base_url, key_variable)):
        close_unfinished(project)
        control = Control(report=tell_of_calls())
        ended = exams.sit(project, request, current_author(), watch("answers"), control)
    output = Output(
        {
            name: {"state": one.state, "answered": one.graded, "failed": one.failed, "message": one.message}
            | asdict(one.usage)
            for name, one in ended.items()
        }
    )
    for name, one in ended.items():
        output.note(f"{name}: {how_many(one.graded, 'answers')}, {one.failed:,} failed. {one.message}".rstrip())
    if broken := [f"{name}: {one.message}" for name, one in ended.items() if one.state in ("failed", "cancelled")]:
        output.failing(
            GradingError("job-failed", broken[0], "Run the command again to resume. Saved answers are kept.")
        )
    return output


@operation("examinees leaderboard", act="read the bank", reads=True)
@at_most_one(best_of="--best-of", by="--by", test="--compare")
def exam_board(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Only items of this query.")] = None,
    names: Annotated[tuple[str, ...], Option("--student", help="Only this examinee; may be repeated.")] = (),
    bank_version: Annotated[int | None, Option(help="Bank version (default: the newest).")] = None,
    best_of: Annotated[
        str | None,
        Option(
            help="Table of models by context mode: the best accuracy over the numbers of worked examples.",
            choices=["icl"],
        ),
    ] = None,
    by: Annotated[str | None, Option(help="Show accuracy by topic.", choices=["topic"])] = None,
    least: Annotated[int, Option(help="Minimum number of answers for a topic to be shown.", least=1)] = LEAST,
    test: Annotated[
        Test | None,
        Option("--compare", help="Compare all pairs of examinees by item, with Holm correction.", choices=TESTS),
    ] = None,
) -> Output:
    """Show the exam leaderboard: accuracy of each examinee, with intervals."""
    found = responses(project, names or None, None, query_id, bank_version)
    if best_of:
        return _grid(found)
    if by:
        return _topics(found, least)
    if test:
        return _comparisons(exams.compare(found, test), test)
    return _board(exams.exam_board(found))


def _board(board: list[Row]) -> Output:
    records = [_told(row.student.name, row.score) | {"factors": row.student.factors} for row in board]
    return Output({"students": records}).table(
        ("examinee", "accuracy", "95% interval", "answered", "failed", "not asked", "failed as wrong"),
        [
            (
                row.student.name,
                one.accuracy,
                said_interval(one.accuracy_interval),
                one.answered,
                one.failed,
                one.missing,
                one.strict_accuracy,
            )
            for row in board
            for one in [row.score]
        ],
    )


def _told(student: str, score: Score) -> dict[str, Any]:
    derived = ("accuracy", "std_error", "accuracy_interval", "strict_accuracy", "strict_std_error", "missing")
    return {"student": student} | asdict(score) | {name: getattr(score, name) for name in derived}


def _grid(found: Responses) -> Output:
    board = grid(exams.exam_board(found))
    cells = {model: {name: board.accuracy(model, name) for name in board.retrievals} for model in board.models}
    return Output({"accuracy": cells, "best": board.best}).table(
        ("model", *board.retrievals, "best"),
        [(model, *cells[model].values(), ", ".join(board.best[model]) or None) for model in board.models],
    )


def _topics(found: Responses, least: int) -> Output:
    rows = by_topic(found, least)
    output = Output({"rows": [{"topic": row.topic} | _told(row.student.name, row.score) for row in rows]}).table(
        ("examinee", "topic", "accuracy", "95% interval", "answers"),
        [
            (row.student.name, row.topic, one.accuracy, said_interval(one.accuracy_interval), one.answered)
            for row in rows
            for one in [row.score]
        ],
    )
    if not rows:
        output.note(f"No topic has {how_many(least, 'answers')} of an examinee.")
    return output


def _comparisons(found: list[Comparison], test: Test) -> Output:
    records = [asdict(one) | {"difference": one.difference} for one in found]
    return Output({"test": test, "comparisons": records}).table(
        ("first", "second", "items", "difference", "only first", "only second", "p", "after Holm"),
        [
            (one.first, one.second, one.items, one.difference, one.only_first, one.only_second, one.p, one.adjusted)
            for one in found
        ],
    )
