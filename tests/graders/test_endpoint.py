"""The back end for chat endpoints: requests, structured output, probabilities, tokens and time limits."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from exam_workbench.errors import GradingError
from exam_workbench.graders import Call, Control, Outcome, Price, Tokens, built_in_prompts, make_grader
from exam_workbench.graders._endpoint import endpoint_back_end, single_call
from exam_workbench.graders._endpoint.call_session import SILENT_PAIRS
from exam_workbench.graders._endpoint.chat import find_objection, reported_tokens
from exam_workbench.graders._endpoint.retry import MAX_WAIT, Pace, backoff_seconds, requested_wait
from exam_workbench.graders._reading.calls import Form, complete_calls, is_answer
from exam_workbench.graders._reading.grading_methods import rate_directly
from exam_workbench.types import Grade, GraderInput, entropy
from tests.made.endpoint_calls import (
    FREE,
    KEY,
    RATE,
    SCALE,
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
    Behaviour,
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
from tests.made.refusals import mentions, refusal

__all__ = ["key", "nothing_is_left_running"]


def test_every_pair_gets_exactly_one_outcome_despite_faults() -> None:
    control = Control(concurrency=4)
    with EndpointServer() as server:
        grades = drive(make(server), pairs(30), control)
    assert {i: grade.rating for i, grade in grades.items()} == {i: digit(prompt(i)) for i in range(30)}
    assert server.counts == Counter(prompt(i) for i in range(30))
    assert (control.usage.calls, control.usage.input_tokens, control.usage.output_tokens) == (30, 300, 150)
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
def test_persistent_fault_is_retried_then_fails_with_reason(reply: Reply, reason: str) -> None:
    control = Control()
    with EndpointServer(lambda seen: reply) as server:
        grade = only(drive(make(server, attempts=3, timeout_s=1 if reply.hang else 60), pairs(1), control))
    assert (grade.rating, grade.status, grade.reason) == (None, "failed", reason)
    assert server.counts[prompt(0)] == control.usage.calls == 3


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        (refuse(), Grade(None, "failed", reason="refused: I cannot help with that.")),
        (chat("4", finish="content_filter"), Grade(None, "failed", reason="stopped by the endpoint's content filter")),
        (chat('{"rat', finish="length"), Grade(None, "failed", raw='{"rat', reason="cut off")),
        (chat(""), Grade(None, "failed", raw="", reason="no rating")),
        (chat(None), Grade(None, "failed", raw="", reason="no rating")),
        (chat('{"rating": 9}'), Grade(None, "failed", raw='{"rating": 9}', reason="no rating")),
        (chat('Sure! {"mark": 4}', usage=False), Grade(None, "failed", raw='Sure! {"mark": 4}', reason="no rating")),
        (status(400, "no such field"), Grade(None, "failed", reason="HTTP 400: no such field")),
        (status(422, "no such field"), Grade(None, "failed", reason="HTTP 422: no such field")),
    ],
)
def test_unusable_answer_fails_without_retry(reply: Reply, grade: Grade) -> None:
    with EndpointServer(lambda seen: reply) as server:
        assert only(drive(make(server), pairs(1))) == grade
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
def test_permanent_error_ends_job_at_once(reply: Reply, words: list[str]) -> None:
    with EndpointServer(lambda seen: reply) as server, refusal(*words, kind=GradingError) as caught:
        drive(make(server), pairs(1000), Control(concurrency=4))
    assert KEY not in str(caught.value)
    assert server.counts.total() <= 8


def test_failing_or_missing_endpoint_ends_job() -> None:
    outcomes: list[Outcome] = []
    with EndpointServer(lambda seen: status(500)) as server:
        with refusal("endpoint-gone", kind=GradingError):
            for batch in make(server, attempts=2).drive(pairs(1000), Control(concurrency=4)):
                outcomes += batch
        assert 10 <= len(outcomes) <= 13
        assert {grade.reason for _, _, grade in outcomes} == {"HTTP 500 after 2 attempts"}
    assert server.counts.total() < 50
    with EndpointServer() as server:
        pass
    with refusal("endpoint-gone", kind=GradingError):
        drive(make(server, attempts=2), pairs(100))


def test_scattered_or_late_failures_do_not_end_a_job() -> None:
    with EndpointServer(lambda seen: status(500) if "q7?" not in seen.prompt else rate(seen, 1)) as server:
        work = [((i, j), rated(question(i))) for j in range(2) for i in (1, 2, 3, 4, 5, 6, 8, 9, 7)]
        outcomes = [o for batch in make(server, attempts=1).drive(work, Control(concurrency=1)) for o in batch]
    assert [grade.rating for _, _, grade in outcomes] == [*[None] * 8, 1] * 2

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
def test_after_429_every_call_waits_as_requested(reply: Reply) -> None:
    def behave(seen: Seen) -> Reply:
        return reply if seen.prompt == prompt(0) and seen.attempt == 1 else rate(seen, 2)

    with EndpointServer(behave, clock=fast_clock) as server:
        assert len(drive(make(server), pairs(20), Control(concurrency=1))) == 20
    refused, *others = (seen.at for seen in server.seen)
    assert min(others) - refused >= 60


def test_retry_waits_after_429_or_server_error() -> None:
    moment = time.time() + 250

    def behave(seen: Seen) -> Reply:
        return retry_at(moment) if seen.prompt == prompt(0) and seen.attempt == 1 else rate(seen, 2)

    with EndpointServer(behave, clock=fast_clock) as server:
        drive(make(server), pairs(3), Control(patience=300.0, concurrency=1))
    assert [seen.prompt for seen in server.seen[:2]] == [prompt(0), prompt(0)]
    # Far less than 250 s, because the date is compared with a real-time clock.
    assert server.seen[1].at - server.seen[0].at >= 150
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


def test_rate_limited_calls_in_flight_lose_no_pair() -> None:
    let_through: Counter[int] = Counter()

    def behave(seen: Seen) -> Reply:
        minute, second = divmod(seen.at, 60)
        let_through[int(minute)] += 1
        return rate(seen, 2) if let_through[int(minute)] <= 10 else too_many(retry_after=60 - second)

    with EndpointServer(behave, clock=fast_clock) as server:
        grades = drive(make(server), pairs(200), Control(concurrency=100))
    assert [grade.rating for grade in grades.values()] == [2] * 200


def test_wait_beyond_patience_ends_job_and_cancel_ends_wait() -> None:
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
    control = Control(patience=300.0)
    with EndpointServer(lambda seen: too_many(retry_after=200)) as server:
        # With a real-time clock, an uncancelled wait would outlast the test.
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


HEADERS = [
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
]
BODIES = [
    ({"message": "Please retry in 3.2s", "details": [{"@type": "RetryInfo", "retryDelay": "3s"}]}, 3),
    ({"message": "Please try again in 7.66s. Visit"}, 7.66),
    ({"message": "Please try again in 1m30.5s."}, 90.5),
    ({"message": "Please retry after 6 seconds."}, 6),
    ({"message": "try again in 250ms"}, 0.25),
    ({"message": "limited", "metadata": {"headers": {"X-RateLimit-Reset": "1800000012000"}}}, 12),
    ({"message": "please try again later"}, None),
    ("<html>", None),
]


@pytest.mark.parametrize(
    ("headers", "said", "seconds"),
    [(headers, None, seconds) for headers, seconds in HEADERS] + [({}, said, seconds) for said, seconds in BODIES],
)
def test_headers_or_error_give_wait_seconds(headers: dict[str, str], said: object, seconds: float | None) -> None:
    assert requested_wait(headers, NOW, said) == (None if seconds is None else pytest.approx(seconds))


def test_backoff_is_bounded_and_429_halves_calls_in_flight_once() -> None:
    assert [backoff_seconds(attempt, 1.0) for attempt in (1, 2, 3, 7, 5000)] == [1, 2, 4, 60, 60]
    assert backoff_seconds(3, 0.0) == 2
    now = 0.0
    pace = Pace(lambda: now)
    assert pace.allowed_calls(32) == 32
    for _ in range(32):
        pace.delay_calls(10, in_flight=32)
    assert (pace.allowed_calls(32), pace.closed_for) == (0, 10)
    now = 10.0
    assert pace.allowed_calls(32) == 16
    for _ in range(64):
        pace.answered()
    assert pace.allowed_calls(32) == 32
    told = {"message": "'max_tokens' is not supported, use 'max_completion_tokens'", "param": "max_tokens"}
    assert find_objection(told, {"max_tokens": 8}) == "other limit"
    assert find_objection(told, {"max_completion_tokens": 8}) is None
    assert find_objection("<html>", {"max_tokens": 8}) is None


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
def test_malformed_reply_fails_only_its_pair(reply: Reply) -> None:
    with EndpointServer(lambda seen: reply if seen.prompt == prompt(1) else rate(seen, 3)) as server:
        grades = drive(make(server, attempts=1), pairs(3), Control(concurrency=1))
    assert [grades[i].rating for i in range(3)] == [3, None, 3]
    reason = grades[1].reason
    assert reason and reason.startswith((f"HTTP {reply.status}", "the answer cannot be used"))


@pytest.mark.parametrize(
    ("form", "options", "field"),
    [
        ("rating", SCALE, {"rating": {"type": "integer", "enum": [0, 1, 2, 3, 4, 5]}}),
        ("yes-no", ("Yes", "No"), {"answer": {"type": "string", "enum": ["Yes", "No"]}}),
        ("letter", ("A", "B", "C"), {"answer": {"type": "string", "enum": ["A", "B", "C"]}}),
    ],
)
def test_options_are_requested_as_json_schema(form: Form, options: tuple[str, ...], field: object) -> None:
    with EndpointServer() as server:
        call = Call(RATE, {"question": "q", "context": "c"}, form, options=options, max_tokens=4)
        assert complete_calls(make(server), [call], Control())[0].structured
    body = server.seen[0].body
    asked = body["response_format"]
    assert (asked["type"], asked["json_schema"]["strict"]) == ("json_schema", True)
    assert asked["json_schema"]["schema"]["properties"] == field
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("m", 0.0, 64)


@pytest.mark.parametrize(("name", "options"), [("Q-judge", ["Yes", "No", "XXX"]), ("Sun", ["Yes", "No"])])
def test_json_schema_offers_abstention_if_prompt_does(name: str, options: list[str]) -> None:
    judge = rate_directly(GraderInput("What rises?"), "Bread rises.", built_in_prompts()[name])
    call = next(judge)
    with EndpointServer(lambda seen: chat('{"answer": "XXX"}')) as server:
        completion = complete_calls(make(server), [call], Control())[0]
    assert server.seen[0].body["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"] == options
    with pytest.raises(StopIteration) as ended:
        judge.send(completion)
    assert (ended.value.value.rating, ended.value.value.status) == (None, "failed")
    assert is_answer(call, completion.text, structured=True)


@pytest.mark.parametrize(("form", "kind"), [("text", None), ("json", {"type": "json_object"})])
def test_free_answers_have_no_schema(form: Form, kind: object) -> None:
    with EndpointServer(lambda seen: chat("fine")) as server:
        completion = complete_calls(make(server), [Call(FREE, {"question": "q"}, form, max_tokens=9)], Control())[0]
    assert (completion.text, completion.structured) == ("fine", False)
    assert server.seen[0].body.get("response_format") == kind
    assert server.seen[0].body["max_tokens"] == 9


def test_local_only_forms_fail_without_a_call() -> None:
    calls = [Call(RATE, {"question": "q", "context": "c"}, form) for form in ("likelihood", "span")]
    with EndpointServer() as server:
        found = complete_calls(make(server), calls, Control())
    assert [call.form in str(one.error) for call, one in zip(calls, found, strict=True)] == [True, True]
    assert server.seen == []


def test_structured_output_is_tried_required_or_omitted() -> None:
    with EndpointServer(lambda seen: no_structure() if seen.wants_json else well(seen)) as server:
        end = make(server, attempts=1)
        assert {g.rating for g in drive(end, pairs(5), Control(concurrency=1)).values()} <= set(range(6))
        assert drive(end, pairs(1))[0].raw == str(digit(prompt(0)))
    assert [seen.wants_json for seen in server.seen] == [True] + [False] * 6
    with EndpointServer(lambda seen: no_structure() if seen.wants_json else well(seen)) as server:
        refused = only(drive(make(server, structured="json"), pairs(1)))
        assert str(refused.reason).startswith("HTTP 400: response_format")
        assert only(drive(make(server, structured="text"), pairs(1))).rating == digit(prompt(0))

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
    return Call(RATE, {"question": "q?", "context": LONG}, "rating", options=SCALE, max_tokens=80)


def test_too_long_prompt_is_shortened_and_fails_after_few_calls() -> None:
    def behave(seen: Seen) -> Reply:
        if "max_tokens" in seen.body:
            return status(400, "Unsupported parameter: use 'max_completion_tokens' instead.", param="max_tokens")
        if len(seen.prompt) > 1000:
            return status(400, "This model's maximum context length is 250 tokens", code="context_length_exceeded")
        return rate(seen, 3)

    with EndpointServer(behave) as server:
        grade = only(drive(make(server, attempts=1), [((0, 0), rated(long_call()))]))
    kept = server.seen[-1].prompt.removeprefix("Question: q?\nPassage: ").removesuffix("\nRating:")
    assert [seen.body.get("max_completion_tokens") for seen in server.seen] == [None, 80, 80, 80]
    assert LONG.startswith(kept + " ") and len(kept) > 600
    assert grade.note == f"shortened by {-(-(len(LONG) - len(kept)) // 4)}"
    with EndpointServer(lambda seen: status(400, "prompt is too long")) as server:
        grade = only(drive(make(server), [((0, 0), rated(long_call()))]))
    assert grade.rating is None and str(grade.reason).startswith("HTTP 400: prompt is too long")
    assert len(server.seen) <= 7
    with EndpointServer() as server:
        end = make(server, max_tokens_in=100)
        (cut,) = re.findall(r"\d+", str(only(drive(end, [((0, 0), rated(long_call()))])).note))
        assert int(cut) > 100, "number of tokens removed"
        hopeless = Call(RATE, {"question": LONG, "context": "short"}, "rating", options=SCALE)
        assert mentions(str(complete_calls(end, [hopeless], Control())[0].error), "100")
    (sent,) = (seen.prompt for seen in server.seen)
    assert len(sent) <= 400
    assert sent.startswith("Question: q?\nPassage: word0") and sent.endswith("Rating:")


def test_answers_keep_call_order_and_unsendable_text_fails_alone() -> None:
    with EndpointServer(lambda seen: chat(seen.prompt)) as server:
        answers = complete_calls(make(server), [question(i) for i in range(20)], Control(max_calls=15, concurrency=4))
    assert [a.text for a in answers if a.error is None] == [prompt(i) for i in range(15)]
    assert len({a.error for a in answers[15:]} - {None}) == 1 and all(a.error for a in answers[15:])
    bad = Call(RATE, {"question": "q", "context": "half a \ud83d pair"}, "rating", options=SCALE)
    with EndpointServer() as server:
        answers = complete_calls(make(server), [bad, question(1)], Control())
    assert str(answers[0].error).startswith("the text cannot be sent")
    assert answers[1].error is None


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


def graded(behave: Behaviour, **more: Any) -> tuple[Grade, list[Seen]]:
    """Return the grade of one pair, and the requests."""
    with EndpointServer(behave) as server:
        grader = make_grader("self-rating", {"model": "m", "base_url": server.url, "structured": "text", **more})
        batches = grader.grade({0: GraderInput("why ?")}, {1: "so"}, [(0, 1)], Control())
        ((_, _, grade),) = [outcome for batch in batches for outcome in batch]
        return grade, server.seen


def test_probabilities_are_read_at_the_rating_token_unless_refused() -> None:
    top = {"4": 0.5, " 4": 0.1, "3": 0.2, "the": 0.2}
    reply = told("Rating: 4", ("Rating", {"Rating": 0.9, "4": 0.1}), (":", {":": 1}), (" 4", top))
    grade, (seen,) = graded(lambda seen: reply)
    assert seen.body["logprobs"] is True and seen.body["top_logprobs"] >= 6
    assert grade.rating == 4 and grade.distribution == pytest.approx((0, 0, 0, 0.25, 0.75, 0))
    assert grade.confidence == pytest.approx(0.75)
    assert entropy(grade.distribution or ()) == pytest.approx(0.811, abs=0.001)

    def refusing(seen: Seen) -> Reply:
        return status(403, "You are not allowed to request logprobs.") if "logprobs" in seen.body else chat("4")

    grade, requests = graded(refusing)
    assert grade == Grade(4, raw="4") and ["logprobs" in seen.body for seen in requests] == [True, False]
    assert ["logprobs" in seen.body for seen in graded(refusing, thinking_tokens=9)[1]] == [False]


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
def test_malformed_logprobs_are_ignored(junk: object) -> None:
    body = json.loads(chat("4").content)
    body["choices"][0]["logprobs"] = junk
    grade, _ = graded(lambda seen: Reply(content=json.dumps(body).encode()))
    assert (grade.rating, grade.distribution) == (4, None)


FEW = {"prompt_tokens": 10, "completion_tokens": 3}
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
        (FEW | {"prompt_cache_hit_tokens": 8}, Tokens(10, 3, 8, 0)),
        (FEW | {"prompt_tokens_details": {"cached_tokens": 99}}, Tokens(10, 3, 10)),
        (FEW | {"prompt_tokens_details": [1]}, Tokens(10, 3)),
        (FEW | {"completion_tokens_details": {"reasoning_tokens": -1}}, Tokens(10, 3)),
        (None, Tokens(7, 2)),
    ],
)
def test_cached_and_thinking_tokens_are_parts_of_the_totals(usage: Any, expected: Tokens) -> None:
    assert reported_tokens(usage, Tokens(7, 2)) == expected


def test_job_counts_cached_tokens_at_their_price_and_thinking_raises_the_limit() -> None:
    control = Control(price=Price(10.0, 100.0, cached=1.0))
    with EndpointServer(lambda seen: chat("4", usage=DETAILED)) as server:
        drive(make(server, structured="text"), pairs(2), control)
    assert control.usage.tokens == Tokens(2000, 600, 1600, 500)
    assert control.usage.cost == pytest.approx((400 * 10 + 1600 * 1 + 600 * 100) / 1e6)
    assert Price(10.0, 100.0).cost_of(1000, 0, 800) == Price(10.0, 100.0).cost_of(1000, 0)

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


FIRST = 0.25


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set time limits of a fraction of a second."""
    monkeypatch.setattr(endpoint_back_end, "FIRST_LIMIT", FIRST)
    monkeypatch.setattr(single_call, "LONGEST_ADAPTED", 8 * FIRST)


def only_alone(seconds: float) -> EndpointServer:
    """Return a server that answers a lone call after a delay and never answers concurrent calls."""

    def behave(seen: Seen) -> Reply:
        return hang() if server.in_flight > 1 else replace(rate(seen, 4), delay=seconds)

    server = EndpointServer(behave)
    return server


@pytest.mark.parametrize("seconds", [0, 1.5 * FIRST], ids=["several at once are too slow", "one alone is"])
def test_slow_endpoint_loses_no_pair(quick: None, seconds: float) -> None:
    with only_alone(seconds) as server:
        grades = drive(make(server), pairs(6), Control(concurrency=4))
    assert [grade.rating for grade in grades.values()] == [4] * 6


def test_slow_calls_reduce_concurrency_and_use_no_attempt() -> None:
    with only_alone(0) as server:
        grades = drive(make(server, attempts=1, timeout_s=1), pairs(3), Control(concurrency=4))
    assert [grade.rating for grade in grades.values()] == [4] * 3

    def behave(seen: Seen) -> Reply:
        return status(504) if server.in_flight > 1 else rate(seen, 4)

    with EndpointServer(behave) as server:
        grades = drive(make(server, attempts=2), pairs(8), Control(concurrency=8))
    assert [grade.rating for grade in grades.values()].count(4) >= 7
    pace = Pace(lambda: 0.0)
    assert [pace.halve_calls(4 - i, begun=i + 1, latest=4) for i in range(4)] == [True] * 4
    assert pace.allowed_calls(32) == 2
    assert pace.halve_calls(2, begun=5, latest=6) and pace.allowed_calls(32) == 1
    assert not pace.halve_calls(1, begun=7, latest=7)


def test_hanging_pair_fails_and_hanging_endpoint_ends_job(quick: None) -> None:
    with EndpointServer(lambda seen: hang() if seen.prompt == prompt(3) else rate(seen, 4)) as server:
        grades = drive(make(server, attempts=2), pairs(12), Control(concurrency=3))
        assert server.counts[prompt(3)] <= 3
    assert [i for i, grade in grades.items() if grade.rating is None] == [3]
    with EndpointServer(lambda seen: hang()) as server, pytest.raises(GradingError):
        drive(make(server, attempts=1000), pairs(100), Control(concurrency=4))
    # Four, two and one call at once, then single calls with growing time limits.
    assert server.counts.total() <= 4 + 2 + 5
