"""Files of AutoJudge's tools: nugget-grades.jsonl, nugget-doc-grades.jsonl, and nugget banks to
write; Nuggetizer's assignments. An imported bank keeps the fields that it came with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TextIO

from ..errors import InputError, Report
from ..grouping import group_pairs
from ..text import first_few
from ..types import KINDS, MAX_RATING, RATINGS, GradeDetail, GraderSpec, KeptObject, Query, Question
from ._nugget_banks import (
    BANK_KEYS,
    FORMS,
    QUERY_KEYS,
    UNFIT,
    entry_wording,
    nugget_row,
    read_nugget_bank,
    text_hash,
    with_weight,
)
from ._source import (
    WHOLE,
    Limits,
    Refused,
    Source,
    as_objects,
    first_of,
    good_id,
    good_text,
    open_objects,
    peek_text,
    report_refusals,
    value_of,
    write_objects,
)
from .question_bank_files import question_of

ASSIGNMENTS = {"not_support": 0, "partial_support": 1, "support": 2}
"""Ratings of Nuggetizer's assignments, on their own scale of 0 to 2."""
GRADE_KEYS = {"nugget_id", "grade"}
_LOOK = 1 << 16


@dataclass(frozen=True)
class GradedNugget:
    """A grade that another tool made.

    Args:
        run: the system whose response was graded; None if a passage was graded.
        passage_id, paragraph: ids of the graded passage.
        text: text of the passage or response; empty if the file has no text.
        question: without a text if the file gives only its id.
        rating: None if the pair failed.
        answer: the quote that addresses the question.
    """

    source: Source
    line: int
    grader: GraderSpec
    query: Query
    run: str | None
    passage_id: str | None
    paragraph: str
    text: str
    question: Question
    rating: int | None
    answer: str | None
    detail: GradeDetail


def has_nugget_grades(source: Source) -> bool:
    """Return whether a file begins with a JSON object (grades or assignments), not with a graded
    line.
    """
    return (peek_text(source, _LOOK) or "").lstrip().startswith("{")


def is_nugget_grade(line: str, keys: set[str]) -> bool:
    """Return whether a line with these keys has a grade or assignments."""
    return keys >= GRADE_KEYS or (
        "nuggets" in keys and re.search(r'"assignment"\s*:', line) is not None
    )


def read_nugget_grades(source: Source, report: Report, name: str) -> list[GradedNugget]:
    """Read grades that another tool made.

    Args:
        source: JSONL, with a grade on each line (`nugget_id`, `grade`, and `run_id` or `doc_id`),
            or with the assignments of a response or passage (`nuggets`).
        report: receives refused lines, including a second, different grade of a pair.
        name: name of the grader.

    Returns:
        Grades in file order, each once.
    """
    grades: dict[tuple[Any, ...], GradedNugget] = {}
    for number, row in open_objects(source, report, Limits(WHOLE)):
        with report_refusals(report, source.name, number):
            for grade in _read_grades(
                row, source, number, name, partial(report.remark, source.name, number)
            ):
                question_text = grade.question.text or grade.question.question_id
                place = (
                    grade.query.query_id,
                    grade.run,
                    grade.passage_id,
                    grade.paragraph,
                    grade.text,
                    question_text,
                )
                before = grades.setdefault(place, grade)
                if before.rating != grade.rating:
                    raise Refused(
                        "contradicting-lines",
                        f"question {grade.question.question_id} has another grade for this text on"
                        f" line {before.line}",
                    )
    report.require(grades, source.name, "grades")
    return list(grades.values())


def _read_grades(
    row: dict[str, Any], source: Source, line: int, name: str, remark: Callable[[str, str], None]
) -> Iterator[GradedNugget]:
    nuggets = row.get("nuggets")
    if nuggets is not None and "grade" in row:
        raise Refused("two-grades", "the line has both nuggets and a grade; keep one of them")
    query_id = good_id(value_of(row, QUERY_KEYS, "query id"), "query")
    # In a line with nuggets, `text` is the query's.
    title = first_of(
        row, ("query_text", "query") if nuggets is None else ("query_text", "query", "text")
    )
    query = Query(query_id, "" if title is None else good_text(title, "query's text"))
    passage_id = first_of(row, ("doc_id", "docid"))
    run = None
    if passage_id is None:
        run = value_of(
            row if nuggets is None else {"run": source.stem} | row, ("run_id", "run"), "run"
        )
        run = "_".join(good_id(run, "run").split())
    text = first_of(row, ("passage", "answer_text", "candidate_text"))
    index = row.get("paragraph_idx")
    make = partial(
        GradedNugget,
        source,
        line,
        GraderSpec(
            f"imported: {name}",
            "imported",
            name,
            max_rating=MAX_RATING if nuggets is None else 2,
            kinds=KINDS,
        ),
        query,
        run,
        None if passage_id is None else good_id(passage_id, "passage"),
        "" if index is None else good_id(index, "paragraph"),
        "" if text is None else good_text(text, "passage's text"),
    )
    if nuggets is None:
        words = _optional_text(row, "question")
        given_id = (
            None if words and row.get("nugget_id") == text_hash(words) else row.get("nugget_id")
        )
        if words is None:
            question = Question(good_id(given_id, "question"), query_id, None)
        else:
            question = question_of({"query_id": query_id, "text": words, "question_id": given_id})
        yield make(question, *_read_rating(row))
        return
    for nugget in as_objects(nuggets, "the nuggets are not a list of objects"):
        assignment = nugget.get("assignment")
        if assignment is None:
            remark("nugget-unassigned", "a nugget without an assignment stays ungraded")
            continue
        if not isinstance(assignment, str) or assignment not in ASSIGNMENTS:
            raise Refused(
                "unknown-assignment",
                f"unknown assignment {assignment!r:.40}; available: {', '.join(ASSIGNMENTS)}",
            )
        question_row = {
            "query_id": query_id,
            "text": good_text(nugget.get("text"), "nugget's text"),
            "kind": "nugget",
        }
        question = question_of(question_row | with_weight(nugget.get("importance"), remark))
        yield make(
            question,
            ASSIGNMENTS[assignment],
            None,
            GradeDetail(raw=_optional_text(nugget, "reasoning")),
        )


def _read_rating(row: dict[str, Any]) -> tuple[int | None, str | None, GradeDetail]:
    grade, confidence, reasoning = (
        row.get("grade", "missing"),
        row.get("confidence"),
        _optional_text(row, "reasoning"),
    )
    if isinstance(grade, bool) or grade not in (None, *RATINGS):
        raise Refused(
            "invalid-rating",
            f"the grade is {grade!r:.40}, not a whole number from 0 to {MAX_RATING}",
        )
    if not (confidence is None or (type(confidence) in (int, float) and 0 <= confidence <= 1)):
        raise Refused(
            "invalid-confidence", f"the confidence is {confidence!r:.40}, not a number from 0 to 1"
        )
    if grade is None:
        return None, None, GradeDetail(raw=reasoning)
    return (
        int(grade),
        _optional_text(row, "addressed_quote"),
        GradeDetail(confidence=confidence, raw=reasoning),
    )


def _optional_text(row: dict[str, Any], key: str) -> str | None:
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise Refused("not-a-text", f"{key} is not a text")
    return value or None


def write_nugget_banks(
    form: str,
    queries: Iterable[Query],
    questions: Iterable[Question],
    version: int,
    kept_banks: Iterable[KeptObject],
    out: TextIO,
) -> None:
    """Write a bank as JSONL, one query per line; queries without questions are left out.

    Args:
        form: one of `FORMS`.
        version: of the bank.
        kept_banks: imported banks of the form; their unchanged parts are written as imported.

    Raises:
        InputError: the form cannot hold some questions, which the message names.
    """
    by_query = group_pairs((question.query_id, question) for question in questions)
    unfit = [
        item.question_id
        for asked in by_query.values()
        for item in asked
        if item.text is None
        or (form == "ragtime26" and item.kind == "nugget")
        or (form == "nuggetizer" and item.weight < 0)
    ]
    if unfit:
        raise InputError(
            "form-without-place",
            f"Form {form} has no place for {UNFIT[form]}: {first_few(unfit)}.",
            "Use another --form, or export the bank without --form.",
        )
    imported = {item.query_id: item for item in kept_banks}
    write_objects(
        (
            _bank_of(query, by_query[query.query_id], form, version, imported.get(query.query_id))
            for query in queries
            if query.query_id in by_query
        ),
        out,
    )


def _bank_of(
    query: Query,
    questions: Sequence[Question],
    form: str,
    version: int,
    kept_bank: KeptObject | None,
) -> dict[str, Any]:
    """Return the bank of a query; of an imported one, the unchanged entries that are still
    questions here.

    Other questions are added in the same form. A query's text and subtopics are those of the
    project.
    """
    if kept_bank is None:
        return FORMS[form](query, questions, version)
    row, rest = dict(kept_bank.content), dict.fromkeys(questions)
    still_asked = {key: _still_asked(row.get(key), None, query.query_id, rest) for key in BANK_KEYS}
    bank_row = FORMS[form](query, list(rest), version)
    stated, _ = read_nugget_bank(row, _ignore_note)
    differs = stated.text not in ("", query.text) or stated.narrative not in (None, query.narrative)
    if form == "v3" and (differs or not set(query.subtopics) <= set(stated.subtopics)):
        metadata = row.get("metadata")
        known = metadata if isinstance(metadata, dict) else {}
        row |= {key: bank_row[key] for key in ("title_query", "full_query") if key in bank_row}
        row["metadata"] = known | bank_row.get("metadata", {})
    for key in row.keys() & BANK_KEYS | {key for key in BANK_KEYS if bank_row.get(key)}:
        row[key] = _join_entries(still_asked[key], bank_row.get(key))
    return row


def _still_asked(
    entries: Any, parent: str | None, query_id: str, rest: dict[Question, None]
) -> Any:
    """Return the entries of a list or map that are questions of `rest`, and remove these from
    `rest`.
    """
    if not entries:
        return entries
    remaining = {}
    for key, entry in entries.items() if isinstance(entries, dict) else enumerate(entries):
        question = question_of(nugget_row(entry, parent, query_id, _ignore_note))
        if question in rest:
            del rest[question]
            nested = entry.get("sub_nuggets")
            below = (
                {"sub_nuggets": _still_asked(nested, entry_wording(entry)[1], query_id, rest)}
                if nested
                else {}
            )
            remaining[key] = entry | below
    return remaining if isinstance(entries, dict) else list(remaining.values())


def _join_entries(imported_entries: Any, written_entries: Any) -> Any:
    """Return the entries of both, as a list or map like the first."""
    if not written_entries or not imported_entries:
        return written_entries or imported_entries
    if isinstance(imported_entries, list):
        return [
            *imported_entries,
            *(written_entries.values() if isinstance(written_entries, dict) else written_entries),
        ]
    # Another entry may have the same words.
    return imported_entries | {
        key if key not in imported_entries else f"{key} [{len(imported_entries)}]": entry
        for key, entry in written_entries.items()
    }


def _ignore_note(code: str, reason: str) -> None:
    """Drop a note: the import of the bank gave it already."""
