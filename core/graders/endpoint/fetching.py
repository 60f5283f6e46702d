"""Asking any HTTP endpoint for JSON, many times: paced, retried, bounded, and never led elsewhere."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import openai
import orjson

from core.errors import GradingError, InputError
from core.graders.access.access import current, key_for
from core.graders.access.addresses import checked_host, is_loopback
from core.graders.endpoint.ask import CONNECT_SECONDS
from core.graders.endpoint.http import BoundedClient, UnreadableAnswerError, UnsentError
from core.graders.endpoint.redaction import redact
from core.graders.endpoint.retry import backoff, told_wait
from core.limits import limit

Method = Literal["GET", "POST"]
LONGEST_DETAIL = 200
"""Characters of what an endpoint says of a fault."""


@dataclass(frozen=True)
class Manners:
    """How an endpoint is asked.

    Args:
        concurrency: requests in flight at most.
        rate: requests a second at most; None for no limit of one's own.
        attempts: times that a request is made before it is given up.
        timeout_s: seconds for one request at most.
    """

    concurrency: int = 4
    rate: float | None = None
    attempts: int = 5
    timeout_s: float = 30.0


@dataclass(frozen=True)
class Fetched:
    """What came of one request.

    Args:
        value: the JSON value; None where it failed.
        reason: why it failed; None where it did not.
        attempts: how often it was made.
        seconds: from the first byte sent to the last one read, of the last attempt.
    """

    value: Any
    reason: str | None
    attempts: int
    seconds: float


def fetch_all(
    url: str,
    method: Method,
    bodies: Sequence[Mapping[str, Any]],
    manners: Manners,
    key_variable: str | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
    stopped: Callable[[], bool] = lambda: False,
) -> list[Fetched]:
    """Make requests to one address and read their answers as JSON.

    A request is made again after a fault of the connection, status 408, 409, 425, 429 or from 500, after the time that
    the endpoint names (`Retry-After` and its kin), else after a growing one; a refusal for the rate lets all wait.

    Args:
        url: the address.
        method: what goes to it: GET sends a body as the query of the address, POST as JSON.
        bodies: n bodies.
        manners: how fast, how often, how long.
        key_variable: variable of the environment with the key, which goes as a bearer token; None to send none.
        watch: is told how many came back, out of how many.
        stopped: whether no further request is to be made; what was not asked has failed.

    Returns:
        n answers, in the order of the bodies.

    Raises:
        InputError: the address or a number cannot be used, or this person may not ask addresses of their own.
        GradingError: there is no key.
    """
    access = current()
    if not access.any_address:
        raise InputError(
            "This server asks no address that its visitors name.",
            "Ask it at the shell: exam target freeze.",
        )
    host = checked_host(url)
    sound = manners.concurrency >= 1 and manners.attempts >= 1 and manners.timeout_s > 0
    if not sound or (manners.rate is not None and manners.rate <= 0):
        raise InputError("A number of the target is out of range.", "Concurrency, attempts, rate and time are above 0.")
    key = ""
    if key_variable:
        found = key_for(url, None, key_variable, access)
        if found.key is None:
            raise GradingError(f"There is no key: {key_variable} is not set.", "Set it in the environment.")
        key = found.key
    fetching = _Fetching(url, method, manners, key, is_loopback(host), watch, stopped)
    return asyncio.run(fetching.all(bodies))


@dataclass
class _Fetching:
    url: str
    method: Method
    manners: Manners
    key: str
    on_this_computer: bool
    watch: Callable[[int, int], None]
    stopped: Callable[[], bool]
    closed_until: float = 0.0
    next_start: float = 0.0
    done: int = 0

    async def all(self, bodies: Sequence[Mapping[str, Any]]) -> list[Fetched]:
        slots = asyncio.Semaphore(self.manners.concurrency)
        timeout = openai.Timeout(self.manners.timeout_s, connect=min(CONNECT_SECONDS, self.manners.timeout_s))
        # As for models: no proxy leads to this computer, and none reads a key.
        proxied = not self.on_this_computer and (not self.key or self.url.lower().startswith("https:"))
        async with BoundedClient(limit("ENDPOINT_ANSWER"), self.key, timeout=timeout, trust_env=proxied) as client:

            async def one(body: Mapping[str, Any]) -> Fetched:
                async with slots:
                    found = await self._fetch(client, body)
                self.done += 1
                self.watch(self.done, len(bodies))
                return found

            return list(await asyncio.gather(*map(one, bodies)))

    async def _fetch(self, client: BoundedClient, body: Mapping[str, Any]) -> Fetched:
        reason, seconds = "not asked, as it was stopped", 0.0
        for attempt in range(1, self.manners.attempts + 1):
            await self._turn()
            if self.stopped():
                return Fetched(None, reason, attempt - 1, seconds)
            begun = time.monotonic()
            value, reason, wait = await self._once(client, body)
            seconds = time.monotonic() - begun
            if reason == "" or wait is None:
                return Fetched(value, reason or None, attempt, seconds)
            if attempt < self.manners.attempts:
                pause = wait if wait >= 0 else backoff(attempt, random.random())
                await asyncio.sleep(pause)
        return Fetched(None, reason, self.manners.attempts, seconds)

    async def _turn(self) -> None:
        """Wait until the rate and the endpoint allow another request."""
        while (pause := max(self.closed_until, self.next_start) - time.monotonic()) > 0:
            await asyncio.sleep(pause)
        if self.manners.rate is not None:
            self.next_start = max(time.monotonic(), self.next_start) + 1 / self.manners.rate

    async def _once(self, client: BoundedClient, body: Mapping[str, Any]) -> tuple[Any, str, float | None]:
        """The value, why there is none, and how long to wait before another attempt: -1 for nobody says, None for
        never."""
        headers = {"accept": "application/json"} | ({"authorization": f"Bearer {self.key}"} if self.key else {})
        query, content = (dict(body), None) if self.method == "GET" else (None, dict(body))
        try:
            async with asyncio.timeout(self.manners.timeout_s):
                response = await client.request(self.method, self.url, headers=headers, params=query, json=content)
        except TimeoutError:
            return None, f"no answer within {self.manners.timeout_s:g} s", -1.0
        except UnreadableAnswerError as error:
            return None, str(error), None
        except UnsentError as error:
            return None, f"the connection failed ({error})", -1.0
        except Exception as error:
            # The library's own errors of a connection have no common ancestor that it names; any of them may pass.
            return None, redact(f"the connection failed ({type(error).__name__})", [self.key]), -1.0
        status = response.status_code
        if status != 200:
            detail = " ".join(redact(response.text, [self.key]).split())[:LONGEST_DETAIL]
            reason = f"HTTP {status}" + (f": {detail}" if detail else "")
            if status not in (408, 409, 425, 429) and status < 500:
                return None, reason, None
            wait = told_wait(response.headers, time.time())
            if wait is not None and status in (429, 503):
                self.closed_until = max(self.closed_until, time.monotonic() + wait)
            return None, reason, -1.0 if wait is None else wait
        try:
            return orjson.loads(response.content), "", None
        except orjson.JSONDecodeError:
            return None, "the answer is no JSON", -1.0
