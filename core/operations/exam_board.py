"""The command that prints the leaderboards of an exam: examinees, models by retrievals, topics, and comparisons."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from .. import exams
from ..exams import LEAST, TESTS, Comparison, Responses, Row, Score, Test, by_topic, grid, responses
from ..store import Project
from ..text import said_interval
from .console import counted
from .describing import Option
from .output import Output, at_most_one
from .registry import operation


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
        output.note(f"No topic has {counted(least, 'answer')} of an examinee.")
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
