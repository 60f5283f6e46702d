"""Items that examinees can be asked, and the texts that go with each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..project import CLOSED_BOOK, ORACLE, Project
from ..types import Asked
from .items import Item, exam_items


@dataclass(frozen=True)
class Task:
    """An item that can be asked.

    Args:
        question_id: of the bank.
        text: the question.
        choices: without letters, in the order in which they are shown.
        key: position of the right one, from 0.
        asked: question, key and choices in one text, whose key in the project answers refer to.
        topic: its subject; None if unknown.
        source: the passage that it was made from; None if unknown.
    """

    question_id: str
    text: str
    choices: tuple[str, ...]
    key: int
    asked: str
    topic: str | None = None
    source: str | None = None


Context = tuple[str, ...]
"""The texts that an examinee gets for an item, the best first; empty for a closed book."""


def tasks(
    project: Project,
    query_id: str | None = None,
    version: int | None = None,
    ids: Collection[str] | None = None,
) -> list[Task]:
    """Return the items that can be asked, in the order of the bank; those without a key among their choices cannot.

    Args:
        query_id: only those of this query; None for all.
        version: bank version; None for the newest.
        ids: only these, active or not; None for the active ones.

    Raises:
        InputError: the version is unknown.
    """
    return [
        task
        for item in exam_items(project, query_id, version)
        if (item.active if ids is None else item.question_id in ids) and (task := _task(item))
    ]


def tasks_named(project: Project, question_ids: Sequence[str]) -> list[Task]:
    """Return the named items that can be asked, in the given order. Retired ones count: worked items stay fixed."""
    known = {item.question_id: item for item in exam_items(project)} if question_ids else {}
    return [task for name in question_ids if name in known and (task := _task(known[name]))]


def _task(item: Item) -> Task | None:
    key = item.key_position
    if item.key is None or key is None:
        return None
    asked = Asked(item.text.strip(), item.key, item.choices).written
    return Task(item.question_id, item.text, item.choices, key, asked, item.topic, item.source_text)


def contexts(
    project: Project, retrieval: str | None, k: int | None, asked: Sequence[Task]
) -> dict[str, Context | None]:
    """Return the texts that go with each item, by question id; None if texts are required but missing.

    Args:
        retrieval: closed-book, oracle, or the name of a retrieval.
        k: passages of a retrieval.
    """
    if retrieval == CLOSED_BOOK:
        return {task.question_id: () for task in asked}
    if retrieval == ORACLE:
        return {task.question_id: (task.source,) if task.source else None for task in asked}
    found: dict[str, list[str]] = {}
    for question_id, text in project.rows(
        "SELECT question_id, x.text FROM retrieved JOIN retrievals USING (retrieval_key)"
        " JOIN questions USING (question_key) JOIN passages USING (passage_key) JOIN passage_texts x USING (text_key)"
        " WHERE name = ? AND rank <= ? ORDER BY question_key, rank",
        [retrieval, k or 1],
    ):
        found.setdefault(question_id, []).append(text)
    return {task.question_id: tuple(found[task.question_id]) if task.question_id in found else None for task in asked}


def digest_of(context: Context, worked: Sequence[tuple[Task, Context]]) -> str:
    """Return a digest of everything that an examinee reads in addition to the item (BLAKE2b, 16 bytes in hex)."""
    seen = [list(context), [[task.asked, list(texts)] for task, texts in worked]]
    written = json.dumps(seen, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(written, digest_size=16).hexdigest()


def text_keys(project: Project, asked: Sequence[str]) -> Mapping[str, int]:
    """Return the key of each text that was ever asked, by text."""
    return dict(project.rows("SELECT text, text_key FROM question_texts WHERE list_contains(?, text)", [list(asked)]))
