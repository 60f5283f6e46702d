"""Settings and results of requests to any HTTP endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

FetchMethod = Literal["GET", "POST"]


@dataclass(frozen=True)
class Manners:
    """Settings of requests to an endpoint.

    Args:
        concurrency: most requests in flight.
        rate: most requests per second; None for no limit.
        attempts: most attempts of a request.
        timeout_s: time limit of a request in seconds.
    """

    concurrency: int = 4
    rate: float | None = None
    attempts: int = 5
    timeout_s: float = 30.0


@dataclass(frozen=True)
class Fetched:
    """Result of one request.

    Args:
        value: the JSON value; None after a failure.
        reason: why it failed; None after success.
        attempts: number of attempts.
        seconds: duration of the last attempt, from the first byte sent to the last one read.
    """

    value: Any
    reason: str | None
    attempts: int
    seconds: float
