"""Edits of questions, as pure functions that return the changed questions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..errors import InputError, check_not_empty
from ..types import Question
from ._drafts import new_question

_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,3}[.)]|\(?[a-z][.)])(?:\s+|$)")


def paste_questions(
    query_id: str, text: str, subtopic_id: str | None = None, existing: Iterable[Question] = ()
) -> tuple[list[Question], int]:
    """Return new questions from pasted lines, one per line, without bullets, numbers and empty
    lines.

    Args:
        existing: the query's questions. Lines with the text of an active question are skipped.

    Returns:
        The questions, and the number of skipped lines: repetitions of an active question or of an
        earlier line.
    """
    lines = [found for line in re.split("[\r\n]", text) if (found := _BULLET.sub("", line).strip())]
    asked = {question.text for question in existing if question.active}
    new = [line for line in dict.fromkeys(lines) if line not in asked]
    return [new_question(query_id, line, subtopic_id) for line in new], len(lines) - len(new)


def duplicate_question(question: Question) -> Question:
    """Return a new question with the same content, to be reworded."""
    copy = new_question(question.query_id, question.text or "")
    return replace(
        question, question_id=copy.question_id, text=copy.text, position=question.position
    )


def split_question(question: Question, parts: Sequence[str]) -> list[Question]:
    """Return the retired question and the new questions that replace it, each with an equal share
    of its weight.

    Raises:
        InputError: fewer than two parts.
    """
    texts = [part.strip() for part in parts if part.strip()]
    if len(texts) < 2:
        raise InputError(
            "too-few-questions",
            "A split needs two questions or more.",
            "Write one question per line.",
        )
    part = replace(question, weight=question.weight / len(texts))
    return [
        replace(question, active=False),
        *(replace(duplicate_question(part), text=text) for text in texts),
    ]


def merge_questions(questions: Sequence[Question], text: str) -> list[Question]:
    """Return one new question and the retired questions that it replaces; it has their greatest
    weight.

    Raises:
        InputError: fewer than two questions, questions of several queries, or an empty text.
    """
    if len(questions) < 2 or len({question.query_id for question in questions}) > 1:
        raise InputError(
            "too-few-questions",
            "A merge needs two or more questions of one query.",
            "Select them first.",
        )
    text = check_not_empty(
        "empty-question",
        "The merged question has no text.",
        "Write a question that covers all merged ones.",
        text.strip(),
    )
    successor = replace(
        duplicate_question(questions[0]),
        text=text,
        weight=max(q.weight for q in questions),
        active=any(q.active for q in questions),
    )
    return [successor, *(replace(question, active=False) for question in questions)]


def reweight_questions(questions: Sequence[Question], weight: float) -> list[Question]:
    """Return the questions with another weight."""
    return [replace(question, weight=weight) for question in questions]


def retire_questions(questions: Sequence[Question], active: bool = False) -> list[Question]:
    """Return the questions as retired, or as restored if `active`."""
    return [replace(question, active=active) for question in questions]


def move_question(questions: Sequence[Question], question_id: str, by: int) -> list[Question]:
    """Return the questions whose position changes if a question moves up (by -1) or down (by 1);
    empty at an end.

    Two questions swap positions. Other questions are included only if they had no position or
    shared a position.

    Args:
        questions: all questions of the query in their order.
    """
    at = next(i for i, question in enumerate(questions) if question.question_id == question_id)
    if not 0 <= at + by < len(questions):
        return []
    places: list[int] = []
    for question in questions:
        free = places[-1] + 1 if places else 0
        places.append(free if question.position is None else max(free, question.position))
    order = list(questions)
    order[at], order[at + by] = order[at + by], order[at]
    # Questions without a position are sorted last anyway, so those after the two swapped ones need
    # no position.
    last = max(at, at + by)
    return [
        replace(question, position=place)
        for i, (question, place) in enumerate(zip(order, places, strict=True))
        if question.position != place and (question.position is not None or i <= last)
    ]
