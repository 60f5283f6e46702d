"""Jobs about answers: a generator writes them, or a judge compares them; recorded, capped, carried to an end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from ...catalogue import prices
from ...graders import BackEnd, Control, said_of_models
from ...grading import CHARACTERS_A_TOKEN, Carrier, Ledger, PriceTag, Progress, Request, carry, job_control, state_now
from ...project import AnswerModel, Cursor, Project, log, put_answer_model
from ..reins import Reins

ANSWER_JOBS = Ledger("answer_jobs", "answer_job_key", "written")

Report = Callable[[str, Progress], None]
"""Is told the name of the generator or judge and its progress."""


@dataclass(frozen=True)
class Caps:
    """What a job may take.

    Args:
        limit: answers or comparisons at most; all for None.
        max_calls: calls of the model at most, retries included.
        max_cost: money at most, in the currency of the price table.
        concurrency: calls in flight at most, for a model behind an endpoint.
        retry_failed: whether what failed is asked again, too.
        only_failed: whether that is asked and nothing else.
        patience: seconds for which an endpoint that is gone is waited for before the job ends.
    """

    limit: int | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    concurrency: int = 8
    retry_failed: bool = False
    only_failed: bool = False
    patience: float = Request.patience

    def opens(self, known: bool, failed: bool) -> bool:
        """Whether something is to be asked, by whether it was asked before and whether that failed."""
        if not known:
            return not self.only_failed
        return failed and (self.retry_failed or self.only_failed)


UNCAPPED = Caps()


@dataclass(frozen=True)
class AnswerJob:
    """One job. `state` is running, done, cancelled, stopped, failed or interrupted.

    Args:
        role: generator or judge; `name` is its name.
        written: answers or comparisons that came and can be used.
    """

    key: int
    role: str
    name: str
    asked: dict[str, Any]
    state: str
    total: int
    written: int
    failed: int
    message: str
    author: str
    started_at: datetime
    ended_at: datetime | None
    calls: int | None
    cost: float | None


def answer_jobs(project: Project) -> list[AnswerJob]:
    """Every job about answers, newest first."""
    return [
        AnswerJob(row[0], row[1], row[2], json.loads(row[3]), state_now(project, row[0], row[4]), *row[5:])
        for row in project.rows(
            "SELECT answer_job_key, if(j.generator_key IS NULL, 'judge', 'generator'), coalesce(g.name, a.name), asked,"
            " state, total, written, failed, message, j.author, started_at, ended_at, calls, cost FROM answer_jobs j"
            " LEFT JOIN generators g USING (generator_key) LEFT JOIN answer_judges a USING (judge_key)"
            " ORDER BY answer_job_key DESC"
        )
    ]


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
    reins: Reins,
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
    caps, name = work.caps, work.model.name
    control = job_control(
        project, work.model.model, work.back_end, caps.max_calls, caps.max_cost, caps.concurrency, reins.report,
        caps.patience,
    )  # fmt: skip
    reins.take(control)
    role, column = ("judge", "judge_key") if work.things == COMPARISONS else ("generator", "generator_key")
    with project.transaction() as cursor:
        key = put_answer_model(cursor, "judge" if role == "judge" else "generator", work.model, author)
        come = batches(cursor)
        job = ANSWER_JOBS.start(cursor, {column: key}, work.asked, work.total, author)
        log(cursor, author, f"start {work.things}", job=job, by=name, count=work.total)

    def results() -> Iterator[Sequence[Result]]:
        yield from come(control)

    def told(cursor: Cursor, final: Progress) -> None:
        log(
            cursor, author, f"{work.things} {final.state}", job=job, by=name, count=final.graded, failed=final.failed,
        )  # fmt: skip

    carrier = Carrier[Result](
        project, ANSWER_JOBS, job, Progress("running", work.total), lambda progress: report(name, progress), control,
        lambda cursor, some: write(cursor, key, some, job), failed,
    )  # fmt: skip
    return carry(
        carrier, results, "Start again", "to continue", "The model",
        lambda: said_of_models(work.model.model, control.models), told, reins.cancel,
    )  # fmt: skip


ANSWERS, COMPARISONS = "answers", "comparisons"
"""What jobs bring."""


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
