"""`exam check` finds what is wrong in a project, says where and what to do, and changes nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from exam_workbench import cli
from exam_workbench.exchange import CHECKS, _integrity as integrity, check_project
from exam_workbench.exchange._integrity import Check
from exam_workbench.store import Project, open_project
from tests.made.fuzz_parquet import fill_most
from tests.made.projects import file_of, made_project
from tests.made.refusals import mentions
from tests.records.test_bad_files import damage

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
    ("schema", "ALTER TABLE queries ADD COLUMN colour VARCHAR", "queries", "missing-object"),
    ("schema", "DROP VIEW settled_cases", "settled_cases", "missing-object"),
    ("schema", "INSERT INTO migrations VALUES (99, '0099_odd', now()::TIMESTAMP)", "migrations", "steps-differ"),
    ("values", "UPDATE grades SET rating = 6", "grades", "rating-off-scale"),
    ("uniqueness", "INSERT INTO grades FROM grades", "grades",
     "repeated-grader-key-question-text-key-passage-text-key"),
    ("uniqueness", "INSERT INTO passages FROM passages", "passages", "repeated-passage-id"),
    ("uniqueness", "UPDATE questions SET question_id = 'same'", "questions", "repeated-question-id"),
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
def test_what_is_wrong_is_named_with_an_example_and_what_to_do(
    tmp_path: Path, name: str, sql: str, table: str, code: str
) -> None:
    project = broken(tmp_path, sql)
    found = integrity._run_check(project, WHAT[name])
    project.close()
    assert (table, code) in {(one.table, one.code) for one in found}
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
    assert line.startswith("values: rankings: ") and mentions(line, "2")
    assert ": run_key " in line and ", rank 0, score" in line and "exam restore" in line
    assert ["values", "1"] in [row.split()[:2] for row in said.out.splitlines()]


def test_a_table_of_somebody_else_hinders_no_other_check(tmp_path: Path) -> None:
    table = '"my ""own"" notes"'
    made = f'CREATE TABLE {table} ("a b_key" INTEGER PRIMARY KEY)'
    project = broken(tmp_path, f"{made}; INSERT INTO {table} VALUES (2000000)")
    found = {one.check: (one.table, one.example) for several in check_project(project).values() for one in several}
    project.close()
    name = 'my "own" notes'
    assert found == {"schema": (name, ""), "keys": (name, "a b_key 2000000")}


def test_damage_in_a_table_is_found_and_the_rest_is_looked_at_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "damaged.duckdb"
    file_of(fill_most).write(path)
    damage(path, "queries", "text")
    project = open_project(path, read_only=True)
    found = check_project(project)
    project.close()
    assert [(one.table, one.code) for one in found["file"]] == [("queries", "unreadable-table")]
    assert not found["revisions"] and not found["keys"]
    (not_looked_at,) = found["publications"]
    assert not_looked_at.code == "damaged-project"
