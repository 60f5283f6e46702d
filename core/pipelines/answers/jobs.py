"""Jobs about answers: a generator writes them, or a judge compares them; recorded, capped, carried to an end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...catalogue import prices
from ...graders import BackEnd, Control, said_of_models
from ...grading import CHARACTERS_A_TOKEN, PriceTag
from ...jobs import BackgroundJob, Caps, Carrier, Progress, Report, carry, job_control, start_background
from ...project import AnswerModel, Cursor, Project, add_job, log, put_answer_model


def sampled_price(
    project: Project, back_end: BackEnd, model: str, texts: Sequence[str], things: int, calls: int, written: int
) -> PriceTag:
    """Estimate what a job would take, from the prompts of a sample of its calls; nothing is asked.

    Args:
        model: as the price table names it.
        texts: the prompts of the sample, at least one.
        things: answers or comparisons that the job brings.
        calls: how many it makes.
        written: tokens that the model writes in each.
    """
    counts = [back_end.count_tokens(text) for text in texts]
    read = sum(
        len(text) // CHARACTERS_A_TOKEN + 1 if tokens is None else tokens
        for text, tokens in zip(texts, counts, strict=True)
    )
    tokens_in, tokens_out = round(read * calls / len(texts)), calls * written
    price = prices(project).get(model)
    cost = None if price is None else price.of(tokens_in, tokens_out)
    return PriceTag(things, calls, tokens_in, tokens_out, cost, None, None not in counts)


Result = TypeVar("Result")


@dataclass(frozen=True)
class Work:
    """What one job does, as `run_job` carries it.

    Args:
        model: the generator or judge.
        asked: what of the request is kept.
        total: how many results there will be.
        things: what they are called, as "answers".
        back_end: decides the owner's caps; None where no model is asked.
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
    """Put a job on record, carry it to its end in this thread, and put down how it ended.

    Args:
        report: is told after every commit.
        batches: is given the transaction in which the job begins, and gives what brings the results as they come.
        write: writes results: within a transaction, of the model of this key, from the job of that key.
        failed: whether nothing usable came.

    Returns:
        The final progress; its state is done, cancelled, stopped or failed.

    Raises:
        InputError: money is capped and the model has no price, or another model has the name.
    """
    name, compares = work.model.name, work.things == COMPARISONS
    control.renew(job_control(project, work.model.model, work.back_end, work.caps))
    with project.transaction() as cursor:
        key = put_answer_model(cursor, "judge" if compares else "generator", work.model, author)
        come = batches(cursor)
        job = add_job(cursor, "comparing" if compares else "generating", key, work.asked, work.total, author)
        log(cursor, author, f"start {work.things}", job=job, by=name, count=work.total)

    def results() -> Iterator[Sequence[Result]]:
        yield from come(control)

    def told(cursor: Cursor, final: Progress) -> None:
        log(
            cursor, author, f"{work.things} {final.state}", job=job, by=name, count=final.graded, failed=final.failed,
        )  # fmt: skip

    carrier = Carrier[Result](
        project, job, Progress("running", work.total), lambda progress: report(name, progress), control,
        lambda cursor, some: write(cursor, key, some, job), failed,
    )  # fmt: skip
    return carry(
        carrier, results, "Start again", "to continue", "The model",
        lambda: said_of_models(work.model.model, control.models), told,
    )  # fmt: skip


ANSWERS, COMPARISONS = "answers", "comparisons"
"""What jobs bring."""


def start_answer_job(
    project: Project,
    model: AnswerModel,
    things: str,
    author: str,
    work: Callable[[Project, Report, Control], Progress],
) -> BackgroundJob:
    """Start a job about answers in the background; a project runs one at a time.

    Args:
        model: the generator or the model of the answer check.
        things: `ANSWERS` or `COMPARISONS`.

    Raises:
        GradingError: one is running.
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
    """What a generator has written, or a judge compared, so far.

    Args:
        written, failed: different answers or comparisons, by what counts of them.
    """

    role: str
    name: str
    model: str
    prompt: str
    written: int
    failed: int


def answering_so_far(project: Project) -> list[AnsweringSoFar]:
    """Every generator and judge with what it has done, generators first."""
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
