"""Batches at an endpoint as data: what is known of one, the limits of the protocol, and a fault that passes."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import GradingError

MOST_CALLS = 50_000
MOST_BYTES = 200_000_000
"""Of a batch's file (OpenAI, API reference, Batch: "up to 50,000 requests, and can be up to 200 MB in size")."""


class PassingError(GradingError):
    """What was asked of the endpoint failed, or nobody knows whether it did; later it may succeed.

    Args:
        code: as for every error.
        message: what went wrong.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message, "Batches at the endpoint continue. Start again to resume.")


@dataclass(frozen=True)
class EndpointBatch:
    """A batch, as the endpoint describes it.

    Args:
        id: its own.
        status: validating, in_progress, finalizing, completed, expired, cancelling, cancelled or failed.
        input_file: the file that it is made of.
        mark: what it was marked with; empty where it was not.
        files: where the answers and the errors are, as far as there are any.
        done: calls that were made, failed ones too.
        code, message: why it failed; empty where it did not.
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
        """Whether nothing more comes of it."""
        return self.status in ("completed", "expired", "cancelled", "failed")
