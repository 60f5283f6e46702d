"""Queries: reads a JSON map from id to text, TSV, or JSONL; writes JSONL."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Set
from typing import Any, TextIO

from ..errors import Report
from ..types import KeptObject, Query, Subtopic
from ._leaderboard_files import is_trec_eval_output
from ._source import (
    ENTRY,
    LIST,
    WORDS,
    FileBeginning,
    FileKind,
    Refused,
    Source,
    as_object,
    as_objects,
    check_cells,
    first_of,
    good_id,
    good_text,
    is_number,
    note_unread,
    open_records,
    open_rows,
    parse_json,
    parse_list,
    parse_pairs,
    report_refusals,
    value_of,
    write_objects,
)

ID_KEYS = ("query_id", "qid", "id", "topic_id", "_id", "request_id", "narrative_id")
TEXT_KEYS = ("text", "query", "query_text", "title", "topic_title")
NARRATIVE_KEYS = (
    "description",
    "topic_description",
    "narrative",
    "problem_statement",
    "background",
)
"""Parts of the narrative, in this order, joined by empty lines."""
TOPIC = "topic"
"""The form of kept topics of AutoJudge."""
NAMED = re.compile("quer|topic")
_READ = (ID_KEYS, TEXT_KEYS, *((key,) for key in (*NARRATIVE_KEYS, "answer", "answers")))


def read_queries(
    source: Source, report: Report, topics: list[KeptObject] | None = None
) -> list[Query]:
    """Read queries.

    Args:
        source: one of these:

            - a JSON map id -> text;
            - lines `id<TAB>text`, optionally with a narrative as third cell;
            - JSONL or a table with a header, with an id and a text. Optional: `narrative` (or
                others of `NARRATIVE_KEYS`), and `answer` or `answers` (a text, or a list of texts
                that are all correct). JSONL may have `subtopics` (list of `{"subtopic_id",
                "text"}`);
            - outlines of TREC CAR, as JSONL or a JSON list (`outline_of`).
        report: receives refused lines, including a repeated id with different content.
        topics: receives the topics of AutoJudge as they came.

    Returns:
        The queries in file order, each id once.
    """
    queries_by_id: dict[str, tuple[Query, int]] = {}
    for number, query in _stream_queries(source, report, [] if topics is None else topics):
        before = queries_by_id.setdefault(query.query_id, (query, number))
        if before[1] == number and before[0] is query:
            continue
        if before[0] == query:
            report.remark(source.name, number, "repeated-line", "the query repeats an earlier line")
        else:
            reason = f"query {query.query_id} is already on line {before[1]} with different content"
            report.refuse(source.name, number, "duplicate-query", reason)
    report.require(queries_by_id, source.name, "queries")
    return [query for query, _ in queries_by_id.values()]


def write_queries(queries: Iterable[Query], out: TextIO) -> None:
    """Write queries as JSONL with `query_id` and `text`; `narrative`, `answer` and `subtopics` if a
    query has them.

    Several answers of a query are written as the list `answers`.
    """
    write_objects(map(query_row, queries), out)


def write_topics(queries: Iterable[Query], topics: Iterable[KeptObject], out: TextIO) -> None:
    """Write queries as the topics of AutoJudge. The narrative is split at its first empty line.

    Args:
        topics: imported ones; an unchanged one is written as it came.
    """
    came = {topic.query_id: topic.content for topic in topics}
    write_objects((_topic_row(query, came.get(query.query_id, {})) for query in queries), out)


def _topic_row(query: Query, came: dict[str, Any]) -> dict[str, Any]:
    if came:
        stated = query_of(came)
        if (stated.text, stated.narrative) == (query.text, query.narrative):
            return came
    problem, _, background = (query.narrative or "").strip().partition("\n\n")
    row = {
        "request_id": query.query_id,
        "title": query.text,
        "problem_statement": problem,
        "background": background,
    }
    return {key: value for key, value in (came | row).items() if value}


def query_row(query: Query) -> dict[str, Any]:
    """Return a query as the JSON object that `query_of` reads."""
    row = {
        "query_id": query.query_id,
        "text": query.text,
        "narrative": query.narrative,
        **({"answers": list(query.answers)} if query.further_answers else {"answer": query.answer}),
        "subtopics": [vars(subtopic) for subtopic in query.subtopics] or None,
    }
    return {key: value for key, value in row.items() if value is not None}


def query_of(row: dict[str, Any]) -> Query:
    """Return the query that a JSON object describes.

    Raises:
        Refused: id or text is missing or unusable, or the answers or subtopics are malformed.
    """
    narrative = [
        good_text(row[key], key) for key in NARRATIVE_KEYS if row.get(key) not in (None, "")
    ]
    answers = _read_answers(row)
    subtopics = as_objects(
        row.get("subtopics") or [],
        "the subtopics are not a list of objects with subtopic_id and text",
    )
    if (request := row.get("request_id")) is not None:
        for key in ("topic_id", "narrative_id"):
            if str(row.get(key, request)) != str(request):
                raise Refused(
                    "differing-ids", f"{key} is {row[key]!s:.40}, but request_id is {request!s:.40}"
                )
    return Query(
        good_id(value_of(row, ID_KEYS, "query id"), "query"),
        good_text(value_of(row, TEXT_KEYS, "query's text"), "query's text"),
        "\n\n".join(narrative) or None,
        tuple(
            Subtopic(
                good_id(s.get("subtopic_id"), "subtopic"),
                good_text(s.get("text"), "subtopic's text"),
            )
            for s in subtopics
        ),
        answers[0] if answers else None,
        answers[1:],
    )


def _read_answers(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the correct answers of a row, each once."""
    given = row.get("answers", row.get("answer"))
    texts = given if isinstance(given, list) else [] if given is None else [given]
    return tuple(dict.fromkeys(good_text(text, "answer") for text in texts))


def has_keys(keys: Set[str]) -> bool:
    """Return whether an object with these keys can be a query."""
    return not keys.isdisjoint(ID_KEYS) and not keys.isdisjoint(TEXT_KEYS)


def is_text_table(beginning: FileBeginning) -> bool:
    """Return whether lines begin with an id and a text, as queries and passages do."""
    rows = beginning.cells
    if (
        "\t" not in beginning.lines[0]
        or any(len(row) < 2 for row in rows[:3])
        or is_trec_eval_output(rows[0])
    ):
        return False
    # Three columns or more with numbers in the last may be judgments, scores or values of measures.
    values = len(rows[0]) > 2 and is_number(rows[0][-1])
    numbers = all(is_number(row[1]) for row in rows[1:] or rows if len(row) > 1)
    return not (values or numbers or all("." in row[0] and is_number(row[0]) for row in rows))


PAGE_ID_KEYS = ("page_id", "squid", "pageId")
PAGE_NAME_KEYS = ("page_name", "title", "pageName")
SECTION_KEYS = ("headings", "child_sections", "sections", "skeleton", "query_facets", "children")
HEADING_ID_KEYS = ("headingId", "heading_id")

_PAGES = re.compile(r'\s*\[\s*\{[^{}\[\]]*"(page_id|pageId|squid)"\s*:')


def is_outline(keys: Collection[str]) -> bool:
    """Return whether an object with these keys, or the object itself, is a page of an outline."""
    return any(key in keys for key in PAGE_ID_KEYS) and any(key in keys for key in PAGE_NAME_KEYS)


def outline_of(row: dict[str, Any]) -> Query:
    """Return a page as a query: its id and name, and a subtopic for every section.

    Args:
        row: `page_id`, `page_name`, and `headings` with `headingId`, `heading` and nested headings,
            as in trec-car's tools. Or `squid`, `title`, and `query_facets` with `heading_id` and
            `heading`, as in pages submitted to TREC CAR Y3. A nested section gets both ids,
            OUTER/INNER, and both headings, OUTER / INNER.

    Raises:
        Refused: an id or a text is missing or unusable, or `headings` is not a list.
    """
    page = good_id(first_of(row, PAGE_ID_KEYS), "page")
    subtopics: dict[str, Subtopic] = {}
    for subtopic in _section_subtopics(row, page, "", ""):
        if subtopics.setdefault(subtopic.subtopic_id, subtopic) != subtopic:
            raise Refused(
                "duplicate-heading", f"heading id {subtopic.subtopic_id} has two different headings"
            )
    return Query(
        page,
        good_text(first_of(row, PAGE_NAME_KEYS), "page's name"),
        subtopics=tuple(subtopics.values()),
    )


def _section_subtopics(
    row: dict[str, Any], page: str, outer: str, above: str
) -> Iterator[Subtopic]:
    listed = first_of(row, SECTION_KEYS) or []
    for section in as_objects(
        listed, "the headings are not a list of objects with heading and headingId"
    ):
        # A skeleton holds paragraphs and images among its sections.
        if "heading" not in section:
            continue
        heading = good_text(section["heading"], "heading")
        # Facet ids begin with the id of their page.
        own = good_id(first_of(section, HEADING_ID_KEYS), "heading").removeprefix(f"{page}/")
        # Valid ids can be too long once joined, or empty without the page's id.
        subtopic = Subtopic(good_id(outer + own, "heading"), above + heading)
        yield subtopic
        yield from _section_subtopics(
            section, page, f"{subtopic.subtopic_id}/", f"{subtopic.text} / "
        )


def _stream_queries(
    source: Source, report: Report, topics: list[KeptObject]
) -> Iterator[tuple[int, Query]]:
    by_line = source.file.lower().endswith((".jsonl", ".jsonl.gz"))
    start, texts, lines = open_records(source, report, lambda text: by_line or _is_row(text))
    if texts and LIST.match(texts[0]):
        pages = parse_list(source, report, start, texts, _PAGES, "TREC CAR pages with page_id")
        for number, (at, row) in enumerate(pages, 1):
            with report_refusals(report, source.name, at, f"page {number}: "):
                yield at, outline_of(as_object(row, "not an object"))
    elif texts:
        for query_id, text in parse_pairs(source, report, start, texts):
            with report_refusals(report, source.name, start):
                named = good_id(query_id, "query")
                yield start, Query(named, good_text(text, f"text of query {query_id}"))
    for at, row in open_rows(lines, source.name, report, (ID_KEYS, TEXT_KEYS), _read_query_line):
        with report_refusals(report, source.name, at):
            if is_outline(row):
                yield at, outline_of(row)
                continue
            query = query_of(row)
            yield at, query
            if "request_id" in row:
                topics.append(KeptObject(TOPIC, query.query_id, "", row))
            else:
                note_unread(row, _READ, source.name, at, report)


def _is_row(line: str) -> bool:
    """Return whether the first line of a file, or all of it, is a record of JSONL, valid or
    broken, and not the start of a map.
    """
    try:
        value = parse_json(line)
    except Refused:
        # The first line of a JSON map over several lines is a bare bracket or a first pair. The
        # first line of broken JSONL has an id key.
        return any(line.lstrip("{ \t").startswith(f'"{key}"') for key in ID_KEYS)
    return isinstance(value, dict) and (
        any(key in value for key in (*ID_KEYS, *TEXT_KEYS)) or is_outline(value)
    )


def _read_query_line(line: str) -> dict[str, Any]:
    check_cells(line, "\t")
    cells = line.split("\t")
    if len(cells) not in (2, 3):
        raise Refused(
            "wrong-number-of-columns",
            f"the line has {len(cells)} tab-separated cells; it needs an id, a text and"
            " optionally a narrative",
        )
    if is_number(cells[-1]) and len(cells) == 3:
        raise Refused(
            "file-of-another-kind",
            "the third cell is a number, not a narrative; if the file holds"
            " judgments, import it as qrels",
        )
    return dict(zip(("query_id", "text", "narrative"), map(str.strip, cells), strict=False))


_NAMES = re.compile(r"_?id|text|title|.+_(id|text|title|query)")
"""Key names that show that an object is not a map of queries by id."""
_TEXTS = re.compile(rf"{ENTRY}{WORDS}\s*[,}}]")

KIND = FileKind(
    name="queries",
    title="Queries",
    what="queries: JSON map, TSV or JSONL, or outlines of TREC CAR as JSON",
    extensions=("json", "tsv", "jsonl"),
    read=read_queries,
    write=write_queries,
    # Passages also have ids and texts, so they are tested before queries.
    looks_like={
        "list": lambda beginning: _PAGES.match(beginning.text) is not None,
        "record": lambda beginning: is_outline(beginning.keys) or has_keys(beginning.keys),
        "map": lambda beginning: (
            bool(_TEXTS.match(beginning.text))
            and not (beginning.has_extension("jsonl") or any(map(_NAMES.fullmatch, beginning.keys)))
        ),
        "cells": lambda beginning: has_keys(set(beginning.header)) or is_text_table(beginning),
    },
)
