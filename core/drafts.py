"""Drafts: what a person has changed in the bank and not saved, kept in the project at every change."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core import bank
from core.errors import InputError
from core.project import Project, log
from core.types import Question


@dataclass(frozen=True)
class Draft:
    """One question as a person has changed it.

    Args:
        question: what it would be after saving.
        base_version: the bank version that the person saw when the change began.
    """

    question: Question
    base_version: int


def new_question(query_id: str) -> Question:
    """An empty question with an id of its own, to be written by a person."""
    return Question(f"{query_id}/{uuid.uuid4().hex[:12]}", query_id, "")


def drafts(project: Project, author: str) -> dict[str, Draft]:
    """The drafts of a person by question id, in the order in which they were begun."""
    return {
        question_id: Draft(_read(content), base)
        for question_id, content, base in project.rows(
            "SELECT question_id, content, base_version FROM drafts WHERE author = ? ORDER BY rowid", [author]
        )
    }


def _read(content: str) -> Question:
    values: dict[str, Any] = json.loads(content)
    values["choices"] = tuple(values["choices"])
    return Question(**values)


def put_draft(project: Project, author: str, question: Question) -> None:
    """Store a change; one that brings back what the bank has ends the draft."""
    saved = {q.question_id: q for q in bank.questions(project, query_id=question.query_id)}
    with project.transaction() as cursor:
        key = cursor.execute("SELECT query_key FROM queries WHERE query_id = ?", [question.query_id]).fetchall()
        if not key:
            raise InputError(f"There is no query {question.query_id}.")
        if saved.get(question.question_id) == question:
            cursor.execute(
                "DELETE FROM drafts WHERE author = ? AND question_id = ?", [author, question.question_id]
            )
            return
        content = json.dumps(asdict(question), ensure_ascii=False)
        cursor.execute(
            "INSERT INTO drafts VALUES (?, ?, ?, ?, ?, now()::TIMESTAMP)"
            " ON CONFLICT (author, question_id) DO UPDATE SET content = excluded.content,"
            " changed_at = excluded.changed_at",
            [author, question.question_id, key[0][0], bank.latest_version(project), content],
        )


def discard(project: Project, author: str, question_ids: Sequence[str] | None = None) -> None:
    """Drop drafts of a person: those of the named questions, or all."""
    with project.transaction() as cursor:
        cursor.execute(
            "DELETE FROM drafts WHERE author = $author AND ($ids IS NULL OR list_contains($ids, question_id))",
            {"author": author, "ids": None if question_ids is None else list(question_ids)},
        )


def drafted_bank(project: Project, author: str, query_id: str) -> list[Question]:
    """The questions of a query as the person's drafts would leave them; new ones at the end."""
    mine = {key: draft.question for key, draft in drafts(project, author).items()}
    saved = [mine.pop(q.question_id, q) for q in bank.questions(project, query_id=query_id)]
    return saved + [question for question in mine.values() if question.query_id == query_id]


def save_drafts(project: Project, author: str, note: str) -> int | None:
    """Save all drafts of a person as a new bank version, and end them.

    New questions that were left empty are dropped.

    Returns:
        The new version, or None where nothing differs from the newest.

    Raises:
        InputError: the note is empty, or a question could not be scored.
    """
    if not note.strip():
        raise InputError("The note is empty.", "Say in a few words what changed and why.")
    mine = [draft.question for draft in drafts(project, author).values()]
    known = {question.question_id for question in bank.questions(project)}
    written = [q for q in mine if q.question_id in known or (q.text or "").strip()]
    with project.transaction() as cursor:
        version = bank.save_questions(cursor, written, note, author)
        cursor.execute("DELETE FROM drafts WHERE author = ?", [author])
        if version is not None:
            log(cursor, author, "save bank", version=version, note=note)
    return version
