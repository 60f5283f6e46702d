"""Planning batches: what is missing is divided among files that an endpoint takes, within the caps of the job."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core.bank import check_version
from core.catalogue import put_grader
from core.errors import GradingError
from core.formats import Reply, WrittenCall, call_line
from core.graders import (
    MOST_BYTES,
    MOST_CALLS,
    Control,
    Grader,
    Outcome,
    Pair,
    Price,
    Usage,
    address_of,
    asked_by,
    in_order,
    speak,
    spoken,
)
from core.grading import batch_records as records
from core.grading.batch_records import kept_replies
from core.grading.batch_standing import key_of
from core.grading.billing import told_of
from core.grading.budgets import Budget
from core.grading.jobs import end, start
from core.grading.pairs import pairs_to_grade, with_texts
from core.grading.price_tag import tag_of
from core.grading.replies import CHUNK, Taking, in_chunks, name_of, play_with
from core.grading.scope import Scope
from core.project import Cursor, Project, log


def begin(
    project: Project,
    grader: Grader,
    asked: Mapping[str, Any],
    scope: Scope,
    version: int | None,
    author: str,
    caps: Budget,
    report: Callable[[str], None] = lambda line: None,
    most_calls: int = MOST_CALLS,
) -> int | None:
    """Plan batches of what is missing; `step` sends them.

    The first time one pair is asked alone, at the full price: a key that is not valid, a model that is not there, and
    what the endpoint does not take show then, and not in every line of an answer that takes a day.

    Args:
        asked: what the record of the job keeps of the request.
        scope: which of the missing pairs; those that are on their way already are not.
        version: bank version whose active questions are asked; None for the newest.
        caps: no more calls are planned than they bear, each at the most that it may use.
        report: is told one line for every call that failed.
        most_calls: of a batch.

    Returns:
        The key of the job; None where nothing is missing.

    Raises:
        GradingError: the grader asks no endpoint, or that cannot be asked.
        InputError: there is no such bank version or run.
    """
    version = check_version(project, version)
    pairs = [pair for group in pairs_to_grade(project, grader.spec, version, scope) for pair in in_order(grader, group)]
    if not pairs:
        return None
    told = told_of(tag_of(project, grader, pairs), batch=True)
    given = {**asked, "bank_version": version, "batch": True, "address": address_of(grader), "told": told}

    def record(cursor: Cursor) -> int:
        job = start(cursor, put_grader(cursor, grader.spec), given, len(pairs), author)
        log(cursor, author, "start job", job=job, grader=grader.spec.name, pairs=len(pairs))
        return job

    job = project.write(record)
    control = Control(caps.max_calls, caps.max_cost, caps.price, 1, report, caller=caps.caller)
    kept = kept_replies(project, key_of(project, grader))
    taking = Taking(project, grader, author, job)
    try:
        outcomes: list[Outcome] = []
        if (dialect := _known_dialect(project, grader)) is not None:
            speak(grader, dialect)
        else:
            outcomes = _ask_one(project, grader, [pair for pair in pairs if pair not in kept], control)
        alone = control.usage
        taking.write(outcomes, alone)
        given |= {"alone": asdict(alone), "dialect": spoken(grader)}
        speak(grader, given["dialect"])
        known = {outcome[:2] for outcome in outcomes}
        rest = [pair for pair in pairs if pair not in known]
        planning = divide(project, grader, rest, kept, left_of(caps, alone), most_calls)
    except GradingError as error:
        reason = str(error)
        project.write(lambda cursor: end(cursor, job, "failed", reason))
        raise
    taking.write(planning.settled)
    given |= {"stopped": planning.stopped}

    def wait(cursor: Cursor) -> None:
        records.plan(cursor, job, 1, planning.batches)
        cursor.execute("UPDATE jobs SET state = 'waiting', asked = ? WHERE job_key = ?", [json.dumps(given), job])

    project.write(wait)
    return job


def _known_dialect(project: Project, grader: Grader) -> dict[str, Any] | None:
    """How an earlier job of batches was understood at the same address; None where there was none."""
    for (asked,) in project.rows(
        "SELECT asked FROM jobs WHERE grader_key = ? AND json_extract(asked, '$.dialect') IS NOT NULL"
        " AND state <> 'failed' ORDER BY job_key DESC",
        [key_of(project, grader)],
    ):
        kept = json.loads(asked)
        if kept.get("address") == address_of(grader):
            return dict(kept["dialect"])
    return None


def left_of(caps: Budget, used: Usage) -> Control:
    """The reins of calls in batches: what is left of caps, at the price of batches."""
    price = None
    if caps.price is not None:
        of, share = caps.price, caps.price.batch
        price = Price(of.input * share, of.output * share, None if of.cached is None else of.cached * share, share)
    return Control(
        None if caps.max_calls is None else max(caps.max_calls - used.calls, 0),
        None if caps.max_cost is None else max(caps.max_cost - used.cost, 0.0),
        price,
        caller=caps.caller,
    )


def _ask_one(project: Project, grader: Grader, pairs: Sequence[Pair], control: Control) -> list[Outcome]:
    """Ask the endpoint about one pair alone, and give what became of it and of those that took no call."""
    outcomes: list[Outcome] = []
    for pair in pairs:
        if control.usage.calls or control.stopping:
            break
        texts = with_texts(project, grader.spec, [pair])
        for batch in grader.grade(texts.questions, texts.passages, texts.pairs, control):
            outcomes += batch
    return outcomes


@dataclass(frozen=True)
class _Planned:
    """Batches by mark, the pairs that need no call, and whether a cap kept others out."""

    batches: dict[str, list[Pair]]
    settled: list[Outcome]
    stopped: bool


def divide(
    project: Project,
    grader: Grader,
    pairs: Sequence[Pair],
    kept: Mapping[Pair, Mapping[str, Reply]],
    control: Control,
    most_calls: int = MOST_CALLS,
) -> _Planned:
    """Divide pairs among batches within the limits of the protocol and the caps of the job."""
    api = asked_by(grader)
    batches: dict[str, list[Pair]] = {}
    settled: list[Outcome] = []
    current: list[Pair] = []
    size = 0
    for chunk in in_chunks(pairs, CHUNK):
        texts = with_texts(project, grader.spec, chunk)
        for pair in chunk:
            played = play_with(grader, pair, texts, kept.get(pair, {}))
            if played.grade is not None:
                settled.append((*pair, played.grade))
                continue
            assert played.body is not None
            if not control.reserve(*played.reserved):
                return _Planned(batches, settled, True)
            length = len(call_line(WrittenCall(name_of(grader, pair, played.body), api, played.body)))
            if not current or len(current) >= most_calls or size + length > MOST_BYTES:
                current, size = batches.setdefault(records.new_mark(), []), 0
            current.append(pair)
            size += length
    return _Planned(batches, settled, False)
