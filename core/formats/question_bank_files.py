"""Question banks: Autograder/RUBRIC JSONL, our own JSONL and CSV, query ids with questions, a JSON
map of nuggets.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, TextIO, cast

import orjson

from ..errors import Report
from ..tables import csv_text, rearm_cell
from ..types import KINDS, MAX_WEIGHT, KeptObject, Kind, Query, Question, Subtopic
from ._nugget_banks import (
    BANK_KEYS,
    NUGGET_DOCS,
    QUERY_KEYS,
    QUERY_TEXTS,
    bank_of_nugget_docs,
    own_values,
    read_nugget_bank,
    with_weight,
)
from ._source import (
    ENTRY,
    KEY,
    FileBeginning,
    FileKind,
    Refused,
    Source,
    as_object,
    as_objects,
    describe_cell,
    first_of,
    good_id,
    good_text,
    note_unread,
    number_in,
    open_records,
    open_rows,
    parse_json,
    parse_list,
    parse_object,
    parse_pairs,
    peek_text,
    report_refusals,
    value_of,
    write_objects,
)
from .passage_files import has_keys as is_passage
from .query_files import has_keys as is_query, is_outline, is_text_table

COLUMNS = (
    "query_id",
    "question_id",
    "text",
    "kind",
    "weight",
    "active",
    "subtopic_id",
    "answer_key",
    "choices",
    "note",
)
KNOWN = {*COLUMNS, "query_text"}
TELLING = {"question_id", "kind", "weight", "answer_key", "choices", "subtopic_id"}
"""Columns that only questions have."""
NAMED = re.compile("bank|question|nugget")
PAIR_TEXTS = ("text", "question", "question_text")
"""Possible names of the second column in a file of query ids with questions."""
YES_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

ITEM_KEYS = ("items", "questions", "nuggets")
"""The keys of questions in an Autograder/RUBRIC line; older files (appendix of EXAM++) use
`questions`.
"""

_LOOK = 1 << 12
"""Characters in which a list of TQA lessons is recognised."""

_MAP = re.compile(r'\s*\{\s*("(?:[^"\\]|\\.)*"\s*:\s*\{.*)?', re.DOTALL)
"""The beginning of a map of nuggets: a bare bracket, or a first value that is an object."""
_Found = tuple[int, Query | None, list[Question]]


@dataclass(frozen=True)
class BankFile:
    """The content of a bank file: questions, queries (without texts in a map of nuggets), and
    unchanged banks of AutoJudge.

    A project's query ids may begin with `prefix`, because TREC CAR renamed the lessons of TQA.
    `lines` has the line of each query's first question.
    """

    queries: list[Query]
    questions: list[Question]
    prefix: str = ""
    kept: tuple[KeptObject, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)


def read_bank(source: Source, report: Report) -> BankFile:
    """Read a question bank.

    A question without an id gets one: its query id, `/`, and 12 hex digits of its text's SHA-256.

    Args:
        source: one of these:

            - Autograder/RUBRIC JSONL: a line per query and facet, with `items` (older files:
              `questions`);
            - our JSONL, one question per line; or CSV with a header and the same columns;
            - lines `query_id<TAB>question`;
            - iKAT's JSON map query -> nugget id -> text and relevance;
            - the lessons of TQA, a JSON list (`read_tqa`);
            - nugget banks of AutoJudge, v3 or RAGTIME26, one query per line or per file
              (`read_nugget_bank`);
            - nuggets_TOPIC.json of AutoJudge (`bank_of_nugget_docs`).
        report: receives notes and refused lines, including duplicate question ids.

    Returns:
        Queries (subtopics collected over lines) and questions in file order.
    """
    queries: dict[str, Query] = {}
    query_lines: dict[str, int] = {}
    questions: dict[str, tuple[Question, int]] = {}
    kept_objects: list[KeptObject] = []
    prefix = CAR_PREFIX if is_tqa(peek_text(source, _LOOK) or "") else ""
    for number, query, asked in _stream_bank(source, report, kept_objects):
        if query is not None:
            _collect_query(queries, query, source.name, number, report)
        for question in asked:
            query_lines.setdefault(question.query_id, number)
            first, line = questions.setdefault(question.question_id, (question, number))
            if first is not question:
                reason = f"question id {question.question_id} is already on line {line}"
                report.refuse(source.name, number, "duplicate-question", reason)
    report.require(questions, source.name, "questions")
    return BankFile(
        list(queries.values()),
        [question for question, _ in questions.values()],
        prefix,
        tuple(kept_objects),
        query_lines,
    )


def write_bank(questions: Iterable[Question], out: TextIO) -> None:
    """Write questions as JSONL, one object with all columns per line."""
    write_objects(map(question_row, questions), out)


def write_bank_csv(questions: Iterable[Question], out: TextIO) -> None:
    """Write questions as CSV with a header.

    A text that looks like a formula gets a leading apostrophe, which `read_bank` removes. The
    weight is a number and stays as it is.

    Args:
        questions: choices become a JSON list in one cell.
        out: a text file opened with newline="".
    """
    rows = [question_row(question) for question in questions]
    for row in rows:
        row["active"] = "true" if row["active"] else "false"
        row["choices"] = orjson.dumps(row["choices"]).decode() if row["choices"] else ""
    out.write(csv_text(COLUMNS, [list(row.values()) for row in rows]))


def question_row(question: Question) -> dict[str, Any]:
    """Return a question as the JSON object that `question_of` reads."""
    row = {name: getattr(question, name) for name in COLUMNS}
    row["choices"] = list(question.choices)
    return row


def question_of(row: dict[str, Any]) -> Question:
    """Return the question of a JSON object with our columns; empty texts count as absent.

    Raises:
        Refused: a value is missing or unusable.
    """
    query_id = good_id(value_of(row, QUERY_KEYS, "query id"), "query")
    text = next(
        (text for key in PAIR_TEXTS if (text := _optional_text(row, key)) is not None), None
    )
    question_id = row.get("question_id")
    if question_id in (None, ""):
        text = good_text(value_of(row, PAIR_TEXTS, "question's text"), "question's text")
        question_id = f"{query_id}/{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    kind = _value_or_default(row, "kind", "question")
    if kind not in KINDS:
        raise Refused("unknown-kind", f"unknown kind {kind!r}; available: {', '.join(KINDS)}")
    active = _value_or_default(row, "active", True)
    if not isinstance(active, bool):
        raise Refused("not-a-flag", f"active is {active!r}, not true or false")
    subtopic_id = _optional_text(row, "subtopic_id")
    # Interning keeps one copy of values that most questions of a query share.
    return Question(
        good_id(question_id, "question"),
        sys.intern(query_id),
        text,
        cast(Kind, sys.intern(kind)),
        _read_weight(_value_or_default(row, "weight", 1.0)),
        active,
        None if subtopic_id is None else good_id(subtopic_id, "subtopic"),
        _optional_text(row, "answer_key"),
        _read_choices(_value_or_default(row, "choices", [])),
        _optional_text(row, "note"),
    )


def _stream_bank(
    source: Source, report: Report, kept_objects: list[KeptObject]
) -> Iterator[_Found]:
    docs = NUGGET_DOCS.match((peek_text(source, _LOOK) or "").lstrip())
    start, texts, lines = open_records(
        source, report, lambda text: not docs and _is_row(text), keep_return=True
    )
    if texts and texts[0].lstrip().startswith("["):
        yield from read_tqa(source, report, start, texts)
    elif texts and docs:
        with report_refusals(report, source.name, start):
            bank = bank_of_nugget_docs(parse_object(" ".join(texts)), source.stem)
            query, rows = read_nugget_bank(bank, partial(report.remark, source.name, start))
            yield start, query, [question_of(fields) for fields in rows]
    elif texts:
        nuggets = _read_nugget_map(source, report, start, texts)
        yield from ((start, query, asked) for query, asked in nuggets)
    first = next(lines, (0, ""))
    is_json = first[1].lstrip().startswith("{")
    lines, keys = chain([first], lines), (QUERY_KEYS, (*PAIR_TEXTS, "question_id"))
    for number, row in open_rows(lines, source.name, report, keys, _read_pair, exact=True):
        with report_refusals(report, source.name, number):
            if is_json and any(key in row for key in BANK_KEYS):
                remark = partial(report.remark, source.name, number)
                query, rows = read_nugget_bank(row, remark)
                form = "ragtime26" if row.get("format_version") == "RAGTIME26" else "v3"
                kept_objects.append(KeptObject(form, query.query_id, "", row))
                yield number, query, [question_of(fields) for fields in rows]
            elif is_json and any(key in row for key in ITEM_KEYS):
                yield number, *_read_rubric(row, source.name, number, report)
            else:
                yield (
                    number,
                    *_read_own_row(
                        row if is_json else _parse_cells(row), source.name, number, report
                    ),
                )


CAR_PREFIX = "tqa2:"
"""Prefix of queries that TREC CAR Y3 made from these lessons: its query tqa2:L_0384 is the lesson
L_0384.
"""

_LESSONS = re.compile(
    r'\s*\[\s*\{\s*"(adjunctTopics|diagramAnnotations|globalID|instructionalDiagrams|lessonName'
    r'|metadataVersion|questions|topics)"\s*:'
)


def is_tqa(text: str) -> bool:
    """Return whether the beginning of a file is that of a list of TQA lessons."""
    return _LESSONS.match(text) is not None


def read_tqa(source: Source, report: Report, start: int, lines: Sequence[str]) -> Iterator[_Found]:
    """Read the questions that need no diagram, lesson by lesson.

    Args:
        source: the file, for its name.
        report: receives notes, and refusals by lesson and question.
        start: number of the first of the lines.
        lines: a JSON list of lessons: `globalID`, `lessonName`, and `questions.nonDiagramQuestions`
            by id. Each question has `beingAsked`, `answerChoices` by letter and `correctAnswer`
            (that letter), whose texts are `processedText`.

    Yields:
        Each lesson that has such questions: its line, a query, and questions of kind `choice`. The
            answer key is the
        text of the right choice. With fewer than two choices it is a plain question. As in EXAM++,
            a question whose
        key is not among its choices is left out.
    """
    lessons = parse_list(source, report, start, lines, _LESSONS, "TQA lessons with globalID")
    for at, (number, lesson) in enumerate(lessons, 1):
        with report_refusals(report, source.name, number, f"lesson {at}: "):
            lesson = as_object(lesson, "not an object")
            query = Query(
                good_id(lesson.get("globalID"), "lesson"),
                good_text(lesson.get("lessonName"), "lesson's name"),
            )
            entries = _as_part(
                _as_part(lesson.get("questions"), "questions").get("nonDiagramQuestions"),
                "questions",
            )
            questions = []
            for name, content in entries.items():
                with report_refusals(
                    report, source.name, number, f"lesson {query.query_id}, question {name[:40]}: "
                ):
                    question = _lesson_question(query.query_id, name, content)
                    if question is None:
                        report.remark(
                            source.name,
                            number,
                            "no-usable-items",
                            "a question is left out: its right answer is not among its choices",
                        )
                    else:
                        questions.append(question)
            if questions:
                yield number, query, questions


def _lesson_question(query_id: str, name: str, content: object) -> Question | None:
    """Return a question; None if its key is not among its choices."""
    content = _as_part(content, "question")
    text = good_text(_part_text(content.get("beingAsked")), "question's text").strip()
    letters = _as_part(content.get("answerChoices"), "choices")
    choices = {
        letter: good_text(_part_text(choice), f"choice {letter}").strip()
        for letter, choice in letters.items()
    }
    key = good_text(_part_text(content.get("correctAnswer")), "right answer").strip()
    if len(choices) > 1:
        right = choices.get(key) or next(
            (c for c in choices.values() if c.lower() == key.lower()), None
        )
        if right is None:
            return None
        return Question(
            good_id(name, "question"),
            query_id,
            text,
            "choice",
            answer_key=right,
            choices=tuple(choices.values()),
        )
    return Question(good_id(name, "question"), query_id, text, answer_key=choices.get(key, key))


def _as_part(value: object, what: str) -> dict[str, Any]:
    return {} if value is None else as_object(value, f"not an object: {what}")


def _part_text(value: object) -> object:
    """Return the text of a part, preferring the processed form to the raw form."""
    return value.get("processedText") or value.get("rawText") if isinstance(value, dict) else value


def _read_nugget_map(
    source: Source, report: Report, start: int, lines: Sequence[str]
) -> Iterator[tuple[Query, list[Question]]]:
    """Read nuggets query by query.

    Args:
        source: the file, for its name.
        report: receives notes, and refusals by query and nugget, since a map has no useful line
            numbers.
        start: number of the first of the lines.
        lines: the text of the map.

    Yields:
        Each query of the map, with its id only, and its nuggets. A nugget has the id QUERY/NUGGET.
            Its weight is its
        relevance, a number from 0 (default 1).
    """
    names_seen: set[str] = set()
    empty = 0
    unknown: set[str] = set()
    for query, nuggets in parse_pairs(source, report, start, lines):
        place = f"query {query[:40]}"
        with report_refusals(report, source.name, None, f"{place}: "):
            query_id = good_id(query, "query")
            if query_id in names_seen:
                raise Refused("duplicate-query", "already in the map")
            if not isinstance(nuggets, tuple):
                raise Refused("not-an-object", "the nuggets are not an object")
            names_seen.add(query_id)
            empty += not nuggets
            questions: dict[str, Question] = {}
            for nugget, content in nuggets:
                with report_refusals(report, source.name, None, f"{place}, nugget {nugget[:40]}: "):
                    question = _read_nugget(query_id, good_id(nugget, "nugget"), content)
                    if questions.setdefault(question.question_id, question) is not question:
                        raise Refused("duplicate-nugget", "the query already has this nugget")
                    unknown |= dict(content).keys() - {"text", "relevance"}
            yield Query(query_id, ""), list(questions.values())
    if empty:
        report.remark(
            source.name, None, "queries-without-nuggets", f"queries without nuggets: {empty}"
        )
    for name in sorted(unknown):
        report.remark(source.name, None, "unknown-field", f"unknown nugget field {name}; ignored")


def _read_nugget(query_id: str, nugget_id: str, content: object) -> Question:
    if not isinstance(content, tuple):
        raise Refused("not-an-object", "not an object with text and relevance")
    fields = dict(content)
    text = good_text(fields.get("text"), "nugget's text").strip()
    value = fields.get("relevance")
    weight = number_in("1" if value is None else str(value))
    if weight is None or not 0 <= weight <= MAX_WEIGHT:
        raise Refused(
            "weight-out-of-range",
            f"the relevance {value!r} is not a number from 0 to {MAX_WEIGHT:,.0f}",
        )
    return Question(good_id(f"{query_id}/{nugget_id}", "nugget"), query_id, text, "nugget", weight)


def _is_row(text: str) -> bool:
    """Return whether a JSON object is a question or the whole bank of a query, not a map."""
    if not _MAP.fullmatch(text.rstrip()):
        return True
    try:
        return any(key in parse_object(text) for key in (*BANK_KEYS, *ITEM_KEYS))
    except Refused:
        return False


def _read_pair(line: str) -> dict[str, Any]:
    """Return the row of a line without a header: a query id and a question."""
    cells = [cell.strip() for cell in line.split("\t", 2)]
    if len(cells) != 2:
        raise Refused(
            "header-missing",
            "the line is not a query id, a tab and a question, and there is no header with"
            " query_id and text",
        )
    return {"query_id": cells[0], "text": good_text(cells[1], "question's text")}


def _read_own_row(
    row: dict[str, Any], file: str, number: int, report: Report
) -> tuple[Query | None, list[Question]]:
    for name in row.keys() - KNOWN - {*QUERY_KEYS, *PAIR_TEXTS}:
        report.remark(file, number, "unknown-field", f"unknown column {name}; ignored")
    question = question_of(row)
    if question.text is None:
        report.remark(
            file, number, "question-without-text", "the question has an id but no text yet"
        )
    query_text = _optional_text(row, "query_text")
    return (None if query_text is None else Query(question.query_id, query_text)), [question]


def _read_rubric(
    row: dict[str, Any], file: str, number: int, report: Report
) -> tuple[Query, list[Question]]:
    query_id = good_id(value_of(row, QUERY_KEYS, "query id"), "query")
    text = first_of(row, QUERY_TEXTS)
    # A query without a text shows its id until the text is imported.
    text = "" if text is None else good_text(text, "query's text")
    facet_id = row.get("facet_id")
    subtopics: tuple[Subtopic, ...] = ()
    if facet_id is not None:
        text, _, facet = text.partition(" / ")
        subtopics = (Subtopic(good_id(facet_id, "facet"), facet or text),)
    holder = next(key for key in ITEM_KEYS if key in row)
    items = as_objects(row[holder], "the items are not a list of objects")
    questions = [
        _rubric_item(_usual_item(item, holder, file, number, report), query_id, facet_id)
        for item in items
    ]
    return Query(query_id, text, subtopics=subtopics), questions


def _usual_item(
    item: dict[str, Any], holder: str, file: str, number: int, report: Report
) -> dict[str, Any]:
    """Return an item in RUBRIC's form; a nugget of TREC RAG (with text and importance) is
    converted.
    """
    if "text" not in item or not item.keys().isdisjoint({"nugget_text", "question_text"}):
        return item
    kind = "nugget" if holder == "nuggets" else "question"
    note_unread(item, (("text",), ("importance",)), file, number, report)
    usual = {f"{kind}_id": item.get(f"{kind}_id", item.get("id")), f"{kind}_text": item["text"]}
    usual["metadata"] = item.get("metadata")
    if "weight" not in own_values(item):
        usual |= with_weight(item.get("importance"), partial(report.remark, file, number))
    return usual


def _rubric_item(item: dict[str, Any], query_id: str, facet_id: str | None) -> Question:
    of_query = item.get("query_id", query_id)
    if of_query != query_id:
        raise Refused(
            "question-of-two-queries", f"an item of query {query_id} names query {of_query}"
        )
    key = item.get("gold_answer")
    choices = item.get("choices")
    if isinstance(choices, dict):
        key = choices.get(key, key) if isinstance(key, str) else key
        choices = list(choices.values())
    word = "nugget" if "nugget_id" in item else "question"
    kind = "choice" if choices and word == "question" else word
    row = {
        "query_id": query_id,
        "question_id": item.get(f"{word}_id"),
        "text": good_text(
            value_of(item, (f"{word}_text", "text"), f"{kind}'s text"), f"{kind}'s text"
        ),
        "kind": kind,
        "subtopic_id": item.get("facet_id", facet_id),
        "answer_key": key,
        "choices": choices,
        "weight": item.get("weight"),
        "active": item.get("active"),
    }
    return question_of(row | own_values(item))


def _collect_query(
    queries: dict[str, Query], query: Query, file: str, number: int, report: Report
) -> None:
    before = queries.setdefault(query.query_id, query)
    if before is query:
        return
    if before.text != query.text:
        report.remark(
            file,
            number,
            "differing-query-text",
            "the query text differs from an earlier line; the first text is kept",
        )
    known = {subtopic.subtopic_id for subtopic in before.subtopics}
    fresh = tuple(subtopic for subtopic in query.subtopics if subtopic.subtopic_id not in known)
    queries[query.query_id] = replace(before, subtopics=before.subtopics + fresh)


def _parse_cells(cells: dict[str, str]) -> dict[str, Any]:
    """Return the cells of a CSV row as the values of our JSONL."""
    row: dict[str, Any] = {name: rearm_cell(cell) for name, cell in cells.items()}
    if "weight" in row:
        weight = number_in(row["weight"])
        if weight is None:
            raise Refused("not-a-number", f"the weight is {describe_cell(row['weight'])}")
        row["weight"] = weight
    if "active" in row:
        row["active"] = YES_NO.get(row["active"].strip().lower(), row["active"])
    if "choices" in row:
        cell = row["choices"].strip()
        row["choices"] = (
            parse_json(cell) if cell.startswith("[") else [c.strip() for c in cell.split("|")]
        )
    return row


def _value_or_default(row: dict[str, Any], name: str, default: Any) -> Any:
    value = row.get(name)
    return default if value is None or value == "" else value


def _optional_text(row: dict[str, Any], name: str) -> str | None:
    value = _value_or_default(row, name, None)
    if not isinstance(value, str | None):
        raise Refused("not-a-text", f"{name} is not a text")
    if value is not None and value.isspace():
        raise Refused("empty-value", f"{name} is empty")
    return value


def _read_weight(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused("not-a-number", f"the weight {value!r} is not a number")
    if not abs(value) <= MAX_WEIGHT:
        raise Refused(
            "weight-out-of-range",
            f"the weight {value!r} is not a number from {-MAX_WEIGHT:,.0f} to {MAX_WEIGHT:,.0f}",
        )
    return float(value)


def _read_choices(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(choice, str) and choice for choice in value
    ):
        raise Refused("invalid-choices", "the choices are not a list of texts")
    return tuple(value)


_BANKS = re.compile(rf'"({"|".join(BANK_KEYS)})"\s*:')
_NUGGETS = re.compile(rf'\{{\s*({KEY}\{{\s*\}}\s*,\s*)*{KEY}{ENTRY}\{{\s*"(text|relevance)"\s*:')


def _is_record(beginning: FileBeginning) -> bool:
    keys = beginning.keys
    if not keys.isdisjoint(BANK_KEYS):
        return True
    if not keys.isdisjoint(QUERY_KEYS) and keys & {*ITEM_KEYS, *TELLING, "question"}:
        return True
    # The name of the file decides if an id and a text are a question. The keys may rule that out.
    of_others = is_outline(keys) or is_passage(keys) or not is_query(keys)
    return not of_others and bool(NAMED.search(beginning.name))


def _are_pairs(beginning: FileBeginning) -> bool:
    """Return whether lines of id and text repeat an id with other texts, as only questions do."""
    rows = beginning.cells
    if any(len(row) != 2 for row in rows) or not is_text_table(beginning):
        return False
    texts = {(query_id, text) for query_id, text in rows}
    return len(texts) > len({query_id for query_id, _ in texts})


def _is_table(beginning: FileBeginning) -> bool:
    header = beginning.header
    if _are_pairs(beginning):
        return True
    names = set(header)
    if names.isdisjoint(QUERY_KEYS):
        return False
    if not names.isdisjoint(TELLING | {"question"}):
        return True
    # A query id and a text alone are a query. But if query ids repeat, the lines are questions.
    at = next(header.index(key) for key in QUERY_KEYS if key in names)
    ids = [row[at] for row in beginning.cells[1:] if len(row) == len(header)]
    return "text" in names and (len(set(ids)) < len(ids) or bool(NAMED.search(beginning.name)))


KIND = FileKind(
    name="bank",
    title="Question bank",
    what="question bank: Autograder/RUBRIC JSONL, plain JSONL or CSV, TSV of query ids and"
    " questions, a JSON map of"
    " nuggets, TQA lessons, or nugget banks of AutoJudge (v3, RAGTIME26, Nuggetizer,"
    " nuggets_TOPIC.json)",
    extensions=("jsonl", "csv", "tsv", "json"),
    read=read_bank,
    write=write_bank,
    looks_like={
        "list": lambda beginning: is_tqa(beginning.text),
        "record": _is_record,
        "map": lambda beginning: bool(
            _NUGGETS.match(beginning.text)
            or _BANKS.search(beginning.text)
            or NUGGET_DOCS.match(beginning.text)
        ),
        "cells": _is_table,
    },
)
