"""Grading elsewhere: the calls that are missing as a file, and the answers of any engine taken in as grades."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson

from core.catalogue import grader_key, prices, put_grader
from core.errors import Report
from core.formats import Reply, Source, WrittenCall, read_replies, write_calls
from core.graders import (
    NOTHING_USED,
    Grader,
    Outcome,
    Pair,
    Played,
    Price,
    Told,
    Usage,
    asked_by,
    passes,
    play,
    said_of_models,
)
from core.grading.grades import add_outcomes
from core.grading.jobs import JOBS, end, start
from core.grading.pairs import PairsToGrade, pairs_to_grade, with_texts
from core.grading.scope import EVERYTHING, Scope
from core.project import Cursor, Project, log

CHUNK = 4096
"""Pairs, or answers, that are looked at together."""
FINGERPRINT, BODY = 12, 16
"""Characters of a call's name that tell the grader, and that tell what is asked."""

Replies = Mapping[str, Reply]
One = TypeVar("One")


@dataclass(frozen=True)
class Written:
    """What a file of calls holds.

    Args:
        calls: calls in it.
        settled: pairs that need no answer any more: a passage without words, a prompt too long for the model, or
            all answers are known. Taking the answers in, or grading here, gives them their grades.
    """

    calls: int
    settled: int


@dataclass(frozen=True)
class TakenIn:
    """What became of answers.

    Args:
        graded: pairs that got a rating; the defaulted ones are among them.
        defaulted: those whose rating is a default, as the model gave none.
        failed: pairs that were asked and gave nothing usable.
        known: pairs that had a grade before.
        unanswered: calls that nobody answered; they may be asked again.
        unfinished: pairs whose answers so far need another call.
        unmatched: answers to what this grader does not ask.
        usage: calls, tokens, and their cost by the price table.
        remarks: what else there is to know of the models that answered.
    """

    graded: int = 0
    defaulted: int = 0
    failed: int = 0
    known: int = 0
    unanswered: int = 0
    unfinished: int = 0
    unmatched: int = 0
    usage: Usage = NOTHING_USED
    remarks: str = ""


def write_missing(
    project: Project,
    grader: Grader,
    path: Path,
    version: int,
    scope: Scope = EVERYTHING,
    answers: Sequence[Source] = (),
) -> Written:
    """Write the calls that missing pairs need to a file, for any engine to answer.

    A pair whose method asks twice stands there with its first call; with the answers to the first ones it is written
    with its second.

    Args:
        grader: one whose model is behind an endpoint; the endpoint is not asked.
        path: JSONL in the form of a batch endpoint, or Parquet, by its name.
        version: bank version whose active questions are asked.
        scope: which of the missing pairs.
        answers: files of answers that are known already.

    Raises:
        GradingError: the grader asks no endpoint.
        FileError: a file of answers cannot be used.
        InputError: the file cannot be written.
    """
    api = asked_by(grader)
    report = Report()
    told = _by_pair(read_replies(answers, report), grader, report)
    report.raise_if_refused("Give the files as the engine wrote them.")
    groups = pairs_to_grade(project, grader.spec, version, scope)
    settled = 0

    def calls() -> Iterator[WrittenCall]:
        nonlocal settled
        for pairs in _batches((pair for group in groups for pair in group), CHUNK):
            texts = with_texts(project, grader.spec, pairs)
            for pair in pairs:
                played = _play(grader, pair, texts, told.get(pair, {}))
                if played.body is None:
                    settled += 1
                else:
                    yield WrittenCall(_name(grader, pair, played.body), api, played.body)

    return Written(write_calls(calls(), path), settled)


def take_in(project: Project, grader: Grader, sources: Sequence[Source], author: str) -> TakenIn:
    """Make grades of what an engine answered; any number of times, in any order of files, with the same result.

    Args:
        grader: the one whose calls were written.
        sources: files of answers; where a method asks twice, those to the first and to the second calls together.
        author: who takes them in.

    Raises:
        GradingError: the grader asks no endpoint.
        FileError: a row is no answer to a call of this grader about texts of this project. Nothing was changed.
    """
    asked_by(grader)
    report = Report()
    # Read twice: whether all of it can be used is known before any of it is.
    for replies in _batches(read_replies(sources, report), CHUNK):
        _refuse_unknown(project, replies, grader, report)
    report.raise_if_refused("Nothing was taken in. Give the files as the engine wrote them, with the same grader.")
    taking = _Taking(project, grader, author)
    for replies in _batches(read_replies(sources, Report()), CHUNK):
        taking.take(replies)
    return taking.end()


@dataclass
class _Taking:
    """One time of taking answers in: a job of the project."""

    project: Project
    grader: Grader
    author: str
    taken: TakenIn = field(default_factory=TakenIn)
    waiting: dict[Pair, dict[str, Reply]] = field(default_factory=dict)
    models: dict[str, int] = field(default_factory=dict)
    job: int | None = None

    def __post_init__(self) -> None:
        self.price = prices(self.project).get(self.grader.spec.model) or Price()

    def take(self, replies: Sequence[Reply]) -> None:
        """Take some answers in; pairs that need more of them wait for those."""
        told: dict[Pair, dict[str, Reply]] = {}
        unanswered = 0
        for reply in replies:
            if not _answered(reply):
                unanswered += 1
                continue
            pair = _pair(reply.name)
            # Equal names are one call: the first answer counts.
            told.setdefault(pair, self.waiting.setdefault(pair, {})).setdefault(reply.name, reply)
        self.taken = replace(self.taken, unanswered=self.taken.unanswered + unanswered)
        graded, failed = self._known(list(told))
        for pair in graded:
            self.waiting.pop(pair)
        outcomes: list[Outcome] = []
        usage = self.taken.usage
        texts = with_texts(self.project, self.grader.spec, [pair for pair in told if pair not in graded])
        for pair in texts.pairs:
            played = _play(self.grader, pair, texts, told[pair])
            if played.grade is None:
                continue
            del self.waiting[pair]
            if played.grade.rating is None and pair in failed:
                continue
            outcomes.append((*pair, played.grade))
            usage = Usage(
                usage.calls + len(told[pair]),
                usage.input_tokens + played.used[0],
                usage.output_tokens + played.used[1],
                usage.cost + self.price.of(*played.used),
            )
            for model in played.models:
                self.models[model] = self.models.get(model, 0) + 1
        self.taken = replace(self.taken, known=self.taken.known + len(graded), usage=usage)
        self._write(outcomes)

    def end(self) -> TakenIn:
        """Close the job, and say what became of everything."""
        left = sum(len(replies) for replies in self.waiting.values())
        unfinished = 0
        for pairs in _batches(self.waiting, CHUNK):
            texts = with_texts(self.project, self.grader.spec, pairs)
            for pair in pairs:
                used: set[str] = set()
                _play(self.grader, pair, texts, self.waiting[pair], used)
                unfinished += bool(used)
                left -= len(used)
        remarks = said_of_models(self.grader.spec.model, self.models)
        self.taken = replace(self.taken, unfinished=unfinished, unmatched=left, remarks=remarks)
        if (job := self.job) is not None:
            counts = {"graded": self.taken.graded, "failed": self.taken.failed}

            def finish(cursor: Cursor) -> None:
                if end(cursor, job, "done", remarks):
                    log(cursor, self.author, "job done", job=job, **counts)

            self.project.write(finish)
        return self.taken

    def _known(self, pairs: Sequence[Pair]) -> tuple[set[Pair], set[Pair]]:
        """Those of pairs that have a grade, and those that were asked and gave nothing usable."""
        key = self.project.read(lambda cursor: grader_key(cursor, self.grader.spec))
        found: list[set[Pair]] = [
            set(
                self.project.rows(
                    f"SELECT DISTINCT question_text_key, passage_text_key FROM {table}"
                    " JOIN (SELECT unnest($questions) AS question_text_key, unnest($passages) AS passage_text_key)"
                    " USING (question_text_key, passage_text_key) WHERE grader_key = $grader",
                    {
                        "grader": -1 if key is None else key,
                        "questions": [question for question, _ in pairs],
                        "passages": [passage for _, passage in pairs],
                    },
                )
            )
            for table in ("grades", "failures")
        ]
        return found[0], found[1]

    def _write(self, outcomes: Sequence[Outcome]) -> None:
        if not outcomes:
            return
        failed = sum(grade.rating is None for _, _, grade in outcomes)
        graded = len(outcomes) - failed

        def write(cursor: Cursor) -> int:
            key = put_grader(cursor, self.grader.spec)
            job = self.job
            if job is None:
                job = start(cursor, key, {"elsewhere": True}, 0, self.author)
                log(cursor, self.author, "start job", job=job, grader=self.grader.spec.name, pairs=0)
            cursor.execute("UPDATE jobs SET total = total + ? WHERE job_key = ?", [len(outcomes), job])
            add_outcomes(cursor, key, outcomes, job)
            JOBS.advance(cursor, job, graded, failed, self.taken.usage)
            return job

        self.job = self.project.write(write)
        self.taken = replace(
            self.taken,
            graded=self.taken.graded + graded,
            failed=self.taken.failed + failed,
            defaulted=self.taken.defaulted + sum(grade.status == "defaulted" for _, _, grade in outcomes),
        )


def _answered(reply: Reply) -> bool:
    """Whether there is an answer, or a reason for good why not; what passes may be asked again."""
    return reply.content is not None or (reply.error is not None and not (reply.status and passes(reply.status)))


def _play(grader: Grader, pair: Pair, texts: PairsToGrade, replies: Replies, used: set[str] | None = None) -> Played:
    """How far a pair comes; `used` takes the names of the answers that were of use."""

    def told(body: Mapping[str, Any]) -> Told | None:
        name = _name(grader, pair, body)
        reply = replies.get(name)
        if reply is None or not _answered(reply):
            return None
        if used is not None:
            used.add(name)
        return Told(reply.content, reply.error or "")

    return play(grader, texts.questions[pair[0]], texts.passages[pair[1]], told)


def _name(grader: Grader, pair: Pair, body: Mapping[str, Any]) -> str:
    """What a call is known by: the grader, the two texts, and a hash of all that is sent."""
    asked = hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return f"{grader.spec.fingerprint[:FINGERPRINT]}.{pair[0]}.{pair[1]}.{asked[:BODY]}"


def _pair(name: str) -> Pair:
    _, question, passage, _ = name.split(".")
    return int(question), int(passage)


def _fault(name: str, grader: Grader) -> str:
    """Why a name is none of a grader's calls; empty where it is one."""
    parts = name.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts[1:3]):
        return "the custom_id is not that of a planned call"
    if parts[0] != grader.spec.fingerprint[:FINGERPRINT]:
        return f"the call was planned for another grader than {grader.spec.name}"
    return ""


def _batches(things: Iterable[One], size: int) -> Iterator[list[One]]:
    waiting = iter(things)
    while batch := list(islice(waiting, size)):
        yield batch


def _by_pair(replies: Iterator[Reply], grader: Grader, report: Report) -> dict[Pair, dict[str, Reply]]:
    told: dict[Pair, dict[str, Reply]] = {}
    for reply in replies:
        if fault := _fault(reply.name, grader):
            report.refuse(reply.file, reply.line, fault)
        else:
            told.setdefault(_pair(reply.name), {}).setdefault(reply.name, reply)
    return told


def _refuse_unknown(project: Project, replies: Sequence[Reply], grader: Grader, report: Report) -> None:
    """Refuse answers that are not to this grader's calls, or about texts that the project does not have."""
    ours: dict[Pair, Reply] = {}
    for reply in replies:
        if fault := _fault(reply.name, grader):
            report.refuse(reply.file, reply.line, fault)
        else:
            ours.setdefault(_pair(reply.name), reply)
    texts = with_texts(project, grader.spec, list(ours))
    for (question, passage), reply in ours.items():
        if question not in texts.questions or passage not in texts.passages:
            report.refuse(reply.file, reply.line, "the call was planned for texts that this project does not have")
