"""A local server of chat and plain completions with scripted behaviour and faults.

In a test:

    with EndpointServer(lambda seen: status(500) if seen.attempt == 1 else rate(4)) as server:
        back_end = EndpointBackEnd("m", server.url)

As a separate process, which survives a kill of its client:

    python -m tests.made.endpoint_server --port-file F [--latency 0.2]
"""

import argparse
import asyncio
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
    """A request: the text of the user (or to complete), the attempt with this text (from 1),
    fields, headers and path.
    """

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
    """The response to a request.

    Args:
        status: HTTP status.
        content: the raw body.
        headers: more headers.
        delay: seconds before the response.
        hang: whether it never responds.
        torn: whether the connection closes in the middle of the body.
        endless: bytes repeated after the content until the client closes; empty for none.
        pause: seconds before each repetition.
        endless_head: bytes repeated within the head, which then never ends.
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
    """Return a chat completion with any content, even one of a wrong type.

    Args:
        usage: whether it reports usage, or the reported value.
        model: the reported model; None reports no model.
    """
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
        ],
    }
    if model is not None:
        body["model"] = model
    if usage:
        usual = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        body["usage"] = usual if usage is True else usage
    return Reply(content=json.dumps(body).encode())


def going_on(text: object, finish: str = "stop") -> Reply:
    """Return a plain completion."""
    choice = {"index": 0, "text": text, "finish_reason": finish, "logprobs": None}
    body = {"id": "cmpl-1", "object": "text_completion", "created": 1, "choices": [choice]}
    return Reply(content=json.dumps(body).encode())


def rate(seen: Seen, rating: int) -> Reply:
    """Return a rating, in JSON if the request asks for it."""
    if seen.path.endswith("/v1/completions"):
        return going_on(f" {rating}")
    return chat(json.dumps({"rating": rating}) if seen.wants_json else str(rating), model=seen.body["model"])


def refuse() -> Reply:
    """Return a refusal in OpenAI's format."""
    return chat(None, refusal="I cannot help with that.")


def status(http: int, message: str = "the server is unwell", **error: object) -> Reply:
    """Return an error in OpenAI's format."""
    return Reply(http, json.dumps({"error": {"message": message, "type": "error", **error}}).encode())


def too_many(**headers: object) -> Reply:
    """Return status 429 with headers such as retry_after=2 or retry_after_ms=300."""
    names = {name.replace("_", "-"): str(value) for name, value in headers.items()}
    return replace(status(429, "slow down"), headers=names)


def retry_at(moment: float) -> Reply:
    """Return status 429 with a date (seconds since 1970)."""
    return too_many(retry_after=formatdate(moment, usegmt=True))


def no_structure() -> Reply:
    """Return the error of an endpoint without structured output for response_format."""
    return status(400, "response_format of type json_schema is not supported by this model", param="response_format")


def page(code: int = 200) -> Reply:
    """Return a web page instead of a completion."""
    return Reply(code, b"<!DOCTYPE html><html><body>Bad gateway</body></html>", {"content-type": "text/html"})


def leading_to(url: str, code: int = 307) -> Reply:
    return Reply(code, b"", {"location": url})


def packed(content: bytes, encoding: str = "gzip") -> Reply:
    """Return a gzip body that claims a content encoding."""
    return Reply(content=gzip.compress(content), headers={"content-encoding": encoding})


def hang() -> Reply:
    return Reply(hang=True)


def torn(reply: Reply) -> Reply:
    """Return the same reply, but close the connection in the middle of the body."""
    return replace(reply, torn=True)


def digit(prompt: str) -> int:
    """Return a rating from 0 to 5 that depends only on the prompt."""
    return hashlib.sha256(prompt.encode()).digest()[0] % 6


def well(seen: Seen) -> Reply:
    return rate(seen, digit(seen.prompt))


def moody(seen: Seen) -> Reply:
    """Fail once or twice for two prompts in three, in a way that depends on the prompt, then rate it."""
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
    """The server, in a thread of its own; a context manager that stops it and leaves nothing open.

    Args:
        behave: decides the response to each request.
        latency: seconds before every response.
        clock: clock of `Seen.at`.
        port: port to listen on; 0 for a free one.

    Attributes:
        seen: the requests in order of arrival.
        counts: number of requests by prompt.
        in_flight, max_in_flight: numbers of requests without a response yet.
        poured: number of bytes sent of endless content.
        shelf: its files and batches.
    """

    def __init__(
        self, behave: Behaviour = well, latency: float = 0.0, clock: Callable[[], float] = time.monotonic, port: int = 0
    ) -> None:
        self.behave = behave
        self.latency = latency
        self.seen: list[Seen] = []
        self.counts: Counter[str] = Counter()
        self.in_flight = self.max_in_flight = self.poured = 0
        self.port = port
        self.shelf = Shelf(self._answer_line)
        self._clock = clock
        self._ready = threading.Event()
        self._handlers: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="endpoint server", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def connections(self) -> int:
        """Number of open connections."""
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
            # The client closed the connection, or the server stops.
            pass
        finally:
            writer.close()
            self._handlers.discard(task)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Handle one request; return whether the connection stays open."""
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
        """Answer a call of a batch like a single request."""
        prompt = _words(body)
        self.counts[prompt] += 1
        reply = self.behave(Seen(prompt, self.counts[prompt], body, {}, self._clock(), path))
        return reply.status, reply.content

    async def _pour(self, piece: bytes, pause: float, writer: asyncio.StreamWriter) -> None:
        """Send bytes without end; raises OSError once the client is gone."""
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
    """Return the text of the user, or the text to complete."""
    if "prompt" in body:
        return str(body["prompt"])
    return str(next(message["content"] for message in reversed(body["messages"]) if message["role"] == "user"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.made.endpoint_server")
    parser.add_argument("--port-file", type=Path, required=True, help="gets the port once the server listens")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every answer")
    options = parser.parse_args()
    with EndpointServer(latency=options.latency) as server:
        partial = options.port_file.with_name(options.port_file.name + ".partial")
        partial.write_text(str(server.port))
        os.replace(partial, options.port_file)
        # It ends by itself if its client is killed.
        threading.Event().wait(600)


if __name__ == "__main__":
    main()
