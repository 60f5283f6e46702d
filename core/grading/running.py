"""Grading jobs: ask a grader for the pairs that are missing, commit as the answers come, stop cleanly."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from core.bank import check_version
from core.catalogue import put_grader
from core.errors import GradingError, WorkbenchError
from core.graders import NOTHING_USED, Control, Grader, Outcome, Usage, said_of_models
from core.grading.budgets import budget
from core.grading.grades import add_outcomes
from core.grading.jobs import advance, committed, end, start
from core.grading.kept_vectors import ProjectVectors
from core.grading.pairs import pairs_to_grade, trial_pairs, with_texts
from core.grading.scope import EVERYTHING, Scope
from core.project import Cursor, Project, log
from core.types import Question

CHUNK = 4096
"""Pairs whose texts are in memory at a time, at least; a query's stay together."""
LOGGED_LINES = 200
"""Lines about failed calls that a screen can show; the log has all of them."""
COMMIT_SHARE = 0.2
"""Part of a job's time that may go into commits: what came since the last one is all that a crash can lose."""
COMMIT_SECONDS = 1.0
"""Grades are committed at least this often."""


@dataclass(frozen=True)
class Request:
    """What a job is asked to do.

    Args:
        scope: which of the missing pairs are asked.
        bank_version: whose active questions are graded; the newest for None.
        max_calls: calls of the model at most, retries included.
        max_cost: money at most, in the currency of the price table.
        concurrency: calls in flight at most, for a model behind an endpoint.
        trial: questions to grade instead of the bank's, as a draft words them: grades are about texts,
            so what is graded before saving is known after it. None for the bank's.
    """

    scope: Scope = EVERYTHING
    bank_version: int | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    concurrency: int = 8
    trial: tuple[Question, ...] | None = None


@dataclass(frozen=True)
class Progress:
    """How far a job is.

    Args:
        state: preparing, running, done, cancelled, stopped (a budget is used up) or failed.
        total, graded, defaulted, failed: numbers of pairs; the defaulted ones are among the graded.
        seconds: since the first pair was asked, less what was spent waiting.
        usage: calls, tokens and money.
        message: why it failed, or what the person should know.
        remarks: what else the person should know of how the model was asked, as sentences; the message has them too.
    """

    state: str
    total: int = 0
    graded: int = 0
    failed: int = 0
    defaulted: int = 0
    seconds: float = 0.0
    message: str = ""
    usage: Usage = NOTHING_USED
    remarks: str = ""

    @property
    def done(self) -> int:
        """Pairs that need no more asking."""
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
    def over(self) -> bool:
        """Whether the job has ended."""
        return self.state in ("done", "cancelled", "stopped", "failed")


def run_job(
    project: Project,
    grader: Grader,
    request: Request,
    author: str,
    report: Callable[[Progress], None] = lambda progress: None,
    control: Control | None = None,
) -> Progress:
    """Grade what is missing, in this thread, until done, cancelled or at the end of its budget.

    Args:
        report: is told of the progress after every commit.
        control: the reins; made of the request for None.

    Returns:
        The final progress; its state is done, cancelled, stopped or failed.

    Raises:
        InputError: the request names an unknown bank version or run.
    """
    control = control or make_control(project, grader, request)
    version = check_version(project, request.bank_version)
    if request.trial is not None:
        groups = trial_pairs(project, grader.spec, request.trial)
    else:
        groups = pairs_to_grade(project, grader.spec, version, request.scope)
    total = sum(map(len, groups))
    with project.transaction() as cursor:
        grader_key = put_grader(cursor, grader.spec)
        job = start(cursor, grader_key, _asked(request, version), total, author)
        log(cursor, author, "start job", job=job, grader=grader.spec.name, pairs=total)
    keeper = _Keeper(project, grader_key, job, Progress("running", total), report, control)
    state, message = "done", ""
    try:
        for pairs in _chunks(groups):
            texts = with_texts(project, grader.spec, pairs)
            for outcomes in grader.grade(texts.questions, texts.passages, texts.pairs, control):
                keeper.take(outcomes)
            if control.stopping:
                break
        if control.cancelled:
            state, message = "cancelled", "Stopped by a person. Run it again to grade the rest."
        elif control.exhausted:
            used_up = "The budget is used up. Run it again with a new one to grade the rest."
            state, message = "stopped", "" if control.overrun else used_up
    except KeyboardInterrupt:
        state, message = "cancelled", "Stopped from the keyboard. Run it again to grade the rest."
    except WorkbenchError as error:
        state, message = "failed", str(error)
    except Exception as error:
        # A model may break in ways of its own; the job ends, what it gave is kept, and the reason is told.
        state, message = "failed", f"The grader broke: {type(error).__name__}: {error}"
    keeper.commit()
    remarks = " ".join(filter(None, (control.overrun, said_of_models(grader.spec.model, control.models))))
    message = " ".join(filter(None, (message, remarks)))
    counts = {"graded": keeper.progress.graded, "failed": keeper.progress.failed}

    def finish(cursor: Cursor) -> None:
        if end(cursor, job, state, message):
            log(cursor, author, f"job {state}", job=job, **counts)

    project.write(finish)
    final = replace(keeper.progress, state=state, message=message, remarks=remarks)
    report(final)
    return final


def _asked(request: Request, version: int) -> dict[str, Any]:
    """What the record of a job keeps of its request."""
    given = asdict(request.scope) | {name: getattr(request, name) for name in ("max_calls", "max_cost", "concurrency")}
    asked = {name: value for name, value in given.items() if value not in (None, False)} | {"bank_version": version}
    return asked if request.trial is None else asked | {"trial": len(request.trial)}


def make_control(
    project: Project, grader: Grader, request: Request, report: Callable[[str], None] = lambda line: None
) -> Control:
    """The reins of a job: its caps, the price of the grader's model in the project's table, the project's vectors."""
    caps = budget(project, grader.spec.model, getattr(grader, "back_end", None), request.max_calls, request.max_cost)
    return Control(
        caps.max_calls,
        caps.max_cost,
        caps.price,
        request.concurrency,
        report,
        vectors=ProjectVectors(project),
    )


def _chunks(groups: Sequence[list[tuple[int, int]]]) -> Iterator[list[tuple[int, int]]]:
    """The groups one after the other, small ones together: a model that takes many calls is kept busy."""
    chunk: list[tuple[int, int]] = []
    for pairs in groups:
        chunk.extend(pairs)
        if len(chunk) >= CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class _Keeper:
    """Commits outcomes as they come, as long as committing takes a small part of the time."""

    def __init__(
        self,
        project: Project,
        grader_key: int,
        job: int,
        progress: Progress,
        report: Callable[[Progress], None],
        control: Control,
    ) -> None:
        self.control = control
        self.project = project
        self.grader_key = grader_key
        self.job = job
        self.progress = progress
        self.report = report
        self.started = self.committed = time.monotonic()
        self.rest = 0.0
        self.waiting: list[Outcome] = []
        report(progress)

    def take(self, outcomes: Sequence[Outcome]) -> None:
        self.waiting.extend(outcomes)
        # While a job is paused nothing more may come for long.
        if self.control.paused or time.monotonic() - self.committed >= self.rest:
            self.commit()

    def commit(self) -> None:
        begun = time.monotonic()
        if self.waiting:
            failed = sum(grade.rating is None for _, _, grade in self.waiting)
            graded = len(self.waiting) - failed

            def write(cursor: Cursor) -> None:
                # Where the engine gave up while it committed, it may have kept these nevertheless.
                if committed(cursor, self.job) == self.progress.done:
                    add_outcomes(cursor, self.grader_key, self.waiting, self.job)
                    advance(cursor, self.job, graded, failed, self.control.usage)

            self.project.write(write)
            defaulted = sum(grade.status == "defaulted" for _, _, grade in self.waiting)
            self.waiting = []
            self.progress = replace(
                self.progress,
                graded=self.progress.graded + graded,
                failed=self.progress.failed + failed,
                defaulted=self.progress.defaulted + defaulted,
            )
        self.committed = time.monotonic()
        self.rest = min((self.committed - begun) * (1 / COMMIT_SHARE - 1), COMMIT_SECONDS)
        self.progress = replace(
            self.progress,
            seconds=self.committed - self.started - self.control.paused_seconds,
            usage=self.control.usage,
        )
        self.report(self.progress)


class BackgroundJob:
    """A job that runs in a thread of this process while screens look at its progress."""

    def __init__(self, project: Project, grader: Grader, request: Request, author: str) -> None:
        self.grader_name = grader.spec.name
        self.spec = grader.spec
        self.request = request
        self.progress = Progress("preparing")
        self.started_at = datetime.now()
        self._started = time.monotonic()
        self.log: deque[str] = deque(maxlen=LOGGED_LINES)
        self.control = make_control(project, grader, request, self.log.append)
        self._thread = threading.Thread(
            target=self._run, args=(project, grader, request, author), name="grading", daemon=True
        )
        self._thread.start()

    def _run(self, project: Project, grader: Grader, request: Request, author: str) -> None:
        try:
            run_job(project, grader, request, author, self._report, self.control)
        except Exception as error:
            # Nobody waits for this thread: what is raised here would be lost if it were not shown.
            self.progress = Progress("failed", message=f"The job could not go on: {error}")

    def _report(self, progress: Progress) -> None:
        self.progress = progress

    @property
    def seconds(self) -> float:
        """Since it was started, waiting included."""
        return time.monotonic() - self._started

    def cancel(self) -> None:
        """Ask the job to stop with the calls in flight."""
        self.control.cancel()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; whether it came in time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()


_running: dict[str, BackgroundJob] = {}
_starting = threading.Lock()


def start_job(project: Project, grader: Grader, request: Request, author: str) -> BackgroundJob:
    """Start a job in the background; a project runs one at a time.

    Raises:
        GradingError: one is running.
    """
    with _starting:
        if (job := _running.get(str(project.path))) is not None and not job.progress.over:
            raise GradingError("A grading job is running already.", "Wait for it, or cancel it first.")
        _running[str(project.path)] = BackgroundJob(project, grader, request, author)
        return _running[str(project.path)]


def current_job(project: Project) -> BackgroundJob | None:
    """The job that runs, or ran last, in this process for a project."""
    return _running.get(str(project.path))
