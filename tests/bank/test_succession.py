"""Grader succession: a later grader becomes the default, with the job that caused it."""

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
    """A project whose whole pool is graded by the first grader."""
    project = new_project(tmp_path / "test.duckdb")
    fill(project, QUESTIONS, {("A?", passage): 3 for passage in PASSAGES}, {"run": {"q1": PASSAGES}}, FORMER)
    yield project
    project.close()


def work(project: Project, spec: GraderSpec, passages: list[str]) -> None:
    """Grade some passages and record the job."""
    grade(project, {("A?", passage): 4 for passage in passages}, spec)
    with project.transaction() as cursor:
        job = add_job(cursor, "grading", put_grader(cursor, spec), {}, len(passages), "ann")
        count_results(cursor, job, len(passages), 0)
        end_job(cursor, job, "done")


def test_no_succession_while_first_grader_is_default(graded: Project) -> None:
    assert grader_succession(graded) is None
    work(graded, LATER, PASSAGES[:2])
    assert label_graders(graded)[0].spec == FORMER
    assert grader_succession(graded) is None


def test_succession_dates_from_job_that_reached_half_the_grades(graded: Project) -> None:
    work(graded, LATER, PASSAGES[:2])
    work(graded, LATER, PASSAGES[2:4])
    work(graded, LATER, PASSAGES[4:])
    assert label_graders(graded)[0].spec == LATER
    assert grader_succession(graded) == Succession("reader", "nearness", find_jobs(graded)[1].started_at)


def test_no_succession_by_later_grader_that_is_not_default(tmp_path: Path) -> None:
    project = new_project(tmp_path / "other.duckdb")
    fill(project, QUESTIONS, {("A?", passage): 3 for passage in PASSAGES}, {"run": {"q1": PASSAGES}}, LATER)
    work(project, FORMER, PASSAGES)
    assert grader_succession(project) is None
    project.close()
