"""Texts for questions that were known by id only. After an import of the texts, existing grades stay valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..store import Cursor
from ..types import Question
from ._saving import questions_lent


@dataclass(frozen=True)
class Words:
    """Result of an import for questions that the bank knew by id only.

    Args:
        given: number of questions that got their text.
        apart: number of questions without the imported text, because people had already entered the same text as a new
            wording. It is unknown if the old grades are about this text.
    """

    given: int
    apart: int


def take_words(cursor: Cursor, imported: Sequence[Question]) -> Words:
    """Add texts to questions that were known by id only; grades under the id then belong to the text.

    Use it only for imported texts, which are the wordings that graders read. A text entered by a person is a new
    wording without grades.

    Args:
        imported: questions from a file; questions without a text have no effect.
    """
    with questions_lent(cursor, imported):
        return take_words_of(cursor, "incoming_bank")


def take_words_of(cursor: Cursor, imported: str) -> Words:
    """Add texts to questions that were known by id only, from a table; see `take_words`.

    Args:
        imported: SQL for a table of questions with `question_id` and `text`.
    """
    # A question of the bank waits for its text only while a revision has its placeholder. Another text may have
    # replaced it.
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE awaited AS SELECT question_key, question_id, t.text_key, i.text,"
        "  question_key IN (SELECT question_key FROM question_revisions) AS banked,"
        "  (question_key, i.text) IN (SELECT (question_key, w.text) FROM question_revisions"
        "   JOIN question_texts w USING (text_key) WHERE w.text IS NOT NULL) AS apart"
        f" FROM {imported} i JOIN questions USING (question_id)"
        " JOIN question_texts t ON t.placeholder = question_id AND t.text IS NULL WHERE i.text IS NOT NULL"
        "  AND (NOT banked OR t.text_key IN (SELECT text_key FROM question_revisions))"
    )
    cursor.execute(
        "UPDATE question_texts SET text = a.text FROM (SELECT text, min(text_key) AS text_key FROM awaited"
        " ANTI JOIN question_texts USING (text) WHERE NOT apart GROUP BY text) a"
        " WHERE a.text_key = question_texts.text_key"
    )
    _merge(cursor)
    _tell_drafts(cursor)
    given, apart = cursor.execute(
        "SELECT count(*) FILTER (banked AND NOT apart), count(*) FILTER (apart) FROM awaited"
    ).fetchall()[0]
    return Words(given, apart)


def _merge(cursor: Cursor) -> None:
    """Merge texts that two ids share into one text, which gets the grades of both ids."""
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE merged AS SELECT a.text_key AS old, min(t.text_key) AS new"
        " FROM awaited a JOIN question_texts t USING (text) WHERE NOT apart GROUP BY a.text_key HAVING old <> new"
    )
    if not cursor.execute("SELECT count(*) FROM merged").fetchall()[0][0]:
        # The common case: a search through all grades would take longer than everything else.
        return
    for table in ("grades", "failures"):
        cursor.execute(
            f"UPDATE {table} SET question_text_key = new FROM merged WHERE question_text_key = old"
            f" AND NOT EXISTS (SELECT * FROM {table} g WHERE g.question_text_key = new AND g.grader_key ="
            f" {table}.grader_key AND g.passage_text_key = {table}.passage_text_key)"
            # If several ids share one text, the grade of the oldest id is kept for each pair.
            f" AND NOT EXISTS (SELECT * FROM {table} g JOIN merged m ON m.old = g.question_text_key"
            f"  WHERE m.new = merged.new AND m.old < merged.old AND g.grader_key = {table}.grader_key"
            f"  AND g.passage_text_key = {table}.passage_text_key)"
        )
    cursor.execute("UPDATE overrides SET question_text_key = new FROM merged WHERE question_text_key = old")
    cursor.execute("UPDATE answers SET item_text_key = new FROM merged WHERE item_text_key = old")
    cursor.execute("UPDATE question_revisions SET text_key = new FROM merged WHERE text_key = old")


def _tell_drafts(cursor: Cursor) -> None:
    """Add the texts to drafts whose authors changed other parts of the question, but not its wording."""
    for table, columns, text in (
        ("drafts", ("content",), "'$.text'"),
        ("draft_steps", ("before", "after"), "'$.question.text'"),
    ):
        patch = "json_object('text', a.text)"
        patch = patch if table == "drafts" else f"json_object('question', {patch})"
        for column in columns:
            cursor.execute(
                f"UPDATE {table} SET {column} = json_merge_patch({column}, {patch})::VARCHAR FROM awaited a"
                f" WHERE a.question_id = {table}.question_id AND NOT apart"
                f" AND json_type({column}, {text}) = 'NULL'"
            )


def in_their_words(cursor: Cursor, named: Sequence[Question]) -> list[Question]:
    """Return the questions of a file; questions with an id only get the text of the newest version."""
    said = dict(
        cursor.execute(
            "SELECT question_id, text FROM bank_at($version) JOIN questions USING (question_key)"
            " JOIN question_texts USING (text_key)",
            {"version": cursor.execute("SELECT coalesce(max(version), 0) FROM bank_versions").fetchall()[0][0]},
        ).fetchall()
    )
    return [replace(q, text=said.get(q.question_id)) if q.text is None else q for q in named]
