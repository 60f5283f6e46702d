"""The interface of graders: pairs of texts in, grades out, and the control of a job."""

from __future__ import annotations

import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple, Protocol

from ..choices import CONCURRENCY
from ..limits import allow_event, describe_exceeded, read_limit
from ..types import Grade, GraderInput, GraderSpec

Pair = tuple[int, int]
"""(question text key, passage text key): the two texts that a grade is about."""

Outcome = tuple[int, int, Grade]
"""A pair and its grade."""


class PairsToGrade(NamedTuple):
    """Pairs that a job still has to ask, with their texts by text key.

    Args:
        questions: question texts; has every key that `pairs` names.
        passages: passage texts; has every key that `pairs` names.
        pairs: each once.
    """

    questions: Mapping[int, GraderInput]
    passages: Mapping[int, str]
    pairs: Sequence[Pair]


class Grader(Protocol):
    """A method with its model, prompt and parameters, ready to grade."""

    @property
    def spec(self) -> GraderSpec:
        """Identity of this grader."""
        ...

    def grade(
        self,
        questions: Mapping[int, GraderInput],
        passages: Mapping[int, str],
        pairs: Sequence[Pair],
        control: Control,
    ) -> Iterator[list[Outcome]]:
        """Grade pairs, a batch at a time.

        Args:
            questions: question texts by text key; has every key that `pairs` names.
            passages: passage texts by text key; has every key that `pairs` names.
            pairs: the pairs to grade, each once.
            control: gives permission before every model call.

        Yields:
            Small batches of outcomes in any order. A caller may stop between two batches and loses
                only the calls in
            flight. Together the batches cover every pair, unless `control` stops the job.

        Raises:
            GradingError: the grader cannot continue at all (no model, no access).
        """
        ...


@dataclass(frozen=True)
class StoredVectors:
    """The stored data of a text.

    Args:
        vector: float32 numbers, as bytes.
        sentences: float16 numbers as bytes, one vector after the other; empty without sentence
            vectors.
    """

    vector: bytes
    sentences: bytes


class VectorStore(Protocol):
    """A cache: stored vectors may be missing at the next `get`."""

    def get(
        self, encoder: str, role: str, digests: Sequence[bytes]
    ) -> Mapping[bytes, StoredVectors]:
        """Return the stored vectors, by digest of the text; unknown ones are left out.

        Args:
            encoder: identity of the encoder and its settings.
            role: question or passage.
            digests: digests of the texts.
        """
        ...

    def put(self, encoder: str, role: str, by_digest: Mapping[bytes, StoredVectors]) -> None:
        """Store vectors that are not stored yet, by digest of the text."""
        ...


BATCH_SHARE = 0.5
"""Default price of a call in a batch, as a share of its normal price."""


class Tokens(NamedTuple):
    """Numbers of tokens of one or more calls.

    Args:
        read, written: all charged tokens.
        cached: those of the read tokens that the endpoint had cached; often cheaper.
        thinking: those of the written tokens that are a reasoning model's thoughts before its
            answer.
    """

    read: int = 0
    written: int = 0
    cached: int = 0
    thinking: int = 0

    def plus(self, other: Tokens) -> Tokens:
        """Return the sum of both."""
        return Tokens(*(number + another for number, another in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Price:
    """Price of a model, in the currency of the price table.

    Args:
        input: per million tokens read.
        output: per million tokens written, including thinking.
        cached: per million cached tokens read; None for the normal price.
        batch: price of a call in a batch, as a share of its normal price.
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

    def cost_of(self, read: int, written: int, cached: int = 0, thinking: int = 0) -> float:
        """Return the cost of some tokens, see `Tokens`; those of thinking are among the written
        ones.
        """
        apart = min(cached, read) if self.cached is not None else 0
        return (
            self.input * (read - apart) + (self.cached or 0.0) * apart + self.output * written
        ) / 1_000_000


@dataclass(frozen=True)
class Usage:
    """Usage so far: calls (retries included), tokens, and their cost; see `Tokens`."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    cached_tokens: int = 0
    thinking_tokens: int = 0

    @property
    def tokens(self) -> Tokens:
        return Tokens(
            self.input_tokens, self.output_tokens, self.cached_tokens, self.thinking_tokens
        )

    def plus(self, other: Usage) -> Usage:
        """Return the sum of both."""
        return make_usage(
            self.calls + other.calls, self.tokens.plus(other.tokens), self.cost + other.cost
        )


def make_usage(calls: int, tokens: Tokens, cost: float) -> Usage:
    """Return the usage of some calls."""
    return Usage(calls, tokens.read, tokens.written, cost, tokens.cached, tokens.thinking)


NO_TOKENS = Tokens()
NOTHING_USED = Usage()
MOST_MODELS = 8
"""Maximum number of models that are counted by name, because an endpoint may name a new one in
every answer.
"""
OTHER_MODELS = "others"
DAY = 24 * 60 * 60.0
CAPPED_CALLS = 4
"""Calls that may always be in flight under a cost limit.

More are allowed only if the limit covers the largest usage that each could report: a call in flight
cannot be undone.
"""


@dataclass(frozen=True)
class AwaitedEndpoint:
    """An unreachable endpoint that a job waits for.

    Args:
        reason: the last problem, in a few words.
        next_try: time of the next attempt.
        until: time at which the job gives up; None if the endpoint itself named the time of the
            next attempt.
    """

    reason: str
    next_try: datetime
    until: datetime | None = None

    def __str__(self) -> str:
        """Return a clause that follows the name of a job."""
        gives_up = "" if self.until is None else f", stops at {self.until:%H:%M}"
        return (
            f"waits for the endpoint, next attempt at {self.next_try:%H:%M}{gives_up}"
            f" ({self.reason})"
        )


STEP = (
    "max_calls",
    "max_cost",
    "price",
    "concurrency",
    "attempts",
    "vectors",
    "patience",
    "longest_wait",
    "caller",
)
"""Fields of a control that each step of a job sets again."""
RATE_WINDOW = 60.0
"""Seconds that an endpoint may ask a job to wait even without patience: rate limits are mostly per
minute.
"""


@dataclass(eq=False)
class Control:
    """Control of a job. The job's thread, the model's threads and the screen share it; every method
    is thread safe.

    Args:
        max_calls: maximum number of calls, retries included; None for no limit.
        max_cost: maximum cost, in the currency of `price`; None for no limit.
        price: price of tokens.
        concurrency: maximum number of calls in flight, if the model can take several; may be
            changed while running.
        report: called with a line for every failed call. The line never contains a key.
        attempts: maximum number of attempts of a failing call; None for the back end's default.
        vectors: store for an encoder's vectors; None for no store.
        patience: seconds for which the job waits for an unreachable endpoint before it gives up.
        longest_wait: maximum seconds before a failed call is tried again; if an endpoint asks for
            more, the job gives up. None for the patience, or `RATE_WINDOW` if that is longer.
        caller: login or token with a daily limit of calls over all jobs; None for no limit.

    Attributes:
        concurrency: maximum number of calls in flight now; at least 1.
        usage: usage so far.
        exhausted: whether a limit has refused a call, or cannot be kept.
        overrun: sentence that says that a call used more than its reservation, or that the daily
            calls are used up.
        cancelled_by: sentence that says who cancelled the job.
        awaited: the endpoint that the job waits for; None if it answers, as far as is known.
        in_vain: whether the job waited for the endpoint until its patience ended.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    price: Price | None = None
    concurrency: int = CONCURRENCY
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
    awaited: AwaitedEndpoint | None = field(default=None, init=False)
    in_vain: bool = field(default=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _reserved: float = field(default=0.0, init=False)
    _under_way: int = field(default=0, init=False)
    _begun: bool = field(default=False, init=False)
    _models: Counter[str] = field(default_factory=Counter, init=False)
    _cancelled: threading.Event = field(default_factory=threading.Event, init=False)
    _going: threading.Event = field(default_factory=threading.Event, init=False)
    _idle_since: float | None = field(default=None, init=False)
    _paused_seconds: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._cost_by = self.price or Price()
        self._going.set()

    @property
    def longest_pause(self) -> float:
        """Maximum time in seconds until the next attempt of a failed call."""
        return max(self.patience, RATE_WINDOW) if self.longest_wait is None else self.longest_wait

    def reserve(self, input_tokens: int, output_tokens: int, patient: bool = False) -> bool:
        """Ask for permission to make one call; without it the call must not be made.

        Under a cost limit, the first call of a patient caller runs alone. After it has ended,
        `CAPPED_CALLS` may be in flight. More are allowed if the rest of the limit covers the
        largest believable usage of each.

        Args:
            input_tokens, output_tokens: maximum tokens that the call can use; their cost is
                reserved until `replace_reservation`.
            patient: whether the caller asks again after another call is settled. The job then
                continues if only reservations of calls in flight prevent this call.

        Returns:
            Whether the limits allow the call. After a final refusal, `stopping` stays true.
        """
        cost = self._cost_by.cost_of(input_tokens, output_tokens)
        with self._lock:
            if self.exhausted:
                return False
            all_made = self.max_calls is not None and self.usage.calls >= self.max_calls
            beyond = (
                self.max_cost is not None
                and self.usage.cost + self._reserved + cost > self.max_cost
            )
            crowded = self.max_cost is not None and self._under_way >= self._allowed_calls()
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
        """Start the next step of a job with the limits of another control and no usage; a pause or
        cancel stays.
        """
        with self._lock:
            for name in STEP:
                setattr(self, name, getattr(caps, name))
            self.usage, self.exhausted, self.overrun = NOTHING_USED, False, ""
            self.awaited, self.in_vain = None, False
            self._measure_idle_time()
            self._reserved, self._under_way, self._begun, self._cost_by = (
                0.0,
                0,
                False,
                caps._cost_by,
            )
            self._models.clear()

    def _within_day(self) -> bool:
        """Count a call of the caller's day; return whether it may be made."""
        if self.caller is None or allow_event("CALLS", self.caller, DAY):
            return True
        refusal = describe_exceeded(
            "The daily limit of one login or token is reached:", "CALLS", read_limit("CALLS")
        )
        self.overrun = self.overrun or f"{refusal}."
        return False

    def _allowed_calls(self) -> float:
        """Return the number of calls that may be in flight under the cost limit."""
        if not self._begun or self.max_cost is None:
            return 1
        most = self._cost_by.cost_of(read_limit("ENDPOINT_TOKENS"), read_limit("ENDPOINT_TOKENS"))
        return max(CAPPED_CALLS, (self.max_cost - self.usage.cost) / most) if most else math.inf

    def replace_reservation(self, reserved: tuple[int, int], used: tuple[int, ...]) -> None:
        """Replace the reservation of a call by its usage.

        Under a cost limit, a call that used more than its reservation ends the job, because the
        cost of further calls is unknown.

        Args:
            reserved: the arguments that `reserve` got.
            used: tokens read and written, or all `Tokens`; (0, 0) if the call failed before it was
                charged.
        """
        tokens = Tokens(*used)
        cost = self._cost_by.cost_of(*tokens)
        with self._lock:
            self._under_way -= 1
            # Set to exactly zero, so that rounding errors do not add up.
            self._reserved = (
                self._reserved - self._cost_by.cost_of(*reserved) if self._under_way else 0.0
            )
            before = self.usage
            self.usage = make_usage(before.calls, before.tokens.plus(tokens), before.cost + cost)
            self._begun = True
            if self.max_cost is not None and cost > self._cost_by.cost_of(*reserved):
                self.exhausted = True
                self.overrun = self.overrun or (
                    f"The endpoint reports {tokens.read:,} tokens read and {tokens.written:,}"
                    f" written for one call, more than the possible {reserved[0]:,} and"
                    f" {reserved[1]:,}. The job was stopped, because its cost limit cannot be kept."
                )

    def add(self, used: Usage) -> None:
        """Add usage from elsewhere, and stop if it reaches the limit of calls."""
        with self._lock:
            self.usage = self.usage.plus(used)
            if self.max_calls is not None and self.usage.calls >= self.max_calls:
                self.exhausted = True

    def answered_by(self, model: str) -> None:
        """Count an answer for the model that the endpoint names."""
        with self._lock:
            known = model in self._models or len(self._models) < MOST_MODELS
            self._models[model if known else OTHER_MODELS] += 1

    @property
    def models(self) -> dict[str, int]:
        """Number of answers by the model that the endpoint named; empty if it named no model."""
        with self._lock:
            return dict(self._models)

    @property
    def stopping(self) -> bool:
        """Whether new calls are forbidden: the job is cancelled, or a limit is reached."""
        return self.exhausted or self._cancelled.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether a person or program cancelled the job."""
        return self._cancelled.is_set()

    def wait_until_cancelled(self, seconds: float) -> bool:
        """Wait until the job is cancelled, but not longer than the given seconds; return whether it
        is.
        """
        return self._cancelled.wait(seconds)

    def cancel(self, by: str = "") -> None:
        """Forbid new calls. Calls in flight end and count.

        Args:
            by: sentence that says who cancels; empty for a person.
        """
        if by:
            self.cancelled_by = by
        self._cancelled.set()
        self.resume()

    @property
    def paused(self) -> bool:
        return not self._going.is_set()

    def pause(self) -> None:
        """Make new calls wait until `resume`."""
        with self._lock:
            if not self._cancelled.is_set():
                self._going.clear()
                self._measure_idle_time()

    def resume(self) -> None:
        """Resume calls."""
        with self._lock:
            self._going.set()
            self._measure_idle_time()

    def set_awaited(self, awaited: AwaitedEndpoint | None) -> None:
        """Record the endpoint that the job waits for; None if it answers."""
        with self._lock:
            self.awaited = awaited
            self._measure_idle_time()

    @property
    def paused_seconds(self) -> float:
        """Time so far, in seconds, in which the job was paused or the endpoint was unreachable."""
        with self._lock:
            self._measure_idle_time()
            return self._paused_seconds

    def _measure_idle_time(self) -> None:
        """Add the time since the last call if the job was idle; note if it is idle now."""
        now = time.monotonic()
        if self._idle_since is not None:
            self._paused_seconds += now - self._idle_since
        # A wait that the endpoint itself asked for belongs to its speed.
        is_gone = self.awaited is not None and self.awaited.until is not None
        self._idle_since = now if self.paused or is_gone else None

    def may_continue(self) -> bool:
        """Wait until the job is not paused, then return whether new calls are allowed."""
        self._going.wait()
        return not self.stopping


# Date, number or tag of a version at the end of a name; "mini" or ".1" name another model.
_VERSION = re.compile(r"[-@:_](?:latest|v\d+(?:\.\d+)*|(?:19|20)\d\d-?\d\d-?\d\d|\d{3,6})\Z")


def is_version_of(named: str, requested: str) -> bool:
    """Return whether two names mean the same model. One may have a version, such as
    gpt-4o-2024-08-06, or a maker.
    """
    first, other = (name.strip().lower().rpartition("/")[2] for name in (named, requested))
    return first == other or _VERSION.sub("", first) == other or first == _VERSION.sub("", other)


def other_models_note(requested: str, answers: Mapping[str, int]) -> str:
    """Return a sentence about answers from models with another name than the requested one; empty
    without any.

    Args:
        requested: the requested model.
        answers: number of answers by the name in them.
    """
    others = {name: count for name, count in answers.items() if name != requested}
    if not others:
        return ""
    if all(is_version_of(name, requested) for name in others):
        named = " and ".join(sorted(others))
        # If a version was requested but the answer names none, the endpoint may have used another
        # version.
        if _VERSION.search(requested.strip().lower()):
            return f"The endpoint reports the model {named}. {requested} is a version of it."
        return f"The endpoint reports the model {named}, a version of {requested}."
    named = ", ".join(
        f"{name} ({count:,})" for name, count in sorted(others.items(), key=lambda item: -item[1])
    )
    return (
        f"The endpoint reports a model other than {requested}: {named}. These grades are kept with"
        " a note. Check that you use the right model."
    )
