"""How any HTTP endpoint is asked, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

FetchMethod = Literal["GET", "POST"]


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
