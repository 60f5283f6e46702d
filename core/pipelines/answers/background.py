"""Jobs about answers in the background of the app: one at a time for each project."""

from __future__ import annotations

from collections.abc import Sequence

from core.pipelines.answers.comparing import Pair, ReadyJudge, compare_answers
from core.pipelines.answers.generating import Wanted, generate_answers
from core.pipelines.answers.generators import ReadyGenerator
from core.pipelines.answers.jobs import ANSWERS, COMPARISONS, UNCAPPED, Caps
from core.pipelines.background import Background, Shelf, Steps
from core.project import Project


class AnswerWork(Background):
    """A job about answers in a thread of this process.

    Args:
        things: answers or comparisons.
        name: of the generator or judge.
        work: what it does.
    """

    def __init__(self, things: str, name: str, work: Steps) -> None:
        super().__init__(f"job of {things}", things, work, name)


_shelf = Shelf[AnswerWork]("A job about answers is under way already.")


def start_answering(
    project: Project, ready: ReadyGenerator, wanted: Wanted, author: str, caps: Caps = UNCAPPED
) -> AnswerWork:
    """Let a generator write the answers that are missing, in the background; a project has one such job at a time.

    Raises:
        GradingError: one is under way.
        NotAllowed: whoever the project acts for may not let models answer.
    """
    project.require("run exams", author=author)
    owned, name = project.unattended(), ready.model.name
    return _shelf.begin(
        project,
        lambda: AnswerWork(
            ANSWERS, name,
            lambda report, reins: {name: generate_answers(owned, ready, wanted, author, caps, report, reins)},
        ),
    )  # fmt: skip


def start_comparing(
    project: Project, ready: ReadyJudge, pairs: Sequence[Pair], author: str, caps: Caps = UNCAPPED
) -> AnswerWork:
    """Let a model compare answers, in the background; a project has one such job at a time.

    Raises:
        GradingError: one is under way.
        NotAllowed: whoever the project acts for may not let models answer.
    """
    project.require("run exams", author=author)
    owned, name = project.unattended(), ready.model.name
    return _shelf.begin(
        project,
        lambda: AnswerWork(
            COMPARISONS, name,
            lambda report, reins: {name: compare_answers(owned, ready, pairs, author, caps, report, reins)},
        ),
    )  # fmt: skip


def current_answer_work(project: Project) -> AnswerWork | None:
    """The job about answers that is under way, or was last, in this process for a project."""
    return _shelf.current(project)
