"""Queries: a JSON map from id to text, TSV, or JSONL; written as JSONL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from typing import Any, TextIO

import orjson

from core.errors import Report
from core.formats.car_outlines import is_outline, is_outline_list, outline_of
from core.formats.file_kind import ENTRY, WORDS, Beginning, FileKind
from core.formats.leaderboards import is_trec_eval_output
from core.formats.source import (
    WHOLE,
    Limits,
    Refused,
    Source,
    check_cells,
    first_of,
    good_id,
    good_text,
    is_number,
    open_lines,
    parse_json,
    parse_object,
    parse_pairs,
)
from core.types import Query, Subtopic

ID_KEYS = ("query_id", "qid", "id", "topic_id")
TEXT_KEYS = ("text", "query", "query_text", "title")
NAMED = re.compile("quer|topic")


def read_queries(source: Source, report: Report) -> list[Query]:
    """Read queries.

    Args:
        source: a JSON map id -> text; or lines `id<TAB>text`, optionally with a narrative third; or
            JSONL with an id, a text, and optionally `narrative`, `answer` or `answers` (a text, or a list of
            texts that are all correct) and `subtopics`
            (list of `{"subtopic_id", "text"}`); or outlines of TREC CAR, as JSONL or a JSON list
            (`core.formats.car_outlines`).
        report: takes refused lines, among them an id with a second, different content.

    Returns:
        The queries in file order, each id once.
    """
    seen: dict[str, tuple[Query, int]] = {}
    refused_before = report.count
    for number, query in _read(source, report):
        before = seen.setdefault(query.query_id, (query, number))
        if before[1] == number and before[0] is query:
            continue
        if before[0] == query:
            report.remark(source.name, number, "the query repeats an earlier one")
        else:
            reason = f"query {query.query_id} is already on line {before[1]} with another content"
            report.refuse(source.name, number, reason)
    if not seen and report.count == refused_before:
        report.refuse(source.name, None, "the file has no queries in it")
    return [query for query, _ in seen.values()]


def write_queries(queries: Iterable[Query], out: TextIO) -> None:
    """Write queries as JSONL with `query_id`, `text` and, where there are any, `narrative`, `answer`, `subtopics`.

    Several answers of a query are written as the list `answers`.
    """
    for query in queries:
        out.write(orjson.dumps(query_row(query)).decode() + "\n")


def query_row(query: Query) -> dict[str, Any]:
    """A query as the JSON object that `query_of` reads."""
    row: dict[str, Any] = {"query_id": query.query_id, "text": query.text}
    if query.narrative is not None:
        row["narrative"] = query.narrative
    if query.further_answers:
        row["answers"] = list(query.answers)
    elif query.answer is not None:
        row["answer"] = query.answer
    if query.subtopics:
        row["subtopics"] = [{"subtopic_id": s.subtopic_id, "text": s.text} for s in query.subtopics]
    return row


def query_of(row: dict[str, Any]) -> Query:
    """A query from a JSON object.

    Raises:
        Refused: id or text is missing or unusable, or the answers or subtopics are not in form.
    """
    narrative = row.get("narrative")
    answers = _answers(row)
    subtopics = row.get("subtopics") or []
    if not isinstance(subtopics, list) or not all(isinstance(s, dict) for s in subtopics):
        raise Refused("the subtopics are not a list of objects with subtopic_id and text")
    return Query(
        good_id(first_of(row, ID_KEYS), "query"),
        good_text(first_of(row, TEXT_KEYS), "query's text"),
        None if narrative is None else good_text(narrative, "narrative"),
        tuple(
            Subtopic(good_id(s.get("subtopic_id"), "subtopic"), good_text(s.get("text"), "subtopic's text"))
            for s in subtopics
        ),
        answers[0] if answers else None,
        answers[1:],
    )


def _answers(row: dict[str, Any]) -> tuple[str, ...]:
    """The correct answers that a row states, each once."""
    given = row.get("answers", row.get("answer"))
    texts = given if isinstance(given, list) else [] if given is None else [given]
    return tuple(dict.fromkeys(good_text(text, "answer") for text in texts))


def has_keys(keys: Set[str]) -> bool:
    """Whether an object with these keys can be a query."""
    return not keys.isdisjoint(ID_KEYS) and not keys.isdisjoint(TEXT_KEYS)


def is_text_table(beginning: Beginning) -> bool:
    """Whether lines begin with an id and a text: those of queries, or of passages."""
    rows = beginning.cells
    if any(len(row) < 2 for row in rows[:3]) or is_trec_eval_output(rows[0]):
        return False
    return not all(is_number(row[1]) for row in rows if len(row) > 1)


def _read(source: Source, report: Report) -> Iterator[tuple[int, Query]]:
    lines = open_lines(source, report, Limits(WHOLE))
    row_of = None
    for number, line in lines:
        if not line or line.isspace():
            continue
        if row_of is None:
            if line.lstrip().startswith("["):
                yield from _list(source, report, number, [line, *(rest for _, rest in lines)])
                return
            if line.lstrip().startswith("{") and not _is_row(line):
                yield from _map(source, report, number, [line, *(rest for _, rest in lines)])
                return
            row_of = _of_json if line.lstrip().startswith("{") else _of_cells
            if row_of is _of_cells and _is_header(line):
                report.remark(source.name, number, "the line is a header")
                continue
        try:
            yield number, row_of(line)
        except Refused as refused:
            report.refuse(source.name, number, str(refused))


def _is_row(line: str) -> bool:
    """Whether the first line of a file is an object of JSONL, so that the file is no JSON map."""
    try:
        value = parse_json(line)
    except Refused:
        # A map broken over lines begins with a bare bracket or a first pair; a broken object of
        # JSONL with an id key.
        return any(line.lstrip("{ \t").startswith(f'"{key}"') for key in ID_KEYS)
    return isinstance(value, dict) and (any(key in value for key in (*ID_KEYS, *TEXT_KEYS)) or is_outline(value))


def _is_header(line: str) -> bool:
    cells = [cell.strip().lower() for cell in line.split("\t", 2)]
    return len(cells) > 1 and cells[0] in ID_KEYS and cells[1] in TEXT_KEYS


def _of_json(line: str) -> Query:
    row = parse_object(line)
    return outline_of(row) if is_outline(row) else query_of(row)


def _list(source: Source, report: Report, start: int, lines: list[str]) -> Iterator[tuple[int, Query]]:
    """The pages of a JSON list, numbered in place of lines."""
    report.whole(source.name)
    text = "\n".join(lines)
    try:
        rows = parse_json(text)
        if not is_outline_list(text):
            raise Refused("the list is no outline of TREC CAR: objects with page_id, page_name and headings")
    except Refused as refused:
        report.refuse(source.name, start, str(refused))
        return
    for at, row in enumerate(rows, 1):
        try:
            if not isinstance(row, dict):
                raise Refused("it is not an object")
            yield at, outline_of(row)
        except Refused as refused:
            report.refuse(source.name, None, f"page {at}: {refused}")


def _of_cells(line: str) -> Query:
    check_cells(line, "\t")
    cells = line.split("\t")
    if len(cells) not in (2, 3):
        raise Refused(f"the line has {len(cells)} tab-separated cells; it needs id, text, maybe narrative")
    narrative = cells[2].strip() if len(cells) == 3 else ""
    return Query(good_id(cells[0].strip(), "query"), good_text(cells[1].strip(), "query's text"), narrative or None)


def _map(source: Source, report: Report, start: int, lines: list[str]) -> Iterator[tuple[int, Query]]:
    for query_id, query_text in parse_pairs(source, report, start, lines):
        try:
            yield start, Query(good_id(query_id, "query"), good_text(query_text, f"text of query {query_id}"))
        except Refused as refused:
            report.refuse(source.name, start, str(refused))


_TEXTS = re.compile(rf"{ENTRY}{WORDS}\s*[,}}]")

KIND = FileKind(
    name="queries",
    title="Queries",
    what="queries: JSON map, TSV or JSONL, or outlines of TREC CAR as JSON",
    extensions=("json", "tsv", "jsonl"),
    read=read_queries,
    write=write_queries,
    # Passages, which have ids and texts too, are asked for before.
    looks_like={
        "list": lambda beginning: is_outline_list(beginning.text),
        "record": lambda beginning: is_outline(beginning.keys) or has_keys(beginning.keys),
        "map": lambda beginning: bool(_TEXTS.match(beginning.text)),
        "cells": is_text_table,
    },
)
