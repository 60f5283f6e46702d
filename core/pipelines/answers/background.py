"""Jobs about answers in the background of the app: one at a time for each project."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...grading import Progress
from ...project import Project
from ..background import Background, Shelf
from ..reins import Reins
from .comparing import Pair, ReadyJudge, compare_answers
from .generating import Wanted, generate_answers
from .generators import ReadyGenerator
from .jobs import ANSWERS, COMPARISONS, UNCAPPED, Caps, Report

_shelf = Shelf[Background]("Another job on answers is already running.")


def start_answering(
    project: Project, ready: ReadyGenerator, wanted: Wanted, author: str, caps: Caps = UNCAPPED
) -> Background:
    """Let a generator write the answers that are missing, in the background; a project has one such job at a time.

    Raises:
        GradingError: one is under way.
        NotAllowed: whoever the project acts for may not let models answer.
    """
    return _start(
        project, author, ANSWERS, ready.model.name,
        lambda owned, report, reins: generate_answers(owned, ready, wanted, author, caps, report, reins),
    )  # fmt: skip


def start_comparing(
    project: Project, ready: ReadyJudge, pairs: Sequence[Pair], author: str, caps: Caps = UNCAPPED
) -> Background:
    """Let a model compare answers, in the background; a project has one such job at a time.

    Raises:
        GradingError: one is under way.
        NotAllowed: whoever the project acts for may not let models answer.
    """
    return _start(
        project, author, COMPARISONS, ready.model.name,
        lambda owned, report, reins: compare_answers(owned, ready, pairs, author, caps, report, reins),
    )  # fmt: skip


def _start(
    project: Project, author: str, things: str, name: str, work: Callable[[Project, Report, Reins], Progress]
) -> Background:
    project.require("run exams", author=author)
    owned = project.unattended()
    return _shelf.begin(
        project,
        lambda: Background(f"job of {things}", things, lambda report, reins: {name: work(owned, report, reins)}, name),
    )


def current_answer_work(project: Project) -> Background | None:
    """The job about answers that is under way, or was last, in this process for a project."""
    return _shelf.current(project)
