"""The control of a running job: pause, cancel, how many calls at once, and how much may be spent."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from ..limits import exceeded, limit, within
from .vectors import VectorStore

BATCH_SHARE = 0.5
"""What a call in a batch costs of what it costs alone, where nobody says otherwise: half."""


class Tokens(NamedTuple):
    """Tokens of a call, or of many.

    Args:
        read, written: all that were charged.
        cached: of those read, the ones that the endpoint had read before, which many sell cheaper.
        thinking: of those written, the ones that a reasoning model wrote for itself before its answer.
    """

    read: int = 0
    written: int = 0
    cached: int = 0
    thinking: int = 0

    def plus(self, other: Tokens) -> Tokens:
        """The tokens of both."""
        return Tokens(*(one + another for one, another in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Price:
    """What a model costs, in the currency of the price table.

    Args:
        input: per million tokens read.
        output: per million tokens written, thinking too.
        cached: per million tokens read that the endpoint had read before; None where they cost what others do.
        batch: what a call costs in a batch, as a share of what it costs alone.
    """

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None
    batch: float = BATCH_SHARE

    @property
    def in_batch(self) -> Price:
        """The price of calls in a batch."""
        return replace(
            self,
            input=self.input * self.batch,
            output=self.output * self.batch,
            cached=None if self.cached is None else self.cached * self.batch,
        )

    def of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """What so many tokens cost.

        Args:
            input_tokens, output_tokens: read and written.
            cached_tokens: of those read.
        """
        apart = min(cached_tokens, input_tokens) if self.cached is not None else 0
        cost = self.input * (input_tokens - apart) + (self.cached or 0.0) * apart + self.output * output_tokens
        return cost / 1_000_000

    def of_tokens(self, tokens: Tokens) -> float:
        """What tokens cost."""
        return self.of(tokens.read, tokens.written, tokens.cached)


@dataclass(frozen=True)
class Usage:
    """What was used so far: calls (retries included), tokens, and their cost; see `Tokens`."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    cached_tokens: int = 0
    thinking_tokens: int = 0

    @property
    def tokens(self) -> Tokens:
        """All tokens."""
        return Tokens(self.input_tokens, self.output_tokens, self.cached_tokens, self.thinking_tokens)

    def plus(self, other: Usage) -> Usage:
        """What both used."""
        return used_by(self.calls + other.calls, self.tokens.plus(other.tokens), self.cost + other.cost)


def used_by(calls: int, tokens: Tokens, cost: float) -> Usage:
    """What calls used."""
    return Usage(calls, tokens.read, tokens.written, cost, tokens.cached, tokens.thinking)


NOTHING_USED = Usage()
MOST_MODELS = 8
"""Models that are counted each by its name: an endpoint may give a new one with every answer."""
OTHER_MODELS = "others"
DAY = 24 * 60 * 60.0
CAPPED_CALLS = 4
"""Calls that may always be in flight under a cap on money. More only fit where the cap bears the most that each of them
may report: a call that is under way cannot be taken back, whatever it turns out to cost."""


@dataclass(frozen=True)
class Awaited:
    """An endpoint that does not answer, for which a job waits.

    Args:
        reason: what went wrong last, in a few words.
        next_try: when it is asked again.
        until: when it is given up; None where it said itself when to ask again, and is not given up yet.
    """

    reason: str
    next_try: datetime
    until: datetime | None = None

    def __str__(self) -> str:
        """As a clause that follows the name of a job."""
        gives_up = "" if self.until is None else f", stops at {self.until:%H:%M}"
        return f"waits for the endpoint, next attempt at {self.next_try:%H:%M}{gives_up} ({self.reason})"


STEP = ("max_calls", "max_cost", "price", "concurrency", "attempts", "vectors", "patience", "longest_wait", "caller")
"""The fields of a control that each step of a job sets anew."""
RATE_WINDOW = 60.0
"""Seconds that an endpoint may ask for without patience: limits of a rate are mostly per minute."""


@dataclass(eq=False)
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
        patience: seconds for which an endpoint that is gone is waited for before it is given up.
        longest_wait: seconds that a call which failed may have to wait for its next attempt; an endpoint that wants
            more is given up. For None the patience, or `RATE_WINDOW` if that is longer.
        caller: the login or token whose calls of a day are limited, over all jobs; None for no limit.

    Attributes:
        concurrency: calls in flight at most, now; at least 1.
        usage: what was used so far.
        exhausted: whether a cap has refused a call, or cannot be kept.
        overrun: that a call used more than was set aside for it, or that the day's calls are used up, as a sentence.
        cancelled_by: who asked to stop, as a sentence.
        awaited: the endpoint that is waited for now; None if it answers, as far as is known.
        in_vain: whether the endpoint was waited for until the patience was at its end.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    price: Price | None = None
    concurrency: int = 8
    report: Callable[[str], None] = lambda line: None
    attempts: int | None = None
    vectors: VectorStore | None = None
    patience: float = 0.0
    longest_wait: float | None = None
    caller: str | None = None
    usage: Usage = field(default=NOTHING_USED, init=False)
    exhausted: bool = field(default=False, init=False)
    overrun: str = field(default="", init=False)
    cancelled_by: str = field(default="Cancelled by a person.", init=False)
    awaited: Awaited | None = field(default=None, init=False)
    in_vain: bool = field(default=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _reserved: float = field(default=0.0, init=False)
    _under_way: int = field(default=0, init=False)
    _begun: bool = field(default=False, init=False)
    _models: Counter[str] = field(default_factory=Counter, init=False)
    _cancelled: threading.Event = field(default_factory=threading.Event, init=False)
    _going: threading.Event = field(default_factory=threading.Event, init=False)
    _paused_at: float | None = field(default=None, init=False)
    _paused_seconds: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._cost_by = self.price or Price()
        self._going.set()

    @property
    def longest_pause(self) -> float:
        """Seconds that a call which failed may have to wait for its next attempt."""
        return max(self.patience, RATE_WINDOW) if self.longest_wait is None else self.longest_wait

    def reserve(self, input_tokens: int, output_tokens: int, patient: bool = False) -> bool:
        """Ask for leave to make one call; without it the call must not be made.

        Args:
            input_tokens, output_tokens: what the call may use at most; the money is set aside until `settle`.
            patient: whether leave is asked for again once another call is settled, where only what is set aside for
                calls under way is in the way of it. Under a cap on money the first call goes alone, until it has ended,
                and then a few are under way at once, or as many as the rest of the cap bears at the most that an
                answer is believed to have used.

        Returns:
            Whether the caps allow it. Once they do not, `stopping` is true and stays so.
        """
        cost = self._cost_by.of(input_tokens, output_tokens)
        with self._lock:
            if self.exhausted:
                return False
            all_made = self.max_calls is not None and self.usage.calls >= self.max_calls
            beyond = self.max_cost is not None and self.usage.cost + self._reserved + cost > self.max_cost
            crowded = self.max_cost is not None and self._under_way >= self._room()
            if patient and self._under_way and not all_made and (beyond or crowded):
                return False
            self.exhausted = all_made or beyond or not self._within_day()
            if self.exhausted:
                return False
            self.usage = replace(self.usage, calls=self.usage.calls + 1)
            self._reserved += cost
            self._under_way += 1
            return True

    def renew(self, caps: Control) -> None:
        """Start the next step of a job, with the caps of another control and nothing used; a pause or cancel stays."""
        with self._lock:
            for name in STEP:
                setattr(self, name, getattr(caps, name))
            self.usage, self.exhausted, self.overrun, self.awaited, self.in_vain = NOTHING_USED, False, "", None, False
            self._reserved, self._under_way, self._begun, self._cost_by = 0.0, 0, False, caps._cost_by
            self._models.clear()

    def _within_day(self) -> bool:
        """Count a call of the caller's day; whether it may be made."""
        if self.caller is None or within("CALLS", self.caller, DAY):
            return True
        refusal = exceeded("The daily limit of one login or token is reached:", "CALLS", limit("CALLS"))
        self.overrun = self.overrun or f"{refusal}."
        return False

    def _room(self) -> float:
        """Calls that may be under way under the cap on money."""
        if not self._begun or self.max_cost is None:
            return 1
        most = self._cost_by.of(limit("ENDPOINT_TOKENS"), limit("ENDPOINT_TOKENS"))
        left = self.max_cost - self.usage.cost
        return max(CAPPED_CALLS, left / most) if most else math.inf

    def settle(self, reserved: tuple[int, int], used: tuple[int, ...]) -> None:
        """Put what a call has used in the place of what was reserved for it.

        Under a cap on money, a call that used more than was set aside for it ends the job: what the others will cost
        cannot be told any more.

        Args:
            reserved: the arguments that `reserve` was given.
            used: tokens read and written, or all `Tokens`; (0, 0) where the call failed before it could be charged.
        """
        tokens = Tokens(*used)
        cost = self._cost_by.of_tokens(tokens)
        with self._lock:
            self._under_way -= 1
            # Nothing is left of the sums where nothing is set aside.
            self._reserved = self._reserved - self._cost_by.of(*reserved) if self._under_way else 0.0
            before = self.usage
            self.usage = used_by(before.calls, before.tokens.plus(tokens), before.cost + cost)
            self._begun = True
            if self.max_cost is not None and cost > self._cost_by.of(*reserved):
                self.exhausted = True
                self.overrun = self.overrun or (
                    f"The endpoint reports {tokens.read:,} tokens read and {tokens.written:,} written for one call,"
                    f" more than the possible {reserved[0]:,} and {reserved[1]:,}. The job was stopped, because its"
                    " cost limit cannot be kept."
                )

    def add(self, used: Usage) -> None:
        """Count what was used elsewhere, and stop where it reaches the cap on calls."""
        with self._lock:
            self.usage = self.usage.plus(used)
            if self.max_calls is not None and self.usage.calls >= self.max_calls:
                self.exhausted = True

    def answered_by(self, model: str) -> None:
        """Count an answer whose endpoint says that this model gave it."""
        with self._lock:
            known = model in self._models or len(self._models) < MOST_MODELS
            self._models[model if known else OTHER_MODELS] += 1

    @property
    def models(self) -> dict[str, int]:
        """Answers by the model that is said to have given them; empty where nothing is said."""
        with self._lock:
            return dict(self._models)

    @property
    def stopping(self) -> bool:
        """Whether no new call is to be made: cancelled, or a cap is reached."""
        return self.exhausted or self._cancelled.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked to stop."""
        return self._cancelled.is_set()

    def wait_until_cancelled(self, seconds: float) -> bool:
        """Wait until somebody asks to stop, and no longer than so many seconds; whether one did."""
        return self._cancelled.wait(seconds)

    def cancel(self, by: str = "") -> None:
        """Let no new call be made. Those in flight end and count.

        Args:
            by: who asks, as a sentence; empty for a person.
        """
        if by:
            self.cancelled_by = by
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

    def wait_while_paused(self) -> None:
        """Wait until the job may go on."""
        self._going.wait()
