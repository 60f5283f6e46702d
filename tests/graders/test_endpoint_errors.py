"""Errors in the forms of many servers: which end a job, which fail one pair, and which are met by asking otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from exam_workbench.errors import GradingError
from exam_workbench.graders import Call, Control, Prompt
from exam_workbench.graders._endpoint.call_session import BARRED_PASSAGES, SILENT_PAIRS
from exam_workbench.graders._endpoint.chat import find_objection
from exam_workbench.graders._endpoint.retry import requested_wait
from exam_workbench.types import Grade
from tests.made.endpoint_calls import (
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
)
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat, page, rate, status

__all__ = ["key", "nothing_is_left_running"]

IN_ROLES = Prompt("roles", "Roles", "self-rating", "{question}\n{context}", "rating", "ours", system="Rate it.")
PASSAGE = "The tide turned early. " * 120
"""2,760 characters: as tokens of a server between 345 and 3,016."""


def body(code: int, content: Any) -> Reply:
    return Reply(code, json.dumps(content).encode())


def error(http: int, message: str, **more: Any) -> Reply:
    return body(http, {"error": {"message": message, **more}})


def long_pairs(text: str = PASSAGE) -> list[Any]:
    call = Call(RATE, {"question": "q?", "context": text}, "rating", options=SCALE, max_tokens=8)
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
def test_a_prompt_that_is_too_long_is_shortened_whatever_the_server_calls_it(reply: Reply) -> None:
    with EndpointServer(lambda seen: reply if len(seen.prompt) > 2000 else rate(seen, 4)) as server:
        grade = only(drive(make(server), long_pairs()))
    assert grade.rating == 4 and grade.note
    assert server.counts.total() == 2


def test_a_refusal_without_a_reason_shortens_a_passage_once_and_never_one_of_a_length_that_was_answered() -> None:
    with EndpointServer(lambda seen: body(400, {})) as server:
        assert only(drive(make(server), long_pairs())).reason == "HTTP 400"
        assert server.counts.total() == 2
    with EndpointServer(lambda seen: rate(seen, 4) if "long" in seen.prompt else body(400, {})) as server:
        end = make(server)
        assert only(drive(end, long_pairs("long " + PASSAGE))).rating == 4
        assert only(drive(end, long_pairs())).reason == "HTTP 400"
        assert server.counts.total() == 2


def test_a_prompt_that_stays_too_long_is_refused_and_ends_a_job_in_which_all_are() -> None:
    with EndpointServer(lambda seen: TOO_LONG["bedrock"]) as server, pytest.raises(GradingError):
        drive(make(server), pairs(1000), Control(concurrency=2))
    assert server.counts.total() <= SILENT_PAIRS + 2


@pytest.mark.parametrize(
    "reply",
    [
        error(400, "System role not supported", code=400),
        error(400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
        body(400, [{"error": {"code": 400, "message": "Developer instruction is not enabled for models/gemma"}}]),
        error(400, "Conversation roles must alternate user/assistant/user/assistant/..."),
        error(500, "Only user and assistant roles are supported!", type="server_error"),
        body(
            422, {"detail": [{"loc": ["body", "messages", 0, "role"], "msg": "Input should be 'user' or 'assistant'"}]}
        ),
        body(
            422, {"error": "Template error: System role not supported (in <string>:1)", "error_type": "template_error"}
        ),
    ],
)
def test_a_model_without_a_system_role_gets_its_words_from_the_user(reply: Reply) -> None:
    def behave(seen: Seen) -> Reply:
        return reply if seen.body["messages"][0]["role"] == "system" else rate(seen, 3)

    call = Call(IN_ROLES, {"question": "q?", "context": "Passage."}, "rating", options=SCALE, max_tokens=8)
    with EndpointServer(behave) as server:
        grades = drive(make(server), [((i, i), rated(call)) for i in range(5)], Control(concurrency=1))
    assert [grade.rating for grade in grades.values()] == [3] * 5
    assert server.counts.total() == 6
    assert server.seen[-1].prompt == "Rate it.\n\nq?\nPassage."


@pytest.mark.parametrize(
    "reply",
    [
        error(400, "Unsupported value: 'temperature' does not support 0.0 with this model.", param="temperature"),
        error(400, "O-series models don't support temperature=0.0. Only temperature=1 is supported.", code="400"),
        body(400, {"code": "invalid argument", "error": "Argument not supported on this model: temperature"}),
        error(400, "`temperature` is deprecated for this model."),
        error(400, "invalid temperature: only 1 is allowed for this model"),
        body(422, {"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}]}),
    ],
)
def test_a_model_without_temperature_is_asked_without(reply: Reply) -> None:
    with EndpointServer(lambda seen: reply if "temperature" in seen.body else rate(seen, 3)) as server:
        grades = drive(make(server), pairs(5), Control(concurrency=1))
    assert [grade.rating for grade in grades.values()] == [3] * 5
    assert server.counts.total() == 6


def test_words_of_the_prompt_that_an_error_repeats_are_no_objection() -> None:
    text = "A system prompt with the temperature of the sea, a content filter and an invalid api key"
    sent = {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": text}], "temperature": 0}
    assert find_objection({"message": f"cannot parse {text}"}, sent) is None
    assert find_objection({"message": "'temperature' is not supported"}, sent) == "no temperature"


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
def test_a_flagged_passage_fails_alone_also_as_the_first(reply: Reply) -> None:
    # Twelve questions about the same passage follow each other: more than end a job where all calls are refused.
    work = [((i, 0), rated(question(0))) for i in range(SILENT_PAIRS + 2)]
    work += [((i, i), rated(question(i))) for i in range(100, 103)]
    with EndpointServer(lambda seen: reply if seen.prompt == prompt(0) else rate(seen, 4)) as server:
        grades = drive(make(server), work, Control(concurrency=1))
    assert [grade.rating for grade in grades.values()].count(4) == 3
    assert all(grade.reason for i, grade in grades.items() if i < 100)
    assert server.counts.total() == len(work), "none is asked twice"


@pytest.mark.parametrize("reply", [page(403), error(403, "forbidden")])
def test_a_refusal_without_a_word_about_the_passage_fails_it_where_others_are_answered(reply: Reply) -> None:
    numbers = [*[0] * (SILENT_PAIRS + 2), 100, 101, 102]
    with EndpointServer(lambda seen: reply if seen.prompt == prompt(0) else rate(seen, 4)) as server:
        # Also if questions about the refused passage come first, fewer than refuse a key.
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
def test_a_refused_key_ends_the_job_and_fails_no_pair(reply: Reply, n: int) -> None:
    outcomes: list[Any] = []
    with EndpointServer(lambda seen: reply) as server, pytest.raises(GradingError) as caught:
        for batch in make(server).drive(pairs(n), Control(concurrency=1)):
            outcomes += batch
    assert outcomes == [] and KEY not in str(caught.value)
    assert f"HTTP {reply.status}" in str(caught.value)
    assert server.counts.total() == min(n, BARRED_PASSAGES)


def test_a_refused_key_shows_with_the_questions_about_one_passage() -> None:
    work = [((i, 0), rated(question(i))) for i in range(100)]
    with EndpointServer(lambda seen: error(403, "forbidden")) as server, pytest.raises(GradingError):
        drive(make(server), work, Control(concurrency=1))
    assert server.counts.total() == SILENT_PAIRS


def test_a_key_that_is_refused_later_ends_the_job_as_refusals_do() -> None:
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
def test_content_in_parts_is_the_text_of_its_text_parts(content: Any, rating: int | None, thinking: int) -> None:
    control = Control()
    with EndpointServer(lambda seen: chat(content)) as server:
        assert only(drive(make(server), pairs(1), control)).rating == rating
    assert (control.usage.calls, control.usage.thinking_tokens) == (1, thinking)


def test_a_refusal_in_parts_is_one() -> None:
    with EndpointServer(lambda seen: chat([{"type": "refusal", "refusal": "No."}])) as server:
        assert only(drive(make(server), pairs(1))) == Grade(None, "failed", reason="refused: No.")


BROKEN: list[Callable[[], Reply]] = [
    lambda: body(200, {"error": {"code": 429, "message": "Provider returned error", "metadata": {"raw": "busy"}}}),
    lambda: body(200, [{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}]),
    lambda: body(200, {"choices": [{"message": {"content": None}}], "error": {"code": 502, "message": "gone"}}),
    lambda: body(200, {"choices": [{"message": {"content": "4"}, "error": {"code": 500}, "finish_reason": "error"}]}),
    lambda: body(200, {"choices": [{"message": {"content": '{"rat'}, "finish_reason": "error"}]}),
    lambda: body(429, [{"error": {"code": 429, "message": "quota", "details": [{"retryDelay": "3s"}]}}]),
]


@pytest.mark.parametrize("reply", BROKEN)
def test_an_error_in_a_list_or_in_an_answer_is_tried_again(reply: Callable[[], Reply]) -> None:
    control = Control()
    with EndpointServer(lambda seen: reply() if seen.attempt == 1 else rate(seen, 4)) as server:
        assert only(drive(make(server), pairs(1), control)).rating == 4
    assert control.usage.calls == 2


def test_the_wait_that_an_error_states_is_kept() -> None:
    reply = BROKEN[-1]()
    with EndpointServer(lambda seen: reply if seen.attempt == 1 else rate(seen, 4), clock=fast_clock) as server:
        drive(make(server), pairs(1))
    assert server.seen[1].at - server.seen[0].at >= 3


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ({"message": "Please retry in 3.2s", "details": [{"@type": "RetryInfo", "retryDelay": "3s"}]}, 3),
        ({"message": "Please try again in 7.66s. Visit"}, 7.66),
        ({"message": "Please try again in 1m30.5s."}, 90.5),
        ({"message": "Please retry after 6 seconds."}, 6),
        ({"message": "try again in 250ms"}, 0.25),
        ({"message": "limited", "metadata": {"headers": {"X-RateLimit-Reset": "1800000012000"}}}, 12),
        ({"message": "please try again later"}, None),
        ("<html>", None),
    ],
)
def test_what_an_error_states_of_the_wait(said: object, seconds: float | None) -> None:
    assert requested_wait({}, 1_800_000_000.0, said) == (None if seconds is None else pytest.approx(seconds))
