"""Grading jobs: ask a grader for the pairs that are missing, commit as the answers come, stop cleanly."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from ..bank import check_version
from ..catalogue import put_grader
from ..errors import GradingError, WorkbenchError
from ..graders import Control, Grader, Outcome, is_remote, said_of_models
from ..project import Cursor, Project, log
from .batches import run_batches
from .billing import billed, told_of
from .budgets import budget
from .carrying import Carrier, carry
from .grades import add_outcomes
from .jobs import JOBS, start
from .kept_vectors import ProjectVectors
from .pairs import pairs_to_grade, trial_pairs, with_texts
from .price_tag import tag_of
from .progress import Progress
from .request import Request, asked_of

CHUNK = 4096
"""Pairs whose texts are in memory at a time, at least; a query's stay together."""
CANCELLING_SECONDS = 2.0
"""Between two looks at batches that are to be cancelled."""
QUIET_SECONDS, QUIET_TIMES = 10.0, 3.0
"""A job from which nothing comes for so long, and for so many times as long as it took before, is said to be quiet."""
LOGGED_LINES = 200
"""Lines about failed calls that a screen can show; the log has all of them."""


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
    # Only who asks an endpoint gets a bill.
    told = told_of(tag_of(project, grader, [pair for group in groups for pair in group])) if is_remote(grader) else None
    tag = {} if told is None else {"told": told}
    with project.transaction(act="grade", author=author) as cursor:
        grader_key = put_grader(cursor, grader.spec)
        job = start(cursor, grader_key, asked_of(request) | {"bank_version": version} | tag, total, author)
        log(cursor, author, "start job", job=job, grader=grader.spec.name, pairs=total)

    def batches() -> Iterator[Sequence[Outcome]]:
        chunks = (with_texts(project, grader.spec, pairs) for pairs in _chunks(groups))
        for texts in chunks:
            yield from grader.grade(texts.questions, texts.passages, texts.pairs, control)
            if control.stopping:
                break

    def put_down(cursor: Cursor, final: Progress) -> None:
        log(cursor, author, f"job {final.state}", job=job, graded=final.graded, failed=final.failed)

    carrier = Carrier[Outcome](
        project, JOBS, job, Progress("running", total), report, control,
        lambda cursor, outcomes: add_outcomes(cursor, grader_key, outcomes, job),
        failed=lambda outcome: outcome[2].rating is None,
        defaulted=lambda outcome: outcome[2].status == "defaulted",
    )  # fmt: skip
    return carry(
        carrier, batches, "Start grading again", "to grade the remaining pairs", "The grader",
        lambda: " ".join(
            filter(None, (said_of_models(grader.spec.model, control.models), billed(told, control.usage)))
        ), put_down,
    )  # fmt: skip


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
        patience=request.patience,
        caller=caps.caller,
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


class BackgroundJob:
    """A job that runs in a thread of this process while screens look at its progress."""

    def __init__(self, project: Project, grader: Grader, request: Request, author: str) -> None:
        self.grader_name = grader.spec.name
        self.spec = grader.spec
        self.request = request
        self.author = author
        self.progress = Progress("preparing")
        self.started_at = datetime.now()
        self._started = time.monotonic()
        self.log: deque[str] = deque(maxlen=LOGGED_LINES)
        self.control = make_control(project, grader, request, self.log.append)
        self._came_at, self._times = self._clock(), 0
        self._thread = threading.Thread(
            target=self._run, args=(project, grader, request, author), name="grading", daemon=True
        )
        self._thread.start()

    def _run(self, project: Project, grader: Grader, request: Request, author: str) -> None:
        try:
            if request.batch:
                run_batches(project, grader, request, author, self._report, self.control, self._wait)
            else:
                run_job(project, grader, request, author, self._report, self.control)
        except WorkbenchError as error:
            self.progress = replace(self.progress, state="failed", message=str(error))
        except Exception as error:
            # Nobody waits for this thread: what is raised here would be lost if it were not shown.
            self.progress = Progress("failed", message=f"The job failed: {error}")

    def _wait(self, seconds: float) -> None:
        """Let time pass until the next look at batches, or until somebody wants none of them any more."""
        if not self.control.cancelled:
            self.control.wait_until_cancelled(seconds)
        else:
            time.sleep(CANCELLING_SECONDS)
        self.control.wait_while_paused()

    def _report(self, progress: Progress) -> None:
        # How far it is may be told though nothing came.
        if progress.done > self.progress.done:
            self._came_at, self._times = self._clock(), self._times + 1
        self.progress = progress

    def _clock(self) -> float:
        """Seconds, of which those that the job was paused are none."""
        return time.monotonic() - self.control.paused_seconds

    @property
    def quiet(self) -> float | None:
        """Seconds for which nothing has come, where that is longer than before; None else, and at the beginning."""
        if not self._times or self.progress.over:
            return None
        quiet = self._clock() - self._came_at
        return quiet if quiet > max(QUIET_SECONDS, QUIET_TIMES * self.progress.seconds / self._times) else None

    @property
    def seconds(self) -> float:
        """Since it was started, waiting included."""
        return time.monotonic() - self._started

    def cancel(self, by: str = "") -> None:
        """Ask the job to stop with the calls in flight.

        Args:
            by: who asks, as a sentence; empty for a person.
        """
        self.control.cancel(by)

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
        NotAllowed: whoever the project acts for may not grade.
    """
    project.require("grade", author=author)
    with _starting:
        if (job := _running.get(str(project.path))) is not None and not job.progress.over:
            raise GradingError("job-running", "A grading job is already running.", "Wait until it ends, or cancel it.")
        _running[str(project.path)] = BackgroundJob(project.unattended(), grader, request, author)
        return _running[str(project.path)]


def current_job(project: Project) -> BackgroundJob | None:
    """The job that runs, or ran last, in this process for a project."""
    return _running.get(str(project.path))
