"""Cached results are recomputed if and only if a table that they read has changed."""

from __future__ import annotations

import re

import pytest

from exam_workbench.store import Project, cache, read_objects
from tests.made.projects import commit, filled_project, judge

project = filled_project(lambda made: judge(made, {("q1", "p1"): 1}))


def test_views_and_macros_are_mapped_to_their_tables(project: Project) -> None:
    with project.cursor() as cursor:
        objects = read_objects(cursor)
    named = {name for _, _, name, _, _ in objects}
    words = {
        name: set(re.findall(r"\w+", text)) & named - {name}
        for kind, _, name, text, _ in objects
        if kind in ("view", "macro")
    }
    behind: dict[str, set[str]] = {}

    def tables(name: str) -> set[str]:
        if name not in words:
            return {name}
        behind[name] = set().union(*map(tables, words[name]))
        return behind[name]

    for name in words:
        tables(name)
    # A column with the name of a table can only add a table that is not read.
    assert {name: found - set(cache.VIEWS[name]) for name, found in behind.items()} == {name: set() for name in behind}
    assert cache.VIEWS.keys() == words.keys()


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("INSERT INTO grades VALUES (1)", {"grades"}),
        ("INSERT OR REPLACE INTO settings VALUES ('a', 'b')", {"settings"}),
        ("INSERT OR IGNORE INTO prompts SELECT * FROM grades", {"prompts"}),
        ("WITH a AS (SELECT 1) INSERT INTO pool FROM a", {"pool"}),
        ("UPDATE jobs SET state = 'done' FROM grades", {"jobs"}),
        ("DELETE FROM pool; INSERT INTO listed FROM pool", {"pool", "listed"}),
        ("SELECT * FROM grades", set()),
        ("FROM grades", set()),
        ("CREATE OR REPLACE TEMP TABLE one AS FROM grades", set()),
        ("DROP TABLE one", set()),
        ("CALL something()", {cache.EVERY}),
    ],
)
def test_tables_written_by_statement_are_recognized(sql: str, tables: set[str]) -> None:
    assert cache.tables_written(sql) == tables


def test_cached_results_follow_commits_to_their_tables(project: Project) -> None:
    computed: list[str] = []

    def result(reads: frozenset[str]) -> int:
        return project.cached("key", lambda: computed.append("") or len(computed), reads)

    graders = frozenset({"graders"})
    assert (result(graders), result(graders)) == (1, 1)
    commit(project, "INSERT INTO settings VALUES ('a', 'b')")
    assert result(graders) == 1
    commit(project, "DELETE FROM graders")
    assert result(graders) == 2
    with pytest.raises(ZeroDivisionError), project.transaction() as cursor:
        cursor.execute("DELETE FROM graders")
        raise ZeroDivisionError
    assert result(graders) == 2, "nothing was committed"
    count = "SELECT count(*) FROM all_subtopics()"
    assert project.value(count) == 0
    commit(project, "INSERT INTO subtopics VALUES (1, 's1', 'text', 1)")
    assert project.value(count) == 1


def test_result_with_hidden_rows_is_cached_per_person(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    person: list[str | None] = [None]
    monkeypatch.setattr(Project, "limited_to", lambda self: person[0])

    def read(reads: frozenset[str]) -> str | None:
        return project.cached(("for", reads), lambda: person[0], reads)

    seen = {}
    for name in (None, "ann", "bob", None, "ann"):
        person[0] = name
        seen[name] = read(cache.JUDGMENTS), read(cache.LABELS)
    assert seen == {None: (None, None), "ann": ("ann", None), "bob": ("bob", None)}


def test_failed_result_is_computed_again_only_after_a_commit_meanwhile(project: Project) -> None:
    computed: list[int] = []

    def divide(changes: bool) -> float:
        computed.append(len(computed))
        if changes and len(computed) == 1:
            commit(project, "DELETE FROM graders")
        return 6 / computed[-1]

    assert project.cached("key", lambda: divide(changes=True), frozenset({"graders"})) == 6
    computed.clear()
    with pytest.raises(ZeroDivisionError):
        project.cached("other", lambda: divide(changes=False), frozenset({"graders"}))
    assert computed == [0]
