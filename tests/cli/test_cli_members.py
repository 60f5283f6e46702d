"""The commands for people: the first organizer from the shell, roles given, changed, taken away and undone."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from exam_workbench.cli import cli
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill
from tests.made.refusals import check_error


@pytest.fixture
def exam(project: Project, monkeypatch: pytest.MonkeyPatch):
    fill(project, [Question("q1/a", "q1", "What is A?")], {}, {})
    project.close()
    monkeypatch.setenv("EXAM_PROJECT", str(project.path))
    monkeypatch.setenv("EXAM_AUTHOR", "root")

    def run(*words: str) -> Result:
        return CliRunner().invoke(cli, ["people", *words])

    return run


def test_roles_are_given_changed_undone_and_taken_away(exam) -> None:
    held = []
    for words in (
        "add Ann@Example.org --role organizer",
        "add bob@example.org --role assessor --name Bobby --query q1",
        "change bob@example.org --all-queries",
        "undo bob@example.org",
        "remove bob@example.org",
        "undo bob@example.org",
    ):
        assert exam(*words.split()).exit_code == 0
        people = {one["name"]: one for one in json.loads(exam("list", "--json").output)["people"]}
        held.append(people["Bobby"]["queries"] if "Bobby" in people else "no role")
    assert held == ["no role", ["q1"], None, ["q1"], "no role", ["q1"]]
    assert json.loads(exam("list", "--json").output)["people"] == [
        {"identity": "bob@example.org", "name": "Bobby", "role": "assessor", "queries": ["q1"], "further": []},
        {"identity": "ann@example.org", "name": "ann", "role": "organizer", "queries": None, "further": []},
    ]
    assert exam("list").output.splitlines()[1:] == [
        "bob@example.org  Bobby  assessor   q1",
        "ann@example.org  ann    organizer  all",
    ]


def test_the_last_organizer_stays(exam) -> None:
    exam("add", "ann@example.org", "--role", "organizer")
    done = exam("remove", "ann@example.org")
    check_error(done.exception, "last-organizer", "ann")
