"""The progress of long work: one changing line on a terminal, a few lines otherwise."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from .console import guest, is_terminal, tell, write

FIRST_WAIT = 10.0
"""Seconds from the start to the first line without a terminal."""
GROWTH = 1.3
"""Growth of the wait from line to line: about 16 lines in an hour, 30 in a day."""


class ProgressLines:
    """Receives progress at any rate, and prints it on stderr at a useful rate.

    Args:
        things: the unit of progress, as "pairs".
        terminal: whether a person watches stderr.
        clock: seconds that only ever grow.
    """

    def __init__(self, things: str, terminal: bool | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.things = things
        self.terminal = is_terminal() if terminal is None else terminal
        self.clock = clock
        self.started = self.said = clock()
        self.wait = FIRST_WAIT

    def say(self, done: int, total: int, rate: float | None = None, over: bool = False) -> None:
        """Print the progress of the work, if it is time to.

        Args:
            done, total: numbers of things.
            rate: things per second; None means computed from the clock.
            over: whether the work has ended, so that no time is left.
        """
        if (host := guest()) is not None:
            host.check_stopped()
        now = self.clock()
        if self.terminal:
            write(f"\r{self._line(done, total, rate, now, over):<78}" + "\n" * over, "error")
        elif not over and now - self.said >= self.wait:
            self.said, self.wait = now, self.wait * GROWTH
            tell(f"exam: {self._line(done, total, rate, now, over)}")

    def count(self, done: int, total: int) -> None:
        """Print progress as `say` does, for work that ends as soon as its last thing is done."""
        self.say(done, total, over=done == total)

    def _line(self, done: int, total: int, rate: float | None, now: float, over: bool) -> str:
        if rate is None:
            rate = done / (now - self.started) if now > self.started else 0.0
        line = f"{done:,} of {total:,} {self.things}"
        if not rate:
            return line
        speed = f"{rate:,.0f} per second" if rate >= 1 else f"{60 * rate:,.1f} per minute"
        return f"{line}, {speed}" + ("" if over else f", {_duration((total - done) / rate)} left")


def _duration(seconds: float) -> str:
    """Return a length of time in its two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def tell_of_calls() -> Callable[[str], None]:
    """Return a function that prints a job's notes on its calls; at a shell the log, which repeats them, is silenced."""
    if guest() is None:
        logging.getLogger("exam.grading").addHandler(logging.NullHandler())
    return lambda line: tell(f"exam: {line}")
