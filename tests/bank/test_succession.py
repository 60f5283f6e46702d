"""Grader succession: a later grader becomes the default, with the job that caused it."""

from __future__ import annotations

from pathlib import Path

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


def graded(folder: Path, spec: GraderSpec) -> Project:
    """Return a project whose whole pool is graded by one grader."""
    project = new_project(folder / f"{spec.name}.duckdb")
    fill(project, QUESTIONS, {("A?", passage): 3 for passage in PASSAGES}, {"run": {"q1": PASSAGES}}, spec)
    return project


def work(project: Project, spec: GraderSpec, passages: list[str]) -> None:
    """Grade some passages and record the job."""
    grade(project, {("A?", passage): 4 for passage in passages}, spec)
    with project.transaction() as cursor:
        job = add_job(cursor, "grading", put_grader(cursor, spec), {}, len(passages), "ann")
        count_results(cursor, job, len(passages), 0)
        end_job(cursor, job, "done")


def test_succession_dates_from_job_that_reached_half_the_grades(tmp_path: Path) -> None:
    project = graded(tmp_path, FORMER)
    assert grader_succession(project) is None
    work(project, LATER, PASSAGES[:2])
    assert (label_graders(project)[0].spec, grader_succession(project)) == (FORMER, None)
    work(project, LATER, PASSAGES[2:4])
    work(project, LATER, PASSAGES[4:])
    assert label_graders(project)[0].spec == LATER
    assert grader_succession(project) == Succession("reader", "nearness", find_jobs(project)[1].started_at)
    project.close()
    # A grader that comes later without becoming the default succeeds no other.
    other = graded(tmp_path, LATER)
    work(other, FORMER, PASSAGES)
    assert grader_succession(other) is None
