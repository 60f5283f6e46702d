"""Importing an Autograder/RUBRIC file: all that it knows of its queries, grades batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.bank import (
    add_topics,
    clean_questions,
    question_text_key,
    save_questions,
    take_queries,
    take_words,
)
from core.catalogue import put_grader
from core.errors import Report
from core.exchange.graded_batches import DETAILS, Batch, GradedFiles
from core.grading import end, start, write_grades
from core.project import (
    Cursor,
    Keeper,
    add_kept_passages,
    lent,
    let_go,
    list_keys,
    refresh_pool,
    stage_judgments,
    table_of,
    write_judgments,
    write_stated_rankings,
)
from core.types import GraderSpec, Question


class GradedImport:
    """Writes graded files that were read, batch by batch."""

    def __init__(self, cursor: Cursor, files: GradedFiles, names: str, author: str, keeper: Keeper) -> None:
        self.cursor = cursor
        self.files = files
        self.keeper = keeper
        queries = take_queries(cursor, files.queries, False, keeper) + add_topics(cursor, files.facets)
        clean = clean_questions(cursor, list(files.take_questions().values()))
        self.words = take_words(cursor, clean)
        self.version = self._save_questions(clean, f"Imported {names}", author)
        self.meant = self._meant(clean)
        # Thousands of them would be there for every million grades; few files have graders that read more than words.
        reading = any(spec.reads for spec in files.graders)
        self.questions = {question.question_id: question for question in clean} if reading else {}
        self.asked_of = len(clean)
        del clean
        let_go(cursor)
        self.written = add_kept_passages(cursor, files.passages, keeper)
        let_go(cursor)
        self._list_passages()
        self.counts = {
            "queries": queries,
            "passages": files.passages.rows,
            "new passages": self.written.new,
            "grades": 0,
            "new grades": 0,
            "failed": 0,
        }
        let_go(cursor)
        self.judged = False
        self.differing = self.textless = 0
        self.graders: list[tuple[int, int]] = []
        for spec in files.graders:
            key = put_grader(cursor, spec)
            self.graders.append((key, start(cursor, key, {"import": "graded"}, 0, author)))

    def write(self, batch: Batch) -> None:
        """Write one batch."""
        if batch.judgments:
            stage_judgments(self.cursor, batch.judgments)
            self.judged = True
        self._write_grades(batch)
        let_go(self.cursor)

    def _save_questions(self, clean: Sequence[Question], note: str, author: str) -> int | None:
        """Put the questions into the bank; the new version, or None where nothing differs."""
        banked = self.cursor.execute(
            "SELECT DISTINCT question_id FROM question_revisions JOIN questions USING (question_key)"
        ).fetchall()
        known = {question_id for (question_id,) in banked}
        # An id alone says nothing of a question that the bank has already.
        told = [question for question in clean if question.text is not None or question.question_id not in known]
        return save_questions(self.cursor, told, note, author)

    def _meant(self, clean: Sequence[Question]) -> dict[str, int]:
        """The keys of the texts that grades of questions are about, by id of the question."""
        # What a direct judge was asked has the id of its query.
        texts: dict[str, str | None] = dict.fromkeys(query.query_id for query in self.files.queries)
        texts |= {question.question_id: question.text.strip() if question.text else None for question in clean}
        columns: dict[str, Sequence[Any]] = {
            "row": range(len(texts)),
            "question_id": list(texts),
            "text": list(texts.values()),
        }
        types = {"row": "INTEGER", "question_id": "VARCHAR", "text": "VARCHAR"}
        with lent(self.cursor, "read_questions", table_of(columns, types)):
            found = self.cursor.execute(
                "SELECT row, min(coalesce(w.text_key, n.text_key, t.text_key)) AS meant"
                " FROM read_questions r LEFT JOIN question_texts t ON t.placeholder = r.question_id"
                # A grade is about the words that its file gives, or, for an id alone, about the first wording.
                " LEFT JOIN question_texts w ON w.text = r.text"
                " LEFT JOIN (SELECT question_id, arg_min(text_key, version) AS text_key FROM question_revisions"
                "  JOIN questions USING (question_key) GROUP BY 1) n USING (question_id)"
                " GROUP BY row HAVING meant IS NOT NULL ORDER BY row"
            ).fetchnumpy()
        ids = list(texts)
        return {ids[row]: key for row, key in zip(found["row"].tolist(), found["meant"].tolist(), strict=True)}

    def _list_passages(self) -> None:
        """Put what the lines list into the pool."""
        keys = dict(self.cursor.execute("SELECT query_id, query_key FROM queries").fetchall())
        query_keys = np.array([keys[query.query_id] for query in self.files.queries], np.int32)
        places, rows = self.files.listed()
        list_keys(self.cursor, query_keys[places], self.written.keys[rows])

    def _write_grades(self, batch: Batch) -> None:
        rows = self._rows_of(batch)
        if rows["rating"].null_count:
            with lent(self.cursor, "read_grades", rows):
                # Reading of a failure once more is no further attempt.
                rows = self.cursor.execute(
                    "SELECT * FROM read_grades WHERE rating IS NOT NULL"
                    " OR (grader_key, question_text_key, passage_text_key) NOT IN"
                    "  (SELECT (grader_key, question_text_key, passage_text_key) FROM failures) ORDER BY row"
                ).to_arrow_table()
        # A grade is about a text: without the passage's there is nothing to keep.
        about = rows.filter(rows["passage_text_key"].is_valid()) if rows["passage_text_key"].null_count else rows
        self.textless += len(rows) - len(about)
        written = write_grades(self.cursor, about)
        self.counts["grades"] += batch.grades.num_rows
        self.counts["new grades"] += written.graded
        self.counts["failed"] += written.failed
        self.differing += written.differing

    def _rows_of(self, batch: Batch) -> pa.Table:
        """The grades of a batch with the keys of what they are about, as `write_grades` takes them."""
        asked, grades = self._asked(batch), batch.grades
        passages = self.written.text_keys[grades["passage"].to_numpy()]
        size = len(grades)
        # Failures are written with what is NULL, too; a million grades of which nothing is known need no room for it.
        needed = DETAILS if grades["rating"].null_count else ("defaulted", *grades.column_names)
        columns = {
            name: grades[name] if name in grades.column_names else pa.nulls(size, DETAILS[name])
            for name in DETAILS
            if name in needed
        }
        if grades["rating"].null_count:
            # What a failed pair has for an answer is what the model wrote.
            failed = pc.if_else(grades["rating"].is_null(), columns["answer"], None)
            columns["raw"] = pc.coalesce(columns["raw"], failed)
        columns["defaulted"] = pc.fill_null(columns["defaulted"], False)
        return pa.table(
            {
                "row": pa.array(np.arange(size, dtype=np.int32)),
                "grader_key": asked["grader_key"].take(grades["asked"]),
                "question_text_key": asked["text_key"].take(grades["asked"]),
                "passage_text_key": pa.array(passages, mask=passages == 0),
                "rating": grades["rating"],
                "job_key": asked["job_key"].take(grades["asked"]),
                **columns,
            }
        )

    def _asked(self, batch: Batch) -> pa.Table:
        """What was asked, in the order of `batch.asked`: grader_key, job_key, text_key."""
        own = (self._own_key(self.files.graders[number], question_id) for number, question_id in batch.asked)
        keys: dict[str, list[Any]] = {
            "grader_key": [self.graders[number][0] for number, _ in batch.asked],
            "job_key": [self.graders[number][1] for number, _ in batch.asked],
            "text_key": [
                self.meant.get(question_id) if key is None else key
                for key, (_, question_id) in zip(own, batch.asked, strict=True)
            ],
        }
        return table_of(keys, dict.fromkeys(keys, "INTEGER"))

    def _own_key(self, spec: GraderSpec, question_id: str) -> int | None:
        """The key of what a grader was asked that reads more than a question, or none; None for any other, and where
        what it read is not known."""
        if spec.method != "direct" and not spec.reads:
            return None
        return self._asked_key(spec, question_id)

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
        """Write all that needs the whole file: runs, judgments and pool."""
        if self.files.rankings.runs:
            known = dict(self.cursor.execute("SELECT name, file FROM runs").fetchall())
            whole = sorted(run for run in self.files.rankings.runs if known.get(run, names) != names)
            for run in whole:
                report.remark(names, None, f"the run {run} came whole from {known[run]}: that one is kept")
            runs = [(run, run, names) for run in sorted(self.files.rankings.runs.keys() - set(whole))]
            if repeated := write_stated_rankings(
                self.cursor, self.files.rankings, runs, self.written.keys, self.keeper
            ):
                report.remark(names, None, f"{repeated} rankings state a rank twice: their passages are counted anew")
            self.counts["runs"] = len(runs)
        if self.judged:
            self.counts["judgments"] = write_judgments(self.cursor, source, self.keeper)
        if self.version:
            self.counts["bank version"] = self.version
        self.counts["questions"] = self.asked_of
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
        let_go(self.cursor)
        refresh_pool(self.cursor)
        let_go(self.cursor)
        return {name: count for name, count in self.counts.items() if count}
