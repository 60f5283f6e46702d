"""The command that prints the boards of an exam: students, models by retrievals, topics, and comparisons."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from .. import pipelines
from ..errors import InputError
from ..pipelines import LEAST, TESTS, Comparison, Responses, Row, Score, Test, by_topic, grid, responses
from ..text import said_interval
from .options import (
    Whole,
    counted,
    json_option,
    opened,
    print_json,
    print_rows,
    print_table,
    project_option,
    tell,
)


@click.command("exam-board")
@project_option
@click.option("--query", "query_id", help="Only items of this query.")
@click.option("--student", "names", multiple=True, help="Only this examinee; may be repeated.")
@click.option("--bank-version", type=Whole(), help="Bank version (default: the newest).")
@click.option(
    "--best-of",
    type=click.Choice(["icl"]),
    help="Table of models by context mode: the best accuracy over the numbers of worked examples.",
)
@click.option("--by", type=click.Choice(["topic"]), help="Show accuracy by topic.")
@click.option(
    "--least", type=Whole(1), default=LEAST, show_default=True, help="Fewest answers for a topic to be shown."
)
@click.option(
    "--compare", "test", type=click.Choice(TESTS), help="Compare all pairs of examinees by item, with Holm correction."
)
@json_option
def exam_board(
    project_path: Path | None,
    query_id: str | None,
    names: tuple[str, ...],
    bank_version: int | None,
    best_of: str | None,
    by: str | None,
    least: int,
    test: Test | None,
    as_json: bool,
) -> None:
    """Show the exam leaderboard: accuracy of each examinee, with intervals."""
    if sum(one is not None for one in (best_of, by, test)) > 1:
        raise InputError(
            "options-exclude-each-other", "--best-of, --by and --compare cannot be combined.", "Use one of them."
        )
    with opened(project_path) as project:
        found = responses(project, names or None, None, query_id, bank_version)
    if best_of:
        _print_grid(found, as_json)
    elif by:
        _print_topics(found, least, as_json)
    elif test:
        _print_comparisons(pipelines.compare(found, test), test, as_json)
    else:
        _print_board(pipelines.exam_board(found), as_json)


def _print_board(board: list[Row], as_json: bool) -> None:
    print_rows(
        as_json,
        {"students": [_told(row.student.name, row.score) | {"factors": row.student.factors} for row in board]},
        ("examinee", "accuracy", "95 % interval", "answered", "failed", "not asked", "failed as wrong"),
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


def _print_grid(found: Responses, as_json: bool) -> None:
    board = grid(pipelines.exam_board(found))
    cells = {model: {name: board.accuracy(model, name) for name in board.retrievals} for model in board.models}
    print_rows(
        as_json,
        {"accuracy": cells, "best": board.best},
        ("model", *board.retrievals, "best"),
        [(model, *cells[model].values(), ", ".join(board.best[model]) or None) for model in board.models],
    )


def _print_topics(found: Responses, least: int, as_json: bool) -> None:
    rows = by_topic(found, least)
    if as_json:
        print_json({"rows": [{"topic": row.topic} | _told(row.student.name, row.score) for row in rows]})
        return
    print_table(
        ("examinee", "topic", "accuracy", "95 % interval", "answers"),
        [
            (row.student.name, row.topic, one.accuracy, said_interval(one.accuracy_interval), one.answered)
            for row in rows
            for one in [row.score]
        ],
    )
    if not rows:
        tell(f"No topic has {counted(least, 'answer')} of an examinee.")


def _print_comparisons(found: list[Comparison], test: Test, as_json: bool) -> None:
    print_rows(
        as_json,
        {"test": test, "comparisons": [asdict(one) | {"difference": one.difference} for one in found]},
        ("first", "second", "items", "difference", "only first", "only second", "p", "after Holm"),
        [
            (one.first, one.second, one.items, one.difference, one.only_first, one.only_second, one.p, one.adjusted)
            for one in found
        ],
    )
