"""The project file: creation, opening, upgrades, transactions and contents."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
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
from tests.made.projects import examples, fill, grade, judge, new_project, set_patience
from tests.made.refusals import refusal

QUESTIONS = [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?")]


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """The file of a small closed project."""
    made = new_project(tmp_path / "some.duckdb")
    fill(made, QUESTIONS, {("A?", "p1"): 4}, {"one": {"q1": ["p1", "p2"]}})
    made.close()
    return made.path


def content(project: store.Project) -> tuple:
    return bank.list_questions(project), project.rows("SELECT * FROM grades"), project.rows("SELECT * FROM rankings")


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


def test_contents_survive_closing_and_opening(closed: Path):
    project = store.open_project(closed)
    assert [q.text for q in bank.list_questions(project)] == ["A?", "B?"]
    assert project.value("SELECT rating FROM grades") == 4
    project.close()


def not_a_database(path: Path) -> None:
    path.write_text("query\t0\tpassage\t1\n" * 1000)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def sqlite(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE migrations (name TEXT)")
    connection.close()


def foreign(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE sales AS SELECT 1 AS price")


def newer(path: Path) -> None:
    new_project(path).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO migrations VALUES (99, '0099_of_the_future', now()::TIMESTAMP)")


def cut_off(path: Path) -> None:
    new_project(path).close()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def damaged(path: Path) -> None:
    new_project(path).close()
    whole = path.read_bytes()
    path.write_bytes(whole[:16384] + bytes(byte ^ 0x55 for byte in whole[16384:]))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (not_a_database, ("not-a-project",)), (empty, ("empty-project-file",)), (sqlite, ("not-a-project", "SQLite")),
        (foreign, ("not-a-project",)), (newer, ("newer-version", "0099_of_the_future")),
        (cut_off, ("damaged-project",)), (damaged, ("damaged-project",)),
    ],
)  # fmt: skip
def test_non_project_file_is_refused_by_name_and_unchanged(tmp_path: Path, make, reason: tuple[str, ...]):
    path = tmp_path / "given.duckdb"
    make(path)
    before = path.read_bytes()
    with refusal(*reason, kind=ProjectError) as refused:
        store.open_project(path)
    assert "given.duckdb" in refused.value.message
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["given.duckdb"]


def add_colour(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("ALTER TABLE queries ADD COLUMN colour VARCHAR DEFAULT 'blue'")


def break_halfway(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("ALTER TABLE queries ADD COLUMN colour VARCHAR")
    connection.execute("DELETE FROM grades")
    connection.execute("SELECT no_such_function()")


def test_older_project_is_copied_and_upgraded(closed: Path, monkeypatch: pytest.MonkeyPatch):
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
    with refusal("newer-version", kind=ProjectError):
        store.open_project(closed)


def give_up_halfway(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("DELETE FROM grades")
    raise RuntimeError("the step gave up")


@pytest.mark.parametrize(
    ("step", "error", "reason"),
    [(break_halfway, ProjectError, "no_such_function"), (give_up_halfway, RuntimeError, "the step gave up")],
)
def test_failed_upgrade_keeps_the_project(
    closed: Path, monkeypatch: pytest.MonkeyPatch, step, error: type[Exception], reason: str
):
    project = store.open_project(closed)
    before = content(project)
    project.close()
    with monkeypatch.context() as patched:
        later = (*MIGRATIONS, ("0999_broken", step))
        patched.setattr(store.migrations, "MIGRATIONS", later)
        with pytest.raises(error, match=reason):
            store.open_project(closed)
    project = store.open_project(closed)
    assert content(project) == before
    project.close()


def test_project_held_by_another_process_is_refused_with_its_id(closed: Path, monkeypatch: pytest.MonkeyPatch):
    set_patience(monkeypatch, 0.3)
    holder = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(closed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with refusal("project-in-use", str(process.pid), kind=ProjectError):
            store.open_project(closed)
        process.communicate("")
    store.open_project(closed).close()


def test_transaction_is_atomic_and_hidden_until_committed(project: store.Project) -> None:
    fill(project, QUESTIONS, {("A?", "p1"): 4}, {"one": {"q1": ["p1"]}})
    before = content(project), project.version()
    with pytest.raises(ZeroDivisionError), project.transaction() as cursor:
        cursor.execute("DELETE FROM grades")
        cursor.execute("UPDATE question_revisions SET weight = 9")
        raise ZeroDivisionError
    with pytest.raises(duckdb.Error), project.transaction() as cursor:
        cursor.execute("DELETE FROM rankings")
        cursor.execute("INSERT INTO queries SELECT * FROM queries")
    assert (content(project), project.version()) == before
    bank.save_version(project, [Question("q1/c", "q1", "C?")], "the project can still be written", "tester")
    with project.transaction() as cursor:
        cursor.execute("INSERT INTO settings VALUES ('a', '1')")
        assert project.rows("SELECT * FROM settings WHERE name = 'a'") == []
    assert project.rows("SELECT * FROM settings WHERE name = 'a'") == [("a", "1")]


def test_cached_result_is_recomputed_only_after_a_change(project: store.Project):
    fill(project, QUESTIONS, {("A?", "p1"): 4}, {"one": {"q1": ["p1", "p2"]}})
    calls: list[str] = []

    def compute() -> int:
        calls.append("called")
        return len(calls)

    assert [project.cached("x", compute) for _ in range(3)] == [1, 1, 1]
    assert project.cached("y", compute) == 2
    grade(project, {("A?", "p2"): 0})
    assert [project.cached("x", compute) for _ in range(2)] == [3, 3]
    grade(project, {("B?", "p2"): None})
    assert project.cached("x", compute) == 4
    bank.save_version(project, [Question("q1/a", "q1", "A?", weight=2.0)], "heavier", "tester")
    assert [project.cached("x", compute) for _ in range(2)] == [5, 5]


def test_writers_in_several_threads_lose_nothing(project: store.Project):
    fill(project, QUESTIONS, {}, {"one": {"q1": ["p1"]}})
    start = threading.Barrier(4)
    errors: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            start.wait()
            for i in range(3):
                added = Question(f"q1/{writer}-{i}", "q1", f"Question {i} of {writer}?")
                bank.save_version(project, [added], f"{writer}", f"writer {writer}")
                grade(project, {(added.text or "", "p1"): i})
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(bank.list_questions(project)) == 2 + 12
    assert [v.version for v in bank.list_versions(project)] == list(range(13, 0, -1))
    assert all(v.changed == 1 for v in bank.list_versions(project)[:-1])
    assert project.value("SELECT count(*) FROM grades") == 12


def test_query_results_are_cached_until_any_write(project: store.Project):
    other = store.open_project(project.path)
    asked = "SELECT query_id, text FROM queries WHERE query_id <> ? ORDER BY query_key"
    try:
        assert project.rows(asked, ["none"]) == other.rows(asked, ["none"]) == []
        # Callers may change the returned list without affecting the cache.
        project.rows(asked, ["none"]).append(("made up", ""))
        assert project.rows(asked, ["none"]) == []
        for writer, name in ((project, "q1"), (other, "q2")):
            with writer.transaction() as cursor:
                cursor.execute(
                    "INSERT INTO queries (query_key, query_id, text) VALUES (nextval('keys'), ?, '')", [name]
                )
                # Uncommitted rows are neither visible nor cached.
                assert (name, "") not in project.rows(asked, ["none"])
            assert (name, "") in project.rows(asked, ["none"]) and (name, "") in other.rows(asked, ["none"])
        assert project.rows(asked, ["q1"]) == [("q2", "")]
    finally:
        other.close()


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
    said = ", ".join(["?"] * len(values)) + ", '?', '$p0', \"no ?\""
    named = ", ".join(f"$p{i}" for i in range(len(values))) + ", '?', '$p0', \"no ?\""
    given_by_name = {f"p{i}": value for i, value in enumerate(values)}
    numbered = ", ".join(f"${i + 1}" for i in range(len(values))) + ", '?', '$p0', \"no ?\""
    for sql, parameters in ((said, list(values)), (numbered, list(values)), (named, given_by_name)):
        sql = f"SELECT {sql} FROM (SELECT 'x' AS \"no ?\")"
        expected = no_project.execute(sql, parameters).fetchall()
        assert no_project.execute(*written_in(sql, parameters)).fetchall() == expected


OPEN = """
import sys
from pathlib import Path
from exam_workbench.store import open_project
open_project(Path(sys.argv[1])).close()
"""


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
            subprocess.run([sys.executable, "-c", OPEN, str(path)], check=True, timeout=60)
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
    project.close()


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
    project: store.Project,
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


def test_cli_shows_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    project = new_project(tmp_path / "p.duckdb")
    fill(project, BANK, {}, RUNS)
    judge(project, {("q1", "p1"): 1, ("q2", "p1"): 0})
    project.close()
    monkeypatch.setattr(sys, "argv", ["exam", "status", "--project", str(tmp_path / "p.duckdb"), "--json"])
    cli.main()
    found = json.loads(capsys.readouterr().out)
    assert found["questions a judged query"] == 1.5 and found["judged queries"] == 2 and found["queries"] == 4
    monkeypatch.setattr(sys, "argv", ["exam", "status", "--project", str(tmp_path / "p.duckdb")])
    cli.main()
    assert "questions a judged query" in capsys.readouterr().out
