"""The HTTP client for endpoints with limits on answers, and paced requests to one address."""

from __future__ import annotations

import asyncio
import logging
import random
import time
import zlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import openai
import orjson

from ...errors import GradingError, InputError, check_in_range
from ...limits import read_limit
from .._access import checked_host, current_access, is_loopback, key_for
from .redaction import redact_keys
from .retry import (
    LONGEST_HEADER,
    Fetched,
    FetchMethod,
    RequestSettings,
    backoff_seconds,
    is_passing_status,
    requested_wait,
)

CONNECT_SECONDS = 10.0
CHUNK = 1 << 16
GZIP = zlib.MAX_WBITS | 32
"""Makes zlib accept gzip and its own format, which HTTP calls deflate."""
UNKNOWN_COMPRESSION = "the answer has an unsupported compression"
BROKEN_COMPRESSION = "the answer cannot be decompressed"


class UnreadableAnswerError(Exception):
    """An answer that is not read to its end; its text says why."""


class UnsentError(Exception):
    """A request that could not be sent, for a reason without an error class in the library; its
    text says why.
    """


class BoundedClient(openai.DefaultAsyncHttpxClient):
    """A client for one address that reads answers up to a size, follows no redirects, and keeps no
    cookies.

    Args:
        address: the address.
        most: maximum number of bytes of an answer, decompressed.
        key: removed from headers.
        keyed: whether requests carry the key.
        timeout: time limits of each step of a request.
    """

    def __init__(
        self, address: str, most: int, key: str, keyed: bool, timeout: openai.Timeout
    ) -> None:
        is_https = address.lower().startswith("https:")
        super().__init__(
            follow_redirects=False,
            timeout=timeout,
            # A proxy leads out of this computer and cannot reach a local address. It can also read
            # requests to http addresses, with their keys.
            trust_env=not is_loopback(checked_host(address)) and (is_https or not keyed),
            # Loading all certificates of the system takes a tenth of a second, and http needs none.
            verify=is_https,
        )
        self._most = most
        self._key = key
        self.spool: BinaryIO | None = None
        """File for the body of a successful answer, up to `spool_most` bytes; None to keep it in
        memory.
        """
        self.spool_most = most
        # Their log lines repeat texts of an endpoint, such as the reason of a status, before keys
        # are removed.
        for name in ("httpx2", "httpcore2"):
            logging.getLogger(name).setLevel(logging.WARNING)

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request and read its answer.

        Returns:
            The answer with its body, and of its headers only those about the time of the next
            request.

        Raises:
            UnsentError: the request could not be sent.
            UnreadableAnswerError: the answer is too long, or has an unsupported compression.
        """
        request.headers["accept-encoding"] = "gzip"
        try:
            response = await super().send(
                request, **{**options, "stream": True, "follow_redirects": False}
            )
        except (ExceptionGroup, OverflowError, ValueError) as error:
            # For example an invalid proxy address; the text of such an error may contain its
            # password.
            raise UnsentError(type(error).__name__) from None
        try:
            self.cookies.clear()
            if self.spool is not None and response.status_code == 200:
                async for piece in _body_pieces(response, self.spool_most):
                    self.spool.write(piece)
                content = b""
            else:
                content = b"".join([piece async for piece in _body_pieces(response, self._most)])
        finally:
            await response.aclose()
        # Build a new response, because the reader would trust the type and encoding in the original
        # headers.
        headers = {
            name: redact_keys(value, [self._key])
            for name, value in response.headers.items()
            if (name.startswith("retry-after") or "ratelimit" in name)
            # Other characters do not give a time, and could not be put into a header again.
            and len(value) <= LONGEST_HEADER
            and f"{name}{value}".isascii()
        }
        return type(response)(
            response.status_code, headers=headers, content=content, request=request
        )


async def _body_pieces(response: Any, most: int) -> AsyncIterator[bytes]:
    """Yield a body in pieces, decompressed, with at most `most` bytes."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise UnreadableAnswerError(UNKNOWN_COMPRESSION)
    expand = None if encoding in ("", "identity") else zlib.decompressobj(GZIP)
    expanded = received = 0
    async for chunk in response.aiter_raw(CHUNK):
        received += len(chunk)
        try:
            piece = chunk if expand is None else expand.decompress(chunk, most + 1 - expanded)
        except zlib.error:
            raise UnreadableAnswerError(BROKEN_COMPRESSION) from None
        expanded += len(piece)
        # Data after the end of the compressed content adds nothing, but must count for the limit.
        if max(expanded, received) > most:
            raise UnreadableAnswerError(f"the answer is longer than {most:,} bytes")
        yield piece


LONGEST_DETAIL = 200
"""Maximum number of characters of an endpoint's message about an error."""


def fetch_all(
    url: str,
    method: FetchMethod,
    bodies: Sequence[Mapping[str, Any]],
    settings: RequestSettings,
    key_variable: str | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
    came: Callable[[int, Fetched], None] = lambda at, one: None,
) -> list[Fetched]:
    """Make requests to one address and read their answers as JSON.

    A request is repeated after a connection error, or after status 408, 409, 425, 429, or 500 and
    above. The pause is the time that the endpoint names (`Retry-After` and similar), else a growing
    one. After a rate limit, all requests wait.

    Args:
        url: the address.
        method: GET sends a body as the query of the address, POST as JSON.
        bodies: n bodies.
        settings: rate, attempts and time limits.
        key_variable: environment variable with the key, which is sent as a bearer token; None to
            send no key.
        watch: called with the numbers of finished requests and of all requests.
        came: called with each answer and the index of its body as it arrives, so an interrupt loses
            only requests in flight.

    Returns:
        n answers, in the order of the bodies.

    Raises:
        InputError: the address or a number is invalid, or this person may not use addresses of
            their own.
        GradingError: the key is missing.
    """
    access = current_access()
    if not access.any_address:
        raise InputError(
            "addresses-not-allowed",
            "Visitors of this server cannot query addresses of their own.",
            "Use the shell: exam snapshots add.",
        )
    checked_host(url)
    check_in_range(
        "parameter-out-of-range",
        "A parameter of the target",
        "Use numbers above 0 for concurrency, attempts, rate and timeout.",
        settings.concurrency >= 1
        and settings.attempts >= 1
        and settings.timeout_s > 0
        and (settings.rate is None or settings.rate > 0),
    )
    key = ""
    if key_variable:
        host_key = key_for(url, None, key_variable, access)
        if host_key.key is None:
            raise GradingError(
                "key-not-set",
                f"No key: {key_variable} is not set.",
                f"Set {key_variable} in the environment.",
            )
        key = host_key.key
    requests = _Requests(url, method, settings, key, watch, came)
    return asyncio.run(requests.fetch_all(bodies))


@dataclass
class _Requests:
    """Requests to one address in progress; for the arguments see `fetch_all`."""

    url: str
    method: FetchMethod
    settings: RequestSettings
    key: str
    watch: Callable[[int, int], None]
    came: Callable[[int, Fetched], None]
    closed_until: float = 0.0
    next_start: float = 0.0
    done: int = 0

    async def fetch_all(self, bodies: Sequence[Mapping[str, Any]]) -> list[Fetched]:
        """Make the requests; return the answers in the order of the bodies."""
        slots = asyncio.Semaphore(self.settings.concurrency)
        timeout = openai.Timeout(
            self.settings.timeout_s, connect=min(CONNECT_SECONDS, self.settings.timeout_s)
        )
        async with BoundedClient(
            self.url, read_limit("ENDPOINT_ANSWER"), self.key, bool(self.key), timeout
        ) as client:

            async def fetch_body(at: int, body: Mapping[str, Any]) -> Fetched:
                async with slots:
                    fetched = await self._fetch(client, body)
                self.came(at, fetched)
                self.done += 1
                self.watch(self.done, len(bodies))
                return fetched

            return list(
                await asyncio.gather(*(fetch_body(at, body) for at, body in enumerate(bodies)))
            )

    async def _fetch(self, client: BoundedClient, body: Mapping[str, Any]) -> Fetched:
        for attempt in range(1, self.settings.attempts + 1):
            await self._wait_for_turn()
            begun = time.monotonic()
            value, reason, wait = await self._try_once(client, body)
            seconds = time.monotonic() - begun
            if reason == "" or wait is None:
                return Fetched(value, reason or None, attempt, seconds)
            if attempt < self.settings.attempts:
                await asyncio.sleep(
                    wait if wait >= 0 else backoff_seconds(attempt, random.random())
                )
        return Fetched(None, reason, self.settings.attempts, seconds)

    async def _wait_for_turn(self) -> None:
        """Wait until the rate and the endpoint allow another request."""
        while (pause := max(self.closed_until, self.next_start) - time.monotonic()) > 0:
            await asyncio.sleep(pause)
        if self.settings.rate is not None:
            self.next_start = max(time.monotonic(), self.next_start) + 1 / self.settings.rate

    async def _try_once(
        self, client: BoundedClient, body: Mapping[str, Any]
    ) -> tuple[Any, str, float | None]:
        """Return the value, the reason of a failure, and the seconds until another attempt: -1 if
        unknown, None for never."""
        headers = {"accept": "application/json"} | (
            {"authorization": f"Bearer {self.key}"} if self.key else {}
        )
        query, content = (dict(body), None) if self.method == "GET" else (None, dict(body))
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                response = await client.request(
                    self.method, self.url, headers=headers, params=query, json=content
                )
        except TimeoutError:
            return None, f"no answer within {self.settings.timeout_s:g} s", -1.0
        except UnreadableAnswerError as error:
            return None, str(error), None
        except UnsentError as error:
            return None, f"the connection failed ({error})", -1.0
        except Exception as error:
            # The library's connection errors have no documented common base class; any of them may
            # be temporary.
            return (
                None,
                redact_keys(f"the connection failed ({type(error).__name__})", [self.key]),
                -1.0,
            )
        status = response.status_code
        if status != 200:
            detail = " ".join(redact_keys(response.text, [self.key]).split())[:LONGEST_DETAIL]
            reason = f"HTTP {status}" + (f": {detail}" if detail else "")
            if not is_passing_status(status):
                return None, reason, None
            wait = requested_wait(response.headers, time.time())
            if wait is not None and status in (429, 503):
                self.closed_until = max(self.closed_until, time.monotonic() + wait)
            return None, reason, -1.0 if wait is None else wait
        try:
            return orjson.loads(response.content), "", None
        except orjson.JSONDecodeError:
            return None, "the answer is not JSON", -1.0
