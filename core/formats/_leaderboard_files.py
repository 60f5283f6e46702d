"""Leaderboards of systems: reads RUBRIC's, plain TSV and JSON; writes TSV and LaTeX; AutoJudge's
long forms both ways."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TextIO

from ..choices import LEADERBOARD_FORMS
from ..errors import InputError, Report
from ..tables import escape_latex, rearm_cell, tsv_text
from ..text import first_few
from ..types import Board, BoardRow
from ._source import (
    SMALL,
    FileBeginning,
    FileKind,
    Limits,
    Refused,
    Source,
    check_limit,
    check_names,
    describe_cell,
    good_id,
    header_of,
    is_number,
    number_in,
    open_cells,
    open_lines,
    parse_object,
    parse_pairs,
    report_refusals,
)
from .trec_files import (
    LITERALS,
    MEANS,
    MEASURE,
    STANDARD,
    kind_of_map,
    layout_of,
    may_be_number,
    roles_of,
    shared_role,
)

TableRow = tuple[float | None, str, float, float | None, int | None]
"""One line of a written leaderboard: rank, run, score, standard error, number of queries."""

KEYS = ("run_id", "topic_id", "measure", "value")
LONG = roles_of(KEYS).keys()
"""The keys of a jsonl record as we write them, and the roles that a record needs. Other names for
the roles are allowed (`ROLES`)."""
STD_ERROR = re.compile(r"(.* )?(std[_ -]?err(or)?|exam-std|n-exam-std|\+/-)", re.IGNORECASE)
ORIGINAL_RANK = re.compile(r"orig_\w+_rank")
FOOTER = re.compile(r"spearman|kendall|pearson|min_rating|qrel_file|\s+\S")
ROUNDED = 0.001
"""Largest difference between a mean in a file and the mean of its values that counts as rounding.
"""
TITLE = re.compile(r"\W*based on\b", re.IGNORECASE)


@dataclass
class _Table:
    """One table of a file: header cells, rows with line numbers, the min rating of its footer, and
    the line of the header; None without a header.
    """

    header: list[str]
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    min_rating: str = ""
    by_commas: bool = False
    line: int | None = None


class _Row(NamedTuple):
    """One row of a table: line, system, query and measure (empty without such a column), and all
    cells.
    """

    line: int
    run: str
    query: str
    measure: str
    cells: list[str]


class _Places(NamedTuple):
    """The columns of one leaderboard: score, standard error, rank, and text columns."""

    score: int
    error: int | None
    rank: int | None
    texts: list[int]


def read_boards(
    source: Source,
    report: Report,
    queries: Collection[str] = (),
    form: str | None = None,
    name: str | None = None,
) -> list[Board]:
    """Read leaderboards, one for every measure.

    Args:
        source: one of these:

            - a table of RUBRIC (`method`, a measure, `+/-`, its standard error, ...). Ranks under
                `orig_..._rank` become leaderboards whose score is minus the rank. Several tables
                with `min_rating` in their footers become several leaderboards.
            - a table with a header, a run column and measures, each optionally followed by
              `<measure> std_error`.
            - a table with a column of queries, of measures, or both. Its rows `all` are the
                leaderboard, else the means over the queries.
            - one of `LEADERBOARD_FORMS`.
            - a JSON map run -> score, or measure -> run -> score.
        report: receives refused lines, and notes on columns and rows that are left out.
        queries: known ids, which identify the columns of a long form without a header.
        form: one of `LEADERBOARD_FORMS`; None means that it follows from the header, the known ids
            and the names of measures.
        name: name of the leaderboards; None means that of the file.

    Returns:
        Leaderboards in file order, with this name, and the measure if there are several.
    """
    lines = list(open_lines(source, report, Limits(SMALL)))
    filled = [(number, line) for number, line in lines if line and not line.isspace()]
    parsed: list[Board] = []
    in_json = bool(filled) and filled[0][1].lstrip().startswith("{")
    records = in_json and (
        form
        or is_record(FileBeginning.from_source(source))
        or any(line.lstrip()[:1] == "{" for _, line in filled[1:2])
    )
    if filled and form and in_json != (form == "jsonl"):
        report.refuse(
            source.name,
            None,
            "form-differs",
            f"the file is {'JSON' if in_json else 'a table'}, but --form is {form}",
        )
    elif in_json and not records:
        with report_refusals(report, source.name, filled[0][0]):
            parsed = _json_boards(source, lines, report)
    else:
        tables = (_records_table if records else _split_tables)(filled, source.name, report)
        for table in tables:
            suffix = (
                f" min_rating {table.min_rating}" if len(tables) > 1 and table.min_rating else ""
            )
            with report_refusals(report, source.name, table.line):
                if not records:
                    _name_columns(table, frozenset(queries), form)
                parsed += [
                    replace(board, name=suffix) for board in _table_boards(table, source, report)
                ]
    parsed = [board for board in parsed if board.rows]
    if any(all(STANDARD.fullmatch(row.run) for row in board.rows) for board in parsed):
        report.refuse(
            source.name,
            None,
            "not-a-leaderboard",
            "the systems have names of measures; name a column of systems run, and a column of"
            " measures measure",
        )
    report.require(parsed, source.name, "leaderboard")
    boards: dict[str, Board] = {}
    several = len({board.measure for board in parsed}) > 1
    for board in parsed:
        # Every table of a file repeats the original ranks, which do not depend on its min rating.
        suffix = "" if ORIGINAL_RANK.fullmatch(board.measure) else board.name
        full = (name or source.stem) + (f" {board.measure}" if several else "") + suffix
        boards.setdefault(full, replace(board, name=full))
    return list(boards.values())


def is_trec_eval_output(cells: list[str]) -> bool:
    """Return whether a first line is of trec_eval's own output: measure, query or `all`, value."""
    return len(cells) == 3 and cells[0].strip() in ("runid", "num_q") and cells[1].strip() == "all"


def is_record(beginning: FileBeginning | None) -> bool:
    """Return whether a first line is a record in the form jsonl."""
    return beginning is not None and roles_of(list(beginning.keys)).keys() >= LONG


def write_board_form(
    form: str, measure: str, rows: Iterable[tuple[str, str, float, int]], out: TextIO
) -> None:
    """Write values by query in a long form, which `read_boards` reads.

    Args:
        form: one of `LEADERBOARD_FORMS`; trec_eval has no column for the run.
        rows: (run, query or `all`, value, rank of the run there).

    Raises:
        InputError: a name has white space, which the form uses as separator.
    """
    for run, query, value, rank in rows:
        blank = [name for name in (run, query, measure) if name.split() != [name]]
        if blank and form != "jsonl":
            raise InputError(
                "blank-in-name",
                f"The name {blank[0]!r} contains white space, which the form"
                f" {form} does not allow.",
                "Use --form jsonl.",
            )
        cells = {
            "run": run,
            "query": query,
            "measure": measure,
            "value": value,
            "Q0": "Q0",
            "rank": rank,
        }
        line = [cells[name] for name in LEADERBOARD_FORMS[form]]
        record = dict(zip(KEYS, line, strict=False))
        out.write(
            (
                json.dumps(record, ensure_ascii=False)
                if form == "jsonl"
                else "\t".join(map(str, line))
            )
            + "\n"
        )


def write_board_tsv(measure: str, rows: Iterable[TableRow], out: TextIO) -> None:
    """Write a leaderboard as TSV that `read_boards` reads.

    Args:
        measure: name of the measure, as column header.
        rows: (rank, run, score, standard error, number of queries); None leaves a cell empty.
        out: receives a header and a line for each row, with full precision. A name that looks like
            a formula gets an apostrophe, which `read_boards` removes.
    """
    header = ("rank", "run", measure, f"{measure} std_error", "queries")
    cells = (
        (_plain_number(rank), run, score, _plain_number(std_error), _plain_number(queries))
        for rank, run, score, std_error, queries in rows
    )
    out.write(tsv_text(header, cells))


def write_board_latex(measure: str, rows: Iterable[TableRow], out: TextIO, digits: int = 3) -> None:
    """Write a leaderboard as a LaTeX tabular that needs no package.

    Args:
        measure: name of the measure, as column header.
        rows: (rank, run, score, standard error, number of queries); None leaves a cell empty.
        out: receives the tabular.
        digits: decimals of scores and standard errors.
    """
    out.write("\\begin{tabular}{rlrr}\n\\hline\n")
    out.write(f"Rank & Run & {escape_latex(measure)} & Queries \\\\\n\\hline\n")
    for rank, run, score, std_error, queries in rows:
        error = "" if std_error is None else f" \\pm {std_error:.{digits}f}"
        cells = (
            _plain_number(rank),
            escape_latex(run),
            f"${score:.{digits}f}{error}$",
            _plain_number(queries),
        )
        out.write(" & ".join(cells) + " \\\\\n")
    out.write("\\hline\n\\end{tabular}\n")


def _plain_number(value: float | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if value == int(value) else repr(value)


def _split_tables(lines: list[tuple[int, str]], file: str, report: Report) -> list[_Table]:
    tables: list[_Table] = []
    in_footer = rubric = False
    untitled = ((number, line) for number, line in lines if not TITLE.match(line))
    for number, line, cells in open_cells(untitled, file, report):
        if not any(cells) or (len(cells) == 3 and cells[:2] == ["runid", "all"]):
            # The second condition is trec_eval's own line with the tag of the run.
            continue
        first = cells[0].lower()
        if not tables or (rubric and first == "method"):
            tables.append(_Table(cells, by_commas=header_of(line)[0] == ",", line=number))
            in_footer, rubric = False, first == "method"
            continue
        # Only RUBRIC's tables have footers. In other tables a run may have any name.
        in_footer = rubric and (in_footer or bool(FOOTER.match(line)))
        if rubric and first == "min_rating" and len(cells) > 1:
            tables[-1].min_rating = cells[1]
        if not in_footer:
            tables[-1].rows.append((number, cells))
    return tables


def _records_table(lines: list[tuple[int, str]], file: str, report: Report) -> list[_Table]:
    """Return the records of the form jsonl as one table."""
    table = _Table(list(LEADERBOARD_FORMS["jsonl"]))
    for number, line in lines:
        with report_refusals(report, file, number):
            record = parse_object(line)
            places = roles_of(list(record))
            if same := shared_role(list(record)):
                raise Refused("ambiguous-columns", same)
            if missing := LONG - places.keys():
                raise Refused("column-missing", f"the record has no {first_few(sorted(missing))}")
            values = ["" if value is None else value for value in record.values()]
            ids = [good_id(values[places[role]], role) for role in ("run", "query", "measure")]
            table.rows.append((number, [*ids, str(values[places["score"]])]))
    return [table]


def _name_columns(table: _Table, queries: frozenset[str], form: str | None) -> None:
    """Set a long table's header to that of its form; a first line that is not a header becomes a
    row.

    Raises:
        Refused: the columns are ambiguous, or contradict the form.
    """
    header, roles = table.header, roles_of(table.header)
    rows = [cells for _, cells in table.rows]
    names: list[str] = []
    if form:
        names = list(LEADERBOARD_FORMS[form])
        if len(header) != len(names):
            raise Refused(
                "form-differs",
                f"the form {form} has {len(names)} columns; the file has {len(header)}",
            )
        headless = is_number(header[names.index("value")])
        topics = [_hold_queries(set(column), queries) for column in zip(*rows, strict=False)]
        if any(topics) and not topics[names.index("query")]:
            raise Refused(
                "form-differs",
                f"column {topics.index(True) + 1} holds queries, but --form is {form}",
            )
    elif is_trec_eval_output(header):
        raise Refused(
            "file-of-another-kind",
            "the file is trec_eval output for one run, not a leaderboard; import it"
            " with --form trec_eval",
        )
    elif headless := any(map(is_number, header)):
        names = _long_header([header, *rows], queries)
        if not names:
            raise Refused(
                "header-missing",
                "the first line has numbers, and it is unclear which columns hold runs, queries"
                " and measures; name the"
                f" form with --form ({', '.join(LEADERBOARD_FORMS)}), or add a header such as run,"
                " query, measure, value",
            )
    elif rows and not any(
        MEASURE.fullmatch(name) for at, name in enumerate(header) if at not in roles.values()
    ):
        # The header may name some columns in other words.
        names = _long_header(rows, queries)
    if not names:
        named_columns = {
            *roles.values(),
            *(at for at, name in enumerate(header) if MEASURE.fullmatch(name)),
        }
        others = {
            at: column
            for at, column in enumerate(zip(*rows, strict=False))
            if at and at not in named_columns
        }
        query_columns = [
            at + 1
            for at, column in others.items()
            if "query" not in roles and _hold_queries(set(column), queries)
        ]
        # If all these columns are numbers, the numbers that look like query ids may be counts.
        if query_columns and not all(
            is_number(cell) for column in others.values() for cell in column
        ):
            raise Refused(
                "ambiguous-columns",
                f"column {query_columns[0]} holds queries; rename it to query, or set --form",
            )
        return
    if headless:
        table.rows.insert(0, (table.line or 1, header))
    elif any(roles_of(names).get(role) != at for role, at in roles.items() if role in LONG):
        if form:
            raise Refused(
                "form-differs", f"the header {', '.join(header)} contradicts --form {form}"
            )
        return
    # A rank within a query is not a rank on the leaderboard.
    table.header = ["" if name in ("Q0", "rank") else name for name in names]


def _table_boards(table: _Table, source: Source, report: Report) -> Iterator[Board]:
    file = source.name
    header = [rearm_cell(cell) for cell in table.header]
    roles = roles_of(header)
    if len(header) < 2:
        raise Refused(
            "not-a-table", "the file is neither JSON nor a table in tab-separated columns"
        )
    if "passage" in roles:
        raise Refused(
            "file-of-another-kind",
            f"the columns {', '.join(header)} belong to judgments or a run; import the"
            " file as qrels or runs",
        )
    if same := shared_role(header, () if "measure" in roles else ("score",)):
        raise Refused("ambiguous-columns", same)
    # Short rows are padded to the header's length.
    check_limit(len(header) * len(table.rows), "the table has more than", "VALUES")
    query_at, measure_at, run_at = (roles.get(role, -1) for role in ("query", "measure", "run"))
    if query_at < 0 and run_at < 0:
        run_at = 0
        cells = [cell for _, row in table.rows for cell in row[1:] if cell]
        if all(is_number(row[0]) for _, row in table.rows) and not all(map(may_be_number, cells)):
            raise Refused(
                "column-missing",
                f"no column of {', '.join(header)} names the systems, and the first holds"
                " numbers; rename the column of the systems to run",
            )
    elif run_at < 0:
        report.remark(
            file,
            None,
            "system-of-file-name",
            f"no column names systems; all rows count as {source.stem}",
        )
    rows: list[_Row] = []
    for number, cells in table.rows:
        cells = cells + [""] * (len(header) - len(cells))
        if run_at >= 0 and cells[run_at] == "_overall_":
            report.remark(
                file, number, "overall-left-out", "_overall_ is not a run and is left out"
            )
            continue
        with report_refusals(report, file, number):
            if len(cells) > len(header):
                comma = (
                    "; a comma separates cells and cannot be a decimal comma"
                    if table.by_commas
                    else ""
                )
                raise Refused(
                    "wrong-number-of-columns",
                    f"the row has {len(cells)} cells; the header has {len(header)}{comma}",
                )
            ids = (
                good_id(rearm_cell(cells[run_at]) if run_at >= 0 else source.stem, "run"),
                good_id(cells[query_at], "query") if query_at >= 0 else "",
                good_id(cells[measure_at], "measure") if measure_at >= 0 else "",
            )
            rows.append(_Row(number, *ids, cells))
    rank_at = roles.get("rank")
    columns = {
        at: [row.cells[at] for row in rows if row.cells[at]]
        for at, name in enumerate(header)
        if at not in (run_at, rank_at, query_at, measure_at)
        and name.lower() not in ("", "queries")
        and not STD_ERROR.fullmatch(name)
    }
    values = [
        at
        for at, cells in columns.items()
        if cells and 2 * sum(map(may_be_number, cells)) >= len(cells)
    ]
    check_names([header[at] for at in values])
    texts = [at for at, cells in columns.items() if cells and at not in values]
    for at in texts:
        report.remark(file, None, "text-column", f"the text column {header[at]} is left out")
    unknown = [
        header[at]
        for at in values
        if not MEASURE.fullmatch(header[at]) and at != roles.get("score")
    ]
    if run_at < 0 and unknown:
        raise Refused(
            "ambiguous-columns",
            f"the columns {first_few(unknown)} have no names of measures; if these are"
            " systems, write a line for each system and query, with the columns run,"
            " query, measure and value",
        )
    if measure_at >= 0 and len(values) > 1:
        values = [at for at in values if at == roles.get("score")]
        if not values:
            raise Refused(
                "ambiguous-columns",
                f"several columns of numbers ({', '.join(header)}); rename one of them to value",
            )
    named = any(MEASURE.fullmatch(header[at]) for at in values if at != roles.get("score"))
    if query_at >= 0 or not named or min(Counter(row.run for row in rows).values(), default=1) > 1:
        # Systems occur more than once in a long table, even if its header does not name a query or
        # measure column.
        texts = []
    for at in values:
        for measure in dict.fromkeys(row.measure for row in rows):
            of_measure = [row for row in rows if row.measure == measure]
            places = _Places(at, _error_column(header, at), rank_at, texts)
            yield _column_board(measure or header[at], places, of_measure, file, report)


def _long_header(rows: list[list[str]], queries: frozenset[str]) -> list[str]:
    """Return the column names of a long table without a header, which has scores by system, query
    and measure.

    The result is empty if the columns are ambiguous. Queries are recognised by their ids or a row
    for all, measures by their names. If names do not decide, the position of the queries does,
    since it differs between the forms.
    """
    width = len(rows[0])
    if width not in (3, 4, 6) or any(len(row) != width for row in rows):
        return []
    columns = list(zip(*rows, strict=True))
    cells = [set(column) for column in columns]
    numbers = [all(map(is_number, each)) for each in cells]
    measures = [all(map(MEASURE.fullmatch, each)) for each in cells]
    if width == 6:
        # A run has six columns too, so the columns must rule that out.
        is_clear = numbers[4] and (measures[5] or not _may_be_judgments(columns[2], columns[5]))
        return list(LEADERBOARD_FORMS["ranking"] if is_clear else ())
    topics = [_hold_queries(each, queries) for each in cells]
    if any(not topics[at] and not queries.isdisjoint(each) for at, each in enumerate(cells[:-1])):
        return []
    kinds = [
        "query" if topics[at] else "value" if numbers[at] else "measure" if measures[at] else "run"
        for at in range(width)
    ]
    standard = [any(map(STANDARD.fullmatch, each)) for each in cells]
    if sorted(kinds) in (["measure", "query", "run", "value"], ["measure", "query", "value"]):
        return (
            kinds
            if tuple(kinds) in LEADERBOARD_FORMS.values() or standard[kinds.index("measure")]
            else []
        )
    if sum(topics[:-1]) != 1 or not numbers[-1]:
        return []
    for names in LEADERBOARD_FORMS.values():
        if len(names) == width and topics[names.index("query")]:
            run, measure = names.index("run") if "run" in names else 0, names.index("measure")
            is_clear = measures[measure] or (
                width == 4 and not _may_be_judgments(columns[run], columns[measure])
            )
            return list(names) if standard[measure] or (is_clear and not standard[run]) else []
    return []


def _may_be_judgments(runs: Sequence[str], measures: Sequence[str]) -> bool:
    """Return whether rows may be judgments or a run. In these, passages differ in their number of
    queries; systems do not."""
    times = set(Counter(zip(runs, measures, strict=True)).values())
    return len(times) > 1 or times == {1} or set(runs) <= LITERALS or set(measures) <= LITERALS


def _hold_queries(cells: set[str], queries: frozenset[str]) -> bool:
    """Return whether most cells of a column are known queries, or one marks the row for all."""
    return not cells.isdisjoint(MEANS) or 2 * len(cells & queries) > len(cells)


def _error_column(header: list[str], at: int) -> int | None:
    """Return the column of a measure's standard errors: to its right, after an optional +/-."""
    after = at + 2 if header[at + 1 : at + 2] == ["+/-"] else at + 1
    return after if after < len(header) and STD_ERROR.fullmatch(header[after]) else None


def _column_board(
    measure: str, places: _Places, rows: list[_Row], file: str, report: Report
) -> Board:
    """Return the leaderboard of one column of numbers, without its name."""
    board: dict[str, BoardRow] = {}
    per_query: dict[str, dict[str, float]] = {}
    lines: dict[tuple[str, ...], int] = {}
    for number, run, query, _, cells in rows:
        if not cells[places.score]:
            continue
        with report_refusals(report, file, number):
            score, error, rank = (
                None if at is None else _cell_number(cells[at], f"{what} of run {run}")
                for at, what in (
                    (places.score, measure),
                    (places.error, "standard error"),
                    (places.rank, "rank"),
                )
            )
            identity = (run, query, *(cells[at] for at in places.texts))
            if lines.setdefault(identity, number) != number:
                raise Refused(
                    "duplicate-run",
                    f"run {run} is also on line {lines[identity]}, and no column distinguishes the"
                    " rows; if a column holds queries or measures, rename it to query or measure",
                )
            if score is None:
                report.remark(
                    file,
                    number,
                    "unknown-score",
                    f"{measure} is unknown (nan); the run is left out of this leaderboard",
                )
            elif query and query.lower() not in MEANS:
                per_query.setdefault(run, {}).setdefault(query, score)
            elif run in board:
                report.remark(
                    file,
                    number,
                    "duplicate-score",
                    f"the run already has {measure}; its first number counts",
                )
            elif rank is None and ORIGINAL_RANK.fullmatch(measure):
                # A table with a rank column is our own: its score is minus the rank already.
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
                f"{measure}: the value of a run for all queries is not the mean of"
                " its values by query",
            )
        if len(scores) < queries:
            report.remark(
                file,
                None,
                "fewer-queries",
                f"{measure}: a run has scores for fewer queries than another run",
            )
    apart = [cell for _, _, *texts in lines for cell in texts] if len(board) < len(lines) else []
    # Systems can be compared over common queries only if the scores per query of all systems are
    # known.
    known = per_query if per_query.keys() == board.keys() else {}
    return Board("", measure, list(board.values()), known, frozenset(apart))


def _cell_number(cell: str, what: str) -> float | None:
    """Return the number in a cell; None if it is empty or nan."""
    number = number_in(cell or "nan")
    if number is None or math.isinf(number):
        raise Refused("not-a-number", f"the {what} is {describe_cell(cell)}")
    return None if math.isnan(number) else number


def _json_boards(source: Source, lines: list[tuple[int, str]], report: Report) -> list[Board]:
    pairs = parse_pairs(source, report, lines[0][0], [line for _, line in lines])
    for names in (pairs, *(value for _, value in pairs if isinstance(value, tuple))):
        check_names([name for name, _ in names])
    content: dict[str, Any] = {
        name: dict(value) if isinstance(value, tuple) else value for name, value in pairs
    }
    nested = all(isinstance(value, dict) for value in content.values())
    if nested and (others := [name for name in content if not MEASURE.fullmatch(name)]):
        raise Refused(
            "unknown-measure",
            f"unknown measures: {first_few(others)}; import judgments as qrels, rankings as runs,"
            " and unusual measures as a table",
        )
    boards = []
    for name, scores in (content if nested else {"score": content}).items():
        if scores.pop("_overall_", None) is not None:
            report.remark(
                source.name, None, "overall-left-out", "_overall_ is not a run and is left out"
            )
        for run, score in scores.items():
            if type(score) not in (int, float):
                raise Refused(
                    "not-a-number",
                    f"the score of run {good_id(run, 'run')} is {score!r}, not a number",
                )
        rows = [BoardRow(good_id(run, "run"), float(score)) for run, score in scores.items()]
        boards.append(Board("", good_id(name, "measure"), rows))
    return boards


def _is_table(beginning: FileBeginning) -> bool:
    """Return whether a table has a title like RUBRIC's, or a header of words above numbers."""
    if TITLE.match(beginning.lines[0]):
        return True
    first, *rest = beginning.cells[:-1] or beginning.cells
    # A run does not end with the names of measures.
    ranked = layout_of(beginning) is not None and not all(
        MEASURE.fullmatch(row[-1]) for row in (first, *rest)
    )
    if any(len(row) < 2 for row in (first, *rest[:2])) or is_trec_eval_output(first) or ranked:
        return False
    if any(map(is_number, first)):
        return bool(_long_header([first, *rest], frozenset()))
    # White-space-separated lines need equal numbers of cells; otherwise any text would match.
    even = "\t" in beginning.lines[0] or len({len(row) for row in (first, *rest)}) == 1
    roles = roles_of(first)
    # Without a column of queries or systems, the first has systems, whose names may be numbers.
    others = {roles.get(role) for role in ("query", "run", "rank")} - {None} or {0}
    return (even and "passage" not in roles) and any(
        at not in others and may_be_number(cell)
        for row in beginning.cells[1:2]
        for at, cell in enumerate(row)
    )


KIND = FileKind(
    name="leaderboard",
    title="Leaderboard",
    what=(
        "leaderboard of systems, wide or by query: a table, JSON, or JSONL with run_id, topic_id,"
        " measure and value"
    ),
    extensions=("tsv", "txt", "json", "jsonl"),
    read=read_boards,
    write=write_board_tsv,
    looks_like={
        "record": is_record,
        "map": lambda beginning: kind_of_map(beginning) == "leaderboard",
        "cells": _is_table,
    },
)
