"""How far a job is."""

from __future__ import annotations

from dataclasses import dataclass

from ..graders import NOTHING_USED, Usage


@dataclass(frozen=True)
class Progress:
    """How far a job is.

    Args:
        state: preparing, running, done, cancelled, stopped (a budget is used up) or failed.
        total, graded, defaulted, failed: numbers of pairs; the defaulted ones are among the graded.
        seconds: since the first pair was asked, less what was spent waiting.
        usage: calls, tokens and money.
        message: why it failed, or what the person should know.
        remarks: what else the person should know of how the model was asked, as sentences; the message has them too.
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
        """Pairs that need no more asking."""
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
