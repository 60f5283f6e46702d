"""Waiting for an unavailable endpoint: exam jobs, answers, comparisons and items."""

from __future__ import annotations

from itertools import count

import pytest

from exam_workbench.answers import (
    GeneratorPlan,
    JudgePlan,
    WantedAnswers,
    compare_answers,
    generate_answers,
    make_generator,
    make_judge,
)
from exam_workbench.exams import ExamRequest, ItemRequest, Plan, add_student, sit_exam, start_writing
from exam_workbench.graders import Control
from exam_workbench.graders._endpoint.retry import ANSWERS_AGAIN
from exam_workbench.grading import make_drafter
from exam_workbench.jobs import JobScope, find_jobs
from exam_workbench.store import Project
from tests.answers.made import Script, Told, collection
from tests.made.endpoint_calls import until
from tests.made.endpoint_server import EndpointServer, status
from tests.made.exams import put_exam, sittings
from tests.made.refusals import mentions

NAMES = ("q1", "q2")
DRAWS = ("1894", "in 1894", "1894")
TOLD = {name: Told("It opened in 1894.", (f"gold-{name}",), ("1894",), DRAWS, "1894") for name in NAMES}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exam_workbench.graders._endpoint.retry.FIRST_PAUSE", 0.01)


def settings(server: EndpointServer, model: str = "m") -> dict[str, object]:
    return {"model": model, "base_url": server.url, "attempts": 1}


def test_abandoned_endpoint_is_not_awaited_by_the_next_examinee(project: Project) -> None:
    put_exam(project, 2)
    with EndpointServer() as gone:
        pass
    for name in ("first", "second"):
        add_student(project, Plan(None, settings(gone, name), name=name), "ann")
    add_student(project, Plan("random", name="chance"), "ann")
    ended = sit_exam(project, ExamRequest(patience=0.02), "ann")
    assert {name: one.state for name, one in ended.items()} == {"first": "failed", "chance": "done"}
    # The message names the address and the skipped examinee, but not the one without a model.
    assert mentions(ended["first"].message, gone.url) and mentions(ended["first"].message, "second")
    assert not mentions(ended["first"].message, "chance")
    assert [(name, failed) for name, _, failed in sittings(project)] == [("chance", 0), ("first", 0)]


def test_answers_and_comparisons_wait_for_the_endpoint(project: Project) -> None:
    collection(project, TOLD, {"one": {name: [f"gold-{name}"] for name in NAMES}})
    numbers, script = count(), Script(TOLD)
    said: list[str] = []
    # Unavailable for six calls, starting with the third.
    with EndpointServer(lambda seen: status(503) if 2 <= next(numbers) < 8 else script(seen)) as server:
        ready = make_generator(project, GeneratorPlan(settings(server)))
        wanted, control = WantedAnswers(ks=(1,), draws=2), Control(report=said.append)
        done = generate_answers(project, ready, wanted, "ann", JobScope(concurrency=1), control=control)
    assert (done.state, done.graded, done.failed) == ("done", 6, 0)
    assert ANSWERS_AGAIN in said
    with EndpointServer() as gone:
        pass
    judge = make_judge(project, JudgePlan("llm", settings(gone)))
    pair = ("When did it open?", "1894", ("in 1894",))
    final = compare_answers(project, judge, [pair], "ann", JobScope(patience=0.02))
    assert (final.state, final.graded, final.failed) == ("failed", 0, 0) and mentions(final.message, gone.url)


def test_waiting_item_generation_can_be_paused_and_cancelled(project: Project) -> None:
    put_exam(project, 3)
    with EndpointServer() as gone:
        pass
    writing = start_writing(project, make_drafter(settings(gone)), "ann", ItemRequest("exam"))
    until(lambda: writing.control.awaited)
    writing.control.pause()
    assert writing.control.paused and not writing.over
    writing.control.cancel()
    assert writing.wait(60) and (writing.result.asked, writing.result.stopped) == (0, 3)
    assert writing.progress.state == find_jobs(project, "items")[0].state == "cancelled"
