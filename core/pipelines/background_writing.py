"""Writing items in the background of the app: one model at a time for each project."""

from __future__ import annotations

import threading
from collections import deque

from ..errors import WorkbenchError
from ..graders import Control
from ..grading import Drafter, Report, Request, job_control
from ..project import Project
from .background import LOGGED_LINES, Shelf
from .item_generation import Wanted, generate_items


class BackgroundWriting:
    """A model that writes items in a thread of this process while screens look at how far it is.

    Attributes:
        wanted: what it is to write.
        model: its name.
        done, total: passages that were asked about, and are to be.
        report: what came of it; None before the end, and where it could not go on.
        message: why it could not go on; empty where it could.
        control: to pause, resume and cancel it.
        log: lines about failed calls.
        over: whether it has ended.
    """

    def __init__(self, project: Project, drafter: Drafter, author: str, wanted: Wanted, control: Control) -> None:
        self.wanted, self.model, self.control = wanted, drafter.model, control
        self.done = self.total = 0
        self.report: Report | None = None
        self.message = ""
        self.over = False
        self.log: deque[str] = deque(maxlen=LOGGED_LINES)
        control.report = self.log.append
        self._thread = threading.Thread(target=self._run, args=(project, drafter, author), name="writing", daemon=True)
        self._thread.start()

    def _run(self, project: Project, drafter: Drafter, author: str) -> None:
        try:
            self.report = generate_items(project, drafter, author, self.wanted, self.control, self._watch)
        except WorkbenchError as error:
            self.message = str(error)
        except Exception as error:
            # Nobody waits for this thread: what is raised here would be lost if it were not shown.
            self.message = f"The model failed: {error}"
        finally:
            self.over = True

    def _watch(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; whether it came in time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()


_shelf = Shelf[BackgroundWriting]("A model is already writing items.")


def start_writing(
    project: Project,
    drafter: Drafter,
    author: str,
    wanted: Wanted,
    max_calls: int | None = None,
    max_cost: float | None = None,
    patience: float = Request.patience,
) -> BackgroundWriting:
    """Let a model write items in the background; see `generate_items`. A project has one at work at a time.

    Args:
        max_calls: calls at most, retries included; None for no cap.
        max_cost: money at most, in the currency of the price table; likewise.
        patience: seconds for which an endpoint that is gone is waited for.

    Raises:
        GradingError: one is at work.
        InputError: money is capped and the model has no price.
        NotAllowed: whoever the project acts for may not let models write.
    """
    project.require("write with models", author=author)
    control = job_control(project, drafter.model, drafter.back_end, max_calls, max_cost, patience=patience)
    return _shelf.begin(project, lambda: BackgroundWriting(project.unattended(), drafter, author, wanted, control))


def current_writing(project: Project) -> BackgroundWriting | None:
    """The writing that is under way, or was last, in this process for a project."""
    return _shelf.current(project)
