"""Sittings in the background of the app: one at a time for each project."""

from __future__ import annotations

import threading
from collections import deque

from core.errors import GradingError
from core.graders import acting, current
from core.grading import Progress
from core.pipelines.sitting import Reins, Sit, sit
from core.project import Project

LOGGED_LINES = 200
"""Lines about failed calls that a screen can show."""


class BackgroundSitting:
    """A sitting in a thread of this process while screens look at its progress.

    Attributes:
        student: the name of the one that is being asked, or was asked last.
        progress: of that student.
        ended: the final progress of those that are done, by name.
        reins: to pause, resume and cancel it.
        log: lines about failed calls.
        over: whether all has ended.
    """

    def __init__(self, project: Project, request: Sit, author: str) -> None:
        self.request = request
        self.student = ""
        self.progress = Progress("preparing")
        self.ended: dict[str, Progress] = {}
        self.over = False
        self.log: deque[str] = deque(maxlen=LOGGED_LINES)
        self.reins = Reins(self.log.append)
        # Models are made ready in the thread, which may use what whoever began it may use.
        self._access = current()
        self._thread = threading.Thread(target=self._run, args=(project, request, author), name="sitting", daemon=True)
        self._thread.start()

    def _run(self, project: Project, request: Sit, author: str) -> None:
        try:
            with acting(self._access):
                self.ended = sit(project, request, author, self._report, self.reins)
        except Exception as error:
            # Nobody waits for this thread: what is raised here would be lost if it were not shown.
            self.progress = Progress("failed", message=f"The sitting could not go on: {error}")
        finally:
            self.over = True

    def _report(self, student: str, progress: Progress) -> None:
        self.student, self.progress = student, progress

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; whether it came in time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()


_running: dict[str, BackgroundSitting] = {}
_starting = threading.Lock()


def start_sitting(project: Project, request: Sit, author: str) -> BackgroundSitting:
    """Start a sitting in the background; a project has one at a time.

    Raises:
        GradingError: one is under way.
    """
    with _starting:
        if (known := _running.get(str(project.path))) is not None and not known.over:
            raise GradingError("A sitting is under way already.", "Wait for it, or cancel it first.")
        _running[str(project.path)] = BackgroundSitting(project, request, author)
        return _running[str(project.path)]


def current_sitting(project: Project) -> BackgroundSitting | None:
    """The sitting that is under way, or was last, in this process for a project."""
    return _running.get(str(project.path))
