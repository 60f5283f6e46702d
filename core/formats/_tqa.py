"""Question sets of Textbook Question Answering (TQA): lessons with multiple-choice questions and their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..errors import Report
from ..types import Query, Question
from ._source import Refused, Source, good_id, good_text, parse_json, refusing

CAR_PREFIX = "tqa2:"
"""Prefix of queries that TREC CAR Y3 made from these lessons: its query tqa2:L_0384 is the lesson L_0384."""

_START = re.compile(
    r'\s*\[\s*\{\s*"(adjunctTopics|diagramAnnotations|globalID|instructionalDiagrams|lessonName|metadataVersion|questions|'
    r'topics)"\s*:'
)


def is_tqa(text: str) -> bool:
    """Return whether the beginning of a file is that of a list of TQA lessons."""
    return _START.match(text) is not None


def read_tqa(source: Source, report: Report, text: str) -> Iterator[tuple[Query, list[Question]]]:
    """Read the questions that need no diagram, lesson by lesson.

    Args:
        source: the file, for its name.
        report: receives notes, and refusals by lesson and question, since a list has no useful line numbers.
        text: a JSON list of lessons: `globalID`, `lessonName`, and `questions.nonDiagramQuestions` by id. Each
            question has `beingAsked`, `answerChoices` by letter and `correctAnswer` (that letter), whose texts are
            `processedText`.

    Yields:
        Each lesson that has such questions, as a query, with its questions of kind `choice`. The answer key is the
        text of the right choice. With fewer than two choices it is a plain question. As in EXAM++, a question whose
        key is not among its choices is left out.
    """
    lessons: list[Any] = []
    with refusing(report, source.name, None):
        lessons = parse_json(text)
    for at, lesson in enumerate(lessons, 1):
        with refusing(report, source.name, None, f"lesson {at}: "):
            if not isinstance(lesson, dict):
                raise Refused("not-an-object", "not an object")
            query = Query(
                good_id(lesson.get("globalID"), "lesson"), good_text(lesson.get("lessonName"), "lesson's name")
            )
            asked = _object(_object(lesson.get("questions"), "questions").get("nonDiagramQuestions"), "questions")
            found = []
            for name, content in asked.items():
                with refusing(report, source.name, None, f"lesson {query.query_id}, question {name[:40]}: "):
                    question = _question(query.query_id, name, content)
                    if question is None:
                        report.remark(
                            source.name,
                            None,
                            "no-usable-items",
                            "a question is left out: its right answer is not among its choices",
                        )
                    else:
                        found.append(question)
            if found:
                yield query, found


def _question(query_id: str, name: str, content: object) -> Question | None:
    """Return a question; None if its key is not among its choices."""
    content = _object(content, "question")
    text = good_text(_text(content.get("beingAsked")), "question's text").strip()
    letters = _object(content.get("answerChoices"), "choices")
    choices = {letter: good_text(_text(choice), f"choice {letter}").strip() for letter, choice in letters.items()}
    key = good_text(_text(content.get("correctAnswer")), "right answer").strip()
    if len(choices) > 1:
        right = choices.get(key) or next((c for c in choices.values() if c.lower() == key.lower()), None)
        if right is None:
            return None
        return Question(
            good_id(name, "question"), query_id, text, "choice", answer_key=right, choices=tuple(choices.values())
        )
    return Question(good_id(name, "question"), query_id, text, answer_key=choices.get(key, key))


def _object(value: object, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Refused("not-an-object", f"not an object: {what}")
    return value


def _text(value: object) -> object:
    """Return the text of a part, preferring the processed form to the raw form."""
    if not isinstance(value, dict):
        return value
    return value.get("processedText") or value.get("rawText")
