"""Jobs in threads of this process. A project runs at most one job of a family at a time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from ..errors import GradingError, WorkbenchError
from ..graders import Control, acting, current
from ..store import Project
from ._job_run import Progress

LOGGED_LINES = 200
"""Maximum number of log lines about failed calls that a screen can show; the log has all of them."""
QUIET_SECONDS, QUIET_TIMES = 10.0, 3.0
"""A job is quiet if no result arrives for `QUIET_SECONDS`, and for `QUIET_TIMES` the average time of a result."""

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
    control: Control
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
        self._access = current()
        self._thread = threading.Thread(target=self._run, name="job", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with acting(self._access):
                self.result = self.work(self._report, self)
        except WorkbenchError as error:
            self.progress = replace(self.progress, state="failed", message=str(error))
        except Exception as error:
            # No caller waits for this thread: an error raised here would be lost if it were not shown.
            self.progress = Progress("failed", message=f"The job failed: {error}")
        finally:
            self.over = True

    def _report(self, name: str, progress: Progress) -> None:
        # A report can arrive without a new result.
        if name != self.name or progress.done > self.progress.done:
            self._came_at, self._times = self._clock(), self._times + 1
        self.name, self.progress = name, progress

    def _clock(self) -> float:
        """Return the seconds on a monotonic clock, without pauses."""
        return time.monotonic() - self.control.paused_seconds

    @property
    def ended(self) -> Mapping[str, Progress]:
        """Final progress by name of the grader, examinee or model."""
        return self.result if isinstance(self.result, Mapping) else {}

    @property
    def quiet(self) -> float | None:
        """Seconds without a result if that is unusually long (see `QUIET_SECONDS`), else None.

        None before the first result.
        """
        if not self._times or self.over:
            return None
        quiet = self._clock() - self._came_at
        return quiet if quiet > max(QUIET_SECONDS, QUIET_TIMES * self.progress.seconds / self._times) else None

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


def start_background(project: Project, family: str, make: Callable[[Project], BackgroundJob]) -> BackgroundJob:
    """Start a job in the background.

    Args:
        family: jobs that exclude each other in a project, such as "grading".
        make: makes the job for this project, with the rights of the server.

    Raises:
        GradingError: a job of the family is running.
    """
    place = (str(project.path), family)

    def forget() -> None:
        _running.pop(place, None)

    with _starting:
        if (known := _running.get(place)) is not None and not known.over:
            raise GradingError(
                "job-running",
                f"Another job ({known.name}) is already running.",
                "Wait until it ends, or cancel it.",
            )
        _running[place] = make(project.unattended())
        # A project that is created later at the same path has no jobs yet.
        project.when_closed(forget)
        return _running[place]


def running_jobs(project: Project) -> dict[str, BackgroundJob]:
    """Return the running jobs that this process started for a project, by family."""
    place = str(project.path)
    return {family: job for (path, family), job in list(_running.items()) if path == place and not job.over}


def current_job(project: Project, family: str = "grading") -> BackgroundJob | None:
    """Return the running or last job of a family that this process started for a project; None without one."""
    return _running.get((str(project.path), family))
