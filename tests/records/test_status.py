"""What a project holds, and how many questions there are for what is judged."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from exam_workbench import cli
from exam_workbench.bank import judged_queries
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill, judge, new_project

BANK = [
    Question("q1/a", "q1", "A?"),
    Question("q1/b", "q1", "B is so", kind="nugget"),
    Question("q1/old", "q1", "Old?", active=False),
    Question("q2/c", "q2", "C?"),
    Question("q4/d", "q4", "D?"),
]
RUNS = {"one": {"q1": ["p1"], "q2": ["p1"], "q3": ["p1"], "q4": ["p1"]}}


def test_questions_are_counted_over_the_queries_that_have_judgments(project: Project) -> None:
    fill(project, BANK, {}, RUNS)
    judge(project, {("q1", "p1"): 1, ("q2", "p1"): 0, ("q3", "p1"): 1})
    judge(project, {("q1", "p1"): 0}, "another source")
    found = judged_queries(project)
    assert (found.queries, found.without_questions) == (3, 1)
    assert found.questions == pytest.approx((2 + 1 + 0) / 3)


def test_without_judgments_there_is_no_number(project: Project) -> None:
    fill(project, BANK, {}, RUNS)
    assert judged_queries(project).as_dict() == {
        "judged queries": 0,
        "judged queries without questions": 0,
        "questions a judged query": None,
    }


def test_the_shell_says_it_in_both_forms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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
