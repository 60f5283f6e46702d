"""Exam leaderboards: accuracy and its error, grids, topics, comparisons and the response matrix."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exam_workbench import bank
from exam_workbench.exams import (
    ExamRequest,
    Plan,
    Responses,
    add_student,
    by_topic,
    compare_examinees,
    exam_board,
    examinee_responses,
    fit_abilities,
    leaderboard_grid,
    only_right,
    sit_exam,
)
from exam_workbench.exams._exam_results import best_classical
from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.measures import mcnemar_tests
from exam_workbench.records import Student
from exam_workbench.store import Project
from tests.made.exams import put_exam

NAN = math.nan


def student(name: str, **factors: str) -> Student:
    return Student(name, name, factors=factors, key=len(name))


def found(rows: dict[str, list[float]], failed: dict[str, list[int]] | None = None, topics: str = "") -> Responses:
    """Responses of examinees by name; `topics` has one letter per item."""
    names = list(rows)
    correct = np.array(list(rows.values()), dtype=float)
    marks = np.zeros(correct.shape, dtype=bool)
    for name, columns in (failed or {}).items():
        marks[names.index(name), columns] = True
    items = [f"i{at}" for at in range(correct.shape[1])]
    return Responses([student(name) for name in names], items, list(topics) or [None] * len(items), correct, marks)


def test_missing_failed_and_wrong_answers_are_distinct() -> None:
    board = exam_board(found({"a": [1, 0, NAN, NAN], "b": [1, 1, 1, 0], "c": [NAN] * 4}, {"a": [2]}))
    assert [row.student.name for row in board] == ["b", "a", "c"]
    b, a, c = (row.score for row in board)
    assert b.accuracy == 0.75 and b.std_error == pytest.approx(math.sqrt(0.75 * 0.25 / 4))
    assert (a.answered, a.right, a.failed, a.missing) == (2, 1, 1, 1)
    assert a.accuracy == 0.5 and a.strict_accuracy == pytest.approx(1 / 3)
    assert a.strict_std_error == pytest.approx(math.sqrt(1 / 3 * 2 / 3 / 3))
    assert c.accuracy is None and c.std_error is None and c.strict_accuracy is None and c.missing == 4
    assert c.accuracy_interval is None and a.accuracy_interval == pytest.approx((0.0945, 0.9055), abs=5e-5)
    (perfect,) = exam_board(found({"a": [1, 1, 1, 1]}))
    assert perfect.score.accuracy_interval == pytest.approx((0.5101, 1), abs=5e-5)


PUBLISHED = {
    "7B": ("45.5 50.0 57.0 47.6|52.2 58.3 60.3 60.5|58.0 60.4 69.5 55.3|57.7 72.2 69.5 53.6|55.1 70.1 69.4 63.9",
           ["BM25", "MultiQA", "BM25 MultiQA", "DPRV2"]),
    "13B": ("44.6 48.6 56.2 42.7|51.3 54.9 55.4 61.0|54.5 63.2 66.9 55.9|58.0 67.4 66.1 53.8|55.7 66.7 69.4 63.9",
            ["MultiQA", "MultiQA", "DPRV2", "DPRV2"]),
    "70B": ("55.4 53.5 57.9 49.5|61.5 59.7 60.3 68.3|71.4 65.3 76.9 64.3|72.6 75.7 74.4 58.6|69.7 72.2 77.7 67.6",
            ["MultiQA", "MultiQA", "DPRV2", "DPR"]),
}  # fmt: skip
"""Table 2 of Guinet et al.: SIAM, DPR, BM25, MultiQA and DPRV2 in four exams, and the best of each exam."""


@pytest.mark.parametrize("model", PUBLISHED)
def test_best_classical_retrieval_matches_the_paper(model: str) -> None:
    written, best = PUBLISHED[model]
    rows = [[float(share) for share in row.split()] for row in written.split("|")]
    names = ["SIAM", "DPR", "BM25", "MultiQA", "DPRV2"]
    for exam in range(4):
        shares = {name: row[exam] for name, row in zip(names, rows, strict=True)}
        assert best_classical({"closed-book": 99.0, **shares, "oracle": 99.0}) == best[exam].split()


def test_grid_takes_the_best_of_several_icl_counts() -> None:
    names = {
        "a": ("big", "bm25", 0), "aa": ("big", "bm25", 1), "aaa": ("big", "oracle", 0),
        "aaaa": ("big", "closed-book", 0), "aaaaa": ("small", "closed-book", 0),
    }  # fmt: skip
    rows = {"a": [1.0, 0, 0, 0], "aa": [1.0, 1, 0, 0], "aaa": [1.0] * 4, "aaaa": [0.0] * 4, "aaaaa": [NAN] * 4}
    plain = found(rows)
    students = [student(n, model=m, retrieval=r, icl=f"ICL@{i}") for n, (m, r, i) in names.items()]
    table = leaderboard_grid(exam_board(Responses(students, plain.items, plain.topics, plain.correct, plain.failed)))
    assert (table.models, table.retrievals) == (["big", "small"], ["closed-book", "bm25", "oracle"])
    assert table.accuracy("big", "bm25") == 0.5 and table.accuracy("big", "oracle") == 1.0
    assert table.accuracy("small", "bm25") is None and table.accuracy("small", "closed-book") is None
    assert table.best == {"big": ["bm25"], "small": []}


def test_topics_with_few_answers_are_left_out() -> None:
    rows = {"a": [1.0, 0, 1, 1, NAN], "b": [1.0, 1, NAN, NAN, NAN]}
    some = by_topic(found(rows, topics="xxyyy"), least=2)
    assert [(row.student.name, row.topic, row.score.answered, row.score.accuracy) for row in some] == [
        ("a", "x", 2, 0.5), ("a", "y", 2, 1.0), ("b", "x", 2, 1.0),
    ]  # fmt: skip
    assert by_topic(found(rows, topics="xxyyy")) == []


def test_mcnemar_is_the_exact_binomial_test() -> None:
    from scipy.stats import binomtest

    for more, fewer in ((0, 0), (1, 0), (5, 0), (8, 2), (3, 3), (20, 9)):
        differences = np.array([[1.0]] * more + [[-1.0]] * fewer + [[0.0]] * 4 + [[NAN]])
        (p,) = mcnemar_tests(differences)
        if more + fewer:
            assert p == pytest.approx(binomtest(more, more + fewer).pvalue)
        else:
            assert math.isnan(p)


@pytest.mark.parametrize("test", ["mcnemar", "randomisation"])
def test_examinees_are_compared_on_items_both_answered(test: str) -> None:
    rows = {"a": [1.0] * 12, "b": [0.0] * 11 + [NAN], "c": [1.0] * 12}
    first, same, last = compare_examinees(found(rows), test)  # type: ignore[arg-type]
    assert (first.first, first.second, first.items, first.only_first, first.only_second) == ("a", "b", 11, 11, 0)
    assert first.difference == 1 and first.p is not None and first.p < 0.01
    assert first.adjusted == pytest.approx(min(1, 2 * first.p))
    assert first.differ and not same.differ
    assert same.p is None and same.adjusted is None and same.difference == 0
    assert last.difference == -1
    assert compare_examinees(found({"a": [1.0]})) == []
    assert only_right(found({"a": [1, 1, 0, NAN, 1], "b": [0, 1, 1, 1, NAN]}), "a", "b") == (["i0"], ["i2"])


def test_response_matrix_has_examinees_items_and_factors(project: Project, tmp_path: Path) -> None:
    questions = put_exam(project, 4, ("x", "y"))
    add_student(project, Plan("longest", factors={"kind": "rule"}), "ann")
    sit_exam(project, ExamRequest(), "ann")
    matrix = tmp_path / "m.csv"
    matrix.write_text("student,i2,i1,new\npaper,1,0,1\n")
    import_files(project, "responses-matrix", [Source.from_path(matrix)], "ann")
    got = examinee_responses(project)
    assert got.items == ["i1", "i2", "i3", "i4", "new"] and got.topics == ["x", "y", "x", "y", None]
    assert got.names == ["longest answer closed-book", "paper"]
    assert np.isnan(got.correct).tolist() == [[False] * 4 + [True], [False, False, True, True, False]]
    assert got.correct[1, [0, 1, 4]].tolist() == [0, 1, 1]
    assert got.factors["model"] == ["longest answer", "not stated"] and got.factors["kind"] == ["rule", "not stated"]
    assert examinee_responses(project, ["paper"]).correct[:, :2].tolist() == [[0, 1]]
    bank.save_version(project, [replace(questions[0], active=False)], "away", "ann")
    assert examinee_responses(project).items == ["i2", "i3", "i4", "new"]
    assert examinee_responses(project, ["paper"]).correct[0, [0, 3]].tolist() == [1, 1]


def test_answers_of_a_running_job_reach_fitted_abilities(project: Project) -> None:
    put_exam(project, 12)
    for seed in range(2):
        add_student(project, Plan("random", seed=seed, name=f"chance {seed}"), "ann")
    sit_exam(project, ExamRequest(("chance 0",)), "ann")
    assert len(fit_abilities(project).students) == 1
    with project.transaction() as cursor:
        # As a running job commits them: the activity log has no entry before its end.
        cursor.execute(
            "INSERT INTO answers SELECT * REPLACE"
            " ((SELECT student_key FROM students WHERE name = 'chance 1') AS student_key) FROM answers"
        )
    assert len(fit_abilities(project).students) == 2
