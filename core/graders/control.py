"""The reins of a running job: pause, stop, how many calls at once, and how much may be spent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from core.graders.vectors import VectorStore


@dataclass(frozen=True)
class Price:
    """What a model costs, in the currency of the price table.

    Args:
        input: per million tokens read.
        output: per million tokens written.
    """

    input: float = 0.0
    output: float = 0.0

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """What so many tokens cost."""
        return (self.input * input_tokens + self.output * output_tokens) / 1_000_000


@dataclass(frozen=True)
class Usage:
    """What was used so far: calls (retries included), tokens, and their cost."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


NOTHING_USED = Usage()


class Control:
    """Shared by the job's thread, the model's threads and the screen; every method may be called from any.

    Args:
        max_calls: calls at most, retries included; None for no cap.
        max_cost: money at most, in the currency of `price`; None for no cap.
        price: what tokens cost.
        concurrency: calls in flight at most, where the model can take several; may be changed while running.
        report: is told one line for every call that failed. It never holds a key.
        attempts: how often a call that fails is made at most; as often as the back end makes it for None.
        vectors: where an encoder keeps what it made of texts; nowhere for None.
    """

    def __init__(
        self,
        max_calls: int | None = None,
        max_cost: float | None = None,
        price: Price | None = None,
        concurrency: int = 8,
        report: Callable[[str], None] = lambda line: None,
        attempts: int | None = None,
        vectors: VectorStore | None = None,
    ) -> None:
        self.report = report
        self.attempts = attempts
        self.vectors = vectors
        self._price = price or Price()
        self._max_calls = max_calls
        self._max_cost = max_cost
        self._concurrency = concurrency
        self._lock = threading.Lock()
        self._usage = NOTHING_USED
        self._reserved = 0.0
        self._exhausted = False
        self._cancelled = threading.Event()
        self._going = threading.Event()
        self._going.set()
        self._paused_at: float | None = None
        self._paused_seconds = 0.0

    def reserve(self, input_tokens: int, output_tokens: int) -> bool:
        """Ask for leave to make one call; without it the call must not be made.

        Args:
            input_tokens, output_tokens: what the call may use at most; the money is set aside until `settle`.

        Returns:
            Whether the caps allow it. Once they do not, `stopping` is true and stays so.
        """
        cost = self._price.of(input_tokens, output_tokens)
        with self._lock:
            beyond = (self._max_calls is not None and self._usage.calls >= self._max_calls) or (
                self._max_cost is not None and self._usage.cost + self._reserved + cost > self._max_cost
            )
            if beyond:
                self._exhausted = True
                return False
            self._usage = Usage(
                self._usage.calls + 1, self._usage.input_tokens, self._usage.output_tokens, self._usage.cost
            )
            self._reserved += cost
            return True

    def settle(self, reserved: tuple[int, int], used: tuple[int, int]) -> None:
        """Put what a call has used in the place of what was reserved for it.

        Args:
            reserved: the arguments that `reserve` was given.
            used: tokens read and written; (0, 0) where the call failed before it was charged.
        """
        with self._lock:
            self._reserved -= self._price.of(*reserved)
            self._usage = Usage(
                self._usage.calls,
                self._usage.input_tokens + used[0],
                self._usage.output_tokens + used[1],
                self._usage.cost + self._price.of(*used),
            )

    @property
    def usage(self) -> Usage:
        """What was used so far."""
        with self._lock:
            return self._usage

    @property
    def exhausted(self) -> bool:
        """Whether a cap has refused a call."""
        return self._exhausted

    @property
    def stopping(self) -> bool:
        """Whether no new call is to be made: cancelled, or a cap is reached."""
        return self._exhausted or self._cancelled.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether a person asked to stop."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Let no new call be made. Those in flight end and count."""
        self._cancelled.set()
        self.resume()

    @property
    def paused(self) -> bool:
        """Whether new calls wait."""
        return not self._going.is_set()

    def pause(self) -> None:
        """Let new calls wait until `resume`."""
        with self._lock:
            if not self._cancelled.is_set() and self._paused_at is None:
                self._paused_at = time.monotonic()
                self._going.clear()

    def resume(self) -> None:
        """Let calls go on."""
        with self._lock:
            if self._paused_at is not None:
                self._paused_seconds += time.monotonic() - self._paused_at
                self._paused_at = None
            self._going.set()

    @property
    def paused_seconds(self) -> float:
        """Time spent paused so far, in seconds."""
        with self._lock:
            running = 0.0 if self._paused_at is None else time.monotonic() - self._paused_at
            return self._paused_seconds + running

    def wait_while_paused(self, seconds: float | None = None) -> bool:
        """Wait until the job may go on; whether it may."""
        return self._going.wait(seconds)

    @property
    def concurrency(self) -> int:
        """Calls in flight at most, now."""
        return self._concurrency

    def set_concurrency(self, calls: int) -> None:
        """Change how many calls may be in flight; it takes effect with the next call."""
        self._concurrency = max(1, calls)
