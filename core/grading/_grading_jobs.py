"""Grading jobs: ask a grader about missing pairs, commit answers as they arrive, and stop cleanly."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ..bank import check_version, put_grader
from ..graders import Control, Grader, Outcome, is_remote, said_of_models
from ..jobs import BackgroundJob, Carrier, Progress, Report, carry, job_control, start_background
from ..records import add_job
from ..store import Project, log
from ._batch_jobs import run_batches
from ._grade_storage import ProjectVectors, add_outcomes
from ._grader_checks import check_again
from ._needed_pairs import Request, asked_of, pairs_to_grade, trial_pairs, with_texts
from ._offline_grading import CHUNK, in_chunks
from ._price_tag import billed, tag_of, told_of

CANCELLING_SECONDS = 2.0
"""Seconds between two looks at batches that are being cancelled."""


def run_job(
    project: Project,
    grader: Grader,
    request: Request,
    author: str,
    report: Callable[[Progress], None] = lambda progress: None,
    control: Control | None = None,
) -> Progress:
    """Grade missing pairs, in this thread, until done, cancelled or out of budget.

    Args:
        report: called with the progress after every commit.
        control: pauses and cancels the job; None to make one from the request.

    Returns:
        The final progress; its state is done, cancelled, stopped or failed.

    Raises:
        InputError: the bank version or a run of the request is unknown.
    """
    control = control or make_control(project, grader, request)
    version = check_version(project, request.bank_version)
    if request.trial is not None:
        groups = trial_pairs(project, grader.spec, request.trial)
    else:
        groups = pairs_to_grade(project, grader.spec, version, request.scope)
    total = sum(map(len, groups))
    # Only endpoints charge for calls.
    told = told_of(tag_of(project, grader, [pair for group in groups for pair in group])) if is_remote(grader) else None
    tag = {} if told is None else {"told": told}
    with project.transaction(act="grade", author=author) as cursor:
        grader_key = put_grader(cursor, grader.spec)
        asked = asked_of(request) | {"bank_version": version} | tag
        job = add_job(cursor, "grading", grader_key, asked, total, author)
        log(cursor, author, "start job", job=job, grader=grader.spec.name, pairs=total)

    def batches() -> Iterator[Sequence[Outcome]]:
        if groups:
            check_again(project, grader, author, control)
        for pairs in in_chunks((pair for group in groups for pair in group), CHUNK):
            texts = with_texts(project, grader.spec, pairs)
            yield from grader.grade(texts.questions, texts.passages, texts.pairs, control)
            if control.stopping:
                break

    carrier = Carrier[Outcome](
        project, job, Progress("running", total), report, control,
        lambda cursor, outcomes: add_outcomes(cursor, grader_key, outcomes, job),
        failed=lambda outcome: outcome[2].rating is None,
        defaulted=lambda outcome: outcome[2].status == "defaulted",
    )  # fmt: skip
    return carry(
        carrier, batches, "Start grading again", "to grade the remaining pairs", "The grader",
        lambda: " ".join(
            filter(None, (said_of_models(grader.spec.model, control.models), billed(told, control.usage)))
        ),
        lambda cursor, final: log(
            cursor, author, f"job {final.state}", job=job, graded=final.graded, failed=final.failed
        ),
    )  # fmt: skip


def make_control(
    project: Project, grader: Grader, request: Request, report: Callable[[str], None] = lambda line: None
) -> Control:
    """Return the control of a grading job, which stores the vectors of texts in the project.

    Raises:
        InputError: money is limited and the model has no price.
    """
    back_end = getattr(grader, "back_end", None)
    return job_control(project, grader.spec.model, back_end, request, report, vectors=ProjectVectors(project))


def start_job(project: Project, grader: Grader, request: Request, author: str) -> BackgroundJob:
    """Start a grading job in the background; a project runs one at a time.

    Raises:
        GradingError: a grading job is running.
        NotAllowed: the role of the person does not include grading.
    """
    project.require("grade", author=author)
    name = grader.spec.name

    def make(owned: Project) -> BackgroundJob:
        def grade(report: Report, job: BackgroundJob) -> Progress:
            watch = partial(report, name)
            if request.batch:
                return run_batches(owned, grader, request, author, watch, job.control, partial(_wait, job.control))
            return run_job(owned, grader, request, author, watch, job.control)

        return BackgroundJob(name, "pairs", request, author, make_control(owned, grader, request), grade, grader.spec)

    return start_background(project, "grading", make)


def _wait(control: Control, seconds: float) -> None:
    """Wait until the next look at batches, or until a person cancels them."""
    if not control.cancelled:
        control.wait_until_cancelled(seconds)
    else:
        time.sleep(CANCELLING_SECONDS)
    control.wait_while_paused()
