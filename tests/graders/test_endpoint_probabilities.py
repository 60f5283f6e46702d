"""Probabilities of ratings from an endpoint: requested, stored, and used by the expected rating."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from exam_workbench.graders import Control, make_grader
from exam_workbench.grading import Request, run_job
from exam_workbench.labels import Policy, basis, label_qrels
from exam_workbench.store import Project
from exam_workbench.types import Asked, Grade, Question, entropy
from tests.made.endpoint_calls import key
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat, status
from tests.made.projects import fill

__all__ = ["key"]


@pytest.fixture
def server() -> Iterator[EndpointServer]:
    with EndpointServer() as started:
        yield started


def told(text: str, *tokens: tuple[str, dict[str, float]]) -> Reply:
    """Return a chat completion with its tokens and the probabilities of the likeliest ones."""
    content = [
        {
            "token": token,
            "logprob": math.log(chances.get(token, 0.01)),
            "top_logprobs": [{"token": one, "logprob": math.log(chance)} for one, chance in chances.items()],
        }
        for token, chances in tokens
    ]
    reply = chat(text)
    body = json.loads(reply.content)
    body["choices"][0]["logprobs"] = {"content": content}
    return replace(reply, content=json.dumps(body).encode())


def graded(server: EndpointServer, **more: Any) -> Grade:
    grader = make_grader("self-rating", {"model": "m", "base_url": server.url, **more})
    (found,) = [one for batch in grader.grade({0: Asked("why ?")}, {1: "so"}, [(0, 1)], Control()) for one in batch]
    return found[2]


def test_probabilities_are_those_at_the_token_with_the_rating(server: EndpointServer) -> None:
    top = {"4": 0.5, " 4": 0.1, "3": 0.2, "the": 0.2}
    server.behave = lambda seen: told("Rating: 4", ("Rating", {"Rating": 0.9, "4": 0.1}), (":", {":": 1}), (" 4", top))
    grade = graded(server, structured="text")
    assert server.seen[0].body["logprobs"] is True and server.seen[0].body["top_logprobs"] >= 6
    assert grade.rating == 4 and grade.distribution == pytest.approx((0, 0, 0, 0.25, 0.75, 0))
    assert grade.confidence == pytest.approx(0.75)
    assert entropy(grade.distribution or ()) == pytest.approx(0.811, abs=0.001)


def test_an_endpoint_that_refuses_them_is_asked_without(server: EndpointServer) -> None:
    def behave(seen: Seen) -> Reply:
        return status(403, "You are not allowed to request logprobs.") if "logprobs" in seen.body else chat("4")

    server.behave = behave
    assert graded(server, structured="text") == Grade(4, raw="4")
    assert ["logprobs" in seen.body for seen in server.seen] == [True, False]
    assert "logprobs" not in (graded(server, structured="text", thinking_tokens=9), server.seen[-1].body)[1]


@pytest.mark.parametrize(
    "junk",
    [
        None,
        [],
        {"content": None},
        {"content": [None, {"token": None}, {"token": "4", "top_logprobs": 3}]},
        {"content": [{"token": "4", "top_logprobs": [None, {"token": "4", "logprob": "x"}, {"logprob": 5}]}]},
        {"content": [{"token": {"4": 4}, "top_logprobs": [{"token": "3", "logprob": -5000.0}]}]},
    ],
)
def test_anything_else_is_no_probability(server: EndpointServer, junk: object) -> None:
    body = json.loads(chat("4").content)
    body["choices"][0]["logprobs"] = junk
    server.behave = lambda seen: Reply(content=json.dumps(body).encode())
    grade = graded(server, structured="text")
    assert (grade.rating, grade.distribution) == (4, None)


def test_the_expected_rating_of_an_endpoint_gives_labels(project: Project, server: EndpointServer) -> None:
    fill(project, [Question("q1/a", "q1", "What is A?")], {}, {"one": {"q1": ["p1"]}})
    top = {"4": 0.5, "1": 0.5}
    server.behave = lambda seen: told("4", ("4", top))
    grader = make_grader("self-rating", {"model": "m", "base_url": server.url, "structured": "text"})
    assert run_job(project, grader, Request(), "ann").graded == 1
    labels = [
        label_qrels(project, basis(project, Policy(grader.spec.name, rating=rule)))["q1"]["p1"]
        for rule in ("written", "expected", "expected:.5,1,1.5,2,2.4")
    ]
    assert labels == [4, 3, 5]
