"""Waiting for an unreachable endpoint: one call tries it after growing pauses, until it answers or patience ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...errors import GradingError
from .._grader_interface import Awaited, Control

FIRST_PAUSE = 30.0
LONGEST_PAUSE = 600.0
"""First and longest pause before the next attempt, in seconds; each is twice the one before."""
WORTH_SAYING = 5.0
"""Seconds from which a wait that an endpoint asked for is shown."""
ANSWERS_AGAIN = "the endpoint answers again"


@dataclass
class Absence:
    """State of an unreachable endpoint, and the time of the next attempt.

    Args:
        address: address of the endpoint.
        control: has the patience, and gets the state of waiting.
        report: called with a line for people.
        clock: returns a monotonic time in seconds, for pauses.

    Attributes:
        tries: number of pauses so far; after each except the last, a try has failed.
    """

    address: str
    control: Control
    report: Callable[[str], None]
    clock: Callable[[], float]
    tries: int = field(default=0, init=False)
    _until: float | None = field(default=None, init=False)
    _next_try: float = field(default=0.0, init=False)

    @property
    def gone(self) -> bool:
        """Whether the job waits for the endpoint."""
        return self._until is not None

    @property
    def room(self) -> int:
        """Number of calls that may be in flight while the endpoint is unreachable: one, once it is time to try."""
        return int(self.clock() >= self._next_try)

    def wait(self, said: str, told: float | None) -> GradingError | None:
        """Start to wait for the endpoint, or continue after a failed try.

        Args:
            said: the problem.
            told: seconds that the endpoint asks to wait; None if it gives no time.

        Returns:
            The error to raise once the patience has ended; None while another try follows.
        """
        now = self.clock()
        if self._until is None:
            self._until, self.tries = now + self.control.patience, 0
        elif now >= self._until:
            self.control.in_vain = True
            return self.given_up(
                f"did not answer for {self.control.patience / 60:,.0f} minutes. The last attempt ended", said
            )
        pause = max(min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self.tries, 30)), told or 0.0)
        self.tries += 1
        # The last attempt is made when the waiting time ends, regardless of the pauses.
        self._next_try = min(now + pause, self._until)
        wall = datetime.now()
        next_try, until = (wall + timedelta(seconds=at - now) for at in (self._next_try, self._until))
        self.control.awaited = Awaited(said, next_try, until)
        self.report(f"the job {self.control.awaited}")
        return None

    def asked_to_wait(self, said: str, seconds: float) -> None:
        """Show that the endpoint itself named the time of the next attempt."""
        if seconds >= WORTH_SAYING and not self.gone:
            self.control.awaited = Awaited(said, datetime.now() + timedelta(seconds=seconds))

    def over(self) -> None:
        """Stop waiting, because the endpoint answered."""
        if self.gone:
            self.report(ANSWERS_AGAIN)
        self.end()

    def end(self) -> None:
        """Stop waiting."""
        self.control.awaited = None
        self._until = None

    def given_up(self, what: str, last: str) -> GradingError:
        """Return the error for giving up an endpoint.

        Args:
            what: the endpoint's behaviour, as a clause.
            last: the last problem.
        """
        return GradingError(
            "endpoint-gone",
            f"The endpoint {what} with: {last}.",
            f"Check that the address {self.address} is right and that the endpoint is running. Then start again.",
        )
