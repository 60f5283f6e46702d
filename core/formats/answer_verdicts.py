"""Human verdicts on answers: JSONL with a query, an answer and whether it is acceptable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TextIO

from ..errors import Report
from .answers import QUERY_KEYS
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


def write_answer_verdicts(verdicts: Iterable[AnswerVerdict], out: TextIO) -> None:
    """Write verdicts as JSONL that `read_answer_verdicts` reads."""
    write_objects(map(asdict, verdicts), out)


def _acceptable(value: object) -> bool:
    if isinstance(value, str) and value.strip().lower() in WORDS:
        return WORDS[value.strip().lower()]
    if value in (0, 1) and isinstance(value, int):
        return bool(value)
    raise Refused("invalid-verdict", "acceptable is neither true nor false")


def _is_record(beginning: Beginning) -> bool:
    return {"query_id", "answer", "acceptable"} <= beginning.keys


KIND = FileKind(
    name="answer-verdicts",
    title="Human results for answers",
    what="answers that people marked as right or wrong: JSONL with query_id, answer and acceptable",
    extensions=("jsonl",),
    read=read_answer_verdicts,
    write=write_answer_verdicts,
    looks_like={"record": _is_record},
)
