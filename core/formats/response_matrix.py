"""Right and wrong answers made elsewhere: a table of students by items, and the components of the students."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import Report
from core.formats.source import WHOLE, Limits, Refused, Source, check_cells, good_id, open_lines
from core.tables import rearmed

_CELLS = {"": np.nan, "0": 0.0, "1": 1.0}


@dataclass(frozen=True)
class ResponseMatrix:
    """Who answered what right.

    Args:
        students: m names, each once.
        items: n ids, each once.
        responses: m x n; 1 right, 0 wrong, NaN not answered.
    """

    students: list[str]
    items: list[str]
    responses: NDArray[np.float64]


def read_response_matrix(source: Source, report: Report) -> ResponseMatrix:
    """Read a table of answers.

    Args:
        source: CSV or TSV with a header; the first column names the student, each other one an item, whose id is in the
            header. A cell is 1 (right), 0 (wrong) or empty (not answered).
        report: takes refused lines.
    """
    lines = _table(source, report)
    items = _named(next(lines, None), "item", source, report)
    students: dict[str, list[float]] = {}
    for number, cells in lines:
        try:
            if unknown := next((cell for cell in cells[1:] if cell not in _CELLS), None):
                raise Refused(f"the answer '{unknown}' is neither 1 (right), 0 (wrong) nor empty (not answered)")
            if cells[0] in students:
                raise Refused(f"the student '{cells[0]}' is there twice")
            students[good_id(cells[0], "student")] = [_CELLS[cell] for cell in cells[1:]]
        except Refused as refused:
            report.refuse(source.name, number, str(refused))
    if not students and not report.count:
        report.refuse(source.name, None, "the table has no student")
    table = np.array(list(students.values()), float).reshape(len(students), len(items))
    return ResponseMatrix(list(students), items, table)


def read_factors(source: Source, report: Report) -> dict[str, dict[str, str]]:
    """Read the components of students.

    Args:
        source: CSV or TSV with a header; the first column names the student, each other one a factor, such as model or
            retrieval. A cell is a level of that factor.
        report: takes refused lines.

    Returns:
        Level by factor by student.
    """
    lines = _table(source, report)
    factors = _named(next(lines, None), "factor", source, report)
    found: dict[str, dict[str, str]] = {}
    for number, cells in lines:
        try:
            if cells[0] in found:
                raise Refused(f"the student '{cells[0]}' is there twice")
            levels = [good_id(cell, factor) for factor, cell in zip(factors, cells[1:], strict=True)]
            found[good_id(cells[0], "student")] = dict(zip(factors, levels, strict=True))
        except Refused as refused:
            report.refuse(source.name, number, str(refused))
    return found


def _named(header: tuple[int, list[str]] | None, what: str, source: Source, report: Report) -> list[str]:
    """What the columns after the student's are called."""
    if header and len(header[1]) < 2:
        report.refuse(source.name, header[0], f"the header names no {what}: the student comes first, then each {what}")
    return header[1][1:] if header else []


def _table(source: Source, report: Report) -> Iterator[tuple[int, list[str]]]:
    """Lines of a table with as many cells as its header, which comes first; its names differ from each other."""
    split: Callable[[str], list[str]] | None = None
    width = 0
    for number, line in open_lines(source, report, Limits(WHOLE)):
        if not line or line.isspace():
            continue
        delimiter = "\t" if "\t" in line else ","
        try:
            if split is None:
                split = _splitter(delimiter)
                header = split(line)
                names = [good_id(cell, "column") for cell in header[1:]]
                if double := next((name for i, name in enumerate(names) if name in names[:i]), None):
                    raise Refused(f"the column '{double}' is there twice")
                width = len(header)
                yield number, header
                continue
            cells = split(line)
            if len(cells) != width:
                raise Refused(f"the line has {len(cells)} cells, the header has {width}")
        except Refused as refused:
            report.refuse(source.name, number, str(refused))
            if not width:
                return
            continue
        yield number, cells


def _splitter(delimiter: str) -> Callable[[str], list[str]]:
    def split(line: str) -> list[str]:
        check_cells(line, delimiter)
        try:
            cells = next(csv.reader([line], delimiter=delimiter, strict=True))
        except csv.Error as error:
            raise Refused(f"the line cannot be split into cells: {error}") from error
        return [rearmed(cell.strip()) for cell in cells]

    return split
