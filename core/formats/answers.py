"""Answers that a model wrote outside the workbench, from the top of runs or from gold passages: JSONL."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from ..errors import Report
from .file_kind import Beginning, FileKind
from .source import (
    WHOLE,
    Limits,
    Refused,
    Source,
    good_id,
    good_text,
    note_unread,
    open_objects,
    refusing,
    value_of,
    write_objects,
)

QUERY_KEYS = ("query_id", "qid", "topic_id")
GOLD = "gold"
MOST = 2**31 - 1


@dataclass(frozen=True)
class WrittenAnswer:
    """One answer of a file.

    Args:
        run: the run whose top passages it was written from; `gold` for the gold passages.
        k: number of these passages; None for gold.
        draw: number of the draw, from 1.
    """

    query_id: str
    run: str
    k: int | None
    draw: int
    answer: str


def read_answers(source: Source, report: Report) -> list[WrittenAnswer]:
    """Read answers.

    Args:
        source: JSONL with `query_id`, `run` (or "gold"), `k` (not with gold), `draw` (default 1) and `answer`.
        report: receives refused lines, including a second answer for the same query, run, k and draw.

    Returns:
        The answers in file order.
    """
    found: dict[tuple[str, str, int | None, int], WrittenAnswer] = {}
    for number, row in open_objects(source, report, Limits(WHOLE)):
        with refusing(report, source.name, number):
            one = _answer(row)
            note_unread(row, (QUERY_KEYS, ("run",), ("answer",)), source.name, number, report)
            place = (one.query_id, one.run, one.k, one.draw)
            if found.setdefault(place, one) is not one:
                raise Refused(
                    "duplicate-answer",
                    f"query {one.query_id} already has an answer from {one.run} with this k and draw",
                )
    report.require(found, source.name, "answers")
    return list(found.values())


def write_answers(answers: Iterable[WrittenAnswer], out: TextIO) -> None:
    """Write answers as JSONL that `read_answers` reads."""
    rows = (asdict(one) for one in answers)
    write_objects(({name: value for name, value in row.items() if value is not None} for row in rows), out)


def _answer(row: dict[str, Any]) -> WrittenAnswer:
    run = good_id(row.get("run"), "run")
    k = row.get("k")
    if run == GOLD:
        k = None
    elif type(k) is not int or not 1 <= k <= MOST:
        raise Refused("invalid-number", "k is not a whole number from 1")
    draw = row.get("draw", 1)
    if type(draw) is not int or not 1 <= draw <= MOST:
        raise Refused("invalid-number", "draw is not a whole number from 1")
    return WrittenAnswer(
        good_id(value_of(row, QUERY_KEYS, "query id"), "query"),
        run,
        k,
        draw,
        good_text(value_of(row, ("answer",), "answer"), "answer"),
    )


def _is_record(beginning: Beginning) -> bool:
    return {"query_id", "run", "answer"} <= beginning.keys and not {"k", "draw"}.isdisjoint(beginning.keys)


KIND = FileKind(
    name="answers",
    title="Generated answers",
    what="answers generated elsewhere: JSONL with query_id, run (or gold), k, draw and answer",
    extensions=("jsonl",),
    read=read_answers,
    write=write_answers,
    looks_like={"record": _is_record},
)
