"""Running pairs with an endpoint: a thread with an event loop makes the calls, and the caller
receives the outcomes.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import math
import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue

import openai

from ...errors import GradingError
from ...text import how_many
from .._grader_interface import Control, Outcome, Pair, Tokens
from .._reading.calls import Call, Completion, Steps
from .chat import Answer, Request, prepare_request
from .retry import Outage, backoff_seconds
from .single_call import (
    AttemptFailed,
    Endpoint,
    FormRefused,
    NoCallPossible,
    make_call,
    open_client,
)

BEAT_SECONDS = 1.0
"""Interval of empty batches while no outcomes arrive, so that the caller can commit and report
progress.
"""
LINGER_SECONDS = 0.05
"""Time during which later outcomes join a batch: waking the reader for each one would slow down the
producer.
"""


LOOK_SECONDS = 0.05
"""Interval of checks of the control, because its changes do not notify the loop."""
GRACE_SECONDS = 5.0
"""Time for calls in flight to end, once it is clear that no other call can succeed."""
MOST_CALLS = 1000
"""Maximum number of connections of the client."""
UNREAD = 1024
"""Number of waiting outcomes from which on no new calls are made."""
SILENT_PAIRS = 10
"""Consecutive permanent failures, at least as many as calls in flight, after which an endpoint is
given up.
"""

BARRED_PASSAGES = 3
"""Number of passages whose calls are refused before any answer arrives; the key then counts as
refused.
"""
TRIES_ALONE = 3
"""Number of attempts to reach an endpoint with the few remaining pairs, after other pairs had their
answers.
"""

_log = logging.getLogger("exam.grading")


@dataclass(order=True)
class _PairInProgress:
    """A pair in progress, ordered by the due time of its call (by the endpoint's clock), then by
    age.
    """

    due: float
    age: int
    pair: Pair = field(compare=False)
    steps: Steps = field(compare=False)
    call: Call = field(init=False, compare=False)
    failures: int = field(default=0, compare=False)
    keep: int | None = field(default=None, compare=False)
    plain: bool = field(default=False, compare=False)
    probe: bool = field(default=False, compare=False)
    begun: int = field(default=0, compare=False)
    spared: int = field(default=0, compare=False)
    given_up: str = field(default="", compare=False)


@dataclass(eq=False, repr=False)
class Session:
    """One run of pairs with an endpoint. `work` and its steps run on the session's thread.

    Args:
        endpoint: destination of the calls.
        key: its key; never shown.
        work: pairs with their steps.
        control: control of the job.
    """

    endpoint: Endpoint
    key: str
    work: Iterator[tuple[Pair, Steps]]
    control: Control
    # Outcomes for the caller, and None at the end.
    _outbox: SimpleQueue[Outcome | None] = field(default_factory=SimpleQueue, init=False)
    _ended: threading.Event = field(default_factory=threading.Event, init=False)
    _ages: Iterator[int] = field(default_factory=itertools.count, init=False)
    _exhausted: bool = field(default=False, init=False)
    _waiting: list[_PairInProgress] = field(default_factory=list, init=False)
    _flying: dict[asyncio.Task[Tokens], Request] = field(default_factory=dict, init=False)
    _silent: int = field(default=0, init=False)
    _silent_passage: int | None = field(default=None, init=False)
    _answered: int = field(default=-1, init=False)
    _barred: GradingError | None = field(default=None, init=False)
    # Calls are numbered in the order of their starts: the latest call, and the latest call with an
    # answer.
    _begun: int = field(default=0, init=False)
    _heard: int = field(default=0, init=False)
    # Pairs that failed all attempts while no other pair got an answer: the fault may be the
    # endpoint's.
    _doubtful: list[_PairInProgress] = field(default_factory=list, init=False)
    _failure: BaseException | None = field(default=None, init=False)
    _failed_at: float = field(default=math.inf, init=False)
    _abandoned: threading.Event = field(default_factory=threading.Event, init=False)
    _woken: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        self._outage = Outage(
            self.endpoint.base_url, self.control, self._report, self.endpoint.clock
        )

    def batches(self) -> Iterator[list[Outcome]]:
        """Run, and yield outcomes as they arrive; see `BackEnd.drive`."""
        thread = threading.Thread(target=self._serve, name="endpoint", daemon=True)
        thread.start()
        try:
            batch: list[Outcome | None] = []
            while None not in batch:
                batch = self._receive_outcomes()
                yield [outcome for outcome in batch if outcome is not None]
        finally:
            self._abandoned.set()
            thread.join()
        if self._failure is not None:
            raise self._failure

    def _serve(self) -> None:
        try:
            asyncio.run(self._run())
        except BaseException as error:
            # Raised again in the caller's thread, so that it is not lost.
            self._failure = self._failure or error
        finally:
            self._outbox.put(None)
            self._ended.set()

    def _receive_outcomes(self) -> list[Outcome | None]:
        """Return the outcomes of a short time; the last one is None after the end."""
        batch: list[Outcome | None] = []
        with suppress(Empty):
            batch.append(self._outbox.get(timeout=BEAT_SECONDS))
            self._ended.wait(LINGER_SECONDS)
            while True:
                batch.append(self._outbox.get_nowait())
        return batch

    async def _run(self) -> None:
        async with open_client(self.endpoint, self.key) as client:
            try:
                while self._start_calls(client):
                    await self._wait()
            finally:
                for task in self._flying:
                    task.cancel()
                await asyncio.gather(*self._flying, return_exceptions=True)
                self._outage.end()

    def _start_calls(self, client: openai.AsyncOpenAI) -> bool:
        """Make as many calls as allowed; return whether the session is to continue."""
        while len(self._flying) < self._allowed_calls():
            now = self.endpoint.clock()
            # While the endpoint is unreachable, other pairs are tried before a pair that has failed
            # to reach it.
            behind = (
                self._outage.is_waiting
                and self._waiting
                and self._waiting[0].probe
                and self._takes_more()
            )
            if self._waiting and self._waiting[0].due <= now and not behind:
                if not self._start(client, heapq.heappop(self._waiting)):
                    break
            elif self._takes_more():
                self._start_pair()
            else:
                break
        if self._abandoned.is_set():
            return False
        if self._failure is not None:
            expired = asyncio.get_running_loop().time() > self._failed_at + GRACE_SECONDS
            return bool(self._flying) and not expired and isinstance(self._failure, GradingError)
        if self.control.stopping:
            return bool(self._flying)
        if self._exhausted and not self._flying and not self._waiting:
            if self._barred is not None and self._answered < 0:
                self._fail(self._barred)
            else:
                self._give_up_doubtful(every=True)
        return bool(self._flying or self._waiting) or not self._exhausted

    def _allowed_calls(self) -> int:
        """Return the number of calls that may be in flight now."""
        control = self.control
        over = self._failure is not None or self._abandoned.is_set() or control.stopping
        if over or control.paused or self._outbox.qsize() >= UNREAD:
            return 0
        if self._outage.is_waiting:
            return self._outage.allowed_calls
        return min(self.endpoint.pace.allowed_calls(self._max_calls), MOST_CALLS)

    @property
    def _max_calls(self) -> int:
        """Maximum number of calls in flight, by the control and the owner of the endpoint."""
        most, limit = self.control.concurrency, self.endpoint.in_flight
        return most if limit is None else min(most, limit)

    def _takes_more(self) -> bool:
        """Return whether to start another pair. Pairs that wait for an attempt take no slots, but
        must not pile up. Each of them may need a further call, which the cap must allow.
        """
        begun, cap = len(self._waiting) + len(self._flying), self.control.max_calls
        if begun and cap is not None and cap - self.control.usage.calls <= begun:
            return False
        return not self._exhausted and begun < 2 * min(self._max_calls, MOST_CALLS)

    def _start_pair(self) -> None:
        if (new := next(self.work, None)) is None:
            self._exhausted = True
        else:
            self._go_on(_PairInProgress(-math.inf, next(self._ages), *new), None)

    def _start(self, client: openai.AsyncOpenAI, in_progress: _PairInProgress) -> bool:
        """Make a pair's call if possible; return whether the budget may allow another one now."""
        end = self.endpoint
        dialect = replace(end.dialect, structured=False) if in_progress.plain else end.dialect
        request = prepare_request(
            in_progress.call,
            end.model,
            end.temperature,
            dialect,
            in_progress.keep,
            end.max_tokens_in,
            end.thinking,
            end.extra,
        )
        if isinstance(request, Completion):
            self._go_on(in_progress, request)
        elif not self.control.reserve(*request.reserved, patient=True):
            if not self.control.exhausted:
                # The reservations of calls in flight exceed their usage, so the call may be allowed
                # later.
                heapq.heappush(self._waiting, in_progress)
            return False
        else:
            in_progress.probe = self._outage.is_waiting
            self._begun += 1
            in_progress.begun = self._begun
            task = asyncio.create_task(self._call(client, in_progress, request))
            self._flying[task] = request
            task.add_done_callback(self._end_call)
        return True

    def _end_call(self, task: asyncio.Task[Tokens]) -> None:
        request = self._flying.pop(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._fail(error)
        used = Tokens() if task.cancelled() or error is not None else task.result()
        self.control.replace_reservation(request.reserved, used)
        self._woken.set()

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
            self._failed_at = asyncio.get_running_loop().time()

    async def _call(
        self, client: openai.AsyncOpenAI, asked: _PairInProgress, request: Request
    ) -> Tokens:
        """Make one call, act on its verdict, and return the tokens that it used."""
        verdict = await make_call(client, self.endpoint, request, self.key)
        if not isinstance(verdict, AttemptFailed) and (asked.probe or not self._outage.is_waiting):
            self._outage.end_on_answer()
        match verdict:
            case Answer():
                self._silent, self._answered = 0, max(self._answered, asked.age)
                self._heard = max(self._heard, asked.begun)
                self._give_up_doubtful()
                self.endpoint.pace.answered()
                if verdict.model:
                    self.control.answered_by(verdict.model)
                if verdict.completion.error is not None:
                    self._report(verdict.completion.error)
                self._go_on(asked, verdict.completion)
            case AttemptFailed():
                self._retry(asked, verdict)
            case FormRefused():
                self._report(verdict.reason)
                asked.keep = asked.keep if verdict.keep is None else verdict.keep
                asked.plain = asked.plain or verdict.plain
                self._ask_again(asked, -math.inf)
            case NoCallPossible(reason=""):
                self._stop(verdict.error, verdict.error.message)
            case NoCallPossible() if self._answered < 0:
                self._postpone(asked, verdict)
            case _:
                self._report(verdict.reason)
                self._give_up(asked, verdict.reason, "refuses the calls", verdict.reason)
        return verdict.used

    def _stop(self, error: GradingError, problem: str) -> None:
        """End all calls because of the error of one call."""
        self._report(problem)
        self._fail(error)

    def _postpone(self, in_progress: _PairInProgress, verdict: NoCallPossible) -> None:
        """Wait for an answer to another passage, to tell a refused passage from a refused key."""
        self._report(verdict.reason)
        in_progress.given_up, self._barred = verdict.reason, verdict.error
        self._doubtful.append(in_progress)
        if (
            len({doubtful.pair[1] for doubtful in self._doubtful}) >= BARRED_PASSAGES
            or len(self._doubtful) >= SILENT_PAIRS
        ):
            self._fail(verdict.error)

    def _retry(self, in_progress: _PairInProgress, fault: AttemptFailed) -> None:
        """Schedule a pair's next attempt, or fail it; wait for an unreachable endpoint."""
        problem = fault.reason + (f": {fault.detail}" if fault.detail else "")
        if self._outage.is_waiting:
            self._retry_during_outage(in_progress, problem, fault.wait)
            return
        if fault.slow and in_progress.begun > self._heard:
            # No call that started later has an answer, so the load may make all of them slow.
            if self.endpoint.pace.halve_calls(len(self._flying), in_progress.begun, self._begun):
                self._report(f"{problem}; the number of parallel calls is reduced")
                self._ask_again(in_progress, self.endpoint.clock())
                return
            if self.endpoint.is_hanging and self.control.patience <= 0:
                self._stop(
                    self._outage.given_up("does not answer. The last call ended", problem), problem
                )
                return
            in_progress.failures = (
                self.endpoint.attempts if self.endpoint.is_hanging else in_progress.failures
            )
            self.endpoint.stretched = 2 * self.endpoint.limit_s
        in_progress.failures += 1
        wait = (
            backoff_seconds(in_progress.failures, random.random())
            if fault.wait is None
            else fault.wait
        )
        if wait > self.control.longest_pause:
            error = GradingError(
                "endpoint-gone",
                f"The endpoint asks to wait for {wait:,.0f} s: {problem}.",
                "Try again after that time. A job with a longer time limit"
                " (--patience) waits by itself.",
            )
            self._stop(error, problem)
            return
        if fault.for_all:
            self.endpoint.pace.delay_calls(wait, len(self._flying))
            self._outage.asked_to_wait(problem, wait)
        attempts = (
            self.endpoint.attempts if self.control.attempts is None else self.control.attempts
        )
        if in_progress.failures < attempts:
            self._report(
                f"{problem} (attempt {in_progress.failures} of {attempts},"
                f" the next in {wait:.1f} s)"
            )
            self._ask_again(in_progress, self.endpoint.clock() + wait)
        else:
            self._give_up_or_doubt(in_progress, fault, problem)

    def _retry_during_outage(
        self, in_progress: _PairInProgress, problem: str, wait: float | None
    ) -> None:
        """Continue waiting after a failed try. It does not count as an attempt of the pair, which
        is not at fault.
        """
        if in_progress.probe and self._left_alone():
            self._outage.end()
            self._doubtful += [in_progress, *self._waiting]
            self._waiting = []
            return
        if in_progress.probe:
            self._wait_on(problem, wait)
        in_progress.failures = 0
        self._ask_again(in_progress, self.endpoint.clock())

    def _give_up_or_doubt(
        self, in_progress: _PairInProgress, fault: AttemptFailed, problem: str
    ) -> None:
        """Fail a pair after its last attempt, or put it aside if the endpoint may be at fault."""
        # A person who tries one pair needs the details; in a job, equal reasons are counted.
        attempts = how_many(in_progress.failures, "attempts")
        in_progress.given_up = (
            problem if self.control.attempts == 1 else f"{fault.reason} after {attempts}"
        )
        # A pair that fails again after an outage, while others succeed, is itself at fault.
        spared_in_vain = 0 < in_progress.spared < self._heard
        # An unusable answer says nothing about the endpoint once a later pair has its answer.
        silent = in_progress.begun > self._heard and not (
            fault.said and in_progress.age < self._answered
        )
        if self.control.patience > 0 and silent and not spared_in_vain:
            self._doubtful.append(in_progress)
            if (
                fault.gone
                or (fault.slow and self.endpoint.is_hanging)
                or len(self._doubtful) >= max(SILENT_PAIRS, self._max_calls)
            ):
                self._wait_on(problem, fault.wait)
            return
        self._report(f"{problem} (attempt {in_progress.failures}, no more attempts)")
        self._give_up(in_progress, in_progress.given_up, "does not answer", problem)

    def _ask_again(self, in_progress: _PairInProgress, due: float) -> None:
        in_progress.due = due
        heapq.heappush(self._waiting, in_progress)

    def _left_alone(self) -> bool:
        """Return whether only a few pairs are left that failed and were tried again, too few to
        wait long for.
        """
        few = (
            self._exhausted
            and len(self._waiting) < SILENT_PAIRS - 1
            and all(waiting.spared for waiting in self._waiting)
        )
        return few and self._heard > 0 and self._outage.tries >= TRIES_ALONE

    def _wait_on(self, problem: str, asked_wait: float | None) -> None:
        """Wait for the endpoint, or give up if the patience has ended."""
        if (given_up := self._outage.wait(problem, asked_wait)) is not None:
            self._fail(given_up)
        for in_progress in self._doubtful:
            in_progress.spared = self._begun
        self._waiting += self._doubtful
        self._doubtful = []
        # Schedule all waiting pairs as if no attempt had been made.
        for in_progress in self._waiting:
            in_progress.failures = 0
            in_progress.due = min(in_progress.due, self.endpoint.clock())
        heapq.heapify(self._waiting)

    def _give_up_doubtful(self, every: bool = False) -> None:
        """Fail pairs that are at fault themselves: a call that started after their last attempt was
        answered.

        Args:
            every: whether all of them fail, because no pairs are left to ask.
        """
        lost = [
            in_progress
            for in_progress in self._doubtful
            if every or in_progress.begun < self._heard
        ]
        self._doubtful = [
            in_progress
            for in_progress in self._doubtful
            if not every and in_progress.begun >= self._heard
        ]
        for in_progress in lost:
            self._report(f"{in_progress.given_up}, no more attempts")
            self._go_on(in_progress, Completion(error=in_progress.given_up))

    def _give_up(self, in_progress: _PairInProgress, error: str, what: str, last: str) -> None:
        """Fail a pair; also give up the endpoint if too many pairs in a row fail for good without a
        success.
        """
        self._go_on(in_progress, Completion(error=error))
        # If a pair that started later has its answer, the endpoint works, and this slower failure
        # says nothing about it. Consecutive questions are often about one passage, and that passage
        # may be the cause.
        if in_progress.age < self._answered or (
            self._answered >= 0 and in_progress.pair[1] == self._silent_passage
        ):
            return
        self._silent_passage = in_progress.pair[1]
        self._silent += 1
        if self._silent >= max(SILENT_PAIRS, self._max_calls):
            self._fail(
                self._outage.given_up(
                    f"{what}: {self._silent} pairs in a row failed, the last one", last
                )
            )

    def _go_on(self, in_progress: _PairInProgress, completion: Completion | None) -> None:
        """Send a completion to a pair's steps, or None to start them; accept their next call or
        their grade.
        """
        try:
            in_progress.call = (
                next(in_progress.steps)
                if completion is None
                else in_progress.steps.send(completion)
            )
        except StopIteration as end:
            self._outbox.put((*in_progress.pair, end.value))
        else:
            in_progress.failures, in_progress.keep, in_progress.plain = 0, None, False
            self._ask_again(in_progress, -math.inf)

    async def _wait(self) -> None:
        """Wait until a call ends, one is due, or it is time to check the control."""
        soon = [self.endpoint.pace.closed_for]
        if self._waiting:
            soon.append(self._waiting[0].due - self.endpoint.clock())
        seconds = min([LOOK_SECONDS, *(wait for wait in soon if wait > 0)])
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self._woken.clear()

    def _report(self, line: str) -> None:
        """Report a failed call; external texts arrive here without the key."""
        _log.warning("%s: %s", self.endpoint.model, line)
        self.control.report(line)
