"""Hostile project files: they run no code, and read and write nothing outside themselves."""

from __future__ import annotations

import ast
import json
import os
from dataclasses import asdict
from pathlib import Path

import duckdb
import pytest

import exam_workbench
from exam_workbench import bank, cli
from exam_workbench.errors import InputError, ProjectError
from exam_workbench.exchange import check_project
from exam_workbench.records import peek_members
from exam_workbench.store import Project, create_project, database_connection, migrations, open_project, restore_backup
from exam_workbench.store._backups import verify_backup
from exam_workbench.types import Question
from tests.made.engine_failure import break_database
from tests.made.fuzz_parquet import fill_most
from tests.made.projects import SPEC, commit, file_of, made_project
from tests.made.refusals import refusal

# {secret} is a file of the user; {target} is a file that must not appear or change.
ATTACKS = {
    "view that reads a file": "CREATE OR REPLACE VIEW settled_cases AS FROM read_text('{secret}')",
    "further view that reads a file": "CREATE VIEW odd AS FROM read_text('{secret}')",
    "view that lists a folder": "CREATE VIEW odd AS FROM glob('/*')",
    "view that opens a database": "CREATE VIEW odd AS FROM read_duckdb('{other}', table_name = 'settings')",
    "view that turns profiling on": "CREATE VIEW odd AS FROM enable_profiling(save_location = '{target}')",
    "view that turns logging on": "CREATE VIEW odd AS FROM enable_logging(storage = 'file', storage_path = '{target}')",
    "endless view": "CREATE OR REPLACE VIEW settled_cases AS WITH RECURSIVE endless(n) AS"
    " (SELECT 1 UNION ALL SELECT 1 FROM endless) SELECT s.* FROM settlings s, endless",
    "macro under its own name": "CREATE OR REPLACE MACRO bank_at(upto) AS TABLE SELECT r.* FROM question_revisions r,"
    " read_text('{secret}')",
    "macro with a parameter more": "CREATE OR REPLACE MACRO places(x := 1) AS TABLE SELECT query_key AS asking_key,"
    " query_key, NULL AS subtopic_id FROM queries UNION ALL FROM topics()",
    "macro over a built-in function": "CREATE MACRO max(x) AS (SELECT content FROM read_text('{secret}'))",
    "macro over the catalogue": "CREATE MACRO duckdb_tables() AS TABLE FROM read_text('{secret}')",
    "macro over an operator": "CREATE MACRO \"||\"(a, b) AS (SELECT content FROM read_text('{secret}'))",
    "view over the catalogue": "CREATE VIEW duckdb_views AS FROM read_text('{secret}')",
    "generated column": "ALTER TABLE listed RENAME TO listed_before; CREATE TABLE listed (query_key INTEGER,"
    " passage_key INTEGER, position INTEGER AS (query_key + 1)); DROP TABLE listed_before",
    "default": "ALTER TABLE settings ALTER COLUMN value SET DEFAULT uuid()::VARCHAR",
    "check": "DROP TABLE listed; CREATE TABLE listed (query_key INTEGER NOT NULL CHECK (query_key > random()),"
    " passage_key INTEGER NOT NULL, position INTEGER NOT NULL)",
    "column": "ALTER TABLE grades ADD COLUMN colour VARCHAR",
    "table": "CREATE TABLE odd (odd INTEGER)",
    "table with signs in its name": 'CREATE TABLE "a;--""b" (odd INTEGER)',
    "table in a schema of its own": "CREATE SCHEMA odd; CREATE TABLE odd.migrations (name VARCHAR)",
    "index": "CREATE INDEX odd ON grades (hash(raw))",
    "sequence": "CREATE SEQUENCE odd",
    "type": "CREATE TYPE odd AS ENUM ('a')",
    "missing view": "DROP VIEW settled_cases",
    "migrations that are a view": "DROP TABLE migrations; CREATE VIEW migrations AS SELECT 0 AS position,"
    " content AS name FROM read_text('{secret}')",
    "migrations with a generated column": "DROP TABLE migrations; CREATE TABLE migrations (position INTEGER,"
    " name VARCHAR AS ('0001_initial'))",
}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text("the secret")
    return path


COMMANDS = (("status",), ("status", "--json"), ("check",), ("backup",), ("export", "project", "-o", "out"))
FIRST = next(iter(ATTACKS))


@pytest.mark.parametrize("attack", ATTACKS)
def test_project_with_foreign_objects_is_refused_before_running(
    tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], attack: str
) -> None:
    path, target = tmp_path / "sent.duckdb", tmp_path / "target"
    other = tmp_path / "other.duckdb"
    file_of(fill_most).write(path)
    if "{other}" in ATTACKS[attack]:
        file_of(fill_most).write(other)
    with duckdb.connect(path) as connection:
        for statement in ATTACKS[attack].format(secret=secret, target=target, other=other).split("; "):
            connection.execute(statement)
    before, names = path.read_bytes(), set(os.listdir(tmp_path))
    for read_only in (False, True):
        with pytest.raises(ProjectError) as refused:
            open_project(path, read_only)
        assert "sent.duckdb" in refused.value.message and refused.value.hint
    assert peek_members(path) == frozenset()
    monkeypatch.chdir(tmp_path)
    # All commands open projects alike, so the first attack runs all of them and every other attack runs one.
    at = list(ATTACKS).index(attack)
    with pytest.raises(ProjectError):
        verify_backup(path)
    with pytest.raises(ProjectError):
        restore_backup(path, tmp_path / "restored.duckdb", "ann")
    for words in COMMANDS if attack == FIRST else COMMANDS[at % len(COMMANDS) :][:1]:
        assert cli.run_command([*words, "--project", str(path)]) == 1
        said = capsys.readouterr()
        assert said.out == "" and said.err.startswith("exam: ") and said.err.count("\n") == 1
        assert "the secret" not in said.err
    assert set(os.listdir(tmp_path)) == names and path.read_bytes() == before


def test_schema_of_every_migration_opens_even_read_only(tmp_path: Path) -> None:
    path = tmp_path / "growing.duckdb"
    for number, name in enumerate(migrations.migration_names(), 1):
        with database_connection(path, made_here=number == 1) as connection:
            migrations.apply_migrations(connection, [name])
        # After reopening a file, the engine words some definitions differently.
        with database_connection(path, read_only=True) as connection:
            assert len(migrations.applied_migrations(connection)) == number
            assert migrations.digest_of(migrations.read_objects(connection)) in migrations.DIGESTS.read_text()


def test_digests_match_migrations_and_few_modules_open_databases() -> None:
    assert migrations.DIGESTS.read_text() == migrations.make_digests(), "run python -m exam_workbench.store.migrations"
    found = set()
    for file in Path(exam_workbench.__file__).parent.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
        if any(ast.unparse(call) in ("duckdb.connect", "duckdb.default_connection") for call in calls):
            found.add(file.name)
    # These open the project file, a schema for comparison, and tables of shards outside any project.
    assert found == {"_database.py", "migrations.py", "_engine.py"}


def test_unknown_digest_falls_back_to_comparing_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "_known_digests", frozenset)
    path = tmp_path / "made.duckdb"
    file_of(fill_most).write(path)
    open_project(path, read_only=True).close()
    with duckdb.connect(path) as connection:
        connection.execute("CREATE VIEW odd AS SELECT 1")
    with refusal("project-changed-elsewhere", "odd", "view", kind=ProjectError):
        open_project(path)


def refused_access(project: Project, secret: Path) -> None:
    """Try to reach files from statements of an open project."""
    folder = secret.parent
    outside = str(folder / "outside")
    link = project.working_folder / "link"
    if not link.exists():
        link.symlink_to(folder)
    statements = (
        f"FROM read_text('{secret}')",
        f"FROM read_text('{project.working_folder}/../{secret.name}')",
        f"FROM read_text('{link}/{secret.name}')",
        "FROM read_blob('/proc/self/environ')",
        f"FROM glob('{folder}/*')",
        f"COPY settings TO '{outside}.parquet'",
        f"COPY settings TO '{link}/outside.parquet'",
        f"EXPORT DATABASE '{outside}'",
        f"ATTACH '{outside}.duckdb'",
        f"SET log_query_path = '{outside}.log'",
        "INSTALL httpfs",
        "LOAD httpfs",
        f"SET temp_directory = '{folder}'",
        "SET enable_external_access = true",
        f"SET allowed_directories = ['{folder}']",
    )
    for statement in statements:
        with project.cursor() as cursor:
            try:
                cursor.execute(statement).fetchall()
            except duckdb.Error:
                continue
        pytest.fail(f"was not refused: {statement}")
    with project.cursor() as cursor:
        made = project.working_folder / "settings.parquet"
        cursor.execute(f"COPY settings TO '{made}'")
        assert cursor.execute(f"FROM read_parquet('{made}')").fetchall()
        cursor.execute("SET memory_limit = '1GB'")
    assert not list(folder.glob("outside*"))


def test_connection_reaches_only_own_file_even_after_reopening(tmp_path: Path, secret: Path) -> None:
    path = tmp_path / "open" / "mine.duckdb"
    path.parent.mkdir()
    file_of(fill_most).write(path)
    project = open_project(path)
    refused_access(project, secret)
    break_database(project)
    assert project.value("SELECT 1") == 1 and project.reopenings
    refused_access(project, secret)
    second = open_project(path, read_only=False)
    refused_access(second, secret)
    assert project.working_folder.stat().st_mode & 0o777 == 0o700
    second.close()
    assert project.working_folder.exists()
    project.close()
    assert {file.name for file in path.parent.iterdir()} == {"mine.duckdb"}


def test_project_opens_by_link_and_in_folder_with_wildcards(tmp_path: Path, secret: Path) -> None:
    folder = tmp_path / "TREC [2020] *"
    folder.mkdir()
    project = made_project(folder / "a [1].duckdb", fill_most)
    refused_access(project, secret)
    project.close()
    link = tmp_path / "link.duckdb"
    link.symlink_to(folder / "a [1].duckdb")
    project = open_project(link)
    commit(project, "INSERT INTO settings VALUES ('a', 'b')")
    assert project._database.checkpoint()
    project.close()
    assert set(tmp_path.iterdir()) == {folder, link, secret}
    # DuckDB treats text after "?" as parameters and would write its log to another path.
    with pytest.raises(InputError):
        create_project(tmp_path / "a?.duckdb")


def test_project_of_first_release_is_fully_upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "early.duckdb"
    with monkeypatch.context() as early:
        early.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:1])
        create_project(path).close()
    with duckdb.connect(path) as old:
        old.execute("SELECT nextval('keys') FROM range(100)").fetchall()
        for table, rows in EARLY.items():
            old.execute(f"INSERT INTO {table} VALUES {rows}")
    project = open_project(path)
    assert not any(check_project(project).values())
    # The draft cannot be undone, because the first release had no undo.
    (draft,) = bank.list_drafts(project, "ann").values()
    assert draft.question == DRAFTED and not bank.undo_step(project, "ann")
    bank.change_draft(project, "ann", DRAFTED, "weight", 2.0)
    assert bank.undo_step(project, "ann") and bank.list_drafts(project, "ann")["q1/1"].question == DRAFTED
    project.close()
    assert cli.run_command(["leaderboard", "--project", str(path), "--measure", "nDCG@2"]) == 0
    assert cli.run_command(["export", "qrels", "--project", str(path), "-o", str(tmp_path / "early.qrels")]) == 0
    assert (tmp_path / "early.qrels").read_text().split() == ["q1", "0", "p1", "4", "q1", "0", "p2", "0"]
    with duckdb.connect(tmp_path / "early.duckdb.before-0002_draft_steps", read_only=True) as kept:
        assert kept.execute("SELECT rating FROM grades ORDER BY 1").fetchall() == [(0,), (4,)]
    project = open_project(path)
    assert bank.save_drafts(project, "ann", "at last") == 2 and bank.list_questions(project) == [DRAFTED]
    project.close()


DRAFTED = Question("q1/1", "q1", "Old draft?", choices=("x", "y"))
EARLY = {
    "queries": "(1, 'q1', 'a query', NULL)",
    "passage_texts": "(2, 'one text'), (3, 'another text')",
    "passages": "(4, 'p1', 2), (5, 'p2', 3)",
    "runs": "(6, 'a', 'a', 'a.run'), (7, 'b', 'b', 'b.run')",
    "rankings": "(6, 1, 4, 1, 2.0), (6, 1, 5, 2, 1.0), (7, 1, 5, 1, 2.0), (7, 1, 4, 2, 1.0)",
    "pool": "(1, 4, 2, 1), (1, 5, 3, 2)",
    "bank_versions": "(1, 'first', 'ann', TIMESTAMP '2024-01-01')",
    "question_texts": "(8, 'Which one?', NULL)",
    "questions": "(9, 'q1/1', 1)",
    "question_revisions": "(10, 9, 1, 8, 'question', 1, true, NULL, NULL, '[]', NULL, 1, NULL)",
    "graders": f"(11, '{SPEC.fingerprint}', 'test grader', 'self-rating', 'none', '', '', '{{}}',"
    f" '{json.dumps(SPEC.kinds)}', 5)",
    "grades": "(11, 8, 2, 4, false, NULL, NULL, NULL, 12), (11, 8, 3, 0, false, NULL, NULL, NULL, 12)",
    "jobs": "(12, 11, '{}', 'done', 2, 2, 0, '', 'ann', TIMESTAMP '2024-01-01', TIMESTAMP '2024-01-01')",
    "drafts": f"('ann', 'q1/1', 1, 1, '{json.dumps(asdict(DRAFTED))}', TIMESTAMP '2024-01-01')",
    "activity": "(13, TIMESTAMP '2024-01-01', 'ann', 'save bank', '{\"version\": 1}')",
}
