"""Jobs killed with SIGKILL: committed grades stay complete and are never requested again."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from exam_workbench.graders import ReadingGrader, fill_prompt, make_grader
from exam_workbench.grading import Request, make_plan, run_job
from exam_workbench.jobs import Progress
from exam_workbench.records import close_interrupted, set_pool_depth
from exam_workbench.store import Project, open_project
from exam_workbench.types import GraderInput, Question
from tests.made.endpoint_server import EndpointServer, digit, moody
from tests.made.projects import commit, examples, fill as fill_project, new_project

KILLS = examples(3)
QUERIES, QUESTIONS, PASSAGES = 5, 10, 2 * KILLS


def grader(url: str) -> ReadingGrader:
    made = make_grader("self-rating", {"back_end": "openai", "model": "m", "base_url": url})
    assert isinstance(made, ReadingGrader)
    return made


def work(path: str, url: str, started: Connection) -> None:
    """Run the job in its own process, and report committed grades to `started`."""
    project = open_project(Path(path))
    close_interrupted(project)

    def report(progress: Progress) -> None:
        if progress.done:
            started.send(progress.done)

    run_job(project, grader(url), Request(concurrency=16), "ann", report)
    os._exit(0)


def prompts_of_committed(project: Project, made: ReadingGrader) -> list[tuple[str, int]]:
    """The filled-in prompt of every committed pair with its rating."""
    rows = project.rows(
        "SELECT q.text, p.text, rating FROM grades JOIN question_texts q ON q.text_key = question_text_key"
        " JOIN passage_texts p ON p.text_key = passage_text_key"
    )
    found = []
    for question, passage, rating in rows:
        call = next(made.steps(GraderInput(question), passage))
        found.append((fill_prompt(call.prompt, call.values, call.fence).user, rating))
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    project = new_project(tmp_path / "killed.duckdb")
    queries = [f"q{number}" for number in range(QUERIES)]
    questions = [Question(f"{q}/{i}", q, f"Question {i} of {q}?") for q in queries for i in range(QUESTIONS)]
    fill_project(project, questions, {}, {"one": {q: [f"{q}-{i}" for i in range(PASSAGES)] for q in queries}})
    commit(project, set_pool_depth, PASSAGES, "ann")
    project.close()
    return project.path


@pytest.mark.long
def test_killed_job_continues_without_repeated_requests_or_grades(path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["exam_workbench.grading", "exam_workbench.graders", "openai"])
    chance = random.Random(7)
    killed = 0
    with EndpointServer(moody, latency=0.02) as server:
        made = grader(server.url)
        while killed < KILLS:
            receiving, sending = context.Pipe(duplex=False)
            before = len(server.seen)
            project = open_project(path)
            committed = {prompt for prompt, _ in prompts_of_committed(project, made)}
            project.close()
            process: Any = context.Process(target=work, args=(str(path), server.url, sending))
            process.start()
            sending.close()
            # Kill at a random early commit of this process, or while it starts.
            try:
                for _ in range(chance.randrange(6)):
                    receiving.recv()
            except EOFError:
                # The job ended before it could be killed.
                break
            finally:
                os.kill(process.pid, signal.SIGKILL)
                process.join()
                receiving.close()
            killed += 1
            assert not committed & {seen.prompt for seen in server.seen[before:]}, "a committed pair was asked again"
        project = open_project(path)
        close_interrupted(project)
        final = run_job(project, made, Request(concurrency=16), "ann")
        total = QUERIES * QUESTIONS * PASSAGES
        known = prompts_of_committed(project, made)
        assert killed == KILLS
        assert final.state == "done" and len(known) == total == len({prompt for prompt, _ in known})
        assert all(rating == digit(prompt) for prompt, rating in known)
        assert make_plan(project, made.spec, 1).to_grade == 0
        project.close()
