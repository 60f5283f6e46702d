"""Importing an Autograder/RUBRIC file: all that it knows of its queries, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from core import bank_saving, collection, jobs
from core.bank_words import Words, take_words
from core.errors import InputError
from core.formats.source import Report
from core.grades import put_grader, question_text_key, write_staged_grades
from core.project import Cursor, stage
from core.topics import TITLES, add_topics, take_queries
from core.types import GradeColumns, GradeDetail, GradedQuery, GraderSpec, Query, Question, Subtopic

GRADES_A_BATCH = 200_000

_DETAIL_TYPES = {
    "defaulted": "BOOLEAN",
    "confidence": "FLOAT",
    "raw": "VARCHAR",
    "reason": "VARCHAR",
    "note": "VARCHAR",
}


def _extend_details(columns: dict[str, list[Any]], grades: GradeColumns) -> None:
    """Put what else is known of a file's grades under the columns of `_DETAIL_TYPES`."""
    rows = [grades.details.get(row, GradeDetail()) for row in range(len(grades.ratings))] if grades.details else None
    for name in _DETAIL_TYPES:
        nothing = False if name == "defaulted" else None
        columns[name].extend([getattr(row, name) for row in rows] if rows else [nothing] * len(grades.ratings))


class GradedImport:
    """Takes a graded file line by line and writes it in batches, so that memory is bounded by the batch."""

    def __init__(self, cursor: Cursor, author: str) -> None:
        self.cursor = cursor
        self.author = author
        self.counts = {
            "queries": 0,
            "passages": 0,
            "new passages": 0,
            "grades": 0,
            "new grades": 0,
            "failed": 0,
        }
        self.graders: dict[str, tuple[int, int]] = {}
        self.questions: dict[str, Question] = {}
        self.words = Words(0, 0)
        self.runs: set[str] = set()
        self.judged = False
        self.differing = self.textless = 0
        self._clear()

    def _clear(self) -> None:
        self.lines: list[GradedQuery] = []
        self.size = 0

    def add(self, line: GradedQuery) -> None:
        """Take one line of the file."""
        self.lines.append(line)
        self.size += len(line.passages) + sum(len(columns.ratings) for columns in line.grades)
        for question in bank_saving.clean_questions(self.cursor, line.questions):
            known = self.questions.setdefault(question.question_id, question)
            if known.query_id != question.query_id:
                raise InputError(
                    f"The graded file asks question {question.question_id} of the queries {known.query_id}"
                    f" and {question.query_id}.",
                    "A question belongs to one query: give it an id of its own in each.",
                )
            if known.text is None:
                self.questions[question.question_id] = question
        if self.size >= GRADES_A_BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what was taken since the last time."""
        cursor, lines = self.cursor, self.lines
        self.counts["queries"] += take_queries(cursor, [_with_facets(line) for line in lines], replace=False)
        self.counts["queries"] += add_topics(cursor, [facet for line in lines for facet in _facets(line)])
        self.counts["passages"] += sum(len(line.passages) for line in lines)
        texted = (p for line in lines for p in line.passages if p.text)
        self.counts["new passages"] += collection.add_passages(cursor, texted)
        collection.name_passages(cursor, [p.passage_id for line in lines for p in line.passages if not p.text])
        collection.list_passages(cursor, [pair for line in lines for pair in _listed(line)])
        rankings: dict[str, list[Any]] = {}
        for line in lines:
            for run, ranking in line.rankings.items():
                rankings.setdefault(run, []).extend(ranking)
        if rankings:
            collection.stage_rankings(cursor, rankings)
            collection.state_ranks(cursor, rankings)
            self.runs.update(rankings)
        if found := [judgment for line in lines for judgment in line.judgments]:
            collection.stage_judgments(cursor, found)
            self.judged = True
        named = dict.fromkeys(question.question_id for line in lines for question in line.questions)
        questions = [self.questions[question_id] for question_id in named]
        words = take_words(cursor, questions)
        self.words = Words(self.words.given + words.given, self.words.apart + words.apart)
        bank_saving.name_questions(cursor, questions)
        self._write_grades(lines)
        self._clear()

    def _write_grades(self, lines: Sequence[GradedQuery]) -> None:
        columns: dict[str, list[Any]] = {
            name: [] for name in ("key", "job", "question_id", "passage_id", "rating", "answer", *_DETAIL_TYPES)
        }
        asked: dict[tuple[int, str], int | None] = {}
        for line in lines:
            for grades in line.grades:
                key, job = self._grader(grades.grader)
                columns["key"].extend([key] * len(grades.ratings))
                columns["job"].extend([job] * len(grades.ratings))
                columns["question_id"].extend(grades.question_ids)
                columns["passage_id"].extend(grades.passage_ids)
                columns["rating"].extend(grades.ratings)
                columns["answer"].extend(grades.answers)
                _extend_details(columns, grades)
                if grades.grader.method == "direct" or grades.grader.reads:
                    for question_id in set(grades.question_ids):
                        if (key, question_id) not in asked:
                            asked[key, question_id] = self._asked_key(grades.grader, question_id)
        types = {
            "key": "INTEGER",
            "job": "INTEGER",
            "question_id": "VARCHAR",
            "passage_id": "VARCHAR",
            "rating": "TINYINT",
            "answer": "VARCHAR",
            **_DETAIL_TYPES,
        }
        stage(self.cursor, "read_grades", columns, types)
        keys: dict[str, list[Any]] = {
            "of_grader": [key for key, _ in asked],
            "question_id": [question_id for _, question_id in asked],
            "text_key": list(asked.values()),
        }
        stage(self.cursor, "asked", keys, {"of_grader": "INTEGER", "question_id": "VARCHAR", "text_key": "INTEGER"})
        self.cursor.execute(
            "CREATE OR REPLACE TEMP TABLE new_grades AS SELECT key AS grader_key,"
            " coalesce(d.text_key, w.text_key, n.text_key, t.text_key) AS question_text_key,"
            " p.text_key AS passage_text_key, rating, defaulted, confidence, answer,"
            # What a failed pair has for an answer is what the model wrote.
            " coalesce(raw, CASE WHEN rating IS NULL THEN answer END) AS raw, job AS job_key,"
            " r.note, NULL::FLOAT[] AS distribution, reason"
            " FROM read_grades r JOIN graders ON grader_key = key JOIN passages p USING (passage_id)"
            " LEFT JOIN asked d ON d.of_grader = r.key AND d.question_id = r.question_id"
            " LEFT JOIN question_texts t ON t.placeholder = r.question_id"
            # A grade is about the words that its file gives, or, for an id alone, about the first wording.
            " LEFT JOIN (SELECT question_id, text_key FROM incoming_bank JOIN question_texts USING (text)) w"
            "  ON w.question_id = r.question_id"
            " LEFT JOIN (SELECT question_id, arg_min(text_key, version) AS text_key FROM question_revisions"
            "  JOIN questions USING (question_key) GROUP BY 1) n ON n.question_id = r.question_id"
            " ORDER BY r.rowid"
        )
        # A grade is about a text: without the passage's there is nothing to keep.
        self.textless += self.cursor.execute("DELETE FROM new_grades WHERE passage_text_key IS NULL").fetchall()[0][0]
        # Reading of a failure once more is no further attempt.
        self.cursor.execute(
            "DELETE FROM new_grades WHERE rating IS NULL AND EXISTS (SELECT * FROM failures f"
            " WHERE f.grader_key = new_grades.grader_key AND f.question_text_key = new_grades.question_text_key"
            " AND f.passage_text_key = new_grades.passage_text_key)"
        )
        self.differing += self.cursor.execute(
            "SELECT count(*) FROM new_grades n JOIN grades g"
            " USING (grader_key, question_text_key, passage_text_key) WHERE n.rating <> g.rating"
        ).fetchall()[0][0]
        graded_now, failed = write_staged_grades(self.cursor)
        self.counts["grades"] += len(columns["key"])
        self.counts["new grades"] += graded_now
        self.counts["failed"] += failed

    def _grader(self, spec: GraderSpec) -> tuple[int, int]:
        fingerprint = spec.fingerprint
        if fingerprint not in self.graders:
            key = put_grader(self.cursor, spec)
            self.graders[fingerprint] = (
                key,
                jobs.start(self.cursor, key, {"import": "graded"}, 0, self.author),
            )
        return self.graders[fingerprint]

    def _asked_key(self, spec: GraderSpec, question_id: str) -> int | None:
        """The key of what a direct judge, or a grader that reads answer keys, was asked; None where that is unknown."""
        if spec.method == "direct":
            found = self.cursor.execute(
                f"SELECT t.text, t.answer FROM {TITLES} t JOIN queries USING (query_key) WHERE query_id = ?",
                [question_id],
            ).fetchall()
            question = Question(question_id, question_id, found[0][0], answer_key=found[0][1])
        else:
            question = self.questions[question_id]
        asked = spec.asked_text(question)
        return None if asked is None else question_text_key(self.cursor, asked)

    def finish(self, names: str, source: str, report: Report) -> dict[str, int]:
        """Write what is left, then all that needs the whole file: runs, judgments, bank and pool."""
        self.flush()
        if self.runs:
            known = dict(self.cursor.execute("SELECT name, file FROM runs").fetchall())
            for run in sorted(run for run in self.runs if known.get(run, names) != names):
                collection.unstage_ranking(self.cursor, run)
                self.runs.discard(run)
                report.remark(names, None, f"the run {run} came whole from {known[run]}: that one is kept")
            collection.write_runs(self.cursor, [(run, run, names) for run in sorted(self.runs)])
            if repeated := collection.write_stated_ranks(self.cursor, sorted(self.runs)):
                report.remark(names, None, f"{repeated} rankings state a rank twice: their passages are counted anew")
            self.counts["runs"] = len(self.runs)
        if self.judged:
            self.counts["judgments"] = collection.write_judgments(self.cursor, source)
        banked = self.cursor.execute(
            "SELECT DISTINCT question_id FROM question_revisions JOIN questions USING (question_key)"
        ).fetchall()
        # An id alone says nothing of a question that the bank has already.
        told = [q for q in self.questions.values() if q.text is not None or (q.question_id,) not in banked]
        version = bank_saving.save_questions(self.cursor, told, f"Imported {names}", self.author)
        if version:
            self.counts["bank version"] = version
        self.counts["questions"] = len(self.questions)
        for _, job in self.graders.values():
            jobs.end(self.cursor, job, "imported", f"Imported from {names}")
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
        collection.refresh_pool(self.cursor)
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
