"""Jobs at an endpoint: concurrency, server-specific errors and outages."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

import pytest

from exam_workbench.errors import GradingError
from exam_workbench.graders import AwaitedEndpoint, Call, Control, Outcome, Pair, Prompt, Steps, make_grader
from exam_workbench.graders._endpoint.call_session import BARRED_PASSAGES, SILENT_PAIRS, TRIES_ALONE
from exam_workbench.graders._endpoint.chat import find_objection
from exam_workbench.graders._endpoint.endpoint_back_end import EndpointBackEnd
from exam_workbench.graders._endpoint.retry import ANSWERS_AGAIN, LONGEST_PAUSE, Outage
from exam_workbench.grading import Request, make_plan, run_job
from exam_workbench.store import Project
from exam_workbench.types import Grade, Question
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
    page,
    rate,
    status,
    too_many,
    torn,
    well,
)
from tests.made.projects import fill
from tests.made.refusals import refusal

__all__ = ["key", "nothing_is_left_running"]


class Held:
    """A behaviour that hangs until it is released."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def __call__(self, seen: Seen) -> Reply:
        return rate(seen, 1) if self.released.is_set() else hang()


@pytest.fixture
def background() -> Iterator[Callable[..., list[Outcome]]]:
    """Return a function that runs `drive` in a thread, which ends with the test."""
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


def test_calls_follow_concurrency_and_pauses(background: Callable[..., list[Outcome]]) -> None:
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
    control = Control(concurrency=2)
    with EndpointServer() as server:
        outcomes = background(make(server), pairs(100_000), control)
        until(lambda: len(outcomes) > 5)
        control.pause()
        # The control is polled twenty times a second, so calls made despite the pause would show by then.
        until(lambda: len(outcomes) == control.usage.calls == server.counts.total() == settled(server))
        paused_at = server.counts.total()
        control.resume()
        until(lambda: len(outcomes) > paused_at)


def test_cancelling_keeps_calls_in_flight_and_caps_are_exact() -> None:
    control = Control(concurrency=4)
    with EndpointServer(latency=0.05) as server:
        outcomes: list[Outcome] = []
        for batch in make(server).drive(pairs(1000), control):
            outcomes += batch
            control.cancel()
    assert len(outcomes) == server.counts.total() == control.usage.calls < 30
    control = Control(max_calls=37, concurrency=8)
    with EndpointServer(lambda seen: status(500) if seen.attempt == 1 else rate(seen, 5)) as server:
        grades = drive(make(server), pairs(100), control)
    assert server.counts.total() == control.usage.calls == 37
    assert control.exhausted
    assert len(grades) == sum(count == 2 for count in server.counts.values())
    control = Control(max_calls=10, concurrency=8)
    with EndpointServer() as server:
        assert len(drive(make(server), pairs(10), control)) == 10
    assert not control.exhausted
    control = Control()
    with EndpointServer(lambda seen: chat("3333", usage=False)) as server:
        drive(make(server), pairs(1), control)
    assert (control.usage.input_tokens, control.usage.output_tokens) == (-(-len(prompt(0)) // 4), 1)


def two_steps(i: int) -> Steps:
    first = yield question(i)
    second = yield Call(FREE, {"question": f"Verify {i}: {first.text}"}, "text")
    return Grade(int(second.text), answer=first.text)


def test_second_call_of_a_pair_goes_first_and_counts_towards_cap() -> None:
    with EndpointServer(lambda seen: chat("4")) as server:
        end = make(server, structured="text")
        grades = drive(end, (((i, 0), two_steps(i)) for i in range(3)), Control(concurrency=1))
    assert [seen.prompt.partition(" ")[0] for seen in server.seen] == ["Question:", "Answer"] * 3
    assert [grade.rating for grade in grades.values()] == [4, 4, 4]
    control = Control(max_calls=5, concurrency=1)
    with EndpointServer(lambda seen: chat("4")) as server:
        grades = drive(make(server, structured="text"), (((i, 0), two_steps(i)) for i in range(9)), control)
    assert list(grades) == [0, 1]


def test_pairs_are_taken_lazily() -> None:
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
        # The caller takes no outcomes, so calls stop long before the end of the work.
        until(lambda: server.in_flight == 0 and server.counts.total() == settled(server))
        assert len(taken) < 2000
        batches.close()


def settled(server: EndpointServer) -> int:
    """Return the number of requests after a short wait."""
    threading.Event().wait(0.2)
    return server.counts.total()


def test_closing_early_leaves_no_thread_or_connection() -> None:
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


def test_step_errors_are_raised_and_pairs_without_calls_get_grades() -> None:
    def broken() -> Steps:
        yield question(0)
        raise ZeroDivisionError

    with EndpointServer() as server, pytest.raises(ZeroDivisionError):
        drive(make(server), [((0, 0), broken())])

    def silent() -> Steps:
        return Grade(None, "failed", reason="the passage is empty")
        yield

    control = Control()
    with EndpointServer() as server:
        grades = drive(make(server), (((i, 0), silent()) for i in range(3000)), control)
    assert (len(grades), control.usage.calls) == (3000, 0)


IN_ROLES = Prompt("roles", "Roles", "self-rating", "{question}\n{context}", "rating", "ours", system="Rate it.")
PASSAGE = "The tide turned early. " * 120
"""2,760 characters: between 345 and 3,016 tokens, depending on the server."""


def body(code: int, content: Any) -> Reply:
    return Reply(code, json.dumps(content).encode())


def error(http: int, message: str, **more: Any) -> Reply:
    return body(http, {"error": {"message": message, **more}})


def long_pairs(text: str = PASSAGE) -> list[Any]:
    call = Call(RATE, {"question": "q?", "context": text}, "rating", options=SCALE, max_tokens=80)
    return [((0, 0), rated(call))]


TOO_LONG = {
    "vllm": error(400, "This model's maximum context length is 512 tokens. However, you requested 748 tokens."),
    "openai": error(400, "Your input exceeds the window.", code="context_length_exceeded"),
    "sglang": body(
        400, {"object": "error", "message": "The input (748 tokens) is longer than 512 tokens.", "code": 400}
    ),
    "tgi": body(422, {"error": "Input validation error: `inputs` must have less than 512 tokens. Given: 748"}),
    "gemini": body(
        400, [{"error": {"code": 400, "message": "The input token count (748) exceeds the maximum (512)."}}]
    ),
    "bedrock": error(400, "Input is too long for requested model."),
    "dashscope": error(400, "Range of input length should be [1, 512]", code="invalid_parameter_error"),
    "groq": error(413, "Request too large: Limit 512, Requested 748.", type="tokens", code="rate_limit_exceeded"),
    "openai's rate": error(429, "Request too large on TPM: Limit 512, Requested 748.", code="rate_limit_exceeded"),
    "nginx": page(413),
    "llama.cpp": error(500, "too big", type="exceed_context_size_error", n_prompt_tokens=748, n_ctx=512),
    "ollama": error(400, "input length exceeds maximum context length"),
    "cohere": body(400, {"message": "too many tokens: size limit exceeded by 236 tokens."}),
    "anthropic": body(400, {"type": "error", "error": {"message": "prompt is too long: 748 tokens > 512 maximum"}}),
    "litellm": error(500, "litellm.ContextWindowExceededError: AnthropicException - b'prompt is too long'"),
    "mistral": body(
        400, {"object": "error", "message": "Prompt contains 748 tokens, too large for model", "code": 3051}
    ),
    "xai": body(400, {"code": "invalid", "error": "This model's maximum prompt length is 512 but it contains 748."}),
    "zhipu": error(400, "Prompt 超长", code="1261"),
    "numbers alone": error(400, "748 tokens do not fit into 512"),
    "in a 200": body(200, {"error": {"code": 400, "message": "maximum context length is 512 tokens"}}),
    "nothing said": body(400, {}),
    "nothing said, 422": Reply(422, b""),
}


@pytest.mark.parametrize("reply", TOO_LONG.values(), ids=TOO_LONG)
def test_too_long_prompt_is_shortened_for_every_server_error(reply: Reply) -> None:
    with EndpointServer(lambda seen: reply if len(seen.prompt) > 2000 else rate(seen, 4)) as server:
        grade = only(drive(make(server), long_pairs()))
    assert grade.rating == 4 and grade.note
    first, second = (seen.body for seen in server.seen)
    assert second == {**first, "messages": second["messages"]} and second["max_tokens"] == 80


def test_passage_is_shortened_only_for_length_and_hopeless_job_ends() -> None:
    with EndpointServer(lambda seen: body(400, {})) as server:
        assert only(drive(make(server), long_pairs())).reason == "HTTP 400"
        assert server.counts.total() == 2
    with EndpointServer(lambda seen: rate(seen, 4) if "long" in seen.prompt else body(400, {})) as server:
        end = make(server)
        assert only(drive(end, long_pairs("long " + PASSAGE))).rating == 4
        assert only(drive(end, long_pairs())).reason == "HTTP 400"
        assert server.counts.total() == 2
    with EndpointServer(lambda seen: TOO_LONG["bedrock"]) as server, pytest.raises(GradingError):
        drive(make(server), pairs(1000), Control(concurrency=2))
    assert server.counts.total() <= SILENT_PAIRS + 2


WITHOUT_SYSTEM = [
    error(400, "System role not supported", code=400),
    error(400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
    body(400, [{"error": {"code": 400, "message": "Developer instruction is not enabled for models/gemma"}}]),
    error(400, "Conversation roles must alternate user/assistant/user/assistant/..."),
    error(500, "Only user and assistant roles are supported!", type="server_error"),
    body(422, {"detail": [{"loc": ["body", "messages", 0, "role"], "msg": "Input should be 'user' or 'assistant'"}]}),
    body(422, {"error": "Template error: System role not supported (in <string>:1)", "error_type": "template_error"}),
]
WITHOUT_TEMPERATURE = [
    error(400, "Unsupported value: 'temperature' does not support 0.0 with this model.", param="temperature"),
    error(400, "O-series models don't support temperature=0.0. Only temperature=1 is supported.", code="400"),
    body(400, {"code": "invalid argument", "error": "Argument not supported on this model: temperature"}),
    error(400, "`temperature` is deprecated for this model."),
    error(400, "invalid temperature: only 1 is allowed for this model"),
    body(422, {"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}]}),
]


@pytest.mark.parametrize("reply", WITHOUT_SYSTEM + WITHOUT_TEMPERATURE)
def test_unsupported_system_role_or_temperature_is_omitted(reply: Reply) -> None:
    def behave(seen: Seen) -> Reply:
        with_system = seen.body["messages"][0]["role"] == "system"
        refused = with_system if reply in WITHOUT_SYSTEM else "temperature" in seen.body
        return reply if refused else rate(seen, 3)

    call = Call(IN_ROLES, {"question": "q?", "context": "Passage."}, "rating", options=SCALE, max_tokens=8)
    with EndpointServer(behave) as server:
        grades = drive(make(server), [((i, i), rated(call)) for i in range(5)], Control(concurrency=1))
    assert [grade.rating for grade in grades.values()] == [3] * 5 and server.counts.total() == 6
    # Without a system role, the system text is part of the user text.
    assert server.seen[-1].prompt == ("Rate it.\n\n" if reply in WITHOUT_SYSTEM else "") + "q?\nPassage."


FLAGGED = [
    error(403, "The input was flagged by moderation: violence", code=403, metadata={"flagged_input": "q3"}),
    error(400, "The response was filtered", code="content_filter"),
    error(400, "Input text data may contain inappropriate content.", code="data_inspection_failed"),
    error(400, "Content Exists Risk", type="invalid_request_error"),
    error(400, "系统检测到输入或生成内容可能包含不安全或敏感内容", code="1301"),
    body(200, {"error": {"code": 403, "message": "blocked by moderation"}}),
    chat(None, finish="PROHIBITED_CONTENT"),
    chat("", finish="content_filter: SAFETY"),
    body(200, {"choices": [{"index": 0, "finish_reason": "content_filter"}]}),
]


@pytest.mark.parametrize("reply", FLAGGED)
def test_flagged_passage_fails_alone_even_if_first(reply: Reply) -> None:
    # Twelve consecutive questions about one passage, more than end a job if all calls are refused.
    work = [((i, 0), rated(question(0))) for i in range(SILENT_PAIRS + 2)]
    work += [((i, i), rated(question(i))) for i in range(100, 103)]
    with EndpointServer(lambda seen: reply if seen.prompt == prompt(0) else rate(seen, 4)) as server:
        grades = drive(make(server), work, Control(concurrency=1))
    assert [grade.rating for grade in grades.values()].count(4) == 3
    assert all(grade.reason for i, grade in grades.items() if i < 100)
    assert server.counts.total() == len(work), "no call is repeated"


@pytest.mark.parametrize("reply", [page(403), error(403, "forbidden")])
def test_unexplained_refusal_fails_its_pairs_if_others_succeed(reply: Reply) -> None:
    numbers = [*[0] * (SILENT_PAIRS + 2), 100, 101, 102]
    with EndpointServer(lambda seen: reply if seen.prompt == prompt(0) else rate(seen, 4)) as server:
        # In the second order, refused questions come first, but too few to count as a refused key.
        for order in ([100, *numbers], [*numbers[4:], 103]):
            work = [((at, number), rated(question(number))) for at, number in enumerate(order)]
            grades = drive(make(server), work, Control(concurrency=1))
            assert [grade.rating for grade in grades.values()].count(4) == 4
            assert len(grades) == len(order)


@pytest.mark.parametrize(
    "reply",
    [
        error(403, "forbidden"),
        error(403, "Your account was flagged for potential abuse"),
        body(400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]),
        body(400, {"code": "invalid argument", "error": f"Incorrect API key provided: {KEY}"}),
    ],
)
@pytest.mark.parametrize("n", [1, 100])
def test_refused_key_ends_job_and_fails_no_pair(reply: Reply, n: int) -> None:
    outcomes: list[Any] = []
    with EndpointServer(lambda seen: reply) as server, pytest.raises(GradingError) as caught:
        for batch in make(server).drive(pairs(n), Control(concurrency=1)):
            outcomes += batch
    assert outcomes == [] and KEY not in str(caught.value)
    assert f"HTTP {reply.status}" in str(caught.value)
    assert server.counts.total() == min(n, BARRED_PASSAGES)


def test_key_refused_late_or_for_one_passage_ends_job() -> None:
    work = [((i, 0), rated(question(i))) for i in range(100)]
    with EndpointServer(lambda seen: error(403, "forbidden")) as server, pytest.raises(GradingError):
        drive(make(server), work, Control(concurrency=1))
    assert server.counts.total() == SILENT_PAIRS
    with EndpointServer(lambda seen: rate(seen, 4) if seen.prompt == prompt(0) else status(403)) as server:
        with pytest.raises(GradingError):
            drive(make(server), pairs(100), Control(concurrency=1))
        assert server.counts.total() == 1 + SILENT_PAIRS


@pytest.mark.parametrize(
    ("content", "rating", "thinking"),
    [
        ([{"type": "text", "text": '{"rating": 4}'}], 4, 0),
        ([{"type": "text", "text": '{"rating"'}, {"type": "text", "text": ": 4}"}], 4, 0),
        (
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Rating: 2? No, all is there."}]},
                {"type": "text", "text": '{"rating": 4}'},
                {"type": "reference", "reference_ids": [1]},
            ],
            4,
            5,
        ),
        ([{"type": "thinking", "thinking": "Rating: 2"}], None, 3),
    ],
)
def test_only_text_parts_of_content_are_read(content: Any, rating: int | None, thinking: int) -> None:
    control = Control()
    with EndpointServer(lambda seen: chat(content)) as server:
        assert only(drive(make(server), pairs(1), control)).rating == rating
    assert (control.usage.calls, control.usage.thinking_tokens) == (1, thinking)


def test_refusal_part_is_recognised_and_stated_wait_kept() -> None:
    with EndpointServer(lambda seen: chat([{"type": "refusal", "refusal": "No."}])) as server:
        assert only(drive(make(server), pairs(1))) == Grade(None, "failed", reason="refused: No.")
    with EndpointServer(lambda seen: BROKEN[-1] if seen.attempt == 1 else rate(seen, 4), clock=fast_clock) as server:
        drive(make(server), pairs(1))
    assert server.seen[1].at - server.seen[0].at >= 3
    text = "A system prompt with the temperature of the sea, a content filter and an invalid api key"
    sent = {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": text}], "temperature": 0}
    assert find_objection({"message": f"cannot parse {text}"}, sent) is None
    assert find_objection({"message": "'temperature' is not supported"}, sent) == "no temperature"


BROKEN = [
    body(200, {"error": {"code": 429, "message": "Provider returned error", "metadata": {"raw": "busy"}}}),
    body(200, [{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}]),
    body(200, {"choices": [{"message": {"content": None}}], "error": {"code": 502, "message": "gone"}}),
    body(200, {"choices": [{"message": {"content": "4"}, "error": {"code": 500}, "finish_reason": "error"}]}),
    body(200, {"choices": [{"message": {"content": '{"rat'}, "finish_reason": "error"}]}),
    body(429, [{"error": {"code": 429, "message": "quota", "details": [{"retryDelay": "3s"}]}}]),
]


@pytest.mark.parametrize("reply", [status(500), hang(), torn(chat("3")), page(), chat(4), too_many(), *BROKEN])
def test_temporary_fault_leaves_no_trace_in_grade(reply: Reply) -> None:
    control = Control()
    with EndpointServer(lambda seen: reply if seen.attempt < 3 else rate(seen, 3)) as server:
        grade = only(drive(make(server, timeout_s=1 if reply.hang else 60), pairs(1), control))
    assert (grade, control.usage.calls) == (Grade(3, raw='{"rating": 3}'), 3)


HOUR = 3600.0
DAY = 24 * HOUR


def quick() -> float:
    """Return the time of a clock on which an hour takes a third of a second."""
    return time.monotonic() * 10_000


def gone_for(calls: int, reply: Reply, after: int = 10) -> Behaviour:
    """Return a behaviour that works except for a number of calls in a row, which get `reply`."""
    numbers = count()

    def behave(seen: Seen) -> Reply:
        return reply if after <= next(numbers) < after + calls else well(seen)

    return behave


@pytest.mark.parametrize("reply", [status(503), status(500), too_many(retry_after=60), torn(chat("3"))])
def test_job_outlasts_outage_without_repeating_answers(reply: Reply) -> None:
    said: list[str] = []
    control = Control(concurrency=4, report=said.append, patience=DAY)
    with EndpointServer(gone_for(25, reply)) as server:
        grades = drive(make(server, attempts=2, clock=quick), pairs(60), control)
    assert {i: grade.rating for i, grade in grades.items()} == {i: digit(prompt(i)) for i in range(60)}
    assert server.counts.total() == 60 + 25, "answered calls must not be repeated"
    # Each failed try is reported with the time of the next, and the recovery at the end.
    assert ANSWERS_AGAIN in said and control.awaited is None
    before = said[: said.index(ANSWERS_AGAIN)]
    assert any(len(re.findall(r"\b\d\d:\d\d\b", line)) == 2 for line in before), "times of the next and the last try"


def test_waiting_job_can_be_paused_and_cancelled() -> None:
    control = Control(concurrency=4, patience=1000 * DAY)
    with EndpointServer(lambda seen: status(503)) as server:
        done: list[dict[int, Grade]] = []
        end = make(server, attempts=1, clock=quick)
        thread = threading.Thread(target=lambda: done.append(drive(end, pairs(20), control)))
        thread.start()
        # All initial calls have arrived, so any call after the pause was not already under way.
        until(lambda: control.awaited and server.counts.total() >= control.concurrency)
        control.pause()
        until(lambda: server.in_flight == 0)
        calls = server.counts.total()
        # Long enough for a try made despite the pause to show.
        threading.Event().wait(0.3)
        assert server.counts.total() - calls <= 1
        control.cancel()
        thread.join(20)
    assert done == [{}]


def test_job_waits_for_endpoint_until_patience_ends(background: Callable[..., list[Outcome]]) -> None:
    gone = refusal("endpoint-gone", "60", "503", kind=GradingError)
    with EndpointServer(lambda seen: status(503)) as server, gone:
        drive(make(server, attempts=2, clock=quick), pairs(100), Control(concurrency=4, patience=HOUR))
    assert server.counts.total() < 25, "tries must become less frequent"
    control = Control(concurrency=4, patience=1000 * DAY)
    with EndpointServer() as server:
        pass
    outcomes = background(make(server, attempts=2, clock=quick), pairs(20), control)
    until(lambda: control.awaited)
    with EndpointServer(port=server.port):
        until(lambda: len(outcomes) >= 20)
    assert sorted(at for at, _, grade in outcomes if grade.rating is not None) == list(range(20))


@pytest.mark.parametrize("reply", [status(401), status(500)])
def test_job_stores_answers_before_a_lasting_failure_and_next_asks_the_rest(project: Project, reply: Reply) -> None:
    questions = [Question(f"q/{i}", "q", f"q{i}?") for i in range(4)]
    fill(project, questions, {}, {"run": {"q": [f"p{i}" for i in range(6)]}})
    with EndpointServer(gone_for(1000, reply)) as server:
        grader = make_grader("self-rating", {"model": "m", "base_url": server.url, "attempts": 1})
        asked: list[str] = []
        for state, answers in (("failed", 10), ("done", 24 - 10)):
            before = len(server.seen)
            ended = run_job(project, grader, Request(concurrency=1, patience=0.2), "ann")
            assert (ended.state, ended.graded, ended.failed) == (state, answers, 0)
            asked += [seen.prompt for seen in server.seen[before:][:answers]]
            assert sorted(project.rows("SELECT rating FROM grades")) == sorted((digit(one),) for one in asked)
            assert make_plan(project, grader.spec, 1).to_grade == 24 - len(asked)
            server.behave = well
    assert len(set(asked)) == 10 + len(server.seen[before:]) == 24


@pytest.mark.parametrize(
    ("reply", "code"),
    [(status(401), "key-refused"), (status(403), "model-not-allowed"), (status(404), "unknown-model")],
)
def test_endpoint_refusing_access_after_outage_ends_job(reply: Reply, code: str) -> None:
    numbers = count()
    with (
        EndpointServer(lambda seen: status(503) if next(numbers) < 12 else reply) as server,
        refusal(code, "HTTP", kind=GradingError),
    ):
        drive(make(server, attempts=2, clock=quick), pairs(100), Control(concurrency=4, patience=DAY))


@pytest.mark.parametrize(("http", "concurrency"), [(500, 2), (503, 1)])
def test_pair_failing_by_itself_causes_no_repeated_waits(http: int, concurrency: int) -> None:
    def behave(seen: Seen) -> Reply:
        return status(http) if seen.prompt == prompt(3) else rate(seen, 2)

    control = Control(concurrency=concurrency, patience=DAY)
    with EndpointServer(behave) as server:
        grades = drive(make(server, attempts=3, clock=quick), pairs(30), control)
    assert [i for i, grade in grades.items() if grade.rating is None] == [3]
    assert re.findall(r"\d+", str(grades[3].reason)) == [str(http), "3"], "the status and the attempts"
    # Its attempts, one try while the endpoint counts as gone, and its attempts again.
    assert server.counts[prompt(3)] <= 3 + 1 + 3


def test_last_pairs_failing_by_themselves_are_not_awaited() -> None:
    said: list[str] = []
    control = Control(concurrency=4, report=said.append, patience=DAY)
    with EndpointServer(lambda seen: status(503) if seen.prompt == prompt(29) else rate(seen, 2)) as server:
        grades = drive(make(server, attempts=2, clock=quick), pairs(30), control)
    assert [i for i, grade in grades.items() if grade.rating is None] == [29]
    assert re.findall(r"\d+", str(grades[29].reason)) == ["503", "2"]
    assert server.counts[prompt(29)] == 2 + TRIES_ALONE
    assert ANSWERS_AGAIN not in said and control.awaited is None
    control = Control(concurrency=2, patience=DAY)
    with EndpointServer(lambda seen: status(500)) as server:
        grades = drive(make(server, attempts=2, clock=quick), pairs(SILENT_PAIRS - 1), control)
    (reason,) = {grade.reason for grade in grades.values()}
    assert re.findall(r"\d+", str(reason)) == ["500", "2"] and len(grades) == SILENT_PAIRS - 1


def test_pauses_grow_to_a_limit_and_last_try_is_at_deadline() -> None:
    now, control = [0.0], Control(patience=HOUR)
    absence = Outage("http://localhost/v1", control, lambda line: None, lambda: now[0])
    tries = []
    while absence.wait("HTTP 503", None) is None:
        assert absence.allowed_calls == 0
        begun = now[0]
        while not absence.allowed_calls:
            now[0] += 1
        tries.append(now[0] - begun)
    assert tries == [30, 60, 120, 240, 480, 600, 600, 600, 600, 270]
    assert sum(tries) == HOUR
    assert max(tries) == LONGEST_PAUSE
    assert isinstance(control.awaited, AwaitedEndpoint)
    outage = control.paused_seconds
    absence.end_on_answer()
    assert control.awaited is None and not absence.is_waiting
    assert 0 < outage < control.paused_seconds == control.paused_seconds
