"""Settings, states and results of requests to any HTTP endpoint, and of batches at a model endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ...errors import GradingError

FetchMethod = Literal["GET", "POST"]


@dataclass(frozen=True)
class Manners:
    """Settings of requests to an endpoint.

    Args:
        concurrency: maximum number of requests in flight.
        rate: maximum requests per second; None for no limit.
        attempts: maximum number of attempts of a request.
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


MOST_CALLS = 50_000
MOST_BYTES = 200_000_000
"""Limits of a batch's file (OpenAI, API reference, Batch: "up to 50,000 requests, and can be up to 200 MB in size")."""


class PassingError(GradingError):
    """An operation at the endpoint failed, or its result is unknown; it may succeed later.

    Args:
        code: code of the error.
        message: the problem.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message, "Batches at the endpoint continue. Start again to resume.")


@dataclass(frozen=True)
class EndpointBatch:
    """A batch, as the endpoint describes it.

    Args:
        id: its id.
        status: validating, in_progress, finalizing, completed, expired, cancelling, cancelled or failed.
        input_file: id of the file with its calls.
        mark: its mark; empty without one.
        files: ids of the files with answers and errors, as far as they exist.
        done: number of finished calls, including failed ones.
        code, message: reason of a failure; empty without one.
    """

    id: str
    status: str
    input_file: str
    mark: str
    files: tuple[str, ...]
    done: int
    code: str
    message: str

    @property
    def over(self) -> bool:
        """Whether the batch has reached its final state."""
        return self.status in ("completed", "expired", "cancelled", "failed")
