"""Commands about multiple-choice exams: examinees, their leaderboard, and item response models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from .. import exams, formats, graders, records, study
from ..choices import (
    BACK_ENDS,
    CHOICE_NORMALISATION,
    DTYPES,
    EXAMINEE_RULES,
    ITEM_DRAWS,
    ITEM_DROP,
    ITEM_STEPS,
    LEAST_TOPIC_ANSWERS,
    NORMALISATIONS,
    RETRIEVAL_DEPTH,
    RETRIEVERS,
    EstimatorName,
    ExamineeTest,
    ItemCriterion,
    ResponseModel,
    Retriever,
)
from ..errors import GradingError, InputError, Report
from ..measures import item_response
from ..records import CLOSED_BOOK
from ..text import first_few, format_interval, how_many
from .console import call_note_printer, find_total_failure, print_message, progress_watcher
from .grader_options import Patience, may_use_key
from .policy import PolicyOptions
from .registry import (
    MOST_DRAWS,
    Argument,
    GatheredOptions,
    Opening,
    Option,
    Output,
    Project,
    at_most_one,
    current_author,
    exactly_one,
    only_given,
    operation,
)

OnlyQuery = Annotated[str | None, Option("--query", help="Only items of this query.")]


@operation("examinees add", act="run exams")
def add(
    project: Project,
    *,
    name: Annotated[
        str | None, Option(help="Name of the examinee. Default: derived from its settings.")
    ] = None,
    by: Annotated[
        str | None,
        Option(
            help="Method of choosing an answer; rules use no model.",
            choices=["likelihood", "letter", *EXAMINEE_RULES],
        ),
    ] = None,
    model: Annotated[str | None, Option(help="Name or folder of the model.")] = None,
    back_end: Annotated[
        str | None,
        Option(help="transformers: on this computer; openai: at an endpoint.", choices=BACK_ENDS),
    ] = None,
    base_url: Annotated[
        str | None,
        Option(help="Address of an OpenAI-compatible endpoint, such as http://localhost:8000/v1."),
    ] = None,
    key_variable: Annotated[
        str | None, Option(help="Environment variable with the endpoint's key.")
    ] = None,
    revision: Annotated[
        str | None, Option(help="Branch, tag or commit of a model on the hub.")
    ] = None,
    dtype: Annotated[
        str | None, Option(help="Number format of a model on this computer.", choices=DTYPES)
    ] = None,
    normalise: Annotated[
        str | None,
        Option(
            help=(
                "Unit for the length of a choice. Its likelihood is divided by that length."
                f" Default: {CHOICE_NORMALISATION}."
            ),
            choices=NORMALISATIONS,
        ),
    ] = None,
    retrieval: Annotated[
        str, Option(help="Context: closed-book, oracle, or a retrieval.")
    ] = CLOSED_BOOK,
    k: Annotated[int, Option(help="Passages from the retrieval.", least=1)] = 1,
    icl: Annotated[int, Option(help="Worked examples before the question.", least=0)] = 0,
    seed: Annotated[int, Option(help="Random seed of worked examples and of chance.", least=0)] = 0,
    factors: Annotated[
        tuple[str, ...],
        Option(
            "--factor",
            help="Level of another component, for exam irt; may be repeated.",
            metavar="NAME=LEVEL",
        ),
    ] = (),
) -> Output:
    """Add an examinee. An existing examinee stays unchanged."""
    options = only_given(
        model=model,
        back_end=back_end,
        base_url=base_url,
        key_variable=key_variable,
        revision=revision,
        dtype=dtype,
        normalise=normalise,
    )
    levels = dict(map(_parse_component, factors))
    with may_use_key(options):
        student = exams.add_student(
            project,
            exams.Plan(by, options, retrieval, k, icl, seed, name, levels),
            current_author(),
        )
    return Output(asdict(student)).note(f"Examinee: {student.name}")


def _parse_component(text: str) -> tuple[str, str]:
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
    progress = [
        (student, exams.examinee_standing(project, student, query_id))
        for student in records.list_examinees(project)
    ]
    value = {
        "students": [
            asdict(examinee) | {"standing": asdict(far) | {"missing": far.missing}}
            for examinee, far in progress
        ],
        "retrievals": [asdict(examinee) for examinee in exams.list_retrievals(project)],
    }
    return Output(value).table(
        ("examinee", "model", "retrieval", "icl", "items", "answered", "failed", "unanswered"),
        [
            (
                examinee.name,
                examinee.factors.get("model"),
                examinee.factors.get("retrieval"),
                examinee.factors.get("icl"),
                *(far.items, far.answered, far.failed, far.missing),
            )
            for examinee, far in progress
        ],
    )


@operation("examinees retrieve", act="run exams")
@exactly_one(
    "option-missing",
    f"Use --run FILE, or --with {', '.join(RETRIEVERS)}.",
    run="--run",
    retriever="--with",
)
def retrieve(
    project: Project,
    *,
    name: Annotated[str, Argument()],
    retriever: Annotated[
        Retriever | None,
        Option("--with", help="Retriever that ranks the project's passages."),
    ] = None,
    run: Annotated[
        Path | None, Option(help="TREC run with item ids as query ids.", file="read", exists=True)
    ] = None,
    depth: Annotated[int, Option(help="Passages to keep per item.", least=1)] = RETRIEVAL_DEPTH,
    rerank: Annotated[
        str | None, Option(help="Cross-encoder that re-ranks the first 100.", metavar="MODEL")
    ] = None,
    query_id: OnlyQuery = None,
) -> str:
    """Add a retrieval: passages for each item that examinees can get as context.

    The passages come from a TREC run with item ids as query ids (--run), or from a retriever
    (--with).
    """
    if run is not None and rerank is not None:
        raise InputError(
            "option-missing", "--rerank does not work with --run.", "Use --rerank with --with."
        )
    if run is not None:
        items = exams.import_retrieval(
            project, name, formats.Source.from_path(run), current_author()
        )
    else:
        items = exams.make_retrieval(
            project,
            name,
            retriever or "bm25",
            current_author(),
            depth,
            query_id,
            print_message,
            rerank,
        )
    return f"Retrieval {name}: passages for {how_many(items, 'items')}."


@operation("examinees run", act="run exams")
def sit(
    project: Project,
    *,
    names: Annotated[
        tuple[str, ...], Option("--student", help="Only this examinee; may be repeated.")
    ] = (),
    query_id: OnlyQuery = None,
    bank_version: Annotated[int | None, Option(help="Bank version. Default: the newest.")] = None,
    limit: Annotated[
        int | None, Option(help="Maximum number of answers, over all examinees.", least=1)
    ] = None,
    max_cost: Annotated[float | None, Option(help="Cost limit.", least=0)] = None,
    max_calls: Annotated[int | None, Option(help="Call limit, retries included.", least=1)] = None,
    concurrency: Annotated[int, Option(help="Parallel calls.", least=1, most=1024)] = 8,
    patience: Patience,
    retry_failed: Annotated[bool, Option(help="Also retry failed answers.")] = False,
    only_failed: Annotated[bool, Option(help="Retry only failed answers.")] = False,
    base_url: Annotated[
        str | None, Option(help="Address of the endpoint for --key-variable.")
    ] = None,
    key_variable: Annotated[
        str | None, Option(help="Environment variable with the key of the endpoint at --base-url.")
    ] = None,
) -> Output:
    """Run the exam: examinees answer their unanswered items. Interrupted jobs resume."""
    if key_variable and not base_url:
        raise InputError(
            "option-missing", "--key-variable needs an endpoint.", "Add --base-url URL."
        )
    request = exams.ExamRequest(
        names or None,
        query_id,
        bank_version,
        limit=limit,
        max_calls=max_calls,
        max_cost=max_cost,
        concurrency=concurrency,
        retry_failed=retry_failed,
        only_failed=only_failed,
        patience=patience,
    )
    with graders.use_access(graders.extend_access(base_url, key_variable)):
        ended = exams.sit_exam(
            project,
            request,
            current_author(),
            progress_watcher("answers"),
            graders.Control(report=call_note_printer()),
        )
    failures = [
        GradingError(
            "job-failed",
            f"{name}: {progress.message}",
            "Run the command again to resume. Saved answers are kept.",
        )
        for name, progress in ended.items()
        if progress.state in ("failed", "cancelled")
    ]
    failures += filter(None, [find_total_failure(job, "answers") for job in ended.values()])
    value = {
        name: {
            "state": progress.state,
            "answered": progress.graded,
            "failed": progress.failed,
            "message": progress.message,
        }
        | asdict(progress.usage)
        for name, progress in ended.items()
    }
    return (
        Output(value)
        .note(
            *(
                f"{name}: {how_many(progress.graded, 'answers')}, {progress.failed:,} failed."
                f" {progress.message}".rstrip()
                for name, progress in ended.items()
            )
        )
        .failing(next(iter(failures), None))
    )


@operation("examinees leaderboard", act="read the bank", reads=True)
@at_most_one(best_of="--best-of", by="--by", test="--compare")
def exam_board(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Only items of this query.")] = None,
    names: Annotated[
        tuple[str, ...], Option("--student", help="Only this examinee; may be repeated.")
    ] = (),
    bank_version: Annotated[int | None, Option(help="Bank version (default: the newest).")] = None,
    best_of: Annotated[
        str | None,
        Option(
            help=(
                "Table of models by context mode: the best accuracy over the numbers"
                " of worked examples."
            ),
            choices=["icl"],
        ),
    ] = None,
    by: Annotated[str | None, Option(help="Show accuracy by topic.", choices=["topic"])] = None,
    least: Annotated[
        int, Option(help="Minimum number of answers for a topic to be shown.", least=1)
    ] = LEAST_TOPIC_ANSWERS,
    test: Annotated[
        ExamineeTest | None,
        Option(
            "--compare",
            help="Compare all pairs of examinees by item, with Holm correction.",
        ),
    ] = None,
) -> Output:
    """Show the exam leaderboard: accuracy of each examinee, with intervals."""
    answers = exams.examinee_responses(project, names or None, query_id, bank_version)
    if best_of:
        return _grid_output(answers)
    if by:
        return _topics_output(answers, least)
    if test:
        return _comparisons_output(exams.compare_examinees(answers, test), test)
    return _board_output(exams.exam_board(answers))


def _board_output(board: list[exams.ExamineeRow]) -> Output:
    records = [
        _score_record(row.student.name, row.score) | {"factors": row.student.factors}
        for row in board
    ]
    return Output({"students": records}).table(
        (
            "examinee",
            "accuracy",
            "95% interval",
            "answered",
            "failed",
            "not asked",
            "failed as wrong",
        ),
        [
            (
                row.student.name,
                score.accuracy,
                format_interval(score.accuracy_interval),
                score.answered,
                score.failed,
                score.missing,
                score.strict_accuracy,
            )
            for row in board
            for score in [row.score]
        ],
    )


def _score_record(student: str, score: exams.Score) -> dict[str, Any]:
    derived = (
        "accuracy",
        "std_error",
        "accuracy_interval",
        "strict_accuracy",
        "strict_std_error",
        "missing",
    )
    return {"student": student} | asdict(score) | {name: getattr(score, name) for name in derived}


def _grid_output(answers: exams.Responses) -> Output:
    board = exams.leaderboard_grid(exams.exam_board(answers))
    cells = {
        model: {name: board.accuracy(model, name) for name in board.retrievals}
        for model in board.models
    }
    return Output({"accuracy": cells, "best": board.best}).table(
        ("model", *board.retrievals, "best"),
        [
            (model, *cells[model].values(), ", ".join(board.best[model]) or None)
            for model in board.models
        ],
    )


def _topics_output(answers: exams.Responses, least: int) -> Output:
    rows = exams.by_topic(answers, least)
    return (
        Output(
            {
                "rows": [
                    {"topic": row.topic} | _score_record(row.student.name, row.score)
                    for row in rows
                ]
            }
        )
        .table(
            ("examinee", "topic", "accuracy", "95% interval", "answers"),
            [
                (
                    row.student.name,
                    row.topic,
                    score.accuracy,
                    format_interval(score.accuracy_interval),
                    score.answered,
                )
                for row in rows
                for score in [row.score]
            ],
        )
        .note(None if rows else f"No topic has {how_many(least, 'answers')} of an examinee.")
    )


def _comparisons_output(comparisons: list[exams.Comparison], test: ExamineeTest) -> Output:
    records = [
        asdict(comparison) | {"difference": comparison.difference} for comparison in comparisons
    ]
    return Output({"test": test, "comparisons": records}).table(
        ("first", "second", "items", "difference", "only first", "only second", "p", "after Holm"),
        [
            (
                comparison.first,
                comparison.second,
                comparison.items,
                comparison.difference,
                comparison.only_first,
                comparison.only_second,
                comparison.p,
                comparison.adjusted,
            )
            for comparison in comparisons
        ],
    )


T = TypeVar("T")

RankedBy = Annotated[ItemCriterion, Option(help="Value that ranks the items, lowest first.")]


@dataclass(frozen=True)
class _Answers:
    table: exams.AnswerTable
    model: ResponseModel
    estimator: EstimatorName
    seed: int

    def analyse(self, bootstrap: int, held_out: bool) -> item_response.Analysis:
        """Return the item response analysis of the answers."""
        table = self.table
        analysis = item_response.analyse_responses(
            table.students,
            table.items,
            table.correct,
            table.factors,
            self.model,
            self.estimator,
            bootstrap,
            held_out,
            self.seed,
        )
        return replace(analysis, remarks=[*analysis.remarks, *table.remarks])


def _answers_options(
    *,
    file: Annotated[Path | None, Argument(file="read", metavar="[FILE]")] = None,
    query_id: Annotated[
        str | None, Option("--exam", help="Only items of this query of the project.", metavar="Q")
    ] = None,
    factors: Annotated[
        Path | None,
        Option(
            help=(
                "CSV of examinee properties: column student, then a column per factor. Requires"
                " answers from a FILE."
            ),
            file="read",
            metavar="FILE",
        ),
    ] = None,
    flat: Annotated[
        bool, Option(help="Ignore factors: estimate one ability per examinee.")
    ] = False,
    model: Annotated[
        ResponseModel,
        Option(help="3pl: with guessing; 2pl: without guessing; 1pl: difficulty only."),
    ] = "3pl",
    estimator: Annotated[
        EstimatorName,
        Option(
            help=(
                "map: most probable parameters. paper: highest likelihood within the"
                " bounds of the paper."
            ),
        ),
    ] = "map",
    seed: Annotated[int, Option(help="Random seed.", least=0)] = 0,
) -> Callable[[Opening], _Answers]:
    def read_answers(opening: Opening) -> _Answers:
        if file is not None:
            table = _read_answer_table(file, factors)
        elif factors is not None:
            raise InputError(
                "option-missing",
                "--factors needs a FILE of answers.",
                "Import them: exam import students FILE.",
            )
        else:
            with opening() as project:
                table = exams.answer_table(project, query_id)
        if flat:
            table = replace(table, factors=None, remarks=())
        return _Answers(table, model, estimator, seed)

    return read_answers


AnswersOptions = Annotated[Callable[[Opening], _Answers], GatheredOptions(_answers_options)]
"""A function that reads the answers and returns them with the model to fit."""


def _read_answer_table(file: Path, factors: Path | None) -> exams.AnswerTable:
    examinees = _read_file(file, formats.read_matrix)
    items = list(dict.fromkeys(item for examinee in examinees for item in examinee.verdicts))
    # Imported here, because the options need no NumPy.
    import numpy as np

    rows = [[examinee.verdicts.get(item, np.nan) for item in items] for examinee in examinees]
    table = np.array(rows, np.float64).reshape(len(examinees), len(items))
    levels = None if factors is None else _read_file(factors, formats.read_factors)
    return exams.AnswerTable([examinee.student for examinee in examinees], items, table, levels)


def _read_file(path: Path, read: Callable[[formats.Source, Report], T]) -> T:
    report = Report()
    content = read(formats.Source.from_path(path), report)
    report.raise_if_refused()
    for note in report.notes:
        print_message(str(note))
    return content


@operation("irt fit", act="read the bank")
def fit_command(
    opening: Opening,
    *,
    wanted: AnswersOptions,
    bootstrap: Annotated[
        int,
        Option(help="Bootstrap repeats for the intervals of abilities.", least=0, most=MOST_DRAWS),
    ] = ITEM_DRAWS,
    marginal: Annotated[
        bool, Option(help="Integrate abilities out. For many examinees; ignores factors.")
    ] = False,
) -> Output:
    """Estimate abilities of examinees and components. Also report the fit."""
    answers = wanted(opening)
    if marginal:
        return _marginal_output(answers)
    analysis = answers.analyse(bootstrap, held_out=True)
    fit_statistics = analysis.statistics
    hidden = (
        ""
        if fit_statistics.held_out is None
        else (
            f"; on hidden answers {fit_statistics.held_out:.3f} (baseline:"
            f" {fit_statistics.held_out_baseline:.3f})"
        )
    )
    output = (
        Output(analysis.as_dict())
        .line(
            f"{how_many(len(analysis.students), 'examinees')},"
            f" {how_many(len(analysis.items), 'items')}, "
            f"model {analysis.fit.model}, estimator {analysis.fit.estimator}:"
            f" log-likelihood {fit_statistics.log_likelihood:.3f}, AIC {fit_statistics.aic:.1f}"
        )
        .line(
            f"RMSE {fit_statistics.rmse.mean:.3f} (baseline by examinee accuracy: "
            f"{fit_statistics.baseline.mean:.3f}){hidden}"
        )
        .line()
        .table(("fit", "mean", "sd"), fit_statistics.table)
    )
    if analysis.components:
        output.table(
            (
                "factor",
                "level",
                "examinees",
                "accuracy",
                "ability",
                "interval",
                "vs first level",
                "interval",
                "note",
            ),
            [
                (
                    row.factor,
                    row.level,
                    row.students,
                    row.accuracy,
                    row.ability.value,
                    format_interval((row.ability.low, row.ability.high)),
                    None if row.difference is None else row.difference.value,
                    ""
                    if row.difference is None
                    else format_interval((row.difference.low, row.difference.high)),
                    "at a bound" if row.at_bound else "",
                )
                for row in analysis.components
            ],
        )
    return output.table(
        ("examinee", "answered", "accuracy", "95 % interval", "ability", "interval"),
        [
            (
                row.student,
                row.answered,
                row.accuracy,
                format_interval(row.accuracy_interval),
                row.ability.value,
                format_interval((row.ability.low, row.ability.high)),
            )
            for row in sorted(analysis.students, key=lambda row: -row.ability.value)
        ],
    ).note(*analysis.remarks)


def _marginal_output(answers: _Answers) -> Output:
    fit = item_response.fit_marginal(answers.table.correct, answers.model)
    rows = [
        {"item": item, "d": d, "b": b, "g": g}
        for item, d, b, g in zip(
            answers.table.items,
            fit.items.d.tolist(),
            fit.items.b.tolist(),
            fit.items.g.tolist(),
            strict=True,
        )
    ]
    students = [
        {"student": student, "ability": ability, "error": error}
        for student, ability, error in zip(
            answers.table.students, fit.theta.tolist(), fit.theta_error.tolist(), strict=True
        )
    ]
    return (
        Output(
            {
                "model": answers.model,
                "estimator": "marginal",
                "converged": fit.converged,
                "parameters": fit.parameters,
                "log_likelihood": fit.log_likelihood,
                "items": rows,
                "students": students,
            }
        )
        .line(
            f"{how_many(len(students), 'examinees')}, {how_many(len(rows), 'items')}, model"
            f" {answers.model}, abilities integrated out: log-likelihood {fit.log_likelihood:.3f}"
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
    analysis = wanted(opening).analyse(0, held_out=False)
    rows = sorted(analysis.items, key=lambda row: (row.sort_key(by), row.item))
    return (
        Output({"by": by, "items": [asdict(row) for row in rows], "remarks": analysis.remarks})
        .table(
            (
                "item",
                "answered",
                "accuracy",
                "d",
                "b",
                "g",
                "information",
                "item-rest",
                "at bound",
                "reason",
            ),
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
        .note(*analysis.remarks)
    )


def _check_percent(percent: float) -> float:
    if not 0 < percent < 100:
        raise InputError(
            "invalid-value",
            f"Invalid value '{percent:g}' for --drop.",
            "Use more than 0 and less than 100.",
        )
    return percent


@operation("irt improve", act="read the bank")
def improve_command(
    opening: Opening,
    *,
    wanted: AnswersOptions,
    drop: Annotated[
        float,
        Option(
            help="Percentage of the items to drop per step.",
            least=0,
            most=100,
            parse=_check_percent,
        ),
    ] = ITEM_DROP,
    steps: Annotated[int, Option(help="Number of steps.", least=1, most=MOST_DRAWS)] = ITEM_STEPS,
    by: RankedBy = "information",
) -> Output:
    """Propose items to retire, step by step, and show the effect. Nothing is removed."""
    answers = wanted(opening)
    table = answers.table
    improvement = item_response.improve_items(
        table.correct,
        item_response.design_of(table.students, table.factors),
        table.items,
        drop,
        steps,
        by,
        answers.model,
        answers.estimator,
        answers.seed,
    )
    record = asdict(improvement) | {"retire": [asdict(item) for item in improvement.retire]}
    record["steps"] = [step | {"curve": step["curve"].tolist()} for step in record["steps"]]
    output = (
        Output(record)
        .table(
            ("items", "information", "rank correlation", "to drop"),
            [
                (step.items, step.information, step.ranking, len(step.dropped))
                for step in improvement.steps
            ],
        )
        .table(
            ("item", "information", "d", "item-rest", "accuracy", "reason"),
            [
                (row.item, row.information, row.d, row.item_rest, row.accuracy, row.reason)
                for row in improvement.retire
            ],
        )
        .note(
            f"{improvement.stopped[0].upper()}{improvement.stopped[1:]}."
            if improvement.stopped
            else None
        )
    )
    if cross_check := improvement.held_out:
        after = "undefined" if cross_check.ranking is None else f"{cross_check.ranking:z.3f}"
        output.note(
            f"Cross-check: half of the examinees select {how_many(cross_check.dropped, 'items')}"
            f" ({cross_check.shared} listed above). For the other half, information"
            f" changes from {cross_check.before:.4f} to {cross_check.after:.4f}."
            f" Rank correlation with all items: {after}."
        )
    return output


@operation("irt bank", act="read the bank", reads=True)
def bank_command(
    project: Project,
    *,
    query_id: Annotated[
        str | None, Option("--query", help="Only questions of this query.", metavar="Q")
    ] = None,
    passages: Annotated[
        bool, Option(help="Use the passages of the query as examinees instead of the systems.")
    ] = False,
    policy: PolicyOptions,
) -> Output:
    """Show how well each question separates the best systems, with a suggestion."""
    if passages and query_id is None:
        raise InputError("option-missing", "--passages needs a query.", "Add --query Q.")
    examinees: study.Examinees = "passages" if passages else "systems"
    worth = study.bank_worth(project, policy, query_id, examinees)
    output = Output(asdict(worth)).table(
        (
            "query",
            "question",
            "weight",
            "answered",
            "d",
            "b",
            "at the top",
            "verdict",
            "suggestion",
        ),
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
            for row in worth.questions
        ],
    )
    best = first_few(list(worth.abilities)[: worth.top], most=10)
    return output.note(
        f"Top {worth.top:,} of {len(worth.abilities):,} {worth.examinees}: {best}.", *worth.remarks
    )
