"""The small project that every input is sent to: as it was before, each time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.exchange import import_files
from core.formats import Source
from core.project import Cursor, Project, open_project
from core.project.database import GIVEN_UP
from core.types import GraderSpec, Question
from tests.made.projects import fill, judge, made_project

AUTHOR = "tester"
READS_KEYS = GraderSpec("reads keys", "choice", "none", parameters={"reads": ["answer_key", "choices"]})

Table = tuple[int, int | None]
"""Number of rows and the sum of their hashes."""


class Rehearsal(Project):
    """A project whose transactions are written and looked at, but undone in place of committed.

    What fails is rolled back by the same statements as in a project of people; what succeeds stays open, for whoever
    reads after it, until `undo`. This takes a fraction of the time of committing and copying the file back.
    """

    _open: Cursor | None = None

    @contextmanager
    def cursor(self, whole: bool = False) -> Iterator[Cursor]:
        if self._open is not None:
            yield self._open
            return
        with super().cursor(whole) as cursor:
            yield cursor

    @contextmanager
    def transaction(self, only: str = "", *_whose: object, **_whose_else: object) -> Iterator[Cursor]:
        if self._open is not None:
            # An act may take several transactions: they become one, which is undone as one.
            try:
                yield self._open
            except BaseException:
                self.undo()
                raise
            self._database.committed(only)
            return
        cursor = self._database._connection.cursor()
        cursor.execute("BEGIN")
        try:
            yield cursor
        except BaseException as error:
            if not isinstance(error, GIVEN_UP):
                cursor.execute("ROLLBACK")
            cursor.close()
            raise
        self._open = cursor
        self._database.committed(only)

    def undo(self) -> None:
        """Take back what the last transaction wrote."""
        if self._open is not None:
            self._open.execute("ROLLBACK")
            self._open.close()
            self._open = None
            self._database.committed()


class Bench:
    """The project, its file to copy, and a folder for what an input needs beside it.

    Args:
        folder: for the files; in memory where the machine has such a place, since the file is copied often.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.template = folder / "template.duckdb"
        self.scratch = folder / "scratch"
        make_template(self.template)
        shutil.copyfile(self.template, folder / "rehearsal.duckdb")
        opened = open_project(folder / "rehearsal.duckdb")
        self.rehearsal = Rehearsal(opened._database)
        # The tables have a few rows: threads would take longer to wake than to work.
        self.rehearsal.rows("SET threads = 1")
        self.tables = [name for (name,) in opened.rows("SELECT table_name FROM duckdb_tables() WHERE NOT temporary")]
        self.before = self.content(self.rehearsal)
        self.clear()

    def content(self, project: Project) -> dict[str, Table]:
        """What is in every table, whatever the order of its rows."""
        columns = ", ".join(f"(SELECT (count(*), sum(hash(t)::HUGEINT)) FROM {name} t)" for name in self.tables)
        return dict(zip(self.tables, project.rows(f"SELECT {columns}")[0], strict=True))

    def clear(self) -> None:
        """Empty the folder in which commands and exports write."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        os.chdir(self.scratch)

    @contextmanager
    def copy(self) -> Iterator[Project]:
        """The project in a file of its own, with which everything may be done."""
        with self.copied() as path:
            project = open_project(path)
            try:
                yield project
            finally:
                project.close()

    @contextmanager
    def copied(self) -> Iterator[Path]:
        """A file of its own with the project in it."""
        path = self.folder / "copy.duckdb"
        shutil.copyfile(self.template, path)
        try:
            yield path
        finally:
            for left in (path, path.with_name(f"{path.name}.wal")):
                left.unlink(missing_ok=True)


def make_template(path: Path) -> None:
    """Make the project, once in a process."""
    made_project(path, _everything).close()


def _everything(project: Project) -> None:
    """A little of everything that a file can be about."""
    questions = [Question(f"q{n % 3}/x{n}", f"q{n % 3}", f"Why number {n}?", weight=1 + n % 2) for n in range(6)]
    questions.append(Question("q0/key", "q0", "Which one?", "choice", answer_key="moon", choices=("sun", "moon")))
    ratings = {(f"Why number {n}?", f"p{m}"): None if n == m else (n * m) % 6 for n in range(5) for m in range(6)}
    runs = {"r1": {"q0": ["p0", "p1"], "q1": ["p2", "p3"]}, "r2": {"q0": ["p1", "p0"], "q1": ["p3"], "q2": ["p4"]}}
    fill(project, questions, ratings, runs)
    judge(project, {("q0", "p0"): 2, ("q0", "p1"): 0, ("q1", "p2"): 1, ("q2", "p4"): 3})
    boards = Source("official.tsv", data=b"run\tAP\nr1\t0.5\nr2\t0.25\n")
    import_files(project, "leaderboard", [boards], AUTHOR)
    written = b'{"query_id": "q0", "run": "w1", "answer": [{"text": "The moon does.", "citations": ["p1"]}]}\n'
    import_files(project, "responses", [Source("w1.jsonl", data=written)], AUTHOR)
