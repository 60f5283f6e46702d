"""Damaged and foreign files, full disks, failed upgrades, wrong clocks, and checks of projects."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from unittest import mock

import duckdb
import pytest

from exam_workbench import bank, exchange
from exam_workbench.audit import Goal, design_audit, draw_batch, list_audit_assessors
from exam_workbench.bank import put_draft, save_drafts
from exam_workbench.errors import ProjectError
from exam_workbench.exchange import _integrity as integrity
from exam_workbench.exchange._integrity import Check
from exam_workbench.grading import Request, run_job
from exam_workbench.jobs import find_jobs
from exam_workbench.labels import Policy, add_override
from exam_workbench.records import find_token, find_tokens, list_actions, make_token
from exam_workbench.store import Project, _opening as projects, migrations, open_project
from exam_workbench.types import Question
from tests.made.audits import deal, fill_audited
from tests.made.fuzz_parquet import A, fill_most
from tests.made.projects import file_of, fill, made_project, new_project
from tests.made.refusals import kept_failures, mentions, refusal
from tests.made.screens import served, visit  # noqa: F401
from tests.made.shell import exam_on, run_words
from tests.records.test_reopening import Grader

QUESTIONS = [Question("q1/a", "q1", "A?")]
GRADED = 5_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A project file with thousands of grades, so that damage can hit them."""
    project = new_project(tmp_path_factory.mktemp("whole") / "whole.duckdb")
    fill(project, QUESTIONS, {("A?", "p0"): 4}, {"one": {"q1": ["p0", "p1"]}})
    with project.transaction() as cursor:
        cursor.execute("INSERT INTO grades SELECT grader_key, 9, i, i % 6, false, random(), uuid()::VARCHAR, NULL, 0,"
                       f" NULL, NULL FROM graders, range({GRADED}) t(i)")  # fmt: skip
    project.close()
    return project.path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, whole: bytes) -> Path:
    file = tmp_path / "some.duckdb"
    file.write_bytes(whole)
    return file


def sqlite(path: Path, whole: bytes) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE a (b)")


def duck(path: Path, whole: bytes) -> None:
    path.unlink()
    duckdb.connect(str(path)).execute("CREATE TABLE a AS SELECT 1").close()


def flipped(at: int) -> Callable[[Path, bytes], object]:
    """Return a function that damages a byte of a project file."""
    return lambda path, whole: path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])


BAD: list[tuple[Callable[[Path, bytes], object], str]] = [
    (sqlite, "not-a-project"),
    (duck, "not-a-project"),
    (lambda path, whole: (path.unlink(), path.mkdir()), "not-a-project"),
    (lambda path, whole: (path.unlink(), os.mkfifo(path)), "not-a-file"),
    (lambda path, whole: path.write_bytes(b""), "empty-project-file"),
    (lambda path, whole: path.write_text("hello\n" * 2000), "not-a-project"),
    (lambda path, whole: path.write_bytes(bytes(len(whole))), "not-a-project"),
    (lambda path, whole: path.write_bytes(whole[:100]), "damaged-project"),
    (lambda path, whole: path.write_bytes(whole[:100_000]), "damaged-project"),
    (flipped(60), "damaged-project"),
    (flipped(4100), "damaged-project"),
    (flipped(300_000), "damaged-project"),
]


@pytest.mark.parametrize(("make", "code"), BAD)
@pytest.mark.parametrize("read_only", [False, True])
def test_bad_project_file_is_refused_with_hint_and_unchanged(
    path: Path, whole: bytes, make: Callable[[Path, bytes], object], code: str, read_only: bool
) -> None:
    make(path, whole)
    before = path.read_bytes() if path.is_file() else None
    with refusal(code, kind=ProjectError) as refused:
        open_project(path, read_only)
    assert path.name in refused.value.message and refused.value.hint and "Error" not in str(refused.value)
    assert before is None or path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def damage(path: Path, table: str, column: str) -> None:
    """Damage the part of the file that stores a column of a table."""
    with duckdb.connect(str(path), read_only=True) as connection:
        (block,) = connection.execute(
            f"SELECT max(block_id) FROM pragma_storage_info('{table}') WHERE column_name = ? AND block_id >= 0",
            [column],
        ).fetchall()[0]
    content = bytearray(path.read_bytes())
    at = 3 * 4096 + block * 262_144
    content[at + 1000] ^= 0xFF
    path.write_bytes(content)


def test_undamaged_tables_are_read(path: Path) -> None:
    damage(path, "grades", "answer")
    project = open_project(path)
    assert project.value("SELECT count(*) FROM queries") == 1
    with refusal("damaged-project", kind=ProjectError):
        project.rows("SELECT answer FROM grades")
    assert project.value("SELECT text FROM queries") == "query q1"
    assert exam_on(project, "bank", "list")
    code, _, said = run_words(["export", "graded", "-o", str(path.with_name("graded.gz")), "--project", str(path)])
    assert code == 1 and "Traceback" not in said and len(said.splitlines()) == 1 and path.name in said


def unwritable(monkeypatch: pytest.MonkeyPatch, closed: Path) -> None:
    """Simulate missing write access, because the account that runs the tests may write everywhere."""
    allowed = os.access
    monkeypatch.setattr(
        projects.os, "access", lambda path, mode: allowed(path, mode) and not (mode & os.W_OK and Path(path) == closed)
    )


@pytest.mark.parametrize("which", ["file", "folder"])
def test_unwritable_project_is_readable_and_changes_are_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    before = path.read_bytes()
    unwritable(monkeypatch, path if which == "file" else path.parent)
    project = open_project(path)
    assert project.read_only and project.value("SELECT count(*) FROM grades") == 1 + GRADED
    with refusal("cannot-write-file", "some.duckdb", kind=ProjectError):
        put_draft(project, "ann", Question("q1/a", "q1", "Reworded?"))
    assert exchange.record_export(project, "ann", "qrels", "some.qrels", lambda: "what is read") == b"what is read"
    assert exam_on(project, "status")
    failures = kept_failures(monkeypatch)
    assert run_words(["judgments", "set", "q1", "p0", "1", "--project", str(path)])[0] == 1
    assert [error.code for error in failures] == ["cannot-write-file"]
    assert path.read_bytes() == before


FILL = """
import resource, sys
from pathlib import Path
from exam_workbench.bank import put_draft
from exam_workbench.errors import ProjectError
from exam_workbench.store import open_project
from exam_workbench.types import Question

sys.dont_write_bytecode = True
project = open_project(Path(sys.argv[1]))
project._database.checkpoint()
put_draft(project, "ann", Question("q1/a", "q1", "Kept?"))
# No file may grow beyond what it is: what a full disk says, but with a reason of its own.
log = Path(sys.argv[1] + ".wal").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (log + 100, resource.RLIM_INFINITY))
for attempt in range(3):
    try:
        put_draft(project, "ann", Question("q1/a", "q1", "Lost? " * 1000))
        print("stored")
    except ProjectError as error:
        print(error.code)
    print(project.value("SELECT content LIKE '%Kept?%' FROM drafts"), project._database.checkpoint())
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
put_draft(project, "ann", Question("q1/a", "q1", "Again?"))
project.close()
"""


def test_full_disk_refuses_changes_and_loses_nothing(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FILL, str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 6, done.stdout
    for said, then in zip(lines[::2], lines[1::2], strict=True):
        assert said == "disk-full"
        assert then == "True False"
    project = open_project(path)
    assert [text for (text,) in project.rows("SELECT content->>'text' FROM drafts")] == ["Again?"]


def test_screen_reports_bad_project_and_other_projects_open(path: Path) -> None:
    for number, (make, _) in enumerate(BAD[:6]):
        bad = path.with_name(f"bad{number}.duckdb")
        bad.write_bytes(b"")
        make(bad, b"")
    app = visit("home", project="bad0")
    app.check_refused("not-a-project", "bad0", "SQLite")
    assert len(app.selectbox(key="project").options) == 7
    app.selectbox(key="project").select("some").run()
    (here,) = [panel for panel in app.holds("state")["panels"] if panel["to"] is None]
    assert not app.error and ("1", "query") in {(one["count"], one["text"]) for one in here["blocks"][0]["lines"]}


def test_draft_refused_by_full_disk_is_kept_and_stored_later(path: Path) -> None:
    app = visit("question_bank", project="some")
    full = ProjectError("disk-full", "There is no room left on the disk.", "Free some space.")
    with mock.patch("exam_workbench.bank.change_draft", side_effect=full):
        app.edit(app.texts()[0], text="Typed?")
        # The browser keeps edits that were not confirmed as stored, and shows the reason.
        (why,) = app.holds("bank")["refused"].values()
        assert full.message in why
        assert app.holds("questions")["refused"] == app.holds("bank")["refused"]
        assert not app.error and app.texts()[0] != "Typed?", "the rest of the screen is shown"
    app.run()
    assert app.holds("bank")["refused"] == {} and app.texts()[0] == "Typed?"
    project = open_project(path)
    assert [draft.question.text for draft in bank.list_drafts(project, "ann").values()] == ["Typed?"]


def test_export_to_other_full_disk_names_that_disk(path: Path, tmp_path: Path) -> None:
    project = open_project(path)
    with refusal("disk-full", "grades.parquet", kind=ProjectError), project.cursor():
        raise duckdb.IOException(f'Could not write file "{tmp_path}/out/grades.parquet": No space left on device')
    assert project.value("SELECT count(*) FROM queries") == 1


def test_screens_warn_of_copy_made_while_project_was_in_use(path: Path) -> None:
    project = open_project(path)
    put_draft(project, "ann", Question("q1/a", "q1", "Reworded?"))
    path.with_name("copy.duckdb").write_bytes(path.read_bytes())
    project.close()
    app = visit("home", project="copy")
    assert [toast.value for toast in app.toast if "wal" in toast.value]
    assert not visit("home", project="some").toast


def test_failed_upgrade_changes_nothing_and_names_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.duckdb"
    file_of(fill_most).write(path)
    before, known = path.read_bytes(), migrations.MIGRATIONS

    def gives_up(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("DELETE FROM grades")
        raise ZeroDivisionError

    def breaks(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("CREATE TABLE half (way INTEGER); DELETE FROM grades; INSERT INTO nowhere VALUES (1)")

    with monkeypatch.context() as newer:
        newer.setattr(migrations, "MIGRATIONS", (*known, ("0999_gives_up", gives_up)))
        with pytest.raises(ZeroDivisionError):
            open_project(path)
        newer.setattr(migrations, "MIGRATIONS", (*known, ("0999_breaks", breaks)))
        for copy in ("old.duckdb.before-0999_breaks", "old.duckdb.before-0999_breaks-2"):
            with refusal("upgrade-failed", str(copy), kind=ProjectError):
                open_project(path)
            assert path.with_name(copy).read_bytes() == before
    project = open_project(path)
    assert not any(exchange.check_project(project).values())
    assert project.value("SELECT count(*) FROM grades") == 3


def test_clock_set_back_keeps_order_and_results(tmp_path: Path) -> None:
    project = made_project(tmp_path / "some.duckdb", fill_most)
    dates = {"activity": "happened_at", "bank_versions": "saved_at", "overrides": "made_at",
             "publications": "published_at"}  # fmt: skip
    with project.transaction() as cursor:
        # Date all earlier work two days into the future.
        for table, column in dates.items():
            cursor.execute(f"UPDATE {table} SET {column} = {column} + INTERVAL 2 DAY")
    put_draft(project, "ann", replace(A, text="Said after it?"))
    save_drafts(project, "ann", "after it")
    assert [version.version for version in bank.list_versions(project)] == [3, 2, 1]
    assert bank.list_questions(project, query_id="q1")[0].text == "Said after it?"
    add_override(project, "q1/a", "p1", 0, "after it", "bob")
    counts = "SELECT rating FROM current_overrides JOIN question_texts ON text_key = question_text_key WHERE text = ?"
    assert project.rows(counts, ["Said after it?"]) == [(0,)]
    final = run_job(project, Grader(), Request(), "ann")
    assert final.state == "done" and final.seconds >= 0
    assert find_jobs(project)[0].state == "done"
    exchange.publish_qrels(project, Policy(), "ann", note="after it")
    newest, oldest = exchange.list_publications(project)
    assert newest["note"] == "after it" and exchange.reproduce_qrels(project, oldest, "ann")
    assert [act.act for act in list_actions(project).acts[:2]] == ["reproduce qrels", "publish qrels"]
    assert not any(exchange.check_project(project).values())


def test_clock_set_back_keeps_token_use_current_and_frees_queries(tmp_path: Path) -> None:
    """Tokens and claims dated two days ahead are not treated as in use until then."""
    project = made_project(tmp_path / "audited.duckdb", fill_audited)
    audit = design_audit(project, "a", "P@3", Goal("best"), batch_size=12, seed=3, author="org")
    draw_batch(project, audit, "org")
    text = make_token(project, "robot", "viewer", "ann")
    assert find_token(project, text) and deal(project, audit, "ann")
    held = [one.name for one in list_audit_assessors(project, audit) if one.query_id]
    with project.transaction() as cursor:
        cursor.execute("UPDATE tokens SET used_at = used_at + INTERVAL 2 DAY")
        cursor.execute(
            "UPDATE audit_claims SET claimed_at = claimed_at + INTERVAL 2 DAY, until = until + INTERVAL 2 DAY"
        )
    assert find_token(project, text)
    (token,) = find_tokens(project)
    assert token.used_at is not None and token.used_at < datetime.now() + timedelta(hours=1)
    assert held == ["ann"] and not [one for one in list_audit_assessors(project, audit) if one.query_id]
    dealt = {deal(project, audit, name).query.query_id for name in ("bob", "cara")}  # type: ignore[union-attr]
    assert len(dealt) == 2


WHAT: dict[str, Check] = {one.name: one for one in exchange.CHECKS}


def broken(folder: Path, sql: str) -> Project:
    project = made_project(folder / "broken.duckdb", fill_most)
    with project.transaction() as cursor:
        for one in sql.split(";"):
            cursor.execute(one)
    return project


def test_check_command_shows_first_row_and_keeps_sound_projects(tmp_path: Path) -> None:
    path = tmp_path / "whole.duckdb"
    file_of(fill_most).write(path)
    before = path.read_bytes()
    told = json.loads(run_words(["check", "--json", "--project", str(path)])[1])
    assert told["sound"] and [one["name"] for one in told["checks"]] == list(WHAT)
    assert {name for name, *_ in WRONG} | {"file"} == set(WHAT), "every check is tried on a fault"
    assert all(not one["findings"] for one in told["checks"])
    assert path.read_bytes() == before and [one.name for one in tmp_path.iterdir()] == [path.name]
    hurt = broken(tmp_path, "UPDATE rankings SET rank = 0 WHERE run_key = (SELECT max(run_key) FROM rankings)")
    hurt.close()
    code, out, err = run_words(["check", "--project", str(hurt.path)])
    line, end = err.splitlines()
    assert code == 1
    assert mentions(end, "1") and mentions(end, "broken.duckdb")
    assert line.startswith("values: rankings: ") and mentions(line, "2")
    assert ": run_key " in line and ", rank 0, score" in line and "exam restore" in line
    assert ["values", "1"] in [row.split()[:2] for row in out.decode().splitlines()]


WRONG = [
    ("schema", "ALTER TABLE queries ADD COLUMN colour VARCHAR", "queries", "missing-object"),
    ("schema", "DROP VIEW settled_cases", "settled_cases", "missing-object"),
    ("schema", "INSERT INTO migrations VALUES (99, '0099_odd', now()::TIMESTAMP)", "migrations", "steps-differ"),
    ("values", "UPDATE grades SET rating = 6", "grades", "rating-off-scale"),
    ("uniqueness", "INSERT INTO grades FROM grades", "grades",
     "repeated-grader-key-question-text-key-passage-text-key"),
    ("references", "UPDATE overrides SET passage_key = 7777", "overrides", "unknown-passage-key"),
    ("orphans", "DELETE FROM question_revisions WHERE question_key = (SELECT max(question_key) FROM questions)",
     "questions", "no-revision"),
    ("contents", "UPDATE graders SET model = 'other'", "graders", "fingerprint-differs"),
    ("hashes", "DELETE FROM published_passages WHERE position = 1", "published_pools", "hash-differs"),
    ("revisions", "UPDATE question_revisions SET parent_revision = NULL", "question_revisions", "parent-differs"),
    ("revisions", "UPDATE bank_versions SET version = 9 WHERE version = 2", "bank_versions", "gap-in-versions"),
    ("keys", "CREATE OR REPLACE SEQUENCE keys START 5", "activity", "key-not-given-out"),
    ("pool", "DELETE FROM pool WHERE position = 1", "pool", "not-pooled"),
    ("publications", "UPDATE overrides SET rating = 1", "publications", "publication-differs"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "sql", "table", "code"), WRONG)
def test_fault_is_named_with_example_and_fix(tmp_path: Path, name: str, sql: str, table: str, code: str) -> None:
    project = broken(tmp_path, sql)
    found = integrity._run_check(project, WHAT[name])
    project.close()
    assert (table, code) in {(one.table, one.code) for one in found}
    assert all(one.rows >= 1 and one.todo and one.check == name for one in found)


def test_foreign_table_blocks_no_other_check_and_damage_is_found(tmp_path: Path) -> None:
    table = '"my ""own"" notes"'
    made = f'CREATE TABLE {table} ("a b_key" INTEGER PRIMARY KEY)'
    project = broken(tmp_path, f"{made}; INSERT INTO {table} VALUES (2000000)")
    found = {
        one.check: (one.table, one.example) for several in exchange.check_project(project).values() for one in several
    }
    project.close()
    name = 'my "own" notes'
    assert found == {"schema": (name, ""), "keys": (name, "a b_key 2000000")}
    path = tmp_path / "damaged.duckdb"
    file_of(fill_most).write(path)
    damage(path, "queries", "text")
    project = open_project(path, read_only=True)
    found = exchange.check_project(project)
    project.close()
    assert [(one.table, one.code) for one in found["file"]] == [("queries", "unreadable-table")]
    assert not found["revisions"] and not found["keys"]
    (not_looked_at,) = found["publications"]
    assert not_looked_at.code == "damaged-project"
