"""Importing files into a project: each import is previewed or done, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from core import bank, collection, jobs
from core.errors import FileError, InputError, Problem
from core.formats import graded, leaderboards, passages, queries, question_bank, trec_qrels, trec_run
from core.formats.source import Report, Source, open_lines
from core.grades import put_grader, question_text_key, write_staged_grades
from core.project import Cursor, Project, log, stage
from core.types import GradedQuery, GraderSpec, Query, Question, Run

GRADES_A_BATCH = 200_000


@dataclass(frozen=True)
class Options:
    """How to import.

    Args:
        source: name under which judgments or a board are kept; the file's name for None.
        skip_unknown: whether lines of runs and qrels about queries that the project does not have
            are left out, instead of the file being refused.
    """

    source: str | None = None
    skip_unknown: bool = False


@dataclass(frozen=True)
class Imported:
    """What an import did, or as a preview would do.

    Args:
        kind: what the files were read as.
        files: their names.
        counts: numbers of things by what they are, as "passages" or "new grades".
        notes: what was understood but is worth knowing.
    """

    kind: str
    files: tuple[str, ...]
    counts: dict[str, int]
    notes: tuple[Problem, ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class Group:
    """Files of one kind that are imported together, and how."""

    kind: str
    sources: Sequence[Source]
    options: Options = Options()


class _Preview(Exception):
    """Carries the results of imports out of the transaction that is undone."""

    def __init__(self, results: list[Imported]) -> None:
        self.results = results


def import_files(
    project: Project,
    kind: str,
    sources: Sequence[Source],
    author: str,
    options: Options | None = None,
    preview: bool = False,
) -> Imported:
    """Import files of one kind in one transaction; see `import_groups`."""
    return import_groups(project, [Group(kind, sources, options or Options())], author, preview)[0]


def import_groups(project: Project, groups: Sequence[Group], author: str, preview: bool = False) -> list[Imported]:
    """Import groups of files, all in one transaction, in the order in which kinds build on each other.

    Args:
        groups: files by kind; at most one group a kind.
        preview: say what the imports would do and change nothing.

    Returns:
        What was done, a result for each group, in the order of `IMPORTERS`.

    Raises:
        FileError: a file was refused; it names the lines.
        InputError: the content does not fit the project, or there is no such kind.
    """
    order = list(IMPORTERS)
    for group in groups:
        if group.kind not in order:
            raise InputError(f"'{group.kind}' cannot be imported.", f"Use one of {', '.join(order)}.")
        if not group.sources:
            raise InputError("There is no file to import.", "Name at least one.")
    results = []
    try:
        with project.transaction() as cursor:
            for group in sorted(groups, key=lambda group: order.index(group.kind)):
                report = Report()
                counts = IMPORTERS[group.kind](cursor, group.sources, report, group.options, author)
                report.raise_if_refused(_MEND)
                files = tuple(source.name for source in group.sources)
                results.append(Imported(group.kind, files, counts, tuple(report.notes)))
                log(cursor, author, f"import {group.kind}", files=list(files), counts=counts)
            if preview:
                raise _Preview(results)
    except _Preview as carried:
        return carried.results
    return results


_MEND = "Nothing was imported. Mend the file and import it again."


def _queries(
    cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str
) -> dict[str, int]:
    found: dict[str, Query] = {}
    for source in sources:
        for query in queries.read_queries(source, report):
            if found.setdefault(query.query_id, query) != query:
                reason = f"query {query.query_id} is in another of the files with another content"
                report.refuse(source.name, None, reason)
    report.raise_if_refused(_MEND)
    new = collection.add_queries(cursor, list(found.values()), replace=True)
    return {"queries": len(found), "new queries": new}


def _passages(
    cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str
) -> dict[str, int]:
    stream = (passage for source in sources for passage in passages.read_passages(source, report))
    new = collection.add_passages(cursor, stream)
    report.raise_if_refused(_MEND)
    collection.refresh_pool(cursor)
    return {"new passages": new}


def _runs(
    cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str
) -> dict[str, int]:
    found = trec_run.read_runs(sources, report)
    report.raise_if_refused(_MEND)
    kept = {}
    for run in found:
        unknown = set(_unknown(cursor, sources, run.file, [r.query_id for r in run.ranking], options, report))
        kept[run.name] = [ranked for ranked in run.ranking if ranked.query_id not in unknown]
    report.raise_if_refused("Import the queries first, or choose to leave unknown queries out.")
    names = _free_names(cursor, found, report)
    collection.stage_rankings(cursor, {names[name]: ranking for name, ranking in kept.items()})
    collection.write_runs(cursor, [(names[run.name], run.tag, run.file) for run in found])
    collection.refresh_pool(cursor)
    return {"runs": len(found), "ranked passages": sum(map(len, kept.values()))}


def _free_names(cursor: Cursor, runs: Sequence[Run], report: Report) -> dict[str, str]:
    """What the project calls each run: its name, or its file's where a run of another file has the name."""
    holders = dict(cursor.execute("SELECT name, file FROM runs").fetchall())
    names = {}
    for run in runs:
        taken = holders.get(run.name, run.file) != run.file
        names[run.name] = Source(run.file).stem if taken else run.name
        if taken:
            report.remark(run.file, None, f"the name {run.name} is taken: the run is called {names[run.name]}")
    return names


def _qrels(
    cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str
) -> dict[str, int]:
    written = 0
    names: set[str] = set()
    for source in sources:
        found = trec_qrels.read_qrels(source, report)
        report.raise_if_refused(_MEND)
        unknown = set(_unknown(cursor, sources, source.name, [j.query_id for j in found], options, report))
        report.raise_if_refused("Import the queries first, or choose to leave unknown queries out.")
        collection.stage_judgments(cursor, [j for j in found if j.query_id not in unknown])
        name = options.source if options.source and len(sources) == 1 else source.stem
        if name in names:
            report.refuse(source.name, None, f"another file gives the source {name} too; rename one of them")
            report.raise_if_refused(_MEND)
        names.add(name)
        written += collection.write_judgments(cursor, name)
    collection.refresh_pool(cursor)
    return {"sources": len(sources), "judgments": written}


def _unknown(
    cursor: Cursor,
    sources: Sequence[Source],
    file: str,
    query_ids: Sequence[str],
    options: Options,
    report: Report,
) -> list[str]:
    """Query ids of a file that the project does not have; refused or remarked on as the options say."""
    unknown = collection.unknown_queries(cursor, query_ids)
    if not unknown:
        return []
    source = next(source for source in sources if file in (source.name, source.file))
    line = _first_line(source, unknown[0])
    rest = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
    if options.skip_unknown:
        report.remark(file, line, f"left out the unknown query {unknown[0]}{rest}")
    else:
        report.refuse(file, line, f"the query {unknown[0]}{rest} is not in the project")
    return unknown


def _first_line(source: Source, query_id: str) -> int | None:
    for number, line in open_lines(source, Report()):
        if line.split(maxsplit=1)[:1] == [query_id]:
            return number
    return None


def _bank(
    cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str
) -> dict[str, int]:
    read = [question_bank.read_bank(source, report) for source in sources]
    report.raise_if_refused(_MEND)
    found = [question for part in read for question in part.questions]
    new = collection.add_queries(cursor, [query for part in read for query in part.queries], replace=False)
    before = cursor.execute("SELECT count(*) FROM questions").fetchall()[0][0]
    names = ", ".join(source.name for source in sources)
    version = bank.save_questions(cursor, found, f"Imported {names}", author)
    after = cursor.execute("SELECT count(*) FROM questions").fetchall()[0][0]
    counts = {"questions": len(found), "new questions": after - before, "new queries": new}
    return counts | ({"bank version": version} if version else {})


def _graded(
    cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str
) -> dict[str, int]:
    batch = _GradedImport(cursor, author)
    for source in sources:
        for line in graded.read_graded(source, report):
            batch.add(line)
        report.raise_if_refused(_MEND)
    names = ", ".join(source.name for source in sources)
    return batch.finish(names, options.source or "judgments", report)


class _GradedImport:
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
        self.runs: set[str] = set()
        self.judged = False
        self.differing = 0
        self._clear()

    def _clear(self) -> None:
        self.lines: list[GradedQuery] = []
        self.size = 0

    def add(self, line: GradedQuery) -> None:
        """Take one line of the file."""
        self.lines.append(line)
        self.size += len(line.passages) + sum(len(columns.ratings) for columns in line.grades)
        for question in line.questions:
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
        self.counts["queries"] += collection.add_queries(cursor, [line.query for line in lines], replace=False)
        self.counts["passages"] += sum(len(line.passages) for line in lines)
        self.counts["new passages"] += collection.add_passages(cursor, (p for line in lines for p in line.passages))
        collection.list_passages(
            cursor, [(line.query.query_id, p.passage_id) for line in lines for p in line.passages]
        )
        rankings: dict[str, list[Any]] = {}
        for line in lines:
            for run, ranking in line.rankings.items():
                rankings.setdefault(run, []).extend(ranking)
        if rankings:
            collection.stage_rankings(cursor, rankings)
            self.runs.update(rankings)
        if found := [judgment for line in lines for judgment in line.judgments]:
            collection.stage_judgments(cursor, found)
            self.judged = True
        named = dict.fromkeys(question.question_id for line in lines for question in line.questions)
        bank.name_questions(cursor, [self.questions[question_id] for question_id in named])
        self._write_grades(lines)
        self._clear()

    def _write_grades(self, lines: Sequence[GradedQuery]) -> None:
        columns: dict[str, list[Any]] = {
            name: [] for name in ("key", "question_id", "passage_id", "rating", "answer")
        }
        direct: dict[str, int] = {}
        for line in lines:
            for grades in line.grades:
                key, _ = self._grader(grades.grader)
                columns["key"].extend([key] * len(grades.ratings))
                columns["question_id"].extend(grades.question_ids)
                columns["passage_id"].extend(grades.passage_ids)
                columns["rating"].extend(grades.ratings)
                columns["answer"].extend(grades.answers)
                if grades.grader.method == "direct" and line.query.query_id not in direct:
                    direct[line.query.query_id] = self._query_text_key(line.query.query_id)
        types = {
            "key": "INTEGER",
            "question_id": "VARCHAR",
            "passage_id": "VARCHAR",
            "rating": "TINYINT",
            "answer": "VARCHAR",
        }
        stage(self.cursor, "read_grades", columns, types)
        keys: dict[str, list[Any]] = {"question_id": list(direct), "text_key": list(direct.values())}
        stage(self.cursor, "direct_texts", keys, {"question_id": "VARCHAR", "text_key": "INTEGER"})
        self.cursor.execute(
            "CREATE OR REPLACE TEMP TABLE new_grades AS SELECT key AS grader_key,"
            " CASE WHEN method = 'direct' THEN d.text_key"
            "  ELSE coalesce(w.text_key, n.text_key, t.text_key) END"
            "  AS question_text_key, p.text_key AS passage_text_key, rating, false AS defaulted,"
            " NULL::FLOAT AS confidence, answer, NULL::VARCHAR AS raw"
            " FROM read_grades r JOIN graders ON grader_key = key JOIN passages p USING (passage_id)"
            " LEFT JOIN direct_texts d ON d.question_id = r.question_id"
            " LEFT JOIN question_texts t ON t.placeholder = r.question_id"
            # A grade is about the words that its file gives, or, for an id alone, about the first wording.
            " LEFT JOIN (SELECT question_id, text_key FROM incoming_bank JOIN question_texts USING (text)) w"
            "  ON w.question_id = r.question_id"
            " LEFT JOIN (SELECT question_id, arg_min(text_key, version) AS text_key FROM question_revisions"
            "  JOIN questions USING (question_key) GROUP BY 1) n ON n.question_id = r.question_id"
            " ORDER BY r.rowid"
        )
        # Reading of a failure once more is no further attempt.
        self.cursor.execute(
            "DELETE FROM new_grades WHERE rating IS NULL AND EXISTS (SELECT * FROM failures f"
            " WHERE f.grader_key = new_grades.grader_key AND f.question_text_key = new_grades.question_text_key"
            " AND f.passage_text_key = new_grades.passage_text_key)"
        )
        job = min(job for _, job in self.graders.values()) if self.graders else 0
        self.differing += self.cursor.execute(
            "SELECT count(*) FROM new_grades n JOIN grades g"
            " USING (grader_key, question_text_key, passage_text_key) WHERE n.rating <> g.rating"
        ).fetchall()[0][0]
        graded_now, failed = write_staged_grades(self.cursor, job)
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

    def _query_text_key(self, query_id: str) -> int:
        text = self.cursor.execute("SELECT text FROM queries WHERE query_id = ?", [query_id]).fetchall()
        return question_text_key(self.cursor, str(text[0][0]))

    def finish(self, names: str, source: str, report: Report) -> dict[str, int]:
        """Write what is left, then all that needs the whole file: runs, judgments, bank and pool."""
        self.flush()
        if self.runs:
            collection.write_runs(self.cursor, [(run, run, names) for run in sorted(self.runs)])
            self.counts["runs"] = len(self.runs)
        if self.judged:
            self.counts["judgments"] = collection.write_judgments(self.cursor, source)
        banked = self.cursor.execute(
            "SELECT DISTINCT question_id FROM question_revisions JOIN questions USING (question_key)"
        ).fetchall()
        # An id alone says nothing of a question that the bank has already.
        told = [q for q in self.questions.values() if q.text is not None or (q.question_id,) not in banked]
        version = bank.save_questions(self.cursor, told, f"Imported {names}", self.author)
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
        if self.differing:
            report.remark(
                names,
                None,
                f"{self.differing} grades differ from what the same grader said of the same texts before:"
                " the known grade is kept",
            )
        collection.refresh_pool(self.cursor)
        return {name: count for name, count in self.counts.items() if count}


def _leaderboard(
    cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str
) -> dict[str, int]:
    found = [board for source in sources for board in leaderboards.read_boards(source, report)]
    report.raise_if_refused(_MEND)
    for board in found:
        collection.write_board(cursor, board)
    return {"leaderboards": len(found), "systems": len({row.run for board in found for row in board.rows})}


Importer = Callable[[Cursor, Sequence[Source], Report, Options, str], dict[str, int]]

IMPORTERS: dict[str, Importer] = {
    "queries": _queries,
    "passages": _passages,
    "bank": _bank,
    "graded": _graded,
    "runs": _runs,
    "qrels": _qrels,
    "leaderboard": _leaderboard,
}
"""What can be imported, and how; in the order in which one kind builds on another."""


def problems_of(error: InputError) -> tuple[Problem, ...]:
    """The refused lines behind an error, for a screen to list; empty where it is about no line."""
    return error.problems if isinstance(error, FileError) else ()
