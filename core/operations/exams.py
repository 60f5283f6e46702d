"""Commands about multiple-choice exams: examinees, their leaderboard, and item response models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import numpy as np

from .. import exams
from ..errors import GradingError, InputError, Report
from ..exams import (
    DEPTH,
    LEAST,
    NORMALISE,
    RETRIEVERS,
    RULES,
    TESTS,
    AnswerTable,
    Comparison,
    Plan,
    Responses,
    Retriever,
    Row,
    Score,
    Sit,
    Test,
    add_student,
    answer_table,
    by_topic,
    grid,
    import_retrieval,
    make_retrieval,
    responses,
    retrievals,
    standing,
)
from ..formats import Source, read_factors, read_matrix
from ..graders import BACK_ENDS, DTYPES, NORMALISATIONS, Control, acting, naming
from ..measures.item_response import (
    CRITERIA,
    DROP,
    ESTIMATORS,
    MODELS,
    REPEATS,
    STEPS,
    Analysis,
    Criterion,
    EstimatorName,
    Model,
    analyse,
    design_of,
    fit_marginal,
    improve as improve_exam,
)
from ..records import CLOSED_BOOK, students as every_student
from ..study import Examinees, bank_worth
from ..text import first_few, how_many, said_interval
from .console import close_unfinished, tell, tell_of_calls, watch
from .grader_options import Patience, may_use_key
from .policy import PolicyOptions
from .registry import (
    MOST_DRAWS,
    Argument,
    Gathered,
    Opening,
    Option,
    Output,
    Project,
    at_most_one,
    current_author,
    exactly_one,
    operation,
)

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
@exactly_one("option-missing", f"Use --run FILE, or --with {', '.join(RETRIEVERS)}.", run="--run", retriever="--with")
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
    return (
        Output({"rows": [{"topic": row.topic} | _told(row.student.name, row.score) for row in rows]})
        .table(
            ("examinee", "topic", "accuracy", "95% interval", "answers"),
            [
                (row.student.name, row.topic, one.accuracy, said_interval(one.accuracy_interval), one.answered)
                for row in rows
                for one in [row.score]
            ],
        )
        .note(None if rows else f"No topic has {how_many(least, 'answers')} of an examinee.")
    )


def _comparisons(found: list[Comparison], test: Test) -> Output:
    records = [asdict(one) | {"difference": one.difference} for one in found]
    return Output({"test": test, "comparisons": records}).table(
        ("first", "second", "items", "difference", "only first", "only second", "p", "after Holm"),
        [
            (one.first, one.second, one.items, one.difference, one.only_first, one.only_second, one.p, one.adjusted)
            for one in found
        ],
    )


T = TypeVar("T")

RankedBy = Annotated[str, Option(help="Value that ranks the items, lowest first.", choices=CRITERIA)]


@dataclass(frozen=True)
class _Answers:
    table: AnswerTable
    model: Model
    estimator: EstimatorName
    seed: int

    def analyse(self, bootstrap: int, held_out: bool) -> Analysis:
        """Return the item response analysis of the answers."""
        table = self.table
        found = analyse(
            table.students, table.items, table.correct, table.factors, self.model, self.estimator, bootstrap,
            held_out, self.seed,
        )  # fmt: skip
        return replace(found, remarks=[*found.remarks, *table.remarks])


def _wanted(
    *,
    file: Annotated[Path | None, Argument(file="read", metavar="[FILE]")] = None,
    query_id: Annotated[
        str | None, Option("--exam", help="Only items of this query of the project.", metavar="Q")
    ] = None,
    factors: Annotated[
        Path | None,
        Option(
            help="CSV of examinee properties: column student, then a column per factor. Requires answers from a FILE.",
            file="read",
            metavar="FILE",
        ),
    ] = None,
    flat: Annotated[bool, Option(help="Ignore factors: estimate one ability per examinee.")] = False,
    model: Annotated[
        str, Option(help="3pl: with guessing; 2pl: without guessing; 1pl: difficulty only.", choices=MODELS)
    ] = "3pl",
    estimator: Annotated[
        str,
        Option(
            help="map: most probable parameters. paper: highest likelihood within the bounds of the paper.",
            choices=list(ESTIMATORS),
        ),
    ] = "map",
    seed: Annotated[int, Option(help="Random seed.", least=0)] = 0,
) -> Callable[[Opening], _Answers]:
    def read(opening: Opening) -> _Answers:
        if file is not None:
            table = _of_file(file, factors)
        elif factors is not None:
            raise InputError(
                "option-missing", "--factors needs a FILE of answers.", "In a project, use exam import students FILE."
            )
        else:
            with opening() as project:
                table = answer_table(project, query_id)
        if flat:
            table = replace(table, factors=None, remarks=())
        return _Answers(table, cast(Model, model), cast(EstimatorName, estimator), seed)

    return read


AnswersOptions = Annotated[Callable[[Opening], _Answers], Gathered(_wanted)]
"""A function that reads the answers and returns them with the model to fit."""


def _of_file(file: Path, factors: Path | None) -> AnswerTable:
    found = _read(file, read_matrix)
    items = list(dict.fromkeys(item for one in found for item in one.verdicts))
    place = {item: at for at, item in enumerate(items)}
    table = np.full((len(found), len(items)), np.nan)
    for row, one in enumerate(found):
        for item, right in one.verdicts.items():
            table[row, place[item]] = right
    levels = None if factors is None else _read(factors, read_factors)
    return AnswerTable([one.student for one in found], items, table, levels)


def _read(path: Path, read: Callable[[Source, Report], T]) -> T:
    report = Report()
    found = read(Source.of(path), report)
    report.raise_if_refused()
    for note in report.notes:
        tell(str(note))
    return found


@operation("irt fit", act="read the bank")
def fit_command(
    opening: Opening,
    *,
    wanted: AnswersOptions,
    bootstrap: Annotated[
        int, Option(help="Bootstrap repeats for the intervals of abilities.", least=0, most=MOST_DRAWS)
    ] = REPEATS,
    marginal: Annotated[bool, Option(help="Integrate abilities out. For many examinees; ignores factors.")] = False,
) -> Output:
    """Estimate abilities of examinees and components. Also report the fit."""
    answers = wanted(opening)
    if marginal:
        return _marginal(answers)
    found = answers.analyse(bootstrap, held_out=True)
    output = Output(found.as_dict())
    told = found.statistics
    output.line(
        f"{how_many(len(found.students), 'examinees')}, {how_many(len(found.items), 'items')}, model {found.fit.model},"
        f" estimator {found.fit.estimator}: log-likelihood {told.log_likelihood:.3f}, AIC {told.aic:.1f}"
    )
    held = (
        ""
        if told.held_out is None
        else f"; on hidden answers {told.held_out:.3f} (baseline: {told.held_out_baseline:.3f})"
    )
    output.line(f"RMSE {told.rmse.mean:.3f} (baseline by examinee accuracy: {told.baseline.mean:.3f}){held}")
    output.line()
    output.table(("fit", "mean", "sd"), told.table)
    if found.components:
        output.table(
            ("factor", "level", "examinees", "accuracy", "ability", "interval", "vs first level", "interval", "note"),
            [
                (
                    row.factor,
                    row.level,
                    row.students,
                    row.accuracy,
                    row.ability.value,
                    said_interval((row.ability.low, row.ability.high)),
                    None if row.difference is None else row.difference.value,
                    "" if row.difference is None else said_interval((row.difference.low, row.difference.high)),
                    "at a bound" if row.at_bound else "",
                )
                for row in found.components
            ],
        )
    return output.table(
        ("examinee", "answered", "accuracy", "95 % interval", "ability", "interval"),
        [
            (
                row.student,
                row.answered,
                row.accuracy,
                said_interval(row.accuracy_interval),
                row.ability.value,
                said_interval((row.ability.low, row.ability.high)),
            )
            for row in sorted(found.students, key=lambda row: -row.ability.value)
        ],
    ).note(*found.remarks)


def _marginal(answers: _Answers) -> Output:
    found = fit_marginal(answers.table.correct, answers.model)
    rows = [
        {"item": item, "d": d, "b": b, "g": g}
        for item, d, b, g in zip(
            answers.table.items,
            found.items.d.tolist(),
            found.items.b.tolist(),
            found.items.g.tolist(),
            strict=True,
        )
    ]
    students = [
        {"student": student, "ability": ability, "error": error}
        for student, ability, error in zip(
            answers.table.students, found.theta.tolist(), found.theta_error.tolist(), strict=True
        )
    ]
    return (
        Output(
            {
                "model": found.model,
                "estimator": "marginal",
                "converged": found.converged,
                "parameters": found.parameters,
                "log_likelihood": found.log_likelihood,
                "items": rows,
                "students": students,
            }
        )
        .line(
            f"{how_many(len(students), 'examinees')}, {how_many(len(rows), 'items')}, model {found.model},"
            f" abilities integrated out: log-likelihood {found.log_likelihood:.3f}"
        )
        .table(("item", "d", "b", "g"), [tuple(row.values()) for row in rows])
        .table(("examinee", "ability", "std error"), [tuple(row.values()) for row in students])
    )


@operation("irt items", act="read the bank")
def items_command(
    opening: Opening,
    *,
    wanted: AnswersOptions,
    by: RankedBy = "information",
) -> Output:
    """List items with their parameters and information, weakest first."""
    answers = wanted(opening)
    found = answers.analyse(0, held_out=False)
    rows = sorted(found.items, key=lambda row: (row.by(cast(Criterion, by)), row.item))
    return (
        Output({"by": by, "items": [asdict(row) for row in rows], "remarks": found.remarks})
        .table(
            ("item", "answered", "accuracy", "d", "b", "g", "information", "item-rest", "at bound", "reason"),
            [
                (
                    row.item,
                    row.answered,
                    row.accuracy,
                    row.d,
                    row.b,
                    row.g,
                    row.information,
                    row.item_rest,
                    "".join(row.held),
                    row.reason,
                )
                for row in rows
            ],
        )
        .note(*found.remarks)
    )


def _share(percent: float) -> float:
    if not 0 < percent < 100:
        raise InputError(
            "invalid-value", f"Invalid value '{percent:g}' for --drop.", "Use more than 0 and less than 100."
        )
    return percent


@operation("irt improve", act="read the bank")
def improve_command(
    opening: Opening,
    *,
    wanted: AnswersOptions,
    drop: Annotated[
        float, Option(help="Percentage of the items to drop per step.", least=0, most=100, parse=_share)
    ] = DROP,
    steps: Annotated[int, Option(help="Number of steps.", least=1, most=MOST_DRAWS)] = STEPS,
    by: RankedBy = "information",
) -> Output:
    """Propose items to retire, step by step, and show the effect. Nothing is removed."""
    answers = wanted(opening)
    table = answers.table
    found = improve_exam(
        table.correct, design_of(table.students, table.factors), table.items, drop, steps, cast(Criterion, by),
        answers.model, answers.estimator, answers.seed,
    )  # fmt: skip
    record = asdict(found) | {"retire": [asdict(item) for item in found.retire]}
    record["steps"] = [step | {"curve": step["curve"].tolist()} for step in record["steps"]]
    output = Output(record).table(
        ("items", "information", "rank correlation", "to drop"),
        [(step.items, step.information, step.ranking, len(step.dropped)) for step in found.steps],
    )
    output.table(
        ("item", "information", "d", "item-rest", "accuracy", "reason"),
        [(row.item, row.information, row.d, row.item_rest, row.accuracy, row.reason) for row in found.retire],
    )
    output.note(f"{found.stopped[0].upper()}{found.stopped[1:]}." if found.stopped else None)
    if held := found.held_out:
        after = "undefined" if held.ranking is None else f"{held.ranking:z.3f}"
        output.note(
            f"Cross-check: half of the examinees select {how_many(held.dropped, 'items')} ({held.shared} listed above)."
            f" For the other half, information changes from {held.before:.4f} to {held.after:.4f}."
            f" Rank correlation with all items: {after}."
        )
    return output


@operation("irt bank", act="read the bank", reads=True)
def bank_command(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Only questions of this query.", metavar="Q")] = None,
    passages: Annotated[
        bool, Option(help="Use the passages of the query as examinees instead of the systems.")
    ] = False,
    policy: PolicyOptions,
) -> Output:
    """Show how well each question separates the best systems, with a suggestion."""
    if passages and query_id is None:
        raise InputError("option-missing", "--passages needs a query.", "Add --query Q.")
    examinees: Examinees = "passages" if passages else "systems"
    found = bank_worth(project, policy, query_id, examinees)
    output = Output(asdict(found)).table(
        ("query", "question", "weight", "answered", "d", "b", "at the top", "verdict", "suggestion"),
        [
            (
                row.query_id,
                row.question_id,
                row.weight,
                row.answered,
                row.discrimination,
                row.difficulty,
                row.at_top,
                row.verdict + (f" with {row.alike}" if row.alike else ""),
                row.suggestion,
            )
            for row in found.questions
        ],
    )
    best = first_few(list(found.abilities)[: found.top], most=10)
    return output.note(f"Top {found.top:,} of {len(found.abilities):,} {found.examinees}: {best}.", *found.remarks)
