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

from exam_workbench.graders import Control, ReadingGrader, fill_prompt, make_grader
from exam_workbench.grading import Request, make_plan, price_tag, run_job
from exam_workbench.grading._grading_jobs import run_batches
from exam_workbench.jobs import Progress, find_jobs
from exam_workbench.records import close_interrupted, set_pool_depth
from exam_workbench.store import Project, open_project
from exam_workbench.types import GraderInput, Question
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat, digit, moody
from tests.made.projects import commit, examples, fill as fill_project, new_project

KILLS = examples(3)
QUERIES, QUESTIONS, PASSAGES = 5, 10, 2 * KILLS
BATCH_KILLS = examples(4)
BATCH_SIZE, BATCHES = 5, 3 * BATCH_KILLS


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


def work_in_batches(path: str, url: str) -> None:
    """Run the job as `exam grade --batch` does, in its own process."""
    project = open_project(Path(path))
    close_interrupted(project)
    in_batches(project, url)
    os._exit(0)


def in_batches(project: Project, url: str) -> Progress:
    request = Request(batch=True, batch_size=BATCH_SIZE)
    return run_batches(
        project, grader(url), request, "ann", lambda progress: None, Control(), lambda seconds: None
    )  # fmt: skip


def counted(seen: Seen) -> Reply:
    """Rate, and report as many tokens as price tags estimate."""
    read = sum(len(message["content"]) for message in seen.body["messages"]) // 4 + 1
    return chat(str(digit(seen.prompt)), usage={"prompt_tokens": read, "completion_tokens": 10})


class Executioner:
    """Kills a process at one of its file or batch requests, before or after the request is handled."""

    def __init__(self, server: EndpointServer) -> None:
        self.victim: Any = None
        self.left = 0
        self.after = False
        self._handle, server.shelf.handle = server.shelf.handle, self._watched  # type: ignore[method-assign]

    def _watched(self, *request: Any) -> Any:
        self.left -= 1
        if self.left == 0 and not self.after:
            os.kill(self.victim.pid, signal.SIGKILL)
        done = self._handle(*request)
        if self.left == 0 and self.after:
            os.kill(self.victim.pid, signal.SIGKILL)
        return done


@pytest.mark.long
def test_killed_batches_continue_and_bill_every_pair_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["exam_workbench.grading", "exam_workbench.graders", "openai"])
    chance = random.Random(11)
    project = new_project(tmp_path / "batches.duckdb")
    questions = [Question(f"q/{i}", "q", f"Question {i}?") for i in range(BATCH_SIZE)]
    fill_project(project, questions, {}, {"one": {"q": [f"p{i}" for i in range(BATCHES)]}})
    commit(project, set_pool_depth, BATCHES, "ann")
    with EndpointServer(counted) as server:
        tag = price_tag(project, grader(server.url), 1)
        project.close()
        executioner = Executioner(server)
        ends = []
        for _ in range(BATCH_KILLS):
            # One pair is sent alone first; batches, and so the kills, come after it.
            executioner.victim = context.Process(target=work_in_batches, args=(str(project.path), server.url))
            executioner.left, executioner.after = chance.randrange(1, 2 * BATCHES), chance.random() < 0.5
            executioner.victim.start()
            executioner.victim.join()
            ends.append(executioner.victim.exitcode)
        executioner.left = 0
        project = open_project(project.path)
        close_interrupted(project)
        final = in_batches(project, server.url)
        made = grader(server.url)
        known = prompts_of_committed(project, made)
        assert final.state == "done", final.message
        assert ends == [-signal.SIGKILL] * BATCH_KILLS
        assert len(known) == BATCH_SIZE * BATCHES and all(rating == digit(prompt) for prompt, rating in known)
        assert make_plan(project, made.spec, 1).to_grade == 0
        # One pair was sent alone, then again as plain text, because the endpoint ignores schemas.
        # Each other pair was in exactly one batch.
        assert set(server.shelf.made.values()) == {1} and len(server.shelf.made) == len(known) - 1
        assert len(server.seen) == 2
        billed = [
            sum(getattr(job, name) or 0 for job in find_jobs(project)) for name in ("input_tokens", "output_tokens")
        ]
        assert abs(billed[0] / tag.input_tokens - 1) < 0.05 and abs(billed[1] / tag.output_tokens - 1) < 0.05
        project.close()
