"""Autograder/RUBRIC interchange files: one line per query with its passages and all their grades."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..errors import Report
from ..types import GradedQuery, Judgment, Passage, Query
from ._file_kind import FileKind
from ._graded_line import FAULTS, Grader, Line, refused_of, topic_of
from ._graded_rankings import rankings_of
from ._graded_ratings import take_direct_grade, take_exam_grades
from ._graded_writing import write_graded as write_graded
from ._nugget_grade_files import is_nugget_grade
from ._source import Limits, Refused, Source, check_shape, good_id, open_byte_lines, parse_json
from ._usual_graded_line import ParagraphData, PassageOfLine, paragraph_data, parse_usual, passage_of, plain
from .query_files import query_of
from .question_bank_files import question_of
from .trec_qrels import LARGEST

PASSAGE_KEYS = {*PassageOfLine.__struct_fields__}
START = re.compile(r'\[\s*("[^"]*"|\d+)\s*,\s*\[')


def read_graded(source: Source, report: Report) -> Iterator[GradedQuery]:
    """Stream a graded file, one line at a time.

    `exam_grades` become grades of a self-rating grader (its ratings) or of an answering grader (1 if the question
    counts as answered, else 0). `grades` become those of a direct grader, with the query id in place of a question
    id. The grader's parameters keep the model and prompt data of the file verbatim, so that they can be written back.
    Ranks are the file's own. As in TREC CAR, a ranking or judgment may name a facet, `query/facet`. Then it belongs to
    the facet, not to the line's query. Repeated (grader, question, passage) and repeated queries are yielded again.

    Args:
        source: JSONL, gzip or not; lines `[query id, [passage, ...]]`.
        report: receives refused lines, and notes on content that is not kept.

    Yields:
        One record per line. Its query's text may be empty. Its grades are in the order in which their graders first
        appear, question graders before direct ones.
    """
    known = _Known()
    any_read = False
    lines = open_byte_lines(source, report, Limits({"line": "GRADED_LINE"}))
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            query = _query(line, known, partial(report.remark, source.name, number))
        except Refused as refused:
            report.refuse(source.name, number, refused.code, str(refused))
            continue
        finally:
            # Free this line before the next one is read, which may be as long.
            del line
        any_read = True
        yield query
    report.require(any_read, source.name, "graded queries")


@dataclass
class _Known:
    """State that the lines read so far leave for later lines.

    Args:
        usual: whether every accepted line was in the usual form.
    """

    graders: dict[Any, Grader] = field(default_factory=dict)
    usual: bool = True


def _query(line: bytes, known: _Known, remark: Callable[[str, str], None]) -> GradedQuery:
    # The depth of JSON is checked only in parts that are stored verbatim. Checking every line would slow down the
    # import.
    check_shape(line, any_depth=True)
    if known.usual:
        before, remarks = len(known.graders), list[tuple[str, str]]()
        try:
            query = _record(parse_usual(line), known, lambda *remark: remarks.append(remark))
        except Refused:
            # Parse the line in another form below, so that the message describes the line as it is in the file.
            for key in list(known.graders)[before:]:
                del known.graders[key]
        else:
            for code, reason in remarks:
                remark(code, reason)
            return query
    query = _record(parse_json(line, any_depth=True), known, remark)
    # The line is valid in another form. Later lines may have that form too, and trying the usual form first would parse
    # each of them twice.
    known.usual = False
    return query


def _record(record: Any, known: _Known, remark: Callable[[str, str], None]) -> GradedQuery:
    if not (isinstance(record, (list, tuple)) and len(record) == 2 and isinstance(record[1], list)):
        raise Refused("not-a-graded-line", "the line is not of the form [query id, [passage, ...]]")
    query_id = good_id(record[0], "query")
    state = Line(query_id, known.graders, remark, itself=[query_id])
    for passage in record[1]:
        _passage(passage, state)
    banked = {question.question_id: question for question in state.banked}
    for question_id, question in state.questions.items():
        banked.setdefault(question_id, question)
    return GradedQuery(
        state.query or Query(state.query_id, state.title),
        list(state.passages.values()),
        list(state.judgments.values()),
        rankings_of(state),
        list(banked.values()),
        [*state.exam.values(), *state.direct.values()],
    )


def _passage(given: Any, state: Line) -> None:
    try:
        passage = passage_of(given)
        passage_id = good_id(passage.paragraph_id, "passage")
    except AttributeError:
        raise Refused("not-an-object", "a passage is not a JSON object") from None
    try:
        text = passage.text or ""
        if not isinstance(text, str):
            raise Refused("not-a-text", "the text is not a string")
        if not text or text.isspace():
            state.remark("no-passage-text", "a passage has no text")
        if state.passages.setdefault(passage_id, Passage(passage_id, text)).text != text:
            raise Refused("contradicting-lines", "listed twice with different texts")
        if passage.paragraph or (passage is not given and not PASSAGE_KEYS.issuperset(given)):
            state.remark("further-content", "a passage has further content, which is not kept")
        _paragraph_data(paragraph_data(passage.paragraph_data or {}), passage_id, state)
        for entry in passage.exam_grades or ():
            take_exam_grades(entry, passage_id, state)
        for entry in plain(passage.grades) or ():
            take_direct_grade(entry, passage_id, state)
    except FAULTS as fault:
        raise refused_of(passage_id, fault) from fault


def _paragraph_data(data: ParagraphData, passage_id: str, state: Line) -> None:
    for entry in plain(data.judgments) or ():
        value = entry["relevance"]
        if type(value) is not int or abs(value) > LARGEST:
            raise Refused("invalid-relevance", f"the relevance {value!r} is not an integer up to {LARGEST}")
        if not state.title and isinstance(entry.get("titleQuery"), str):
            state.title = entry["titleQuery"]
        place = (topic_of(entry.get("query"), state), passage_id)
        before = state.judgments.get(place)
        if before is None or value > before.value:
            state.judgments[place] = Judgment(*place, value)
    if data.rankings:
        state.ranked.append((passage_id, data.rankings))
    if (ours := plain(data.ours)) is not None:
        if "query" in ours:
            state.query = query_of({**ours["query"], "query_id": state.query_id})
        state.banked += [question_of(row) for row in ours.get("questions") or ()]


KIND = FileKind(
    name="graded",
    title="Graded file",
    what="Autograder/RUBRIC interchange file; grades made elsewhere: nugget-grades.jsonl, nugget-doc-grades.jsonl,"
    " Nuggetizer's assignments",
    extensions=("jsonl",),
    read=read_graded,
    write=write_graded,
    looks_like={
        "list": lambda beginning: bool(START.match(beginning.text)),
        "record": lambda beginning: is_nugget_grade(beginning.lines[0], beginning.keys),
    },
    judges=True,
    source="judgments",
)
