"""Passages: JSONL or TSV with an id and a text, streamed; written as JSONL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set
from typing import TextIO

import orjson

from core.errors import Report
from core.formats import queries
from core.formats.car_outlines import is_outline
from core.formats.file_kind import Beginning, FileKind
from core.formats.source import Refused, Source, first_of, good_id, good_text, open_lines, parse_object
from core.types import Passage

ID_KEYS = ("passage_id", "docid", "id", "pid", "paragraph_id")
TEXT_KEYS = ("text", "passage", "contents", "body")
NAMED = re.compile("passage|corpus|collection|doc")
LONG = 200
"""Characters on average that make texts passages rather than queries."""


def read_passages(source: Source, report: Report) -> Iterator[Passage]:
    """Stream passages; an id that occurs twice is yielded twice, since the file may not fit in memory.

    Args:
        source: JSONL with an id and a text, or lines `id<TAB>text`.
        report: takes refused lines.

    Yields:
        Passages in file order.
    """
    refused_before = report.count
    of_line: Callable[[str], Passage] | None = None
    any_read = False
    for number, line in open_lines(source, report):
        if not line or line.isspace():
            continue
        if of_line is None:
            of_line = _of_json if line.lstrip().startswith("{") else _of_cells
            if of_line is _of_cells and _is_header(line):
                report.remark(source.name, number, "the line is a header")
                continue
        try:
            passage = of_line(line)
        except Refused as refused:
            report.refuse(source.name, number, str(refused))
            continue
        any_read = True
        yield passage
    if not any_read and report.count == refused_before:
        report.refuse(source.name, None, "the file has no passages in it")


def write_passages(passages: Iterable[Passage], out: TextIO) -> None:
    """Write passages as JSONL with `passage_id` and `text`."""
    for passage in passages:
        row = {"passage_id": passage.passage_id, "text": passage.text}
        out.write(orjson.dumps(row).decode() + "\n")


def has_keys(keys: Set[str]) -> bool:
    """Whether an object with these keys can be a passage."""
    return not keys.isdisjoint(ID_KEYS) and not keys.isdisjoint(TEXT_KEYS)


def _is_header(line: str) -> bool:
    cells = [cell.strip().lower() for cell in line.split("\t", 2)]
    return len(cells) > 1 and cells[0] in ID_KEYS and cells[1] in TEXT_KEYS


def _of_json(line: str) -> Passage:
    row = parse_object(line)
    return Passage(good_id(first_of(row, ID_KEYS), "passage"), good_text(first_of(row, TEXT_KEYS), "passage's text"))


def _of_cells(line: str) -> Passage:
    passage_id, tab, text = line.partition("\t")
    if not tab:
        raise Refused("the line has no tab between id and text")
    return Passage(good_id(passage_id.strip(), "passage"), good_text(text.strip(), "passage's text"))


def _is_record(beginning: Beginning) -> bool:
    keys = beginning.keys
    if is_outline(keys) or not has_keys(keys):
        return False
    of_passages = NAMED.search(beginning.name) or keys & {"contents", "body"} or not queries.has_keys(keys)
    return bool(of_passages) or not queries.NAMED.search(beginning.name)


def _is_table(beginning: Beginning) -> bool:
    if not queries.is_text_table(beginning):
        return False
    rows = beginning.cells
    average = sum(len(row[1]) for row in rows if len(row) > 1) / len(rows)
    return bool(NAMED.search(beginning.name)) or not (queries.NAMED.search(beginning.name) or average < LONG)


KIND = FileKind(
    name="passages",
    title="Passages",
    what="passages: JSONL or TSV",
    extensions=("jsonl", "tsv"),
    read=read_passages,
    write=write_passages,
    looks_like={"record": _is_record, "cells": _is_table},
)
