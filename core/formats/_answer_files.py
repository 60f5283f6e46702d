"""Answers that a model wrote outside the workbench, and human verdicts on answers: JSONL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import Report
from ._file_kind import FileKind
from ._source import WHOLE, Limits, Refused, Source, good_id, good_text, note_unread, open_objects, refusing, value_of

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


KIND = FileKind(
    name="answers",
    title="Generated answers",
    what="answers generated elsewhere: JSONL with query_id, run (or gold), k, draw and answer",
    extensions=("jsonl",),
    read=read_answers,
    write=None,
    looks_like={
        "record": lambda beginning: (
            {"query_id", "run", "answer"} <= beginning.keys and not {"k", "draw"}.isdisjoint(beginning.keys)
        )
    },
)


WORDS = {"yes": True, "no": False}


@dataclass(frozen=True)
class AnswerVerdict:
    """A person's verdict whether an answer to a query is acceptable."""

    query_id: str
    answer: str
    acceptable: bool


def read_answer_verdicts(source: Source, report: Report) -> list[AnswerVerdict]:
    """Read verdicts.

    Args:
        source: JSONL with `query_id`, `answer` and `acceptable` (true or false, yes or no, 1 or 0).
        report: receives refused lines, including a second, different verdict on the same answer.

    Returns:
        The verdicts in file order, each once.
    """
    found: dict[tuple[str, str], AnswerVerdict] = {}
    for number, row in open_objects(source, report, Limits(WHOLE)):
        with refusing(report, source.name, number):
            one = AnswerVerdict(
                good_id(value_of(row, QUERY_KEYS, "query id"), "query"),
                good_text(value_of(row, ("answer",), "answer"), "answer"),
                _acceptable(row.get("acceptable")),
            )
            note_unread(row, (QUERY_KEYS, ("answer",), ("acceptable",)), source.name, number, report)
            if found.setdefault((one.query_id, one.answer), one) != one:
                raise Refused(
                    "contradicting-lines", f"the same answer to query {one.query_id} has another result above"
                )
    report.require(found, source.name, "results")
    return list(found.values())


def _acceptable(value: object) -> bool:
    if isinstance(value, str) and value.strip().lower() in WORDS:
        return WORDS[value.strip().lower()]
    if value in (0, 1) and isinstance(value, int):
        return bool(value)
    raise Refused("invalid-verdict", "acceptable is neither true nor false")


VERDICTS = FileKind(
    name="answer-verdicts",
    title="Human results for answers",
    what="answers that people marked as right or wrong: JSONL with query_id, answer and acceptable",
    extensions=("jsonl",),
    read=read_answer_verdicts,
    write=None,
    looks_like={"record": lambda beginning: {"query_id", "answer", "acceptable"} <= beginning.keys},
)
