"""Importing an Autograder/RUBRIC file: all that it knows of its queries, batch by batch."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from core.bank import (
    Words,
    add_topics,
    clean_questions,
    name_questions,
    question_text_key,
    save_questions,
    take_queries,
    take_words,
)
from core.catalogue import put_grader
from core.errors import InputError, Report
from core.grading import end, start, write_grades
from core.limits import exceeded, limit
from core.project import (
    Cursor,
    Keeper,
    add_passages,
    lent,
    list_passages,
    name_passages,
    ranked_table,
    refresh_pool,
    stage,
    stage_judgments,
    stage_ranked,
    state_ranks,
    unstage_ranking,
    write_judgments,
    write_runs,
    write_stated_ranks,
)
from core.text import clean_text
from core.types import (
    GradeColumns,
    GradeDetail,
    GradedQuery,
    GraderSpec,
    Judgment,
    Passage,
    Query,
    Question,
    Subtopic,
)

GRADES_A_BATCH = 200_000
CHARACTERS_A_BATCH = 1 << 26
"""Characters of passages and answers: a batch ends after the line with which it has as many."""

_DETAILS = ("defaulted", "confidence", "raw", "reason", "note")

_GRADES = pa.schema(
    [
        ("row", pa.int32()),
        ("grader", pa.int32()),
        ("question_id", pa.string()),
        ("passage_id", pa.string()),
        ("rating", pa.int8()),
        ("answer", pa.string()),
        ("defaulted", pa.bool_()),
        ("confidence", pa.float32()),
        ("raw", pa.string()),
        ("reason", pa.string()),
        ("note", pa.string()),
    ]
)


@dataclass
class _Batch:
    """Lines of a graded file as they are written: lists of records, and their grades as a table.

    `asked` are the pairs (number of the grader, question id) of graders whose question texts need the project.
    """

    queries: list[Query] = field(default_factory=list)
    facets: list[str] = field(default_factory=list)
    passages: int = 0
    texted: list[Passage] = field(default_factory=list)
    textless: list[str] = field(default_factory=list)
    listed: list[tuple[str, str]] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    ranked: pa.Table = field(default_factory=lambda: ranked_table({}))
    judgments: list[Judgment] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    asked: list[tuple[int, str]] = field(default_factory=list)
    grades: pa.Table = field(default_factory=_GRADES.empty_table)


class GradedFiles:
    """Graded files as they were read, in batches in a file of their own, so that memory is bounded by the batch.

    Args:
        folder: for that file.
    """

    def __init__(self, folder: Path) -> None:
        self.graders: list[GraderSpec] = []
        self.questions: dict[str, Question] = {}
        self._numbers: dict[str, int] = {}
        self._file = folder / "graded.batches"
        self._out = self._file.open("wb")
        self._held: list[GradedQuery] = []
        self._size = self._characters = 0

    def take(self, lines: Iterable[GradedQuery]) -> None:
        """Take the lines of a file.

        Raises:
            InputError: a question belongs to several queries, or there are more of them than are believed.
        """
        most = limit("IDS")
        for line in lines:
            self._held.append(line)
            self._size += len(line.passages) + sum(len(columns.ratings) for columns in line.grades)
            self._characters += _characters(line)
            for question in line.questions:
                self._take_question(question)
            if len(self.questions) > most:
                raise InputError(f"The graded file {exceeded('names more questions than', 'IDS', most)}.")
            if self._size >= GRADES_A_BATCH or self._characters >= CHARACTERS_A_BATCH:
                self._keep()
            # The next line may be as long as this one.
            del line

    def _take_question(self, question: Question) -> None:
        known = self.questions.setdefault(question.question_id, question)
        if known.query_id != question.query_id:
            raise InputError(
                f"The graded file asks question {question.question_id} of the queries {known.query_id}"
                f" and {question.query_id}.",
                "A question belongs to one query: give it an id of its own in each.",
            )
        if known.text is None:
            self.questions[question.question_id] = question

    def close(self) -> None:
        """Keep what is left; nothing more is taken."""
        self._keep()
        self._out.close()

    def batches(self) -> Iterator[_Batch]:
        """What was taken, batch by batch."""
        with self._file.open("rb") as kept:
            while True:
                try:
                    # Nobody but this process wrote the file, in a folder that only its user can enter.
                    yield pickle.load(kept)
                except EOFError:
                    return

    def _keep(self) -> None:
        lines, self._held, self._size, self._characters = self._held, [], 0, 0
        if lines:
            pickle.dump(self._batch(lines), self._out, protocol=pickle.HIGHEST_PROTOCOL)

    def _batch(self, lines: list[GradedQuery]) -> _Batch:
        batch = _Batch()
        columns: dict[str, list[Any]] = {name: [] for name in _GRADES.names}
        asked: dict[tuple[int, str], None] = {}
        for line in lines:
            batch.queries.append(_with_facets(line))
            batch.facets += _facets(line)
            batch.passages += len(line.passages)
            batch.texted += [p for p in line.passages if p.text]
            batch.textless += [p.passage_id for p in line.passages if not p.text]
            batch.listed += _listed(line)
            batch.judgments += line.judgments
            for grades in line.grades:
                number = self._number(grades.grader)
                columns["grader"].extend([number] * len(grades.ratings))
                columns["question_id"].extend(grades.question_ids)
                columns["passage_id"].extend(grades.passage_ids)
                columns["rating"].extend(grades.ratings)
                # An answer is marked in its passage, which is kept clean too.
                columns["answer"].extend([answer and clean_text(answer) for answer in grades.answers])
                _extend_details(columns, grades)
                if grades.grader.method == "direct" or grades.grader.reads:
                    asked |= dict.fromkeys((number, asked_of) for asked_of in dict.fromkeys(grades.question_ids))
        batch.questions = list(dict.fromkeys(q.question_id for line in lines for q in line.questions))
        batch.asked = list(asked)
        batch.runs = list(dict.fromkeys(run for line in lines for run in line.rankings))
        batch.ranked = ranked_table(
            {run: [r for line in lines for r in line.rankings.get(run, ())] for run in batch.runs}
        )
        columns["row"] = list(range(len(columns["grader"])))
        batch.grades = pa.table(columns, schema=_GRADES)
        return batch

    def _number(self, spec: GraderSpec) -> int:
        number = self._numbers.setdefault(spec.fingerprint, len(self.graders))
        if number == len(self.graders):
            self.graders.append(spec)
        return number


def _characters(line: GradedQuery) -> int:
    """How long the texts are that a line brings, about."""
    texts = sum(len(passage.text) for passage in line.passages)
    answers = sum(sum(map(len, filter(None, columns.answers))) for columns in line.grades)
    raw = sum(len(detail.raw or "") for columns in line.grades for detail in columns.details.values())
    return texts + answers + raw


def _extend_details(columns: dict[str, list[Any]], grades: GradeColumns) -> None:
    """Put what else is known of a file's grades under the columns of `_DETAILS`."""
    rows = [grades.details.get(row, GradeDetail()) for row in range(len(grades.ratings))] if grades.details else None
    for name in _DETAILS:
        nothing = False if name == "defaulted" else None
        columns[name].extend([getattr(row, name) for row in rows] if rows else [nothing] * len(grades.ratings))


class GradedImport:
    """Writes graded files that were read, batch by batch."""

    def __init__(self, cursor: Cursor, files: GradedFiles, author: str, keeper: Keeper) -> None:
        self.cursor = cursor
        self.files = files
        clean = clean_questions(cursor, list(files.questions.values()))
        self.questions = {question.question_id: question for question in clean}
        self.author = author
        self.keeper = keeper
        self.counts = {
            "queries": 0,
            "passages": 0,
            "new passages": 0,
            "grades": 0,
            "new grades": 0,
            "failed": 0,
        }
        self.words = Words(0, 0)
        self.runs: set[str] = set()
        self.judged = False
        self.differing = self.textless = 0
        self.graders: list[tuple[int, int]] = []
        for spec in files.graders:
            key = put_grader(cursor, spec)
            self.graders.append((key, start(cursor, key, {"import": "graded"}, 0, author)))
        keys = {
            "grader": list(range(len(self.graders))),
            "key": [key for key, _ in self.graders],
            "job": [job for _, job in self.graders],
        }
        stage(cursor, "read_graders", keys, dict.fromkeys(keys, "INTEGER"))

    def write(self, batch: _Batch) -> None:
        """Write one batch."""
        cursor = self.cursor
        self.counts["queries"] += take_queries(cursor, batch.queries, False, self.keeper)
        self.counts["queries"] += add_topics(cursor, batch.facets)
        self.counts["passages"] += batch.passages
        self.counts["new passages"] += add_passages(cursor, batch.texted, self.keeper)
        name_passages(cursor, batch.textless)
        list_passages(cursor, batch.listed)
        if batch.runs:
            stage_ranked(cursor, batch.ranked)
            state_ranks(cursor, batch.ranked)
            self.runs.update(batch.runs)
        if batch.judgments:
            stage_judgments(cursor, batch.judgments)
            self.judged = True
        questions = [self.questions[question_id] for question_id in batch.questions]
        words = take_words(cursor, questions)
        self.words = Words(self.words.given + words.given, self.words.apart + words.apart)
        name_questions(cursor, questions)
        self._write_grades(batch)

    def _write_grades(self, batch: _Batch) -> None:
        texts = [self._asked_key(self.files.graders[number], question_id) for number, question_id in batch.asked]
        keys: dict[str, list[Any]] = {
            "of_grader": [number for number, _ in batch.asked],
            "question_id": [question_id for _, question_id in batch.asked],
            "text_key": texts,
        }
        stage(self.cursor, "asked", keys, {"of_grader": "INTEGER", "question_id": "VARCHAR", "text_key": "INTEGER"})
        with lent(self.cursor, "read_grades", batch.grades):
            found = self.cursor.execute(
                "SELECT row, key AS grader_key,"
                " coalesce(d.text_key, w.text_key, n.text_key, t.text_key) AS question_text_key,"
                " p.text_key AS passage_text_key, rating, defaulted, confidence, answer,"
                # What a failed pair has for an answer is what the model wrote.
                " coalesce(raw, CASE WHEN rating IS NULL THEN answer END) AS raw, job AS job_key,"
                " r.note, NULL::FLOAT[] AS distribution, reason"
                " FROM read_grades r JOIN read_graders k ON k.grader = r.grader JOIN passages p USING (passage_id)"
                " LEFT JOIN asked d ON d.of_grader = r.grader AND d.question_id = r.question_id"
                " LEFT JOIN question_texts t ON t.placeholder = r.question_id"
                # A grade is about the words that its file gives, or, for an id alone, about the first wording.
                " LEFT JOIN (SELECT question_id, text_key FROM incoming_bank JOIN question_texts USING (text)) w"
                "  ON w.question_id = r.question_id"
                " LEFT JOIN (SELECT question_id, arg_min(text_key, version) AS text_key FROM question_revisions"
                "  JOIN questions USING (question_key) GROUP BY 1) n ON n.question_id = r.question_id"
                # Reading of a failure once more is no further attempt.
                " WHERE rating IS NOT NULL OR (key, question_text_key, p.text_key) NOT IN"
                "  (SELECT (grader_key, question_text_key, passage_text_key) FROM failures)"
            ).to_arrow_table()
        # A grade is about a text: without the passage's there is nothing to keep.
        about = found.filter(found["passage_text_key"].is_valid())
        self.textless += len(found) - len(about)
        written = write_grades(self.cursor, about)
        self.counts["grades"] += batch.grades.num_rows
        self.counts["new grades"] += written.graded
        self.counts["failed"] += written.failed
        self.differing += written.differing

    def _asked_key(self, spec: GraderSpec, question_id: str) -> int | None:
        """The key of what a direct judge, or a grader that reads answer keys, was asked; None where that is unknown."""
        if spec.method == "direct":
            found = self.cursor.execute(
                "SELECT t.text, t.answer FROM titles() t JOIN queries USING (query_key) WHERE query_id = ?",
                [question_id],
            ).fetchall()
            question = Question(question_id, question_id, found[0][0], answer_key=found[0][1])
        else:
            question = self.questions[question_id]
        asked = spec.asked_text(question)
        return None if asked is None else question_text_key(self.cursor, asked)

    def finish(self, names: str, source: str, report: Report) -> dict[str, int]:
        """Write all that needs the whole file: runs, judgments, bank and pool."""
        if self.runs:
            known = dict(self.cursor.execute("SELECT name, file FROM runs").fetchall())
            for run in sorted(run for run in self.runs if known.get(run, names) != names):
                unstage_ranking(self.cursor, run)
                self.runs.discard(run)
                report.remark(names, None, f"the run {run} came whole from {known[run]}: that one is kept")
            write_runs(self.cursor, [(run, run, names) for run in sorted(self.runs)], self.keeper)
            if repeated := write_stated_ranks(self.cursor, sorted(self.runs)):
                report.remark(names, None, f"{repeated} rankings state a rank twice: their passages are counted anew")
            self.counts["runs"] = len(self.runs)
        if self.judged:
            self.counts["judgments"] = write_judgments(self.cursor, source, self.keeper)
        banked = self.cursor.execute(
            "SELECT DISTINCT question_id FROM question_revisions JOIN questions USING (question_key)"
        ).fetchall()
        # An id alone says nothing of a question that the bank has already.
        told = [q for q in self.questions.values() if q.text is not None or (q.question_id,) not in banked]
        version = save_questions(self.cursor, told, f"Imported {names}", self.author)
        if version:
            self.counts["bank version"] = version
        self.counts["questions"] = len(self.questions)
        for _, job in self.graders:
            end(self.cursor, job, "imported", f"Imported from {names}")
        same = self.counts["grades"] - self.counts["new grades"] - self.counts["failed"]
        if same:
            report.remark(
                names,
                None,
                f"{same} grades are about a question text and passage text that have a grade: the first is kept",
            )
        if self.textless:
            report.remark(names, None, f"{self.textless} grades are of passages without a text: left out")
        if self.differing:
            report.remark(
                names,
                None,
                f"{self.differing} grades differ from what the same grader said of the same texts before:"
                " the known grade is kept",
            )
        refresh_pool(self.cursor)
        return {name: count for name, count in self.counts.items() if count}


def _facets(line: GradedQuery) -> list[str]:
    """The topics `query/facet` that rankings and judgments of a line are of."""
    named = [*(ranked.query_id for ranking in line.rankings.values() for ranked in ranking)]
    named += [judgment.query_id for judgment in line.judgments]
    return [topic for topic in dict.fromkeys(named) if topic != line.query.query_id]


def _with_facets(line: GradedQuery) -> Query:
    """The query of a line with a subtopic for every facet; one that nothing is known of is called by its id."""
    query = line.query
    ids = [topic.removeprefix(f"{query.query_id}/") for topic in _facets(line)]
    known = {subtopic.subtopic_id for subtopic in query.subtopics}
    return replace(query, subtopics=query.subtopics + tuple(Subtopic(i, i) for i in ids if i not in known))


def _listed(line: GradedQuery) -> list[tuple[str, str]]:
    """Query and passage ids of what a line asks to be graded by itself: not what stands in it for a facet alone."""
    query_id = line.query.query_id
    placed = [(one.query_id, one.passage_id) for ranking in line.rankings.values() for one in ranking]
    placed += [(one.query_id, one.passage_id) for one in line.judgments]
    of_facet = {passage_id for topic, passage_id in placed if topic != query_id}
    return [(query_id, p.passage_id) for p in line.passages if p.passage_id not in of_facet]
