"""Safety at an endpoint: keys, proxies, redaction and bounds of answers."""

from __future__ import annotations

import base64
import gzip
import html
import itertools
import json
import logging
import os
import re
import socket
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import duckdb
import pytest
from hypothesis import given, strategies as st

from exam_workbench.errors import GradingError, InputError
from exam_workbench.graders import Control, Price, _access as access, extend_access, other_models_note, use_access
from exam_workbench.graders._endpoint.endpoint_back_end import EndpointBackEnd
from exam_workbench.graders._endpoint.http_client import BROKEN_COMPRESSION, UNKNOWN_COMPRESSION
from exam_workbench.graders._endpoint.redaction import REDACTED, redact_keys, without_keys
from exam_workbench.graders._endpoint.retry import requested_wait
from exam_workbench.graders._endpoint.single_call import REDIRECTED
from exam_workbench.graders._grader_interface import is_version_of
from exam_workbench.graders._reading.calls import complete_calls
from exam_workbench.store import Project, open_project
from exam_workbench.types import Grade, Question
from tests.cli.test_cli import Exam, exam  # noqa: F401
from tests.made.endpoint_calls import (
    KEY,
    drive,
    key,
    make,
    nothing_is_left_running,
    only,
    pairs,
    prompt,
    question,
    until,
)
from tests.made.endpoint_server import (
    EndpointServer,
    Reply,
    Seen,
    chat,
    digit,
    hang,
    leading_to,
    packed,
    rate,
    status,
    torn,
)
from tests.made.projects import fill, judge, new_project
from tests.made.refusals import mentions, refusal

__all__ = ["key", "nothing_is_left_running"]


def test_key_is_sent_and_appears_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
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


def test_keys_are_removed_from_messages_and_failed_calls_reported() -> None:
    lines: list[str] = []
    with EndpointServer(lambda seen: status(503, "overloaded") if seen.attempt == 1 else rate(seen, 1)) as server:
        drive(make(server), pairs(1), Control(report=lines.append))
    assert len(lines) == 1 and lines[0].startswith("HTTP 503: overloaded (attempt 1 of 6, the next in ")
    with pytest.raises(InputError) as refused:
        EndpointBackEnd("m", key_variable="sk-abcdef-0123456789")
    assert "abcdef" not in str(refused.value)
    assert without_keys("o l l a m a, amallo", ["ollama"]) == "o l l a m a, amallo"
    key = "my-local-server-key-2024"
    assert without_keys("The local server is in 2024 rooms.", [key]) == "The local server is in 2024 rooms."


@pytest.mark.parametrize(
    "address",
    [
        "http://me:secretword@127.0.0.1/v1", "http://secretword@127.0.0.1/v1",
        "http://127.0.0.1/v1?api-key=secretword", "http://127.0.0.1/v1#secretword", "http://127.0.0.1:secretword/v1",
        "ftp://127.0.0.1/secretword", "secretword", "http://",
    ],
)  # fmt: skip
def test_secret_or_invalid_address_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(InputError) as caught:
        EndpointBackEnd("m", address)
    assert "secretword" not in str(caught.value)


def test_keys_must_be_sendable_and_only_local_calls_need_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with EndpointServer() as server:
        assert len(drive(make(server), pairs(1))) == 1
    with use_access(extend_access("https://example.invalid/v1", "OTHER_KEY")):
        named = EndpointBackEnd("m", "https://example.invalid/v1", "OTHER_KEY")
    with refusal("key-not-set", "OTHER_KEY", kind=GradingError):
        drive(named, pairs(1))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-broken\nkey")
    with EndpointServer() as server, pytest.raises(GradingError) as caught:
        drive(make(server), pairs(1))
    assert "OPENAI_API_KEY" in str(caught.value) and "broken" not in str(caught.value)


def test_environment_key_wins_and_local_calls_skip_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    assert access.find_key("NOT_THERE") is None
    access.providers.key = {"NOT_THERE": " from secrets\n", "OPENAI_API_KEY": "shadowed"}.get
    assert access.find_key("NOT_THERE") == "from secrets"
    assert access.find_key("OPENAI_API_KEY") == KEY
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with EndpointServer() as server:
        assert only(drive(make(server, attempts=1), pairs(1))).rating == digit(prompt(0))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"a {KEY} b {KEY}", "a [key] b [key]"),
        ("the key is ollama", "the key is [key]"),
        ("Authorization: Bearer abcdef123", "Authorization: Bearer [key]"),
        ("{'authorization': 'Bearer abc', 'x': 1}", "{'authorization': 'Bearer [key]', 'x': 1}"),
        ("api-key=abc123", "api-key=[key]"),
        ("Incorrect API key provided: sk-abc1****wxyz.", "Incorrect API key provided: [key]."),
        ("the bearer of bad news", "the bearer of bad news"),
    ],
)
def test_keys_and_lookalikes_are_redacted(text: str, shown: str) -> None:
    assert redact_keys(text, [KEY, "", "ollama"]) == shown


SECRET_PROXY = "http://me:s3cretword@127.0.0.1"


def heard(port_of: dict[str, int]) -> tuple[threading.Thread, list[bytes]]:
    """Start a proxy that records and refuses one request; return its thread and the record."""
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
def test_key_passes_a_proxy_only_if_encrypted(monkeypatch: pytest.MonkeyPatch, scheme: str, goes_there: bool) -> None:
    ports: dict[str, int] = {}
    thread, told = heard(ports)
    monkeypatch.setenv(f"{scheme}_proxy", f"http://127.0.0.1:{ports['proxy']}")
    monkeypatch.delenv("no_proxy", raising=False)
    address = f"{scheme}://lab.example.invalid/v1"
    with use_access(extend_access(address, "OPENAI_API_KEY")):
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
def test_messages_hide_proxies(monkeypatch: pytest.MonkeyPatch, proxy: str, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    with use_access(extend_access("https://lab.example.invalid/v1", "OPENAI_API_KEY")):
        end = EndpointBackEnd("m", "https://lab.example.invalid/v1", "OPENAI_API_KEY", attempts=1, timeout_s=2)
    lines: list[str] = []
    try:
        shown = str(only(drive(end, pairs(1), Control(report=lines.append))).reason)
    except GradingError as error:
        shown = f"{error} {error.hint}"
        assert "proxy" in error.hint
    assert all("s3c" not in text for text in [shown, *lines, caplog.text])


LONG_KEY = "sk-test-0123456789abcdef0123456789ABCDEF"
RANDOM = "Zq8vK2mXw7RtYb4NcP1sLd9HfJ6gTe3A"


def encoded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


def percent(key: str) -> str:
    return "".join(f"%{ord(one):02x}" for one in key)


FORMS: dict[str, Callable[[str], str]] = {
    "whole": str,
    "upper case": str.upper,
    "in a sentence": lambda key: f"Incorrect API key provided: {key}. You can find yours online.",
    "without its first and last characters": lambda key: key[3:-3],
    "a piece of 12": lambda key: key[10:22],
    "a piece of 8": lambda key: key[10:18],
    "reversed": lambda key: key[::-1],
    "a piece reversed": lambda key: key[5:19][::-1],
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 of a header": lambda key: base64.b64encode(f"Bearer {key} !".encode()).decode(),
    "base64 of a piece": lambda key: base64.b64encode(key[7:25].encode()).decode(),
    "base64 in lines": lambda key: "\n".join(
        base64.b64encode(key.encode()).decode()[i : i + 9] for i in range(0, 60, 9)
    ),
    "base64 for URLs": lambda key: base64.urlsafe_b64encode(f"?>?{key}".encode()).decode(),
    "base64 reversed": lambda key: base64.b64encode(key[::-1].encode()).decode(),
    "base64 escaped": lambda key: quote(base64.b64encode(key.encode()).decode()),
    "hexadecimal": lambda key: key.encode().hex(),
    "hexadecimal, capitals": lambda key: key.encode().hex().upper(),
    "URL": lambda key: quote(key, safe=""),
    "every character for a URL": percent,
    "twice for a URL": lambda key: quote(percent(key)),
    "JSON escapes": lambda key: "".join(f"\\u{ord(one):04x}" for one in key),
    "JSON in JSON": lambda key: json.dumps("".join(f"\\u{ord(one):04x}" for one in key)),
    "HTML": lambda key: "".join(f"&#{ord(one)};" for one in key),
    "HTML twice": lambda key: html.escape("".join(f"&#x{ord(one):x};" for one in key)),
    "over lines": lambda key: "\n".join(key[i : i + 5] for i in range(0, len(key), 5)),
    "over lines that are written out": lambda key: "\\n".join(key[i : i + 5] for i in range(0, len(key), 5)),
    "letter by letter": " ".join,
    "with blanks that are not seen": "\u200b".join,
    "with dashes": "-".join,
    "hexadecimal with colons": lambda key: ":".join(f"{ord(one):02x}" for one in key),
    "hexadecimal with dashes": lambda key: "-".join(key.encode().hex()[i : i + 4] for i in range(0, len(key) * 2, 4)),
    "hexadecimal as numbers": lambda key: ", ".join(f"0x{ord(one):02x}" for one in key),
    "hexadecimal reversed": lambda key: key.encode().hex()[::-1],
    "base64 with dashes": lambda key: "-".join(encoded(key)[i : i + 4] for i in range(0, len(encoded(key)), 4)),
    "base64 in quotes": lambda key: '" "'.join(encoded(key)[i : i + 8] for i in range(0, len(encoded(key)), 8)),
    "base64 written backwards": lambda key: encoded(key)[::-1],
    "base64 twice": lambda key: base64.b64encode(encoded(key).encode()).decode(),
    "base64 of UTF-16": lambda key: base64.b64encode(key.encode("utf-16le")).decode(),
    "base32": lambda key: base64.b32encode(key.encode()).decode(),
    "octal": lambda key: "".join(f"\\{ord(one):03o}" for one in key),
    "decimal codes": lambda key: ", ".join(str(ord(one)) for one in key),
    "JavaScript": lambda key: "".join(f"\\u{{{ord(one):x}}}" for one in key),
    "quoted-printable": lambda key: "".join(f"={ord(one):02X}" for one in key),
    "HTML without semicolons": lambda key: "".join(f"&#{ord(one)}" for one in key),
    "full-width": lambda key: "".join(chr(ord(one) + 0xFEE0) for one in key),
    "in quotes": lambda key: "' + '".join(key[i : i + 4] for i in range(0, len(key), 4)),
}


def pieces(key: str, n: int = 8) -> set[str]:
    return {key[i : i + n] for i in range(len(key) - n + 1)}


@pytest.mark.parametrize("key", [LONG_KEY, RANDOM])
@pytest.mark.parametrize("form", FORMS)
def test_key_is_redacted_in_every_form(form: str, key: str) -> None:
    sent = FORMS[form](key)
    shown = without_keys(f"The grade is 3. {sent} It says so.", [key])
    assert shown.startswith("The grade is 3. ") and shown.endswith(" It says so.") and REDACTED in shown
    # The rest holds no run of sent characters long enough to reveal the key.
    left = shown.removeprefix("The grade is 3. ").removesuffix(" It says so.")
    for said in ("Incorrect API key provided: ", ". You can find yours online.", "QmVhcmVyI"):
        left = left.replace(said, "")
    for one in left.split(REDACTED):
        assert len("".join(one.split())) <= 8, left


@given(st.text(max_size=300))
def test_text_without_the_key_is_unchanged(text: str) -> None:
    assert without_keys(text, [RANDOM]) == text


@given(st.text(max_size=50), st.integers(0, 24), st.integers(8, 32), st.text(max_size=50))
def test_every_piece_of_a_key_is_redacted(before: str, begin: int, length: int, after: str) -> None:
    shown = without_keys(before + RANDOM[begin : begin + length] + after, [RANDOM])
    assert not any(piece in shown.lower() for piece in pieces(RANDOM.lower()))


@pytest.mark.parametrize(
    "piece",
    ["a", "%61", LONG_KEY[:7], "\\", RANDOM[:6] + "zz ", RANDOM[:11] + "_", "%25", "&amp;", "bearer ", "\u0301"],
)
def test_key_is_redacted_after_long_text(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    if RANDOM[:8] not in piece:
        assert without_keys(text, [RANDOM]) == text
        assert without_keys(text + RANDOM, [RANDOM]) == text + REDACTED
    left = redact_keys(f"{text} {RANDOM} and {RANDOM[::-1]}", [RANDOM])
    assert RANDOM not in left and RANDOM[::-1] not in left


MIB = 1 << 20


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirect_fails_and_is_not_followed(code: int) -> None:
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
def test_endless_answer_fails_at_the_size_limit(reply: Reply) -> None:
    with EndpointServer(lambda seen: reply) as server:
        grade = only(drive(make(server), pairs(1)))
        until(lambda: server.connections == 0)
    assert grade == Grade(None, "failed", reason=grade.reason) and mentions(str(grade.reason), "1,048,576")
    # The server also filled the buffers of the connection.
    assert server.poured < 16 * MIB and server.counts[prompt(0)] == 1


def test_endless_head_or_trickling_body_fails_and_limit_is_configurable(monkeypatch: pytest.MonkeyPatch) -> None:
    head, trickle = Reply(endless_head=b"x-more: " + b"y" * 8000 + b"\r\n"), Reply(endless=b" ", pause=0.01)
    with EndpointServer(lambda seen: head) as server:
        reasons = [only(drive(make(server, attempts=1), pairs(1))).reason]
        server.behave = lambda seen: trickle
        reasons.append(only(drive(make(server, attempts=1, timeout_s=2), pairs(1))).reason)
    # A failed connection after one attempt, then a timeout of two seconds after one attempt.
    assert [re.findall(r"\d+", str(reason)) for reason in reasons] == [["1"], ["2", "1"]]
    assert server.poured < 16 * MIB
    with EndpointServer(lambda seen: rate(seen, 4)) as server:
        monkeypatch.setenv("EXAM_LIMIT_ENDPOINT_ANSWER", "100")
        assert mentions(str(only(drive(make(server), pairs(1))).reason), "100")
        monkeypatch.setenv("EXAM_LIMIT_ENDPOINT_ANSWER", "100 kB")
        with refusal("invalid-limit", "100 kB", "EXAM_LIMIT_ENDPOINT_ANSWER"):
            drive(make(server), pairs(1))


def test_only_requested_compression_is_read() -> None:
    with EndpointServer(lambda seen: packed(rate(seen, 4).content)) as server:
        assert only(drive(make(server), pairs(1))).rating == 4
        server.behave = lambda seen: packed(b"{}", "br")
        assert only(drive(make(server), pairs(1))) == Grade(None, "failed", reason=UNKNOWN_COMPRESSION)
        server.behave = lambda seen: Reply(content=b"no gzip", headers={"content-encoding": "gzip"})
        assert only(drive(make(server), pairs(1))) == Grade(None, "failed", reason=BROKEN_COMPRESSION)
        assert server.counts[prompt(0)] == 3, "compression errors are not retried"


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "application/json; charset=zlib"},
        {"content-type": "text/html; charset=undefined"},
        {"set-cookie": f"a={KEY}; Max-Age=999999"},
        {"retry-after": KEY},
        {"retry-after": "\xff\xfe", "x-ratelimit-reset": "\xff"},
        {"x-request-id": KEY * 100},
    ],
)
def test_odd_headers_leave_answers_unchanged(headers: dict[str, str], caplog: Any) -> None:
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
def test_implausible_usage_is_capped_or_estimated(usage: object, counted: tuple[int, int]) -> None:
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
def test_wait_from_odd_headers_is_bounded(name: str, value: str) -> None:
    told = requested_wait({name: value}, 1_800_000_000.0)
    assert told is None or 0 <= told <= 300


def test_cost_cap_limits_calls_in_flight_but_is_spent() -> None:
    """Reservations far exceed use, so calls in flight must not end the job with the cap unspent."""
    one = Price(input=0.0, output=1e6 / 64)  # a call reserves 1 and uses 5 / 64
    control = Control(max_cost=4, price=one, concurrency=32)
    with EndpointServer(latency=0.002) as server:
        grades = drive(make(server), pairs(1000), control)
    # The last call started with at least 1 left.
    assert control.exhausted and 3 < control.usage.cost <= 4
    assert len(grades) == server.counts.total() == control.usage.calls
    control = Control(max_cost=1000, price=Price(1.0, 1.0), concurrency=16)
    with EndpointServer(latency=0.05) as server:
        drive(make(server), pairs(60), control)
    assert server.max_in_flight == 16


def test_implausible_usage_stops_the_job_or_uses_up_the_cap() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 1500}
    control = Control(max_cost=10_000, price=Price(output=1e6), concurrency=8)
    with EndpointServer(lambda seen: chat(json.dumps({"rating": 3}), usage=usage), latency=0.005) as server:
        grades = drive(make(server), pairs(500), control)
    assert len(grades) == server.counts.total() == 1 and control.exhausted
    assert mentions(control.overrun, "10") and mentions(control.overrun, "1,500")
    nothing = {"prompt_tokens": 0, "completion_tokens": 0}
    control = Control(max_cost=0.002, price=Price(1.0, 1.0), concurrency=4)
    with EndpointServer(lambda seen: chat(json.dumps({"rating": 3}), usage=nothing)) as server:
        drive(make(server), pairs(1000), control)
    assert control.exhausted and server.counts.total() < 200


def test_schemas_are_turned_off_only_if_an_endpoint_ignores_them() -> None:
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

    def behave(seen: Seen) -> Reply:
        return chat("Rating: 3") if seen.prompt == prompt(0) else rate(seen, 2)

    with EndpointServer(behave) as server:
        grades = drive(make(server), pairs(8), Control(concurrency=1))
    assert [grade.rating for grade in grades.values()][1:] == [2] * 7
    assert [seen.wants_json for seen in server.seen] == [True, False] + [True] * 7
    # This pair was asked again in plain text, and its answer read as plain text.
    assert grades[0].raw == "Rating: 3"


@pytest.mark.parametrize("text", ["I'm sorry, but I can't assist", "Please retry in 5 seconds.", "eh"])
def test_non_answers_keep_schemas_on(text: str) -> None:
    with EndpointServer(lambda seen: chat(text)) as server:
        drive(make(server), pairs(3))
    assert all(seen.wants_json for seen in server.seen) and len(server.seen) == 3


def test_answering_models_are_named_and_excess_names_grouped() -> None:
    def behave(seen: Seen) -> Reply:
        named = ["m", "m-2024-08-06", f"other {KEY}", ["no name"], None]
        return chat(json.dumps({"rating": 1}), model=named[int(seen.prompt[len("Question: q")])])

    control = Control()
    with EndpointServer(behave) as server:
        answers = complete_calls(make(server), [question(i) for i in range(5)], control)
    assert [answer.model for answer in answers] == [None, "m-2024-08-06", "other [key]", None, None]
    assert control.models == {"m": 1, "m-2024-08-06": 1, "other [key]": 1}
    control = Control()
    for i in range(1000):
        control.answered_by(f"model {i}")
    assert len(control.models) == 9 and sum(control.models.values()) == 1000
    assert other_models_note("m", {}) == other_models_note("m", {"m": 3}) == ""
    # The note counts answers of other models, most frequent first, but not of versions.
    version, older = other_models_note("m", {"m-0613": 3}), other_models_note("m-999", {"m": 3, "m-999": 1})
    assert mentions(version, "m-0613") and mentions(version, "m") and re.findall(r"\d+", version) == ["0613"]
    assert mentions(older, "m") and mentions(older, "m-999") and set(re.findall(r"\d+", older)) == {"999"}
    assert "cheap (1,200), m-0613 (2)" in other_models_note("m", {"m": 3, "cheap": 1200, "m-0613": 2})


@pytest.mark.parametrize(
    ("named", "asked", "same"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o", True), ("gpt-4-0613", "gpt-4", True), ("llama3:latest", "llama3", True),
        ("openai/gpt-4o", "gpt-4o", True), ("gpt-4o", "gpt-4o-2024-08-06", True), ("GPT-4o", "gpt-4o", True),
        ("gpt-4o-mini", "gpt-4o", False), ("gpt-4.1", "gpt-4", False), ("gpt-3.5-turbo", "gpt-4o", False),
        ("gpt-4o-mini-2024-07-18", "gpt-4o", False), ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06", False),
    ],
)  # fmt: skip
def test_model_versions_differ_from_other_models(named: str, asked: str, same: bool) -> None:
    assert is_version_of(named, asked) == same


@pytest.mark.parametrize(
    "field",
    ["max_tokens", "MAX_TOKENS", "max_completion_tokens", "n", "best_of", "stream", "models", "temperature", "model",
     "messages", "prompt"],
)  # fmt: skip
def test_reserved_further_field_is_refused_by_name(field: str) -> None:
    with refusal("invalid-further-fields", str(field)):
        EndpointBackEnd("m", "http://127.0.0.1:9/v1", extra={"seed": 1, field: 9})


def test_false_usage_after_a_sound_answer_stops_further_calls() -> None:
    """The first answer reports usage within its reservation; all others report far more."""

    def lies(seen: Seen) -> Reply:
        usage = {"prompt_tokens": 10, "completion_tokens": 5 if seen.prompt == prompt(0) else 100_000}
        return chat(json.dumps({"rating": 3}), usage=usage)

    control = Control(max_cost=100, price=Price(output=1e6 / 64), concurrency=32)
    with EndpointServer(lies, latency=0.05) as server:
        drive(make(server), pairs(500), control)
    assert control.exhausted and control.overrun
    assert server.counts.total() == control.usage.calls <= 5 and server.max_in_flight <= 4


def test_lost_calls_are_charged_and_refused_connections_are_not() -> None:
    control = Control(max_cost=30, price=Price(output=1e6 / 64), concurrency=8)
    with EndpointServer(lambda seen: hang() if seen.prompt in (prompt(0), prompt(3)) else rate(seen, 3)) as server:
        server.latency = 0.05
        drive(make(server, attempts=1, timeout_s=3), pairs(20), control)
    assert server.max_in_flight == 4 and not control.exhausted
    assert control.usage.output_tokens == 2 * 64 + 18 * 5
    control = Control(max_cost=3, price=Price(output=1e6 / 64), concurrency=8)
    with EndpointServer(lambda seen: hang()) as server:
        drive(make(server, attempts=2, timeout_s=1), pairs(20), control)
    assert control.exhausted and control.usage.cost == 3 and server.counts.total() == 3
    control = Control()
    with EndpointServer(lambda seen: torn(rate(seen, 3))) as server:
        end = make(server, attempts=1)
        drive(end, pairs(1), control)
    assert control.usage.output_tokens == 64
    drive(end, pairs(1), control)
    assert control.usage.output_tokens == 64 and control.usage.calls == 2


SECRET = "sk-proj-Zq8vK2mXw7RtYb4NcP1sLd9HfJ6gTe3A"
PIECE = 12


def leaking_replies() -> list[Reply]:
    """Return replies that contain the key in every form, as an answer, a model name, an error and a refusal."""
    replies = []
    for form in FORMS.values():
        # The padding puts the key where a long message is cut.
        leak = "x" * 185 + form(SECRET)
        error = json.dumps({"error": {"message": leak}}).encode()
        replies += [chat(f"Rating: 5. {form(SECRET)}", model=form(SECRET)), chat(None, refusal=leak)]
        replies += [status(400, leak), Reply(content=error)]
    return replies


def signs(text: str) -> list[str]:
    """Return the pieces of the key found in a text, in any encoding."""
    plain = _WRITTEN_OUT.sub(_plain, unquote(unquote(text)))
    squeezed = re.sub(r"[\s\u200b\\'\"+-]|(?<=\\)n", "", plain).lower()
    written = [SECRET, SECRET[::-1], SECRET.encode().hex()]
    for one in (SECRET, SECRET[::-1]):
        written += [base64.b64encode(b"\0" * n + one.encode()).decode()[4:-4] for n in range(3)]
    bare = [re.sub(r"[+-]", "", one).lower() for one in written]
    pieces = {one[at : at + PIECE] for one in bare for at in range(len(one) - PIECE + 1)}
    return sorted(piece for piece in pieces if piece in squeezed)


_WRITTEN_OUT = re.compile(r"\\+u00([0-9a-f]{2})|&(?:amp;)*#(?:x([0-9a-f]+)|([0-9]+));", re.IGNORECASE)


def _plain(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    return chr(int(digits, 16) if digits else int(match[3]))


def texts_of(project: Project) -> Iterator[str]:
    """Yield every text stored in a project."""
    columns = project.rows(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'main'"
        " AND data_type LIKE '%VARCHAR%'"
    )
    for table, column in columns:
        yield from (str(text) for (text,) in project.rows(f'SELECT DISTINCT "{column}" FROM "{table}"') if text)


def contents_of(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield every file below a folder as text, both as stored and decompressed."""
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        raw = path.read_bytes()
        if path.suffix in (".duckdb", ".parquet"):
            # Compressed content is read as a table; this checks the bytes around it.
            assert SECRET.encode() not in raw and all(piece.encode() not in raw for piece in pieces(SECRET, PIECE))
        else:
            yield path, raw.decode("latin-1")
        if path.suffix == ".gz":
            yield path, gzip.decompress(raw).decode()
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path) as packed_files:
                yield from ((path, packed_files.read(name).decode("latin-1")) for name in packed_files.namelist())
        elif path.suffix == ".parquet":
            yield path, str(duckdb.sql(f"FROM '{path}'").fetchall())


@pytest.fixture
def project_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("EXAM_PROJECT", "hostile.duckdb")
    return tmp_path / "hostile.duckdb"


@pytest.mark.long
def test_key_in_replies_gets_into_no_file_log_or_output(
    exam: Exam,  # noqa: F811
    project_path: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    leaking = leaking_replies()
    # The first answers show that the endpoint follows schemas. An endpoint that only fails would end the job.
    sound = chat('{"rating": 3}', model="another-model")
    replies = [sound] * 16 + [reply for leak in leaking for reply in (leak, sound)]
    kept = len(replies) - len(leaking)
    # Judged passages are in the pool at any rank.
    project = new_project(project_path)
    ids = [f"p{i}" for i in range(len(replies))]
    fill(project, [Question("q/a", "q", "What?")], {}, {"sys": {"q": ids}})
    judge(project, {("q", one): 0 for one in ids})
    project.close()
    log = project_path.with_name(f"{project_path.name}.wal")
    logged: list[bytes] = []

    def behave(seen: Seen) -> Reply:
        number = re.search(r"text of p(\d+)", seen.prompt)
        assert number
        if int(number[1]) % 20 == 0 and log.exists():
            # While the job runs, much of its data is only in this log.
            logged.append(log.read_bytes())
        return replies[int(number[1])]

    with EndpointServer(behave) as server:
        ran = exam(
            *("grade", "--grader", "self-rating", "--model", "m", "--base-url", server.url, "--concurrency", "16"),
            *("--set", "attempts=2", "--set", "key_variable=OPENAI_API_KEY"),
        )  # fmt: skip
        assert server.seen[0].headers["authorization"] == f"Bearer {SECRET}"
    assert ran.code == 0, ran.err[-2000:]
    assert any(logged)
    # If the log only grew since the last read, the later copy contains the earlier one.
    logged = [raw for raw, later in itertools.pairwise([*logged, b""]) if not later.startswith(raw)]
    assert [at for at, raw in enumerate(logged) if signs(raw.decode("latin-1"))] == []
    assert f"another-model ({kept})" in ran.err
    printed = [ran.out, ran.err]
    for command in (
        ("failures", "--limit", "5000"), ("failures", "--json", "--limit", "5000"), ("jobs",), ("jobs", "--json"),
        ("activity",), ("status",), ("export", "graded", "-o", "graded.jsonl.gz"), ("export", "bank", "-o", "bank.csv"),
        ("export", "qrels", "-o", "labels.qrels"), ("export", "bundle", "-o", "bundle.zip"),
        ("export", "project", "-o", "parquet"), ("export", "leaderboard", "-o", "board.tsv"),
    ):  # fmt: skip
        shown = exam(*command)
        assert shown.code == 0, (command, shown.err[-2000:])
        printed += [shown.out, shown.err]
    project = open_project(project_path)
    try:
        assert project.rows("SELECT rating FROM grades WHERE note LIKE '%another-model%'") == [(3,)] * kept
        reasons = [reason for (reason,) in project.rows("SELECT reason FROM failures")]
        assert len(reasons) == len(leaking) and all(len(one) < 300 and one.isprintable() for one in reasons)
        held = [text for text in texts_of(project) if signs(text)]
        assert held == []
    finally:
        project.close()
    for text in [*printed, caplog.text]:
        assert signs(text) == []
    assert {path.name for path, text in contents_of(tmp_path) if signs(text)} == set()
