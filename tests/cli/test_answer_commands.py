"""The commands about answers, from a corpus and a model behind an endpoint to a table, cases and EXAM-Cover beside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from exam_workbench.cli import cli
from exam_workbench.store import open_project
from exam_workbench.types import Question
from tests.answers.made import Script, Told, collection, question
from tests.made.endpoint_server import EndpointServer
from tests.made.projects import import_bank, new_project
from tests.made.refusals import check_error

TOLD = {
    "q1": Told("The dam of Aswan was closed in 1970.", ("gold-q1",), ("1970",), ("1970", "in 1970", "1970"), "1970"),
    "q2": Told("The lake is ninety metres deep.", ("gold-q1",), ("ninety metres",), ("90 m", "90 m", "90 m"), "1970"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    project = new_project(tmp_path / "answers.duckdb")
    collection(project, TOLD, {"one": {"q1": ["gold-q1"], "q2": ["gold-q1"]}, "two": {"q1": ["gold-q2"]}})
    import_bank(project, [Question(f"{name}/1", name, question(name)) for name in TOLD])
    project.close()
    return project.path


@pytest.fixture
def server() -> Iterator[EndpointServer]:
    with EndpointServer(Script(TOLD, same=[("90 m", "ninety metres")])) as running:
        yield running


def run(path: Path, *arguments: str, fails: bool = False) -> Any:
    result = CliRunner().invoke(cli, [*arguments, "--project", str(path)], standalone_mode=False)
    assert (result.exception is not None) == fails, (result.output, result.exception)
    return result.exception if fails else (json.loads(result.stdout) if "--json" in arguments else result.output)


def test_from_answers_to_the_table_the_cases_and_back(path: Path, server: EndpointServer, tmp_path: Path) -> None:
    model = ("--model", "m", "--base-url", server.url)
    asked = ("answers", "generate", "--k", "1", *model)
    assert run(path, *asked, "--dry-run", "--json")["answers"] == 9
    assert run(path, *asked, "--json")["answers"] == 9
    assert run(path, *asked, "--json")["answers"] == 0
    compared = run(path, "reteval", "compare", "--k", "1", *model, "--json")
    assert (compared["state"], compared["failed"]) == ("done", 0)
    table = run(path, "reteval", "--k", "1", "--json")
    assert table["complete"] and [(row["run"], row["LLM-retEval"]["mean"]) for row in table["rows"]] == [
        ("one", 0.5), ("two", 0.5),
    ]  # fmt: skip
    # Run two has another passage for the first query and none for the second.
    assert [row["Recall"]["mean"] for row in table["rows"]] == [0.5, 0.0]
    assert "\\textbf{0.500}" in run(path, "reteval", "--k", "1", "--latex")
    assert "1970" not in run(path, "reteval", "--k", "1")
    (case,) = run(path, "reteval", "cases", "--k", "1", "--json")["cases"]
    assert (case["query"], case["run"], case["verdicts"]["recall"]) == ("q1", "two", False)
    place = ("--run", "two", "--k", "1")
    run(path, "reteval", "confirm", "q1", *place, "--case", "K", "--note", "knew it", "--author", "ann")
    run(path, "reteval", "confirm", "q1", *place, "--case", "A", "--author", "bob")
    assert "ann K, bob A" in run(path, "reteval", "cases", *place)
    run(path, "reteval", "withdraw", "q1", *place, "--author", "bob")
    assert run(path, "reteval", "cases", *place, "--to-do", "--json")["cases"] == []
    assert run(path, "reteval", "correlate", *place, "--json")["rows"][0]["every"]["queries"] == 2
    assert "LLM-retEval@1" in json.dumps(run(path, "reteval", "correlate", "--k", "1", "--choice", "--json"))
    run(path, "reteval", "withdraw", "q1", *place, "--author", "ann")
    check_error(run(path, "reteval", "withdraw", "q1", *place, "--author", "ann", fails=True), "no-own-case", "q1")
    verdicts = tmp_path / "people.jsonl"
    verdicts.write_text('{"query_id": "q1", "answer": "in 1970", "acceptable": true}\n')
    found = run(path, "reteval", "agreement", "--human", str(verdicts), "--judge", "contains", "--json")["judges"]
    assert [(one["judge"], one["against"]["yes_yes"]) for one in found] == [("contains", 1)]
    assert [one["role"] for one in run(path, "answers", "list", "--json")["models"]] == ["generator", "judge"]
    check_error(run(path, "reteval", "--require-complete", "--judge", "graded", fails=True), "incomplete-table")


def test_a_corpus_is_retrieved_answered_and_graded_with_one_command(path: Path) -> None:
    done = run(path, "answers", "rag", "--with", "embedding", "--k", "1", "--rule", "nearest-sentence", "--json")
    assert (done["responses"], done["failed"]) == (2, 0) and done["graded"] >= 2
    project = open_project(path, read_only=True)
    assert project.value("SELECT count(*) FROM runs WHERE name = 'embedding'") == 1
    project.close()
    (system,) = [
        one for one in run(path, "leaderboard", "--measure", "EXAM-Cover@20", "--json")["systems"]
        if one["run"] == done["system"]
    ]  # fmt: skip
    assert system["score"] is not None
    assert (
        run(path, "answers", "rag", "--with", "embedding", "--k", "1", "--rule", "nearest-sentence", "--json")["graded"]
        == 0
    )
