"""Graded files after reading: grades in columns and batches, kept in files until they are written to the project."""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..bank import QuestionFile
from ..project import PassageFiles, RankingFile
from ..text import clean_text
from ..types import (
    GradeBlocks,
    GradeDetail,
    GradedQuery,
    GraderSpec,
    Judgment,
    Query,
    RankedColumns,
    Subtopic,
)

ROWS_A_BATCH = 250_000
"""Grades, passages and lines of rankings. A batch ends after the line that reaches this number."""
CHARACTERS_A_BATCH = 1 << 24
"""Characters of answers. A batch ends after the line that reaches this number."""

DETAILS = {
    "answer": pa.string(),
    "defaulted": pa.bool_(),
    "confidence": pa.float32(),
    "raw": pa.string(),
    "reason": pa.string(),
    "note": pa.string(),
}
"""Optional details of a grade in addition to its rating. A batch omits columns without any value."""


@dataclass
class Batch:
    """Grades of lines of a graded file, in the form in which they are written.

    Args:
        asked: pairs (number of the grader, question id) that grades are about, with their places.
        grades: `asked`, a place in the argument of this name; `passage`, a row among all passages of the files;
            `rating`; and those columns of `DETAILS` that have a value.
    """

    asked: dict[tuple[int, str], int] = field(default_factory=dict)
    grades: pa.Table = field(default_factory=lambda: _table({"asked": [], "passage": [], "rating": []}))


class Judged:
    """Judgments in columns: the topic as a number, the passage's row among all of the files, and the value."""

    def __init__(self) -> None:
        self.topics: dict[str, int] = {}
        """Numbers by topic."""
        self._columns = tuple(array("i") for _ in range(3))

    def take(self, judgments: Iterable[Judgment], row_of: Mapping[str, int]) -> None:
        """Add judgments; `row_of` gives the rows of their passages."""
        topics, rows, values = self._columns
        for judgment in judgments:
            topics.append(self.topics.setdefault(judgment.query_id, len(self.topics)))
            rows.append(row_of[judgment.passage_id])
            values.append(judgment.value)

    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return topics, rows and values."""
        topics, rows, values = (np.frombuffer(column, np.int32) for column in self._columns)
        return topics, rows, values


class GradedFiles:
    """Graded files after reading: grades in batches, passages and rankings, each in a file of their own.

    Memory is bounded by the batch, except for the data of queries, runs and graders.

    Args:
        folder: for these files.
    """

    def __init__(self, folder: Path) -> None:
        self.graders: list[GraderSpec] = []
        self.questions = QuestionFile(folder)
        """All questions that the lines name."""
        self.queries: list[Query] = []
        self.facets: list[str] = []
        self.passages = PassageFiles(folder)
        """All passages of the lines, including repeated ones and those without a text."""
        self._listed: list[tuple[int, np.ndarray]] = []
        self.judged = Judged()
        self.rankings = RankingFile(folder)
        self._numbers: dict[str, int] = {}
        self._file = folder / "graded.batches"
        self._out = self._file.open("wb")
        self._begin()

    def _begin(self) -> None:
        self._batch = Batch()
        self._grades: list[pa.Table] = []
        self._rows = self._characters = 0

    def take(self, lines: Iterable[GradedQuery]) -> None:
        """Read the lines of a file.

        Raises:
            InputError: a question could not be scored.
        """
        for line in lines:
            self._take_line(line)
            if self._rows >= ROWS_A_BATCH or self._characters >= CHARACTERS_A_BATCH:
                self._keep()
            # Free this line before the next one is read, which may be as long.
            del line

    def close(self) -> None:
        """Write the remaining batch and close all files; nothing can be added afterwards."""
        self._keep()
        self._out.close()
        self.rankings.close()
        self.passages.close()
        self.questions.close()
        pa.default_memory_pool().release_unused()

    def listed(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the passages that lines list for grading: places in `queries`, and rows of `passages`, in order."""
        rows = [rows for _, rows in self._listed]
        places = np.repeat([place for place, _ in self._listed], [len(part) for part in rows])
        return places.astype(np.int32), np.concatenate(rows or [np.zeros(0, np.int32)])

    def batches(self) -> Iterator[Batch]:
        """Yield the stored grades, batch by batch."""
        with self._file.open("rb") as kept:
            while True:
                try:
                    # Safe to unpickle: only this process wrote the file, in a folder that only its user can enter.
                    yield pickle.load(kept)
                except EOFError:
                    return

    def _take_line(self, line: GradedQuery) -> None:
        facets = _facets(line)
        start = self.passages.rows
        row_of = {passage.passage_id: row for row, passage in enumerate(line.passages, start)}
        self._listed.append(
            (len(self.queries), np.array([row_of[one] for one in _listed(line, bool(facets))], np.int32))
        )
        self.queries.append(_with_facets(line.query, facets))
        self.facets += facets
        self.passages.take(line.passages)
        self.questions.take(line.questions)
        self.judged.take(line.judgments, row_of)
        self._rows += len(line.passages) + self.rankings.take(line.rankings, row_of)
        for grades in line.grades:
            assert isinstance(grades, GradeBlocks), "that is how they are read"
            self._take_grades(grades, row_of)

    def _take_grades(self, grades: GradeBlocks, row_of: dict[str, int]) -> None:
        sizes = list(map(len, grades.question_ids))
        passages = np.fromiter(map(row_of.__getitem__, grades.passage_ids), np.int32, len(sizes))
        table: dict[str, Any] = {
            "asked": self._asked(self._number(grades.grader), grades.question_ids),
            "passage": np.repeat(passages, sizes),
            "rating": _ratings(grades.ratings),
        }
        if any(grades.answers):
            answers = [one for given, size in zip(grades.answers, sizes, strict=True) for one in given or [None] * size]
            # An answer is highlighted in its passage, which is stored clean too.
            table["answer"] = [answer and clean_text(answer) for answer in answers]
            self._characters += sum(map(len, filter(None, answers)))
        if grades.details:
            rows = [grades.details.get(row, GradeDetail()) for row in range(grades.size)]
            for name in DETAILS.keys() - {"answer"}:
                table[name] = [getattr(row, name) for row in rows]
            self._characters += sum(len(row.raw or "") for row in grades.details.values())
        self._grades.append(_table(table))
        self._rows += grades.size

    def _asked(self, grader: int, question_ids: Sequence[Sequence[str]]) -> np.ndarray:
        """Return the places in `Batch.asked` of the questions asked, passage after passage."""
        known = self._batch.asked
        # A file usually asks the same of successive passages, so each list of questions is looked up once.
        lists = [ids for ids, before in zip(question_ids, [None, *question_ids], strict=False) if ids is not before]
        places = {one: known.setdefault((grader, one), len(known)) for one in dict.fromkeys(chain.from_iterable(lists))}
        numbers, last, own = list[np.ndarray](), None, np.zeros(0, np.int32)
        for ids in question_ids:
            if ids is not last:
                last, own = ids, np.fromiter(map(places.__getitem__, ids), np.int32, len(ids))
            numbers.append(own)
        return np.concatenate(numbers)

    def _number(self, spec: GraderSpec) -> int:
        number = self._numbers.setdefault(spec.fingerprint, len(self.graders))
        if number == len(self.graders):
            self.graders.append(spec)
        return number

    def _keep(self) -> None:
        if self._grades:
            # Unknown details of some grades become NULL there, except that `defaulted` becomes false later.
            self._batch.grades = pa.concat_tables(self._grades, promote_options="default").combine_chunks()
        pickle.dump(self._batch, self._out, protocol=pickle.HIGHEST_PROTOCOL)
        self._begin()


def _table(columns: dict[str, Any]) -> pa.Table:
    types = {"asked": pa.int32(), "passage": pa.int32(), "rating": pa.int8()} | DETAILS
    return pa.table({name: pa.array(columns[name], types[name]) for name in types if name in columns})


def _ratings(blocks: Sequence[bytes | list[int | None]]) -> Sequence[int | None] | np.ndarray:
    """Return ratings given in blocks as one column."""
    given = [block for block in blocks if isinstance(block, bytes)]
    return np.frombuffer(b"".join(given), np.int8) if len(given) == len(blocks) else list(chain.from_iterable(blocks))


def _facets(line: GradedQuery) -> list[str]:
    """Return the topics `query/facet` of a line's rankings and judgments."""
    # Rankings in columns belong to the line's query.
    rankings = () if isinstance(line.rankings, RankedColumns) else line.rankings.values()
    named = {ranked.query_id: None for ranking in rankings for ranked in ranking}
    named |= {judgment.query_id: None for judgment in line.judgments}
    return [topic for topic in named if topic != line.query.query_id]


def _with_facets(query: Query, facets: list[str]) -> Query:
    """Return the query of a line with a subtopic for every facet. The text of an unknown facet is its id."""
    ids = [topic.removeprefix(f"{query.query_id}/") for topic in facets]
    known = {subtopic.subtopic_id for subtopic in query.subtopics}
    return replace(query, subtopics=query.subtopics + tuple(Subtopic(i, i) for i in ids if i not in known))


def _listed(line: GradedQuery, faceted: bool) -> list[str]:
    """Return the passages that a line lists for grading, without those that only a facet ranks or judges."""
    query_id = line.query.query_id
    of_facet: set[str] = set()
    if faceted:
        placed = [(one.query_id, one.passage_id) for ranking in line.rankings.values() for one in ranking]
        placed += [(one.query_id, one.passage_id) for one in line.judgments]
        of_facet = {passage_id for topic, passage_id in placed if topic != query_id}
    return [p.passage_id for p in line.passages if p.passage_id not in of_facet]
