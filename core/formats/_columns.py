"""Column names of judgments, runs and leaderboards, and the test whether a table or a JSON map is one of these."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..errors import Report
from ._file_kind import ENTRY, Beginning
from ._source import (
    TREC_LINE,
    WHOLE,
    Limits,
    Source,
    header_of,
    is_number,
    open_cells,
    open_columns,
    open_lines,
    parse_pairs,
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
    r"(?:alpha|α|n|i|ia)?[_-]?n?dcg.*|(?:gm_?|i|p)?map.*|g?ap(?:[@_(].*)?|m?rr(?:[@_(].*)?|recip_rank|(?:p|r|f1?)[@_(].*"
    r"|(?:recall|precision|prec|iprec|rprec|r-prec|bpref|infap|success|hits?|err|rbp|judged|set_|num_|mean_)(?:[^a-z].*|\b.*)?"
    r"|(?:n-)?exam.*|cover.*|rouge.*|bleu.*|chrf.*|score",
    re.IGNORECASE,
)
"""Names of measures."""

STANDARD = re.compile(
    r".+@[0-9]+|(?:p|recall|(?:ndcg|map)_cut|success|set_[a-z]+)_?[0-9]*|(?:gm_)?map|ap|bpref|n?dcg|r_?prec|m?rr|recip_rank",
    re.IGNORECASE,
)
"""Names of measures that are hardly ever names of systems."""

INTEGER = re.compile(r"[+-]?[0-9]+")
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
        places: columns of query, iteration, passage and value, or of query, Q0, passage, rank, score and tag; -1 if
            absent.
        names: column names of the header; empty without a header.
        doubt: why the table cannot be read; empty if it can.
    """

    kind: str
    places: tuple[int, ...]
    separator: str
    names: tuple[str, ...] = ()
    doubt: str = ""


def may_be_number(cell: str) -> bool:
    """Return whether a cell holds a number, or would if its comma were a point."""
    return is_number(cell.replace(",", ".", 1))


def roles_of(names: Sequence[str]) -> dict[str, int]:
    """Return the positions of columns by their role in `ROLES`."""
    plain = [re.sub("[^a-z0-9]", "", name.lower()) for name in names]
    found = {role: next((plain.index(name) for name in known if name in plain), -1) for role, known in ROLES.items()}
    return {role: at for role, at in found.items() if at >= 0}


def layout_of(beginning: Beginning) -> Layout | None:
    """Return the layout of a table of judgments or of a run; None for any other table."""
    roles, cells = roles_of(beginning.header), beginning.cells
    separator = header_of(beginning.lines[0])[0] if beginning.header else ""
    if {"query", "passage"} <= roles.keys():
        return _named(roles, cells, separator, tuple(beginning.header))
    for rows, sign in ((beginning.columns, ""), (cells[:-1] or cells, separator)):
        if all(len(row) == 4 and INTEGER.fullmatch(row[3]) for row in rows):
            return Layout("qrels", (0, 1, 2, 3), sign, doubt=_doubt(rows, 4))
        if all(len(row) >= 6 and may_be_number(row[4]) for row in rows):
            return Layout("runs", (0, 1, 2, 3, 4, 5), sign, doubt=_doubt(rows, 6))
    return None


def is_ranked(beginning: Beginning, kind: str) -> bool:
    """Return whether a table is unambiguously judgments (qrels) or a run (runs)."""
    layout = layout_of(beginning)
    return layout is not None and layout.kind == kind and not layout.doubt


def _named(roles: dict[str, int], cells: list[list[str]], separator: str, names: tuple[str, ...]) -> Layout | None:
    rows = [row for row in cells[1:-1] or cells[1:] if len(row) == len(names)]
    query, passage = roles["query"], roles["passage"]
    ranked = "score" in roles and not roles.keys().isdisjoint(("rank", "run"))
    values = [row[roles["score"]] for row in rows] if "score" in roles else []
    usual = all(INTEGER.fullmatch(value) and abs(int(value)) <= USUAL for value in values)
    if "relevance" in roles or (values and usual and not ranked):
        value = roles.get("relevance", roles.get("score", -1))
        doubt = "the columns are those of both judgments and a run" if "relevance" in roles and ranked else ""
        return Layout("qrels", (query, -1, passage, value), separator, names, doubt)
    if "score" not in roles:
        return None
    whole = not ranked and all(is_number(value) and float(value).is_integer() for value in values)
    doubt = "the scores may be judgments or run scores; name their column relevance, or add ranks" if whole else ""
    places = (query, -1, passage, roles.get("rank", -1), roles["score"], roles.get("run", -1))
    return Layout("runs", places, separator, names, doubt)


def _doubt(rows: list[list[str]], width: int) -> str:
    """Return why columns without a header do not seem to be in TREC's order; empty if they do."""
    query, literal, passage, *rest = zip(*(row[:width] for row in rows), strict=True)
    fixed = set(literal) <= LITERALS
    # With more than four columns the last one is the tag of a run. Otherwise it has judgments, which may all be 0.
    others = (query, passage, rest[-1]) if width > 4 or len(set(literal)) > 1 else (query, passage)
    if not fixed and any(set(column) <= LITERALS for column in others):
        return ORDER
    if width == 4:
        small = all(INTEGER.fullmatch(cell) and abs(int(cell)) <= USUAL for cell in passage)
        answers = not fixed and all(set(column) <= {"0", "1"} for column in (query, literal, rest[0]))
        odd = not fixed or any(abs(int(value)) > USUAL for value in rest[0])
        return ORDER if answers or (small and odd) else ""
    rank, score, tag = rest
    if all(map(MEASURE.fullmatch, tag)):
        return "the last column names measures, so this is a leaderboard by query"
    counts = [_counts(query, column) for column in (rank, passage, score, tag)]
    shuffled = (
        (any(counts[1:]) and not counts[0])
        or (counts[0] == "down" and counts[2] == "up")
        or (not any(map(is_number, rank)) and (all(map(is_number, tag)) or all(map(is_number, query))))
        or set(rank) <= {"Q0", "q0"}
        or any(all(re.fullmatch(r"-?\d+\.\d+", cell) for cell in column) for column in (query, passage, tag))
        or sum(set(column) <= {"0", "1"} for column in (query, passage, *rest)) > 3
        or (counts[0] and len(set(passage)) == 1 < len(set(tag)))
    )
    return ORDER if shuffled else ""


def _counts(queries: Sequence[str], column: Sequence[str]) -> str:
    """Return how a column counts from 0 or 1 within each query, as ranks do: up, down or mixed; empty if it does
    not."""
    by_query: dict[str, list[int]] = {}
    for query, cell in zip(queries, column, strict=True):
        by_query.setdefault(query, []).append(int(cell) if INTEGER.fullmatch(cell) else -1)
    several = [numbers for numbers in by_query.values() if len(numbers) > 1]
    for numbers in by_query.values():
        first = min(numbers)
        if first not in (0, 1) or sorted(numbers) != list(range(first, first + len(numbers))):
            return ""
    ways = {"up" if each == sorted(each) else "down" if each == sorted(each)[::-1] else "mixed" for each in several}
    return ways.pop() if len(ways) == 1 else "mixed" if ways else ""


def kind_of_map(beginning: Beginning) -> str | None:
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
    source: Source, report: Report, kind: str, names: Sequence[str], form: str, limits: Limits | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Stream judgments or runs as lines in TREC's columns, from TREC files, tables with a header, or JSON maps.

    Args:
        kind: qrels or runs.
        names: TREC's columns; a run may have further ones.
        form: the name of such a file in messages.
    """
    beginning = Beginning.of(source)
    if beginning is not None and beginning.text.startswith("{"):
        yield from _of_map(source, report, kind, beginning)
        return
    layout = None if beginning is None else layout_of(beginning)
    if layout is None and beginning is not None and len(roles := roles_of(beginning.header)) > 1:
        wanted = ("query", "passage", "relevance" if kind == "qrels" else "score")
        lost = "; ".join(f"{role} ({', '.join(ROLES[role])})" for role in wanted if role not in roles)
        report.refuse(
            source.name, 1, "column-missing", f"the header {', '.join(beginning.header)} lacks a column for {lost}"
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
        yield from _of_table(source, report, layout, limits)


def _of_table(source: Source, report: Report, layout: Layout, limits: Limits | None) -> Iterator[tuple[int, list[str]]]:
    absent = ("", "Q0", "", "", "", source.stem)
    width = 0
    for number, _, cells in open_cells(open_lines(source, report, limits or Limits(TREC_LINE)), source.name, report):
        if layout.names and not width:
            report.remark(source.name, number, "header", "the line is a header")
        elif len(cells) != (width or len(cells)):
            reason = f"the line has {len(cells)} cells; the first line has {width}"
            report.refuse(source.name, number, "wrong-number-of-columns", reason)
        else:
            yield number, [cells[at] if at >= 0 else absent[place] for place, at in enumerate(layout.places)]
        width = width or len(cells)


def _of_map(source: Source, report: Report, kind: str, beginning: Beginning) -> Iterator[tuple[int, list[str]]]:
    if (found := kind_of_map(beginning)) != kind:
        known = f"the file looks like {found}" if found else "the file is ambiguous"
        report.refuse(source.name, 1, "not-a-map", f"not a JSON map query -> passage -> number of {kind}; {known}")
        return
    lines = [line for _, line in open_lines(source, report, Limits(WHOLE))]
    for query, passages in parse_pairs(source, report, 1, lines):
        if not isinstance(passages, tuple) or not all(type(value) in (int, float) for _, value in passages):
            report.refuse(
                source.name, 1, "not-a-map", f"the value of query {query[:40]} is not a map from passages to numbers"
            )
            continue
        ranked = sorted(passages, key=lambda entry: -entry[1]) if kind == "runs" else passages
        for rank, (passage, value) in enumerate(ranked, 1):
            yield (
                1,
                [query, "Q0", passage, *((str(rank), repr(value), source.stem) if kind == "runs" else (str(value),))],
            )
