"""The back end for chat endpoints: the real client against a server on this computer that also misbehaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from exam_workbench.errors import GradingError
from exam_workbench.graders import Control, Outcome
from exam_workbench.graders._endpoint.call_session import SILENT_PAIRS
from exam_workbench.graders._endpoint.chat import find_objection
from exam_workbench.graders._endpoint.endpoint_back_end import EndpointBackEnd
from exam_workbench.graders._endpoint.retry import MAX_WAIT, Pace, backoff_seconds, requested_wait
from exam_workbench.types import Grade
from tests.made.endpoint_calls import (
    KEY,
    drive,
    fast_clock,
    key,
    make,
    nothing_is_left_running,
    only,
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
    digit,
    hang,
    moody,
    page,
    rate,
    refuse,
    retry_at,
    status,
    too_many,
    torn,
)
from tests.made.refusals import refusal

__all__ = ["key", "nothing_is_left_running"]


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
        (status(401, f"Incorrect API key provided: {KEY}"), ["key-refused", "OPENAI_API_KEY"]),
        (status(403, "forbidden"), ["model-not-allowed", "OPENAI_API_KEY"]),
        (status(404, "no such model"), ["unknown-model", "'m'", "no such model"]),
        (status(429, "You exceeded your quota", code="insufficient_quota"), ["account-spent", "OPENAI_API_KEY"]),
    ],
)
def test_what_no_retry_can_mend_ends_the_job_at_once(reply: Reply, words: list[str]) -> None:
    with EndpointServer(lambda seen: reply) as server, refusal(*words, kind=GradingError) as caught:
        drive(make(server), pairs(1000), Control(concurrency=4))
    assert KEY not in str(caught.value)
    assert server.counts.total() <= 8


def test_an_endpoint_that_never_answers_is_given_up_and_the_outcomes_so_far_are_kept() -> None:
    outcomes: list[Outcome] = []
    with EndpointServer(lambda seen: status(500)) as server:
        with refusal("endpoint-gone", kind=GradingError):
            for batch in make(server, attempts=2).drive(pairs(1000), Control(concurrency=4)):
                outcomes += batch
        assert 10 <= len(outcomes) <= 13
        assert {grade.reason for _, _, grade in outcomes} == {"HTTP 500 after 2 attempts"}
    assert server.counts.total() < 50


def test_an_endpoint_that_is_not_there_is_given_up() -> None:
    with EndpointServer() as server:
        pass
    with refusal("endpoint-gone", kind=GradingError):
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
        drive(make(server), pairs(3), Control(patience=300.0, concurrency=1))
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


def test_a_pause_longer_than_the_patience_ends_the_job() -> None:
    for patience, asked, waits in ((0.0, 300, False), (0.0, 60, True), (120.0, 121, False), (300.0, 86_400, True)):
        with EndpointServer(
            lambda seen, asked=asked: too_many(retry_after=asked) if seen.attempt == 1 else rate(seen, 2),
            clock=fast_clock,
        ) as server:
            control = Control(patience=patience)
            if waits:
                assert [grade.rating for grade in drive(make(server), pairs(1), control).values()] == [2]
            else:
                with pytest.raises(GradingError):
                    drive(make(server), pairs(1), control)
                assert control.usage.calls == 1


def test_cancelling_ends_a_wait() -> None:
    control = Control(patience=300.0)
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
    assert requested_wait(headers, NOW) == (None if seconds is None else pytest.approx(seconds))


def test_backoff_doubles_is_spread_and_has_an_end() -> None:
    assert [backoff_seconds(attempt, 1.0) for attempt in (1, 2, 3, 7, 5000)] == [1, 2, 4, 60, 60]
    assert backoff_seconds(3, 0.0) == 2


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
    assert find_objection(told, {"max_tokens": 8}) == "other limit"
    assert find_objection(told, {"max_completion_tokens": 8}) is None
    assert find_objection("<html>", {"max_tokens": 8}) is None


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
