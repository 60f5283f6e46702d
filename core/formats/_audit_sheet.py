"""Sheets of an audit's passages for judging outside the workbench: TSV and JSONL; judged ones may
also be qrels.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..choices import SheetForm
from ..errors import Report
from ..tables import rearm_cell, tsv_text
from ..text import one_line, quote_name
from ._source import (
    SMALL,
    Limits,
    Refused,
    Source,
    good_id,
    open_columns,
    open_lines,
    open_objects,
    open_rows,
    parse_object,
    peek_text,
    report_refusals,
)
from .trec_files import INTEGER, LARGEST, QRELS_COLUMNS

HEADER = ("query_id", "query", "questions", "passage_id", "passage", "judgment", "note")
CANNOT_SAY = "cannot say"
"""Marks in the judgment column that the assessor cannot judge the passage."""


@dataclass(frozen=True)
class SheetLine:
    """A passage on a sheet.

    Args:
        query, questions, passage: texts for the assessor; empty in a judged sheet.
        judgment: a value; None for `cannot say` and for an empty cell.
        cannot_say: whether the cell is `cannot say`.
        assessor: the assessor, if the file names one.
    """

    query_id: str
    passage_id: str
    query: str = ""
    questions: tuple[str, ...] = ()
    passage: str = ""
    judgment: int | None = None
    cannot_say: bool = False
    assessor: str = ""
    note: str = ""


def write_sheet(lines: Iterable[SheetLine], form: SheetForm) -> str:
    """Return a sheet to fill in: the judgment of every line is empty.

    Each cell of a TSV is on one line and is not a formula for spreadsheets.
    """
    if form == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in map(_as_row, lines))
    rows = (
        (line.query_id, line.query, " / ".join(line.questions), line.passage_id, line.passage)
        for line in lines
    )
    return tsv_text(HEADER, ((*map(one_line, row), None, None) for row in rows))


def _as_row(line: SheetLine) -> dict[str, Any]:
    return {
        "query_id": line.query_id,
        "query": line.query,
        "questions": list(line.questions),
        "passage_id": line.passage_id,
        "passage": line.passage,
        "judgment": None,
        "note": "",
    }


def read_sheet(source: Source, report: Report) -> list[tuple[SheetLine, int]]:
    """Read a judged sheet; lines without a judgment are left out.

    Args:
        source: TSV or CSV with the columns query_id, passage_id and judgment, and optionally
            assessor and note; JSONL with these fields; or qrels. A judgment is a whole number, or
            `cannot say`.
        report: receives refused lines, including different judgments of the same passage.

    Returns:
        The lines with their numbers, each passage of an assessor once.
    """
    begin = (peek_text(source, 4_000) or "").lstrip("\ufeff \t\r\n")
    head = begin.partition("\n")[0].lower()
    if begin.startswith("{"):
        read = open_objects(source, report, Limits(SMALL))
    elif "query_id" in head and "passage_id" in head:
        read = _sheet_rows(source, report)
    else:
        lines = open_columns(source, report, QRELS_COLUMNS, "a qrels line", limits=Limits(SMALL))
        read = (
            (number, {"query_id": query, "passage_id": passage, "judgment": value})
            for number, (query, _, passage, value) in lines
        )
    judged: dict[tuple[str, str, str], tuple[SheetLine, int]] = {}
    any_line = False
    for number, row in read:
        with report_refusals(report, source.name, number):
            line = _sheet_line(row)
            any_line = True
            if line.judgment is None and not line.cannot_say:
                continue
            before, at = judged.setdefault(
                (line.query_id, line.passage_id, line.assessor), (line, number)
            )
            if before != line:
                raise Refused(
                    "contradicting-lines", f"the passage is judged differently on line {at}"
                )
    report.require(any_line, source.name, "passages")
    return list(judged.values())


def _sheet_rows(source: Source, report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = open_lines(source, report, Limits(SMALL))
    keys = (("passage_id",), ("query_id",))
    for number, row in open_rows(lines, source.name, report, keys, parse_object):
        yield number, {name: rearm_cell(cell) for name, cell in row.items()}


def _sheet_line(row: dict[str, Any]) -> SheetLine:
    judgment = row.get("judgment")
    entry = "" if judgment is None else one_line(str(judgment))
    value = None
    if entry and entry.lower() != CANNOT_SAY:
        if (
            isinstance(judgment, bool)
            or not INTEGER.fullmatch(entry)
            or len(entry) > 6
            or abs(int(entry)) > LARGEST
        ):
            raise Refused(
                "invalid-judgment",
                f"the judgment {quote_name(entry)} is neither a whole number nor '{CANNOT_SAY}'",
            )
        value = int(entry)
    return SheetLine(
        good_id(row.get("query_id"), "query"),
        good_id(row.get("passage_id"), "passage"),
        judgment=value,
        cannot_say=entry.lower() == CANNOT_SAY,
        assessor=one_line(str(row.get("assessor") or "")),
        note=one_line(str(row.get("note") or "")),
    )
