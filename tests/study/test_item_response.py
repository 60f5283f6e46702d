"""Verdicts on the questions of a bank, on a project with known answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_workbench.errors import InputError
from exam_workbench.labels import Policy
from exam_workbench.store import Project
from exam_workbench.study import bank_worth
from exam_workbench.types import GraderSpec, Question
from tests.made.projects import SPEC, fill, filled_project, new_project
from tests.made.refusals import mentions, refusal

SYSTEMS = 16
# The first of the 16 systems (best last) with the passage that answers each question of q1.
ANSWERED_FROM = {"all": 0, "none": 16, "top": 13, "twin": 13, "low": 4, "middle": 8}
DIRECT = GraderSpec("whole queries", "direct", "none")


def fill_answered(project: Project) -> None:
    """Fill two queries; a system returns one passage for each question that it answers."""
    questions = [Question(f"q1/{name}", "q1", f"{name}?") for name in ANSWERED_FROM]
    questions += [Question("q1/zero", "q1", "zero?", weight=0.0), Question("q1/avoid", "q1", "avoid?", weight=-1.0)]
    questions += [Question("q1/unread", "q1", "unread?")]
    # Questions of the other query follow ability, so that the systems have an order.
    questions += [Question(f"q2/{i}", "q2", f"step {i}?") for i in range(1, SYSTEMS)]
    starts = ANSWERED_FROM | {f"step {i}": i for i in range(1, SYSTEMS)}
    answering = {name: f"on-{name.replace(' ', '-')}" for name in starts}
    runs = {}
    for system in range(SYSTEMS):
        has = {name for name, start in starts.items() if system >= start}
        runs[f"s{system:02}"] = {
            "q1": ["blank", *(answering[name] for name in ANSWERED_FROM if name in has)],
            "q2": ["blank", *(answering[name] for name in starts if name in has and name not in ANSWERED_FROM)],
        }
    passages = ["blank", *answering.values()]
    texts = [q.text or "" for q in questions if q.question_id != "q1/unread"]
    ratings = {(text, passage): 5 * int(passage == answering.get(text[:-1])) for text in texts for passage in passages}
    fill(project, questions, ratings, runs)


project = filled_project(fill_answered)


def test_each_question_gets_a_verdict_and_suggestion(project: Project) -> None:
    found = bank_worth(project, Policy())
    rows = {row.question_id: row for row in found.questions}
    assert "q1/zero" not in rows and "q1/avoid" not in rows
    by_ability = list(found.abilities)
    assert (by_ability[0], by_ability[-1], found.top) == ("s15", "s00", 4)
    assert rows["q1/all"].verdict == "universal" and rows["q1/all"].discrimination is None
    assert rows["q1/none"].verdict == "hard" and rows["q1/none"].answered == 0
    assert rows["q1/unread"].verdict == "not graded" and rows["q1/unread"].answered is None
    assert rows["q1/top"].verdict == "separates the top" and rows["q1/top"].suggestion
    assert rows["q1/low"].verdict == "separates lower down"
    assert (rows["q1/twin"].verdict, rows["q1/twin"].alike) == ("redundant", "q1/top")
    top, low = rows["q1/top"], rows["q1/low"]
    assert top.difficulty is not None and low.difficulty is not None and top.difficulty > low.difficulty
    assert top.at_top is not None and low.at_top is not None and top.at_top > low.at_top
    assert rows["q1/all"].at_top is None and rows["q1/unread"].overall is None
    assert top.examinees == SYSTEMS and top.answered == pytest.approx(3 / 16)
    assert len(found.remarks) == 1, f"{SYSTEMS} systems are too few for discrimination"


def test_skipped_query_is_unanswered_or_ignored_and_missing_grades_are_not_wrong(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p.duckdb")
    runs = {f"s{i}": {"q1": [f"p{i}"]} for i in range(6)} | {"other": {"q2": ["p0"]}}
    questions = [Question("q1/a", "q1", "a?"), Question("q2/b", "q2", "b?")]
    ratings = {("a?", f"p{i}"): rating for i, rating in enumerate((5, 5, 5, 0, None))}
    fill(project, questions, ratings | {("b?", "p0"): 5}, runs)
    counted = {row.question_id: row for row in bank_worth(project, Policy()).questions}
    assert (counted["q1/a"].examinees, counted["q1/a"].answered) == (5, 0.6)
    ignored = {row.question_id: row for row in bank_worth(project, Policy(skipped="ignore")).questions}
    assert (ignored["q1/a"].examinees, ignored["q1/a"].answered) == (4, 0.75)


def test_examinees_of_a_single_query_are_systems_or_passages(project: Project) -> None:
    found = bank_worth(project, Policy(), "q1")
    assert {row.query_id for row in found.questions} == {"q1"} and len(found.questions) == 7
    assert any(mentions(remark, "7") for remark in found.remarks)
    found = bank_worth(project, Policy(), "q1", "passages")
    rows = {row.question_id: row for row in found.questions}
    assert found.examinees == "passages" and set(found.abilities) >= {"on-top", "blank"}
    assert rows["q1/top"].examinees == len(found.abilities)
    assert rows["q1/unread"].verdict == "not graded"
    assert all(row.difficulty is None or row.difficulty > 0 for row in found.questions)
    with refusal("option-missing"):
        bank_worth(project, Policy(), None, "passages")


def test_ungraded_unknown_or_direct_cases_are_refused(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p.duckdb")
    fill(project, [Question("q1/a", "q1", "a?")], {}, {"s": {"q1": ["p"]}})
    with refusal("nothing-graded"):
        bank_worth(project, Policy(grader=SPEC.name))
    with pytest.raises(InputError):
        bank_worth(project, Policy(grader=SPEC.name), "q9")
    other = new_project(tmp_path / "direct.duckdb")
    fill(other, [Question("q1/a", "q1", "a?")], {("a?", "p"): 1}, {"s": {"q1": ["p"]}}, DIRECT)
    with refusal("grader-of-whole-queries"):
        bank_worth(other, Policy(grader=DIRECT.name))
