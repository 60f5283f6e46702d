"""TREC's judgments `query 0 passage value` and runs `query Q0 passage rank score tag`; also tables
and JSON maps.

Tables have columns named as in `ROLES`, or in TREC's order.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TextIO

from ..errors import InputError, Report
from ..grouping import group_pairs
from ..types import MAX_RATING, Judgment, Ranked
from ._source import (
    ENTRY,
    LIST,
    TREC_LINE,
    WHOLE,
    FileBeginning,
    FileKind,
    Limits,
    Refused,
    Source,
    check_limit,
    describe_cell,
    good_id,
    header_of,
    is_number,
    number_in,
    open_cells,
    open_columns,
    open_lines,
    parse_pairs,
    report_refusals,
)

ROLES = {
    "query": ("queryid", "qid", "topicid", "topicno", "query", "topic", "requestid", "narrativeid"),
    "passage": (
        "passageid",
        "segmentid",
        "pid",
        "docno",
        "docid",
        "corpusid",
        "documentid",
        "passage",
        "doc",
        "document",
    ),
    "relevance": ("relevance", "rel", "label", "judgment", "judgement", "grade"),
    "rank": ("rank",),
    "score": ("score", "value"),
    "run": ("method", "run", "runid", "system", "systemid", "teamrun", "runtag", "tag", "name"),
    "measure": ("measure", "metric"),
}
"""Column names by role, without punctuation and case; the first name that a table has counts."""

MEASURE = re.compile(
    r"(?:alpha|α|n|i|ia)?[_-]?n?dcg.*|(?:gm_?|i|p)?map.*"
    r"|g?ap(?:[@_(].*)?|m?rr(?:[@_(].*)?|recip_rank|(?:p|r|f1?)[@_(].*"
    r"|(?:recall|precision|prec|iprec|rprec|r-prec|bpref|infap|success|hits?|err|rbp|judged|set_"
    r"|num_|mean_)(?:[^a-z].*|\b.*)?|(?:n-)?exam.*|cover.*|rouge.*|bleu.*|chrf.*|score",
    re.IGNORECASE,
)
"""Names of measures."""

STANDARD = re.compile(
    r".+@[0-9]+|(?:p|recall|(?:ndcg|map)_cut|success|set_[a-z]+)_?[0-9]*|(?:gm_)?map|ap|bpref|n?dcg"
    r"|r_?prec|m?rr|recip_rank",
    re.IGNORECASE,
)
"""Names of measures that are hardly ever names of systems."""

INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
"""A whole number that `int` reads: it refuses more than 4,300 digits."""
USUAL = 10
"""Largest value that judgments usually have; larger values are taken for scores."""
MEANS = ("all", "amean")
"""Entries of the query column in rows with the mean over all queries."""
SCORES = re.compile(rf"{ENTRY}({ENTRY})?-?\d+(\.\d+)?([eE][+-]?\d+)?\s*[,}}]")
_INNER = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*\{')
_LEAF = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*-?\d')
_NUMBER = re.compile(r":\s*(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*[,}]")
ORDER = "the columns do not seem to be in TREC's order; add a header that names them"
LITERALS = {"0", "Q0", "q0"}
"""Values of the second column of judgments and runs."""


@dataclass(frozen=True)
class Layout:
    """The columns of judgments or a run in a table.

    Args:
        kind: qrels or runs.
        places: columns of query, iteration, passage and value, or of query, Q0, passage, rank,
            score and tag; -1 if absent.
        names: column names of the header; empty without a header.
        doubt: why the table cannot be read; empty if it can.
    """

    kind: str
    places: tuple[int, ...]
    separator: str
    names: tuple[str, ...] = ()
    doubt: str = ""


def may_be_number(cell: str) -> bool:
    """Return whether a cell is meant as a number, even with a decimal comma, underscores or digits
    of another script, which `number_in` does not read.
    """
    return is_number(re.sub(r"\d", "1", cell.replace(",", ".", 1).replace("_", "")))


def roles_of(names: Sequence[str]) -> dict[str, int]:
    """Return the positions of columns by their role in `ROLES`."""
    plain = [re.sub("[^a-z0-9]", "", name.lower()) for name in names]
    roles = {
        role: next((plain.index(name) for name in known if name in plain), -1)
        for role, known in ROLES.items()
    }
    return {role: at for role, at in roles.items() if at >= 0}


def shared_role(names: Sequence[str], apart: Sequence[str] = ()) -> str:
    """Return why columns cannot be read because two have the same role; empty if they can.

    Args:
        apart: roles that several columns may have. Ids of queries and passages have an order of
            precedence, so their columns never share a role.
    """
    by_role = group_pairs(
        (role, name)
        for name in names
        for role, known in ROLES.items()
        if role not in ("query", "passage", *apart)
        and re.sub("[^a-z0-9]", "", name.lower()) in known
    )
    twice = next((alike for alike in by_role.values() if len(alike) > 1), [])
    return f"the columns {' and '.join(twice)} mean the same; keep one of them" if twice else ""


def layout_of(beginning: FileBeginning) -> Layout | None:
    """Return the layout of a table of judgments or of a run; None for any other table."""
    roles, cells = roles_of(beginning.header), beginning.cells
    separator = header_of(*beginning.lines[:2])[0] if beginning.header else ""
    if {"query", "passage"} <= roles.keys():
        return _layout_by_names(roles, cells, separator, tuple(beginning.header))
    for rows, sign in ((beginning.columns, ""), (cells[:-1] or cells, separator)):
        if all(len(row) == 4 and INTEGER.fullmatch(row[3]) for row in rows):
            return Layout("qrels", (0, 1, 2, 3), sign, doubt=_order_doubt(rows, 4))
        if all(len(row) >= 6 and may_be_number(row[4]) for row in rows):
            return Layout("runs", (0, 1, 2, 3, 4, 5), sign, doubt=_order_doubt(rows, 6))
    return None


def is_ranked(beginning: FileBeginning, kind: str) -> bool:
    """Return whether a table is unambiguously judgments (qrels) or a run (runs)."""
    layout = layout_of(beginning)
    return layout is not None and layout.kind == kind and not layout.doubt


def _layout_by_names(
    roles: dict[str, int], cells: list[list[str]], separator: str, names: tuple[str, ...]
) -> Layout | None:
    rows = [row for row in cells[1:-1] or cells[1:] if len(row) == len(names)]
    query, passage = roles["query"], roles["passage"]
    same = shared_role(names)
    ranked = "score" in roles and not roles.keys().isdisjoint(("rank", "run"))
    values = [row[roles["score"]] for row in rows] if "score" in roles else []
    usual = all(INTEGER.fullmatch(value) and abs(int(value)) <= USUAL for value in values)
    if "relevance" in roles or (values and usual and not ranked):
        value = roles.get("relevance", roles.get("score", -1))
        doubt = (
            "the columns are those of both judgments and a run"
            if "relevance" in roles and ranked
            else same
        )
        return Layout("qrels", (query, -1, passage, value), separator, names, doubt)
    if "score" not in roles:
        return None
    whole = not ranked and all(is_number(value) and float(value).is_integer() for value in values)
    doubt = (
        "the scores may be judgments or run scores; name their column relevance, or add ranks"
        if whole
        else same
    )
    places = (query, -1, passage, roles.get("rank", -1), roles["score"], roles.get("run", -1))
    return Layout("runs", places, separator, names, doubt)


def _order_doubt(rows: list[list[str]], width: int) -> str:
    """Return why columns without a header do not seem to be in TREC's order; empty if they do."""
    query, literal, passage, *rest = zip(*(row[:width] for row in rows), strict=True)
    fixed = set(literal) <= LITERALS
    # With more than four columns the last one is the tag of a run. Otherwise it has judgments,
    # which may all be 0.
    others = (query, passage, rest[-1]) if width > 4 or len(set(literal)) > 1 else (query, passage)
    if not fixed and any(set(column) <= LITERALS for column in others):
        return ORDER
    if width == 4:
        small = all(INTEGER.fullmatch(cell) and abs(int(cell)) <= USUAL for cell in passage)
        answers = not fixed and all(
            set(column) <= {"0", "1"} for column in (query, literal, rest[0])
        )
        odd = not fixed or any(abs(int(value)) > USUAL for value in rest[0])
        return ORDER if answers or (small and odd) else ""
    rank, score, tag = rest
    if all(map(MEASURE.fullmatch, tag)):
        return "the last column names measures, so this is a leaderboard by query"
    counts = [_counting_way(query, column) for column in (rank, passage, score, tag)]
    shuffled = (
        (any(counts[1:]) and not counts[0])
        or (counts[0] == "down" and counts[2] == "up")
        or (
            not any(map(is_number, rank))
            and (all(map(is_number, tag)) or all(map(is_number, query)))
        )
        or set(rank) <= {"Q0", "q0"}
        or any(
            all(re.fullmatch(r"-?\d+\.\d+", cell) for cell in column)
            for column in (query, passage, tag)
        )
        or sum(set(column) <= {"0", "1"} for column in (query, passage, *rest)) > 3
        or (counts[0] and len(set(passage)) == 1 < len(set(tag)))
    )
    return ORDER if shuffled else ""


def _counting_way(queries: Sequence[str], column: Sequence[str]) -> str:
    """Return how a column counts from 0 or 1 within each query, as ranks do: up, down or mixed;
    empty if it does not."""
    by_query = group_pairs(
        (query, int(cell) if INTEGER.fullmatch(cell) else -1)
        for query, cell in zip(queries, column, strict=True)
    )
    firsts = ((min(each), each) for each in by_query.values())
    if not all(
        first in (0, 1) and {*each} == {*range(first, first + len(each))} for first, each in firsts
    ):
        return ""
    several = [numbers for numbers in by_query.values() if len(numbers) > 1]
    ways = {
        "up" if each == sorted(each) else "down" if each == sorted(each)[::-1] else "mixed"
        for each in several
    }
    return ways.pop() if len(ways) == 1 else "mixed" if ways else ""


def kind_of_map(beginning: FileBeginning) -> str | None:
    """Return the content of a JSON map: leaderboard, qrels or runs; None if it is ambiguous.

    Only measures have maps of systems, so a map of maps under other names is about queries.
    """
    if not SCORES.match(beginning.text):
        return None
    outer = _INNER.findall(beginning.text)
    numbers = _NUMBER.findall(beginning.text)
    measures = [bool(MEASURE.fullmatch(name)) for name in outer]
    leaves = _LEAF.findall(beginning.text)
    if all(measures):
        return None if all(map(STANDARD.fullmatch, leaves)) else "leaderboard"
    if any(measures) or all(map(MEASURE.fullmatch, leaves)):
        return None
    if all(INTEGER.fullmatch(number) and abs(int(number)) <= USUAL for number in numbers):
        return "qrels"
    return None if all(float(number).is_integer() for number in numbers) else "runs"


def open_ranked(
    source: Source,
    report: Report,
    kind: str,
    names: Sequence[str],
    form: str,
    limits: Limits | None = None,
) -> Iterator[tuple[int, list[str]]]:
    """Stream judgments or runs as lines in TREC's columns, from TREC files, tables with a header,
    or JSON maps.

    Args:
        kind: qrels or runs.
        names: TREC's columns; a run may have further ones.
        form: the name of such a file in messages.
    """
    beginning = FileBeginning.from_source(source)
    if beginning is not None and (beginning.text.startswith("{") or LIST.match(beginning.text)):
        yield from _stream_map(source, report, kind, beginning)
        return
    layout = None if beginning is None else layout_of(beginning)
    if layout is None and beginning is not None and len(roles := roles_of(beginning.header)) > 1:
        wanted = ("query", "passage", "relevance" if kind == "qrels" else "score")
        lost = "; ".join(
            f"{role} ({', '.join(ROLES[role])})" for role in wanted if role not in roles
        )
        report.refuse(
            source.name,
            1,
            "column-missing",
            f"the header {', '.join(beginning.header)} lacks a column for {lost}",
        )
    elif layout is not None and layout.names and layout.kind != kind:
        report.refuse(
            source.name,
            1,
            "file-of-another-kind",
            f"the columns {', '.join(layout.names)} belong to {layout.kind}, not to {kind}",
        )
    elif layout is not None and layout.doubt:
        report.refuse(source.name, 1, "ambiguous-columns", layout.doubt)
    elif layout is None or not (layout.names or layout.separator):
        yield from open_columns(source, report, names, form, kind == "runs", limits)
    else:
        yield from _stream_table(source, report, layout, limits)


def _stream_table(
    source: Source, report: Report, layout: Layout, limits: Limits | None
) -> Iterator[tuple[int, list[str]]]:
    absent = ("", "Q0", "", "", "", source.stem)
    width = 0
    for number, _, cells in open_cells(
        open_lines(source, report, limits or Limits(TREC_LINE)), source.name, report
    ):
        if layout.names and not width:
            report.remark(source.name, number, "header", "the line is a header")
        elif len(cells) != (width or len(cells)):
            report.refuse(
                source.name,
                number,
                "wrong-number-of-columns",
                f"the line has {len(cells)} cells; the first line has {width}",
            )
        else:
            yield (
                number,
                [cells[at] if at >= 0 else absent[place] for place, at in enumerate(layout.places)],
            )
        width = width or len(layout.names) or len(cells)


def _stream_map(
    source: Source, report: Report, kind: str, beginning: FileBeginning
) -> Iterator[tuple[int, list[str]]]:
    if (found := kind_of_map(beginning)) != kind:
        reason = f"the file looks like {found}" if found else "the file is ambiguous or a list"
        report.refuse(
            source.name,
            1,
            "not-a-map",
            f"not a JSON map query -> passage -> number of {kind}; {reason}",
        )
        return
    lines = [line for _, line in open_lines(source, report, Limits(WHOLE))]
    for query, passages in parse_pairs(source, report, 1, lines):
        if not isinstance(passages, tuple) or not all(
            type(value) in (int, float) for _, value in passages
        ):
            report.refuse(
                source.name,
                1,
                "not-a-map",
                f"the value of query {query[:40]} is not a map from passages to numbers",
            )
            continue
        ranked = sorted(passages, key=lambda entry: -entry[1]) if kind == "runs" else passages
        for rank, (passage, value) in enumerate(ranked, 1):
            yield (
                1,
                [
                    query,
                    "Q0",
                    passage,
                    *((str(rank), repr(value), source.stem) if kind == "runs" else (str(value),)),
                ],
            )


QRELS_COLUMNS = ("query", "0", "passage", "value")
LARGEST = 32_767


def read_qrels(source: Source, report: Report) -> list[Judgment]:
    """Read judgments, each (query, passage) once; see `read_qrels_lines`."""
    return [judgment for judgment, _ in read_qrels_lines(source, report)]


def read_qrels_lines(source: Source, report: Report) -> list[tuple[Judgment, int]]:
    """Read judgments with their line numbers.

    Args:
        source: qrels in TREC's columns, separated by any white space, commas or semicolons; a table
            with a header that names query, passage and value; or a JSON map query -> passage ->
            value. Gzip or not.
        report: receives notes on repeated lines, and refused lines: a wrong number of columns, a
            value that is not an integer, or a contradiction of an earlier line.

    Returns:
        The judgments in file order with their line numbers, each (query, passage) once.
    """
    judgments_seen: dict[tuple[str, str], tuple[int, int]] = {}
    for number, (query, _, passage, value) in open_ranked(
        source, report, "qrels", QRELS_COLUMNS, "a qrels line", Limits({**WHOLE, **TREC_LINE})
    ):
        with report_refusals(report, source.name, number):
            key = (good_id(query, "query"), good_id(passage, "passage"))
            relevance = _read_relevance(value)
            if key not in judgments_seen:
                judgments_seen[key] = (relevance, number)
            elif judgments_seen[key][0] == relevance:
                report.remark(
                    source.name,
                    number,
                    "repeated-line",
                    "the line repeats an earlier one (trec_eval rejects it)",
                )
            else:
                raise Refused(
                    "contradicting-lines",
                    f"query {query}, passage {passage} has value {relevance} here"
                    f" and {judgments_seen[key][0]} on line {judgments_seen[key][1]}",
                )
    report.require(judgments_seen, source.name, "judgments")
    return [
        (Judgment(query, passage, value), line)
        for (query, passage), (value, line) in judgments_seen.items()
    ]


def read_labels(source: Source, report: Report) -> list[tuple[Judgment, int]]:
    """Read labels of a model, in any form of judgments, with their line numbers; see
    `read_qrels_lines`.

    Args:
        report: also receives labels that are not from 0 to 5.
    """
    labels = read_qrels_lines(source, report)
    for label, line in labels:
        if not 0 <= label.value <= MAX_RATING:
            reason = (
                f"the label {label.value} is not from 0 to {MAX_RATING}; remove lines of passages"
                " without a label"
            )
            report.refuse(source.name, line, "label-out-of-range", reason)
    return labels


def write_qrels(rows: Iterable[tuple[str, str, int]], out: TextIO) -> None:
    """Write qrels in the given order, without comment lines, which trec_eval would refuse.

    Args:
        rows: (query id, passage id, value).
        out: receives lines `query 0 passage value`.

    Raises:
        InputError: an id is empty or holds white space, which the format cannot hold.
    """
    out.writelines(
        f"{trec_word(query, 'query')} 0 {trec_word(passage, 'passage')} {value}\n"
        for query, passage, value in rows
    )


def trec_word(text: str, what: str) -> str:
    """Return an id as one column of a TREC file.

    Raises:
        InputError: it is empty or holds white space.
    """
    if text.split() != [text]:
        raise InputError(
            "id-with-white-space",
            f"The {what} id {text!r} is empty or has white space, so a TREC file cannot hold it.",
            "Import the collection with other ids.",
        )
    return text


def _read_relevance(value: str) -> int:
    if not INTEGER.fullmatch(value):
        raise Refused("invalid-judgment", f"the value {value!r} is not an integer")
    if len(value) > 6 or abs(int(value)) > LARGEST:
        raise Refused(
            "invalid-judgment", f"the value {value[:20]} is not from {-LARGEST} to {LARGEST}"
        )
    return int(value)


QRELS = FileKind(
    name="qrels",
    title="Qrels (judgments)",
    what=(
        "judgments: TREC's four columns, a table with a header, or a JSON map query"
        " -> passage -> value"
    ),
    extensions=("qrels", "qrel", "txt"),
    read=read_qrels,
    write=write_qrels,
    looks_like={
        "map": lambda beginning: kind_of_map(beginning) == "qrels",
        "columns": lambda beginning: is_ranked(beginning, "qrels"),
        "name": lambda beginning: beginning.has_extension("qrels", "qrel"),
    },
    judges=True,
)

LABELS = FileKind(
    name="labels",
    title="Labels (by a model)",
    what=(
        "labels that a model made elsewhere, such as UMBRELA qrels: the forms of judgments, with"
        " values from 0 to 5"
    ),
    extensions=QRELS.extensions,
    read=read_labels,
    write=None,
    # A file does not show whether a model or an assessor gave its values.
    looks_like={},
)


RUN_COLUMNS = ("query", "Q0", "passage", "rank", "score", "tag")


class RunLine(NamedTuple):
    """One line of a run file.

    `rank` is the rank in the file, None if it is not a number. As trec_eval ignores it, it is only
    compared with the scores.
    """

    query_id: str
    line: int
    tag: str
    passage_id: str
    rank: float | None
    score: float


def read_run_lines(source: Source, report: Report) -> Iterator[RunLine]:
    """Stream the lines of a run file, so that memory does not grow with it.

    `exchange.run_import` does the checks over several lines: order, ties, repeated passages, ranks
    that contradict the scores.

    Args:
        source: a run in TREC's columns, separated by any white space, commas or semicolons; a table
            with a header that names query, passage and score; or a JSON map query -> passage ->
            score. Gzip or not. Several tags make several runs; without tags the file names the run.
        report: receives refused lines, including a last line that seems cut off.

    Yields:
        The lines in file order.
    """
    lines_of: Counter[str] = Counter()
    tag, tag_before, query_before, number = "", "", "", 0
    for number, cells in open_ranked(source, report, "runs", RUN_COLUMNS, "a run line"):
        if len(cells) > len(RUN_COLUMNS):
            report.remark(
                source.name, number, "further-columns", "columns after the sixth are ignored"
            )
        query, _, passage, rank, score = cells[:5]
        # White space other than the column separators becomes `_`, as when the run is written.
        name = cells[5] if cells[5].isascii() else "_".join(cells[5].split())
        if name != tag:
            tag_before, tag = tag, name
        try:
            good_id(passage, "passage")
            value = _read_score(score)
            if tag not in lines_of:
                good_id(tag, "run")
                check_limit(len(lines_of) + 1, "the file names more runs than", "SYSTEMS")
            if query != query_before:
                query_before = good_id(query, "query")
        except Refused as refused:
            report.refuse(source.name, number, refused.code, str(refused))
            continue
        lines_of[tag] += 1
        yield RunLine(query, number, tag, passage, _read_rank(rank), value)
    if lines_of[tag] == 1 and tag != tag_before and tag_before.startswith(tag):
        report.refuse(
            source.name,
            number,
            "cut-off-file",
            f"the tag is {tag}, not {tag_before}; the file may be cut off here",
        )
    report.require(lines_of, source.name, "ranking")


def name_runs(runs: Sequence[tuple[Source, str]], report: Report) -> list[str]:
    """Return a name for each run: its tag, or its file's name if several of the files share the
    tag.

    Args:
        runs: file and tag of each run, in file order.
        report: receives a refusal of every run whose name another file has too.
    """
    files_with = Counter(tag for _, tag in runs)
    tags_of = Counter(source for source, _ in runs)
    holders: dict[str, Source] = {}
    names = []
    for source, tag in runs:
        own = source.stem if tags_of[source] == 1 else f"{source.stem}-{tag}"
        name = own if files_with[tag] > 1 else tag
        if name in holders:
            reason = (
                f"run name {name} is also used in {holders[name].file}; give one file"
                " another name or tag"
            )
            report.refuse(source.name, None, "duplicate-run", reason)
        holders.setdefault(name, source)
        names.append(name)
    return names


def write_run(name: str, ranking: Iterable[Ranked], out: TextIO) -> None:
    """Write one run.

    Args:
        name: name of the run; white space in it becomes `_`, since it is one column.
        ranking: the lines in the order to write.
        out: receives lines `query Q0 passage rank score tag`; scores keep full precision.

    Raises:
        InputError: an id is empty or holds white space, which the format cannot hold.
    """
    tag = "_".join(name.split()) or "_"
    for entry in ranking:
        query, passage = trec_word(entry.query_id, "query"), trec_word(entry.passage_id, "passage")
        out.write(f"{query} Q0 {passage} {entry.rank} {entry.score!r} {tag}\n")


def _read_score(text: str) -> float:
    score = number_in(text)
    if score is None or not math.isfinite(score):
        raise Refused("not-a-number", f"the score is {describe_cell(text)}")
    return score


def _read_rank(text: str) -> float | None:
    rank = number_in(text)
    return None if rank is None or math.isnan(rank) else rank


RUNS = FileKind(
    name="runs",
    title="Runs",
    what=(
        "runs of systems: TREC's six columns, a table with a header, or a JSON map query ->"
        " passage -> score"
    ),
    extensions=("run", "txt"),
    read=read_run_lines,
    write=write_run,
    looks_like={
        "map": lambda beginning: kind_of_map(beginning) == "runs",
        "columns": lambda beginning: is_ranked(beginning, "runs"),
        "name": lambda beginning: beginning.has_extension("run"),
    },
)
