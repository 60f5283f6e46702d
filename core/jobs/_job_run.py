"""Limits, execution and threads of long jobs, whose results are committed in batches."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Generic, TypeVar

from .. import graders
from ..bank import model_prices
from ..choices import CONCURRENCY, PATIENCE
from ..errors import GradingError, InputError, WorkbenchError
from ..records import (
    Job,
    JobKind,
    count_results,
    end_job,
    recorded_jobs,
    set_usage,
    written_results,
)
from ..store import ActName, Cursor, Project


@dataclass(frozen=True, kw_only=True)
class Caps:
    """Limits of a job.

    Args:
        max_calls: maximum number of model calls, retries included; None for no limit.
        max_cost: maximum cost, in the currency of the price table; None for no limit.
        concurrency: maximum number of simultaneous calls, for a model behind an endpoint.
        patience: seconds for which the job waits for an unreachable endpoint before it ends.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    concurrency: int = CONCURRENCY
    patience: float = PATIENCE


UNCAPPED = Caps()


@dataclass(frozen=True, kw_only=True)
class JobScope(Caps):
    """Selection of the missing work that a job does, within its limits.

    Args:
        limit: maximum number of results; None for all.
        retry_failed: whether to ask again for failed results, too.
        only_failed: whether to ask for failed results only.
    """

    limit: int | None = None
    retry_failed: bool = False
    only_failed: bool = False

    def includes(self, was_asked: bool, failed: bool) -> bool:
        """Return whether the job asks for a result.

        Args:
            was_asked: whether it was asked before.
            failed: whether that call failed.
        """
        if not was_asked:
            return not self.only_failed
        return failed and (self.retry_failed or self.only_failed)


ALL_MISSING = JobScope()


def job_control(
    project: Project,
    model: str,
    back_end: graders.BackEnd | None,
    caps: Caps = UNCAPPED,
    report: Callable[[str], None] = lambda line: None,
    batch: bool = False,
    **options: Any,
) -> graders.Control:
    """Return the control of a job that asks a model. Each limit is the lower of the person's and
    the owner's.

    Every model call starts here, so this is also where people whose role excludes spending are
    refused.

    Args:
        model: its name in the price table.
        back_end: the model; None if the job asks no model, so that no limit applies.
        report: called with a line for every failed call, and when the job waits for an endpoint.
        batch: whether calls have the batch price.
        options: further arguments of `Control`.

    Raises:
        InputError: money is limited and the model has no price.
        NotAllowed: the role of the person does not include asking models.
    """
    if back_end is None:
        return graders.Control(concurrency=caps.concurrency, report=report, **options)
    project.require("ask models")
    offered: graders.OfferedEndpoint | None = getattr(back_end, "offered", None)
    calls = [
        cap for cap in (caps.max_calls, offered.max_calls if offered else None) if cap is not None
    ]
    costs = [
        cap for cap in (caps.max_cost, offered.max_cost if offered else None) if cap is not None
    ]
    price = model_prices(project).get(model)
    if costs and price is None:
        raise InputError(
            "no-price",
            f"No price for {model}, so a cost limit cannot be kept.",
            "Set its price on the Grading screen or with exam prices set MODEL INPUT OUTPUT, or"
            " limit the calls.",
        )
    # Local models cost no money.
    endpoint = hasattr(type(back_end), "offered")
    return graders.Control(
        min(calls, default=None),
        min(costs, default=None),
        price.in_batch if price and batch else price,
        caps.concurrency,
        report,
        patience=caps.patience,
        caller=f"{project.path} {project.caller}" if project.caller and endpoint else None,
        **options,
    )


def trial_control(project: Project, grader: graders.Grader) -> graders.Control:
    """Return the control for a person who waits for one call. Only the limits of the endpoint's
    owner apply.

    Raises:
        InputError: the owner has set a spending limit, but the model has no price.
    """
    # A person who waits can try again.
    return job_control(
        project,
        grader.spec.model,
        getattr(grader, "back_end", None),
        Caps(patience=0.0),
        attempts=1,
    )


@dataclass(frozen=True)
class Progress:
    """Progress of a job.

    Args:
        state: preparing, running, done, cancelled, stopped (a budget is used up) or failed.
        total, graded, defaulted, failed: numbers of pairs; the defaulted ones are among the graded.
        seconds: time since the first pair was asked, without pauses and outages of the endpoint.
        usage: calls, tokens and money.
        message: reason of a failure, or advice for the person.
        remarks: further sentences about how the model was asked; the message includes them.
    """

    state: str
    total: int = 0
    graded: int = 0
    failed: int = 0
    defaulted: int = 0
    seconds: float = 0.0
    message: str = ""
    usage: graders.Usage = graders.NOTHING_USED
    remarks: str = ""

    @property
    def done(self) -> int:
        """Number of pairs that need no further call."""
        return self.graded + self.failed

    @property
    def rate(self) -> float:
        """Pairs per second so far; 0 before the first."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimate from the rate so far; None before the first pair."""
        return (self.total - self.done) / self.rate if self.rate else None

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self.state in ("done", "cancelled", "stopped", "failed")


CARRIED: dict[tuple[str, int], graders.Control] = {}
"""Controls of the jobs that this process runs, by project path and job key."""


def find_jobs(project: Project, *kinds: JobKind, **chosen: Any) -> list[Job]:
    """Return jobs like `project.recorded_jobs`, with the state "paused" for paused ones."""
    place = str(project.path)
    paused = {
        key for (path, key), control in list(CARRIED.items()) if path == place and control.paused
    }
    return [
        replace(job, state="paused") if job.key in paused and job.state == "running" else job
        for job in recorded_jobs(project, *kinds, **chosen)
    ]


def find_job(project: Project, key: int) -> Job:
    """Return a grading job as currently recorded."""
    return find_jobs(project, "grading", keys=[key])[0]


def job_usage(job: Job) -> graders.Usage:
    """Return the usage of a job so far."""
    return graders.Usage(
        job.calls or 0,
        job.input_tokens or 0,
        job.output_tokens or 0,
        job.cost or 0.0,
        job.cached_tokens or 0,
        job.thinking_tokens or 0,
    )


def record_usage(cursor: Cursor, job: int, usage: graders.Usage) -> None:
    """Record the usage of a job so far."""
    set_usage(cursor, job, usage.calls, usage.tokens, usage.cost)


COMMIT_SHARE = 0.2
"""Share of a job's time that may go into commits. A crash loses only the results since the last
commit.
"""
COMMIT_SECONDS = 1.0
"""Longest time between two commits, in seconds."""

Result = TypeVar("Result")


@dataclass(eq=False)
class ResultWriter(Generic[Result]):
    """Commits results as they arrive, and limits the share of time that commits take.

    Args:
        job: its key in the project.
        progress: at its start.
        report: called with the progress at the start, after every commit and at the end.
        write: writes results within a transaction.
        failed: whether a result is unusable.
        defaulted: whether a reply was unreadable and got the default value.
    """

    project: Project
    job: int
    progress: Progress
    report: Callable[[Progress], None]
    control: graders.Control
    write: Callable[[Cursor, Sequence[Result]], object]
    failed: Callable[[Result], bool]
    defaulted: Callable[[Result], bool] = lambda result: False
    waiting: list[Result] = field(default_factory=list, init=False)
    rest: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.started = self.committed = time.monotonic()
        self.paused_before = self.control.paused_seconds

    @property
    def paused_seconds(self) -> float:
        """How long the job was paused, or waited for an unreachable endpoint, so far."""
        return self.control.paused_seconds - self.paused_before

    def add_results(self, results: Sequence[Result]) -> None:
        """Add results, and commit them if a commit is due."""
        self.waiting.extend(results)
        # While a job is paused, the next result may be hours away.
        if self.control.paused or time.monotonic() - self.committed >= self.rest:
            self.commit()

    def commit(self) -> None:
        """Write the waiting results, and report the progress."""
        begun = time.monotonic()
        if self.waiting:
            failed = sum(map(self.failed, self.waiting))
            usable = len(self.waiting) - failed

            def write_results(cursor: Cursor) -> None:
                # If the database reported an error during a commit, it may have stored these
                # results nevertheless.
                if written_results(cursor, self.job) == self.progress.done:
                    self.write(cursor, self.waiting)
                    count_results(cursor, self.job, usable, failed)
                    record_usage(cursor, self.job, self.control.usage)

            self.project.write(write_results)
            self.progress = replace(
                self.progress,
                graded=self.progress.graded + usable,
                failed=self.progress.failed + failed,
                defaulted=self.progress.defaulted + sum(map(self.defaulted, self.waiting)),
            )
            self.waiting = []
        self.committed = time.monotonic()
        self.rest = min((self.committed - begun) * (1 / COMMIT_SHARE - 1), COMMIT_SECONDS)
        # During a pause, `paused_seconds` grows after `committed` was set, so the difference may be
        # negative.
        seconds = max(self.committed - self.started - self.paused_seconds, 0.0)
        self.progress = replace(self.progress, seconds=seconds, usage=self.control.usage)
        self.report(self.progress)


REPORTED_ENDS = (Exception, KeyboardInterrupt)
"""Ends of a job that its caller reports. Any other exception ends the caller too, as when a screen
is closed.
"""


def run_recorded_job(
    writer: ResultWriter[Result],
    batches: Callable[[], Iterable[Sequence[Result]]],
    again: str,
    rest: str,
    who: str,
    remarks: Callable[[], str],
    log_end: Callable[[Cursor, Progress], object],
    raises: bool = False,
) -> Progress:
    """Run a job from its first result to its end, commit its results, and record how it ended.

    Args:
        batches: yields the results as they arrive; it ends early if the writer's control says so.
        again, rest: advice after an early end and its purpose, such as "Start grading again" and
            "to grade the remaining pairs".
        who: name of the failing part for unexpected errors, such as "The grader".
        remarks: returns sentences that are known at the end.
        log_end: logs the end, within the transaction that records it.
        raises: whether to raise an error or Ctrl+C that ended the job, after its end is recorded.

    Returns:
        The final progress; its state is done, cancelled, stopped or failed.
    """
    control, place = writer.control, (str(writer.project.path), writer.job)
    CARRIED[place] = control
    error: BaseException | None = None
    try:
        writer.report(writer.progress)
        for results in batches():
            writer.add_results(results)
    except BaseException as caught:
        error = caught
    if error is not None and not isinstance(error, REPORTED_ENDS):
        writer.report = lambda progress: None
    state, message = _job_end(control, error, again, rest, who)
    writer.commit()
    closing_remarks = " ".join(filter(None, (control.overrun, remarks())))
    message = " ".join(filter(None, (message, closing_remarks)))
    final = replace(writer.progress, state=state, message=message, remarks=closing_remarks)

    def record_end(cursor: Cursor) -> None:
        # Failed calls are in no batch of results, but may cost money.
        record_usage(cursor, writer.job, control.usage)
        if end_job(cursor, writer.job, state, message, writer.paused_seconds):
            log_end(cursor, final)

    writer.project.write(record_end)
    CARRIED.pop(place)
    writer.report(final)
    if error is not None and (raises or not isinstance(error, REPORTED_ENDS)):
        raise error
    return final


def _job_end(
    control: graders.Control, error: BaseException | None, again: str, rest: str, who: str
) -> tuple[str, str]:
    """Return the state and the message of a job that has ended, see `run_recorded_job`."""
    match error:
        case None if control.cancelled:
            return "cancelled", f"{control.cancelled_by} {again} {rest}."
        case None if control.exhausted:
            used_up = f"The budget is used up. {again} with a new budget {rest}."
            return "stopped", "" if control.overrun else used_up
        case None:
            return "done", ""
        case WorkbenchError():
            return "failed", str(error)
        case MemoryError():
            return (
                "failed",
                f"Out of memory. Close other programs, or choose a smaller model. {again} {rest}.",
            )
        case Exception():
            # Models can raise any error. The job ends, its results are kept, and the message names
            # the error.
            return "failed", f"{who} failed: {type(error).__name__}: {error}"
    control.cancel()
    reason = (
        "Cancelled from the keyboard."
        if isinstance(error, KeyboardInterrupt)
        else "The screen was closed."
    )
    return "cancelled", f"{str(error) or reason} {again} {rest}."


LOGGED_LINES = 200
"""Maximum number of log lines about failed calls that a screen can show; the log has all of them.
"""
QUIET_SECONDS, QUIET_TIMES = 10.0, 3.0
"""A job is quiet if no result arrives for `QUIET_SECONDS`, and for `QUIET_TIMES` the average time
of a result.
"""

Report = Callable[[str, Progress], None]
"""Called with the name of the active grader, examinee or model, and with its progress."""


@dataclass(eq=False)
class BackgroundJob:
    """A job that runs in a thread while screens show its progress.

    Args:
        name: the first grader, examinee or model that the job asks.
        subject: the object behind the name, such as the `GraderSpec` of a grader.
        things: plural noun for the results, such as "answers".
        request: the request that started the job.
        control: pauses, resumes and cancels the job; its reports go to `log`.
        work: does the job in the thread.

    Attributes:
        name: the active grader, examinee or model, or the last one after the end.
        progress: the progress of that grader, examinee or model.
        result: the return value of `work`; None before the end and if the job failed.
        log: lines about failed calls.
        over: whether the job has ended.
    """

    name: str
    things: str
    request: Any
    author: str
    control: graders.Control
    work: Callable[[Report, BackgroundJob], Any] = field(repr=False)
    subject: Any = None
    progress: Progress = field(default=Progress("preparing"), init=False)
    result: Any = field(default=None, init=False)
    over: bool = field(default=False, init=False)
    log: deque[str] = field(default_factory=partial(deque[str], maxlen=LOGGED_LINES), init=False)
    started_at: datetime = field(default_factory=datetime.now, init=False)
    _started: float = field(default_factory=time.monotonic, init=False)
    _times: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.control.report = self.log.append
        self._came_at = self._clock()
        # The thread loads models, so it needs the keys and endpoints that its starter may use.
        self._access = graders.current_access()
        self._thread = threading.Thread(target=self._run, name="job", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with graders.use_access(self._access):
                self.result = self.work(self._report, self)
        except WorkbenchError as error:
            self.progress = replace(self.progress, state="failed", message=str(error))
        except Exception as error:
            # No caller waits for this thread: an error raised here would be lost if it were not
            # shown.
            self.progress = Progress("failed", message=f"The job failed: {error}")
        finally:
            self.over = True

    def _report(self, name: str, progress: Progress) -> None:
        # A report can arrive without a new result.
        if name != self.name or progress.done > self.progress.done:
            self._came_at, self._times = self._clock(), self._times + 1
        self.name, self.progress = name, progress

    def _clock(self) -> float:
        """Return the seconds on a monotonic clock, without pauses and outages."""
        return time.monotonic() - self.control.paused_seconds

    @property
    def ended(self) -> Mapping[str, Progress]:
        """Final progress by name of the grader, examinee or model."""
        return self.result if isinstance(self.result, Mapping) else {}

    @property
    def quiet_seconds(self) -> float | None:
        """Seconds without a result if that is unusually long (see `QUIET_SECONDS`), else None.

        None before the first result.
        """
        if not self._times or self.over:
            return None
        quiet = self._clock() - self._came_at
        return (
            quiet
            if quiet > max(QUIET_SECONDS, QUIET_TIMES * self.progress.seconds / self._times)
            else None
        )

    @property
    def seconds(self) -> float:
        """Seconds since the start, pauses included."""
        return time.monotonic() - self._started

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; return whether the job ended in time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()


_running: dict[tuple[str, str], BackgroundJob] = {}
_starting = threading.Lock()


def start_background(
    project: Project,
    family: str,
    act: ActName,
    author: str,
    make: Callable[[Project], BackgroundJob],
) -> BackgroundJob:
    """Start a job in the background.

    Args:
        family: jobs that exclude each other in a project, such as "grading".
        act: the action that the role of the author must include.
        make: makes the job for this project, with the rights of the server.

    Raises:
        GradingError: a job of the family is running.
        NotAllowed: the role of the author does not include the action.
    """
    project.require(act, author=author)
    place = (str(project.path), family)

    with _starting:
        if (known := _running.get(place)) is not None and not known.over:
            raise GradingError(
                "job-running",
                f"Another job ({known.name}) is already running.",
                "Wait until it ends, or cancel it.",
            )
        _running[place] = make(project.unattended())
        # A project that is created later at the same path has no jobs yet.
        project.when_closed(partial(_running.pop, place, None))
        return _running[place]


def running_jobs(project: Project) -> dict[str, BackgroundJob]:
    """Return the running jobs that this process started for a project, by family."""
    place = str(project.path)
    return {
        family: job
        for (path, family), job in list(_running.items())
        if path == place and not job.over
    }


def current_job(project: Project, family: str = "grading") -> BackgroundJob | None:
    """Return the running or last job of a family that this process started for a project; None
    without one.
    """
    return _running.get((str(project.path), family))
