"""The words of questions that were known by id only: they come once, with an import, and the grades stay theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..project import Cursor
from ..types import Question
from .saving import questions_lent


@dataclass(frozen=True)
class Words:
    """What an import said of questions that the bank knew by id only.

    Args:
        given: number of questions that got their words.
        apart: number of those that did not, because people gave them the same words as a new wording before: whether
            the old grades are about these words cannot be known any more.
    """

    given: int
    apart: int


def take_words(cursor: Cursor, imported: Sequence[Question]) -> Words:
    """Give words to questions that were known by id only, so that what was graded under the id is about the words.

    An import says with which words questions were asked. What a person writes is a new wording and never comes here:
    a grader has not seen it.

    Args:
        imported: questions as a file has them; those without a text say nothing.
    """
    with questions_lent(cursor, imported):
        return take_words_of(cursor, "incoming_bank")


def take_words_of(cursor: Cursor, imported: str) -> Words:
    """The same as `take_words`.

    Args:
        imported: SQL for a table of questions with `question_id` and `text`.
    """
    # A text that another one took the place of is awaited no more: no revision has it.
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
    """Let the same words under two ids be one text: what was graded under the id now belongs to the text."""
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE merged AS SELECT a.text_key AS old, min(t.text_key) AS new"
        " FROM awaited a JOIN question_texts t USING (text) WHERE NOT apart GROUP BY a.text_key HAVING old <> new"
    )
    if not cursor.execute("SELECT count(*) FROM merged").fetchall()[0][0]:
        # Most imports: looking through all grades for nothing would take longer than all else.
        return
    for table in ("grades", "failures"):
        cursor.execute(
            f"UPDATE {table} SET question_text_key = new FROM merged WHERE question_text_key = old"
            f" AND NOT EXISTS (SELECT * FROM {table} g WHERE g.question_text_key = new AND g.grader_key ="
            f" {table}.grader_key AND g.passage_text_key = {table}.passage_text_key)"
            # Where several ids meet in one text, the oldest id's grade of a pair is the text's.
            f" AND NOT EXISTS (SELECT * FROM {table} g JOIN merged m ON m.old = g.question_text_key"
            f"  WHERE m.new = merged.new AND m.old < merged.old AND g.grader_key = {table}.grader_key"
            f"  AND g.passage_text_key = {table}.passage_text_key)"
        )
    cursor.execute("UPDATE overrides SET question_text_key = new FROM merged WHERE question_text_key = old")
    cursor.execute("UPDATE answers SET item_text_key = new FROM merged WHERE item_text_key = old")
    cursor.execute("UPDATE question_revisions SET text_key = new FROM merged WHERE text_key = old")


def _tell_drafts(cursor: Cursor) -> None:
    """Give the words to drafts that keep the wording, too: their people changed something else."""
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
    """The questions of a file; those that it names by id only in the words that the newest version has."""
    said = dict(
        cursor.execute(
            "SELECT question_id, text FROM bank_at($version) JOIN questions USING (question_key)"
            " JOIN question_texts USING (text_key)",
            {"version": cursor.execute("SELECT coalesce(max(version), 0) FROM bank_versions").fetchall()[0][0]},
        ).fetchall()
    )
    return [replace(q, text=said.get(q.question_id)) if q.text is None else q for q in named]
