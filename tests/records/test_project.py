"""The project file: making, opening, refusing, upgrading, transactions and what is remembered."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings, strategies as st

from exam_workbench import bank
from exam_workbench.errors import ProjectError
from exam_workbench.store import Project, create_project, migrations, open_project
from exam_workbench.store._sql_values import written_in
from exam_workbench.store.migrations import MIGRATIONS
from exam_workbench.types import Question
from tests.made.projects import examples, fill, grade, new_project, set_patience
from tests.made.refusals import refusal

QUESTIONS = [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?")]


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """The file of a project with a little in it, that nobody has open."""
    made = new_project(tmp_path / "some.duckdb")
    fill(made, QUESTIONS, {("A?", "p1"): 4}, {"one": {"q1": ["p1", "p2"]}})
    made.close()
    return made.path


def content(project: Project) -> tuple:
    return bank.list_questions(project), project.rows("SELECT * FROM grades"), project.rows("SELECT * FROM rankings")


def test_create_leaves_an_existing_file_alone(tmp_path: Path):
    path = tmp_path / "mine.duckdb"
    path.write_text("something of mine")
    with refusal("file-exists", "mine.duckdb"):
        create_project(path)
    assert path.read_text() == "something of mine"


def test_create_says_when_the_folder_cannot_be_made(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with refusal("cannot-write-file"):
        create_project(tmp_path / "file" / "new.duckdb")


def test_what_was_written_is_there_after_closing_and_opening(closed: Path):
    project = open_project(closed)
    assert [q.text for q in bank.list_questions(project)] == ["A?", "B?"]
    assert project.value("SELECT rating FROM grades") == 4
    project.close()


def test_opening_a_missing_project_makes_no_file(tmp_path: Path):
    with refusal("no-such-project"):
        open_project(tmp_path / "missing.duckdb")
    assert list(tmp_path.iterdir()) == []


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
        (not_a_database, ("not-a-project",)),
        (empty, ("empty-project-file",)),
        (sqlite, ("not-a-project", "SQLite")),
        (foreign, ("not-a-project",)),
        (newer, ("newer-version", "0099_of_the_future")),
        (cut_off, ("damaged-project",)),
        (damaged, ("damaged-project",)),
    ],
)
def test_a_file_that_is_no_project_is_refused_by_name_and_stays_as_it_is(tmp_path: Path, make, reason: tuple[str, ...]):
    path = tmp_path / "given.duckdb"
    make(path)
    before = path.read_bytes()
    with refusal(*reason, kind=ProjectError) as refused:
        open_project(path)
    assert "given.duckdb" in refused.value.message
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["given.duckdb"]


def add_colour(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("ALTER TABLE queries ADD COLUMN colour VARCHAR DEFAULT 'blue'")


def break_halfway(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("ALTER TABLE queries ADD COLUMN colour VARCHAR")
    connection.execute("DELETE FROM grades")
    connection.execute("SELECT no_such_function()")


def test_an_older_project_is_copied_aside_and_upgraded(closed: Path, monkeypatch: pytest.MonkeyPatch):
    old = closed.read_bytes()
    with monkeypatch.context() as patched:
        later = (*MIGRATIONS, ("0999_colour", add_colour))
        patched.setattr(migrations, "MIGRATIONS", later)
        project = open_project(closed)
        assert project.value("SELECT colour FROM queries") == "blue"
        assert project.value("SELECT rating FROM grades") == 4
        project.close()
        open_project(closed).close()
    copies = [file for file in closed.parent.iterdir() if file != closed]
    assert [file.read_bytes() for file in copies] == [old]
    project = open_project(copies[0])
    assert project.value("SELECT rating FROM grades") == 4
    project.close()
    with refusal("newer-version", kind=ProjectError):
        open_project(closed)


def give_up_halfway(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("DELETE FROM grades")
    raise RuntimeError("the step gave up")


@pytest.mark.parametrize(
    ("step", "error", "reason"),
    [
        (break_halfway, ProjectError, "no_such_function"),
        (give_up_halfway, RuntimeError, "the step gave up"),
    ],
)
def test_an_upgrade_that_fails_leaves_the_project_to_the_older_program(
    closed: Path, monkeypatch: pytest.MonkeyPatch, step, error: type[Exception], reason: str
):
    project = open_project(closed)
    before = content(project)
    project.close()
    with monkeypatch.context() as patched:
        later = (*MIGRATIONS, ("0999_broken", step))
        patched.setattr(migrations, "MIGRATIONS", later)
        with pytest.raises(error, match=reason):
            open_project(closed)
    project = open_project(closed)
    assert content(project) == before
    project.close()


def test_a_project_that_another_process_holds_is_refused_with_the_number_of_that_process(
    closed: Path, monkeypatch: pytest.MonkeyPatch
):
    set_patience(monkeypatch, 0.3)
    holder = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(closed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with refusal("project-in-use", str(process.pid), kind=ProjectError):
            open_project(closed)
        process.communicate("")
    open_project(closed).close()


def test_a_transaction_that_raises_changes_nothing(project: Project):
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


def test_a_reader_does_not_see_a_transaction_that_is_not_done(project: Project):
    with project.transaction() as cursor:
        cursor.execute("INSERT INTO settings VALUES ('a', '1')")
        assert project.rows("SELECT * FROM settings WHERE name = 'a'") == []
    assert project.rows("SELECT * FROM settings WHERE name = 'a'") == [("a", "1")]


def test_a_derived_result_is_computed_again_only_after_a_change(project: Project):
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


def test_writers_in_several_threads_lose_nothing(project: Project):
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


def test_an_answer_is_given_again_until_something_is_written_by_whomever(project: Project):
    other = open_project(project.path)
    asked = "SELECT query_id, text FROM queries WHERE query_id <> ? ORDER BY query_key"
    try:
        assert project.rows(asked, ["none"]) == other.rows(asked, ["none"]) == []
        # Whoever gets an answer may do with it what they like.
        project.rows(asked, ["none"]).append(("made up", ""))
        assert project.rows(asked, ["none"]) == []
        for writer, name in ((project, "q1"), (other, "q2")):
            with writer.transaction() as cursor:
                cursor.execute(
                    "INSERT INTO queries (query_key, query_id, text) VALUES (nextval('keys'), ?, '')", [name]
                )
                # Nobody sees what is not committed yet, nor keeps it.
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
    """A database with nothing in it."""
    with duckdb.connect() as connection:
        yield connection


@given(values=st.lists(ANY_VALUE, min_size=1, max_size=4))
@settings(max_examples=examples(40), deadline=None)
def test_a_value_written_into_a_statement_is_the_one_that_was_given(
    no_project: duckdb.DuckDBPyConnection, values: list[object]
) -> None:
    said = ", ".join(["?"] * len(values)) + ", '?', '$p0', \"no ?\""
    named = ", ".join(f"$p{i}" for i in range(len(values))) + ", '?', '$p0', \"no ?\""
    given_by_name = {f"p{i}": value for i, value in enumerate(values)}
    numbered = ", ".join(f"${i + 1}" for i in range(len(values))) + ", '?', '$p0', \"no ?\""
    for sql, parameters in ((said, list(values)), (numbered, list(values)), (named, given_by_name)):
        sql = f"SELECT {sql} FROM (SELECT 'x' AS \"no ?\")"
        expected = no_project.execute(sql, parameters).fetchall()
        assert no_project.execute(*written_in(sql, parameters)).fetchall() == expected
