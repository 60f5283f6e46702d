"""A server of chat and plain completions on this computer that behaves, or misbehaves, as a script says.

In a test:

    with EndpointServer(lambda seen: status(500) if seen.attempt == 1 else rate(4)) as server:
        back_end = EndpointBackEnd("m", server.url)

As a process of its own, so that it outlives what is killed:

    python -m tests.made.endpoint_server --port-file F [--log F] [--latency 0.2] [--faults] [--lifetime 600]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import hashlib
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from pathlib import Path
from typing import Any, Self

from tests.made.batch_server import Shelf


@dataclass(frozen=True)
class Seen:
    """A request: the user's words (or the text to go on from), which attempt for these words it is (from 1), all its
    fields, its headers, the path that it came to."""

    prompt: str
    attempt: int
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    at: float = 0.0
    path: str = ""

    @property
    def wants_json(self) -> bool:
        return "response_format" in self.body


@dataclass(frozen=True)
class Reply:
    """What the server does with a request.

    Args:
        status: HTTP status.
        content: the body as it is.
        headers: further headers.
        delay: seconds before it answers.
        hang: whether it never answers.
        torn: whether the connection closes in the middle of the body.
        endless: comes after the content again and again, until the other side goes away; nothing for empty.
        pause: seconds before each time.
        endless_head: likewise within the head, which then never ends.
    """

    status: int = 200
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hang: bool = False
    torn: bool = False
    endless: bytes = b""
    pause: float = 0.0
    endless_head: bytes = b""


Behaviour = Callable[[Seen], Reply]


def chat(content: object, finish: str = "stop", usage: object = True, model: object = None, **message: object) -> Reply:
    """A chat completion with any content, also one of a wrong type.

    Args:
        usage: whether it reports its usage, or what it reports.
        model: the model that it says it is from; says none for None.
    """
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": finish,
            }
        ],
    }
    if model is not None:
        body["model"] = model
    if usage:
        usual = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        body["usage"] = usual if usage is True else usage
    return Reply(content=json.dumps(body).encode())


def going_on(text: object, finish: str = "stop") -> Reply:
    """A plain completion."""
    choice = {"index": 0, "text": text, "finish_reason": finish, "logprobs": None}
    body = {"id": "cmpl-1", "object": "text_completion", "created": 1, "choices": [choice]}
    return Reply(content=json.dumps(body).encode())


def rate(seen: Seen, rating: int) -> Reply:
    """A rating, in JSON where the request asks for that."""
    if seen.path.endswith("/v1/completions"):
        return going_on(f" {rating}")
    return chat(json.dumps({"rating": rating}) if seen.wants_json else str(rating), model=seen.body["model"])


def refuse() -> Reply:
    """A refusal, as OpenAI writes it."""
    return chat(None, refusal="I cannot help with that.")


def status(http: int, message: str = "the server is unwell", **error: object) -> Reply:
    """An error in OpenAI's form."""
    return Reply(http, json.dumps({"error": {"message": message, "type": "error", **error}}).encode())


def too_many(**headers: object) -> Reply:
    """429, with headers such as retry_after=2 or retry_after_ms=300."""
    names = {name.replace("_", "-"): str(value) for name, value in headers.items()}
    return replace(status(429, "slow down"), headers=names)


def retry_at(moment: float) -> Reply:
    """429 with a date (seconds since 1970)."""
    return too_many(retry_after=formatdate(moment, usegmt=True))


def no_structure() -> Reply:
    """What an endpoint without structured output says to response_format."""
    return status(400, "response_format of type json_schema is not supported by this model", param="response_format")


def page(code: int = 200) -> Reply:
    """A web page in the place of an answer."""
    return Reply(code, b"<!DOCTYPE html><html><body>Bad gateway</body></html>", {"content-type": "text/html"})


def leading_to(url: str, code: int = 307) -> Reply:
    """A redirect."""
    return Reply(code, b"", {"location": url})


def packed(content: bytes, encoding: str = "gzip") -> Reply:
    """A body that is compressed, or says so."""
    return Reply(content=gzip.compress(content), headers={"content-encoding": encoding})


def hang() -> Reply:
    """No answer at all, ever."""
    return Reply(hang=True)


def torn(reply: Reply) -> Reply:
    """The same, but the connection closes in the middle of the body."""
    return replace(reply, torn=True)


def digit(prompt: str) -> int:
    """A rating from 0 to 5 that depends on the prompt alone."""
    return hashlib.sha256(prompt.encode()).digest()[0] % 6


def well(seen: Seen) -> Reply:
    """Rate every prompt with its digit."""
    return rate(seen, digit(seen.prompt))


def moody(seen: Seen) -> Reply:
    """Misbehave once or twice for two prompts in three, in a way that depends on the prompt, then rate it."""
    mood = hashlib.sha256(seen.prompt.encode()).digest()[1] % 12
    if seen.attempt > 1 + (mood == 7):
        return well(seen)
    moods = (
        too_many(retry_after_ms=50),
        status(500),
        status(503),
        torn(well(seen)),
        page(),
        chat(["wrong", "type"]),
        Reply(content=b'{"choices": []}'),
        status(502),
    )
    return moods[mood] if mood < len(moods) else well(seen)


class EndpointServer:
    """The server, in a thread of its own; as a context manager it stops at the end and leaves nothing open.

    Args:
        behave: what to do with each request.
        latency: seconds before every answer.
        log: file that gets a JSON line for every prompt that is answered with 200, before it is sent.
        clock: what `Seen.at` is measured by.
        port: to listen at; a free one for 0.

    Attributes:
        seen: the requests in the order in which they came.
        counts: requests by prompt.
        in_flight, max_in_flight: requests read and not yet answered.
        poured: bytes that were sent of what has no end.
        shelf: its files and batches.
    """

    def __init__(
        self,
        behave: Behaviour = well,
        latency: float = 0.0,
        log: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        port: int = 0,
    ) -> None:
        self.behave = behave
        self.latency = latency
        self.seen: list[Seen] = []
        self.counts: Counter[str] = Counter()
        self.in_flight = self.max_in_flight = self.poured = 0
        self.port = port
        self.shelf = Shelf(self._answer_line)
        self._log_file = log
        self._clock = clock
        self._ready = threading.Event()
        self._handlers: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="endpoint server", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def connections(self) -> int:
        """Connections that are open."""
        return len(self._handlers)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(30):
            raise RuntimeError("the server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for handler in self._handlers:
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        try:
            while await self._handle(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # The other side went away, or the server stops: either way the connection is over.
            pass
        finally:
            writer.close()
            self._handlers.discard(task)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.split("\r\n")
        headers = {
            name.lower(): value.strip() for name, colon, value in (line.partition(":") for line in lines[1:]) if colon
        }
        content = await self._content(headers, reader)
        method, target = lines[0].split(" ")[:2]
        if (done := self.shelf.handle(method, target, headers, content)) is not None:
            self._write(Reply(done[0], done[1]), done[1], writer)
            await writer.drain()
            return True
        body = json.loads(content)
        prompt = _words(body)
        self.counts[prompt] += 1
        seen = Seen(prompt, self.counts[prompt], body, headers, self._clock(), target)
        self.seen.append(seen)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            return await self._reply(seen, reader, writer)
        finally:
            self.in_flight -= 1

    async def _reply(self, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        reply = self.behave(seen)
        if reply.hang:
            await reader.read()
            return False
        if delay := reply.delay + self.latency:
            await asyncio.sleep(delay)
        if self._log_file is not None and reply.status == 200 and not reply.torn:
            with self._log_file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"prompt": seen.prompt, "attempt": seen.attempt}) + "\n")
        content = reply.content[: len(reply.content) // 2] if reply.torn else reply.content
        if reply.endless_head:
            writer.write(_head(reply))
            await self._pour(reply.endless_head, reply.pause, writer)
        self._write(reply, content, writer)
        await writer.drain()
        if reply.endless:
            await self._pour(reply.endless, reply.pause, writer)
        return not reply.torn

    def _write(self, reply: Reply, content: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(_head(reply) + b"\r\n" + content)

    async def _content(self, headers: Mapping[str, str], reader: asyncio.StreamReader) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return await reader.readexactly(int(headers.get("content-length", 0)))
        pieces = []
        while size := int((await reader.readline()).strip(), 16):
            pieces.append((await reader.readexactly(size + 2))[:-2])
        await reader.readline()
        return b"".join(pieces)

    def _answer_line(self, body: Mapping[str, Any], path: str) -> tuple[int, bytes]:
        """Answer a call of a batch as one that comes alone."""
        prompt = _words(body)
        self.counts[prompt] += 1
        reply = self.behave(Seen(prompt, self.counts[prompt], body, {}, self._clock(), path))
        return reply.status, reply.content

    async def _pour(self, piece: bytes, pause: float, writer: asyncio.StreamWriter) -> None:
        """Send the same for ever; it ends with an OSError once the other side is gone."""
        while True:
            writer.write(piece)
            self.poured += len(piece)
            await writer.drain()
            await asyncio.sleep(pause)


def _head(reply: Reply) -> bytes:
    length = {"content-length": str(len(reply.content))} if not reply.endless else {}
    fields = {"content-type": "application/json", **length, **reply.headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {reply.status} X\r\n{head}".encode("latin-1")


def _words(body: Mapping[str, Any]) -> str:
    """What the user says, or the text to go on from."""
    if "prompt" in body:
        return str(body["prompt"])
    return str(next(message["content"] for message in reversed(body["messages"]) if message["role"] == "user"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.made.endpoint_server")
    parser.add_argument("--port-file", type=Path, required=True, help="gets the port once the server listens")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, help="gets a JSON line for every prompt answered")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every answer")
    parser.add_argument("--faults", action="store_true", help="misbehave before answering")
    parser.add_argument("--lifetime", type=float, default=600.0, help="seconds after which it ends by itself")
    options = parser.parse_args()
    with EndpointServer(moody if options.faults else well, options.latency, options.log, port=options.port) as server:
        partial = options.port_file.with_name(options.port_file.name + ".partial")
        partial.write_text(str(server.port))
        os.replace(partial, options.port_file)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait(options.lifetime)


if __name__ == "__main__":
    main()
