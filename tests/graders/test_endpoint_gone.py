"""An endpoint that goes away and comes back: the job waits for it, in sight, and goes on by itself."""

from __future__ import annotations

import re
import threading
import time
from itertools import count

import pytest

from exam_workbench.errors import GradingError
from exam_workbench.graders import Awaited, Control
from exam_workbench.graders._endpoint.call_session import SILENT_PAIRS, TRIES_ALONE
from exam_workbench.graders._endpoint.retry import ANSWERS_AGAIN, LONGEST_PAUSE, Absence
from exam_workbench.types import Grade
from tests.made.endpoint_calls import drive, key, make, nothing_is_left_running, pairs, prompt, until
from tests.made.endpoint_server import (
    Behaviour,
    EndpointServer,
    Reply,
    Seen,
    chat,
    digit,
    rate,
    status,
    too_many,
    torn,
    well,
)
from tests.made.refusals import check_error, refusal

__all__ = ["key", "nothing_is_left_running"]

HOUR = 3600.0
DAY = 24 * HOUR


def quick() -> float:
    """A clock on which an hour passes in a third of a second."""
    return time.monotonic() * 10_000


def gone_for(calls: int, reply: Reply, after: int = 10) -> Behaviour:
    """Well for a while, then gone for so many calls, then well again."""
    numbers = count()

    def behave(seen: Seen) -> Reply:
        return reply if after <= next(numbers) < after + calls else well(seen)

    return behave


@pytest.mark.parametrize("reply", [status(503), status(500), too_many(retry_after=60), torn(chat("3"))])
def test_a_job_waits_for_an_endpoint_that_is_gone_and_asks_nothing_twice(reply: Reply) -> None:
    said: list[str] = []
    control = Control(concurrency=4, report=said.append, patience=DAY)
    with EndpointServer(gone_for(25, reply)) as server:
        grades = drive(make(server, attempts=2, clock=quick), pairs(60), control)
    assert {i: grade.rating for i, grade in grades.items()} == {i: digit(prompt(i)) for i in range(60)}
    assert server.counts.total() == 60 + 25, "what was answered is not asked again"
    # A try that failed is told with the time of the next one, and then that it is over.
    assert ANSWERS_AGAIN in said and control.awaited is None
    before = said[: said.index(ANSWERS_AGAIN)]
    assert any(len(re.findall(r"\b\d\d:\d\d\b", line)) == 2 for line in before), "the next try, and the last"


def test_an_endpoint_that_is_down_is_waited_for_until_it_is_up_again() -> None:
    control = Control(concurrency=4, patience=1000 * DAY)
    with EndpointServer() as server:
        pass
    end = make(server, attempts=2, clock=quick)
    done: list[dict[int, Grade]] = []
    thread = threading.Thread(target=lambda: done.append(drive(end, pairs(20), control)))
    thread.start()
    until(lambda: control.awaited)
    with EndpointServer(port=server.port):
        thread.join(30)
    assert [grade.rating for grade in done[0].values()].count(None) == 0
    assert len(done[0]) == 20


def test_while_it_waits_the_job_can_be_paused_and_stopped() -> None:
    control = Control(concurrency=4, patience=1000 * DAY)
    with EndpointServer(lambda seen: status(503)) as server:
        done: list[dict[int, Grade]] = []
        end = make(server, attempts=1, clock=quick)
        thread = threading.Thread(target=lambda: done.append(drive(end, pairs(20), control)))
        thread.start()
        # All the calls with which it begins have arrived: what comes after the pause was not under way before it.
        until(lambda: control.awaited and server.counts.total() >= control.concurrency)
        control.pause()
        until(lambda: server.in_flight == 0)
        calls = server.counts.total()
        # Twenty looks at the reins: a try that was made in spite of them would show by now.
        threading.Event().wait(0.3)
        assert server.counts.total() - calls <= 1
        control.cancel()
        thread.join(20)
    assert done == [{}]


def test_an_endpoint_that_stays_away_is_given_up_once_the_patience_is_at_its_end() -> None:
    with EndpointServer(lambda seen: status(503)) as server, pytest.raises(GradingError) as caught:
        drive(make(server, attempts=2, clock=quick), pairs(100), Control(concurrency=4, patience=HOUR))
    check_error(caught.value, "endpoint-gone", "60", "503")
    assert server.counts.total() < 25, "a few tries, ever further apart"


@pytest.mark.parametrize(
    ("reply", "code"),
    [(status(401), "key-refused"), (status(403), "model-not-allowed"), (status(404), "unknown-model")],
)
def test_an_endpoint_that_comes_back_and_lets_nobody_in_ends_the_job(reply: Reply, code: str) -> None:
    numbers = count()
    with (
        EndpointServer(lambda seen: status(503) if next(numbers) < 12 else reply) as server,
        refusal(code, "HTTP", kind=GradingError),
    ):
        drive(make(server, attempts=2, clock=quick), pairs(100), Control(concurrency=4, patience=DAY))


@pytest.mark.parametrize(("http", "concurrency"), [(500, 2), (503, 1)])
def test_a_pair_that_fails_by_itself_is_not_waited_for_again_and_again(http: int, concurrency: int) -> None:
    def behave(seen: Seen) -> Reply:
        return status(http) if seen.prompt == prompt(3) else rate(seen, 2)

    control = Control(concurrency=concurrency, patience=DAY)
    with EndpointServer(behave) as server:
        grades = drive(make(server, attempts=3, clock=quick), pairs(30), control)
    assert [i for i, grade in grades.items() if grade.rating is None] == [3]
    assert re.findall(r"\d+", str(grades[3].reason)) == [str(http), "3"], "the status and the attempts"
    # Its attempts, a try while the endpoint counts as gone, and its attempts once more.
    assert server.counts[prompt(3)] <= 3 + 1 + 3


def test_the_last_pair_of_a_job_costs_no_more_than_some_tries() -> None:
    said: list[str] = []
    control = Control(concurrency=4, report=said.append, patience=DAY)
    with EndpointServer(lambda seen: status(503) if seen.prompt == prompt(29) else rate(seen, 2)) as server:
        grades = drive(make(server, attempts=2, clock=quick), pairs(30), control)
    assert [i for i, grade in grades.items() if grade.rating is None] == [29]
    assert re.findall(r"\d+", str(grades[29].reason)) == ["503", "2"]
    assert server.counts[prompt(29)] == 2 + TRIES_ALONE
    assert ANSWERS_AGAIN not in said and control.awaited is None


def test_the_last_pairs_of_a_job_that_fail_by_themselves_are_not_waited_for() -> None:
    control = Control(concurrency=2, patience=DAY)
    with EndpointServer(lambda seen: status(500)) as server:
        grades = drive(make(server, attempts=2, clock=quick), pairs(SILENT_PAIRS - 1), control)
    (reason,) = {grade.reason for grade in grades.values()}
    assert re.findall(r"\d+", str(reason)) == ["500", "2"] and len(grades) == SILENT_PAIRS - 1


def test_pauses_grow_and_are_bounded_and_the_last_try_is_at_the_end() -> None:
    now, control = [0.0], Control(patience=HOUR)
    absence = Absence("http://localhost/v1", control, lambda line: None, lambda: now[0])
    tries = []
    while absence.wait("HTTP 503", None) is None:
        assert absence.room == 0
        step = next(second for second in range(1, 4000) if _has_room_at(absence, now, now[0] + second))
        tries.append(step)
    assert tries == [30, 60, 120, 240, 480, 600, 600, 600, 600, 270]
    assert sum(tries) == HOUR
    assert max(tries) == LONGEST_PAUSE
    assert isinstance(control.awaited, Awaited)
    absence.over()
    assert control.awaited is None and not absence.gone


def _has_room_at(absence: Absence, now: list[float], at: float) -> bool:
    now[0], before = at, now[0]
    if absence.room:
        return True
    now[0] = before
    return False
