"""Imported questions before they are saved, and texts for questions that were known by id only.

The questions are buffered in a file, so memory does not limit their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..limits import describe_exceeded, read_limit
from ..store import Cursor, ParquetBuffer, lend_table, quoted_path
from ..types import Question
from ._questions import as_question
from ._saving import (
    QUESTIONS_A_PART,
    all_cleaned,
    check_question,
    columns_of,
    question_table,
    save_parts,
)

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class AddedTexts:
    """Result of an import for questions that the bank knew by id only.

    Args:
        given: number of questions that got their text.
        apart: number of questions without the imported text, because people had already entered the
            same text as a new wording. It is unknown if the old grades are about this text.
    """

    given: int
    apart: int


def take_words(cursor: Cursor, imported: Sequence[Question]) -> AddedTexts:
    """Add texts to questions that were known by id only; grades under the id then belong to the
    text.

    Use it only for imported texts, which are the wordings that graders read. A text entered by a
    person is a new wording without grades.

    Args:
        imported: questions from a file; questions without a text have no effect.
    """
    with lend_table(cursor, "incoming_bank", question_table(cursor, imported)):
        return take_words_of(cursor, "incoming_bank")


def take_words_of(cursor: Cursor, imported: str) -> AddedTexts:
    """Add texts to questions that were known by id only, from a table; see `take_words`.

    Args:
        imported: SQL for a table of questions with `question_id` and `text`.
    """
    # A question of the bank waits for its text only while a revision has its placeholder. Another
    # text may have replaced it.
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE awaited AS SELECT question_key, question_id,"
        " t.text_key, i.text,"
        "  question_key IN (SELECT question_key FROM question_revisions) AS banked,"
        "  (question_key, i.text) IN (SELECT (question_key, w.text) FROM question_revisions"
        "   JOIN question_texts w USING (text_key) WHERE w.text IS NOT NULL) AS apart"
        f" FROM {imported} i JOIN questions USING (question_id) JOIN question_texts t"
        " ON t.placeholder = question_id AND t.text IS NULL WHERE i.text IS NOT NULL"
        "  AND (NOT banked OR t.text_key IN (SELECT text_key FROM question_revisions))"
    )
    cursor.execute(
        "UPDATE question_texts SET text = a.text FROM (SELECT text, min(text_key) AS text_key"
        " FROM awaited ANTI JOIN question_texts USING (text) WHERE NOT apart GROUP BY text) a"
        " WHERE a.text_key = question_texts.text_key"
    )
    _merge_texts(cursor)
    _add_texts_to_drafts(cursor)
    given, apart = cursor.execute(
        "SELECT count(*) FILTER (banked AND NOT apart), count(*) FILTER (apart) FROM awaited"
    ).fetchall()[0]
    return AddedTexts(given, apart)


def _merge_texts(cursor: Cursor) -> None:
    """Merge texts that two ids share into one text, which gets the grades of both ids."""
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE merged AS SELECT a.text_key AS old, min(t.text_key) AS new"
        " FROM awaited a JOIN question_texts t USING (text) WHERE NOT apart GROUP BY a.text_key"
        " HAVING old <> new"
    )
    if not cursor.execute("SELECT count(*) FROM merged").fetchall()[0][0]:
        # The common case: a search through all grades would take longer than everything else.
        return
    for table in ("grades", "failures"):
        cursor.execute(
            f"UPDATE {table} SET question_text_key = new FROM merged WHERE question_text_key = old"
            f" AND NOT EXISTS (SELECT * FROM {table} g WHERE g.question_text_key = new"
            " AND g.grader_key ="
            f" {table}.grader_key AND g.passage_text_key = {table}.passage_text_key)"
            # If several ids share one text, the grade of the oldest id is kept for each pair.
            f" AND NOT EXISTS (SELECT * FROM {table} g JOIN merged m ON m.old = g.question_text_key"
            "  WHERE m.new = merged.new AND m.old < merged.old"
            f" AND g.grader_key = {table}.grader_key"
            f"  AND g.passage_text_key = {table}.passage_text_key)"
        )
    cursor.execute(
        "UPDATE overrides SET question_text_key = new FROM merged WHERE question_text_key = old"
    )
    cursor.execute("UPDATE answers SET item_text_key = new FROM merged WHERE item_text_key = old")
    cursor.execute("UPDATE question_revisions SET text_key = new FROM merged WHERE text_key = old")


def _add_texts_to_drafts(cursor: Cursor) -> None:
    """Add the texts to drafts whose authors changed other parts of the question, but not its
    wording.
    """
    for table, columns, text in (
        ("drafts", ("content",), "'$.text'"),
        ("draft_steps", ("before", "after"), "'$.question.text'"),
    ):
        patch = "json_object('text', a.text)"
        patch = patch if table == "drafts" else f"json_object('question', {patch})"
        for column in columns:
            cursor.execute(
                f"UPDATE {table} SET {column} = json_merge_patch({column}, {patch})::VARCHAR"
                f" FROM awaited a WHERE a.question_id = {table}.question_id AND NOT apart"
                f" AND json_type({column}, {text}) = 'NULL'"
            )


def in_their_words(cursor: Cursor, named: Sequence[Question]) -> list[Question]:
    """Return the questions of a file; those with an id only get the text of the newest version."""
    texts = dict(
        cursor.execute(
            "SELECT question_id, text FROM bank_at($version) JOIN questions USING (question_key)"
            " JOIN question_texts USING (text_key)",
            {
                "version": cursor.execute(
                    "SELECT coalesce(max(version), 0) FROM bank_versions"
                ).fetchall()[0][0]
            },
        ).fetchall()
    )
    return [replace(q, text=texts.get(q.question_id)) if q.text is None else q for q in named]


ROWS_A_PART = 50_000
"""Number of questions among which repetitions are searched at a time."""
QUESTIONS_SAVED, CHARACTERS_SAVED = 30_000, 1 << 22
"""Limits of a batch of questions that are saved together."""
PARTS_HELD = 4
"""Files with up to this many batches are read once for saving.

Larger files are read again for each step, to limit memory.
"""

_OWN = "question_id, query_id, kind, weight, active, subtopic_id, answer_key, choices, note, place"


class QuestionFile(ParquetBuffer):
    """Questions of imported files, buffered while the files are read.

    A file may repeat a question on every line of its query.

    Args:
        folder: folder for the stored questions.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder / "questions.parquet", _table_with_given([], [], 0).schema, use_dictionary=True
        )
        self._waiting: list[Question] = []
        self._rows = self._characters = 0
        self._unclean = False
        self._query, self._asked = "", dict[str, bool]()

    def add(self, questions: Iterable[Question]) -> None:
        """Store questions.

        Raises:
            InputError: a question is invalid.
        """
        for question in questions:
            if question.query_id != self._query:
                self._query, self._asked = question.query_id, {}
            # Skip a repeated question, unless an earlier line had only its id and this line has its
            # text.
            words = question.text is not None
            if self._asked.get(question.question_id) in (True, words):
                continue
            self._asked[question.question_id] = words
            self._waiting.append(question)
            if len(self._waiting) >= QUESTIONS_A_PART:
                self._write()

    def merge_repetitions(self, cursor: Cursor) -> int:
        """Merge repetitions of a question: the first repetition with a text counts, or else the
        first.

        Returns:
            The number of questions.

        Raises:
            InputError: a question belongs to several queries, or there are too many questions.
        """
        if self._named_again(cursor) or self._unclean:
            self._write_merged(cursor)
        if self._rows > (most := read_limit("IDS")):
            raise InputError(
                "too-many-questions",
                f"The graded file {describe_exceeded('has more questions than', 'IDS', most)}.",
            )
        return self._rows

    def _named_again(self, cursor: Cursor) -> bool:
        """Return whether any question is repeated."""
        parts, repeated = self._rows // ROWS_A_PART + 1, False
        for part in range(parts):
            again, stray = cursor.execute(
                "SELECT count(*), min_by([question_id, query, least, greatest], first)"
                " FILTER (least <> greatest) FROM ("
                " SELECT question_id, min(position) AS first, arg_min(query_id, position) AS query,"
                "  min(query_id) AS least, max(query_id) AS greatest"
                f" FROM {self.relation} WHERE hash(question_id) % {parts} = {part}"
                " GROUP BY question_id HAVING count(*) > 1)"
            ).fetchall()[0]
            if stray is not None:
                question_id, query_id, *both = stray
                raise InputError(
                    "question-of-two-queries",
                    f"In the graded file, question {question_id} belongs to query {query_id}"
                    f" and to query {both[0] if query_id == both[1] else both[1]}.",
                    "Use a different question id for each query.",
                )
            repeated |= again > 0
        return repeated

    def _write_merged(self, cursor: Cursor) -> None:
        settled = self._file.with_name("questions_settled.parquet")
        cursor.execute(
            f"COPY (SELECT {_OWN}, coalesce(o.text, r.text) AS text,"
            "  (row_number() OVER (ORDER BY first) - 1)::INTEGER AS position"
            f" FROM {self.relation} r JOIN (SELECT min(position) AS first,"
            "   coalesce(min(position) FILTER (text IS NOT NULL), first) AS position"
            f"   FROM {self.relation} GROUP BY question_id) USING (position)"
            # An uncleaned wording that an earlier version stored stays as it is, so that its grades
            # stay valid.
            " LEFT JOIN (SELECT DISTINCT text FROM question_texts) o ON o.text = r.given"
            " ORDER BY first)"
            f" TO {quoted_path(settled)} (FORMAT parquet, ROW_GROUP_SIZE {QUESTIONS_A_PART})"
        )
        self._file = settled
        self._rows = int(cursor.execute(f"SELECT count(*) FROM {self.relation}").fetchall()[0][0])

    def save(self, cursor: Cursor, note: str, author: str) -> int | None:
        """Save the questions in the bank. Questions without text that the bank already has are left
        out.

        Returns:
            The new version, or None if nothing differs.

        Raises:
            InputError: a question belongs to another query in the project, or its query is unknown.
        """
        new = (
            "text IS NOT NULL OR question_id NOT IN"
            " (SELECT question_id FROM question_revisions JOIN questions USING (question_key))"
        )
        if self._rows > PARTS_HELD * self._saved_together():
            return save_parts(cursor, lambda: self.parts(cursor, new), note, author)
        held = list(self.parts(cursor, new))
        return save_parts(cursor, lambda: iter(held), note, author)

    def parts(self, cursor: Cursor, which: str = "true") -> Iterator[pa.Table]:
        """Yield the questions in order, in batches small enough to use little memory.

        Args:
            which: SQL condition for the questions to yield.
        """
        size = self._saved_together()
        for start in range(0, self._rows, size):
            yield cursor.execute(
                f"FROM {self.relation} WHERE position BETWEEN {start:d} AND {start + size - 1:d}"
                f" AND ({which}) ORDER BY position"
            ).to_arrow_table()

    def _saved_together(self) -> int:
        fitting = CHARACTERS_SAVED * self._rows // max(self._characters, 1)
        return max(min(QUESTIONS_SAVED, fitting), 1)

    def find_questions(self, cursor: Cursor, question_ids: Sequence[str]) -> dict[str, Question]:
        """Return the questions with these ids, by id."""
        columns = (
            "question_id, query_id, text, kind, weight, active, subtopic_id, answer_key,"
            " choices, note, place"
        )
        rows = cursor.execute(
            f"SELECT {columns} FROM {self.relation} WHERE list_contains(?, question_id)",
            [list(question_ids)],
        ).fetchall()
        return {row[0]: as_question(row) for row in rows}

    def _write(self) -> None:
        if not self._waiting:
            return
        clean = all_cleaned(self._waiting)
        for question in clean:
            check_question(question)
        table = _table_with_given(self._waiting, clean, self._rows)
        self._unclean |= table["given"].null_count < len(table)
        self._writer.write_table(table)
        self._rows += len(clean)
        self._characters += sum(
            len(one.text or "") + len(one.answer_key or "") + len(one.note or "") for one in clean
        )
        self._waiting = []


def _table_with_given(read: Sequence[Question], clean: Sequence[Question], start: int) -> pa.Table:
    """Return questions as a table. Its column `given` has the original text if it was not clean."""
    import pyarrow as pa

    changed_texts = [
        a.text.strip() if a.text and a.text != b.text else None
        for a, b in zip(read, clean, strict=True)
    ]
    # Arrow cannot store lone surrogates, and no project has them.
    changed_texts = [
        text if text and text.encode(errors="ignore").decode() == text else None
        for text in changed_texts
    ]
    return columns_of(clean, start).append_column("given", pa.array(changed_texts, pa.string()))
