"""Import of exams: items become questions of the bank, sources passages, and retrieved contexts retrievals."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from ..bank import ItemFacts, put_items, save_questions, take_queries
from ..errors import InputError, Report
from ..formats import ExamItem, item_id
from ..graders import bare_choices, key_position
from ..project import Cursor, Keeper, add_passages, check_new, put_retrieval, retrieved, stage
from ..text import clean_text
from ..types import Asked, Passage, Query, Question

EXAM = "exam"
"""The query of the items of an exam unless another is named."""


Words = tuple[str, str | None, tuple[str, ...]]
"""The identity of an item: its question, the text of its key if known, and its choices, sorted."""


def words_of(text: str | None, answer_key: str | None, choices: Sequence[str]) -> Words | None:
    """Return the words that identify an item, without the letters of choices; None without a question."""
    if not text or not text.strip():
        return None
    at = key_position(Asked(text, answer_key or "", tuple(choices)))
    bare = [" ".join(choice.split()) for choice in bare_choices(choices)]
    return " ".join(text.split()), None if isinstance(at, str) else bare[at], tuple(sorted(bare))


def items_by_words(cursor: Cursor, query_ids: Sequence[str] | None = None) -> dict[Words, str]:
    """Return the ids of the items of the bank by their words, with and without keys; the first id of equal items.

    Args:
        query_ids: only items of these queries; None for all.
    """
    rows = cursor.execute(
        "SELECT question_id, t.text, answer_key, choices FROM bank_at($version) JOIN questions USING (question_key)"
        " JOIN queries USING (query_key) JOIN question_texts t USING (text_key)"
        " WHERE kind = 'choice' AND ($queries IS NULL OR query_id IN (SELECT unnest($queries::VARCHAR[])))"
        " ORDER BY question_key DESC",
        {"version": bank_version(cursor), "queries": None if query_ids is None else list(query_ids)},
    ).fetchall()
    found = {
        words: item
        for item, text, answer_key, choices in rows
        if (words := words_of(text, answer_key, json.loads(choices))) is not None
    }
    return {(text, None, choices): item for (text, _, choices), item in found.items()} | found


def bank_version(cursor: Cursor) -> int:
    """Return the newest version of the bank; 0 without one."""
    return int(cursor.execute("SELECT coalesce(max(version), 0) FROM bank_versions").fetchall()[0][0])


def write_exam_items(
    cursor: Cursor,
    items: Sequence[ExamItem],
    file: str,
    query_id: str | None,
    report: Report,
    keeper: Keeper,
    author: str,
) -> dict[str, int]:
    """Write the items of exams into a project.

    Args:
        file: the files' names, for messages.
        query_id: the query that they belong to; None for `exam`. The names of retrievals of another query start with
            it.
        report: takes notes.

    Returns:
        Numbers of things written.

    Raises:
        InputError: the name of the query is invalid, or a retrieval of another content has the same name.
    """
    query = query_id or EXAM
    check_new(cursor, "query", [query])
    made = take_queries(cursor, [Query(query, _title(file))], False, keeper)
    banked = items_by_words(cursor, [query, EXAM])
    by_id = {
        banked.get(words_of(item.question, item.key, item.choices) or ("", None, ()))
        or item_id(query, item.question, item.choices): item
        for item in items
    }
    texts = [item.documentation for item in items if item.documentation is not None]
    texts += [text for item in items for found in item.retrieved.values() for text in found]
    names = _named(cursor, dict.fromkeys(texts))
    passages = add_passages(cursor, [Passage(name, text) for text, name in names.items()], keeper)
    known = {
        key
        for (key,) in cursor.execute(
            "SELECT question_id FROM questions WHERE question_key IN (SELECT question_key FROM question_revisions)"
        ).fetchall()
    }
    new = {key: item for key, item in by_id.items() if key not in known}
    if len(new) < len(by_id):
        report.remark(
            file,
            None,
            "item-known",
            "an item is already in the question bank and stays unchanged",
            len(by_id) - len(new),
        )
    questions = [
        Question(key, query, item.question, "choice", answer_key=item.key, choices=item.choices)
        for key, item in new.items()
    ]
    version = save_questions(cursor, questions, f"Imported {file}", author) if questions else None
    described = {
        key for (key,) in cursor.execute("SELECT question_id FROM items JOIN questions USING (question_key)").fetchall()
    }
    facts = {
        key: ItemFacts(None if item.documentation is None else names[item.documentation], item.topic)
        for key, item in by_id.items()
        if key not in described
    }
    put_items(cursor, facts)
    found = _retrievals(cursor, by_id, names, None if query == EXAM else query, file, author)
    counts = {"items": len(by_id), "new items": len(new), "new queries": made, "new passages": passages}
    return counts | ({"retrievals": found} if found else {}) | ({"bank version": version} if version else {})


def _title(file: str) -> str:
    stem = Path(file).stem
    return "Exam" if stem == EXAM else f"Exam {stem}"


def _named(cursor: Cursor, texts: dict[str, None]) -> dict[str, str]:
    """Return a passage id for each text: of a passage with this text, else derived from the text's hash."""
    clean = list(dict.fromkeys(map(clean_text, texts)))
    stage(cursor, "exam_texts", {"text": clean}, {"text": "VARCHAR"})
    there = dict(
        cursor.execute(
            "SELECT text, arg_min(passage_id, passage_key) FROM exam_texts JOIN passage_texts USING (text)"
            " JOIN passages USING (text_key) GROUP BY text"
        ).fetchall()
    )
    return {
        text: there.get(text) or f"text-{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}" for text in clean
    }


def _retrievals(
    cursor: Cursor, items: dict[str, ExamItem], names: dict[str, str], exam: str | None, file: str, author: str
) -> int:
    """Store retrieved contexts as retrievals and return how many are new. Existing ones with the same rankings stay.

    Raises:
        InputError: a retrieval exists with other rankings.
    """
    rankings: dict[str, dict[str, list[tuple[str, float]]]] = {}
    for key, item in items.items():
        for retriever, texts in item.retrieved.items():
            passages = list(dict.fromkeys(names[text] for text in texts))
            scored = [(passage, float(len(passages) - at)) for at, passage in enumerate(passages)]
            if scored:
                rankings.setdefault(retriever, {})[key] = scored
    written = 0
    for retriever, ranking in rankings.items():
        name = retriever if exam is None else f"{exam} {retriever}"
        there = retrieved(cursor, name)
        if there and there != ranking:
            raise InputError(
                "retrieval-differs",
                f"Retrieval '{name}' already exists with other rankings.",
                "Import the exam under another name (--source NAME).",
            )
        if not there:
            put_retrieval(cursor, name, file, ranking, author)
            written += 1
    return written
