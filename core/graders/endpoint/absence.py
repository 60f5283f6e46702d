"""An endpoint that is gone: it is asked by one call after ever longer pauses, until it answers or patience ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...errors import GradingError
from ..control import Awaited, Control

FIRST_PAUSE = 30.0
LONGEST_PAUSE = 600.0
"""The first pause, and the longest one, before it is asked again (seconds); each is twice the one before."""
WORTH_SAYING = 5.0
"""Seconds from which a wait that an endpoint asked for is shown."""
ANSWERS_AGAIN = "the endpoint answers again"


@dataclass
class Absence:
    """Whether an endpoint is gone, and when it is asked again.

    Args:
        address: of the endpoint.
        control: says how long it is waited for, and is told of the waiting.
        report: takes a line for people.
        clock: gives a time in seconds that never goes back; pauses are measured by it.

    Attributes:
        tries: pauses since it went, each but the last of which a try has ended.
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
        """Whether it is waited for."""
        return self._until is not None

    @property
    def room(self) -> int:
        """Calls that may be in flight while it is gone: one, once it is time to try."""
        return int(self.clock() >= self._next_try)

    def wait(self, said: str, told: float | None) -> GradingError | None:
        """Begin to wait for it, or wait on after a try that failed.

        Args:
            said: what went wrong.
            told: seconds that the endpoint asks to wait; None where it says nothing.

        Returns:
            That it is given up, where the patience is at its end; None where it is asked again.
        """
        now = self.clock()
        if self._until is None:
            self._until, self.tries = now + self.control.patience, 0
        elif now >= self._until:
            self.control.in_vain = True
            minutes = self.control.patience / 60
            return self.given_up(f"did not answer for {minutes:,.0f} minutes. The last attempt ended", said)
        pause = max(min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self.tries, 30)), told or 0.0)
        self.tries += 1
        # The last try is at the end of the patience, whatever the pauses come to.
        self._next_try = min(now + pause, self._until)
        wall = datetime.now()
        next_try, until = (wall + timedelta(seconds=at - now) for at in (self._next_try, self._until))
        awaited = Awaited(said, next_try, until)
        self.control.awaited = awaited
        self.report(f"the job {awaited}")
        return None

    def asked_to_wait(self, said: str, seconds: float) -> None:
        """Show that the endpoint said itself when to ask again."""
        if seconds >= WORTH_SAYING and not self.gone:
            self.control.awaited = Awaited(said, datetime.now() + timedelta(seconds=seconds))

    def asked_for_too_long(self, said: str, seconds: float) -> GradingError:
        """That the endpoint wants to be waited for longer than the job may wait."""
        return GradingError(
            "endpoint-gone",
            f"The endpoint asks to wait for {seconds:,.0f} s: {said}.",
            "Try again after that time. A job with enough patience waits by itself.",
        )

    def over(self) -> None:
        """The endpoint said something: it is waited for no longer."""
        if self.gone:
            self.report(ANSWERS_AGAIN)
        self.end()

    def end(self) -> None:
        """Wait no longer for it."""
        self.control.awaited = None
        self._until = None

    def given_up(self, what: str, last: str) -> GradingError:
        """That the endpoint is given up.

        Args:
            what: it does, and how that showed; goes on with what went wrong last.
        """
        return GradingError(
            "endpoint-gone",
            f"The endpoint {what} with: {last}.",
            f"Check that the address {self.address} is right and that the endpoint is running. Then start again.",
        )
