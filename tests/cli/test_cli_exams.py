"""The commands about exams for pipelines, from adding students to the board, as a person at a shell uses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from exam_workbench import cli
from exam_workbench.bank import DraftedItem, Generation, add_generations
from exam_workbench.records import add_passages, add_queries
from exam_workbench.store import open_project
from exam_workbench.types import Query
from tests.made.exams import METALS, item, put_exam, source
from tests.made.projects import new_project
from tests.made.refusals import refusal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    project = new_project(tmp_path / "exam.duckdb")
    put_exam(project, 12, ("x",))
    project.close()
    return tmp_path / "exam.duckdb"


def run(path: Path, *arguments: str) -> Any:
    given = [*arguments, "--project", str(path)]
    result = CliRunner().invoke(cli.cli, given, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout) if "--json" in arguments else result.output


def test_students_sit_and_are_compared(path: Path) -> None:
    run(path, "examinees", "add", "--by", "random", "--factor", "kind=rule")
    assert "passages for 12 items" in run(path, "examinees", "retrieve", "words", "--with", "bm25", "--depth", "2")
    for retrieval in ("closed-book", "oracle", "words"):
        run(path, "examinees", "add", "--by", "embedding", "--retrieval", retrieval)
    told = run(path, "sit", "--limit", "5", "--json")
    assert [one["answered"] for one in told.values()] == [5]
    told = run(path, "sit", "--json")
    assert [(one["state"], one["answered"]) for one in told.values()] == [("done", n) for n in (7, 12, 12, 12)]
    listed = run(path, "examinees", "list", "--json")
    assert [one["standing"]["missing"] for one in listed["students"]] == [0] * 4
    assert [one["name"] for one in listed["retrievals"]] == ["words"]
    assert "all-MiniLM-L6-v2 oracle" in run(path, "examinees", "list")

    board = run(path, "exam-board", "--json")["students"]
    assert {one["student"]: one["accuracy"] for one in board}["all-MiniLM-L6-v2 oracle"] == 1
    cells = run(path, "exam-board", "--best-of", "icl", "--json")
    assert cells["best"]["all-MiniLM-L6-v2"] == ["words"] and cells["accuracy"]["random"]["words"] is None
    topics = run(path, "exam-board", "--by", "topic", "--json")["rows"]
    assert [(one["topic"], one["answered"]) for one in topics] == [("x", 12)] * 4
    pairs = run(path, "exam-board", "--compare", "mcnemar", "--json")["comparisons"]
    assert len(pairs) == 6 and all(one["items"] == 12 for one in pairs)
    for more in ((), ("--best-of", "icl"), ("--by", "topic"), ("--compare", "randomisation")):
        assert "all-MiniLM-L6-v2" in run(path, "exam-board", *more)


def test_thresholds_are_recorded_when_items_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "made.duckdb"
    project = new_project(path)
    with project.transaction() as cursor:
        add_queries(cursor, [Query("exam", "An exam")], replace=False)
        add_passages(cursor, [source(item(number)) for number in range(1, 41)])
    made_by = ("item", "exam", "m", "exam-item", "0" * 64)
    wrote = [Generation(*made_by, (), "Hm.", reason="no question", passage_id="p1")]
    for at in range(1, 41):
        one = item(at, at % 4)
        drafted = DraftedItem(f"exam/{at}", one.choices, str(one.answer_key))
        wrote.append(
            Generation(*made_by, (f"{METALS[at % 12]}: {one.text}",), "raw", passage_id=f"p{at}", item=drafted)
        )
    project.write(lambda cursor: add_generations(cursor, wrote, "ann"))
    project.close()
    filters = ("--near", "1", "--any-reference")
    checked = run(path, "items", "check", "--of", "proposals", *filters, "--json")
    fell = sum(bool(one["hits"]) for one in checked["items"])
    assert 0 < fell < 40
    accepted = run(path, "items", "accept", "--passing", *filters, "--note", "those that pass", "--json")
    assert len(accepted["items"]) == 40 - fell
    made = run(path, "items", "statistics", "--json")
    assert {name: made["making"][name] for name in ("candidates", "unparsed", "filtered", "accepted", "undecided")} == {
        "candidates": 41, "unparsed": 1, "filtered": fell, "accepted": 40 - fell, "undecided": 0,
    }  # fmt: skip
    assert (made["filtered"], made["kept"]) == ({}, 40 - fell), "the items that passed still pass"
    assert run(path, "items", "check", "--of", "bank", "--json")["thresholds"] == checked["thresholds"]
    assert run(path, "items", "statistics", "--share", "0.1", *filters, "--json")["filtered"]


def test_a_matrix_and_a_run_come_in(path: Path, tmp_path: Path) -> None:
    matrix = tmp_path / "m.csv"
    matrix.write_text("student,i1,i2\npaper,1,0\n")
    assert "new answers: 2" in run(path, "import", "responses-matrix", str(matrix))
    trec = tmp_path / "dense.run"
    trec.write_text("i1 Q0 p1 1 0.9 dense\n")
    assert "passages for 1 item." in run(path, "examinees", "retrieve", "dense", "--run", str(trec))
    assert run(path, "exam-board", "--student", "paper", "--json")["students"][0]["accuracy"] == 0.5
    project = open_project(path)
    assert project.value("SELECT count(*) FROM runs") == 0
    project.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("examinees", "add", "--by", "random", "--factor", "kind"), ("invalid-component", "kind")),
        (("examinees", "retrieve", "words"), ("option-missing",)),
        (("exam-board", "--best-of", "icl", "--by", "topic"), ("options-exclude-each-other",)),
        (("sit", "--key-variable", "KEY"), ("option-missing",)),
        (("sit",), ("no-student",)),
    ],
)
def test_what_makes_no_sense_is_told(path: Path, arguments: tuple[str, ...], said: tuple[str, ...]) -> None:
    with refusal(*said):
        run(path, *arguments)
