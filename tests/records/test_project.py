"""The project file: creation, opening, upgrades, transactions and contents."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from exam_workbench import bank, cli, store
from exam_workbench.bank import _questions, judged_queries, save_version
from exam_workbench.errors import ProjectError
from exam_workbench.exchange import check_project, exporting, graded_file, import_files
from exam_workbench.formats import Source
from exam_workbench.records import _visible
from exam_workbench.store import _engine as engine, _opening as projects
from exam_workbench.store._sql_values import written_in
from exam_workbench.store.migrations import MIGRATIONS
from exam_workbench.types import Question
from tests.made.projects import examples, fill, grade, judge
from tests.made.refusals import refusal

QUESTIONS = [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?")]


def test_invalid_paths_are_refused_for_creating_and_opening(tmp_path: Path) -> None:
    with refusal("no-such-project"):
        store.open_project(tmp_path / "missing.duckdb")
    assert list(tmp_path.iterdir()) == []
    path = tmp_path / "mine.duckdb"
    path.write_text("something of mine")
    with refusal("file-exists", "mine.duckdb"):
        store.create_project(path)
    assert path.read_text() == "something of mine"
    (tmp_path / "file").write_text("")
    with refusal("cannot-write-file"):
        store.create_project(tmp_path / "file" / "new.duckdb")


def test_staged_rows_keep_every_value_and_their_order(project: store.Project) -> None:
    texts = ["it's", 'a "b" \\n', "1", "null", "\u2028\x7f", "é😀", "$x ? ;--", "\t", "", None]
    rows = [(text, at, at / 7, at % 2 == 0, [text or "x"]) for at, text in enumerate(texts * 1_001)]
    types = {"t": "VARCHAR", "n": "INTEGER", "d": "DOUBLE", "b": "BOOLEAN", "l": "VARCHAR[]"}
    for staged in (rows, rows[:0], [(None, None, None, None, None)]):
        with project.transaction() as cursor:
            store.stage_rows(cursor, "staged", staged, types)
            assert cursor.execute("FROM staged ORDER BY rowid").fetchall() == staged
            assert [row[1] for row in cursor.execute("DESCRIBE staged").fetchall()] == list(types.values())


def add_colour(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("ALTER TABLE queries ADD COLUMN colour VARCHAR DEFAULT 'blue'")


def test_older_project_is_copied_and_upgraded(project: store.Project, monkeypatch: pytest.MonkeyPatch):
    fill(project, QUESTIONS, {("A?", "p1"): 4}, {"one": {"q1": ["p1", "p2"]}})
    project.close()
    closed = project.path
    old = closed.read_bytes()
    with monkeypatch.context() as patched:
        later = (*MIGRATIONS, ("0999_colour", add_colour))
        patched.setattr(store.migrations, "MIGRATIONS", later)
        project = store.open_project(closed)
        assert project.value("SELECT colour FROM queries") == "blue"
        assert project.value("SELECT rating FROM grades") == 4
        project.close()
        store.open_project(closed).close()
    copies = [file for file in closed.parent.iterdir() if file != closed]
    assert [file.read_bytes() for file in copies] == [old]
    project = store.open_project(copies[0])
    assert project.value("SELECT rating FROM grades") == 4
    project.close()
    with refusal("newer-version", "0999_colour", kind=ProjectError):
        store.open_project(closed)


def test_transaction_is_atomic_and_hidden_until_committed(project: store.Project) -> None:
    def content() -> tuple[object, ...]:
        tables = ("queries", "grades", "rankings", "question_revisions")
        return project.version(), [project.rows(f"FROM {table} ORDER BY ALL") for table in tables]

    fill(project, QUESTIONS, {("A?", "p1"): 4}, {"one": {"q1": ["p1"]}})
    before = content()
    with pytest.raises(ZeroDivisionError), project.transaction() as cursor:
        cursor.execute("DELETE FROM grades")
        cursor.execute("UPDATE question_revisions SET weight = 9")
        raise ZeroDivisionError
    with pytest.raises(duckdb.Error), project.transaction() as cursor:
        cursor.execute("DELETE FROM rankings")
        cursor.execute("INSERT INTO queries SELECT * FROM queries")
    assert content() == before
    bank.save_version(project, [Question("q1/c", "q1", "C?")], "the project can still be written", "tester")
    with project.transaction() as cursor:
        cursor.execute("INSERT INTO settings VALUES ('a', '1')")
        assert project.rows("SELECT * FROM settings WHERE name = 'a'") == []
    assert project.rows("SELECT * FROM settings WHERE name = 'a'") == [("a", "1")]


def test_writers_in_several_threads_lose_nothing(project: store.Project):
    fill(project, QUESTIONS, {}, {"one": {"q1": ["p1"]}})
    start = threading.Barrier(4)

    def write(writer: int) -> None:
        start.wait()
        for i in range(3):
            added = Question(f"q1/{writer}-{i}", "q1", f"Question {i} of {writer}?")
            bank.save_version(project, [added], f"{writer}", f"writer {writer}")
            grade(project, {(added.text or "", "p1"): i})

    with ThreadPoolExecutor(4) as writers:
        list(writers.map(write, range(4)))
    assert len(bank.list_questions(project)) == 2 + 12
    assert [v.version for v in bank.list_versions(project)] == list(range(13, 0, -1))
    assert all(v.changed == 1 for v in bank.list_versions(project)[:-1])
    assert project.value("SELECT count(*) FROM grades") == 12


def test_query_results_are_cached_until_any_write(project: store.Project):
    other = store.open_project(project.path)
    asked = "SELECT query_id, text FROM queries WHERE query_id <> ? ORDER BY query_key"
    assert project.rows(asked, ["none"]) == other.rows(asked, ["none"]) == []
    # Callers may change the returned list without affecting the cache.
    project.rows(asked, ["none"]).append(("made up", ""))
    assert project.rows(asked, ["none"]) == []
    for writer, name in ((project, "q1"), (other, "q2")):
        with writer.transaction() as cursor:
            cursor.execute("INSERT INTO queries (query_key, query_id, text) VALUES (nextval('keys'), ?, '')", [name])
            # Uncommitted rows are neither visible nor cached.
            assert (name, "") not in project.rows(asked, ["none"])
        assert (name, "") in project.rows(asked, ["none"]) and (name, "") in other.rows(asked, ["none"])
    assert project.rows(asked, ["q1"]) == [("q2", "")]


ANY_VALUE = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**40), 2**40), st.text(max_size=20), st.floats(-1e3, 1e3),
    st.lists(st.integers(-5, 5), max_size=4), st.lists(st.text(max_size=5), max_size=4),
)  # fmt: skip


@pytest.fixture(scope="module")
def no_project() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty database."""
    with duckdb.connect() as connection:
        yield connection


@given(values=st.lists(ANY_VALUE, min_size=1, max_size=4))
@settings(max_examples=examples(40), deadline=None)
def test_inlined_values_do_not_change_results(no_project: duckdb.DuckDBPyConnection, values: list[object]) -> None:
    numbers, given_by_name = range(len(values)), {f"p{i}": value for i, value in enumerate(values)}
    for places, parameters in (
        (["?" for _ in numbers], list(values)),
        ([f"${i + 1}" for i in numbers], list(values)),
        ([f"$p{i}" for i in numbers], given_by_name),
    ):
        sql = f"SELECT {', '.join(places)}, '?', '$p0', \"no ?\" FROM (SELECT 'x' AS \"no ?\")"
        expected = no_project.execute(sql, parameters).fetchall()
        assert no_project.execute(*written_in(sql, parameters)).fetchall() == expected


def test_concurrent_upgrade_keeps_copy_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.duckdb"
    with monkeypatch.context() as old_program:
        run_older_program(old_program, -1)
        store.create_project(path).close()
    step = store.migrations.MIGRATIONS[-1][0]
    connect, opened = projects.open_connection, []

    def late(file: Path, read_only: bool = False) -> duckdb.DuckDBPyConnection:
        opened.append(file)
        if len(opened) == 2:
            open_it = "import sys; from pathlib import Path; from exam_workbench.store import open_project as o;"
            command = [sys.executable, "-c", f"{open_it} o(Path(sys.argv[1])).close()", str(path)]
            subprocess.run(command, check=True, timeout=60)
        return connect(file, read_only)

    monkeypatch.setattr(projects, "open_connection", late)
    store.open_project(path).close()
    backup = path.with_name(f"{path.name}.before-{step}")
    assert sorted(tmp_path.iterdir()) == [path, backup]
    with duckdb.connect(backup, read_only=True) as copy:
        assert step not in store.migrations.applied_migrations(copy)


def run_older_program(old_program: pytest.MonkeyPatch, migration: int) -> None:
    """Act like the program before a migration, which did not have sealed questions."""
    old_program.setattr(store.migrations, "MIGRATIONS", store.migrations.MIGRATIONS[:migration])
    for module in (_visible, _questions, exporting):
        old_program.setattr(module, "sealed_questions", lambda project: frozenset())


def test_project_with_keys_in_large_tables_is_upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, older = tmp_path / "old.duckdb", [name for name, _ in store.migrations.MIGRATIONS].index("0026_keyless")
    with monkeypatch.context() as old_program:
        run_older_program(old_program, older)
        project = store.create_project(path)
        fill(project, QUESTIONS, RATINGS, {"one": {"q1": ["p1", "p2"]}})
        given = graded_file(project)
        rows = {table: project.rows(f"SELECT rowid, * FROM {table}") for table in KEYLESS}
        assert "PRIMARY KEY" in constraints(project)
        project.close()
    project = store.open_project(path)
    assert {table: project.rows(f"SELECT rowid, * FROM {table}") for table in KEYLESS} == rows
    assert constraints(project) == {"NOT NULL"}
    assert graded_file(project) == given
    counts = import_files(project, "graded", [Source("again.jsonl.gz", data=given)], "ann").counts
    assert not {"new grades", "new passages", "queries", "bank version"} & set(counts)
    assert {table: len(project.rows(f"FROM {table}")) for table in KEYLESS} == {t: len(rows[t]) for t in KEYLESS}
    save_version(project, [replace(QUESTIONS[0], text="Reworded?")], "a new wording", "ann")
    assert project.value("SELECT count(*) FROM question_revisions") == len(rows["question_revisions"]) + 1
    assert not any(check_project(project).values())


def test_growing_tables_have_no_index(tmp_path: Path) -> None:
    project = store.create_project(tmp_path / "new.duckdb")
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


def test_upgrade_without_checkpoint_is_read_from_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.duckdb"
    with monkeypatch.context() as old_program:
        run_older_program(old_program, -1)
        project = store.create_project(path)
        fill(project, QUESTIONS, RATINGS, {})
        project.close()
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=True, timeout=60)
    assert path.with_name("old.duckdb.wal").exists()
    project = store.open_project(path)
    assert project.value("SELECT count(*) FROM passages") == 2


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
RATINGS = {("A?", "p1"): 4, ("A?", "p2"): 0, ("B?", "p1"): None}


def constraints(project: store.Project) -> set[str]:
    return {
        kind
        for (kind,) in project.rows(
            f"SELECT DISTINCT constraint_type FROM duckdb_constraints() WHERE table_name IN {KEYLESS}"
        )
    }


def test_lent_table_is_released_before_transaction_ends() -> None:
    """An import lends many batches in one transaction, so memory would otherwise grow with the file."""
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})
    held = weakref.ref(table)
    with duckdb.connect() as cursor:
        cursor.execute("BEGIN")
        with store.lend_table(cursor, "rows", table):
            twice = "SELECT sum(l.a), min(r.b) FROM rows l JOIN rows r USING (a) WHERE l.a > 1"
            assert cursor.execute(twice).fetchall() == [(5, "z")]
        del table
        assert held() is None
        cursor.execute("COMMIT")


def test_memory_is_freed_and_transaction_limits_stay(project: store.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "HELD", 1 << 20)
    used = "SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag IN ('BASE_TABLE', 'IN_MEMORY_TABLE')"
    limit = "SELECT current_setting('memory_limit')"
    with project.transaction() as cursor:
        before = cursor.execute(limit).fetchall()
        cursor.execute("INSERT INTO passage_texts SELECT i, repeat('text ', 20) || i FROM range(20_000) t(i)")
        held = cursor.execute(used).fetchall()[0][0]
        store.release_memory(cursor)
        assert cursor.execute(used).fetchall()[0][0] < held / 2
        assert cursor.execute(limit).fetchall() == before
        # DuckDB refuses the lowest limit without applying it, because recently written memory is in use.
        with cursor.cursor() as other, pytest.raises(duckdb.OutOfMemoryException):
            other.execute("SET memory_limit = '1B'")
        cursor.execute("RESET memory_limit")
        # Other queries and the transaction may use as much memory as before.
        assert len(project.rows("SELECT DISTINCT i, hash(i)::VARCHAR FROM range(20_000) t(i)")) == 20_000
        cursor.execute("INSERT INTO passages SELECT text_key, text_key::VARCHAR, text_key FROM passage_texts")
    assert project.value("SELECT count(*) FROM passages JOIN passage_texts USING (text_key)") == 20_000


BANK = [
    Question("q1/a", "q1", "A?"),
    Question("q1/b", "q1", "B is so", kind="nugget"),
    Question("q1/old", "q1", "Old?", active=False),
    Question("q2/c", "q2", "C?"),
    Question("q4/d", "q4", "D?"),
]
RUNS = {"one": {"q1": ["p1"], "q2": ["p1"], "q3": ["p1"], "q4": ["p1"]}}


def test_questions_are_counted_only_for_judged_queries(
    project: store.Project, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(project, BANK, {}, RUNS)
    assert judged_queries(project).as_dict() == {
        "judged queries": 0,
        "judged queries without questions": 0,
        "questions a judged query": None,
    }
    judge(project, {("q1", "p1"): 1, ("q2", "p1"): 0, ("q3", "p1"): 1})
    judge(project, {("q1", "p1"): 0}, "another source")
    found = judged_queries(project)
    assert (found.queries, found.without_questions) == (3, 1)
    assert found.questions == pytest.approx((2 + 1 + 0) / 3)
    project.close()
    for words in (["--json"], []):
        assert cli.run_command(["status", "--project", str(project.path), *words]) == 0
    in_json, _, shown = capsys.readouterr().out.partition("\n")
    assert json.loads(in_json).items() >= found.as_dict().items() and "questions a judged query" in shown
