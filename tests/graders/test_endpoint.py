"""The back end for chat endpoints: the real client against a server on this computer that also misbehaves."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import GradingError, InputError
from core.graders import Call, Control, Outcome, Pair, Price, Prompt, Steps, acting, naming
from core.graders.access import keys as secret_keys
from core.graders.endpoint.back_end import EndpointBackEnd
from core.graders.endpoint.chat import objection
from core.graders.endpoint.redaction import redact
from core.graders.endpoint.retry import MAX_WAIT, Pace, backoff, told_wait
from core.graders.endpoint.session import SILENT_PAIRS
from core.graders.reading.calls import Form
from core.types import Grade
from tests.made.endpoint_server import (
    EndpointServer,
    Reply,
    Seen,
    chat,
    digit,
    hang,
    moody,
    no_structure,
    page,
    rate,
    refuse,
    retry_at,
    status,
    too_many,
    torn,
    well,
)

KEY = "sk-test-0123456789abcdef0123456789abcdef"
RATE = Prompt("rate", "Rate", "self-rating", "Question: {question}\nPassage: {context}\nRating:", "rating", "ours")
FREE = Prompt("free", "Free", "answer", "Answer as JSON: {question}", "text", "ours")
SCALE = ("0", "1", "2", "3", "4", "5")


def fast_clock() -> float:
    """A clock that runs a thousand times as fast, so that minutes of waiting pass in a moment."""
    return time.monotonic() * 1000


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has a key that is easy to find where it must not be."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    """No test leaves a thread behind."""
    before = set(threading.enumerate())
    yield
    assert [thread.name for thread in set(threading.enumerate()) - before] == []


def make(server: EndpointServer, **options: Any) -> EndpointBackEnd:
    with acting(naming(server.url, "OPENAI_API_KEY")):
        return EndpointBackEnd("m", server.url, "OPENAI_API_KEY", **({"clock": fast_clock} | options))


def question(i: int) -> Call:
    return Call(RATE, {"question": f"q{i}?", "context": f"Passage {i}."}, "rating", options=SCALE, max_tokens=8)


def prompt(i: int) -> str:
    return f"Question: q{i}?\nPassage: Passage {i}.\nRating:"


def rated(call: Call) -> Steps:
    """Ask once and read a rating, from JSON or from plain text."""
    completion = yield call
    if completion.error is not None:
        return Grade(None, "failed", reason=completion.error)
    if not completion.complete:
        return Grade(None, "failed", raw=completion.text, reason="cut off")
    found = re.fullmatch(r'\{"rating": ?(\d+)\}|(\d)', completion.text)
    number = int(found[1] or found[2]) if found else -1
    if number not in range(6):
        return Grade(None, "failed", raw=completion.text, reason="no rating")
    note = f"shortened by {completion.shortened}" if completion.shortened else None
    return Grade(number, raw=completion.text, note=note)


def pairs(n: int) -> Iterator[tuple[Pair, Steps]]:
    return (((i, 1000 + i), rated(question(i))) for i in range(n))


def drive(end: EndpointBackEnd, work: Iterable[tuple[Pair, Steps]], control: Control | None = None) -> dict[int, Grade]:
    """All grades by question; no pair may come twice."""
    outcomes: list[Outcome] = []
    for batch in end.drive(work, control or Control()):
        outcomes += batch
    assert len({(q, p) for q, p, _ in outcomes}) == len(outcomes)
    return {q: grade for q, _, grade in outcomes}


def only(grades: dict[int, Grade]) -> Grade:
    assert len(grades) == 1
    return grades[0]


def test_every_pair_is_asked_once_and_rated() -> None:
    control = Control(concurrency=4)
    with EndpointServer() as server:
        grades = drive(make(server), pairs(30), control)
    assert {i: grade.rating for i, grade in grades.items()} == {i: digit(prompt(i)) for i in range(30)}
    assert server.counts == Counter(prompt(i) for i in range(30))
    assert (control.usage.calls, control.usage.input_tokens, control.usage.output_tokens) == (30, 300, 150)


def test_whatever_goes_wrong_each_pair_ends_as_exactly_one_outcome() -> None:
    control = Control(concurrency=16)
    with EndpointServer(moody) as server:
        grades = drive(make(server, attempts=20), pairs(200), control)
    assert {i: grade.rating for i, grade in grades.items()} == {i: digit(prompt(i)) for i in range(200)}
    assert control.usage.calls == server.counts.total() > 200


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (status(500), "HTTP 500 after 3 attempts"),
        (too_many(), "HTTP 429 after 3 attempts"),
        (status(409), "HTTP 409 after 3 attempts"),
        (status(408), "HTTP 408 after 3 attempts"),
        (hang(), "no answer within 1 s after 3 attempts"),
        (torn(chat("3")), "the connection failed after 3 attempts"),
        (page(), "the answer cannot be used after 3 attempts"),
        (page(502), "HTTP 502 after 3 attempts"),
        (Reply(content=chat("3").content[:40]), "the answer cannot be used after 3 attempts"),
        (Reply(content=b""), "the answer cannot be used after 3 attempts"),
        (Reply(content=b"[]"), "the answer cannot be used after 3 attempts"),
        (Reply(content=b'{"choices": []}'), "the answer cannot be used after 3 attempts"),
        (Reply(content=b'{"choices": [7]}'), "the answer cannot be used after 3 attempts"),
        (Reply(content=b'{"choices": [{"message": null}]}'), "the answer cannot be used after 3 attempts"),
        (chat(4), "the answer cannot be used after 3 attempts"),
        (chat(["4"]), "the answer cannot be used after 3 attempts"),
        (Reply(content=b'{"error": {"message": "upstream died"}}'), "the answer cannot be used after 3 attempts"),
    ],
)
def test_a_fault_is_tried_again_and_then_is_the_reason_of_a_failed_pair(reply: Reply, reason: str) -> None:
    control = Control()
    with EndpointServer(lambda seen: reply) as server:
        grade = only(drive(make(server, attempts=3, timeout_s=1 if reply.hang else 60), pairs(1), control))
    assert (grade.rating, grade.status, grade.reason) == (None, "failed", reason)
    assert server.counts[prompt(0)] == control.usage.calls == 3


@pytest.mark.parametrize("reply", [status(500), hang(), torn(chat("3")), page(), chat(4), too_many()])
def test_a_fault_that_passes_leaves_no_trace_in_the_grade(reply: Reply) -> None:
    with EndpointServer(lambda seen: reply if seen.attempt < 3 else rate(seen, 3)) as server:
        grade = only(drive(make(server, timeout_s=1 if reply.hang else 60), pairs(1)))
    assert grade == Grade(3, raw='{"rating": 3}')


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        (refuse(), Grade(None, "failed", reason="refused: I cannot help with that.")),
        (chat("4", finish="content_filter"), Grade(None, "failed", reason="stopped by the endpoint's content filter")),
        (chat('{"rat', finish="length"), Grade(None, "failed", raw='{"rat', reason="cut off")),
        (chat(""), Grade(None, "failed", raw="", reason="no rating")),
        (chat(None), Grade(None, "failed", raw="", reason="no rating")),
        (chat('{"rating": 9}'), Grade(None, "failed", raw='{"rating": 9}', reason="no rating")),
        (
            chat('Sure! {"mark": 4}', usage=False),
            Grade(None, "failed", raw='Sure! {"mark": 4}', reason="no rating"),
        ),
    ],
)
def test_an_answer_of_no_use_is_no_fault_and_reaches_the_parser_as_it_is(reply: Reply, grade: Grade) -> None:
    with EndpointServer(lambda seen: reply) as server:
        assert only(drive(make(server), pairs(1))) == grade
    assert server.counts[prompt(0)] == 1


@pytest.mark.parametrize(("code", "said"), [(400, "HTTP 400: no such field"), (422, "HTTP 422: no such field")])
def test_a_request_that_is_refused_is_not_repeated(code: int, said: str) -> None:
    with EndpointServer(lambda seen: status(code, "no such field")) as server:
        assert only(drive(make(server), pairs(1))).reason == said
    assert server.counts[prompt(0)] == 1


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (status(401, f"Incorrect API key provided: {KEY}"), ["key", "OPENAI_API_KEY"]),
        (status(403, "forbidden"), ["OPENAI_API_KEY"]),
        (status(404, "no such model"), ["'m'", "no such model"]),
        (status(429, "You exceeded your quota", code="insufficient_quota"), ["nothing left", "OPENAI_API_KEY"]),
    ],
)
def test_what_no_retry_can_mend_ends_the_job_at_once(reply: Reply, words: list[str]) -> None:
    with EndpointServer(lambda seen: reply) as server, pytest.raises(GradingError) as caught:
        drive(make(server), pairs(1000), Control(concurrency=4))
    assert all(word in str(caught.value) for word in words)
    assert KEY not in str(caught.value)
    assert server.counts.total() <= 8


def test_an_endpoint_that_never_answers_is_given_up_and_the_outcomes_so_far_are_kept() -> None:
    outcomes: list[Outcome] = []
    with EndpointServer(lambda seen: status(500)) as server:
        with pytest.raises(GradingError, match="does not answer"):
            for batch in make(server, attempts=2).drive(pairs(1000), Control(concurrency=4)):
                outcomes += batch
        assert 10 <= len(outcomes) <= 13
        assert {grade.reason for _, _, grade in outcomes} == {"HTTP 500 after 2 attempts"}
    assert server.counts.total() < 50


def test_an_endpoint_that_is_not_there_is_given_up() -> None:
    with EndpointServer() as server:
        pass
    with pytest.raises(GradingError, match="does not answer"):
        drive(make(server, attempts=2), pairs(100))


def test_failures_between_successes_do_not_end_a_job() -> None:
    with EndpointServer(lambda seen: status(500) if "q7?" not in seen.prompt else rate(seen, 1)) as server:
        work = [((i, j), rated(question(i))) for j in range(2) for i in (1, 2, 3, 4, 5, 6, 8, 9, 7)]
        outcomes = [o for batch in make(server, attempts=1).drive(work, Control(concurrency=1)) for o in batch]
    assert [grade.rating for _, _, grade in outcomes] == [*[None] * 8, 1] * 2


def test_failures_that_come_late_and_together_do_not_end_a_job_where_pairs_between_them_got_their_answer() -> None:
    def behave(seen: Seen) -> Reply:
        if int(seen.prompt.split("?")[0].removeprefix("Question: q")) % 2:
            return rate(seen, 1)
        return replace(status(500), delay=0.5 - time.monotonic() % 0.5)

    with EndpointServer(behave) as server:
        grades = drive(make(server, attempts=1), pairs(4 * SILENT_PAIRS), Control(concurrency=SILENT_PAIRS))
    assert [grade.rating for grade in grades.values()].count(1) == 2 * SILENT_PAIRS
    assert len(grades) == 4 * SILENT_PAIRS


@pytest.mark.parametrize(
    "reply", [too_many(retry_after=60), too_many(retry_after_ms=60_000), too_many(x_ratelimit_reset_requests="1m0s")]
)
def test_after_429_every_call_waits_for_the_time_told(reply: Reply) -> None:
    def behave(seen: Seen) -> Reply:
        return reply if seen.prompt == prompt(0) and seen.attempt == 1 else rate(seen, 2)

    with EndpointServer(behave, clock=fast_clock) as server:
        assert len(drive(make(server), pairs(20), Control(concurrency=1))) == 20
    refused, *others = (seen.at for seen in server.seen)
    assert min(others) - refused >= 60


def test_after_429_with_a_date_every_call_waits_for_it() -> None:
    moment = time.time() + 250

    def behave(seen: Seen) -> Reply:
        return retry_at(moment) if seen.prompt == prompt(0) and seen.attempt == 1 else rate(seen, 2)

    with EndpointServer(behave, clock=fast_clock) as server:
        drive(make(server), pairs(3), Control(concurrency=1))
    assert [seen.prompt for seen in server.seen[:2]] == [prompt(0), prompt(0)]
    # Far less than told, as the date is compared to a clock of ordinary speed.
    assert server.seen[1].at - server.seen[0].at >= 150


def test_after_a_fault_of_its_own_a_call_waits_alone() -> None:
    now = [0.0]

    def behave(seen: Seen) -> Reply:
        if seen.prompt == prompt(0) and seen.attempt == 1:
            return Reply(500, headers={"retry-after": "60"})
        if seen.prompt == prompt(2):
            now[0] = 60.0
        return rate(seen, 2)

    with EndpointServer(behave) as server:
        drive(make(server, clock=lambda: now[0]), pairs(3), Control(concurrency=1))
    assert [seen.prompt for seen in server.seen] == [prompt(0), prompt(1), prompt(2), prompt(0)]


def test_nothing_is_lost_where_far_more_calls_are_in_flight_than_the_rate_limit_lets_through() -> None:
    let_through: Counter[int] = Counter()

    def behave(seen: Seen) -> Reply:
        minute, second = divmod(seen.at, 60)
        let_through[int(minute)] += 1
        return rate(seen, 2) if let_through[int(minute)] <= 10 else too_many(retry_after=60 - second)

    with EndpointServer(behave, clock=fast_clock) as server:
        grades = drive(make(server), pairs(200), Control(concurrency=100))
    assert [grade.rating for grade in grades.values()] == [2] * 200


def test_cancelling_ends_a_wait() -> None:
    control = Control()
    with EndpointServer(lambda seen: too_many(retry_after=200)) as server:
        # With a clock of ordinary speed the wait would outlast the test.
        done: list[dict[int, Grade]] = []
        thread = threading.Thread(
            target=lambda: done.append(drive(make(server, clock=time.monotonic), pairs(5), control))
        )
        thread.start()
        until(lambda: control.usage.calls == 5)
        control.cancel()
        thread.join(20)
    assert done == [{}]


def until(condition: Callable[[], object]) -> None:
    """Wait for what another thread does."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


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
        control.set_concurrency(9)
        until(lambda: server.max_in_flight == 9)
        control.set_concurrency(2)
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
        until(lambda: len(outcomes) == control.usage.calls == server.counts.total())
        paused_at = server.counts.total()
        # The reins are looked at twenty times a second: calls that were made in spite of them would show by now.
        threading.Event().wait(0.3)
        assert server.counts.total() == paused_at
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


def test_the_cap_on_money_is_never_exceeded() -> None:
    # What a call may use is set aside before, so the last few that would fit are not made.
    control = Control(max_cost=0.003, price=Price(input=1.0, output=1.0), concurrency=8)
    with EndpointServer(latency=0.01) as server:
        drive(make(server), pairs(300), control)
    assert control.exhausted
    assert control.usage.cost == pytest.approx(server.counts.total() * 15e-6)
    assert 0.002 < control.usage.cost <= 0.003


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


@pytest.mark.parametrize(
    ("form", "options", "field"),
    [
        ("rating", SCALE, {"rating": {"type": "integer", "enum": [0, 1, 2, 3, 4, 5]}}),
        ("yes-no", ("Yes", "No"), {"answer": {"type": "string", "enum": ["Yes", "No"]}}),
        ("letter", ("A", "B", "C"), {"answer": {"type": "string", "enum": ["A", "B", "C"]}}),
    ],
)
def test_a_choice_among_few_is_asked_for_as_json_of_a_schema(
    form: Form, options: tuple[str, ...], field: object
) -> None:
    with EndpointServer() as server:
        call = Call(RATE, {"question": "q", "context": "c"}, form, options=options, max_tokens=4)
        assert make(server).complete([call], Control())[0].structured
    body = server.seen[0].body
    asked = body["response_format"]
    assert (asked["type"], asked["json_schema"]["strict"]) == ("json_schema", True)
    assert asked["json_schema"]["schema"]["properties"] == field
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("m", 0.0, 64)


@pytest.mark.parametrize(("form", "kind"), [("text", None), ("json", {"type": "json_object"})])
def test_free_answers_have_no_schema(form: Form, kind: object) -> None:
    with EndpointServer(lambda seen: chat("fine")) as server:
        completion = make(server).complete([Call(FREE, {"question": "q"}, form, max_tokens=9)], Control())[0]
    assert (completion.text, completion.structured) == ("fine", False)
    assert server.seen[0].body.get("response_format") == kind
    assert server.seen[0].body["max_tokens"] == 9


@pytest.mark.parametrize("form", ["likelihood", "span"])
def test_what_only_a_local_model_can_do_costs_no_call(form: Form) -> None:
    with EndpointServer() as server:
        completion = make(server).complete([Call(RATE, {"question": "q", "context": "c"}, form)], Control())[0]
    assert "only a local model can" in str(completion.error)
    assert server.seen == []


def test_an_endpoint_without_structured_output_is_asked_in_plain_text_from_then_on() -> None:
    with EndpointServer(lambda seen: no_structure() if seen.wants_json else well(seen)) as server:
        end = make(server, attempts=1)
        assert {g.rating for g in drive(end, pairs(5), Control(concurrency=1)).values()} <= set(range(6))
        assert drive(end, pairs(1))[0].raw == str(digit(prompt(0)))
    assert [seen.wants_json for seen in server.seen] == [True] + [False] * 6


def test_structured_output_is_insisted_on_or_left_out_where_that_is_asked() -> None:
    with EndpointServer(lambda seen: no_structure() if seen.wants_json else well(seen)) as server:
        assert str(only(drive(make(server, structured="json"), pairs(1))).reason).startswith(
            "HTTP 400: response_format"
        )
        assert only(drive(make(server, structured="text"), pairs(1))).rating == digit(prompt(0))


def test_a_model_with_wishes_of_its_own_gets_them() -> None:
    def behave(seen: Seen) -> Reply:
        if "max_tokens" in seen.body:
            return status(400, "Unsupported parameter: use 'max_completion_tokens' instead.", param="max_tokens")
        if "temperature" in seen.body:
            return status(400, "Unsupported value: 0.0", param="temperature", code="unsupported_value")
        return well(seen)

    with EndpointServer(behave) as server:
        assert len(drive(make(server, attempts=1, extra={"seed": 7}), pairs(3), Control(concurrency=1))) == 3
    assert len(server.seen) == 5
    body = server.seen[-1].body
    assert (body["max_completion_tokens"], body["seed"], "max_tokens" in body) == (64, 7, False)


LONG = " ".join(f"word{i}" for i in range(400))


def long_call() -> Call:
    return Call(RATE, {"question": "q?", "context": LONG}, "rating", options=SCALE)


def test_a_prompt_that_is_too_long_comes_again_with_half_of_the_passage() -> None:
    def behave(seen: Seen) -> Reply:
        if len(seen.prompt) > 1000:
            return status(400, "This model's maximum context length is 250 tokens", code="context_length_exceeded")
        return rate(seen, 3)

    with EndpointServer(behave) as server:
        grade = only(drive(make(server, attempts=1), [((0, 0), rated(long_call()))]))
    kept = server.seen[-1].prompt.removeprefix("Question: q?\nPassage: ").removesuffix("\nRating:")
    assert len(server.seen) == 3 and LONG.startswith(kept + " ") and len(kept) > 600
    assert grade.note == f"shortened by {-(-(len(LONG) - len(kept)) // 4)}"


def test_a_prompt_that_stays_too_long_fails_after_a_few_calls() -> None:
    with EndpointServer(lambda seen: status(400, "prompt is too long")) as server:
        grade = only(drive(make(server), [((0, 0), rated(long_call()))]))
    assert (grade.rating, grade.reason) == (
        None,
        "HTTP 400: prompt is too long (the passage is as short as it can be)",
    )
    assert len(server.seen) <= 7


def test_a_known_limit_shortens_the_passage_before_the_call_and_never_the_question() -> None:
    with EndpointServer() as server:
        end = make(server, max_tokens_in=100)
        assert str(only(drive(end, [((0, 0), rated(long_call()))])).note).startswith("shortened by")
        hopeless = Call(RATE, {"question": LONG, "context": "short"}, "rating", options=SCALE)
        assert "even without the passage" in str(end.complete([hopeless], Control())[0].error)
    assert len(server.seen) == 1 and len(server.seen[0].prompt) <= 400
    assert server.seen[0].prompt.startswith("Question: q?\nPassage: word0") and server.seen[0].prompt.endswith(
        "Rating:"
    )


def test_text_that_no_request_can_carry_fails_alone() -> None:
    bad = Call(RATE, {"question": "q", "context": "half a \ud83d pair"}, "rating", options=SCALE)
    with EndpointServer() as server:
        answers = make(server).complete([bad, question(1)], Control())
    assert str(answers[0].error).startswith("the text cannot be sent")
    assert answers[1].error is None


def test_answers_come_in_the_order_of_the_calls() -> None:
    with EndpointServer(lambda seen: chat(seen.prompt)) as server:
        answers = make(server).complete([question(i) for i in range(20)], Control(max_calls=15, concurrency=4))
    assert [a.text for a in answers if a.error is None] == [prompt(i) for i in range(15)]
    assert {a.error for a in answers[15:]} == {"not asked, as the job was stopped"}


def test_the_key_is_sent_and_appears_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    lines: list[str] = []

    def behave(seen: Seen) -> Reply:
        leak = f"your key is {KEY}, Authorization: Bearer {KEY}"
        leaks = (status(500, leak), status(400, leak), chat(leak), chat(None, refusal=leak))
        return leaks[int(seen.prompt[len("Question: q") :].partition("?")[0]) % 4]

    with EndpointServer(behave) as server:
        end = make(server, attempts=2)
        grades = drive(end, pairs(8), Control(report=lines.append))
        server.behave = lambda seen: status(401, f"Incorrect API key provided: {KEY}")
        with pytest.raises(GradingError) as caught:
            drive(end, pairs(1), Control(report=lines.append))
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert len(grades) == 8 and len(lines) == 9
    shown = [
        *map(str, grades.values()),
        *lines,
        repr(caught.value),
        str(caught.value),
        caught.value.hint,
        repr(vars(end)),
    ]
    assert all(KEY not in text and KEY[:12] not in text for text in [*shown, caplog.text])
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    reported = [record.getMessage() for record in caplog.records if record.name == "exam.grading"]
    assert len(reported) == len(lines)


def test_every_failed_call_is_reported_with_its_attempt() -> None:
    lines: list[str] = []
    with EndpointServer(lambda seen: status(503, "overloaded") if seen.attempt == 1 else rate(seen, 1)) as server:
        drive(make(server), pairs(1), Control(report=lines.append))
    assert len(lines) == 1 and lines[0].startswith("HTTP 503: overloaded (attempt 1 of 6, the next in ")


@pytest.mark.parametrize(
    "address",
    [
        "http://me:secretword@127.0.0.1/v1",
        "http://secretword@127.0.0.1/v1",
        "http://127.0.0.1/v1?api-key=secretword",
        "http://127.0.0.1/v1#secretword",
        "http://127.0.0.1:secretword/v1",
        "ftp://127.0.0.1/secretword",
        "secretword",
        "http://",
    ],
)
def test_an_address_that_may_hold_a_secret_or_is_none_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(InputError) as caught:
        EndpointBackEnd("m", address)
    assert "secretword" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": 0},
        {"timeout_s": 0},
        {"max_tokens_in": 0},
        {"temperature": -1.0},
        {"structured": "yes"},
        {"model": " "},
    ],
)
def test_parameters_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        EndpointBackEnd(**({"model": "m"} | options))


def test_a_key_in_the_place_of_its_variables_name_is_refused_without_repeating_it() -> None:
    with pytest.raises(InputError) as refused:
        EndpointBackEnd("m", key_variable="sk-abcdef-0123456789")
    assert "abcdef" not in str(refused.value)


def test_without_a_key_a_local_endpoint_is_asked_and_another_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with EndpointServer() as server:
        assert len(drive(make(server), pairs(1))) == 1
    with acting(naming("https://example.invalid/v1", "OTHER_KEY")):
        named = EndpointBackEnd("m", "https://example.invalid/v1", "OTHER_KEY")
    with pytest.raises(GradingError, match="OTHER_KEY is not set"):
        drive(named, pairs(1))


def test_a_key_that_cannot_be_sent_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-broken\nkey")
    with EndpointServer() as server, pytest.raises(GradingError) as caught:
        drive(make(server), pairs(1))
    assert "OPENAI_API_KEY" in str(caught.value) and "broken" not in str(caught.value)


def test_keys_are_found_in_the_environment_first_and_then_in_the_registered_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(secret_keys, "_provider", secret_keys._provider)
    assert secret_keys.find_key("NOT_THERE") is None
    secret_keys.provide_keys({"NOT_THERE": " from secrets\n", "OPENAI_API_KEY": "shadowed"}.get)
    assert secret_keys.find_key("NOT_THERE") == "from secrets"
    assert secret_keys.find_key("OPENAI_API_KEY") == KEY


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"a {KEY} b {KEY}", "a [key] b [key]"),
        ("Authorization: Bearer abcdef123", "Authorization: Bearer [key]"),
        ("{'authorization': 'Bearer abc', 'x': 1}", "{'authorization': 'Bearer [key]', 'x': 1}"),
        ("api-key=abc123", "api-key=[key]"),
        ("Incorrect API key provided: sk-abc1****wxyz.", "Incorrect API key provided: [key]."),
        ("the bearer of bad news", "the bearer of bad news"),
    ],
)
def test_keys_and_what_looks_like_one_are_taken_out_of_texts(text: str, shown: str) -> None:
    assert redact(text, [KEY, ""]) == shown


def test_a_proxy_of_the_environment_is_not_used_for_this_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with EndpointServer() as server:
        assert only(drive(make(server, attempts=1), pairs(1))).rating == digit(prompt(0))


NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, 30),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0),
        ({"retry-after": "86400"}, MAX_WAIT),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon", "x-ratelimit-reset-requests": "2s"}, 2),
        ({"x-ratelimit-reset-requests": "1m30s", "x-ratelimit-reset-tokens": "20ms"}, 90),
        (
            {
                "x-ratelimit-reset-requests": "1m30s",
                "x-ratelimit-reset-tokens": "20ms",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-remaining-requests": "5",
            },
            0.02,
        ),
        ({"x-ratelimit-reset": str(int(NOW) + 12)}, 12),
        ({"x-ratelimit-reset": str((int(NOW) + 12) * 1000)}, 12),
        ({"ratelimit-reset": "9"}, 9),
        ({"x-ratelimit-reset-requests": "later"}, None),
        ({}, None),
    ],
)
def test_headers_that_tell_when_to_ask_again(headers: dict[str, str], seconds: float | None) -> None:
    assert told_wait(headers, NOW) == (None if seconds is None else pytest.approx(seconds))


def test_backoff_doubles_is_spread_and_has_an_end() -> None:
    assert [backoff(attempt, 1.0) for attempt in (1, 2, 3, 7, 5000)] == [1, 2, 4, 60, 60]
    assert backoff(3, 0.0) == 2


def test_a_refusal_narrows_the_calls_in_flight_once_and_answers_widen_them() -> None:
    now = 0.0
    pace = Pace(lambda: now)
    assert pace.room(32) == 32
    for _ in range(32):
        pace.hold(10, in_flight=32)
    assert (pace.room(32), pace.closed_for) == (0, 10)
    now = 10.0
    assert pace.room(32) == 16
    for _ in range(64):
        pace.answered()
    assert pace.room(32) == 32


def test_an_objection_is_understood_only_about_what_was_sent() -> None:
    told = {"message": "'max_tokens' is not supported, use 'max_completion_tokens'", "param": "max_tokens"}
    assert objection(told, {"max_tokens": 8}) == "other limit"
    assert objection(told, {"max_completion_tokens": 8}) is None
    assert objection("<html>", {"max_tokens": 8}) is None


def test_the_server_runs_as_a_process_of_its_own_and_logs_what_it_answered(tmp_path: Path) -> None:
    port_file, log = tmp_path / "port", tmp_path / "log"
    command = [
        sys.executable,
        "-m",
        "tests.made.endpoint_server",
        "--port-file",
        str(port_file),
        "--log",
        str(log),
        "--faults",
    ]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, cwd=root, env=os.environ | {"PYTHONPATH": str(root)}) as process:
        try:
            until(port_file.exists)
            end = EndpointBackEnd("m", f"http://127.0.0.1:{port_file.read_text()}/v1", clock=fast_clock)
            grades = drive(end, pairs(40))
        finally:
            process.terminate()
    assert {i: grade.rating for i, grade in grades.items()} == {i: digit(prompt(i)) for i in range(40)}
    answered = [json.loads(line)["prompt"] for line in log.read_text().splitlines()]
    assert set(answered) == {prompt(i) for i in range(40)}


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    "reply",
    [
        Reply(400, b'{"error": {"message": {"a": 1%s}}}' % (b"0" * 30)),
        Reply(400, b'{"error": {"message": {"a": 1%s}}}' % (b"0" * 6000)),
        Reply(400, b'{"error": {"message": {"a": "\\ud800"}}}'),
        Reply(400, b'{"error": {"message": "\\ud800 x"}}'),
        *(Reply(400, b'{"error": {"message": %s}}' % nested(depth)) for depth in (300, 900, 980, 5000)),
        *(Reply(400, b'{"error": {"code": %s, "message": "x"}}' % nested(depth)) for depth in (300, 900, 980)),
        Reply(422, b'{"detail": [{"loc": 1%s}]}' % (b"0" * 25)),
        Reply(200, b'{"error": {"message": {"a": 1%s}}}' % (b"0" * 30)),
        Reply(200, b'{"error": {"message": %s}}' % nested(900)),
        Reply(400, b"\xff\xfe"),
    ],
)
def test_whatever_one_reply_holds_only_its_pair_fails(reply: Reply) -> None:
    with EndpointServer(lambda seen: reply if seen.prompt == prompt(1) else rate(seen, 3)) as server:
        grades = drive(make(server, attempts=1), pairs(3), Control(concurrency=1))
    assert [grades[i].rating for i in range(3)] == [3, None, 3]
    reason = grades[1].reason
    assert reason and reason.startswith((f"HTTP {reply.status}", "the answer cannot be used"))


@pytest.mark.parametrize("code", [200, 400, 429])
def test_a_header_that_is_no_text_changes_nothing(code: int) -> None:
    odd = {"retry-after": "\xff\xfe", "x-ratelimit-reset": "\xff"}

    def behave(seen: Seen) -> Reply:
        return Reply(code, rate(seen, 3).content, odd) if seen.prompt == prompt(0) else rate(seen, 3)

    with EndpointServer(behave) as server:
        grades = drive(make(server, attempts=1), pairs(2), Control(concurrency=1))
    assert grades[1].rating == 3 and grades[0].rating == (3 if code == 200 else None)


SECRET_PROXY = "http://me:s3cretword@127.0.0.1"


def heard(port_of: dict[str, int]) -> tuple[threading.Thread, list[bytes]]:
    """A proxy that takes one request, refuses it, and keeps what it was told."""
    told: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(3)
    port_of["proxy"] = listening.getsockname()[1]

    def serve() -> None:
        with listening, suppress(TimeoutError):
            connection, _ = listening.accept()
            with connection:
                told.append(connection.recv(65536))
                connection.sendall(b"HTTP/1.1 407 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

    thread = threading.Thread(target=serve)
    thread.start()
    return thread, told


@pytest.mark.parametrize(("scheme", "goes_there"), [("http", False), ("https", True)])
def test_a_key_goes_through_a_proxy_of_the_environment_only_where_it_is_sealed(
    monkeypatch: pytest.MonkeyPatch, scheme: str, goes_there: bool
) -> None:
    ports: dict[str, int] = {}
    thread, told = heard(ports)
    monkeypatch.setenv(f"{scheme}_proxy", f"http://127.0.0.1:{ports['proxy']}")
    monkeypatch.delenv("no_proxy", raising=False)
    address = f"{scheme}://lab.example.invalid/v1"
    with acting(naming(address, "OPENAI_API_KEY")):
        end = EndpointBackEnd("m", address, "OPENAI_API_KEY", attempts=1, timeout_s=2)
    assert only(drive(end, pairs(1))).reason == "the connection failed after 1 attempt"
    thread.join()
    assert len(told) == goes_there and all(KEY.encode() not in text for text in told)


@pytest.mark.parametrize(
    "proxy",
    [f"{SECRET_PROXY}:99/x/s3cretword", "http://me:s3cretword/x@127.0.0.1:9", "me:s3cretword@127.0.0.1",
     "http://me:s3c retword@127.0.0.1:99", "foo://me:s3cretword@127.0.0.1:9", f"{SECRET_PROXY}:99999",
     "socks5://me:s3cretword@127.0.0.1:9"],
)  # fmt: skip
def test_what_a_proxy_of_the_environment_is_does_not_show_in_a_message(
    monkeypatch: pytest.MonkeyPatch, proxy: str, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    with acting(naming("https://lab.example.invalid/v1", "OPENAI_API_KEY")):
        end = EndpointBackEnd("m", "https://lab.example.invalid/v1", "OPENAI_API_KEY", attempts=1, timeout_s=2)
    lines: list[str] = []
    try:
        shown = str(only(drive(end, pairs(1), Control(report=lines.append))).reason)
    except GradingError as error:
        shown = f"{error} {error.hint}"
        assert "proxy" in error.hint
    assert all("s3c" not in text for text in [shown, *lines, caplog.text])
