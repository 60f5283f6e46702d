"""The time limit of a call: it grows with an endpoint that is slow, after fewer calls are made at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exam_workbench.errors import GradingError
from exam_workbench.graders import Control
from exam_workbench.graders._endpoint import endpoint_back_end, single_call
from exam_workbench.graders._endpoint.retry import Pace
from tests.made.endpoint_calls import drive, key, make, nothing_is_left_running, pairs, prompt
from tests.made.endpoint_server import EndpointServer, Reply, Seen, hang, rate, status

__all__ = ["key", "nothing_is_left_running"]

FIRST = 0.25


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of a fraction of a second."""
    monkeypatch.setattr(endpoint_back_end, "FIRST_LIMIT", FIRST)
    monkeypatch.setattr(single_call, "LONGEST_ADAPTED", 8 * FIRST)


def only_alone(seconds: float) -> EndpointServer:
    """A server that answers after some seconds what is alone, and never what comes while it has another call."""

    def behave(seen: Seen) -> Reply:
        return hang() if server.in_flight > 1 else replace(rate(seen, 4), delay=seconds)

    server = EndpointServer(behave)
    return server


@pytest.mark.parametrize("seconds", [0, 1.5 * FIRST], ids=["several at once are too slow", "one alone is"])
def test_a_slow_endpoint_loses_no_pair(quick: None, seconds: float) -> None:
    with only_alone(seconds) as server:
        grades = drive(make(server), pairs(6), Control(concurrency=4))
    assert [grade.rating for grade in grades.values()] == [4] * 6


def test_calls_that_were_too_slow_together_cost_no_attempt() -> None:
    with only_alone(0) as server:
        grades = drive(make(server, attempts=1, timeout_s=1), pairs(3), Control(concurrency=4))
    assert [grade.rating for grade in grades.values()] == [4] * 3


def test_one_pair_that_hangs_is_given_up_while_others_are_answered(quick: None) -> None:
    with EndpointServer(lambda seen: hang() if seen.prompt == prompt(3) else rate(seen, 4)) as server:
        grades = drive(make(server, attempts=2), pairs(12), Control(concurrency=3))
        assert server.counts[prompt(3)] <= 3
    assert [i for i, grade in grades.items() if grade.rating is None] == [3]


def test_an_endpoint_that_never_answers_is_given_up_after_the_longest_limit(quick: None) -> None:
    with EndpointServer(lambda seen: hang()) as server, pytest.raises(GradingError):
        drive(make(server, attempts=1000), pairs(100), Control(concurrency=4))
    # Four at once, two, one, and then one with ever more time.
    assert server.counts.total() <= 4 + 2 + 5


def test_fewer_calls_are_made_after_a_gateway_gave_up_waiting() -> None:
    def behave(seen: Seen) -> Reply:
        return status(504) if server.in_flight > 1 else rate(seen, 4)

    with EndpointServer(behave) as server:
        grades = drive(make(server, attempts=2), pairs(8), Control(concurrency=8))
    assert [grade.rating for grade in grades.values()].count(4) >= 7


def test_the_calls_of_one_burst_halve_those_at_once_once() -> None:
    pace = Pace(lambda: 0.0)
    assert [pace.narrow(4 - i, begun=i + 1, latest=4) for i in range(4)] == [True] * 4
    assert pace.room(32) == 2
    assert pace.narrow(2, begun=5, latest=6) and pace.room(32) == 1
    assert not pace.narrow(1, begun=7, latest=7)
