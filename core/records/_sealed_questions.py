"""Sealed questions: their text is hidden from everyone but their authors until they are opened."""

from __future__ import annotations

from ..errors import InputError
from ..store import Cursor, Project, as_act, quoted_text
from ._visible import visible

SEALED = "SELECT question_key FROM seals WHERE opened_at IS NULL"
"""SQL for the keys of the sealed questions."""


@as_act("see boards")
def sealed_questions(project: Project) -> frozenset[str]:
    """Return the ids of the sealed questions."""
    return frozenset(
        name
        for (name,) in project.rows(
            "SELECT question_id FROM seals JOIN questions USING (question_key) WHERE opened_at IS NULL"
        )
    )


def hidden_questions(project: Project) -> frozenset[str]:
    """Return the ids of the sealed questions that the person of this handle did not write."""
    if not sealed_questions(project):
        return frozenset()
    return frozenset(
        name
        for (name,) in project.rows(
            f"SELECT question_id FROM questions WHERE question_key IN ({_hidden(project)}) ORDER BY question_id"
        )
    )


def readable_texts(project: Project) -> str:
    """Return SQL for `question_texts` without the texts that are hidden from the person of this handle (NULL)."""
    if not sealed_questions(project):
        return "question_texts"
    return (
        "(SELECT * REPLACE (CASE WHEN text_key NOT IN (SELECT text_key FROM question_revisions WHERE question_key IN"
        f" ({_hidden(project)})) THEN text END AS text) FROM question_texts)"
    )


def readable_versions(project: Project) -> str:
    """Return SQL for `bank_versions` without notes that are about hidden questions, or quote them (empty)."""
    if not sealed_questions(project):
        return "bank_versions"
    hidden = f"SELECT * FROM question_revisions WHERE question_key IN ({_hidden(project)})"
    return (
        f"(WITH hidden AS ({hidden}) SELECT * REPLACE (CASE WHEN version IN (SELECT version FROM hidden) OR EXISTS"
        " (SELECT 1 FROM hidden JOIN question_texts USING (text_key) WHERE contains(bank_versions.note, text))"
        " THEN '' ELSE note END AS note) FROM bank_versions)"
    )


def readable_activity(project: Project) -> str:
    """Return SQL for `activity`, with the notes of versions as `readable_versions` has them."""
    known = visible(project, "activity")
    if not sealed_questions(project):
        return known
    return (
        "(SELECT a.* REPLACE (CASE WHEN v.note = '' THEN json_merge_patch(a.detail, '{\"note\": \"\"}') ELSE a.detail"
        f" END AS detail) FROM {known} a LEFT JOIN {readable_versions(project)} v"
        " ON act = 'save bank' AND v.version = try_cast(a.detail->>'$.version' AS INTEGER))"
    )


def _hidden(project: Project) -> str:
    member = project.member()
    reader = member.name if member is not None else project.reader or ""
    return (
        f"{SEALED} AND question_key NOT IN (SELECT question_key FROM question_revisions"
        f" JOIN bank_versions USING (version) WHERE author = {quoted_text(reader)})"
    )


def refuse_hidden(project: Project, question_ids: list[str]) -> None:
    """Refuse an act on sealed questions of other people.

    Raises:
        InputError: a question is sealed.
    """
    if hidden := sorted(hidden_questions(project).intersection(question_ids)):
        raise InputError(
            "question-sealed", f"Question '{hidden[0]}' is sealed.", "Ask an organizer to open it: exam bank open"
        )


def refuse_sealed(project: Project) -> None:
    """Refuse an export of everything while questions are sealed.

    Raises:
        InputError: a question is sealed.
    """
    if sealed := sealed_questions(project):
        raise InputError(
            "questions-sealed",
            f"{len(sealed)} questions are sealed, and this export would contain them.",
            "Open them first: exam bank open",
        )


def add_seals(cursor: Cursor, question_ids: list[str], seed: int, author: str) -> None:
    """Seal questions."""
    cursor.execute(
        "INSERT INTO seals SELECT nextval('keys'), question_key, $seed, $author, now()::TIMESTAMP, NULL, NULL"
        " FROM questions WHERE list_contains($ids, question_id) ORDER BY question_key",
        {"ids": question_ids, "seed": seed, "author": author},
    )


def open_seals(cursor: Cursor, author: str) -> int:
    """Open all sealed questions; return their number."""
    return len(
        cursor.execute(
            "UPDATE seals SET opened_by = ?, opened_at = now()::TIMESTAMP WHERE opened_at IS NULL RETURNING seal_key",
            [author],
        ).fetchall()
    )
