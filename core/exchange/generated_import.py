"""Import of answers that models generated elsewhere, and of people's answer checks."""

from __future__ import annotations

from collections.abc import Sequence

from ..bank import question_text_key
from ..errors import InputError
from ..formats import AnswerVerdict, WrittenAnswer
from ..project import (
    GOLD_RUN,
    AnswerModel,
    Cursor,
    Generated,
    add_generated,
    answer_models_of,
    fingerprint_of,
    put_answer_model,
    put_answer_verdicts,
)
from ..text import clean_text, first_few, how_many


def write_generated(cursor: Cursor, name: str, read: Sequence[WrittenAnswer], file: str, author: str) -> dict[str, int]:
    """Write the generated answers of a file. The file states their contexts: a run at a depth, or gold passages.

    Args:
        name: of the generator.
        file: its name, for messages.

    Returns:
        Numbers of answers and of new ones.

    Raises:
        InputError: a query is missing, the generator answers in this project, or it already has another answer to the
            same query, context and draw.
    """
    known = next((one for one in answer_models_of(cursor, "generator") if one.name == name), None)
    if known is not None and not known.from_elsewhere:
        raise InputError(
            "answers-made-here",
            f"Generator '{name}' answers queries in this project, so its answers cannot be imported.",
            "Give the model of this file another name (--source).",
        )
    keys = _text_keys(cursor, [one.query_id for one in read], file)
    key = put_answer_model(
        cursor, "generator", AnswerModel(name, fingerprint_of(["generator elsewhere", name])), author
    )
    answers = [
        Generated(
            (keys[one.query_id], (GOLD_RUN, 0) if one.run == GOLD_RUN else (one.run, one.k or 0), None, one.draw),
            clean_text(one.answer),
        )
        for one in read
    ]
    said = {
        (question, run, k or 0, draw): text
        for question, run, k, draw, text in cursor.execute(
            "SELECT question_text_key, run, k, draw, text FROM generated_answers JOIN answer_texts USING (text_key)"
            " WHERE generator_key = ?",
            [key],
        ).fetchall()
    }
    others = [
        one for one in answers if said.get((one.place[0], *one.place[1], one.place[3]), one.text) != one.text
    ]  # fmt: skip
    if others:
        raise InputError(
            "answers-differ",
            f"{file} changes {how_many(len(others), 'answers')} that generator '{name}' already has.",
            "Stored answers cannot change. Give the model of this file another name (--source).",
        )
    return {"answers": len(answers), "new answers": add_generated(cursor, key, answers, None)}


def write_answer_verdicts(
    cursor: Cursor, source: str, read: Sequence[AnswerVerdict], file: str, author: str
) -> dict[str, int]:
    """Write people's verdicts on answers.

    Args:
        source: the name under which they are kept.
        file: its name, for messages.

    Returns:
        Numbers of verdicts and of new ones.

    Raises:
        InputError: a query is missing.
    """
    keys = _text_keys(cursor, [one.query_id for one in read], file)
    queries = dict(cursor.execute("SELECT query_id, query_key FROM queries").fetchall())
    said = {(queries[one.query_id], one.answer): one.acceptable for one in read}
    return put_answer_verdicts(cursor, source, said, {queries[name]: key for name, key in keys.items()}, author)


def _text_keys(cursor: Cursor, query_ids: Sequence[str], file: str) -> dict[str, int]:
    """Return the text keys of queries, by query id.

    Raises:
        InputError: a query is missing.
    """
    texts = dict(cursor.execute("SELECT query_id, text FROM queries").fetchall())
    if lost := [query_id for query_id in dict.fromkeys(query_ids) if query_id not in texts]:
        raise InputError(
            "unknown-query",
            f"{file} has {how_many(len(lost), 'unknown queries')}: {first_few(lost)}.",
            "Import the queries first.",
        )
    return {query_id: question_text_key(cursor, texts[query_id]) for query_id in dict.fromkeys(query_ids)}
