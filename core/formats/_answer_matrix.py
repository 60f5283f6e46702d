"""Answers of examinees as a table: a row per examinee, a column per item; 1 right, 0 wrong, empty if unknown."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TextIO, TypeVar

from ..errors import Report
from ..tables import disarmed, rearmed
from ..types import Question
from ._file_kind import Beginning, FileKind
from ._source import SMALL, Limits, Refused, Source, cells_of, good_id, header_of, open_lines, refusing

STUDENT = ("student", "examinee")
"""Names of the column of examinees."""
Value = TypeVar("Value")
VERDICTS = {"1": True, "1.0": True, "0": False, "0.0": False}


@dataclass(frozen=True)
class SatElsewhere:
    """The verdicts of one examinee in a file.

    Args:
        student: name of the examinee.
        verdicts: whether it was right, by question id; items without an answer are absent.
        questions: the items, if the file has their words.
    """

    student: str
    verdicts: dict[str, bool]
    questions: list[Question] = field(default_factory=list)


def read_matrix(source: Source, report: Report) -> list[SatElsewhere]:
    """Read a table of answers.

    Args:
        source: CSV or TSV. The header names the items after the column of examinees. Every other line is an examinee
            with 1, 0 or nothing for each item.
        report: receives refused lines.

    Returns:
        The examinees in file order.
    """
    found = read_students(source, report, _items, _verdicts)
    return [SatElsewhere(student, verdicts) for student, verdicts in found.items()]


def read_students(
    source: Source,
    report: Report,
    names_of: Callable[[Sequence[str]], list[str]],
    values_of: Callable[[dict[str, str], int], Value],
) -> dict[str, Value]:
    """Read a table with a line for each examinee.

    Args:
        source: as for `table_lines`.
        report: receives refused lines.
        names_of: returns the names of the columns after that of the examinees.
        values_of: reads an examinee's non-empty cells, by column name, and the line's number.

    Returns:
        The value of each examinee, in file order; empty if the header is refused.
    """
    names: list[str] = []
    found: dict[str, Value] = {}
    for number, cells in table_lines(source, report):
        with refusing(report, source.name, number):
            if not names:
                names = names_of(cells)
                continue
            student = good_id(cells[0], "student")
            if student in found:
                raise Refused("duplicate-student", f"duplicate examinee {student}")
            if len(cells) != len(names) + 1:
                raise Refused(
                    "wrong-number-of-columns", f"the line has {len(cells)} cells; the header has {len(names) + 1}"
                )
            given = {name: cell for name, cell in zip(names, cells[1:], strict=True) if cell}
            found[student] = values_of(given, number)
        if not names:
            return {}
    report.require(found, source.name, "students")
    return found


def write_matrix(items: Sequence[str], rows: Iterable[tuple[str, Sequence[bool | None]]], out: TextIO) -> None:
    """Write a table of answers as CSV that `read_matrix` reads.

    Args:
        items: question ids.
        rows: an examinee's name, and whether it was right for each item; None leaves the cell empty.
        out: receives a header and a line for each examinee.
    """
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["student", *map(disarmed, items)])
    for student, verdicts in rows:
        writer.writerow([disarmed(student), *("" if one is None else int(one) for one in verdicts)])


def table_lines(source: Source, report: Report) -> list[tuple[int, list[str]]]:
    """Return the lines of a small table in cells without blank lines, the column of examinees moved to the front.

    The separator is that of the first line. The column of examinees is called student or examinee, else it is the
    first one.
    """
    found: list[tuple[int, list[str]]] = []
    separator: str | None = None
    names: list[str] = []
    for number, line in open_lines(source, report, Limits(SMALL)):
        if not line.strip():
            continue
        with refusing(report, source.name, number):
            separator = header_of(line)[0] if separator is None else separator
            cells = [rearmed(cell) for cell in cells_of(line, separator)]
            names = [cell.lower() for cell in cells] if not found else names
            at = next((names.index(name) for name in STUDENT if name in names), 0)
            found.append((number, [*cells[at : at + 1], *cells[:at], *cells[at + 1 :]]))
    return found


def _verdicts(cells: dict[str, str], _: int) -> dict[str, bool]:
    for item, cell in cells.items():
        if cell not in VERDICTS:
            raise Refused("invalid-answer", f"the answer to {item} is not 1, 0 or empty")
    return {item: VERDICTS[cell] for item, cell in cells.items()}


def _items(cells: Sequence[str]) -> list[str]:
    if cells[1:] and cells[0].lower() not in STUDENT and all(cell in VERDICTS for cell in cells[1:]):
        raise Refused(
            "header-missing",
            "the first line has answers; add a header with the column student and the items",
        )
    items = [good_id(cell, "item") for cell in cells[1:]]
    if not items:
        raise Refused("header-missing", "the header has no items after the column student")
    if len(set(items)) < len(items):
        raise Refused("duplicate-item", "the header has a duplicate item")
    return items


def is_verdicts(beginning: Beginning) -> bool:
    """Return whether the complete lines hold verdicts next to a name."""
    rows = beginning.cells[1:-1] or beginning.cells[1:]
    at = next((beginning.header.index(name) for name in STUDENT if name in beginning.header), 0)
    return bool(rows) and all(cell in (*VERDICTS, "") for row in rows for cell in (*row[:at], *row[at + 1 :]))


KIND = FileKind(
    name="responses-matrix",
    title="Answers of examinees",
    what="answers of examinees to an exam: CSV or TSV with a column student and one column per item (1, 0 or empty)",
    extensions=("csv", "tsv"),
    read=read_matrix,
    write=write_matrix,
    looks_like={"cells": lambda begins: not set(STUDENT).isdisjoint(begins.header) and is_verdicts(begins)},
)
