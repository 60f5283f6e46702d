"""Imported questions before they are saved. They are buffered in a file, so memory does not limit their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..limits import exceeded, limit
from ..store import Cursor, quoted_path
from ..types import Question
from ._question_texts import Words, take_words_of
from ._questions import as_question
from ._saving import QUESTIONS_A_PART, all_cleaned, check_question, columns_of, save_parts

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_A_PART = 50_000
"""Number of questions among which repetitions are searched at a time."""
QUESTIONS_SAVED, CHARACTERS_SAVED = 30_000, 1 << 22
"""Limits of a batch of questions that are saved together."""
PARTS_HELD = 4
"""Files with up to this many batches are read once for saving.

Larger files are read again for each step, to limit memory.
"""

_OWN = "question_id, query_id, kind, weight, active, subtopic_id, answer_key, choices, note, place"


class QuestionFile:
    """Questions of imported files, buffered while the files are read.

    A file may repeat a question on every line of its query.

    Args:
        folder: folder for the stored questions.
    """

    def __init__(self, folder: Path) -> None:
        import pyarrow.parquet as pq

        self._file = folder / "questions.parquet"
        self._writer = pq.ParquetWriter(self._file, _kept([], [], 0).schema, compression="lz4")
        self._waiting: list[Question] = []
        self._rows = self._characters = 0
        self._unclean = False
        self._query, self._asked = "", dict[str, bool]()

    def take(self, questions: Iterable[Question]) -> None:
        """Store questions.

        Raises:
            InputError: a question is invalid.
        """
        for question in questions:
            if question.query_id != self._query:
                self._query, self._asked = question.query_id, {}
            # Skip a repeated question, unless an earlier line had only its id and this line has its text.
            words = question.text is not None
            if self._asked.get(question.question_id) in (True, words):
                continue
            self._asked[question.question_id] = words
            self._waiting.append(question)
            if len(self._waiting) >= QUESTIONS_A_PART:
                self._write()

    def close(self) -> None:
        """Write the waiting questions and close the file."""
        self._write()
        self._writer.close()

    def settle(self, cursor: Cursor) -> int:
        """Merge repetitions of a question: the first repetition with a text counts, or else the first.

        Returns:
            The number of questions.

        Raises:
            InputError: a question belongs to several queries, or there are too many questions.
        """
        if self._named_again(cursor) or self._unclean:
            self._settle(cursor)
        if self._rows > (most := limit("IDS")):
            raise InputError(
                "too-many-questions", f"The graded file {exceeded('has more questions than', 'IDS', most)}."
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

    def _settle(self, cursor: Cursor) -> None:
        settled = self._file.with_name("questions_settled.parquet")
        cursor.execute(
            f"COPY (SELECT {_OWN}, coalesce(o.text, r.text) AS text,"
            "  (row_number() OVER (ORDER BY first) - 1)::INTEGER AS position"
            f" FROM {self.relation} r JOIN (SELECT min(position) AS first,"
            "   coalesce(min(position) FILTER (text IS NOT NULL), first) AS position"
            f"   FROM {self.relation} GROUP BY question_id) USING (position)"
            # An uncleaned wording that an earlier version stored stays as it is, so that its grades stay valid.
            " LEFT JOIN (SELECT DISTINCT text FROM question_texts) o ON o.text = r.given ORDER BY first)"
            f" TO {quoted_path(settled)} (FORMAT parquet, ROW_GROUP_SIZE {QUESTIONS_A_PART})"
        )
        self._file = settled
        self._rows = int(cursor.execute(f"SELECT count(*) FROM {self.relation}").fetchall()[0][0])

    @property
    def relation(self) -> str:
        """SQL for a table of the questions after `settle`, with the columns of `bank.saving.columns_of`."""
        return f"read_parquet({quoted_path(self._file)})"

    def take_words(self, cursor: Cursor) -> Words:
        """Add texts to questions that were known by id only; see `bank.take_words`."""
        return take_words_of(cursor, self.relation)

    def save(self, cursor: Cursor, note: str, author: str) -> int | None:
        """Save the questions in the bank. Questions without text that the bank already has are left out.

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

    def named(self, cursor: Cursor, question_ids: Sequence[str]) -> dict[str, Question]:
        """Return the questions with these ids, by id."""
        columns = "question_id, query_id, text, kind, weight, active, subtopic_id, answer_key, choices, note, place"
        rows = cursor.execute(
            f"SELECT {columns} FROM {self.relation} WHERE list_contains(?, question_id)", [list(question_ids)]
        ).fetchall()
        return {row[0]: as_question(row) for row in rows}

    def _write(self) -> None:
        if not self._waiting:
            return
        clean = all_cleaned(self._waiting)
        for question in clean:
            check_question(question)
        table = _kept(self._waiting, clean, self._rows)
        self._unclean |= table["given"].null_count < len(table)
        self._writer.write_table(table)
        self._rows += len(clean)
        self._characters += sum(len(one.text or "") + len(one.answer_key or "") + len(one.note or "") for one in clean)
        self._waiting = []


def _kept(read: Sequence[Question], clean: Sequence[Question], start: int) -> pa.Table:
    """Return questions as a table with the column `given`: the original text if it was not clean."""
    import pyarrow as pa

    given = [a.text.strip() if a.text and a.text != b.text else None for a, b in zip(read, clean, strict=True)]
    # Arrow cannot store lone surrogates, and no project has them.
    given = [text if text and text.encode(errors="ignore").decode() == text else None for text in given]
    return columns_of(clean, start).append_column("given", pa.array(given, pa.string()))
