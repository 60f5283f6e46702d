"""Leaderboards of systems: RUBRIC's and plain TSV and JSON in, TSV and LaTeX out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TextIO

from core.errors import Report
from core.formats.file_kind import ENTRY, Beginning, FileKind
from core.formats.source import SMALL, Limits, Refused, Source, good_id, is_number, open_lines, parse_json
from core.limits import exceeded, limit
from core.tables import LATEX, disarmed, rearmed
from core.types import Board, BoardRow

TableRow = tuple[float | None, str, float, float | None, int | None]
"""One line of a written board: rank, run, score, standard error, number of queries."""

RUN_COLUMNS = ("method", "run", "system", "run_id", "runid", "run id", "team/run", "name")
STD_ERROR = re.compile(r"(.* )?(std[_ -]?err(or)?|exam-std|n-exam-std|\+/-)", re.IGNORECASE)
ORIGINAL_RANK = re.compile(r"orig_\w+_rank")
FOOTER = re.compile(r"spearman|kendall|pearson|min_rating|qrel_file|\s+\S")
TITLE = re.compile(r"\W*based on\b", re.IGNORECASE)


@dataclass
class _Table:
    """One table of a file: header cells, rows with line numbers, and what its footer says of it."""

    header: list[str]
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    min_rating: str = ""


def read_boards(source: Source, report: Report) -> list[Board]:
    """Read leaderboards, one for every measure.

    Args:
        source: TSV as RUBRIC writes it (`method`, a measure, `+/-`, its standard error, ...; ranks
            under `orig_..._rank` become boards whose score is minus the rank; several tables with
            `min_rating` in their footers become several boards); or TSV with a header, a run column
            and measures, each optionally followed by `<measure> std_error`; or a JSON map
            run -> score, or measure -> run -> score.
        report: takes refused lines, and notes on columns and rows that are left out.

    Returns:
        Boards in file order, named by the file, and by the measure where it has several.
    """
    refused_before = report.count
    lines = [
        (number, line) for number, line in open_lines(source, report, Limits(SMALL)) if line and not line.isspace()
    ]
    if lines and lines[0][1].lstrip().startswith("{"):
        found = _of_json(source, lines, report)
    else:
        found = []
        tables = list(_tables(lines))
        for table in tables:
            suffix = f" min_rating {table.min_rating}" if len(tables) > 1 and table.min_rating else ""
            found += [(measure, suffix, rows) for measure, rows in _of_table(table, source.name, report)]
    found = [entry for entry in found if entry[2]]
    if not found and report.count == refused_before:
        report.refuse(source.name, None, "the file has no leaderboard in it")
    boards: dict[str, Board] = {}
    several = len({measure for measure, _, _ in found}) > 1
    for measure, suffix, rows in found:
        # The original ranks stand in every table of a file; they do not depend on its min rating.
        name = KIND.source_name(source) + (f" {measure}" if several else "")
        name += "" if ORIGINAL_RANK.fullmatch(measure) else suffix
        boards.setdefault(name, Board(name, measure, rows))
    return list(boards.values())


def is_trec_eval_output(cells: list[str]) -> bool:
    """Whether a first line is of trec_eval's own output: measure, query or `all`, value."""
    return len(cells) == 3 and cells[0].strip() in ("runid", "num_q") and cells[1].strip() == "all"


def write_board_tsv(measure: str, rows: Iterable[TableRow], out: TextIO) -> None:
    """Write a leaderboard as TSV that `read_boards` reads.

    Args:
        measure: name of the measure, as column header.
        rows: (rank, run, score, standard error, number of queries); None leaves a cell empty.
        out: takes a header and a line for each row, with full precision. A name that a spreadsheet would take for
            a formula gets an apostrophe, which `read_boards` takes away again.
    """
    named = disarmed(" ".join(measure.split()))
    out.write(f"rank\trun\t{named}\t{named} std_error\tqueries\n")
    for rank, run, score, std_error, queries in rows:
        cells = (_plain(rank), disarmed(" ".join(run.split())), repr(score), _plain(std_error), _plain(queries))
        out.write("\t".join(cells) + "\n")


def write_board_latex(measure: str, rows: Iterable[TableRow], out: TextIO, digits: int = 3) -> None:
    """Write a leaderboard as a LaTeX tabular that needs no package.

    Args:
        measure: name of the measure, as column header.
        rows: (rank, run, score, standard error, number of queries); None leaves a cell empty.
        out: takes the tabular.
        digits: decimals of scores and standard errors.
    """
    out.write("\\begin{tabular}{rlrr}\n\\hline\n")
    out.write(f"Rank & Run & {_latex(measure)} & Queries \\\\\n\\hline\n")
    for rank, run, score, std_error, queries in rows:
        error = "" if std_error is None else f" \\pm {std_error:.{digits}f}"
        cells = (_plain(rank), _latex(run), f"${score:.{digits}f}{error}$", _plain(queries))
        out.write(" & ".join(cells) + " \\\\\n")
    out.write("\\hline\n\\end{tabular}\n")


def _plain(value: float | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if value == int(value) else repr(value)


def _latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)


def _tables(lines: list[tuple[int, str]]) -> Iterator[_Table]:
    table: _Table | None = None
    in_footer = False
    for number, line in lines:
        cells = [cell.strip() for cell in line.split("\t")]
        first = cells[0].lower()
        if TITLE.match(line) or not any(cells):
            continue
        if table is None or (first == "method" and table.header[0].lower() == "method"):
            if table is not None:
                yield table
            table, in_footer = _Table(cells), False
            continue
        if table.header[0].lower() == "method":
            # Only RUBRIC's tables have footers; elsewhere a run may have any name.
            in_footer = in_footer or bool(FOOTER.match(line))
            if first == "min_rating" and len(cells) > 1:
                table.min_rating = cells[1]
        if not in_footer:
            table.rows.append((number, cells))
    if table is not None:
        yield table


def _of_table(table: _Table, file: str, report: Report) -> Iterator[tuple[str, list[BoardRow]]]:
    header = [rearmed(cell) for cell in table.header]
    if is_trec_eval_output(header):
        report.refuse(file, None, "the file is trec_eval's output for one run, not a leaderboard")
        return
    if any(map(is_number, header[1:])):
        report.refuse(file, None, "the table's first line has numbers; it must name the columns")
        return
    run_at = next((at for at, name in enumerate(header) if name.lower() in RUN_COLUMNS), 0)
    if len(header) < 2:
        report.refuse(file, None, "the file is neither JSON nor a table in tab-separated columns")
        return
    # Short rows are filled up to the header's length.
    if len(header) * len(table.rows) > (most := limit("VALUES")):
        report.refuse(file, None, exceeded("the table has more than", "VALUES", most))
        return
    rows: list[tuple[int, str, list[str]]] = []
    for number, cells in table.rows:
        cells = cells + [""] * (len(header) - len(cells))
        if cells[run_at] == "_overall_":
            report.remark(file, number, "_overall_ is no run and left out")
        elif len(cells) > len(header):
            report.refuse(file, number, f"the row has {len(cells)} cells; the header has {len(header)}")
        else:
            try:
                rows.append((number, good_id(rearmed(cells[run_at]), "run"), cells))
            except Refused as refused:
                report.refuse(file, number, str(refused))
    rank_at = next((at for at, name in enumerate(header) if name.lower() == "rank"), None)
    for at, measure in enumerate(header):
        if at in (run_at, rank_at) or not measure or STD_ERROR.fullmatch(measure):
            continue
        if measure.lower() == "queries":
            continue
        given = [cells[at] for _, _, cells in rows if cells[at]]
        if given and 2 * sum(is_number(cell) for cell in given) < len(given):
            report.remark(file, None, f"the column {measure} is text and left out")
        elif given:
            yield measure, _rows(measure, at, _error_column(header, at), rank_at, rows, file, report)


def _error_column(header: list[str], at: int) -> int | None:
    """Where the standard errors of the measure in a column stand: to its right, after an optional +/-."""
    for after in (at + 1, at + 2):
        if after < len(header) and header[after] != "+/-":
            return after if STD_ERROR.fullmatch(header[after]) else None
    return None


def _rows(
    measure: str,
    at: int,
    error_at: int | None,
    rank_at: int | None,
    rows: list[tuple[int, str, list[str]]],
    file: str,
    report: Report,
) -> list[BoardRow]:
    board: dict[str, BoardRow] = {}
    for number, run, cells in rows:
        if not cells[at]:
            continue
        try:
            score = _number(cells[at], f"{measure} of run {run}")
            error = _number(cells[error_at], f"standard error of run {run}") if error_at else None
            rank = _number(cells[rank_at], f"rank of run {run}") if rank_at is not None else None
        except Refused as refused:
            report.refuse(file, number, str(refused))
            continue
        if score is None:
            report.remark(file, number, f"{measure} is not known (nan); the run is left out of its board")
        elif run in board:
            report.remark(file, number, f"the run has {measure} already; its first number counts")
        elif rank_at is None and ORIGINAL_RANK.fullmatch(measure):
            # A table with a rank column is our own: there the score is minus the rank already.
            board[run] = BoardRow(run, -score, None, score)
        else:
            board[run] = BoardRow(run, score, error, rank)
    return list(board.values())


def _number(cell: str, what: str) -> float | None:
    """The number in a cell; None where it is empty or nan."""
    if not cell:
        return None
    if not is_number(cell):
        raise Refused(f"the {what} is {cell!r}, not a number")
    number = float(cell)
    if math.isinf(number):
        raise Refused(f"the {what} is {cell!r}, not a finite number")
    return None if math.isnan(number) else number


def _of_json(source: Source, lines: list[tuple[int, str]], report: Report) -> list[tuple[str, str, list[BoardRow]]]:
    report.whole(source.name)
    try:
        content = parse_json("\n".join(line for _, line in lines))
        maps = content if all(isinstance(value, dict) for value in content.values()) else {"score": content}
        if any("_overall_" in scores for scores in maps.values()):
            report.remark(source.name, None, "_overall_ is no run and left out")
        return [(good_id(name, "measure"), "", _of_map(scores)) for name, scores in maps.items()]
    except Refused as refused:
        place = refused.__cause__
        line = lines[place.lineno - 1][0] if isinstance(place, json.JSONDecodeError) else lines[0][0]
        report.refuse(source.name, line, str(refused))
        return []


def _of_map(scores: dict[str, Any]) -> list[BoardRow]:
    for run, score in scores.items():
        if isinstance(score, bool) or not isinstance(score, (int, float)):
            raise Refused(f"the score of run {good_id(run, 'run')} is {score!r}, not a number")
    return [BoardRow(good_id(run, "run"), float(score)) for run, score in scores.items() if run != "_overall_"]


_SCORES = re.compile(rf"{ENTRY}({ENTRY})?-?\d+(\.\d+)?([eE][+-]?\d+)?\s*[,}}]")


def _is_table(beginning: Beginning) -> bool:
    """Whether a table has a title as RUBRIC's, or a header of words over numbers."""
    if TITLE.match(beginning.lines[0]):
        return True
    first, *rest = beginning.cells[:3]
    if any(len(row) < 2 for row in (first, *rest)) or is_trec_eval_output(first):
        return False
    return not any(map(is_number, first)) and bool(rest) and any(map(is_number, rest[0][1:]))


KIND = FileKind(
    name="leaderboard",
    title="Leaderboard",
    what="leaderboard of systems: TSV or JSON",
    extensions=("tsv", "json"),
    read=read_boards,
    write=write_board_tsv,
    looks_like={"map": lambda beginning: bool(_SCORES.match(beginning.text)), "cells": _is_table},
)
