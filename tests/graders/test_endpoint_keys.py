"""Keys and proxies of an endpoint: where a key is found, where it goes, and that it shows nowhere."""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import suppress
from typing import Any

import pytest

from exam_workbench.errors import GradingError, InputError
from exam_workbench.graders import Control, _access as access, extend_access, use_access
from exam_workbench.graders._endpoint.endpoint_back_end import EndpointBackEnd
from exam_workbench.graders._endpoint.redaction import redact_keys
from tests.made.endpoint_calls import (
    KEY,
    drive,
    key,
    make,
    nothing_is_left_running,
    only,
    pairs,
    prompt,
)
from tests.made.endpoint_server import (
    EndpointServer,
    Reply,
    Seen,
    chat,
    digit,
    rate,
    status,
)
from tests.made.refusals import refusal

__all__ = ["key", "nothing_is_left_running"]


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
    with use_access(extend_access("https://example.invalid/v1", "OTHER_KEY")):
        named = EndpointBackEnd("m", "https://example.invalid/v1", "OTHER_KEY")
    with refusal("key-not-set", "OTHER_KEY", kind=GradingError):
        drive(named, pairs(1))


def test_a_key_that_cannot_be_sent_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-broken\nkey")
    with EndpointServer() as server, pytest.raises(GradingError) as caught:
        drive(make(server), pairs(1))
    assert "OPENAI_API_KEY" in str(caught.value) and "broken" not in str(caught.value)


def test_keys_are_found_in_the_environment_first_and_then_in_the_registered_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access, "_secrets", access._secrets)
    assert access.find_key("NOT_THERE") is None
    access.provide_keys({"NOT_THERE": " from secrets\n", "OPENAI_API_KEY": "shadowed"}.get)
    assert access.find_key("NOT_THERE") == "from secrets"
    assert access.find_key("OPENAI_API_KEY") == KEY


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
    assert redact_keys(text, [KEY, ""]) == shown


def test_a_proxy_of_the_environment_is_not_used_for_this_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with EndpointServer() as server:
        assert only(drive(make(server, attempts=1), pairs(1))).rating == digit(prompt(0))


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
def test_what_a_proxy_of_the_environment_is_does_not_show_in_a_message(
    monkeypatch: pytest.MonkeyPatch, proxy: str, caplog: pytest.LogCaptureFixture
) -> None:
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
