"""Graded files as they were read: in columns, in batches, in files of their own until they are written."""

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
"""Grades, passages and lines of rankings: a batch ends after the line with which it has as many."""
CHARACTERS_A_BATCH = 1 << 24
"""Characters of answers, likewise."""

DETAILS = {
    "answer": pa.string(),
    "defaulted": pa.bool_(),
    "confidence": pa.float32(),
    "raw": pa.string(),
    "reason": pa.string(),
    "note": pa.string(),
}
"""What may be known of a grade beside its rating; a column of which nothing is known is left out of a batch."""


@dataclass
class Batch:
    """Grades of lines of a graded file, as they are written.

    Args:
        asked: pairs (number of the grader, question id) that grades are about.
        grades: `asked`, a place among these; `passage`, its row among all passages of the files; `rating`; and of
            `DETAILS` what anything is known of.
    """

    asked: dict[tuple[int, str], int] = field(default_factory=dict)
    grades: pa.Table = field(default_factory=lambda: _table({"asked": [], "passage": [], "rating": []}))


class Judged:
    """Judgments in columns: the topic, as a number; the passage's row among all of the files; the value."""

    def __init__(self) -> None:
        self.topics: dict[str, int] = {}
        """The topics, and the numbers that stand for them."""
        self._columns = tuple(array("i") for _ in range(3))

    def take(self, judgments: Iterable[Judgment], row_of: Mapping[str, int]) -> None:
        """Keep judgments of passages that stand in these rows."""
        topics, rows, values = self._columns
        for judgment in judgments:
            topics.append(self.topics.setdefault(judgment.query_id, len(self.topics)))
            rows.append(row_of[judgment.passage_id])
            values.append(judgment.value)

    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Topics, rows and values."""
        topics, rows, values = (np.frombuffer(column, np.int32) for column in self._columns)
        return topics, rows, values


class GradedFiles:
    """Graded files as they were read: grades in batches, passages and rankings, each in a file of their own.

    Memory is bounded by the batch, but for what is said of queries, runs and graders.

    Args:
        folder: for these files.
    """

    def __init__(self, folder: Path) -> None:
        self.graders: list[GraderSpec] = []
        self.questions = QuestionFile(folder)
        """All that the lines name."""
        self.queries: list[Query] = []
        self.facets: list[str] = []
        self.passages = PassageFiles(folder)
        """All that the lines have, those without a text and those that come again as well."""
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
        """Take the lines of a file.

        Raises:
            InputError: a question could not be scored.
        """
        for line in lines:
            self._take_line(line)
            if self._rows >= ROWS_A_BATCH or self._characters >= CHARACTERS_A_BATCH:
                self._keep()
            # The next line may be as long as this one.
            del line

    def close(self) -> None:
        """Keep what is left; nothing more is taken."""
        self._keep()
        self._out.close()
        self.rankings.close()
        self.passages.close()
        self.questions.close()
        pa.default_memory_pool().release_unused()

    def listed(self) -> tuple[np.ndarray, np.ndarray]:
        """What lines ask to be graded: places in `queries`, and rows of `passages`, in order."""
        rows = [rows for _, rows in self._listed]
        places = np.repeat([place for place, _ in self._listed], [len(part) for part in rows])
        return places.astype(np.int32), np.concatenate(rows or [np.zeros(0, np.int32)])

    def batches(self) -> Iterator[Batch]:
        """Grades that were taken, batch by batch."""
        with self._file.open("rb") as kept:
            while True:
                try:
                    # Nobody but this process wrote the file, in a folder that only its user can enter.
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
            # An answer is marked in its passage, which is kept clean too.
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
        """The places in `Batch.asked` of what passages were asked, one after the other."""
        known = self._batch.asked
        # A file asks passage after passage the same: that is looked up once.
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
            # What is not known of some is NULL there, but for `defaulted`, which is false.
            self._batch.grades = pa.concat_tables(self._grades, promote_options="default").combine_chunks()
        pickle.dump(self._batch, self._out, protocol=pickle.HIGHEST_PROTOCOL)
        self._begin()


def _table(columns: dict[str, Any]) -> pa.Table:
    types = {"asked": pa.int32(), "passage": pa.int32(), "rating": pa.int8()} | DETAILS
    return pa.table({name: pa.array(columns[name], types[name]) for name in types if name in columns})


def _ratings(blocks: Sequence[bytes | list[int | None]]) -> Sequence[int | None] | np.ndarray:
    """Ratings block by block as a column."""
    given = [block for block in blocks if isinstance(block, bytes)]
    return np.frombuffer(b"".join(given), np.int8) if len(given) == len(blocks) else list(chain.from_iterable(blocks))


def _facets(line: GradedQuery) -> list[str]:
    """The topics `query/facet` that rankings and judgments of a line are of."""
    # Rankings in columns are of the line's query.
    rankings = () if isinstance(line.rankings, RankedColumns) else line.rankings.values()
    named = {ranked.query_id: None for ranking in rankings for ranked in ranking}
    named |= {judgment.query_id: None for judgment in line.judgments}
    return [topic for topic in named if topic != line.query.query_id]


def _with_facets(query: Query, facets: list[str]) -> Query:
    """The query of a line with a subtopic for every facet; one that nothing is known of is called by its id."""
    ids = [topic.removeprefix(f"{query.query_id}/") for topic in facets]
    known = {subtopic.subtopic_id for subtopic in query.subtopics}
    return replace(query, subtopics=query.subtopics + tuple(Subtopic(i, i) for i in ids if i not in known))


def _listed(line: GradedQuery, faceted: bool) -> list[str]:
    """The passages that a line asks to be graded by itself: not what stands in it for a facet alone."""
    query_id = line.query.query_id
    of_facet: set[str] = set()
    if faceted:
        placed = [(one.query_id, one.passage_id) for ranking in line.rankings.values() for one in ranking]
        placed += [(one.query_id, one.passage_id) for one in line.judgments]
        of_facet = {passage_id for topic, passage_id in placed if topic != query_id}
    return [p.passage_id for p in line.passages if p.passage_id not in of_facet]
