"""When to ask an endpoint again: what its headers say, backoff where they say nothing, and the pace for all calls."""

from __future__ import annotations

import email.utils
import math
import re
from collections.abc import Callable, Mapping

MAX_WAIT = 300.0
"""No single wait is longer (seconds), whatever an endpoint says: a broken header must not stop a job for a day."""
LONGEST_HEADER = 200
"""Characters of a header; a longer one says nothing of when to ask again."""
FIRST_BACKOFF = 1.0
MAX_BACKOFF = 60.0
REGROWTH = 0.25
"""What one answer adds to a window that was narrowed."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PARTS = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_DURATION = r"((?:\d+(?:\.\d+)?(?:ms|[smh]))+|\d+(?:\.\d+)?)(?: ([smh])[a-z]+)?"
_DELAY = re.compile(r"retry_?delay\W{1,5}" + _DURATION)
_AGAIN = re.compile(r"(?:re-?try|try again) (?:in|after) (?:about )?" + _DURATION)
# Larger numbers are no durations: they are moments in seconds, or milliseconds, since 1970.
_EPOCH_SECONDS = 1e9
_EPOCH_MILLISECONDS = 1e12


def told_wait(headers: Mapping[str, str], now: float, error: object = None) -> float | None:
    """The time after which an endpoint says to ask again, in its headers or else in its error.

    Args:
        headers: of its answer.
        now: seconds since 1970, to which dates are compared.
        error: as it was sent; None if there is none. Google has a field `retryDelay`, OpenRouter passes on headers, and
            others say "try again in 3.2s".

    Returns:
        Seconds from 0 to `MAX_WAIT`; None if it says nothing that can be understood. `retry-after-ms` goes
        before `retry-after` (RFC 9110, section 10.2.3: seconds or a date), and these before the headers of a
        rate limit: the reset of whatever has nothing remaining, or else the latest reset.
    """
    metadata = error.get("metadata") if isinstance(error, dict) else None
    inner = metadata.get("headers") if isinstance(metadata, dict) else None
    passed_on = {str(name): str(value) for name, value in inner.items()} if isinstance(inner, dict) else {}
    every = {name.lower(): value for name, value in {**passed_on, **headers}.items() if len(value) <= LONGEST_HEADER}
    told = _wait_in_headers(every, now)
    if told is None:
        words = str(error).lower()
        found = _DELAY.search(words) or _AGAIN.search(words)
        told = _seconds(found[1] + (found[2] or ""), now) if found else None
    return None if told is None else min(max(told, 0.0), MAX_WAIT)


def _wait_in_headers(headers: Mapping[str, str], now: float) -> float | None:
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    for read in (_seconds, _seconds_to_date):
        if (seconds := read(headers.get("retry-after", ""), now)) is not None:
            return seconds
    resets: dict[bool, list[float]] = {True: [], False: []}
    for name, value in headers.items():
        limit, reset, what = name.partition("ratelimit-reset")
        if reset and limit in ("", "x-") and (seconds := _seconds(value, now)) is not None:
            used_up = _number(headers.get(f"{limit}ratelimit-remaining{what}")) == 0
            resets[used_up].append(seconds)
    return max(resets[True] or resets[False], default=None)


def passes(status: int) -> bool:
    """Whether an HTTP status says nothing of the request itself, so that another attempt may succeed."""
    return status in (408, 409, 425, 429) or status >= 500


def backoff(attempt: int, chance: float) -> float:
    """How long to wait where an endpoint says nothing.

    Args:
        attempt: the attempt that failed, from 1.
        chance: evenly distributed over 0 to 1; it spreads calls that failed together.

    Returns:
        Seconds: between half and the whole of 1, 2, 4, ..., at most 60.
    """
    whole = min(MAX_BACKOFF, FIRST_BACKOFF * 2.0 ** min(attempt - 1, 30))
    return whole * (0.5 + chance / 2)


class Pace:
    """How fast an endpoint may be asked: a gate that closes for all calls, and a window that narrows with it.

    Where an endpoint refuses calls for their rate, as many at once as before would mostly be refused again, and
    each refusal costs an attempt; so each closing of the gate halves the calls in flight, and answers widen it.

    Args:
        clock: gives a time in seconds that never goes back.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = -math.inf
        self._window = math.inf
        self._narrowed_at = 0

    def hold(self, seconds: float, in_flight: int) -> None:
        """Let all calls wait.

        Args:
            seconds: from now.
            in_flight: calls in flight now, the refused one included.
        """
        if self.closed_for <= 0:
            self._window = max(1.0, min(self._window, in_flight) / 2)
        self._until = max(self._until, self._clock() + seconds)

    def narrow(self, in_flight: int, begun: int, latest: int) -> bool:
        """Allow half of the calls at once, as they took too long together.

        Args:
            in_flight: calls in flight now, the one that took too long included.
            begun, latest: the numbers of that call and of the latest one, by the order in which they were begun.

        Returns:
            Whether fewer are allowed than when that call was begun.
        """
        if begun > self._narrowed_at:
            if (now := min(self._window, in_flight)) <= 1:
                return False
            self._window, self._narrowed_at = max(1.0, now // 2), latest
        return True

    def answered(self) -> None:
        """An answer came, so there may be more calls again."""
        self._window += REGROWTH

    @property
    def closed_for(self) -> float:
        """Seconds for which no call may be made; 0 or less where they may."""
        return self._until - self._clock()

    def room(self, concurrency: int) -> int:
        """Calls that may be in flight now, of those that the job allows."""
        return 0 if self.closed_for > 0 else int(min(concurrency, self._window))


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _seconds(value: str, now: float) -> float | None:
    """A duration as a number of seconds or like 6m0s, or a moment since 1970 as the seconds until then."""
    if (number := _number(value)) is not None:
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
        parsed = email.utils.parsedate_tz(value)
        return float(email.utils.mktime_tz(parsed)) - now if parsed else None
    except (ValueError, OverflowError, TypeError, IndexError):
        # No date that there is, which the library takes apart without looking.
        return None
