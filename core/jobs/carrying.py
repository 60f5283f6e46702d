"""Carrying a long job to its end: what comes is committed in small batches, and however it ends, that is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from ..errors import WorkbenchError
from ..graders import Control
from ..project import Cursor, Project, count_results, end_job, written_results
from .progress import Progress
from .records import CARRIED, record_usage

COMMIT_SHARE = 0.2
"""Part of a job's time that may go into commits: what came since the last one is all that a crash can lose."""
COMMIT_SECONDS = 1.0
"""Results are committed at least this often."""

Result = TypeVar("Result")


@dataclass(eq=False)
class Carrier(Generic[Result]):
    """Commits results as they come, as long as committing takes a small part of the time.

    Args:
        job: its key in the project.
        progress: at its start.
        report: is told of the progress after every commit.
        write: writes results within a transaction.
        failed: whether nothing usable came.
        defaulted: whether what came could not be read and the default stands for it.
    """

    project: Project
    job: int
    progress: Progress
    report: Callable[[Progress], None]
    control: Control
    write: Callable[[Cursor, Sequence[Result]], object]
    failed: Callable[[Result], bool]
    defaulted: Callable[[Result], bool] = lambda result: False
    waiting: list[Result] = field(default_factory=list, init=False)
    rest: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.started = self.committed = time.monotonic()
        self.paused_before = self.control.paused_seconds
        self.report(self.progress)

    def take(self, results: Sequence[Result]) -> None:
        """Take results, and commit them where it is time to."""
        self.waiting.extend(results)
        # While a job is paused nothing more may come for long.
        if self.control.paused or time.monotonic() - self.committed >= self.rest:
            self.commit()

    def commit(self) -> None:
        """Write what waits, and tell how far the job is."""
        begun = time.monotonic()
        if self.waiting:
            failed = sum(map(self.failed, self.waiting))
            done = len(self.waiting) - failed

            def write(cursor: Cursor) -> None:
                # Where the engine gave up while it committed, it may have kept these nevertheless.
                if written_results(cursor, self.job) == self.progress.done:
                    self.write(cursor, self.waiting)
                    count_results(cursor, self.job, done, failed)
                    record_usage(cursor, self.job, self.control.usage)

            self.project.write(write)
            self.progress = replace(
                self.progress,
                graded=self.progress.graded + done,
                failed=self.progress.failed + failed,
                defaulted=self.progress.defaulted + sum(map(self.defaulted, self.waiting)),
            )
            self.waiting = []
        self.committed = time.monotonic()
        self.rest = min((self.committed - begun) * (1 / COMMIT_SHARE - 1), COMMIT_SECONDS)
        # A pause goes on while this is worked out.
        paused = self.control.paused_seconds - self.paused_before
        seconds = max(self.committed - self.started - paused, 0.0)
        self.progress = replace(self.progress, seconds=seconds, usage=self.control.usage)
        self.report(self.progress)


def carry(
    carrier: Carrier[Result],
    batches: Callable[[], Iterable[Sequence[Result]]],
    again: str,
    rest: str,
    who: str,
    remarks: Callable[[], str],
    told: Callable[[Cursor, Progress], None],
) -> Progress:
    """Take a job from its first result to its end, commit what came, and put down how it ended.

    Args:
        batches: gives the results as they come; they end early where the carrier's control says so.
        again, rest: what to do where it stopped early, and to what end, as "Start grading again" and "to grade the
            remaining pairs".
        who: what broke where a fault is nobody's, as "The grader".
        remarks: sentences that are known at the end.
        told: logs the end, within the transaction that puts it down.

    Returns:
        The final progress; its state is done, cancelled, stopped or failed.
    """
    control, place = carrier.control, (str(carrier.project.path), carrier.job)
    CARRIED[place] = control
    state, message = "done", ""
    try:
        for results in batches():
            carrier.take(results)
        if control.cancelled:
            state, message = "cancelled", f"{control.cancelled_by} {again} {rest}."
        elif control.exhausted:
            used_up = f"The budget is used up. {again} with a new budget {rest}."
            state, message = "stopped", "" if control.overrun else used_up
    except KeyboardInterrupt as stopped:
        state, message = "cancelled", f"{str(stopped) or 'Cancelled from the keyboard.'} {again} {rest}."
        control.cancel()
    except WorkbenchError as error:
        state, message = "failed", str(error)
    except MemoryError:
        state = "failed"
        message = f"Out of memory. Close other programs, or choose a smaller model. {again} {rest}."
    except Exception as error:
        # A model may break in ways of its own; the job ends, what it gave is kept, and the reason is told.
        state, message = "failed", f"{who} failed: {type(error).__name__}: {error}"
    carrier.commit()
    said = " ".join(filter(None, (control.overrun, remarks())))
    message = " ".join(filter(None, (message, said)))
    final = replace(carrier.progress, state=state, message=message, remarks=said)

    def finish(cursor: Cursor) -> None:
        # Calls of which nothing came are in no batch of results, and may be paid for all the same.
        record_usage(cursor, carrier.job, control.usage)
        if end_job(cursor, carrier.job, state, message):
            told(cursor, final)

    carrier.project.write(finish)
    CARRIED.pop(place)
    carrier.report(final)
    return final
