"""Committing answers in small batches, as they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from core.graders import Control
from core.grading import Progress
from core.pipelines.sittings import advance, committed
from core.project import Answer, Cursor, Project, add_answers

COMMIT_SECONDS = 1.0
"""Answers are committed at least this often: what came since is all that a crash can lose."""
COMMIT_SHARE = 0.2
"""Part of a sitting's time that may go into commits."""


class Keeper:
    """Commits answers as they come, as long as committing takes a small part of the time."""

    def __init__(
        self,
        project: Project,
        student: int,
        sitting: int,
        progress: Progress,
        report: Callable[[Progress], None],
        control: Control,
    ) -> None:
        self.project, self.student, self.sitting, self.control = project, student, sitting, control
        self.progress, self.report = progress, report
        self.started = self.committed = time.monotonic()
        self.rest = 0.0
        self.waiting: list[Answer] = []
        report(progress)

    def take(self, answers: Sequence[Answer]) -> None:
        """Take answers, and commit them where it is time to."""
        self.waiting.extend(answers)
        # While a sitting is paused nothing more may come for long.
        if self.control.paused or time.monotonic() - self.committed >= self.rest:
            self.commit()

    def commit(self) -> None:
        """Write what waits, and tell how far the sitting is."""
        begun = time.monotonic()
        if self.waiting:
            failed = sum(answer.correct is None for answer in self.waiting)
            answered = len(self.waiting) - failed

            def write(cursor: Cursor) -> None:
                # Where the engine gave up while it committed, it may have kept these nevertheless.
                if committed(cursor, self.sitting) == self.progress.done:
                    add_answers(cursor, self.student, self.waiting, self.sitting)
                    advance(cursor, self.sitting, answered, failed, self.control.usage)

            self.project.write(write)
            self.waiting = []
            self.progress = replace(
                self.progress, graded=self.progress.graded + answered, failed=self.progress.failed + failed
            )
        self.committed = time.monotonic()
        self.rest = min((self.committed - begun) * (1 / COMMIT_SHARE - 1), COMMIT_SECONDS)
        seconds = self.committed - self.started - self.control.paused_seconds
        self.progress = replace(self.progress, seconds=seconds, usage=self.control.usage)
        self.report(self.progress)
