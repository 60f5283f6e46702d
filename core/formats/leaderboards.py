"""Leaderboards of systems: RUBRIC's and plain TSV and JSON in, TSV and LaTeX out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TextIO

from ..errors import Report
from ..tables import LATEX, disarmed, rearmed
from ..text import first_few
from ..types import Board, BoardRow
from .columns import MEANS, MEASURE, kind_of_map, layout_of, may_be_number, roles_of
from .file_kind import Beginning, FileKind
from .source import (
    SMALL,
    Limits,
    Refused,
    Source,
    cells_of,
    check_limit,
    good_id,
    header_of,
    is_number,
    open_lines,
    parse_pairs,
    refusing,
    said_cell,
)

TableRow = tuple[float | None, str, float, float | None, int | None]
"""One line of a written board: rank, run, score, standard error, number of queries."""

STD_ERROR = re.compile(r"(.* )?(std[_ -]?err(or)?|exam-std|n-exam-std|\+/-)", re.IGNORECASE)
ORIGINAL_RANK = re.compile(r"orig_\w+_rank")
FOOTER = re.compile(r"spearman|kendall|pearson|min_rating|qrel_file|\s+\S")
ROUNDED = 0.001
"""How far a mean in a file may be off by rounding."""
TITLE = re.compile(r"\W*based on\b", re.IGNORECASE)


@dataclass
class _Table:
    """One table of a file: header cells, rows with line numbers, and what its footer says of it."""

    header: list[str]
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    min_rating: str = ""
    by_commas: bool = False


class _Row(NamedTuple):
    """One row of a table: line, system, query and measure (empty without such a column), and all cells."""

    line: int
    run: str
    query: str
    measure: str
    cells: list[str]


class _Places(NamedTuple):
    """The columns of one board: score, standard error, rank, and those of texts."""

    score: int
    error: int | None
    rank: int | None
    texts: list[int]


def read_boards(source: Source, report: Report) -> list[Board]:
    """Read leaderboards, one for every measure.

    Args:
        source: a table as RUBRIC writes it (`method`, a measure, `+/-`, its standard error, ...; ranks
            under `orig_..._rank` become boards whose score is minus the rank; several tables with
            `min_rating` in their footers become several boards); or a table with a header, a run column
            and measures, each optionally followed by `<measure> std_error`; or a table with a column of queries, of
            measures, or both, whose rows `all` are the board, or else the means over the queries; or a JSON map
            run -> score, or measure -> run -> score.
        report: takes refused lines, and notes on columns and rows that are left out.

    Returns:
        Boards in file order, named by the file, and by the measure where it has several.
    """
    lines = list(open_lines(source, report, Limits(SMALL)))
    filled = [(number, line) for number, line in lines if line and not line.isspace()]
    found: list[tuple[Board, str]] = []
    if filled and filled[0][1].lstrip().startswith("{"):
        with refusing(report, source.name, filled[0][0]):
            found = [(board, "") for board in _of_json(source, lines, report)]
    else:
        tables = list(_tables(filled, source.name, report))
        for table in tables:
            suffix = f" min_rating {table.min_rating}" if len(tables) > 1 and table.min_rating else ""
            with refusing(report, source.name, None):
                found += [(board, suffix) for board in _of_table(table, source, report)]
    found = [(board, suffix) for board, suffix in found if board.rows]
    report.require(found, source.name, "leaderboard")
    boards: dict[str, Board] = {}
    several = len({board.measure for board, _ in found}) > 1
    for board, suffix in found:
        # The original ranks stand in every table of a file; they do not depend on its min rating.
        name = KIND.source_name(source) + (f" {board.measure}" if several else "")
        name += "" if ORIGINAL_RANK.fullmatch(board.measure) else suffix
        boards.setdefault(name, replace(board, name=name))
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


def _tables(lines: list[tuple[int, str]], file: str, report: Report) -> Iterator[_Table]:
    table: _Table | None = None
    in_footer = False
    separator: str | None = None
    for number, line in lines:
        if TITLE.match(line):
            continue
        cells: list[str] = []
        with refusing(report, file, number):
            separator = header_of(line)[0] if separator is None else separator
            cells = cells_of(line, separator)
        if not any(cells):
            continue
        first = cells[0].lower()
        if table is None or (first == "method" and table.header[0].lower() == "method"):
            if table is not None:
                yield table
            table, in_footer = _Table(cells, by_commas=separator == ","), False
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


def _of_table(table: _Table, source: Source, report: Report) -> Iterator[Board]:
    file = source.name
    header = [rearmed(cell) for cell in table.header]
    if is_trec_eval_output(header):
        raise Refused("file-of-another-kind", "the file is trec_eval output for one run, not a leaderboard")
    if any(map(is_number, header)):
        header = _long_header([header, *(cells for _, cells in table.rows)])
        if not header:
            raise Refused(
                "header-missing",
                "the first line has numbers; it must name the columns, such as run, query, measure and value",
            )
        table.rows.insert(0, (1, table.header))
    roles = roles_of(header)
    if len(header) < 2:
        raise Refused("not-a-table", "the file is neither JSON nor a table in tab-separated columns")
    if "passage" in roles:
        raise Refused(
            "file-of-another-kind",
            f"the columns {', '.join(header)} belong to judgments or a run; import the file as qrels or runs",
        )
    # Short rows are filled up to the header's length.
    check_limit(len(header) * len(table.rows), "the table has more than", "VALUES")
    query_at, measure_at, run_at = (roles.get(role, -1) for role in ("query", "measure", "run"))
    if run_at < 0 and query_at < 0:
        run_at = 0
    elif run_at < 0:
        report.remark(file, None, "system-of-file-name", f"no column names systems; all rows count as {source.stem}")
    rows: list[_Row] = []
    for number, cells in table.rows:
        cells = cells + [""] * (len(header) - len(cells))
        if run_at >= 0 and cells[run_at] == "_overall_":
            report.remark(file, number, "overall-left-out", "_overall_ is not a run and is left out")
            continue
        with refusing(report, file, number):
            if len(cells) > len(header):
                comma = "; a comma separates cells and cannot be a decimal comma" if table.by_commas else ""
                raise Refused(
                    "wrong-number-of-columns", f"the row has {len(cells)} cells; the header has {len(header)}{comma}"
                )
            run = good_id(rearmed(cells[run_at]) if run_at >= 0 else source.stem, "run")
            query = good_id(cells[query_at], "query") if query_at >= 0 else ""
            measure = good_id(cells[measure_at], "measure") if measure_at >= 0 else ""
            rows.append(_Row(number, run, query, measure, cells))
    rank_at = roles.get("rank")
    values, texts = [], []
    for at, name in enumerate(header):
        if at in (run_at, rank_at, query_at, measure_at) or not name or STD_ERROR.fullmatch(name):
            continue
        given = [row.cells[at] for row in rows if row.cells[at]]
        if not given or name.lower() == "queries":
            continue
        if 2 * sum(map(may_be_number, given)) < len(given):
            report.remark(file, None, "text-column", f"the text column {name} is left out")
            texts.append(at)
        else:
            values.append(at)
    if measure_at >= 0 and len(values) > 1:
        values = [at for at in values if at == roles.get("score")]
        if not values:
            raise Refused(
                "ambiguous-columns", f"several columns of numbers ({', '.join(header)}); name one of them value"
            )
    measures = list(dict.fromkeys(row.measure for row in rows))
    for at in values:
        for measure in measures:
            of_measure = [row for row in rows if row.measure == measure]
            places = _Places(at, _error_column(header, at), rank_at, texts)
            yield _board(measure or header[at], places, of_measure, file, report)


def _long_header(rows: list[list[str]]) -> list[str]:
    """The names of the columns of a table without a header, which says a system's scores by query and measure.

    Nothing if it is not clear which column is which: measures are known by their names, queries by a row for all.
    """
    width = len(rows[0])
    if width not in (3, 4, 6) or any(len(row) != width for row in rows):
        return []
    columns = list(zip(*rows, strict=True))
    if width == 6:
        ranked = all(map(MEASURE.fullmatch, columns[5])) and all(map(is_number, columns[4]))
        return ["query", "Q0", "run", "rank", "value", "measure"] if ranked else []
    kinds = [
        "value" if all(map(is_number, column))
        else "measure" if all(map(MEASURE.fullmatch, column))
        else "query" if not set(column).isdisjoint(MEANS)
        else "run"
        for column in columns
    ]  # fmt: skip
    return kinds if sorted(kinds) in (["measure", "query", "run", "value"], ["measure", "query", "value"]) else []


def _error_column(header: list[str], at: int) -> int | None:
    """Where the standard errors of the measure in a column stand: to its right, after an optional +/-."""
    for after in (at + 1, at + 2):
        if after < len(header) and header[after] != "+/-":
            return after if STD_ERROR.fullmatch(header[after]) else None
    return None


def _board(measure: str, places: _Places, rows: list[_Row], file: str, report: Report) -> Board:
    """The board of one column of numbers, without its name."""
    board: dict[str, BoardRow] = {}
    per_query: dict[str, dict[str, float]] = {}
    seen: dict[tuple[str, ...], int] = {}
    for number, run, query, _, cells in rows:
        if not cells[places.score]:
            continue
        with refusing(report, file, number):
            score, error, rank = (
                None if at is None else _number(cells[at], f"{what} of run {run}")
                for at, what in ((places.score, measure), (places.error, "standard error"), (places.rank, "rank"))
            )
            told = (run, query, *(cells[at] for at in places.texts))
            if seen.setdefault(told, number) != number:
                raise Refused(
                    "duplicate-run",
                    f"run {run} is also on line {seen[told]}, and no column tells the rows apart; name a column of"
                    " queries query, or a column of measures measure",
                )
            if score is None:
                report.remark(
                    file,
                    number,
                    "unknown-score",
                    f"{measure} is unknown (nan); the run is left out of this leaderboard",
                )
            elif query and query not in MEANS:
                per_query.setdefault(run, {}).setdefault(query, score)
            elif run in board:
                report.remark(
                    file, number, "duplicate-score", f"the run already has {measure}; its first number counts"
                )
            elif rank is None and ORIGINAL_RANK.fullmatch(measure):
                # A table with a rank column is our own: there the score is minus the rank already.
                board[run] = BoardRow(run, -score, None, score)
            else:
                board[run] = BoardRow(run, score, error, rank)
    queries = max(map(len, per_query.values()), default=0)
    for run, scores in per_query.items():
        mean = math.fsum(scores.values()) / len(scores)
        if abs(board.setdefault(run, BoardRow(run, mean)).score - mean) > ROUNDED:
            report.remark(
                file,
                None,
                "mean-differs",
                f"{measure}: the value of a run for all queries is not the mean of its values by query",
            )
        if len(scores) < queries:
            report.remark(
                file, None, "fewer-queries", f"{measure}: a run has scores for fewer queries than another run"
            )
    told_apart = frozenset(cell for _, _, *texts in seen for cell in texts) if len(board) < len(seen) else frozenset()
    # Only if they are known of every system can systems be compared over common queries.
    return Board("", measure, list(board.values()), per_query if per_query.keys() == board.keys() else {}, told_apart)


def _number(cell: str, what: str) -> float | None:
    """The number in a cell; None where it is empty or nan."""
    if not cell:
        return None
    if not is_number(cell):
        raise Refused("not-a-number", f"the {what} is {said_cell(cell)}")
    number = float(cell)
    if math.isinf(number):
        raise Refused("not-a-number", f"the {what} is {cell!r}, not a finite number")
    return None if math.isnan(number) else number


def _of_json(source: Source, lines: list[tuple[int, str]], report: Report) -> list[Board]:
    pairs = parse_pairs(source, report, lines[0][0], [line for _, line in lines])
    content = {name: dict(value) if isinstance(value, tuple) else value for name, value in pairs}
    nested = all(isinstance(value, dict) for value in content.values())
    if nested and (others := [name for name in content if not MEASURE.fullmatch(name)]):
        raise Refused(
            "unknown-measure",
            f"unknown measures: {first_few(others)}; import judgments as qrels, rankings as runs, and unusual measures"
            " as a table",
        )
    maps = content if nested else {"score": content}
    if any("_overall_" in scores for scores in maps.values()):
        report.remark(source.name, None, "overall-left-out", "_overall_ is not a run and is left out")
    return [Board("", good_id(name, "measure"), _of_map(scores)) for name, scores in maps.items()]


def _of_map(scores: dict[str, Any]) -> list[BoardRow]:
    for run, score in scores.items():
        if isinstance(score, bool) or not isinstance(score, (int, float)):
            raise Refused("not-a-number", f"the score of run {good_id(run, 'run')} is {score!r}, not a number")
    return [BoardRow(good_id(run, "run"), float(score)) for run, score in scores.items() if run != "_overall_"]


def _is_table(beginning: Beginning) -> bool:
    """Whether a table has a title as RUBRIC's, or a header of words over numbers."""
    if TITLE.match(beginning.lines[0]):
        return True
    first, *rest = beginning.cells[:-1] or beginning.cells
    if any(len(row) < 2 for row in (first, *rest[:2])) or is_trec_eval_output(first) or layout_of(beginning):
        return False
    if any(map(is_number, first)):
        return bool(_long_header([first, *rest]))
    # Cells that white space separates have to be the same number in each row, or it would be any text.
    even = "\t" in beginning.lines[0] or len({len(row) for row in (first, *rest)}) == 1
    roles = roles_of(first)
    others = {roles.get(role) for role in ("query", "run", "rank")}
    return (even and "passage" not in roles) and any(
        at not in others and may_be_number(cell) for row in beginning.cells[1:2] for at, cell in enumerate(row)
    )


KIND = FileKind(
    name="leaderboard",
    title="Leaderboard",
    what="leaderboard of systems, wide or by query: a table with a header, or JSON",
    extensions=("tsv", "json"),
    read=read_boards,
    write=write_board_tsv,
    looks_like={"map": lambda beginning: kind_of_map(beginning) == "leaderboard", "cells": _is_table},
)
