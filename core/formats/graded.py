"""Autograder/RUBRIC interchange files: one query a line with its passages and all their grades."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from core.errors import Report
from core.formats.file_kind import FileKind
from core.formats.graded_form import OURS
from core.formats.graded_line import FAULTS, Grader, Line, refused_of, topic_of
from core.formats.graded_rankings import rankings_of
from core.formats.graded_ratings import take_direct_grade, take_exam_grades
from core.formats.graded_writing import write_graded as write_graded
from core.formats.queries import query_of
from core.formats.question_bank import question_of
from core.formats.ranking_lists import RankingLists
from core.formats.repeated_ratings import Read, RepeatedRatings
from core.formats.source import Limits, Refused, Source, check_shape, good_id, open_byte_lines, parse_json
from core.formats.trec_qrels import LARGEST
from core.types import GradedQuery, Judgment, Passage, Query

PASSAGE_KEYS = {"paragraph_id", "text", "paragraph", "paragraph_data", "exam_grades", "grades"}
START = re.compile(r'\[\s*("[^"]*"|\d+)\s*,\s*\[')


def read_graded(source: Source, report: Report) -> Iterator[GradedQuery]:
    """Stream a graded file, a line at a time.

    `exam_grades` become grades of a self-rating grader (its ratings) or of an answering one (1 where
    the question counts as answered, else 0); `grades` become those of a direct grader, with the query
    id in place of a question id. What the file says of model and prompt goes verbatim into the
    grader's parameters, so that it can be written back. Ranks are the file's own. A ranking or judgment of a facet
    (`queryId` or `query` is `query/facet`, as in TREC CAR) is of that topic and not of the line's query. A (grader,
    question, passage) that comes twice is yielded twice; a query that comes on several lines likewise.

    Args:
        source: JSONL, gzip or not; lines `[query id, [passage, ...]]`.
        report: takes refused lines, and notes on what is not kept.

    Yields:
        One record a line. Its query's text is empty where the file has none. Its grades stand in the
        order in which their graders first appear, question graders before direct ones.
    """
    graders: dict[Any, Grader] = {}
    repeated, rankings = RepeatedRatings(), RankingLists()
    refused_before = report.count
    any_read = False
    lines = open_byte_lines(source, report, Limits({"line": "GRADED_LINE"}))
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            query = _query(line, repeated, rankings, graders, partial(report.remark, source.name, number))
        except Refused as refused:
            report.refuse(source.name, number, str(refused))
            continue
        finally:
            # The next line may be as long.
            del line
        any_read = True
        yield query
    if not any_read and report.count == refused_before:
        report.refuse(source.name, None, "the file has no graded queries in it")


def _query(
    line: bytes,
    repeated: RepeatedRatings,
    rankings: RankingLists,
    graders: dict[Any, Grader],
    remark: Callable[[str], None],
) -> GradedQuery:
    # What is kept as it comes is looked at where it is kept; looking at every line would cost a tenth of the import.
    check_shape(line, any_depth=True)
    shorter, taken = repeated.taken_out(line)
    shorter, lists = rankings.taken_out(shorter)
    if taken or lists:
        before, remarks = len(graders), list[str]()
        try:
            query = _record(shorter, taken, lists, graders, remarks.append)
        except Refused:
            # A file whose rankings are not in the usual form would have every line read twice.
            rankings.usual &= not lists
            # What is wrong is said of the line as it stands in the file.
            for key in list(graders)[before:]:
                del graders[key]
        else:
            for reason in remarks:
                remark(reason)
            return query
        del shorter
    return _record(line, {}, {}, graders, remark)


def _record(
    line: bytes,
    taken: dict[str, Read],
    lists: dict[str, bytes],
    graders: dict[Any, Grader],
    remark: Callable[[str], None],
) -> GradedQuery:
    record = parse_json(line, any_depth=True)
    if not (isinstance(record, list) and len(record) == 2 and isinstance(record[1], list)):
        raise Refused("the line is not of the form [query id, [passage, ...]]")
    query_id = good_id(record[0], "query")
    state = Line(query_id, graders, remark, itself=[query_id], taken=taken, lists=lists)
    for passage in record[1]:
        _passage(passage, state)
    if state.used != len(taken) + len(lists):
        raise Refused("ratings or rankings stand where none are looked for")
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


def _passage(passage: dict[str, Any], state: Line) -> None:
    try:
        passage_id = good_id(passage.get("paragraph_id"), "passage")
    except AttributeError:
        raise Refused("a passage is not a JSON object") from None
    try:
        text = passage.get("text") or ""
        if not isinstance(text, str):
            raise Refused("its text is not a text")
        if not text or text.isspace():
            state.remark("a passage has no text")
        if state.passages.setdefault(passage_id, Passage(passage_id, text)).text != text:
            raise Refused("it is listed twice with different texts")
        if not PASSAGE_KEYS.issuperset(passage) or passage.get("paragraph"):
            state.remark("a passage has further content, which is not kept")
        _paragraph_data(passage.get("paragraph_data") or {}, passage_id, state)
        for entry in passage.get("exam_grades") or ():
            take_exam_grades(entry, passage_id, state)
        for entry in passage.get("grades") or ():
            take_direct_grade(entry, passage_id, state)
    except FAULTS as fault:
        raise refused_of(passage_id, fault) from fault


def _paragraph_data(data: dict[str, Any], passage_id: str, state: Line) -> None:
    for entry in data.get("judgments") or ():
        value = entry["relevance"]
        if type(value) is not int or abs(value) > LARGEST:
            raise Refused(f"the relevance {value!r} is not an integer up to {LARGEST}")
        if not state.title and isinstance(entry.get("titleQuery"), str):
            state.title = entry["titleQuery"]
        place = (topic_of(entry.get("query"), state), passage_id)
        before = state.judgments.get(place)
        if before is None or value > before.value:
            state.judgments[place] = Judgment(*place, value)
    if given := data.get("rankings"):
        state.ranked.append((passage_id, given))
        state.used += type(given) is str and given in state.lists
    if OURS in data:
        ours = data[OURS]
        if "query" in ours:
            state.query = query_of({**ours["query"], "query_id": state.query_id})
        state.banked += [question_of(row) for row in ours.get("questions") or ()]


KIND = FileKind(
    name="graded",
    title="Graded file",
    what="Autograder/RUBRIC interchange file",
    extensions=("jsonl",),
    read=read_graded,
    write=write_graded,
    looks_like={"list": lambda beginning: bool(START.match(beginning.text))},
    judges=True,
    source="judgments",
)
