"""What calls are said to have used: cached tokens and thinking apart, room for thinking, and what they cost."""

from __future__ import annotations

from typing import Any

import pytest

from exam_workbench.graders import Control, Price, Tokens, make_grader
from exam_workbench.graders._endpoint.chat import reported_tokens
from tests.made.endpoint_calls import drive, key, make, nothing_is_left_running, only, pairs
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat
from tests.made.refusals import refusal

__all__ = ["key", "nothing_is_left_running"]  # fixtures

DETAILED = {
    "prompt_tokens": 1000,
    "completion_tokens": 300,
    "prompt_tokens_details": {"cached_tokens": 800},
    "completion_tokens_details": {"reasoning_tokens": 250},
}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (DETAILED, Tokens(1000, 300, 800, 250)),
        ({"prompt_tokens": 10, "completion_tokens": 3, "prompt_cache_hit_tokens": 8}, Tokens(10, 3, 8, 0)),
        (
            {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 99}},
            Tokens(10, 3, 10),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": [1]}, Tokens(10, 3)),
        (
            {"prompt_tokens": 10, "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": -1}},
            Tokens(10, 3),
        ),
        (None, Tokens(7, 2)),
    ],
)
def test_cached_and_thinking_tokens_are_parts_of_what_was_read_and_written(usage: Any, expected: Tokens) -> None:
    assert reported_tokens(usage, Tokens(7, 2)) == expected


def test_a_job_counts_them_apart_and_pays_for_cached_tokens_what_they_cost() -> None:
    control = Control(price=Price(10.0, 100.0, cached=1.0))
    with EndpointServer(lambda seen: chat("4", usage=DETAILED)) as server:
        drive(make(server, structured="text"), pairs(2), control)
    assert control.usage.tokens == Tokens(2000, 600, 1600, 500)
    assert control.usage.cost == pytest.approx((400 * 10 + 1600 * 1 + 600 * 100) / 1e6)
    assert Price(10.0, 100.0).of(1000, 0, 800) == Price(10.0, 100.0).of(1000, 0)


def test_a_reasoning_model_has_room_to_think_and_is_told_so_where_it_had_too_little() -> None:
    def thinking(seen: Seen) -> Reply:
        if seen.body.get("max_tokens", 0) < 100:
            return chat("", "length", usage={**DETAILED, "completion_tokens": 8})
        return chat("4", reasoning_content="It says so. " * 20, usage={"prompt_tokens": 50, "completion_tokens": 70})

    with EndpointServer(thinking) as server:
        short = only(drive(make(server, structured="text"), pairs(1)))
        assert short.rating is None and "thinking_tokens" in (short.reason or "")
        control = Control()
        assert only(drive(make(server, structured="text", thinking_tokens=500), pairs(1), control)).rating == 4
        assert control.usage.tokens == Tokens(50, 70, 0, 60)
        assert server.seen[-1].body["max_tokens"] == 508


def test_room_for_thinking_makes_another_grader_and_none_is_as_before() -> None:
    asked = {"model": "m", "back_end": "openai", "base_url": "http://localhost:9/v1"}
    plain, none, some = (
        make_grader("self-rating", asked | more).spec.fingerprint
        for more in ({}, {"thinking_tokens": 0}, {"thinking_tokens": 4000})
    )
    assert plain == none != some
    with refusal("parameter-out-of-range"):
        make_grader("self-rating", asked | {"thinking_tokens": -1})
    with refusal("useless-parameter"):
        make_grader("self-rating", {"thinking_tokens": 10})
