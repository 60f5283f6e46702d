"""Jobs that wait for an unreachable endpoint: their state on screens and in commands, and cancelling them."""

import re
import time
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner

from exam_workbench.cli import cli
from exam_workbench.exams import Plan, add_student
from exam_workbench.grading import Request, start_job
from exam_workbench.jobs import _job_run as job_run, find_jobs
from exam_workbench.store import open_project
from pages.parts.shared import ui
from pages.parts.shared.job_progress import describe_state
from tests.grading.test_elsewhere import QUESTIONS, RUNS, rater
from tests.grading.test_grading import HashGrader
from tests.made.endpoint_calls import until
from tests.made.exams import put_exam
from tests.made.projects import file_of, fill
from tests.made.refusals import failed
from tests.made.screens import numbers, visit

GONE = ("--grader", "self-rating", "--model", "m", "--base-url", "http://localhost:9/v1", "--set", "attempts=1")


def times(said: str) -> list[str]:
    """Return the times of day in a text."""
    return re.findall(r"\b\d\d:\d\d\b", said)


def made(tmp_path: Path) -> Path:
    file_of(lambda project: fill(project, QUESTIONS, {}, RUNS)).write(tmp_path / "some.duckdb")
    return tmp_path / "some.duckdb"


def with_student(path: Path) -> Path:
    project = open_project(path)
    put_exam(project, 2, prefix="jar-")
    at_gone = {"model": "m", "base_url": "http://localhost:9/v1", "attempts": 1}
    add_student(project, Plan(None, at_gone, name="remote"), "ann")
    project.close()
    return path


def test_job_without_results_shows_its_silent_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_run, "COMMIT_SECONDS", 0.0)
    reached, go_on = Event(), Event()

    def before(number: int) -> None:
        if number == 3:
            reached.set()
            assert go_on.wait(30)

    project = open_project(made(tmp_path))
    job = start_job(project, HashGrader(before=before), Request(), "ann")
    assert reached.wait(30)
    assert job.quiet_seconds is None
    now = time.monotonic
    monkeypatch.setattr("exam_workbench.jobs._job_run.time.monotonic", lambda: now() + 40)
    assert job.quiet_seconds is not None and numbers(describe_state(job))[0] >= 40
    job.control.pause()
    assert numbers(describe_state(job))[0] != 40
    job.control.resume()
    go_on.set()
    assert job.wait(30) and find_jobs(project)[0].request["paused_seconds"] > 0


@pytest.mark.parametrize("command", [["grade", *GONE], ["sit"]])
def test_waiting_commands_fail_when_patience_ends(command: list[str], tmp_path: Path) -> None:
    given: list[Any] = [*command, "--patience", "0.001", "--project", str(with_student(made(tmp_path)))]
    result = CliRunner().invoke(cli, given, standalone_mode=False)
    assert times(result.output)
    assert failed(result) == "job-failed"


@pytest.mark.parametrize("screen", ["leaderboard", "grading"])
def test_browser_tab_title_shows_job_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, screen: str) -> None:
    titles: list[str] = []
    monkeypatch.setattr(ui.st, "set_page_config", lambda page_title, **_: titles.append(page_title))
    project = open_project(made(tmp_path))
    job = start_job(project, rater(attempts=1), Request(), "ann")
    until(lambda: job.control.awaited or job.progress.is_over)
    app = visit(screen)
    assert numbers(titles[-1]) == [0] and not numbers(titles[-2])
    # The screen that shows the job has no second progress bar.
    assert len(app.get("progress")) == 1
    job.control.cancel()
    assert job.wait(60)
    visit(screen)
    assert not numbers(titles[-1])
