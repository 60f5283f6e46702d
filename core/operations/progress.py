"""How a command says how far long work is: one line that changes on a terminal, a few lines where there is none."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from .console import guest, is_terminal, tell, write

FIRST_WAIT = 10.0
"""Seconds from the start to the first line where nobody watches."""
GROWTH = 1.3
"""How much longer the wait for each next line is: an hour makes about 16 lines, a day 30."""


class ProgressLines:
    """Takes how far work is, as often as anybody likes, and prints it on stderr as often as it helps.

    Args:
        things: what is counted, as "pairs".
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
        """Print how far the work is, if it is time to.

        Args:
            done, total: numbers of things.
            rate: things a second; found from the clock for None.
            over: whether the work has ended, so that nothing is left to wait for.
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
        """Print how far work is that ends with its last thing, as `say` does."""
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
    """A length of time in the two largest units that it takes."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def tell_of_calls() -> Callable[[str], None]:
    """Tells what a job notes of its calls; at a shell the log, which says the same, is silent."""
    if guest() is None:
        logging.getLogger("exam.grading").addHandler(logging.NullHandler())
    return lambda line: tell(f"exam: {line}")
