"""Human nuggets in iKAT's format: a JSON map query -> nugget id -> text and relevance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..errors import Report
from ..types import MAX_WEIGHT, Query, Question
from .source import Refused, Source, good_id, good_text, parse_pairs, refusing

_START = re.compile(r'\s*\{\s*("(?:[^"\\]|\\.)*"\s*:\s*\{.*)?', re.DOTALL)


def is_nugget_map(line: str) -> bool:
    """Return whether the first line of a bank begins a map: a bare bracket, or a first value that is an object."""
    return _START.fullmatch(line.rstrip()) is not None


def read_nugget_map(
    source: Source, report: Report, start: int, lines: Sequence[str]
) -> Iterator[tuple[Query, list[Question]]]:
    """Read nuggets query by query.

    Args:
        source: the file, for its name.
        report: receives notes, and refusals by query and nugget, since a map has no useful line numbers.
        start: number of the first of the lines.
        lines: the text of the map.

    Yields:
        Each query of the map, with its id only, and its nuggets. A nugget has the id QUERY/NUGGET. Its weight is its
        relevance, a number from 0 (default 1).
    """
    seen: set[str] = set()
    empty = 0
    unknown: set[str] = set()
    for query, nuggets in parse_pairs(source, report, start, lines):
        place = f"query {query[:40]}"
        with refusing(report, source.name, None, f"{place}: "):
            query_id = good_id(query, "query")
            if query_id in seen:
                raise Refused("duplicate-query", "already in the map")
            if not isinstance(nuggets, tuple):
                raise Refused("not-an-object", "the nuggets are not an object")
            seen.add(query_id)
            empty += not nuggets
            questions: dict[str, Question] = {}
            for nugget, content in nuggets:
                with refusing(report, source.name, None, f"{place}, nugget {nugget[:40]}: "):
                    question = _nugget(query_id, good_id(nugget, "nugget"), content)
                    if questions.setdefault(question.question_id, question) is not question:
                        raise Refused("duplicate-nugget", "the query already has this nugget")
                    unknown |= dict(content).keys() - {"text", "relevance"}
            yield Query(query_id, ""), list(questions.values())
    if empty:
        report.remark(source.name, None, "queries-without-nuggets", f"queries without nuggets: {empty}")
    for name in sorted(unknown):
        report.remark(source.name, None, "unknown-field", f"unknown nugget field {name}; ignored")


def _nugget(query_id: str, nugget_id: str, content: object) -> Question:
    if not isinstance(content, tuple):
        raise Refused("not-an-object", "not an object with text and relevance")
    fields = dict(content)
    text = good_text(fields.get("text"), "nugget's text").strip()
    weight = _relevance(fields.get("relevance"))
    return Question(good_id(f"{query_id}/{nugget_id}", "nugget"), query_id, text, "nugget", weight)


def _relevance(value: object) -> float:
    if value is None:
        return 1.0
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        relevance = float(value)
        if not 0 <= relevance <= MAX_WEIGHT:
            raise ValueError
    except (ValueError, OverflowError):
        raise Refused(
            "weight-out-of-range", f"the relevance {value!r} is not a number from 0 to {MAX_WEIGHT:,.0f}"
        ) from None
    return relevance
