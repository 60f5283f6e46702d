"""Commands of item response: abilities by component, value of items and questions, a shorter exam."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar, cast

import numpy as np

from ..errors import InputError, Report
from ..exams import AnswerTable, answer_table
from ..formats import Source, read_factors, read_matrix
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
from ..store import Project
from ..study import Examinees, bank_worth
from ..text import first_few, how_many, said_interval
from .console import tell
from .policy import PolicyOptions
from .registry import MOST_DRAWS, Argument, Gathered, Opening, Option, Output, operation

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
    output.table(
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
    )
    return output.note(*found.remarks)


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
    output = Output(
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
    output.line(
        f"{how_many(len(students), 'examinees')}, {how_many(len(rows), 'items')}, model {found.model},"
        f" abilities integrated out: log-likelihood {found.log_likelihood:.3f}"
    )
    output.table(("item", "d", "b", "g"), [tuple(row.values()) for row in rows])
    return output.table(("examinee", "ability", "std error"), [tuple(row.values()) for row in students])


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
    output = Output({"by": by, "items": [asdict(row) for row in rows], "remarks": found.remarks}).table(
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
    return output.note(*found.remarks)


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
    if found.stopped:
        output.note(f"{found.stopped[0].upper()}{found.stopped[1:]}.")
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
    output = Output(found.as_dict()).table(
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
