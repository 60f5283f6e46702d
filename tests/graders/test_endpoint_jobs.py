"""A job at an endpoint: calls in flight, pauses, caps, cancelling, and pairs of several calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator

import pytest

from exam_workbench.graders import Call, Control, Outcome, Pair, Steps
from exam_workbench.graders._endpoint.endpoint_back_end import EndpointBackEnd
from exam_workbench.types import Grade
from tests.made.endpoint_calls import (
    FREE,
    drive,
    key,
    make,
    nothing_is_left_running,
    pairs,
    prompt,
    question,
    rated,
    until,
)
from tests.made.endpoint_server import (
    EndpointServer,
    Reply,
    Seen,
    chat,
    hang,
    rate,
    status,
)

__all__ = ["key", "nothing_is_left_running"]


class Held:
    """A behaviour that answers when it is let."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def __call__(self, seen: Seen) -> Reply:
        return rate(seen, 1) if self.released.is_set() else hang()


@pytest.fixture
def background() -> Iterator[Callable[..., list[Outcome]]]:
    """Drives in threads that end with the test."""
    threads: list[threading.Thread] = []
    controls: list[Control] = []

    def start(end: EndpointBackEnd, work: Iterable[tuple[Pair, Steps]], control: Control) -> list[Outcome]:
        outcomes: list[Outcome] = []

        def run() -> None:
            for batch in end.drive(work, control):
                outcomes.extend(batch)

        threads.append(threading.Thread(target=run))
        controls.append(control)
        threads[-1].start()
        return outcomes

    yield start
    for control in controls:
        control.cancel()
    for thread in threads:
        thread.join(30)


def test_calls_in_flight_follow_the_concurrency_while_a_job_runs(background: Callable[..., list[Outcome]]) -> None:
    control = Control(concurrency=3)
    with EndpointServer(latency=0.02) as server:
        outcomes = background(make(server), pairs(100_000), control)
        until(lambda: len(outcomes) > 30 and server.max_in_flight >= 3)
        assert server.max_in_flight == 3
        control.concurrency = 9
        until(lambda: server.max_in_flight == 9)
        control.concurrency = 2
        changed = len(outcomes)
        until(lambda: len(outcomes) > changed + 30)
        server.max_in_flight = 0
        until(lambda: len(outcomes) > changed + 60)
        assert server.max_in_flight == 2
        control.cancel()
        until(lambda: server.in_flight == 0)


def test_while_paused_no_call_is_made_and_then_the_job_goes_on(background: Callable[..., list[Outcome]]) -> None:
    control = Control(concurrency=2)
    with EndpointServer() as server:
        outcomes = background(make(server), pairs(100_000), control)
        until(lambda: len(outcomes) > 5)
        control.pause()
        # The reins are looked at twenty times a second: calls that were made in spite of them would show by then.
        until(lambda: len(outcomes) == control.usage.calls == server.counts.total() == settled(server))
        paused_at = server.counts.total()
        control.resume()
        until(lambda: len(outcomes) > paused_at)


def test_cancelling_lets_the_calls_in_flight_end_and_count() -> None:
    control = Control(concurrency=4)
    with EndpointServer(latency=0.05) as server:
        outcomes: list[Outcome] = []
        for batch in make(server).drive(pairs(1000), control):
            outcomes += batch
            control.cancel()
    assert len(outcomes) == server.counts.total() == control.usage.calls < 30


def test_the_cap_on_calls_is_exact_with_retries_counted() -> None:
    control = Control(max_calls=37, concurrency=8)
    with EndpointServer(lambda seen: status(500) if seen.attempt == 1 else rate(seen, 5)) as server:
        grades = drive(make(server), pairs(100), control)
    assert server.counts.total() == control.usage.calls == 37
    assert control.exhausted
    assert len(grades) == sum(count == 2 for count in server.counts.values())


def test_a_cap_that_is_just_enough_stops_nothing() -> None:
    control = Control(max_calls=10, concurrency=8)
    with EndpointServer() as server:
        assert len(drive(make(server), pairs(10), control)) == 10
    assert not control.exhausted


def test_where_usage_is_missing_it_is_estimated() -> None:
    control = Control()
    with EndpointServer(lambda seen: chat("3333", usage=False)) as server:
        drive(make(server), pairs(1), control)
    assert (control.usage.input_tokens, control.usage.output_tokens) == (-(-len(prompt(0)) // 4), 1)


def two_steps(i: int) -> Steps:
    first = yield question(i)
    second = yield Call(FREE, {"question": f"Verify {i}: {first.text}"}, "text")
    return Grade(int(second.text), answer=first.text)


def test_the_second_call_of_a_pair_goes_before_new_pairs() -> None:
    with EndpointServer(lambda seen: chat("4")) as server:
        end = make(server, structured="text")
        grades = drive(end, (((i, 0), two_steps(i)) for i in range(3)), Control(concurrency=1))
    assert [seen.prompt.partition(" ")[0] for seen in server.seen] == ["Question:", "Answer"] * 3
    assert [grade.rating for grade in grades.values()] == [4, 4, 4]


def test_a_pair_whose_second_call_is_not_allowed_has_no_outcome() -> None:
    control = Control(max_calls=5, concurrency=1)
    with EndpointServer(lambda seen: chat("4")) as server:
        grades = drive(make(server, structured="text"), (((i, 0), two_steps(i)) for i in range(9)), control)
    assert list(grades) == [0, 1]


def test_pairs_are_taken_as_room_comes_free() -> None:
    taken = []

    def work() -> Iterator[tuple[Pair, Steps]]:
        for item in pairs(100_000):
            taken.append(item)
            yield item

    control = Control(concurrency=16)
    with EndpointServer() as server:
        batches = make(server).drive(work(), control)
        while not next(batches):
            pass
        # Nobody takes outcomes, so the calls cease, far from the end of the work.
        until(lambda: server.in_flight == 0 and server.counts.total() == settled(server))
        assert len(taken) < 2000
        batches.close()


def settled(server: EndpointServer) -> int:
    """The number of requests, after some time."""
    threading.Event().wait(0.2)
    return server.counts.total()


def test_a_caller_that_leaves_early_leaves_nothing_behind() -> None:
    closed = []

    def leaving(i: int) -> Steps:
        try:
            return (yield from rated(question(i)))
        finally:
            closed.append(i)

    held = Held()
    with EndpointServer(lambda seen: held(seen) if "q0?" not in seen.prompt else rate(seen, 1)) as server:
        batches = make(server).drive((((i, 0), leaving(i)) for i in range(1000)), Control(concurrency=4))
        while not next(batches):
            pass
        until(lambda: server.in_flight == 4)
        batches.close()
        until(lambda: server.connections == 0)
    assert [thread.name for thread in threading.enumerate() if thread.name == "endpoint"] == []
    assert sorted(closed) == [0, 1, 2, 3, 4]


def test_an_error_in_a_pairs_own_steps_is_not_swallowed() -> None:
    def broken() -> Steps:
        yield question(0)
        raise ZeroDivisionError

    with EndpointServer() as server, pytest.raises(ZeroDivisionError):
        drive(make(server), [((0, 0), broken())])


def test_a_pair_that_asks_nothing_has_its_grade_without_a_call() -> None:
    def silent() -> Steps:
        return Grade(None, "failed", reason="the passage is empty")
        yield

    control = Control()
    with EndpointServer() as server:
        grades = drive(make(server), (((i, 0), silent()) for i in range(3000)), control)
    assert (len(grades), control.usage.calls) == (3000, 0)
