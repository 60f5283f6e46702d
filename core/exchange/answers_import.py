"""Import of examinees' answers made elsewhere, and of the components that examinees are made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from ..bank import question_text_key, save_questions, take_queries
from ..errors import InputError
from ..formats import Factors, SatElsewhere, factors_in_name
from ..graders import bare_choices, key_position
from ..project import (
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
from ..text import how_many, quoted
from ..types import Asked, Query, Question
from .exam_import import EXAM, Words, bank_version, items_by_words, words_of


def write_answers(cursor: Cursor, read: Sequence[SatElsewhere], names: str, author: str) -> dict[str, int]:
    """Write examinees' answers from elsewhere, and add the items that the bank lacks, with their words if known.

    Args:
        read: by examinee; items by question id. An item with the words of an item of the bank is that item.
        names: of the files.

    Returns:
        Numbers of examinees, answers, new answers and new items.

    Raises:
        InputError: an examinee takes exams in this project, or has another answer to an item already; or an item is a
            question of another kind. The caller must then roll back.
    """
    places, version = _place_items(cursor, read, names, author)
    keys = _text_keys(cursor, {item for place in places for item in place.values()})
    before = {student.name: student for student in students_of(cursor)}
    counts = {"students": len(read), "answers": 0, "new answers": 0}
    for one, place in zip(read, places, strict=True):
        if (known := before.get(one.student)) is not None and not known.sat_elsewhere:
            raise InputError(
                "answers-made-here",
                f"Examinee '{one.student}' takes exams in this project, so its answers cannot be imported.",
                "Give the examinee another name in the file, or rename the file.",
            )
        # Components stated in a file take precedence over those read from a name.
        levels = factors_in_name(one.student) | dict(known.factors if known else {})
        key = put_student(cursor, replace(elsewhere(one.student), factors=levels), author)
        verdicts: dict[str, bool] = {}
        for item, correct in one.verdicts.items():
            verdicts.setdefault(place[item], correct)
        if repeated := len(one.verdicts) - len(verdicts):
            counts["repeated items"] = counts.get("repeated items", 0) + repeated
        answers = [Answer(keys[item], ELSEWHERE, correct) for item, correct in verdicts.items()]
        said = answers_of(cursor, key)
        others = [
            answer
            for answer in answers
            if (there := said.get((answer.item_text_key, ELSEWHERE))) and there.correct is not answer.correct
        ]
        if others:
            raise InputError(
                "answers-differ",
                f"{names} changes {how_many(len(others), 'answers')} that examinee '{one.student}' already has.",
                "Stored answers cannot change. Give the examinee another name.",
            )
        counts["answers"] += len(answers)
        counts["new answers"] += add_answers(cursor, key, answers, None)
    return counts | version


def write_factors(cursor: Cursor, read: Sequence[Factors], author: str) -> dict[str, int]:
    """Write the components of examinees, and add examinees that the project lacks.

    Returns:
        Numbers of examinees, of new examinees, and of new components.
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


def _place_items(
    cursor: Cursor, read: Sequence[SatElsewhere], names: str, author: str
) -> tuple[list[dict[str, str]], dict[str, int]]:
    """Find the items of files in the bank by their words, else by their ids; add the missing ones.

    Returns:
        For each examinee the id in the bank by the id in the file; and counts of new items, if any.

    Raises:
        InputError: an id is that of a question without choices, or of an item with other words.
    """
    by_words = items_by_words(cursor)
    # Entries with keys follow, so they replace the entries without.
    words_by_id = {item: words for words, item in by_words.items()}
    kinds = dict(
        cursor.execute(
            "SELECT question_id, kind FROM bank_at($version) JOIN questions USING (question_key)",
            {"version": bank_version(cursor)},
        ).fetchall()
    )
    new: dict[str, Question] = {}
    places: list[dict[str, str]] = []
    for one in read:
        worded = {question.question_id: question for question in one.questions}
        place: dict[str, str] = {}
        for item in one.verdicts:
            question = worded.get(item, Question(item, EXAM, None, "choice"))
            words = words_of(question.text, question.answer_key, question.choices)
            if words is not None and words in by_words:
                place[item] = by_words[words]
                continue
            if kinds.get(item, "choice") != "choice":
                raise InputError(
                    "item-without-choices",
                    f"Item {item} of {names} is a question without choices in the question bank.",
                    "Give the items other ids.",
                )
            if words is not None and (known := words_by_id.get(item, words)) != words:
                raise InputError(
                    "item-words-differ",
                    f"Item {item} of {names} differs from the item with this id in the question bank:"
                    f" {_shown(words)}; {_shown(known)}.",
                    "Give one of them another id.",
                )
            place[item] = item
            if item not in kinds:
                kinds[item], new[item] = "choice", replace(question, query_id=EXAM)
                if words is not None:
                    by_words[words], words_by_id[item] = item, words
        places.append(place)
    if not new:
        return places, {}
    take_queries(cursor, [Query(EXAM, "Exam")], False)
    version = save_questions(cursor, list(new.values()), f"Items of {names}", author)
    return places, {"new items": len(new)} | ({"bank version": version} if version else {})


def _shown(words: Words) -> str:
    text, key, _ = words
    return f"{quoted(text)} with the key {'unknown' if key is None else quoted(key)}"


def _asked(text: str | None, answer_key: str | None, given: Sequence[str]) -> str | None:
    """Return question, key and choices in one text, to which answers refer. None if the key is not a choice."""
    at = key_position(Asked(text or "", answer_key or "", tuple(given)))
    if not text or isinstance(at, str):
        return None
    choices = tuple(bare_choices(given))
    return Asked(text.strip(), choices[at], choices).written


def _text_keys(cursor: Cursor, items: set[str]) -> dict[str, int]:
    """Return the keys of the texts that answers refer to: words with key and choices, else only words or id."""
    rows = cursor.execute(
        "SELECT question_id, t.text, answer_key, choices, text_key FROM bank_at($version)"
        " JOIN questions USING (question_key) JOIN question_texts t USING (text_key) ORDER BY question_key",
        {"version": bank_version(cursor)},
    ).fetchall()
    asked = {item: _asked(text, key, json.loads(choices)) for item, text, key, choices, _ in rows if item in items}
    return {
        item: text_key if (words := asked[item]) is None else question_text_key(cursor, words)
        for item, *_, text_key in rows
        if item in items
    }
