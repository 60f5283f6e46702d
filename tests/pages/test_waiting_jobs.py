"""A job whose endpoint is gone: what screens and commands say while it waits, and that it can be stopped."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner

from core.cli import cli
from core.errors import GradingError
from core.grading import Request, carrying, jobs, start_job
from core.pipelines import Plan, Sit, add_student, start_sitting
from core.project import open_project
from pages.parts.shared.background import standing_still
from pages.parts.shared.job_progress import state
from tests.grading.test_elsewhere import QUESTIONS, RUNS, rater
from tests.grading.test_grading import HashGrader
from tests.made.endpoint_calls import until
from tests.made.exams import put_exam, sittings
from tests.made.projects import file_of, fill

GONE = ("--grader", "self-rating", "--model", "m", "--base-url", "http://localhost:9/v1", "--set", "attempts=1")


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


def test_the_screen_says_that_a_job_waits_and_when_it_tries_again(tmp_path: Path) -> None:
    project = open_project(made(tmp_path))
    job = start_job(project, rater(attempts=1), Request(), "ann")
    until(lambda: job.control.awaited or job.progress.over)
    waits = job.control.awaited
    assert waits is not None and waits.until is not None
    assert state(job).startswith(
        f"**Waits for the endpoint**, next try at {waits.next_try:%H:%M}: the connection failed"
    )
    assert f"It is given up at {waits.until:%H:%M}." in state(job)
    job.control.pause()
    assert state(job).startswith("**Paused**")
    job.cancel()
    assert job.wait(60)
    assert [(one.state, one.graded, one.failed) for one in jobs(project)] == [("cancelled", 0, 0)]
    project.close()


def test_a_job_from_which_nothing_comes_says_so_and_promises_no_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carrying, "COMMIT_SECONDS", 0.0)
    reached, go_on = Event(), Event()

    def before(number: int) -> None:
        if number == 3:
            reached.set()
            assert go_on.wait(30)

    project = open_project(made(tmp_path))
    job = start_job(project, HashGrader(before=before), Request(), "ann")
    assert reached.wait(30)
    assert " left · running since " in state(job)
    now = time.monotonic
    monkeypatch.setattr("core.grading.running.time.monotonic", lambda: now() + 40)
    assert state(job).startswith("**Nothing has come for ")
    assert "left" not in state(job)
    job.control.pause()
    assert state(job).startswith("**Paused**")
    job.control.resume()
    go_on.set()
    assert job.wait(30)
    project.close()


def test_work_in_steps_says_the_same_and_a_sitting_can_be_stopped_while_it_waits(tmp_path: Path) -> None:
    project = open_project(with_student(made(tmp_path)))
    sitting = start_sitting(project, Sit(), "ann")
    until(lambda: sitting.reins.awaited or sitting.over)
    assert standing_still(sitting.reins).startswith("**Waits for the endpoint**, next try at ")
    assert " The job goes on by itself. It is given up at " in standing_still(sitting.reins)
    sitting.reins.pause()
    assert standing_still(sitting.reins).startswith("**Paused**")
    assert [state for _, state, _ in sittings(project)] == ["paused"]
    sitting.reins.cancel()
    assert standing_still(sitting.reins).startswith("Stopping")
    assert sitting.wait(60) and sitting.ended["remote"].state == "cancelled"
    project.close()


@pytest.mark.parametrize("command", [["grade", *GONE], ["sit"]])
def test_commands_say_that_they_wait_and_end_once_their_patience_does(command: list[str], tmp_path: Path) -> None:
    given: list[Any] = [*command, "--patience", "0.001", "--project", str(with_student(made(tmp_path)))]
    result = CliRunner().invoke(cli, given, standalone_mode=False)
    assert "exam: the job waits for the endpoint, next try at" in result.output
    assert isinstance(result.exception, GradingError)
    with pytest.raises(GradingError, match=r"was waited for .* the last try ended with: the connection failed"):
        raise result.exception
