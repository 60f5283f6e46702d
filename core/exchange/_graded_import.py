"""Import of grades from Autograder/RUBRIC files with all data of their queries."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .. import grading
from ..bank import (
    QuestionFile,
    add_topics,
    put_grader,
    question_text_key,
    take_queries,
    take_words_of,
)
from ..errors import Report
from ..records import (
    PassageFiles,
    RankingFile,
    ReplacedDataKeeper,
    add_job,
    add_kept_passages,
    end_job,
    list_keys,
    refresh_pool,
    write_judged_keys,
    write_stated_rankings,
)
from ..store import Cursor, lend_table, release_memory, table_of
from ..text import all_clean, clean_text, how_many
from ..types import (
    GradeBlocks,
    GradeDetail,
    GradedQuery,
    GraderSpec,
    Query,
    Question,
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
"""Optional details of a grade in addition to its rating. A batch omits columns without any value.
"""


@dataclass
class Batch:
    """Grades of lines of a graded file, in the form in which they are written.

    Args:
        asked: pairs (number of the grader, question id) that grades are about, with their places.
        grades: `asked`, a place in the argument of this name; `passage`, a row among all passages
            of the files; `rating`; and those columns of `DETAILS` that have a value.
    """

    asked: dict[tuple[int, str], int] = field(default_factory=dict)
    grades: pa.Table = field(
        default_factory=lambda: _column_table({"asked": [], "passage": [], "rating": []})
    )


@dataclass
class GradedFiles:
    """Graded files after reading: grades in batches, passages and rankings, each in a file of their
    own.

    Memory is bounded by the batch, except for the data of queries, runs and graders.

    Args:
        folder: folder of the buffer files.
        topics: numbers by judged topic.
        judged: judgments of each line in rows: number of the topic, row among all passages of the
            files, and value.
    """

    folder: Path
    graders: list[GraderSpec] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    facets: list[str] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=dict)
    judged: list[np.ndarray] = field(default_factory=list)
    _listed: list[tuple[int, np.ndarray]] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.questions = QuestionFile(self.folder)
        """All questions that the lines name."""
        self.passages = PassageFiles(self.folder)
        """All passages of the lines, including repeated ones and those without a text."""
        self.rankings = RankingFile(self.folder)
        self._file = self.folder / "graded.batches"
        self._out = self._file.open("wb")
        self._begin_batch()

    def _begin_batch(self) -> None:
        self._batch = Batch()
        self._grades: list[pa.Table] = []
        self._rows = self._characters = 0

    def read_lines(self, lines: Iterable[GradedQuery]) -> None:
        """Read the lines of a file.

        Raises:
            InputError: a question could not be scored.
        """
        for line in lines:
            self._take_line(line)
            if self._rows >= ROWS_A_BATCH or self._characters >= CHARACTERS_A_BATCH:
                self._store_batch()
            # Free this line before the next one is read, which may be as long.
            del line

    def close(self) -> None:
        """Write the remaining batch and close all files; nothing can be added afterwards."""
        self._store_batch()
        self._out.close()
        self.rankings.close()
        self.passages.close()
        self.questions.close()
        pa.default_memory_pool().release_unused()

    def listed(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the passages that lines list for grading: places in `queries`, and rows of
        `passages`, in order.
        """
        rows = [rows for _, rows in self._listed]
        places = np.repeat([place for place, _ in self._listed], [len(part) for part in rows])
        return places.astype(np.int32), np.concatenate(rows or [np.zeros(0, np.int32)])

    def batches(self) -> Iterator[Batch]:
        """Yield the stored grades, batch by batch."""
        with self._file.open("rb") as graded_file:
            while True:
                try:
                    # Safe to unpickle: only this process wrote the file, in a folder that only its
                    # user can enter.
                    yield pickle.load(graded_file)
                except EOFError:
                    return

    def _take_line(self, line: GradedQuery) -> None:
        facets = _facet_topics(line)
        start = self.passages.rows
        row_of = {passage.passage_id: row for row, passage in enumerate(line.passages, start)}
        self._listed.append(
            (
                len(self.queries),
                np.array([row_of[item] for item in _listed_passages(line, bool(facets))], np.int32),
            )
        )
        self.queries.append(_with_facets(line.query, facets))
        self.facets += facets
        self.passages.add(line.passages)
        self.questions.add(line.questions)
        judged = [
            (
                self.topics.setdefault(item.query_id, len(self.topics)),
                row_of[item.passage_id],
                item.value,
            )
            for item in line.judgments
        ]
        self.judged.append(np.array(judged, np.int32).reshape(-1, 3))
        self._rows += len(line.passages) + self.rankings.add(line.rankings, row_of)
        for grades in line.grades:
            assert isinstance(grades, GradeBlocks), "that is how they are read"
            self._take_grades(grades, row_of)

    def _take_grades(self, grades: GradeBlocks, row_of: dict[str, int]) -> None:
        number = self._numbers.setdefault(grades.grader.fingerprint, len(self.graders))
        if number == len(self.graders):
            self.graders.append(grades.grader)
        sizes = list(map(len, grades.question_ids))
        passages = np.fromiter(map(row_of.__getitem__, grades.passage_ids), np.int32, len(sizes))
        table: dict[str, Any] = {
            "asked": self._asked_places(number, grades.question_ids),
            "passage": np.repeat(passages, sizes),
            "rating": list(chain.from_iterable(grades.ratings)),
        }
        if any(grades.answers):
            answers = [
                one
                for given, size in zip(grades.answers, sizes, strict=True)
                for one in given or [None] * size
            ]
            # An answer is highlighted in its passage, whose text is cleaned in the same way.
            if not all_clean(filter(None, answers)):
                answers = [answer and clean_text(answer) for answer in answers]
            table["answer"] = answers
            self._characters += sum(map(len, filter(None, answers)))
        if grades.details:
            rows = [grades.details.get(row, GradeDetail()) for row in range(grades.size)]
            for name in DETAILS.keys() - {"answer"}:
                table[name] = [getattr(row, name) for row in rows]
            self._characters += sum(len(row.raw or "") for row in grades.details.values())
        self._grades.append(_column_table(table))
        self._rows += grades.size

    def _asked_places(self, grader: int, question_ids: Sequence[Sequence[str]]) -> np.ndarray:
        """Return the places in `Batch.asked` of the questions asked, passage after passage."""
        places_of_texts = self._batch.asked
        numbers = [np.zeros(0, np.int32)]
        # A file usually asks the same of successive passages, and the reader repeats their list.
        for _, repeats in groupby(question_ids, key=id):
            ids, *others = repeats
            own = [
                places_of_texts.setdefault((grader, question_id), len(places_of_texts))
                for question_id in ids
            ]
            numbers.append(np.tile(np.array(own, np.int32), 1 + len(others)))
        return np.concatenate(numbers)

    def _store_batch(self) -> None:
        if self._grades:
            # Details that only some grades have become NULL in the others. A missing `defaulted`
            # becomes false later.
            self._batch.grades = pa.concat_tables(
                self._grades, promote_options="default"
            ).combine_chunks()
        pickle.dump(self._batch, self._out, protocol=pickle.HIGHEST_PROTOCOL)
        self._begin_batch()


def _column_table(columns: dict[str, Any]) -> pa.Table:
    types = {"asked": pa.int32(), "passage": pa.int32(), "rating": pa.int8()} | DETAILS
    return pa.table(
        {name: pa.array(columns[name], types[name]) for name in types if name in columns}
    )


def _facet_topics(line: GradedQuery) -> list[str]:
    """Return the topics `query/facet` of a line's rankings and judgments."""
    # Rankings in columns name no topic: they are all for the line's query.
    rankings = () if isinstance(line.rankings, RankedColumns) else line.rankings.values()
    named = {ranked.query_id: None for ranking in rankings for ranked in ranking}
    named |= {judgment.query_id: None for judgment in line.judgments}
    return [topic for topic in named if topic != line.query.query_id]


def _with_facets(query: Query, facets: list[str]) -> Query:
    """Return the query of a line with a subtopic for every facet. The text of an unknown facet is
    its id.
    """
    ids = [topic.removeprefix(f"{query.query_id}/") for topic in facets]
    known = {subtopic.subtopic_id for subtopic in query.subtopics}
    return replace(
        query, subtopics=query.subtopics + tuple(Subtopic(i, i) for i in ids if i not in known)
    )


def _listed_passages(line: GradedQuery, faceted: bool) -> list[str]:
    """Return the passages that a line lists for grading, without those that only a facet ranks or
    judges.
    """
    query_id = line.query.query_id
    of_facet: set[str] = set()
    if faceted:
        placed = [
            (item.query_id, item.passage_id)
            for ranking in line.rankings.values()
            for item in ranking
        ]
        placed += [(item.query_id, item.passage_id) for item in line.judgments]
        of_facet = {passage_id for topic, passage_id in placed if topic != query_id}
    return [p.passage_id for p in line.passages if p.passage_id not in of_facet]


@dataclass
class GradedImport:
    """Writes graded files after reading, batch by batch."""

    cursor: Cursor
    files: GradedFiles
    names: str
    author: str
    keeper: ReplacedDataKeeper
    differing: int = 0
    textless: int = 0
    graders: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        cursor, files = self.cursor, self.files
        queries = take_queries(cursor, files.queries, False, self.keeper) + add_topics(
            cursor, files.facets
        )
        self.asked_of = files.questions.merge_repetitions(cursor)
        self.words = take_words_of(cursor, files.questions.relation)
        self.version = files.questions.save(cursor, f"Imported {self.names}", self.author)
        self.meant = self._text_keys()
        release_memory(cursor)
        self.written = add_kept_passages(cursor, files.passages, self.keeper)
        release_memory(cursor)
        places, rows = files.listed()
        keys = self._query_keys(query.query_id for query in files.queries)
        list_keys(cursor, keys[places], self.written.keys[rows])
        self.counts = {
            "queries": queries,
            "passages": len(np.unique(self.written.keys)),
            "new passages": self.written.new,
            "grades": 0,
            "new grades": 0,
            "failed": 0,
        }
        release_memory(cursor)
        for spec in files.graders:
            key = put_grader(cursor, spec)
            self.graders.append(
                (key, add_job(cursor, "grading", key, {"import": "graded"}, 0, self.author))
            )

    def _text_keys(self) -> pa.Table:
        """Return the keys of the texts that grades of questions are about: `question_id`,
        `text_key`.
        """
        # The question of a direct grader has the id of its query.
        queries = list(dict.fromkeys(query.query_id for query in self.files.queries))
        columns: dict[str, list[str | None]] = {
            "question_id": [*queries],
            "text": [None] * len(queries),
        }
        asked_texts = [
            *self.files.questions.parts(self.cursor),
            table_of(columns, dict.fromkeys(columns, "VARCHAR")),
        ]
        meant = []
        for part in asked_texts:
            with lend_table(self.cursor, "asked", part):
                meant.append(self.cursor.execute(_MEANT).to_arrow_table())
        # If a question has the id of a query, the question's key comes before the query's.
        return pa.concat_tables(meant).combine_chunks()

    def _query_keys(self, query_ids: Iterable[str]) -> np.ndarray:
        keys = dict(self.cursor.execute("SELECT query_id, query_key FROM queries").fetchall())
        return np.array([keys[query_id] for query_id in query_ids], np.int32)

    def write(self, batch: Batch) -> None:
        """Write one batch of grades."""
        rows = self._rows_of(batch)
        if rows["rating"].null_count:
            with lend_table(self.cursor, "read_grades", rows):
                # Reading the same failure again is not another attempt.
                rows = self.cursor.execute(
                    "SELECT * FROM read_grades WHERE rating IS NOT NULL"
                    " OR (grader_key, question_text_key, passage_text_key) NOT IN"
                    "  (SELECT (grader_key, question_text_key, passage_text_key)"
                    " FROM failures) ORDER BY row"
                ).to_arrow_table()
        # A grade is about a text, so grades of passages without a text are dropped.
        about = (
            rows.filter(rows["passage_text_key"].is_valid())
            if rows["passage_text_key"].null_count
            else rows
        )
        self.textless += len(rows) - len(about)
        written = grading.write_grades(self.cursor, about)
        self.counts["grades"] += batch.grades.num_rows
        self.counts["new grades"] += written.graded
        self.counts["failed"] += written.failed
        self.differing += written.differing
        release_memory(self.cursor)

    def _rows_of(self, batch: Batch) -> pa.Table:
        """Return the grades of a batch with the keys of questions, passages and jobs, as
        `write_grades` expects.
        """
        question_keys, grades = self._asked_keys(batch), batch.grades
        passages = self.written.text_keys[grades["passage"].to_numpy()]
        size = len(grades)
        # Failures need all columns, even if NULL. A million grades without details need no room for
        # them.
        needed = DETAILS if grades["rating"].null_count else ("defaulted", *grades.column_names)
        columns = {
            name: grades[name] if name in grades.column_names else pa.nulls(size, DETAILS[name])
            for name in DETAILS
            if name in needed
        }
        if grades["rating"].null_count:
            # The answer of a failed pair is the model's raw reply.
            failed = pc.if_else(grades["rating"].is_null(), columns["answer"], None)
            columns["raw"] = pc.coalesce(columns["raw"], failed)
        columns["defaulted"] = pc.fill_null(columns["defaulted"], False)
        return pa.table(
            {
                "row": pa.array(np.arange(size, dtype=np.int32)),
                "grader_key": question_keys["grader_key"].take(grades["asked"]),
                "question_text_key": question_keys["text_key"].take(grades["asked"]),
                "passage_text_key": pa.array(passages, mask=passages == 0),
                "rating": grades["rating"],
                "job_key": question_keys["job_key"].take(grades["asked"]),
                **columns,
            }
        )

    def _asked_keys(self, batch: Batch) -> pa.Table:
        """Return grader_key, job_key and text_key for each entry of `batch.asked`, in order."""
        numbers = np.array([number for number, _ in batch.asked], np.int32)
        ids = pa.array([question_id for _, question_id in batch.asked], pa.string())
        keys = self.meant["text_key"].chunk(0).take(pc.index_in(ids, self.meant["question_id"]))
        if own := self._own_keys(batch):
            keys = pa.array(
                [own.get(place, key) for place, key in enumerate(keys.to_pylist())], pa.int32()
            )
        graders, jobs = np.array(self.graders, np.int32).reshape(-1, 2).T
        return pa.table(
            {"grader_key": graders[numbers], "job_key": jobs[numbers], "text_key": keys}
        )

    def _own_keys(self, batch: Batch) -> dict[int, int]:
        """Return text keys, by place in `batch.asked`, for graders that read more than a question:
        direct graders, and those that read answer keys. Entries with an unknown text are left out.
        """
        specs = self.files.graders
        more = {
            place: (specs[number], question_id)
            for place, (number, question_id) in enumerate(batch.asked)
            if specs[number].method == "direct" or specs[number].reads
        }
        questions = (
            self.files.questions.find_questions(
                self.cursor, [question_id for _, question_id in more.values()]
            )
            if more
            else {}
        )
        texts = {
            place: spec.asked_text(
                self._titles[question_id] if spec.method == "direct" else questions[question_id]
            )
            for place, (spec, question_id) in more.items()
        }
        return {
            place: question_text_key(self.cursor, text)
            for place, text in texts.items()
            if text is not None
        }

    @cached_property
    def _titles(self) -> dict[str, Question]:
        """The queries in the form in which a direct grader is asked them, by id."""
        rows = self.cursor.execute(
            "SELECT query_id, t.text, t.answer FROM titles() t JOIN queries USING (query_key)"
        ).fetchall()
        return {
            query_id: Question(query_id, query_id, text, answer_key=answer)
            for query_id, text, answer in rows
        }

    def finish(self, source: str, report: Report) -> dict[str, int]:
        """Write everything that needs the whole file: runs, judgments and pool."""
        if self.files.rankings.runs:
            files_of_runs = dict(self.cursor.execute("SELECT name, file FROM runs").fetchall())
            whole = sorted(
                run
                for run in self.files.rankings.runs
                if files_of_runs.get(run, self.names) != self.names
            )
            for run in whole:
                report.remark(
                    self.names,
                    None,
                    "run-kept",
                    f"run {run} was imported completely from {files_of_runs[run]} and is kept",
                )
            runs = [
                (run, run, self.names)
                for run in sorted(self.files.rankings.runs.keys() - set(whole))
            ]
            if repeated := write_stated_rankings(
                self.cursor, self.files.rankings, runs, self.written.keys, self.keeper
            ):
                report.remark(
                    self.names,
                    None,
                    "repeated-ranks",
                    f"repeated ranks in {how_many(repeated, 'rankings')}: the"
                    " passages are numbered again",
                )
            self.counts["runs"] = len(runs)
        if self.files.topics:
            topics, rows, values = np.concatenate(self.files.judged).T
            queries = self._query_keys(self.files.topics)[topics]
            self.counts["judgments"] = write_judged_keys(
                self.cursor, source, queries, self.written.keys[rows], values, self.keeper
            )
        if self.version:
            self.counts["bank version"] = self.version
        self.counts["questions"] = self.asked_of
        for _, job in self.graders:
            end_job(self.cursor, job, "imported", f"Imported from {self.names}")
        same = self.counts["grades"] - self.counts["new grades"] - self.counts["failed"]
        for skipped, code, why in (
            (same, "grade-known", "the same question and passage texts already have a grade"),
            (self.textless, "no-passage-text", "the passage has no text"),
            (
                self.differing,
                "differing-grade",
                "the grader already graded these texts differently",
            ),
        ):
            if skipped:
                report.remark(
                    self.names, None, code, f"{how_many(skipped, 'grades')} skipped: {why}"
                )
        release_memory(self.cursor)
        refresh_pool(self.cursor)
        release_memory(self.cursor)
        return {name: count for name, count in self.counts.items() if count}


_MEANT = (
    "SELECT question_id, min(coalesce(w.text_key, n.text_key, t.text_key)) AS text_key"
    " FROM asked a LEFT JOIN question_texts t ON t.placeholder = a.question_id"
    # A grade is about the words that its file gives or, with only an id, about the first wording.
    " LEFT JOIN question_texts w ON w.text = a.text"
    " LEFT JOIN (SELECT question_id, arg_min(text_key, version) AS text_key FROM question_revisions"
    "  JOIN questions USING (question_key) GROUP BY 1) n USING (question_id) GROUP BY question_id"
)
"""SQL for the text keys of the questions in the table `asked`; NULL if unknown."""
