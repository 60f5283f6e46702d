"""Old projects that are upgraded: by one of two processes, whose copy of the old state stays; and without indexes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from exam_workbench.bank import _questions, save_version
from exam_workbench.exchange import check_project, exporting, graded_file, import_files
from exam_workbench.formats import Source
from exam_workbench.records import _visible
from exam_workbench.store import Project, _opening as projects, create_project, migrations, open_project
from exam_workbench.types import Question
from tests.made.projects import fill

OPEN = """
import sys
from pathlib import Path
from exam_workbench.store import open_project
open_project(Path(sys.argv[1])).close()
"""


def test_the_second_of_two_upgrades_leaves_the_copy_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.duckdb"
    with monkeypatch.context() as old_program:
        run_older_program(old_program, -1)
        create_project(path).close()
    step = migrations.MIGRATIONS[-1][0]
    connect, opened = projects.open_connection, []

    def late(file: Path, read_only: bool = False) -> duckdb.DuckDBPyConnection:
        opened.append(file)
        if len(opened) == 2:
            subprocess.run([sys.executable, "-c", OPEN, str(path)], check=True, timeout=60)
        return connect(file, read_only)

    monkeypatch.setattr(projects, "open_connection", late)
    open_project(path).close()
    backup = path.with_name(f"{path.name}.before-{step}")
    assert sorted(tmp_path.iterdir()) == [path, backup]
    with duckdb.connect(backup, read_only=True) as copy:
        assert step not in migrations.applied_migrations(copy)


def run_older_program(old_program: pytest.MonkeyPatch, migration: int) -> None:
    """Act like the program before a migration, which knew no sealed questions."""
    old_program.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:migration])
    for module in (_visible, _questions, exporting):
        old_program.setattr(module, "sealed_questions", lambda project: frozenset())


def test_a_project_whose_large_tables_had_keys_goes_on_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, older = tmp_path / "old.duckdb", [name for name, _ in migrations.MIGRATIONS].index("0026_keyless")
    with monkeypatch.context() as old_program:
        run_older_program(old_program, older)
        project = create_project(path)
        fill(project, QUESTIONS, RATINGS, {"one": {"q1": ["p1", "p2"]}})
        given = graded_file(project)
        rows = {table: project.rows(f"SELECT rowid, * FROM {table}") for table in KEYLESS}
        assert "PRIMARY KEY" in constraints(project)
        project.close()
    project = open_project(path)
    assert {table: project.rows(f"SELECT rowid, * FROM {table}") for table in KEYLESS} == rows
    assert constraints(project) == {"NOT NULL"}
    assert graded_file(project) == given
    counts = import_files(project, "graded", [Source("again.jsonl.gz", data=given)], "ann").counts
    assert not {"new grades", "new passages", "queries", "bank version"} & set(counts)
    assert {table: len(project.rows(f"FROM {table}")) for table in KEYLESS} == {t: len(rows[t]) for t in KEYLESS}
    save_version(project, [replace(QUESTIONS[0], text="Reworded?")], "a new wording", "ann")
    assert project.value("SELECT count(*) FROM question_revisions") == len(rows["question_revisions"]) + 1
    assert not any(check_project(project).values())
    project.close()


def test_no_table_that_grows_with_imports_has_an_index(tmp_path: Path) -> None:
    project = create_project(tmp_path / "new.duckdb")
    indexed = {
        table
        for (table,) in project.rows(
            "SELECT table_name FROM duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE')"
            " UNION SELECT table_name FROM duckdb_indexes()"
        )
    }
    project.close()
    assert "runs" in indexed
    assert not indexed & {*KEYLESS, *GROWING}


def test_an_upgrade_that_no_checkpoint_followed_is_read_back_from_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.duckdb"
    with monkeypatch.context() as old_program:
        run_older_program(old_program, -1)
        project = create_project(path)
        fill(project, QUESTIONS, RATINGS, {})
        project.close()
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=True, timeout=60)
    assert path.with_name("old.duckdb.wal").exists()
    project = open_project(path)
    assert project.value("SELECT count(*) FROM passages") == 2
    project.close()


KILLED = """
import os, sys
import duckdb
from exam_workbench.store import migrations
connection = duckdb.connect(sys.argv[1])
migrations.apply_migrations(connection)
os._exit(0)
"""

KEYLESS = ("passages", "passage_texts", "questions", "question_texts", "question_revisions")
GROWING = (
    "grades", "failures", "rankings", "judgments", "pool", "listed", "responses", "response_sentences", "answers",
    "retrieved", "generated_answers", "comparisons", "published_passages", "board_query_scores",
)  # fmt: skip
QUESTIONS = [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?")]
RATINGS = {("A?", "p1"): 4, ("A?", "p2"): 0, ("B?", "p1"): None}


def constraints(project: Project) -> set[str]:
    return {
        kind
        for (kind,) in project.rows(
            f"SELECT DISTINCT constraint_type FROM duckdb_constraints() WHERE table_name IN {KEYLESS}"
        )
    }
