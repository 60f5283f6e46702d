"""Progress of a job."""

from __future__ import annotations

from dataclasses import dataclass

from ..graders import NOTHING_USED, Usage


@dataclass(frozen=True)
class Progress:
    """Progress of a job.

    Args:
        state: preparing, running, done, cancelled, stopped (a budget is used up) or failed.
        total, graded, defaulted, failed: numbers of pairs; the defaulted ones are among the graded.
        seconds: time since the first pair was asked, without pauses.
        usage: calls, tokens and money.
        message: reason of a failure, or advice for the person.
        remarks: further sentences about how the model was asked; the message includes them.
    """

    state: str
    total: int = 0
    graded: int = 0
    failed: int = 0
    defaulted: int = 0
    seconds: float = 0.0
    message: str = ""
    usage: Usage = NOTHING_USED
    remarks: str = ""

    @property
    def done(self) -> int:
        """Number of pairs that need no further call."""
        return self.graded + self.failed

    @property
    def rate(self) -> float:
        """Pairs per second so far; 0 before the first."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimate from the rate so far; None before the first pair."""
        return (self.total - self.done) / self.rate if self.rate else None

    @property
    def over(self) -> bool:
        """Whether the job has ended."""
        return self.state in ("done", "cancelled", "stopped", "failed")
