"""Importing what students answered elsewhere, and of which components they are made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from core.bank import question_text_key, save_questions, take_queries
from core.errors import InputError
from core.formats import Factors, SatElsewhere
from core.graders import bare_choices, key_position
from core.project import (
    ELSEWHERE,
    Answer,
    Cursor,
    add_answers,
    answers_of,
    elsewhere,
    put_student,
    state_factors,
    students_of,
)
from core.text import first_few, how_many
from core.types import Asked, Query, Question

EXAM = "exam"
"""The query that items belong to which come with answers alone."""


def write_answers(cursor: Cursor, read: Sequence[SatElsewhere], names: str, author: str) -> dict[str, int]:
    """Write what students answered; items that the bank does not have come into it, in their words where they are said.

    Args:
        read: by student; items by question id. One with words that an item of the bank has is that item.
        names: of the files.

    Returns:
        Numbers of students, answers, new answers and new items.

    Raises:
        InputError: a student sits here, or has another answer to an item already; or an item is a question of another
            kind. Nothing of this may be kept then.
    """
    named = _known_by_words(cursor, read)
    version = _add_items(cursor, read, named, names, author)
    keys = _text_keys(cursor, {named.get(item, item) for one in read for item in one.verdicts})
    before = {student.name: student for student in students_of(cursor)}
    counts = {"students": len(read), "answers": 0, "new answers": 0}
    for one in read:
        if (known := before.get(one.student)) is not None and not known.sat_elsewhere:
            raise InputError(
                f"'{one.student}' sits exams here, so that its answers cannot come from a file.",
                "Name the student otherwise in the file, or rename the file.",
            )
        key = put_student(cursor, elsewhere(one.student), author)
        answers = [Answer(keys[named.get(item, item)], ELSEWHERE, correct) for item, correct in one.verdicts.items()]
        said = answers_of(cursor, key)
        others = [
            answer
            for answer in answers
            if (place := (answer.item_text_key, ELSEWHERE)) in said and said[place].correct is not answer.correct
        ]
        if others:
            raise InputError(
                f"'{one.student}' has other answers to {how_many(len(others), 'items')} of {names} already.",
                "An answer is never changed: give the student another name.",
            )
        counts["answers"] += len(answers)
        counts["new answers"] += add_answers(cursor, key, answers, None)
    return counts | version


def write_factors(cursor: Cursor, read: Sequence[Factors], author: str) -> dict[str, int]:
    """Write of which components students are made; students that the project does not have come into it.

    Returns:
        Numbers of students, of those that are new, and of components that are news.
    """
    before = {student.name: student.key for student in students_of(cursor)}
    stated: dict[int, dict[str, str]] = {}
    new = 0
    for name, levels in ((name, levels) for file in read for name, levels in file.items()):
        if name not in before:
            before[name] = put_student(cursor, elsewhere(name), author)
            new += 1
        stated.setdefault(before[name], {}).update(levels)
    return {"students": len(stated), "new students": new, "new components": state_factors(cursor, stated, author)}


def _known_by_words(cursor: Cursor, read: Sequence[SatElsewhere]) -> dict[str, str]:
    """The ids that items have in the bank, by their ids in the files, where only question, key and choices tell."""
    banked = _banked(cursor)
    ids = {item for item, _, _ in banked}
    by_words = {asked: item for item, asked, _ in reversed(banked) if asked is not None}
    return {
        question.question_id: by_words[asked]
        for one in read
        for question in one.questions
        if question.question_id not in ids
        and (asked := _asked(question.text, question.answer_key, question.choices)) in by_words
        and asked is not None
    }


def _banked(cursor: Cursor) -> list[tuple[str, str | None, int]]:
    """Every question of the bank: its id, what a student is asked by it, where that is known, and its words' key."""
    return [
        (item, _asked(text, answer_key, json.loads(choices)), text_key)
        for item, text, answer_key, choices, text_key in cursor.execute(
            "SELECT question_id, t.text, answer_key, choices, text_key FROM bank_at($version)"
            " JOIN questions USING (question_key) JOIN question_texts t USING (text_key) ORDER BY question_key",
            {"version": _version(cursor)},
        ).fetchall()
    ]


def _asked(text: str | None, answer_key: str | None, given: Sequence[str]) -> str | None:
    """Question, key and choices in one text, as answers are kept of; None where the key is none of the choices."""
    at = key_position(Asked(text or "", answer_key or "", tuple(given)))
    if not text or isinstance(at, str):
        return None
    choices = tuple(bare_choices(given))
    return Asked(text.strip(), choices[at], choices).written


def _add_items(
    cursor: Cursor, read: Sequence[SatElsewhere], named: dict[str, str], names: str, author: str
) -> dict[str, int]:
    """Put items into the bank that it does not have."""
    worded = {question.question_id: question for one in read for question in one.questions}
    wanted = dict.fromkeys(item for one in read for item in one.verdicts if item not in named)
    kinds = dict(
        cursor.execute(
            "SELECT question_id, kind FROM bank_at($version) JOIN questions USING (question_key)",
            {"version": _version(cursor)},
        ).fetchall()
    )
    if strays := [item for item in wanted if kinds.get(item, "choice") != "choice"]:
        raise InputError(
            f"{first_few(strays)} of {names} is a question of the bank without choices.", "Name the items otherwise."
        )
    new = [worded.get(item, Question(item, EXAM, None, "choice")) for item in wanted if item not in kinds]
    if not new:
        return {}
    take_queries(cursor, [Query(EXAM, "Exam")], False)
    version = save_questions(cursor, [replace(one, query_id=EXAM) for one in new], f"Items of {names}", author)
    return {"new items": len(new)} | ({"bank version": version} if version else {})


def _text_keys(cursor: Cursor, items: set[str]) -> dict[str, int]:
    """What answers to items are about: their words with key and choices, else the words or the id alone."""
    return {
        item: text_key if asked is None else question_text_key(cursor, asked)
        for item, asked, text_key in _banked(cursor)
        if item in items
    }


def _version(cursor: Cursor) -> int:
    return int(cursor.execute("SELECT coalesce(max(version), 0) FROM bank_versions").fetchall()[0][0])
