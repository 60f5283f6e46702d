"""`exam check` finds what is wrong in a project, says where and what to do, and changes nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from core import cli
from core.exchange import CHECKS, check, checking
from core.exchange.checking import Check
from core.project import Project, open_project
from tests.made.fuzz_parquet import fill_most
from tests.made.projects import file_of, made_project
from tests.made.refusals import mentions
from tests.project.test_bad_files import damage

WHAT: dict[str, Check] = {one.name: one for one in CHECKS}


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["exam", *words])
    try:
        cli.main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def broken(folder: Path, sql: str) -> Project:
    project = made_project(folder / "broken.duckdb", fill_most)
    with project.transaction() as cursor:
        for one in sql.split(";"):
            cursor.execute(one)
    return project


def test_a_sound_project_is_sound_and_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "whole.duckdb"
    file_of(fill_most).write(path)
    before = path.read_bytes()
    assert run(monkeypatch, "check", "--project", str(path), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["sound"] and [one["name"] for one in told["checks"]] == list(WHAT)
    assert all(not one["findings"] for one in told["checks"])
    assert path.read_bytes() == before and [one.name for one in tmp_path.iterdir()] == [path.name]


WRONG = [
    ("schema", "ALTER TABLE queries ADD COLUMN colour VARCHAR", "queries", "the table is missing or changed"),
    ("schema", "DROP VIEW settled_cases", "settled_cases", "the view is missing or changed"),
    ("schema", "INSERT INTO migrations VALUES (99, '0099_odd', now()::TIMESTAMP)", "migrations", "its steps"),
    ("values", "UPDATE grades SET rating = 6", "grades", "the rating is not on the grader's scale"),
    ("uniqueness", "INSERT INTO grades FROM grades", "grades", "the same grader and question text and passage text"),
    ("uniqueness", "INSERT INTO passages FROM passages", "passages", "the same passage id twice"),
    ("uniqueness", "UPDATE questions SET question_id = 'same'", "questions", "the same question id twice"),
    ("references", "UPDATE overrides SET passage_key = 7777", "overrides", "the passage is not among the passages"),
    ("orphans", "DELETE FROM question_revisions WHERE question_key = (SELECT max(question_key) FROM questions)",
     "questions", "has no revision"),
    ("contents", "UPDATE graders SET model = 'other'", "graders", "the fingerprint is that of another grader"),
    ("hashes", "DELETE FROM published_passages WHERE position = 1", "published_pools", "not those of its hash"),
    ("revisions", "UPDATE question_revisions SET parent_revision = NULL", "question_revisions", "does not follow"),
    ("revisions", "UPDATE bank_versions SET version = 9 WHERE version = 2", "bank_versions", "have a gap"),
    ("keys", "CREATE OR REPLACE SEQUENCE keys START 5", "activity", "the last key that was given out"),
    ("pool", "DELETE FROM pool WHERE position = 1", "pool", "a pooled passage is missing"),
    ("publications", "UPDATE overrides SET rating = 1", "publications", "cannot be made again: the qrels would have"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "sql", "table", "reason"), WRONG)
def test_what_is_wrong_is_named_with_an_example_and_what_to_do(
    tmp_path: Path, name: str, sql: str, table: str, reason: str
) -> None:
    project = broken(tmp_path, sql)
    found = checking._found(project, WHAT[name])
    project.close()
    assert any(one.table == table and reason in one.reason for one in found), found
    assert all(one.rows >= 1 and one.todo and one.check == name for one in found)


def test_every_check_is_tried_on_something_wrong() -> None:
    assert {name for name, *_ in WRONG} | {"file"} == set(WHAT)


def test_the_first_row_is_shown_and_the_command_ends_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken(tmp_path, "UPDATE rankings SET rank = 0 WHERE run_key = (SELECT max(run_key) FROM rankings)").close()
    assert run(monkeypatch, "check", "--project", str(tmp_path / "broken.duckdb")) == 1
    said = capsys.readouterr()
    line, end = said.err.splitlines()
    assert mentions(end, "1") and mentions(end, "broken.duckdb")
    assert line.startswith("values: rankings: a rank is below 1, 2× (first: run_key ")
    assert ", rank 0, score" in line and "exam restore" in line
    assert "values        1 wrong" in said.out


def test_a_table_of_somebody_else_hinders_no_other_check(tmp_path: Path) -> None:
    table = '"my ""own"" notes"'
    made = f'CREATE TABLE {table} ("a b_key" INTEGER PRIMARY KEY)'
    project = broken(tmp_path, f"{made}; INSERT INTO {table} VALUES (2000000)")
    found = {one.check: (one.table, one.example) for several in check(project).values() for one in several}
    project.close()
    name = 'my "own" notes'
    assert found == {"schema": (name, ""), "keys": (name, "a b_key 2000000")}


def test_damage_in_a_table_is_found_and_the_rest_is_looked_at_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "damaged.duckdb"
    file_of(fill_most).write(path)
    damage(path, "queries", "text")
    project = open_project(path, read_only=True)
    found = check(project)
    project.close()
    assert [(one.table, one.todo) for one in found["file"]] == [("queries", checking.RESTORE)]
    assert not found["revisions"] and not found["keys"]
    (not_looked_at,) = found["publications"]
    assert "is damaged: a part of it cannot be read" in not_looked_at.reason
