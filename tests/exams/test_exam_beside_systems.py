"""Exams leave the leaderboards of systems unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from exam_workbench import bank
from exam_workbench.exams import ExamRequest, Plan, add_student, sit_exam
from exam_workbench.grading import count_skipped
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.records import add_queries
from exam_workbench.review import changes
from exam_workbench.store import Project
from exam_workbench.types import GraderSpec, Query, Question
from tests.made.exams import item, put_exam
from tests.made.screens import put_small

MEASURES = ("nDCG@10", "EXAM-Cover@20", "alpha_nDCG@10", "EXAM-Cover@20/pool")


def put_by_hand(project: Project, prefix: str) -> list[Question]:
    """Write an exam in the question bank: multiple-choice questions of a query without passages."""
    questions = [replace(item(number), question_id=f"{prefix}{number}", query_id="quiz") for number in (1, 2)]
    with project.transaction() as cursor:
        add_queries(cursor, [Query("quiz", "Our own exam")], replace=False)
    bank.save_version(project, questions, "written by hand", "ann")
    return questions


@pytest.fixture
def with_runs(project: Project) -> Project:
    put_small(project)
    return project


@pytest.mark.parametrize("put", [put_exam, put_by_hand], ids=["items", "by hand"])
def test_exam_and_edits_of_it_change_no_leaderboard(with_runs: Project, put: Callable[..., list[Question]]) -> None:
    boards = [leaderboard(with_runs, measure) for measure in MEASURES]
    items = put(with_runs, prefix="jar")
    for before in boards:
        after = leaderboard(with_runs, before.measure)
        assert (after.systems, after.query_ids) == (before.systems, before.query_ids), before.measure
        assert (after.needed, after.usable) == (before.needed, before.usable), before.measure
    for measure in MEASURES[:2]:
        edit = {items[0].query_id: [replace(items[0], active=False), *items[1:]]}
        found = changes(with_runs, measure, Policy(), edit)
        assert found.labels == [] and found.to_grade == 0
        assert [one.score_after for one in found.systems] == [one.score_before for one in found.systems]


def test_exam_is_a_query_with_only_multiple_choice_questions(with_runs: Project) -> None:
    def exams() -> list[str]:
        return bank.exam_queries(with_runs, bank.latest_version(with_runs))

    before = bank.project_counts(with_runs)
    by_hand = put_by_hand(with_runs, "h")
    assert exams() == ["quiz"]
    after = bank.project_counts(with_runs)
    assert (after["exams"], after["items"]) == (1, 2) and after["queries"] - before["queries"] == 1
    spec = GraderSpec("any", "self-rating", "")
    assert count_skipped(with_runs, spec, bank.latest_version(with_runs)).total == 0, "items do not count as left out"
    # A question about passages, or a subtopic, makes it an ordinary query.
    version = bank.latest_version(with_runs)
    plain = Question("h3", "quiz", "What is a metal?")
    bank.save_version(with_runs, [plain], "a question", "ann")
    assert exams() == [] and bank.exam_queries(with_runs, version) == ["quiz"]
    bank.save_version(with_runs, [replace(plain, active=False)], "retired", "ann")
    assert exams() == ["quiz"]
    bank.save_version(with_runs, [replace(by_hand[0], subtopic_id="part")], "a subtopic", "ann")
    assert exams() == []


def test_next_step_follows_the_state_of_an_exam(project: Project) -> None:
    def following(unsaved: int = 0) -> tuple[str, str]:
        step = bank.next_step(bank.project_counts(project), unsaved=unsaved)
        return step.screen, step.sentence

    put_exam(project)
    without = following()
    add_student(project, Plan("longest"), "ann")
    ready = following()
    assert without[0] == ready[0] == "students" and without != ready
    sit_exam(project, ExamRequest(), "ann")
    assert following()[0] == "items" and following(unsaved=1)[0] == "question_bank"
