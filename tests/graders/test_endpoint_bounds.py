"""What an endpoint sends is bounded, is not led elsewhere, and no number of it is taken as it comes."""

from __future__ import annotations

import json
import logging
import os
import re
from dataclasses import replace
from typing import Any

import pytest

from exam_workbench import limits
from exam_workbench.graders import Control, Price, other_models_note
from exam_workbench.graders._endpoint.endpoint_back_end import EndpointBackEnd
from exam_workbench.graders._endpoint.http_client import BROKEN_COMPRESSION, UNKNOWN_COMPRESSION
from exam_workbench.graders._endpoint.retry import requested_wait
from exam_workbench.graders._endpoint.single_call import REDIRECTED
from exam_workbench.graders._grader_interface import is_version_of
from exam_workbench.graders._reading.calls import complete_calls
from exam_workbench.types import Grade
from tests.made.endpoint_calls import KEY, drive, make, only, pairs, prompt, question, until
from tests.made.endpoint_server import (
    EndpointServer,
    Reply,
    Seen,
    chat,
    hang,
    leading_to,
    packed,
    rate,
    status,
    torn,
)
from tests.made.refusals import mentions, refusal

MIB = 1 << 20


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_nothing_is_sent_to_where_it_leads(code: int) -> None:
    control = Control()
    with EndpointServer() as elsewhere, EndpointServer(lambda seen: leading_to(elsewhere.url + "/x", code)) as server:
        grade = only(drive(make(server), pairs(1), control))
    assert grade == Grade(None, "failed", reason=f"HTTP {code}: {REDIRECTED}")
    assert (elsewhere.seen, elsewhere.connections, control.usage.calls) == ([], 0, 1)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(endless=b" " * 65536),
        Reply(content=b'{"choices": [', endless=b'{"message": {"content": "4"}},' * 2000),
        Reply(500, endless=b"x" * 65536),
        replace(packed(b" " * 9), endless=os.urandom(65536)),
        packed(b" " * (64 * MIB)),
    ],
    ids=["blanks", "choices", "error", "endless gzip", "gzip bomb"],
)
def test_an_answer_without_end_is_given_up_at_its_limit(reply: Reply) -> None:
    with EndpointServer(lambda seen: reply) as server:
        grade = only(drive(make(server), pairs(1)))
        until(lambda: server.connections == 0)
    assert grade == Grade(None, "failed", reason=grade.reason) and mentions(str(grade.reason), "1,048,576")
    # What lies in the buffers of the connection comes on top.
    assert server.poured < 16 * MIB and server.counts[prompt(0)] == 1


def test_a_head_without_end_and_a_body_that_trickles_are_given_up() -> None:
    head, trickle = Reply(endless_head=b"x-more: " + b"y" * 8000 + b"\r\n"), Reply(endless=b" ", pause=0.01)
    with EndpointServer(lambda seen: head) as server:
        reasons = [only(drive(make(server, attempts=1), pairs(1))).reason]
        server.behave = lambda seen: trickle
        reasons.append(only(drive(make(server, attempts=1, timeout_s=2), pairs(1))).reason)
    # A connection that failed, after one attempt; and a time limit of two seconds, after one attempt.
    assert [re.findall(r"\d+", str(reason)) for reason in reasons] == [["1"], ["2", "1"]]
    assert server.poured < 16 * MIB


def test_an_answer_that_is_compressed_as_asked_is_read_and_another_way_is_not() -> None:
    with EndpointServer(lambda seen: packed(rate(seen, 4).content)) as server:
        assert only(drive(make(server), pairs(1))).rating == 4
        server.behave = lambda seen: packed(b"{}", "br")
        assert only(drive(make(server), pairs(1))) == Grade(None, "failed", reason=UNKNOWN_COMPRESSION)
        server.behave = lambda seen: Reply(content=b"no gzip", headers={"content-encoding": "gzip"})
        assert only(drive(make(server), pairs(1))) == Grade(None, "failed", reason=BROKEN_COMPRESSION)
        assert server.counts[prompt(0)] == 3, "neither is asked again"


def test_the_limit_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    with EndpointServer(lambda seen: rate(seen, 4)) as server:
        monkeypatch.setenv("EXAM_LIMIT_ENDPOINT_ANSWER", "100")
        assert mentions(str(only(drive(make(server), pairs(1))).reason), "100")
        monkeypatch.setenv("EXAM_LIMIT_ENDPOINT_ANSWER", "100 kB")
        with refusal("invalid-limit", "100 kB", "EXAM_LIMIT_ENDPOINT_ANSWER"):
            drive(make(server), pairs(1))


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "application/json; charset=zlib"},
        {"content-type": "text/html; charset=undefined"},
        {"set-cookie": f"a={KEY}; Max-Age=999999"},
        {"retry-after": KEY},
        {"x-request-id": KEY * 100},
    ],
)
def test_headers_change_nothing_of_how_an_answer_is_read(headers: dict[str, str], caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    with EndpointServer(lambda seen: Reply(content=rate(seen, 3).content, headers=headers)) as server:
        assert {grade.rating for grade in drive(make(server), pairs(3), Control(concurrency=1)).values()} == {3}
        server.behave = lambda seen: Reply(400, status(400, "no").content, headers)
        assert only(drive(make(server), pairs(1))).reason == "HTTP 400: no"
    assert all("cookie" not in seen.headers for seen in server.seen)
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 2**62, "completion_tokens": 2**62}, (2_000_000, 2_000_000)),
        ({"prompt_tokens": 10**30, "completion_tokens": 3}, (2_000_000, 3)),
        ({"prompt_tokens": -5, "completion_tokens": True}, (11, 4)),
        ({"prompt_tokens": "12", "completion_tokens": None}, (11, 4)),
        ({"prompt_tokens": 12.0, "completion_tokens": 3.5}, (12, 4)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, (11, 4)),
        ("many", (11, 4)),
        ([7], (11, 4)),
    ],
)
def test_a_reported_usage_is_a_plausible_number_or_else_estimated(usage: object, counted: tuple[int, int]) -> None:
    control = Control()
    with EndpointServer(lambda seen: chat(json.dumps({"rating": 3}), usage=usage)) as server:
        assert only(drive(make(server), pairs(1), control)).rating == 3
    assert (control.usage.input_tokens, control.usage.output_tokens) == counted


@pytest.mark.parametrize(
    "value",
    [
        "9" * 100_000, "9" * 100_000 + "s", "1e999", "-inf", "NaN", "Fri, 15 Jan 99999 08:00:30 GMT",
        "Fri, 99 Jan 2027 99:99:99 GMT", "Fri, 15 Jan 2027 08:00:30 +999999999999", "\x00", "0x10", "1_000", "١٢",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["retry-after", "retry-after-ms", "x-ratelimit-reset"])
def test_whatever_a_header_says_of_when_to_ask_again_a_wait_is_bounded(name: str, value: str) -> None:
    told = requested_wait({name: value}, 1_800_000_000.0)
    assert told is None or 0 <= told <= 300


def test_under_a_cap_calls_wait_for_what_is_set_aside_for_others() -> None:
    """A reservation is far more than a call uses; the calls in flight must not end the job with the cap unspent."""
    one = Price(input=0.0, output=1e6 / 64)  # a call sets 1 aside, and uses 5 / 64
    control = Control(max_cost=4, price=one, concurrency=32)
    with EndpointServer(latency=0.002) as server:
        grades = drive(make(server), pairs(1000), control)
    # The last call that was allowed had 1 left.
    assert control.exhausted and 3 < control.usage.cost <= 4
    assert len(grades) == server.counts.total() == control.usage.calls


def test_a_reported_usage_beyond_what_was_set_aside_stops_the_job_at_once() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 1500}
    control = Control(max_cost=10_000, price=Price(output=1e6), concurrency=8)
    with EndpointServer(lambda seen: chat(json.dumps({"rating": 3}), usage=usage), latency=0.005) as server:
        grades = drive(make(server), pairs(500), control)
    assert len(grades) == server.counts.total() == 1 and control.exhausted
    assert mentions(control.overrun, "10") and mentions(control.overrun, "1,500")


def test_an_endpoint_that_reports_nothing_used_uses_up_a_cap_nevertheless() -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0}
    control = Control(max_cost=0.002, price=Price(1.0, 1.0), concurrency=4)
    with EndpointServer(lambda seen: chat(json.dumps({"rating": 3}), usage=nothing)) as server:
        drive(make(server), pairs(1000), control)
    assert control.exhausted and server.counts.total() < 200


def test_an_endpoint_that_heeds_no_schema_is_asked_in_plain_text_and_a_stray_digit_of_another_is_none() -> None:
    with EndpointServer(lambda seen: chat("4")) as server:
        grades = drive(make(server), pairs(5), Control(concurrency=1))
    assert [grade.raw for grade in grades.values()] == ["4"] * 5
    assert [seen.wants_json for seen in server.seen] == [True, False] * 3 + [False] * 2

    def stray(seen: Seen) -> Reply:
        return chat("5") if seen.prompt == prompt(1) else rate(seen, 2)

    with EndpointServer(stray) as server:
        answers = complete_calls(make(server), [question(i) for i in range(3)], Control(concurrency=1))
    assert [answer.text for answer in answers] == ['{"rating": 2}', "5", '{"rating": 2}']
    assert all(answer.structured for answer in answers) and len(server.seen) == 3


def test_one_answer_in_words_does_not_turn_schemas_off_for_other_pairs() -> None:
    def behave(seen: Seen) -> Reply:
        return chat("Rating: 3") if seen.prompt == prompt(0) else rate(seen, 2)

    with EndpointServer(behave) as server:
        grades = drive(make(server), pairs(8), Control(concurrency=1))
    assert [grade.rating for grade in grades.values()][1:] == [2] * 7
    assert [seen.wants_json for seen in server.seen] == [True, False] + [True] * 7
    # The one pair was asked in plain text, and what came was read as that.
    assert grades[0].raw == "Rating: 3"


@pytest.mark.parametrize("text", ["I'm sorry, but I can't assist", "Please retry in 5 seconds.", "eh"])
def test_what_is_no_answer_does_not_turn_schemas_off(text: str) -> None:
    with EndpointServer(lambda seen: chat(text)) as server:
        drive(make(server), pairs(3))
    assert all(seen.wants_json for seen in server.seen) and len(server.seen) == 3


def test_the_model_that_is_said_to_have_answered_is_counted_and_noted() -> None:
    def behave(seen: Seen) -> Reply:
        named = ["m", "m-2024-08-06", f"other {KEY}", ["no name"], None]
        return chat(json.dumps({"rating": 1}), model=named[int(seen.prompt[len("Question: q")])])

    control = Control()
    with EndpointServer(behave) as server:
        answers = complete_calls(make(server), [question(i) for i in range(5)], control)
    assert [answer.model for answer in answers] == [None, "m-2024-08-06", "other [key]", None, None]
    assert control.models == {"m": 1, "m-2024-08-06": 1, "other [key]": 1}


def test_names_of_models_without_end_are_counted_together() -> None:
    control = Control()
    for i in range(1000):
        control.answered_by(f"model {i}")
    assert len(control.models) == 9 and sum(control.models.values()) == 1000


@pytest.mark.parametrize(
    ("named", "asked", "same"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o", True), ("gpt-4-0613", "gpt-4", True), ("llama3:latest", "llama3", True),
        ("openai/gpt-4o", "gpt-4o", True), ("gpt-4o", "gpt-4o-2024-08-06", True), ("GPT-4o", "gpt-4o", True),
        ("gpt-4o-mini", "gpt-4o", False), ("gpt-4.1", "gpt-4", False), ("gpt-3.5-turbo", "gpt-4o", False),
        ("gpt-4o-mini-2024-07-18", "gpt-4o", False), ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06", False),
    ],
)  # fmt: skip
def test_a_version_of_a_model_is_told_from_another_model(named: str, asked: str, same: bool) -> None:
    assert is_version_of(named, asked) == same


def test_a_sentence_says_which_model_answered() -> None:
    assert other_models_note("m", {}) == other_models_note("m", {"m": 3}) == ""
    # Of versions no answers are counted; of another model those of each name are, the most first.
    version, older = other_models_note("m", {"m-0613": 3}), other_models_note("m-999", {"m": 3, "m-999": 1})
    assert mentions(version, "m-0613") and mentions(version, "m") and re.findall(r"\d+", version) == ["0613"]
    assert mentions(older, "m") and mentions(older, "m-999") and set(re.findall(r"\d+", older)) == {"999"}
    assert "cheap (1,200), m-0613 (2)" in other_models_note("m", {"m": 3, "cheap": 1200, "m-0613": 2})


def test_every_limit_has_a_name_a_unit_and_a_default() -> None:
    for name, limit in limits.LIMITS.items():
        assert limits.read_limit(name) == limit.default >= 1 and limit.unit and limit.what


@pytest.mark.parametrize(
    "field", ["max_tokens", "MAX_TOKENS", "max_completion_tokens", "n", "best_of", "stream", "models", "temperature"]
)
def test_a_further_field_that_would_break_a_cap_or_change_what_is_asked_is_refused_by_its_name(field: str) -> None:
    with refusal("invalid-further-fields", str(field)):
        EndpointBackEnd("m", "http://127.0.0.1:9/v1", extra={"seed": 1, field: 9})


def test_an_endpoint_that_lies_after_a_sound_answer_gets_no_call_beyond_the_few_in_flight() -> None:
    """The first answer keeps to what was set aside; all others report far more."""

    def lies(seen: Seen) -> Reply:
        usage = {"prompt_tokens": 10, "completion_tokens": 5 if seen.prompt == prompt(0) else 100_000}
        return chat(json.dumps({"rating": 3}), usage=usage)

    control = Control(max_cost=100, price=Price(output=1e6 / 64), concurrency=32)
    with EndpointServer(lies, latency=0.05) as server:
        drive(make(server), pairs(500), control)
    assert control.exhausted and control.overrun
    assert server.counts.total() == control.usage.calls <= 5 and server.max_in_flight <= 4


def test_under_a_cap_that_bears_the_most_a_call_may_report_calls_are_as_many_as_were_asked_for() -> None:
    control = Control(max_cost=1000, price=Price(1.0, 1.0), concurrency=16)
    with EndpointServer(latency=0.05) as server:
        drive(make(server), pairs(60), control)
    assert server.max_in_flight == 16


def test_a_call_that_timed_out_is_charged_and_calls_after_a_fault_do_not_go_one_by_one() -> None:
    control = Control(max_cost=30, price=Price(output=1e6 / 64), concurrency=8)
    with EndpointServer(lambda seen: hang() if seen.prompt in (prompt(0), prompt(3)) else rate(seen, 3)) as server:
        server.latency = 0.05
        drive(make(server, attempts=1, timeout_s=3), pairs(20), control)
    assert server.max_in_flight == 4 and not control.exhausted
    assert control.usage.output_tokens == 2 * 64 + 18 * 5


def test_an_endpoint_that_only_times_out_uses_up_a_cap() -> None:
    control = Control(max_cost=3, price=Price(output=1e6 / 64), concurrency=8)
    with EndpointServer(lambda seen: hang()) as server:
        drive(make(server, attempts=2, timeout_s=1), pairs(20), control)
    assert control.exhausted and control.usage.cost == 3 and server.counts.total() == 3


def test_a_torn_answer_is_charged_and_a_connection_that_was_refused_is_not() -> None:
    control = Control()
    with EndpointServer(lambda seen: torn(rate(seen, 3))) as server:
        end = make(server, attempts=1)
        drive(end, pairs(1), control)
    assert control.usage.output_tokens == 64
    drive(end, pairs(1), control)
    assert control.usage.output_tokens == 64 and control.usage.calls == 2
