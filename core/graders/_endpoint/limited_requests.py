"""Requests to one address, with limits of concurrency and rate, repeated after temporary errors."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import openai
import orjson

from ...limits import limit
from .fetching import Fetched, FetchMethod, Manners
from .http_client import BoundedClient, UnreadableAnswerError, UnsentError
from .redaction import redact
from .retry import backoff, passes, told_wait
from .single_call import CONNECT_SECONDS

LONGEST_DETAIL = 200
"""Maximum number of characters of an endpoint's message about an error."""


@dataclass
class Requests:
    """Requests to one address in progress; for the arguments see `fetch_all`."""

    url: str
    method: FetchMethod
    manners: Manners
    key: str
    on_this_computer: bool
    watch: Callable[[int, int], None]
    came: Callable[[int, Fetched], None]
    closed_until: float = 0.0
    next_start: float = 0.0
    done: int = 0

    async def all(self, bodies: Sequence[Mapping[str, Any]]) -> list[Fetched]:
        """Make the requests; return the answers in the order of the bodies."""
        slots = asyncio.Semaphore(self.manners.concurrency)
        timeout = openai.Timeout(self.manners.timeout_s, connect=min(CONNECT_SECONDS, self.manners.timeout_s))
        # As for models: a proxy cannot reach this computer, and must not read a key.
        proxied = not self.on_this_computer and (not self.key or self.url.lower().startswith("https:"))
        async with BoundedClient(limit("ENDPOINT_ANSWER"), self.key, timeout=timeout, trust_env=proxied) as client:

            async def one(at: int, body: Mapping[str, Any]) -> Fetched:
                async with slots:
                    found = await self._fetch(client, body)
                self.came(at, found)
                self.done += 1
                self.watch(self.done, len(bodies))
                return found

            return list(await asyncio.gather(*(one(at, body) for at, body in enumerate(bodies))))

    async def _fetch(self, client: BoundedClient, body: Mapping[str, Any]) -> Fetched:
        for attempt in range(1, self.manners.attempts + 1):
            await self._turn()
            begun = time.monotonic()
            value, reason, wait = await self._once(client, body)
            seconds = time.monotonic() - begun
            if reason == "" or wait is None:
                return Fetched(value, reason or None, attempt, seconds)
            if attempt < self.manners.attempts:
                await asyncio.sleep(wait if wait >= 0 else backoff(attempt, random.random()))
        return Fetched(None, reason, self.manners.attempts, seconds)

    async def _turn(self) -> None:
        """Wait until the rate and the endpoint allow another request."""
        while (pause := max(self.closed_until, self.next_start) - time.monotonic()) > 0:
            await asyncio.sleep(pause)
        if self.manners.rate is not None:
            self.next_start = max(time.monotonic(), self.next_start) + 1 / self.manners.rate

    async def _once(self, client: BoundedClient, body: Mapping[str, Any]) -> tuple[Any, str, float | None]:
        """Return the value, the reason of a failure, and the seconds until another attempt: -1 if unknown, None for
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
            # The library's connection errors have no documented common base class; any of them may be temporary.
            return None, redact(f"the connection failed ({type(error).__name__})", [self.key]), -1.0
        status = response.status_code
        if status != 200:
            detail = " ".join(redact(response.text, [self.key]).split())[:LONGEST_DETAIL]
            reason = f"HTTP {status}" + (f": {detail}" if detail else "")
            if not passes(status):
                return None, reason, None
            wait = told_wait(response.headers, time.time())
            if wait is not None and status in (429, 503):
                self.closed_until = max(self.closed_until, time.monotonic() + wait)
            return None, reason, -1.0 if wait is None else wait
        try:
            return orjson.loads(response.content), "", None
        except orjson.JSONDecodeError:
            return None, "the answer is not JSON", -1.0
