"""A grader that became the usual one by itself: said as long as it is so, with the job that made it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from exam_workbench.bank import grader_succession, label_graders, put_grader
from exam_workbench.bank._grader_catalogue import Succession
from exam_workbench.jobs import find_jobs
from exam_workbench.records import add_job, count_results, end_job
from exam_workbench.store import Project
from exam_workbench.types import GraderSpec, Question
from tests.made.projects import fill, grade, new_project

FORMER = GraderSpec("nearness", "embedding", "m")
LATER = GraderSpec("reader", "self-rating", "n")
QUESTIONS = [Question("q1/a", "q1", "A?")]
PASSAGES = [f"p{number}" for number in range(6)]


@pytest.fixture
def graded(tmp_path: Path) -> Iterator[Project]:
    """A project of which the whole pool is graded by the first grader."""
    project = new_project(tmp_path / "test.duckdb")
    fill(project, QUESTIONS, {("A?", passage): 3 for passage in PASSAGES}, {"run": {"q1": PASSAGES}}, FORMER)
    yield project
    project.close()


def work(project: Project, spec: GraderSpec, passages: list[str]) -> None:
    """A job of a grader over some passages."""
    grade(project, {("A?", passage): 4 for passage in passages}, spec)
    with project.transaction() as cursor:
        job = add_job(cursor, "grading", put_grader(cursor, spec), {}, len(passages), "ann")
        count_results(cursor, job, len(passages), 0)
        end_job(cursor, job, "done")


def test_nothing_is_said_while_the_first_grader_is_the_usual_one(graded: Project) -> None:
    assert grader_succession(graded) is None
    work(graded, LATER, PASSAGES[:2])
    assert label_graders(graded)[0].spec == FORMER
    assert grader_succession(graded) is None


def test_it_is_since_the_job_that_gave_it_half_as_many_grades(graded: Project) -> None:
    work(graded, LATER, PASSAGES[:2])
    work(graded, LATER, PASSAGES[2:4])
    work(graded, LATER, PASSAGES[4:])
    assert label_graders(graded)[0].spec == LATER
    assert grader_succession(graded) == Succession("reader", "nearness", find_jobs(graded)[1].started_at)


def test_nothing_is_said_of_a_grader_that_came_later_and_did_not_become_the_usual_one(tmp_path: Path) -> None:
    project = new_project(tmp_path / "other.duckdb")
    fill(project, QUESTIONS, {("A?", passage): 3 for passage in PASSAGES}, {"run": {"q1": PASSAGES}}, LATER)
    work(project, FORMER, PASSAGES)
    assert grader_succession(project) is None
    project.close()
