"""Item response from a shell: tables of answers in, abilities and the worth of items out."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_cli import Exam, exam, refused  # noqa: F401
from tests.made.answers import exam as made_exam, students
from tests.made.projects import made_project
from tests.made.refusals import mentions

ITEMS = 40


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    """The paper's 63 students and 40 items: who answered what, and the components of each student."""
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


def test_abilities_by_component_come_with_intervals(exam: Exam) -> None:  # noqa: F811
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


def test_the_bounds_of_the_papers_estimator_are_told(exam: Exam) -> None:  # noqa: F811
    ran = exam("irt", "fit", "answers.csv", "--estimator", "paper", "--bootstrap", "0")
    told = [line for line in ran.err.splitlines() if mentions(line, "paper")]
    # One line for each parameter with values at a bound, with their share.
    assert ran.code == 0 and [name for name in "dg" if any(mentions(line, name) for line in told)] == ["d", "g"]
    assert len(told) == 4 and all(re.match(r"\d+%", line) for line in told)


def test_abilities_are_integrated_out_where_that_is_asked_for(exam: Exam, tmp_path: Path) -> None:  # noqa: F811
    said = exam("irt", "fit", "answers.csv", "--marginal", "--model", "2pl", "--json").json
    assert said["estimator"] == "marginal" and len(said["items"]) == ITEMS and len(said["students"]) == 63
    shown = exam("irt", "fit", "answers.csv", "--marginal", "--model", "2pl").out
    assert f"log-likelihood {said['log_likelihood']:.3f}" in shown


def test_items_come_with_what_they_are_worth_the_least_first(exam: Exam) -> None:  # noqa: F811
    said = exam("irt", "items", "answers.csv", "--by", "item-rest", "--json").json
    worths = [row["item_rest"] for row in said["items"]]
    assert worths == sorted(worths) and len(worths) == ITEMS
    assert exam("irt", "items", "answers.csv").out.splitlines()[0].split()[:4] == ["item", "answered", "accuracy", "d"]


def test_a_shorter_exam_is_proposed_and_the_file_stays_as_it_is(exam: Exam, tmp_path: Path) -> None:  # noqa: F811
    before = (tmp_path / "answers.csv").read_bytes()
    said = exam("irt", "improve", "answers.csv", "--drop", "10", "--steps", "2", "--model", "2pl", "--json").json
    assert [step["items"] for step in said["steps"]] == [40, 36, 32]
    assert len(said["retire"]) == 8 and len(said["steps"][0]["curve"]) == 61
    assert (tmp_path / "answers.csv").read_bytes() == before
    longer = ("irt", "improve", "answers.csv", "--steps", "9", "--model", "2pl")
    shown, held = exam(*longer), exam(*longer, "--json").json["held_out"]
    stopped, checked = shown.err.splitlines()
    assert re.findall(r"\d+", stopped) == ["32", "30"], "the items that are left, and the fewest that an exam keeps"
    told = (str(held["dropped"]), str(held["shared"]), f"{held['before']:.4f}", f"{held['after']:.4f}")
    assert all(mentions(checked, value) for value in told)


@pytest.mark.parametrize(
    ("table", "error", "says"),
    [
        ("student,a,b\ns1,1,2\n", "invalid-answer", "bad.csv:2: "),
        ("student,a,b\ns1,1\n", "wrong-number-of-columns", "bad.csv:2: "),
        ("student,a,b\ns1,1,0\ns1,0,1\n", "duplicate-student", "bad.csv:3: "),
        ("student,a,a\ns1,1,0\n", "duplicate-item", "bad.csv:1: "),
        ("student\ns1\n", "header-missing", "bad.csv:1: "),
        ("student,a\n", "nothing-found", "bad.csv: "),
        ("", "nothing-found", "bad.csv: "),
        ('student,a\ns"1,1\n"s2,1\n', "invalid-csv", "bad.csv:3: "),
        ("student,a\ns1,\n", "no-answers", "exam: "),
    ],
)
def test_what_is_no_table_of_answers_is_refused_by_line(
    exam: Exam,  # noqa: F811
    tmp_path: Path,
    table: str,
    error: str,
    says: str,
) -> None:
    (tmp_path / "bad.csv").write_text(table, encoding="utf-8")
    refused(exam("irt", "fit", "bad.csv"), 2, says, error=error)


@pytest.mark.parametrize(
    ("table", "error", "says"),
    [
        ("student,llm\ns00,A\n", "students-without-factors", (" 62 ", "'s01'")),
        ("student\ns00\n", "header-missing", ("factors.csv:1: ",)),
        ("student,llm\ns00,A\ns00,A\n", "duplicate-student", ("factors.csv:3: ", "s00")),
    ],
)
def test_factors_that_leave_something_out_are_refused(
    exam: Exam,  # noqa: F811
    tmp_path: Path,
    table: str,
    error: str,
    says: tuple[str, ...],
) -> None:
    (tmp_path / "factors.csv").write_text(table, encoding="utf-8")
    refused(exam("irt", "fit", "answers.csv", "--factors", "factors.csv"), 2, *says, error=error)


def test_the_worth_of_a_bank_is_told_of_a_project(exam: Exam, tmp_path: Path) -> None:  # noqa: F811
    from tests.study.test_item_response import fill_answered

    made_project(tmp_path / "p.duckdb", fill_answered).close()
    said = exam("irt", "bank", "--project", "p.duckdb", "--json").json
    verdicts = {row["question_id"]: row["verdict"] for row in said["questions"]}
    assert verdicts["q1/all"] == "universal" and verdicts["q1/none"] == "hard"
    shown = exam("irt", "bank", "--project", "p.duckdb", "--query", "q1")
    assert "q1/top" in shown.out and mentions(shown.err, "16") and "s13, s14, s15, s0" in shown.err
    assert exam("irt", "bank", "--project", "p.duckdb", "--query", "q1", "--passages").code == 0
    assert exam("irt", "bank", "--project", "p.duckdb", "--passages").code == 2
