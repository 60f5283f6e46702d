"""Sittings, and other work in several steps, in the background of the app: one of a kind at a time for each project."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from ..errors import GradingError
from ..graders import acting, current
from ..grading import Progress
from ..project import Project
from .reins import Reins
from .sitting import Sit, sit

LOGGED_LINES = 200
"""Lines about failed calls that a screen can show."""

Steps = Callable[[Callable[[str, Progress], None], Reins], Mapping[str, Progress]]
"""Work in steps: is given whom to tell the name and progress of the step under way, and the reins; gives the final
progress of every step that was begun, by name."""


class Background:
    """Work in a thread of this process while screens look at its progress.

    Args:
        name: of the work, as "sitting".
        things: what is counted, in the plural, as "items".
        work: is done in the thread.
        who: does it, until a step says who does that one.

    Attributes:
        things: as above.
        step: the name of the step under way, or of the last one.
        progress: of that step.
        ended: the final progress of those that are done, by name.
        reins: to pause, resume and cancel it.
        log: lines about failed calls.
        over: whether all has ended.
    """

    def __init__(self, name: str, things: str, work: Steps, who: str = "Preparing") -> None:
        self.things = things
        self.step = ""
        self.progress = Progress("preparing")
        self.ended: Mapping[str, Progress] = {}
        self.over = False
        self.log: deque[str] = deque(maxlen=LOGGED_LINES)
        self.reins = Reins(self.log.append)
        self._name, self._who = name, who
        # Models are made ready in the thread, which may use what whoever began it may use.
        self._access = current()
        self._thread = threading.Thread(target=self._run, args=(work,), name=name, daemon=True)
        self._thread.start()

    def _run(self, work: Steps) -> None:
        try:
            with acting(self._access):
                self.ended = work(self._report, self.reins)
        except Exception as error:
            # Nobody waits for this thread: what is raised here would be lost if it were not shown.
            self.progress = Progress("failed", message=f"The {self._name} failed: {error}")
        finally:
            self.over = True

    def _report(self, step: str, progress: Progress) -> None:
        self.step, self.progress = step, progress

    @property
    def who(self) -> str:
        """Who is at work: that of the step under way, or was last."""
        return self.step or self._who

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; whether it came in time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()


class BackgroundSitting(Background):
    """A sitting in the background."""

    def __init__(self, project: Project, request: Sit, author: str) -> None:
        self.request = request
        super().__init__("sitting", "answers", lambda report, reins: sit(project, request, author, report, reins))


class Ends(Protocol):
    """Something that is over at some time."""

    over: bool


Work = TypeVar("Work", bound=Ends)


class Shelf(Generic[Work]):
    """What runs, or ran last, of a kind, by project.

    Args:
        busy: says that one is under way.
    """

    def __init__(self, busy: str) -> None:
        self._busy = busy
        self._running: dict[str, Work] = {}
        self._starting = threading.Lock()

    def begin(self, project: Project, make: Callable[[], Work]) -> Work:
        """Start one; a project has one at a time.

        Raises:
            GradingError: one is under way.
        """
        with self._starting:
            known = self._running.get(str(project.path))
            if known is not None and not known.over:
                raise GradingError("job-running", self._busy, "Wait until it ends, or cancel it.")
            begun = self._running[str(project.path)] = make()
            return begun

    def current(self, project: Project) -> Work | None:
        """The one that is under way, or was last, in this process for a project."""
        return self._running.get(str(project.path))


_sittings = Shelf[BackgroundSitting]("The exam is already running.")


def start_sitting(project: Project, request: Sit, author: str) -> BackgroundSitting:
    """Start a sitting in the background; a project has one at a time.

    Raises:
        GradingError: one is under way.
        NotAllowed: whoever the project acts for may not run exams.
    """
    project.require("run exams", author=author)
    return _sittings.begin(project, lambda: BackgroundSitting(project.unattended(), request, author))


def current_sitting(project: Project) -> BackgroundSitting | None:
    """The sitting that is under way, or was last, in this process for a project."""
    return _sittings.current(project)
