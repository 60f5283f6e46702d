"""Commands for exams, item response and generated answers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from exam_workbench import cli
from exam_workbench.bank import DraftedItem, Generation, add_generations
from exam_workbench.errors import WorkbenchError
from exam_workbench.records import add_passages, add_queries
from exam_workbench.store import open_project
from exam_workbench.types import Query, Question
from tests.answers.made import Script, Told, collection, question
from tests.cli.test_cli import Exam, refused
from tests.made.answers import exam as made_exam, students
from tests.made.endpoint_server import EndpointServer
from tests.made.exams import METALS, item, put_exam, source
from tests.made.projects import import_bank, made_project, new_project
from tests.made.refusals import mentions, refusal
from tests.study.test_item_response import fill_answered


@pytest.fixture
def path(tmp_path: Path) -> Path:
    project = new_project(tmp_path / "exam.duckdb")
    put_exam(project, 12, ("x",))
    project.close()
    return tmp_path / "exam.duckdb"


def run(path: Path, *arguments: str) -> Any:
    """Run a command on a project; return its output, or its result with `--json`."""
    given = [*arguments, "--project", str(path)]
    result = CliRunner().invoke(cli.cli, given, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout) if "--json" in arguments else result.output


def test_examinees_sit_and_are_compared(path: Path) -> None:
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


def test_accepting_items_records_thresholds(tmp_path: Path) -> None:
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


def test_matrix_and_run_are_imported(path: Path, tmp_path: Path) -> None:
    matrix = tmp_path / "m.csv"
    matrix.write_text("student,i1,i2\npaper,1,0\n")
    assert "new answers: 2" in run(path, "import", "responses-matrix", str(matrix))
    trec = tmp_path / "dense.run"
    trec.write_text("i1 Q0 p1 1 0.9 dense\n")
    assert "passages for 1 item." in run(path, "examinees", "retrieve", "dense", "--run", str(trec))
    assert run(path, "exam-board", "--student", "paper", "--json")["students"][0]["accuracy"] == 0.5
    project = open_project(path)
    assert project.value("SELECT count(*) FROM runs") == 0


def test_invalid_options_are_refused(path: Path) -> None:
    for words, said in (
        ("examinees add --by random --factor kind", ("invalid-component", "kind")),
        ("examinees retrieve words", ("option-missing",)),
        ("exam-board --best-of icl --by topic", ("options-exclude-each-other",)),
        ("sit --key-variable KEY", ("option-missing",)),
        ("sit", ("no-student",)),
    ):
        with refusal(*said):
            run(path, *words.split())


TOLD = {
    "q1": Told("The dam of Aswan was closed in 1970.", ("gold-q1",), ("1970",), ("1970", "in 1970", "1970"), "1970"),
    "q2": Told("The lake is ninety metres deep.", ("gold-q1",), ("ninety metres",), ("90 m", "90 m", "90 m"), "1970"),
}


@pytest.fixture
def answered(tmp_path: Path) -> Path:
    project = new_project(tmp_path / "answers.duckdb")
    collection(project, TOLD, {"one": {"q1": ["gold-q1"], "q2": ["gold-q1"]}, "two": {"q1": ["gold-q2"]}})
    import_bank(project, [Question(f"{name}/1", name, question(name)) for name in TOLD])
    project.close()
    return project.path


@pytest.fixture
def server() -> Iterator[EndpointServer]:
    with EndpointServer(Script(TOLD, same=[("90 m", "ninety metres")])) as running:
        yield running


def test_answers_are_generated_compared_and_confirmed(answered: Path, server: EndpointServer, tmp_path: Path) -> None:
    model = ("--model", "m", "--base-url", server.url)
    asked = ("answers", "generate", "--k", "1", *model)
    assert run(answered, *asked, "--dry-run", "--json")["answers"] == 9
    assert run(answered, *asked, "--json")["answers"] == 9
    assert run(answered, *asked, "--json")["answers"] == 0
    compared = run(answered, "reteval", "compare", "--k", "1", *model, "--json")
    assert (compared["state"], compared["failed"]) == ("done", 0)
    table = run(answered, "reteval", "--k", "1", "--json")
    assert table["complete"] and [(row["run"], row["LLM-retEval"]["mean"]) for row in table["rows"]] == [
        ("one", 0.5), ("two", 0.5),
    ]  # fmt: skip
    # Run `two` has a different passage for the first query and no passage for the second.
    assert [row["Recall"]["mean"] for row in table["rows"]] == [0.5, 0.0]
    assert "\\textbf{0.500}" in run(answered, "reteval", "--k", "1", "--latex")
    assert "1970" not in run(answered, "reteval", "--k", "1")
    (case,) = run(answered, "reteval", "cases", "--k", "1", "--json")["cases"]
    assert (case["query"], case["run"], case["verdicts"]["recall"]) == ("q1", "two", False)
    place = ("--run", "two", "--k", "1")
    run(answered, "reteval", "confirm", "q1", *place, "--case", "K", "--note", "knew it", "--author", "ann")
    run(answered, "reteval", "confirm", "q1", *place, "--case", "A", "--author", "bob")
    assert "ann K, bob A" in run(answered, "reteval", "cases", *place)
    run(answered, "reteval", "withdraw", "q1", *place, "--author", "bob")
    assert run(answered, "reteval", "cases", *place, "--to-do", "--json")["cases"] == []
    assert run(answered, "reteval", "correlate", *place, "--json")["rows"][0]["every"]["queries"] == 2
    assert "LLM-retEval@1" in json.dumps(run(answered, "reteval", "correlate", "--k", "1", "--choice", "--json"))
    run(answered, "reteval", "withdraw", "q1", *place, "--author", "ann")
    with refusal("no-own-case", "q1"):
        run(answered, "reteval", "withdraw", "q1", *place, "--author", "ann")
    verdicts = tmp_path / "people.jsonl"
    verdicts.write_text('{"query_id": "q1", "answer": "in 1970", "acceptable": true}\n')
    found = run(answered, "reteval", "agreement", "--human", str(verdicts), "--judge", "contains", "--json")
    assert [(one["judge"], one["against"]["yes_yes"]) for one in found["judges"]] == [("contains", 1)]
    models = run(answered, "answers", "list", "--json")["models"]
    assert [one["role"] for one in models] == ["generator", "judge"]
    with refusal("incomplete-table", kind=WorkbenchError):
        run(answered, "reteval", "--require-complete", "--judge", "graded")


def test_rag_command_retrieves_answers_and_grades(answered: Path) -> None:
    command = ("answers", "rag", "--with", "embedding", "--k", "1", "--rule", "nearest-sentence", "--json")
    done = run(answered, *command)
    assert (done["responses"], done["failed"]) == (2, 0) and done["graded"] >= 2
    project = open_project(answered, read_only=True)
    assert project.value("SELECT count(*) FROM runs WHERE name = 'embedding'") == 1
    project.close()
    board = run(answered, "leaderboard", "--measure", "EXAM-Cover@20", "--json")["systems"]
    assert [one["score"] is not None for one in board if one["run"] == done["system"]] == [True]
    assert run(answered, *command)["graded"] == 0


ITEMS = 40


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    """The paper's 63 examinees and 40 items: the answers and components of each examinee."""
    answers = made_exam(ITEMS, seed=1).responses
    answers[0, 0] = np.nan
    names = [f"s{i:02}" for i in range(len(answers))]
    lines = [",".join(["student", *(f"i{i:02}" for i in range(ITEMS))])]
    for name, row in zip(names, answers, strict=True):
        lines.append(",".join([name, *("" if np.isnan(cell) else str(int(cell)) for cell in row)]))
    (tmp_path / "answers.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "answers.tsv").write_text("\n".join(lines).replace(",", "\t") + "\n", encoding="utf-8")
    levels = students()
    rows = [",".join(["student", *levels])]
    rows += [",".join([name, *(levels[factor][i] for factor in levels)]) for i, name in enumerate(names)]
    (tmp_path / "factors.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def test_abilities_have_intervals_bounds_and_other_estimators(exam: Exam, tmp_path: Path) -> None:
    options = ("--factors", "factors.csv", "--bootstrap", "3", "--model", "2pl")
    said = exam("irt", "fit", "answers.csv", *options, "--json").json
    assert (said["model"], said["estimator"]) == ("2pl", "map")
    by_level = {row["level"]: row for row in said["components"]}
    assert by_level["oracle"]["ability"]["value"] > by_level["closed-book"]["ability"]["value"]
    assert by_level["closed-book"]["difference"] is None and by_level["oracle"]["difference"]["low"] > 0
    assert said["students"][0]["answered"] == ITEMS - 1
    shown = exam("irt", "fit", "answers.csv", *options)
    assert all(mentions(shown.out, value) for value in ("63", "40", f"{said['statistics']['log_likelihood']:.3f}"))
    assert [line.split()[:3] for line in shown.out.splitlines() if "closed-book" in line] == [
        ["retrieval", "closed-book", "9"]
    ]
    flat = exam("irt", "fit", "answers.tsv", *options, "--flat", "--json").json
    assert flat["components"] == [] and len(flat["students"]) == 63
    ran = exam("irt", "fit", "answers.csv", "--estimator", "paper", "--bootstrap", "0")
    told = [line for line in ran.err.splitlines() if mentions(line, "paper")]
    # One line for each parameter with values at a bound, with the share of such values.
    assert ran.code == 0 and [name for name in "dg" if any(mentions(line, name) for line in told)] == ["d", "g"]
    assert len(told) == 4 and all(re.match(r"\d+%", line) for line in told)
    said = exam("irt", "fit", "answers.csv", "--marginal", "--model", "2pl", "--json").json
    assert said["estimator"] == "marginal" and len(said["items"]) == ITEMS and len(said["students"]) == 63
    shown = exam("irt", "fit", "answers.csv", "--marginal", "--model", "2pl").out
    assert f"log-likelihood {said['log_likelihood']:.3f}" in shown
    said = exam("irt", "items", "answers.csv", "--by", "item-rest", "--json").json
    worths = [row["item_rest"] for row in said["items"]]
    assert worths == sorted(worths) and len(worths) == ITEMS
    assert exam("irt", "items", "answers.csv").out.splitlines()[0].split()[:4] == ["item", "answered", "accuracy", "d"]


def test_shorter_exam_is_proposed_without_changing_file(exam: Exam, tmp_path: Path) -> None:
    before = (tmp_path / "answers.csv").read_bytes()
    said = exam("irt", "improve", "answers.csv", "--drop", "10", "--steps", "2", "--model", "2pl", "--json").json
    assert [step["items"] for step in said["steps"]] == [40, 36, 32]
    assert len(said["retire"]) == 8 and len(said["steps"][0]["curve"]) == 61
    assert (tmp_path / "answers.csv").read_bytes() == before
    longer = ("irt", "improve", "answers.csv", "--steps", "9", "--model", "2pl")
    shown, held = exam(*longer), exam(*longer, "--json").json["held_out"]
    stopped, checked = shown.err.splitlines()
    assert re.findall(r"\d+", stopped) == ["32", "30"], "the items left, and the smallest size of an exam"
    told = (str(held["dropped"]), str(held["shared"]), f"{held['before']:.4f}", f"{held['after']:.4f}")
    assert all(mentions(checked, value) for value in told)


def test_bad_answer_table_is_refused(exam: Exam, tmp_path: Path) -> None:
    for table, error, says in (
        ("student,a,b\ns1,1,2\n", "invalid-answer", "bad.csv:2: "),
        ("student,a\n", "nothing-found", "bad.csv: "),
        ("student,a\ns1,\n", "no-answers", "exam: "),
    ):
        (tmp_path / "bad.csv").write_text(table, encoding="utf-8")
        refused(exam("irt", "fit", "bad.csv"), 2, says, error=error)
    for table, error, told in (
        ("student,llm\ns00,A\n", "students-without-factors", (" 62 ", "'s01'")),
        ("student,llm\ns00,A\ns00,A\n", "duplicate-student", ("factors.csv:3: ", "s00")),
    ):
        (tmp_path / "factors.csv").write_text(table, encoding="utf-8")
        refused(exam("irt", "fit", "answers.csv", "--factors", "factors.csv"), 2, *told, error=error)


def test_question_worth_of_project_is_reported(exam: Exam, tmp_path: Path) -> None:
    made_project(tmp_path / "p.duckdb", fill_answered).close()
    ask = ("irt", "bank", "--project", "p.duckdb")
    verdicts = {row["question_id"]: row["verdict"] for row in exam(*ask, "--json").json["questions"]}
    assert verdicts["q1/all"] == "universal" and verdicts["q1/none"] == "hard"
    shown = exam(*ask, "--query", "q1")
    assert "q1/top" in shown.out and mentions(shown.err, "16") and "s13, s14, s15, s0" in shown.err
    assert [exam(*ask, *query, "--passages").code for query in (("--query", "q1"), ())] == [0, 2]
