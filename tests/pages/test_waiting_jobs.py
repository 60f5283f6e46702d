"""A grading job whose endpoint is gone: what screen and command say while it waits, and that it can be stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from core.cli import cli
from core.errors import GradingError
from core.grading import Request, jobs, start_job
from core.project import open_project
from pages.parts.shared.job_progress import state
from tests.grading.test_elsewhere import QUESTIONS, RUNS, rater
from tests.made.endpoint_calls import until
from tests.made.projects import file_of, fill

GONE = ("--grader", "self-rating", "--model", "m", "--base-url", "http://localhost:9/v1", "--set", "attempts=1")


def made(tmp_path: Path) -> Path:
    file_of(lambda project: fill(project, QUESTIONS, {}, RUNS)).write(tmp_path / "some.duckdb")
    return tmp_path / "some.duckdb"


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


def test_the_command_says_that_it_waits_and_ends_once_its_patience_does(tmp_path: Path) -> None:
    given: list[Any] = ["grade", *GONE, "--patience", "0.001", "--project", str(made(tmp_path))]
    result = CliRunner().invoke(cli, given, standalone_mode=False)
    assert "exam: the job waits for the endpoint, next try at" in result.output
    assert isinstance(result.exception, GradingError)
    with pytest.raises(GradingError, match=r"was waited for .* the last try ended with: the connection failed"):
        raise result.exception
