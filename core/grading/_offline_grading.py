"""Grading elsewhere: export of missing calls or pairs to a file, import of answers or grades."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson

from ..bank import list_prompts, model_prices, put_grader, refuse_drifted
from ..errors import InputError, Report
from ..formats import PARQUET, Reply, Source, WrittenCall, read_replies, write_calls
from ..graders import (
    NOTHING_USED,
    CallResult,
    Grader,
    NamedGrade,
    Outcome,
    Pair,
    PlannedGrader,
    Price,
    ReadingGrader,
    ReplayedPair,
    Usage,
    grader_endpoint,
    is_passing_status,
    is_remote,
    make_usage,
    other_models_note,
    read_grades,
    replay_pair,
    write_pairs,
)
from ..grouping import nest_triples
from ..jobs import record_usage
from ..records import add_job, count_results, end_job
from ..store import Cursor, Project, log_action
from ..types import GraderInput, GraderSpec
from ._grade_storage import add_outcomes
from ._needed_pairs import EVERYTHING, Scope, known_key, ordered_pairs, with_texts

CHUNK = 4096
"""Number of pairs or answers whose texts are in memory together."""
FINGERPRINT, BODY = 12, 16
"""Lengths of the parts of a call's name that identify the grader and the content of the call."""

Replies = Mapping[str, Reply]
One = TypeVar("One")


@dataclass(frozen=True)
class ReplyImportResult:
    """Result of importing answers.

    Args:
        graded: pairs that got a rating; the defaulted ones are among them.
        defaulted: pairs with a default rating, because the model gave none.
        failed: pairs that were asked without a usable reply, for the first time.
        known: pairs that had a grade before.
        failed_again: pairs that failed before, without a usable reply now either.
        unanswered: calls without an answer; they may be asked again.
        unfinished: pairs that need another call in addition to these answers.
        unmatched: answers that match no call of this grader.
        usage: calls, tokens, and their cost by the price table.
        remarks: remarks about the models that answered.
    """

    graded: int = 0
    defaulted: int = 0
    failed: int = 0
    known: int = 0
    failed_again: int = 0
    unanswered: int = 0
    unfinished: int = 0
    unmatched: int = 0
    usage: Usage = NOTHING_USED
    remarks: str = ""


@dataclass
class ReplyImport:
    """An import of answers.

    Args:
        job: the job that asked; None for answers from files, which make a job of their own.
        key: API key that is removed from every text; empty for answers from files.
        waiting: known answers by pair and by name of the call.
        taken: result of the answers so far.
        models: number of pairs by the model named in the answers.
    """

    project: Project
    grader: Grader
    author: str
    job: int | None = None
    key: str = ""
    waiting: dict[Pair, dict[str, Reply]] = field(default_factory=dict)
    taken: ReplyImportResult = field(default_factory=ReplyImportResult)
    models: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.price = model_prices(self.project).get(self.grader.spec.model) or Price()
        self.asked_here = self.job is not None

    def import_replies(self, replies: Sequence[Reply]) -> None:
        """Import some answers; pairs that need more answers wait for them."""
        answered = [reply for reply in replies if is_answered(reply)]
        pair_replies: dict[Pair, dict[str, Reply]] = {}
        for reply in answered:
            pair = pair_of_call(reply.name)
            # Equal names are the same call, and the first answer counts.
            pair_replies.setdefault(pair, self.waiting.setdefault(pair, {})).setdefault(
                reply.name, reply
            )
        graded, failed = self._known_pairs(list(pair_replies))
        for pair in graded:
            self.waiting.pop(pair)
        outcomes: list[Outcome] = []
        usage = self.taken.usage
        fresh = [pair for pair in pair_replies if pair not in graded]
        failed_again = 0
        for pair, played, _ in replay_pairs(
            self.project, self.grader, fresh, pair_replies, self.key
        ):
            if played.grade is None:
                continue
            del self.waiting[pair]
            if played.grade.rating is None and pair in failed:
                failed_again += 1
                continue
            outcomes.append((*pair, played.grade))
            usage = usage.plus(
                make_usage(len(pair_replies[pair]), played.used, self.price.cost_of(*played.used))
            )
            self.models.update(played.models)
        self.taken = replace(
            self.taken,
            unanswered=self.taken.unanswered + len(replies) - len(answered),
            known=self.taken.known + len(graded),
            failed_again=self.taken.failed_again + failed_again,
            usage=usage,
        )
        self.store_results(outcomes)

    def take_outcomes(self, outcomes: Sequence[Outcome], used: Usage) -> None:
        """Import grades from elsewhere and their usage; known pairs stay as they are."""
        graded, failed = self._known_pairs(
            [(question, passage) for question, passage, _ in outcomes]
        )
        fresh = [
            outcome
            for outcome in outcomes
            if outcome[:2] not in graded
            and not (outcome[2].rating is None and outcome[:2] in failed)
        ]
        self.taken = replace(
            self.taken,
            known=self.taken.known + len(graded),
            failed_again=self.taken.failed_again + len(outcomes) - len(graded) - len(fresh),
            usage=self.taken.usage.plus(used) if fresh else self.taken.usage,
        )
        self.store_results(fresh)

    def unfinished(self) -> dict[Pair, list[Reply]]:
        """Return the pairs that need another call, with their present answers."""
        used: set[str] = set()
        for _ in replay_pairs(self.project, self.grader, self.waiting, self.waiting, used=used):
            pass
        used_names = {
            pair: sorted(used.intersection(replies)) for pair, replies in self.waiting.items()
        }
        return {
            pair: [self.waiting[pair][name] for name in names]
            for pair, names in used_names.items()
            if names
        }

    def end(self) -> ReplyImportResult:
        """Close the job of answers from files, and return the counts."""
        unfinished = self.unfinished()
        left = sum(map(len, self.waiting.values())) - sum(map(len, unfinished.values()))
        remarks = other_models_note(self.grader.spec.model, self.models)
        self.taken = replace(
            self.taken, unfinished=len(unfinished), unmatched=left, remarks=remarks
        )
        if (job := self.job) is not None:
            counts = {"graded": self.taken.graded, "failed": self.taken.failed}

            def record_end(cursor: Cursor) -> None:
                if end_job(cursor, job, "done", remarks):
                    log_action(cursor, self.author, "job done", job=job, **counts)

            self.project.write(record_end)
        return self.taken

    def _known_pairs(self, pairs: Sequence[Pair]) -> tuple[set[Pair], set[Pair]]:
        """Return the pairs that have a grade, and those that were asked without a usable reply."""
        known_pairs: list[set[Pair]] = [
            set(
                self.project.rows(
                    f"SELECT DISTINCT question_text_key, passage_text_key FROM {table}"
                    " JOIN (SELECT unnest($questions) AS question_text_key, unnest($passages) AS"
                    " passage_text_key)"
                    # Pairs that failed in another job are asked again by this one.
                    " USING (question_text_key, passage_text_key) WHERE grader_key = $grader"
                    f" AND ($job IS NULL OR {table == 'grades'} OR job_key = $job)",
                    {
                        "job": self.job if self.asked_here else None,
                        "grader": known_key(self.project, self.grader.spec),
                        "questions": [question for question, _ in pairs],
                        "passages": [passage for _, passage in pairs],
                    },
                )
            )
            for table in ("grades", "failures")
        ]
        return known_pairs[0], known_pairs[1]

    def store_results(self, outcomes: Sequence[Outcome], usage: Usage | None = None) -> None:
        """Store results of pairs, and the usage of the job so far if it is given."""
        if not outcomes and usage is None:
            return
        failed = sum(grade.rating is None for _, _, grade in outcomes)
        graded = len(outcomes) - failed

        def store_outcomes(cursor: Cursor) -> int:
            key = put_grader(cursor, self.grader.spec)
            job = self.job
            if job is None:
                job = add_job(cursor, "grading", key, {"elsewhere": True}, 0, self.author)
                log_action(
                    cursor, self.author, "start job", job=job, grader=self.grader.spec.name, pairs=0
                )
            add_outcomes(cursor, key, outcomes, job)
            more = 0 if self.asked_here else len(outcomes)
            count_results(cursor, job, graded, failed, more)
            used = usage if self.asked_here else self.taken.usage
            if used is not None:
                record_usage(cursor, job, used)
            return job

        self.job = self.project.write(store_outcomes)
        self.taken = replace(
            self.taken,
            graded=self.taken.graded + graded,
            failed=self.taken.failed + failed,
            defaulted=self.taken.defaulted
            + sum(grade.status == "defaulted" for _, _, grade in outcomes),
        )


def is_answered(reply: Reply) -> bool:
    """Return whether there is an answer or a lasting error. After a temporary error, the call may
    be repeated.
    """
    return reply.content is not None or (
        reply.error is not None and not (reply.status and is_passing_status(reply.status))
    )


def _known_answer(
    grader: Grader, pair: Pair, replies: Replies, used: set[str] | None, body: Mapping[str, Any]
) -> CallResult | None:
    """Return the known answer to a call of a pair, and add its name to `used`; None if it is not
    answered.
    """
    name = call_name(grader, pair, body)
    reply = replies.get(name)
    if reply is None or not is_answered(reply):
        return None
    if used is not None:
        used.add(name)
    return CallResult(reply.content, reply.error or "")


def replay_pairs(
    project: Project,
    grader: Grader,
    pairs: Iterable[Pair],
    known_replies: Mapping[Pair, Replies],
    key: str = "",
    used: set[str] | None = None,
) -> Iterator[tuple[Pair, ReplayedPair, WrittenCall | None]]:
    """Yield the state of each pair with its known answers, and its next call.

    Args:
        known_replies: known answers of pairs, by name.
        key: API key that is removed from every text.
        used: gets the names of the answers that were needed.

    Yields:
        For each pair, in order, its state and its next call; None instead of a call if the pair
            needs no more answers.
    """
    for chunk in in_chunks(pairs, CHUNK):
        texts = with_texts(project, grader.spec, chunk)
        for pair in chunk:
            known = partial(_known_answer, grader, pair, known_replies.get(pair, {}), used)
            played = replay_pair(
                grader, pair, texts.questions[pair[0]], texts.passages[pair[1]], known, key
            )
            yield (
                pair,
                played,
                None
                if played.body is None
                else WrittenCall(
                    call_name(grader, pair, played.body),
                    grader_endpoint(grader).endpoint.dialect.api,
                    played.body,
                ),
            )


def kept_replies(project: Project, spec: GraderSpec) -> dict[Pair, dict[str, Reply]]:
    """Return known answers to first calls, from any job of a grader, for pairs without a grade: by
    pair and name.
    """
    rows = project.rows(
        "SELECT question_text_key, passage_text_key, name, content, error"
        " FROM kept_replies k JOIN jobs j USING (job_key)"
        " ANTI JOIN grades g ON g.grader_key = j.subject_key"
        " AND g.question_text_key = k.question_text_key"
        " AND g.passage_text_key = k.passage_text_key WHERE j.subject_key = ? ORDER BY ALL",
        [known_key(project, spec)],
    )
    return nest_triples(
        ((question, passage), name, Reply(name, None if text is None else text.encode(), error))
        for question, passage, name, text, error in rows
    )


def recall_dialect(project: Project, grader: Grader) -> bool:
    """Use the fields that the endpoint accepted in the last batch job there, if it is known; return
    whether it is. If all pairs of that job failed, the endpoint may have changed.
    """
    endpoint = grader_endpoint(grader)
    learnt = project.rows(
        "SELECT json_extract(request, '$.dialect')::VARCHAR AS dialect, done > 0 OR failed = 0"
        " FROM jobs WHERE subject_key = ? AND json_extract_string(request, '$.address') = ?"
        " AND state <> 'failed' AND dialect IS NOT NULL ORDER BY job_key DESC LIMIT 1",
        [known_key(project, grader.spec), endpoint.endpoint.base_url],
    )
    known = bool(learnt and learnt[0][1])
    if known:
        endpoint.use_dialect(orjson.loads(learnt[0][0]))
    return known


def with_kept_replies(project: Project, grader: Grader, asking: bool = True) -> Grader:
    """Return the grader, which does not repeat calls whose answers a batch job has kept.

    Args:
        asking: whether it will be asked, which needs a key; False for an estimate or a file.

    Raises:
        GradingError: the key or the access is missing.
    """
    replies = kept_replies(project, grader.spec) if is_remote(grader) else {}
    if not replies or not isinstance(grader, ReadingGrader):
        return grader
    back_end = grader_endpoint(grader)
    usual = back_end.endpoint.dialect
    # Names of calls depend on the dialect in which they were sent.
    recall_dialect(project, grader)
    key = back_end.batches().key if asking else ""
    played = replay_pairs(project, grader, replies, replies, key)
    asker = replace(grader, known={pair: state.completions for pair, state, _ in played})
    if not asking:
        # A plan and the import of its answers must name further calls alike.
        back_end.endpoint.dialect = usual
    return asker


def call_name(grader: Grader, pair: Pair, body: Mapping[str, Any]) -> str:
    """Return the name of a call: the grader, the two texts, and a hash of its content."""
    asked = hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return f"{grader.spec.fingerprint[:FINGERPRINT]}.{pair[0]}.{pair[1]}.{asked[:BODY]}"


def pair_of_call(name: str) -> Pair:
    _, question, passage, _ = name.split(".")
    return int(question), int(passage)


def find_name_fault(name: str, grader: Grader) -> str:
    """Return why a name cannot be a call of the grader; empty if it can."""
    parts = name.split(".")
    if len(parts) != 4 or not all(
        part.isascii() and part.isdecimal() and len(part) < 10 for part in parts[1:3]
    ):
        return "the custom_id does not belong to a planned call"
    if parts[0] != grader.spec.fingerprint[:FINGERPRINT]:
        return f"the call was not planned for grader {grader.spec.name}"
    return ""


def in_chunks(things: Iterable[One], size: int) -> Iterator[list[One]]:
    waiting = iter(things)
    while batch := list(islice(waiting, size)):
        yield batch


def replies_by_pair(
    replies: Iterable[Reply], grader: Grader, report: Report
) -> dict[Pair, dict[str, Reply]]:
    grouped: dict[Pair, dict[str, Reply]] = {}
    for reply in replies:
        if fault := find_name_fault(reply.name, grader):
            report.refuse(reply.file, reply.line, "unknown-call", fault)
        else:
            grouped.setdefault(pair_of_call(reply.name), {}).setdefault(reply.name, reply)
    return grouped


def refuse_unknown(
    project: Project, replies: Sequence[Reply], grader: Grader, report: Report
) -> None:
    """Refuse answers that do not belong to calls of this grader, or to texts of this project."""
    ours = replies_by_pair(replies, grader, report)
    texts = with_texts(project, grader.spec, list(ours))
    for (question, passage), pair_replies in ours.items():
        if question not in texts.questions or passage not in texts.passages:
            reply = next(iter(pair_replies.values()))
            report.refuse(
                reply.file,
                reply.line,
                "unknown-texts",
                "the texts of this call are not in this project",
            )


@dataclass(frozen=True)
class PlanCounts:
    """Counts of an exported plan.

    Args:
        calls: number of its rows: calls of an endpoint, or pairs for any other grader.
        settled: number of pairs that need no further answer: an empty passage, a prompt that is too
            long, or all answers are known. They get their grades with the import of answers, or by
            grading here.
    """

    calls: int
    settled: int


def write_missing(
    project: Project,
    grader: Grader,
    path: Path,
    version: int,
    scope: Scope = EVERYTHING,
    answers: Sequence[Source] = (),
    parameters: Mapping[str, Any] | None = None,
) -> PlanCounts:
    """Write the missing pairs to a file, to be graded elsewhere.

    For a model behind an endpoint, the file has the calls, which any engine can answer. If a method
    asks twice, the file has the first calls; with the answers to these, the second ones. For any
    other grader the file has the pairs with their texts, for `graders.grade_plan`.

    Args:
        grader: the grader; its model is not called.
        path: a Parquet file; for calls also a JSONL file in the form of a batch endpoint. The
            extension decides.
        version: bank version whose active questions are asked.
        scope: selection of the missing pairs.
        answers: files of answers that are known already.
        parameters: parameters of the grader for `make_grader`; None for no parameters. A plan of
            pairs stores them.

    Raises:
        FileError: a file of answers is unusable.
        GradingError: the model of the grader changed, see `bank.refuse_drifted`.
        InputError: the file cannot be written, or this grader has no calls and the file is not
            Parquet.
    """
    refuse_drifted(project, grader.spec)
    if not is_remote(grader):
        if path.suffix != PARQUET or answers:
            raise InputError(
                "grader-without-requests",
                f"{grader.spec.name} does not use an endpoint.",
                "Write its pairs with -o FILE.parquet and without --after, or choose a grader with"
                " --back-end openai.",
            )
        planned = PlannedGrader(
            grader.spec.method, parameters or {}, list_prompts(project), grader.spec.fingerprint
        )
        return PlanCounts(
            write_pairs(_named_pairs(project, grader, version, scope), planned, path), 0
        )
    report = Report()
    known_replies = replies_by_pair(read_replies(answers, report), grader, report)
    report.raise_if_refused("Use the answer files exactly as they were written.")
    grader = with_kept_replies(project, grader, asking=False)
    pairs = ordered_pairs(project, grader, version, scope)
    settled = 0

    def missing_calls() -> Iterator[WrittenCall]:
        nonlocal settled
        for _, _, call in replay_pairs(project, grader, pairs, known_replies):
            if call is None:
                settled += 1
            else:
                yield call

    return PlanCounts(write_calls(missing_calls(), path), settled)


def _named_pairs(
    project: Project, grader: Grader, version: int, scope: Scope
) -> Iterator[tuple[str, GraderInput, str]]:
    for pairs in in_chunks(ordered_pairs(project, grader, version, scope), CHUNK):
        texts = with_texts(project, grader.spec, pairs)
        for pair in pairs:
            asked, passage = texts.questions[pair[0]], texts.passages[pair[1]]
            yield _name_of_pair(grader, pair, asked, passage), asked, passage


def _name_of_pair(grader: Grader, pair: Pair, question: GraderInput, passage: str) -> str:
    return call_name(grader, pair, {"question": question.written, "passage": passage})


def import_answer_files(
    project: Project, grader: Grader, sources: Sequence[Source], author: str
) -> ReplyImportResult:
    """Import an engine's answers as grades. Repetition and the order of files do not change the
    result.

    Args:
        grader: the grader whose calls were exported.
        sources: files of answers; if a method asks twice, include those to the first and the second
            calls.
        author: the person who imports them.

    Raises:
        GradingError: the grader uses no endpoint.
        FileError: a row does not answer a call of this grader about texts of this project. Nothing
            was changed.
    """
    grader_endpoint(grader)
    report = Report()
    # Files are read twice, so that nothing is imported if any row is unusable.
    for replies in in_chunks(read_replies(sources, report), CHUNK):
        refuse_unknown(project, replies, grader, report)
    report.raise_if_refused(
        "Nothing was imported. Use the answer files exactly as they were written,"
        " with the same grader."
    )
    reply_import = ReplyImport(project, with_kept_replies(project, grader, asking=False), author)
    for replies in in_chunks(read_replies(sources, Report()), CHUNK):
        reply_import.import_replies(replies)
    return reply_import.end()


def import_grade_files(
    project: Project, grader: Grader, paths: Sequence[Path], author: str
) -> ReplyImportResult:
    """Import files of grades from `graders.grade_plan`.

    Repetition and the order of files do not change the result.

    Args:
        grader: the grader of the plan.
        author: the person who imports them.

    Raises:
        FileError: a row is not a grade of this grader for texts of this project. Nothing was
            changed.
    """
    report = Report()
    # All files are checked before anything is written.
    for path in paths:
        try:
            for rows in read_grades(path):
                _refuse_unknown_grades(project, grader, rows, path.name, report)
        except ValueError as error:
            report.refuse(path.name, None, "unreadable-file", str(error))
    report.raise_if_refused(
        "Nothing was imported. Use the files that exam grade-plan wrote with the"
        " grader of the plan."
    )
    reply_import = ReplyImport(project, grader, author)
    for path in paths:
        for rows in read_grades(path):
            # The first grade of a pair counts.
            grades = {pair_of_call(row.name): row.grade for row in reversed(rows)}
            used = reduce(Usage.plus, (row.usage for row in rows), NOTHING_USED)
            reply_import.take_outcomes([(*pair, grade) for pair, grade in grades.items()], used)
    return reply_import.end()


def _refuse_unknown_grades(
    project: Project, grader: Grader, rows: Sequence[NamedGrade], file: str, report: Report
) -> None:
    faults = {
        row.line: ("unknown-call", fault)
        for row in rows
        if (fault := find_name_fault(row.name, grader))
    }
    ours = [row for row in rows if row.line not in faults]
    texts = with_texts(project, grader.spec, [pair_of_call(row.name) for row in ours])
    for row in ours:
        question, passage = pair = pair_of_call(row.name)
        asked, text = texts.questions.get(question), texts.passages.get(passage)
        if asked is None or text is None or row.name != _name_of_pair(grader, pair, asked, text):
            faults[row.line] = ("unknown-texts", "the texts of this pair are not in this project")
        elif (row.grade.rating or 0) > grader.spec.max_rating:
            faults[row.line] = (
                "rating-out-of-range",
                f"rating {row.grade.rating} is above the maximum {grader.spec.max_rating}",
            )
    for line, (code, fault) in faults.items():
        report.refuse(file, line, code, fault)
