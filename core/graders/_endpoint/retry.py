"""Pace and repetition of requests, and waiting for an unreachable endpoint."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from ...errors import GradingError
from .._grader_interface import AwaitedEndpoint, Control

FetchMethod = Literal["GET", "POST"]


@dataclass(frozen=True)
class RequestSettings:
    """Settings of requests to an endpoint.

    Args:
        concurrency: maximum number of requests in flight.
        rate: maximum requests per second; None for no limit.
        attempts: maximum number of attempts of a request.
        timeout_s: time limit of a request in seconds.
    """

    concurrency: int = 4
    rate: float | None = None
    attempts: int = 5
    timeout_s: float = 30.0


@dataclass(frozen=True)
class Fetched:
    """Result of one request.

    Args:
        value: the JSON value; None after a failure.
        reason: why it failed; None after success.
        attempts: number of attempts.
        seconds: duration of the last attempt, from the first byte sent to the last one read.
    """

    value: Any
    reason: str | None
    attempts: int
    seconds: float


class PassingError(GradingError):
    """An operation at the endpoint failed, or its result is unknown; it may succeed later.

    Args:
        code: code of the error.
        message: the problem.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message, "Batches at the endpoint continue. Start again to resume.")


MAX_WAIT = 300.0
"""Longest single wait in seconds: a broken header must not stop a job for a day."""
LONGEST_HEADER = 200
"""Maximum number of characters of a header; longer ones are ignored."""
FIRST_BACKOFF = 1.0
MAX_BACKOFF = 60.0
REGROWTH = 0.25
"""Growth of a narrowed window per answer."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PARTS = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_DURATION = r"((?:\d+(?:\.\d+)?(?:ms|[smh]))+|\d+(?:\.\d+)?)(?: ([smh])[a-z]+)?"
_DELAY = re.compile(r"retry_?delay\W{1,5}" + _DURATION)
_AGAIN = re.compile(r"(?:re-?try|try again) (?:in|after) (?:about )?" + _DURATION)
# Larger numbers are not durations but times in seconds, or milliseconds, since 1970.
_EPOCH_SECONDS = 1e9
_EPOCH_MILLISECONDS = 1e12


def requested_wait(headers: Mapping[str, str], now: float, error: object = None) -> float | None:
    """Return the wait that an endpoint asks for, in its headers or else in its error.

    Args:
        headers: headers of its answer.
        now: present time in seconds since 1970, for comparison with dates.
        error: the original error; None without one. Google has a field `retryDelay`, OpenRouter
            passes on headers, and others say "try again in 3.2s".

    Returns:
        Seconds from 0 to `MAX_WAIT`; None if no known form is found. `retry-after-ms` has
        precedence over `retry-after` (RFC 9110, section 10.2.3: seconds or a date), and these over
        the headers of a rate limit. Of those, the latest reset of a used-up limit counts, or else
        the latest of all.
    """
    metadata = error.get("metadata") if isinstance(error, dict) else None
    inner = metadata.get("headers") if isinstance(metadata, dict) else None
    passed_on = (
        {str(name): str(value) for name, value in inner.items()} if isinstance(inner, dict) else {}
    )
    every = {
        name.lower(): value
        for name, value in {**passed_on, **headers}.items()
        if len(value) <= LONGEST_HEADER
    }
    wait = _wait_in_headers(every, now)
    if wait is None:
        words = str(error).lower()
        match = _DELAY.search(words) or _AGAIN.search(words)
        wait = _duration_seconds(match[1] + (match[2] or ""), now) if match else None
    return None if wait is None else min(max(wait, 0.0), MAX_WAIT)


def _wait_in_headers(headers: Mapping[str, str], now: float) -> float | None:
    if (milliseconds := _finite_number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    for read in (_duration_seconds, _seconds_to_date):
        if (seconds := read(headers.get("retry-after", ""), now)) is not None:
            return seconds
    resets: dict[bool, list[float]] = {True: [], False: []}
    for name, value in headers.items():
        limit, reset, what = name.partition("ratelimit-reset")
        if reset and limit in ("", "x-") and (seconds := _duration_seconds(value, now)) is not None:
            used_up = _finite_number(headers.get(f"{limit}ratelimit-remaining{what}")) == 0
            resets[used_up].append(seconds)
    return max(resets[True] or resets[False], default=None)


def is_passing_status(status: int) -> bool:
    """Return whether an HTTP status does not concern the request itself, so that another attempt
    may succeed.
    """
    return status in (408, 409, 425, 429) or status >= 500


def backoff_seconds(attempt: int, chance: float) -> float:
    """Return the wait if an endpoint gives no time.

    Args:
        attempt: the attempt that failed, from 1.
        chance: uniform between 0 and 1; it spreads calls that failed together.

    Returns:
        Seconds: between half and the whole of 1, 2, 4, ..., at most 60.
    """
    whole = min(MAX_BACKOFF, FIRST_BACKOFF * 2.0 ** min(attempt - 1, 30))
    return whole * (0.5 + chance / 2)


@dataclass(eq=False)
class Pace:
    """Pace of calls to an endpoint: a gate that closes for all calls, and a window that then
    narrows.

    After refusals for the rate, the same number of parallel calls would mostly be refused again.
    Each refusal costs an attempt. So each closing of the gate halves the calls in flight, and
    answers widen the window.

    Args:
        clock: returns a monotonic time in seconds.
    """

    clock: Callable[[], float]
    _until: float = field(default=-math.inf, init=False)
    _window: float = field(default=math.inf, init=False)
    _narrowed_at: int = field(default=0, init=False)

    def delay_calls(self, seconds: float, in_flight: int) -> None:
        """Make all calls wait.

        Args:
            seconds: from now.
            in_flight: number of calls in flight now, the refused one included.
        """
        if self.closed_for <= 0:
            self._window = max(1.0, min(self._window, in_flight) / 2)
        self._until = max(self._until, self.clock() + seconds)

    def halve_calls(self, in_flight: int, begun: int, latest: int) -> bool:
        """Halve the number of parallel calls, because they took too long together.

        Args:
            in_flight: number of calls in flight now, the slow one included.
            begun, latest: the numbers of the slow call and of the latest call, in the order of
                their starts.

        Returns:
            Whether fewer calls are allowed than at the start of the slow call.
        """
        if begun > self._narrowed_at:
            if (now := min(self._window, in_flight)) <= 1:
                return False
            self._window, self._narrowed_at = max(1.0, now // 2), latest
        return True

    def answered(self) -> None:
        """Widen the window after an answer."""
        self._window += REGROWTH

    @property
    def closed_for(self) -> float:
        """Seconds for which no call may be made; 0 or less if calls may be made."""
        return self._until - self.clock()

    def allowed_calls(self, concurrency: int) -> int:
        """Return the number of calls that may be in flight now, of those that the job allows."""
        return 0 if self.closed_for > 0 else int(min(concurrency, self._window))


def _finite_number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _duration_seconds(value: str, now: float) -> float | None:
    """Return the seconds of a duration (a number, or like 6m0s), or until a time since 1970."""
    if (number := _finite_number(value)) is not None:
        if number >= _EPOCH_MILLISECONDS:
            return number / 1000 - now
        return number - now if number >= _EPOCH_SECONDS else number
    compact = value.strip().lower()
    parts = _PARTS.findall(compact)
    if not parts or "".join(amount + unit for amount, unit in parts) != compact:
        return None
    return sum(float(amount) * _UNITS[unit] for amount, unit in parts)


def _seconds_to_date(value: str, now: float) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp() - now
    except (ValueError, OverflowError, TypeError, IndexError):
        # Invalid dates, which the library parses without checks.
        return None


FIRST_PAUSE = 30.0
LONGEST_PAUSE = 600.0
"""First and longest pause before the next attempt, in seconds; each is twice the one before."""
WORTH_SAYING = 5.0
"""Seconds from which a wait that an endpoint asked for is shown."""
ANSWERS_AGAIN = "the endpoint answers again"


@dataclass
class Outage:
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
    def is_waiting(self) -> bool:
        """Whether the job waits for the endpoint."""
        return self._until is not None

    @property
    def allowed_calls(self) -> int:
        """Number of calls that may be in flight while the endpoint is unreachable: one, once it is
        time to try.
        """
        return int(self.clock() >= self._next_try)

    def wait(self, problem: str, asked_wait: float | None) -> GradingError | None:
        """Start to wait for the endpoint, or continue after a failed try.

        Args:
            problem: the problem in words.
            asked_wait: seconds that the endpoint asks to wait; None if it gives no time.

        Returns:
            The error to raise once the patience has ended; None while another try follows.
        """
        now = self.clock()
        if self._until is None:
            self._until, self.tries = now + self.control.patience, 0
        elif now >= self._until:
            self.control.in_vain = True
            return self.given_up(
                f"did not answer for {self.control.patience / 60:,.0f} minutes."
                " The last attempt ended",
                problem,
            )
        pause = max(min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self.tries, 30)), asked_wait or 0.0)
        self.tries += 1
        # The last attempt is made when the waiting time ends, regardless of the pauses.
        self._next_try = min(now + pause, self._until)
        wall = datetime.now()
        next_try, until = (
            wall + timedelta(seconds=at - now) for at in (self._next_try, self._until)
        )
        awaited = AwaitedEndpoint(problem, next_try, until)
        self.control.set_awaited(awaited)
        self.report(f"the job {awaited}")
        return None

    def asked_to_wait(self, problem: str, seconds: float) -> None:
        """Show that the endpoint itself named the time of the next attempt."""
        if seconds >= WORTH_SAYING and not self.is_waiting:
            self.control.set_awaited(
                AwaitedEndpoint(problem, datetime.now() + timedelta(seconds=seconds))
            )

    def end_on_answer(self) -> None:
        """Stop waiting, because the endpoint answered."""
        if self.is_waiting:
            self.report(ANSWERS_AGAIN)
        self.end()

    def end(self) -> None:
        """Stop waiting."""
        self.control.set_awaited(None)
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
            f"Check that the address {self.address} is right and that the endpoint is running."
            " Then start again.",
        )
