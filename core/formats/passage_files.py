"""Passages: reads JSONL or TSV with an id and a text as a stream; writes JSONL."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Set
from typing import Any, TextIO

from ..errors import Report
from ..types import Passage
from . import query_files
from ._source import (
    FileBeginning,
    FileKind,
    Refused,
    Source,
    good_id,
    good_text,
    note_unread,
    open_lines,
    open_rows,
    report_refusals,
    value_of,
    write_objects,
)

ID_KEYS = (
    "passage_id",
    "segment_id",
    "pid",
    "paragraph_id",
    "docid",
    "id",
    "doc_id",
    "_id",
    "docno",
    "corpus_id",
)
"""Ids of parts come before those of whole documents, which MS MARCO's passages have, too."""
TEXT_KEYS = ("text", "passage", "contents", "body", "segment", "content", "abstract")
NAMED = re.compile("passage|corpus|collection|doc")
LONG = 200
"""Average number of characters from which texts count as passages, not queries."""


def read_passages(
    source: Source, report: Report, only: Collection[str] | None = None
) -> Iterator[Passage]:
    """Stream passages; a repeated id is yielded again, since the file may not fit in memory.

    Args:
        source: JSONL or a table with a header, with an id and a text; or lines `id<TAB>text`. A
            `title` is prepended to the text.
        report: receives refused lines.
        only: ids of the passages to read; None means all. The texts of other passages are not
            checked.

    Yields:
        Passages in file order.
    """
    number = 0
    lines = open_lines(source, report)
    for number, row in open_rows(
        lines, source.name, report, (ID_KEYS, TEXT_KEYS), _read_passage_line
    ):
        with report_refusals(report, source.name, number):
            if (
                only is not None
                and good_id(value_of(row, ID_KEYS, "passage id"), "passage") not in only
            ):
                continue
            passage = passage_of(row)
            if len(row) > 2:
                if row.get("title"):
                    report.remark(
                        source.name,
                        number,
                        "title-before-text",
                        "the title is added before the text",
                    )
                note_unread(row, (ID_KEYS, TEXT_KEYS, ("title",)), source.name, number, report)
            yield passage
    report.require(number, source.name, "passages")


def lines_of_passage(source: Source, passage_id: str) -> list[int]:
    """Return the numbers of the lines of a passage, in a file that can be read."""
    report = Report()
    rows = open_rows(
        open_lines(source, report), source.name, report, (ID_KEYS, TEXT_KEYS), _read_passage_line
    )
    return [
        number
        for number, row in rows
        if good_id(value_of(row, ID_KEYS, "passage id"), "passage") == passage_id
    ]


def write_passages(passages: Iterable[Passage], out: TextIO) -> None:
    """Write passages as JSONL with `passage_id` and `text`."""
    write_objects(
        ({"passage_id": passage.passage_id, "text": passage.text} for passage in passages), out
    )


def has_keys(keys: Set[str]) -> bool:
    """Return whether an object with these keys can be a passage."""
    return not keys.isdisjoint(ID_KEYS) and not keys.isdisjoint(TEXT_KEYS)


def passage_of(row: dict[str, Any]) -> Passage:
    """Return the passage of a JSON object, its title before the text.

    Raises:
        Refused: the id or the text is missing or unusable.
    """
    passage_id = good_id(value_of(row, ID_KEYS, "passage id"), "passage")
    text, title = value_of(row, TEXT_KEYS, "passage's text"), row.get("title")
    # BEIR has separate titles; some of its texts are empty or begin with their title already.
    if (
        isinstance(text, str)
        and isinstance(title, str)
        and title.strip()
        and not text.startswith(title)
    ):
        text = f"{title.strip()} {text}" if text.strip() else title.strip()
    return Passage(passage_id, good_text(text, "passage's text"))


def _read_passage_line(line: str) -> dict[str, Any]:
    passage_id, tab, text = line.partition("\t")
    if not tab:
        raise Refused(
            "header-missing",
            "the line has no tab between id and text, and there is no header with column names",
        )
    return {"passage_id": passage_id.strip(), "text": text.strip()}


def _are_keys(keys: Set[str], beginning: FileBeginning) -> bool:
    if query_files.is_outline(keys) or not has_keys(keys):
        return False
    of_passages = (
        NAMED.search(beginning.name)
        or keys & {"contents", "body"}
        or not query_files.has_keys(keys)
    )
    return bool(of_passages) or not query_files.NAMED.search(beginning.name)


def _is_table(beginning: FileBeginning) -> bool:
    header = set(beginning.header)
    if has_keys(header) or query_files.has_keys(header):
        return _are_keys(header, beginning)
    if not query_files.is_text_table(beginning):
        return False
    rows = beginning.cells
    average = sum(len(row[1]) for row in rows if len(row) > 1) / len(rows)
    return bool(NAMED.search(beginning.name)) or not (
        query_files.NAMED.search(beginning.name) or average < LONG
    )


KIND = FileKind(
    name="passages",
    title="Passages",
    what="passages: JSONL or TSV",
    extensions=("jsonl", "tsv"),
    read=read_passages,
    write=write_passages,
    looks_like={
        "record": lambda beginning: _are_keys(beginning.keys, beginning),
        "cells": _is_table,
    },
)
