"""Types for batches at an endpoint: their state, the limits of the protocol, and temporary errors."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import GradingError

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
