"""Jobs for answers: a generator writes them, or an answer check compares them; recorded and capped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..graders import BackEnd, Control, said_of_models
from ..jobs import BackgroundJob, Caps, Carrier, Progress, Report, carry, job_control, start_background
from ..records import AnswerModel, add_job, put_answer_model
from ..store import Cursor, Project, log

Result = TypeVar("Result")


@dataclass(frozen=True)
class Work:
    """The description of a job for `run_job`.

    Args:
        model: the generator or answer check.
        asked: the part of the request to store.
        total: the number of results.
        things: the noun for them, such as "answers".
        back_end: determines the owner's caps; None without a model.
        caps: the person's.
    """

    model: AnswerModel
    asked: dict[str, Any]
    total: int
    things: str
    back_end: BackEnd | None
    caps: Caps


def run_job(
    project: Project,
    work: Work,
    author: str,
    report: Report,
    control: Control,
    batches: Callable[[Cursor], Callable[[Control], Iterable[Sequence[Result]]]],
    write: Callable[[Cursor, int, Sequence[Result], int], object],
    failed: Callable[[Result], bool],
) -> Progress:
    """Record a job, run it in this thread, and record its end.

    Args:
        report: called after every commit.
        batches: called in the transaction in which the job begins; returns a function that yields the results.
        write: called in a transaction with the key of the model, results, and the key of the job.
        failed: whether a result is unusable.

    Returns:
        The final progress; its state is done, cancelled, stopped or failed.

    Raises:
        InputError: the cost is capped and the model has no price, or another model already has this name.
    """
    name, compares = work.model.name, work.things == COMPARISONS
    control.renew(job_control(project, work.model.model, work.back_end, work.caps))
    with project.transaction() as cursor:
        key = put_answer_model(cursor, "judge" if compares else "generator", work.model, author)
        come = batches(cursor)
        job = add_job(cursor, "comparing" if compares else "generating", key, work.asked, work.total, author)
        log(cursor, author, f"start {work.things}", job=job, by=name, count=work.total)

    carrier = Carrier[Result](
        project, job, Progress("running", work.total), lambda progress: report(name, progress), control,
        lambda cursor, some: write(cursor, key, some, job), failed,
    )  # fmt: skip
    return carry(
        carrier, lambda: come(control), "Start again", "to continue", "The model",
        lambda: said_of_models(work.model.model, control.models),
        lambda cursor, final: log(
            cursor, author, f"{work.things} {final.state}", job=job, by=name, count=final.graded, failed=final.failed
        ),
    )  # fmt: skip


ANSWERS, COMPARISONS = "answers", "comparisons"
"""Results of jobs."""


def start_answer_job(
    project: Project,
    model: AnswerModel,
    things: str,
    author: str,
    work: Callable[[Project, Report, Control], Progress],
) -> BackgroundJob:
    """Start a job for answers in the background; a project runs one at a time.

    Args:
        model: the generator or the model of the answer check.
        things: `ANSWERS` or `COMPARISONS`.

    Raises:
        GradingError: another one is running.
        NotAllowed: the role of the person does not include running exams.
    """
    project.require("run exams", author=author)

    def make(owned: Project) -> BackgroundJob:
        return BackgroundJob(
            model.name, things, None, author, Control(),
            lambda report, job: {model.name: work(owned, report, job.control)},
        )  # fmt: skip

    return start_background(project, "answers", make)


@dataclass(frozen=True)
class AnsweringSoFar:
    """The work of a generator or of a model for answer checks so far.

    Args:
        role: `generator` or `judge`.
        written, failed: different answers or comparisons, with and without a usable result.
    """

    role: str
    name: str
    model: str
    prompt: str
    written: int
    failed: int


def answering_so_far(project: Project) -> list[AnsweringSoFar]:
    """Return the work of every generator and every model for answer checks, generators first."""
    counted = []
    for role, table, key, about, came in (
        (
            "generator", "generators", "generator_key",
            "question_text_key, context_keys, run, k, temperature, draw FROM generated_answers", "text_key",
        ),
        ("judge", "answer_judges", "judge_key", "question_text_key, answer_text_key, reference_keys FROM comparisons",
         "rating"),
    ):  # fmt: skip
        columns, source = about.split(" FROM ")
        counted += project.rows(
            f"SELECT '{role}', name, model, prompt, count(*) FILTER (done), count(*) FILTER (NOT done) FROM {table}"
            f" LEFT JOIN (SELECT {key}, bool_or({came} IS NOT NULL) AS done FROM {source} GROUP BY {key}, {columns})"
            f" USING ({key}) GROUP BY {key}, name, model, prompt ORDER BY {key}"
        )
    return [AnsweringSoFar(*row) for row in counted]
