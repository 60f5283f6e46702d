"""Grading jobs: ask a grader about missing pairs one by one, or in batches at an endpoint.

Each step of a batch is recorded before the next one, and each can be repeated. A killed process
continues from its last step, and no call of a batch is paid for twice. The mark of a batch is
recorded before its file is uploaded. If the id of a batch could not be recorded, the file or the
mark finds it at the endpoint.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial, reduce
from typing import Any

from ..atomic_files import WorkingFolder
from ..bank import check_version, grader_key, put_grader
from ..errors import GradingError, Report
from ..formats import URLS, Source, call_line, read_replies, write_calls
from ..graders import (
    MOST_BYTES,
    MOST_CALLS,
    NOTHING_USED,
    Control,
    EndpointBatch,
    Grader,
    Outcome,
    Pair,
    PassingError,
    Tokens,
    Usage,
    grader_endpoint,
    is_remote,
    make_usage,
    other_models_note,
    tokens_in_answer,
)
from ..jobs import (
    BackgroundJob,
    Caps,
    Progress,
    Report as Watch,
    ResultWriter,
    find_job,
    find_jobs,
    job_control,
    job_usage,
    record_usage,
    run_recorded_job,
    start_background,
)
from ..records import Job, add_job, end_job, wait_for_batches
from ..store import Cursor, Project, log_action, stage_rows
from ..types import GraderSpec
from ._grade_storage import ProjectVectors, add_outcomes
from ._grader_checks import check_again
from ._needed_pairs import (
    Request,
    known_key,
    ordered_pairs,
    pairs_to_grade,
    request_record,
    trial_pairs,
    with_texts,
)
from ._offline_grading import (
    CHUNK,
    ReplyImport,
    find_name_fault,
    in_chunks,
    is_answered,
    kept_replies,
    pair_of_call,
    recall_dialect,
    replay_pairs,
    with_kept_replies,
)
from ._price_tag import billing_sentence, estimate_record, price_of_pairs

NO_ROOM = frozenset(
    (
        "token_limit_exceeded",
        "rate_limit_exceeded",
        "batch_limit_exceeded",
        "enqueued_limit_exceeded",
    )
)
"""Error codes with which an endpoint refuses a batch that it would accept later, with fewer waiting
calls.
"""
_GONE = "batch_gone"
"""Code of a batch if the endpoint no longer has it or its answers."""
FIRST_PAUSE, GROWTH, LONGEST_PAUSE = 2.0, 1.5, 120.0
"""Seconds between two looks at batches, and their growth. A batch takes from minutes to a day."""
MOST_FAILED_LOOKS = 60
"""Number of failed looks in a row after which waiting ends: about two hours."""
_PAIRS = {
    "mark": "VARCHAR",
    "place": "INTEGER",
    "question_text_key": "INTEGER",
    "passage_text_key": "INTEGER",
}
_KEPT = {"question_text_key": "INTEGER", "passage_text_key": "INTEGER"} | dict.fromkeys(
    ("name", "content", "error"), "VARCHAR"
)


@dataclass(frozen=True)
class CallBatch:
    """A batch of calls.

    Args:
        key, job: its own key, and that of its job.
        wave: from 1: first calls, then second calls and repeated calls.
        mark: its mark at the endpoint.
        state: planned, uploaded, sent, taken, failed or dropped; see migration 0021.
        cancelling: whether a person has cancelled it.
        calls: number of calls.
        file_id, batch_id: ids of its file and of itself at the endpoint; None until they are known.
        remote: its state at the endpoint at the last look.
        done: number of finished calls at the last look.
        answered, unanswered: numbers of calls with an answer, and of calls that are missing again;
            None before the batch is over.
        code, message: reason of a failure.
        tokens: tokens of the answers.
    """

    key: int
    job: int
    wave: int
    mark: str
    state: str
    cancelling: bool
    calls: int
    file_id: str | None
    batch_id: str | None
    remote: str
    done: int
    answered: int | None
    unanswered: int | None
    code: str
    message: str
    tokens: Tokens

    @property
    def open(self) -> bool:
        """Whether answers may still come."""
        return self.state in ("planned", "uploaded", "sent")

    @property
    def status(self) -> str:
        return (self.remote or self.state) + (
            ", to be cancelled" if self.cancelling and self.open else ""
        )


@dataclass(frozen=True)
class BatchProgress:
    """Progress of the waiting batches of a grader at the last look.

    Args:
        jobs: number of jobs that wait for batches.
        batches: number of open batches by status.
        calls, done: numbers of calls in open or finished batches, and of those that the endpoint
            has finished.
        graded, failed, total: numbers of pairs of these jobs.
        usage: usage of these jobs so far.
    """

    jobs: int = 0
    batches: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    done: int = 0
    graded: int = 0
    failed: int = 0
    total: int = 0
    usage: Usage = NOTHING_USED

    @property
    def description(self) -> str:
        """The numbers, as part of a sentence."""
        states = ", ".join(
            f"{number:,} {state.replace('_', ' ')}"
            for state, number in sorted(self.batches.items())
        )
        return (
            f"{self.done:,} of {self.calls:,} calls made; batches: {states or 'none in progress'}"
        )


def call_batches(project: Project, job: int) -> list[CallBatch]:
    """Return the batches of a job, in the order in which they were planned."""
    return [
        CallBatch(*(*row[:-4], Tokens(*(number or 0 for number in row[-4:]))))
        for row in project.rows(
            "SELECT batch_key, job_key, wave, mark, state, cancelling, calls, file_id, batch_id,"
            " remote, done, answered, unanswered, code, message, input_tokens, output_tokens,"
            " cached_tokens, thinking_tokens"
            " FROM call_batches WHERE job_key = ? ORDER BY batch_key",
            [job],
        )
    ]


def waiting_jobs(project: Project, spec: GraderSpec) -> list[Job]:
    """Return the jobs of a grader that wait for batches, oldest first."""
    subject = known_key(project, spec)
    return find_jobs(project, "grading", subject=subject, state="waiting")[::-1]


def batch_standing(project: Project, spec: GraderSpec) -> BatchProgress:
    """Return the last known progress of a grader's batches, without a call of the endpoint."""
    waiting = waiting_jobs(project, spec)
    batches = [batch for job in waiting for batch in call_batches(project, job.key)]
    answered_calls = {
        batch: batch.calls if batch.state == "taken" else min(batch.done, batch.calls)
        for batch in batches
        if batch.open or batch.state == "taken"
    }
    return BatchProgress(
        len(waiting),
        dict(Counter(batch.status for batch in batches if batch.open)),
        sum(batch.calls for batch in answered_calls),
        sum(answered_calls.values()),
        sum(job.done for job in waiting),
        sum(job.failed for job in waiting),
        sum(job.total for job in waiting),
        reduce(Usage.plus, map(job_usage, waiting), NOTHING_USED),
    )


def send_batches(
    project: Project,
    grader: Grader,
    request: Request,
    author: str,
    report: Callable[[str], None] = lambda line: None,
) -> list[int]:
    """Plan batches of the missing calls, in addition to waiting ones; `advance_batches` uploads
    them.

    The first time, one pair is asked alone at the full price. An invalid key, an unknown model or a
    refused field then fails at once, instead of in every answer of a slow batch.

    Args:
        report: called with a line for every failed call.

    Returns:
        The keys of the grader's jobs that now wait.

    Raises:
        GradingError: the grader uses no endpoint, or the endpoint cannot be used.
        InputError: the bank version or a run is unknown, or money is limited and the model has no
            price.
    """
    version = check_version(project, request.bank_version)
    control = _batch_control(project, grader, request_record(request), report)
    if pairs := ordered_pairs(project, grader, version, request.scope):
        job_request = request_record(request) | {
            "bank_version": version,
            "batch": True,
            "address": grader_endpoint(grader).endpoint.base_url,
            "told": estimate_record(price_of_pairs(project, grader, pairs), batch=True),
            "stopped": False,
        }
        with project.transaction(act="grade", author=author) as cursor:
            job = add_job(
                cursor, "grading", put_grader(cursor, grader.spec), job_request, len(pairs), author
            )
            log_action(
                cursor, author, "start job", job=job, grader=grader.spec.name, pairs=len(pairs)
            )
        try:
            check_again(project, grader, author, control)
            outcomes = _learn_dialect(project, grader, pairs, control)
            ReplyImport(project, grader, author, job).store_results(
                outcomes, control.usage if control.usage.calls else None
            )
            job_request |= {
                "alone": asdict(control.usage),
                "dialect": grader_endpoint(grader).dialect,
            }
            grader_endpoint(grader).use_dialect(job_request["dialect"])
            planned = {outcome[:2] for outcome in outcomes}
            _plan_batches(
                project,
                grader,
                author,
                replace(find_job(project, job), request=job_request),
                [pair for pair in pairs if pair not in planned],
                request.batch_size or MOST_CALLS,
            )
        except GradingError as error:
            # The drift watch and the call about one pair may cost money.
            project.write(partial(record_usage, job=job, usage=control.usage))
            project.write(partial(end_job, job=job, state="failed", message=str(error)))
            raise
    return [job.key for job in waiting_jobs(project, grader.spec)]


def _batch_control(
    project: Project,
    grader: Grader,
    job_request: Mapping[str, Any],
    report: Callable[[str], None] = lambda line: None,
    batch: bool = False,
) -> Control:
    caps = Caps(
        max_calls=job_request.get("max_calls"),
        max_cost=job_request.get("max_cost"),
        concurrency=1,
        patience=0.0,
    )
    return job_control(project, grader.spec.model, grader_endpoint(grader), caps, report, batch)


def _learn_dialect(
    project: Project, grader: Grader, pairs: list[Pair], control: Control
) -> list[Outcome]:
    """Learn which fields the endpoint accepts, from the last job there or from a call about one
    pair.
    """
    if recall_dialect(project, grader):
        return []
    kept = kept_replies(project, grader.spec)
    # Pairs that need no call reveal nothing about the endpoint.
    fresh = replay_pairs(project, grader, (pair for pair in pairs if pair not in kept), {})
    alone = next(([pair] for pair, _, call in fresh if call), [])
    texts = with_texts(project, grader.spec, alone)
    return [
        outcome
        for batch in grader.grade(texts.questions, texts.passages, texts.pairs, control)
        for outcome in batch
    ]


def _plan_batches(
    project: Project, grader: Grader, author: str, job: Job, pairs: list[Pair], most: int
) -> bool:
    """Divide the calls of pairs among new batches, within the limits of the protocol and of the
    job.

    Args:
        job: its record notes whether a limit excluded calls.
        most: maximum number of calls per batch.

    Returns:
        Whether there are new batches.
    """
    control = _batch_control(project, grader, job.request, batch=True)
    control.add(job_usage(job))
    wave = 1 + max((batch.wave for batch in call_batches(project, job.key)), default=0)
    rows: list[tuple[Any, ...]] = []
    settled: list[Outcome] = []
    mark, place, size = uuid.uuid4().hex, 0, 0
    for pair, played, call in replay_pairs(
        project, grader, pairs, kept_replies(project, grader.spec)
    ):
        if played.grade is not None:
            settled.append((*pair, played.grade))
        elif call is not None and control.reserve(*played.reserved):
            size += len(call_line(call))
            if place >= most or (place and size > MOST_BYTES):
                mark, place, size = uuid.uuid4().hex, 0, len(call_line(call))
            rows.append((mark, place, *pair))
            place += 1
        else:
            job.request["stopped"] = True
            break
    ReplyImport(project, grader, author, job.key).store_results(settled)

    def record_batches(cursor: Cursor) -> None:
        stage_rows(cursor, "staged_rows", rows, _PAIRS)
        # If the database reported an error at an earlier commit, the batches may be stored already.
        cursor.execute(
            "INSERT INTO call_batches (batch_key, job_key, wave, mark, state, cancelling, calls,"
            " remote, done, code, message, planned_at)"
            " SELECT nextval('keys'), ?, ?, mark, 'planned', false, calls, '', 0, '', '',"
            " now()::TIMESTAMP FROM (SELECT mark, count(*) AS calls FROM staged_rows GROUP BY mark"
            " ORDER BY min(rowid)) ON CONFLICT DO NOTHING",
            [job.key, wave],
        )
        cursor.execute(
            "INSERT INTO call_batch_pairs SELECT batch_key, place, question_text_key,"
            " passage_text_key"
            " FROM staged_rows JOIN call_batches USING (mark) ANTI JOIN call_batch_pairs"
            " USING (batch_key)"
        )
        wait_for_batches(cursor, job.key, job.request)

    project.write(record_batches)
    return bool(rows)


def advance_batches(project: Project, grader: Grader, author: str) -> BatchProgress:
    """Advance all batches of a grader as far as possible: send them, look at them, import answers,
    plan the next ones.

    Returns:
        The progress; `jobs` is the number of waiting jobs that remain.

    Raises:
        PassingError: the endpoint cannot be reached at present; nothing is lost.
        GradingError: the endpoint cannot be used.
    """
    for job in waiting_jobs(project, grader.spec):
        _Step(project, grader, author, job).advance_all()
    return batch_standing(project, grader.spec)


def cancel_batches(project: Project, grader: Grader, author: str) -> BatchProgress:
    """Cancel a grader's batches. Answers that were paid for are imported as soon as the endpoint
    returns them.

    Raises:
        PassingError, GradingError: see `advance_batches`. The cancellation is recorded
            nevertheless.
    """
    project.write(
        lambda cursor: cursor.execute(
            "UPDATE call_batches SET cancelling = true"
            " WHERE state IN ('planned', 'uploaded', 'sent') AND job_key IN (SELECT job_key"
            " FROM jobs WHERE state = 'waiting' AND subject_key = ?)",
            [grader_key(cursor, grader.spec)],
        )
    )
    return advance_batches(project, grader, author)


@dataclass(frozen=True)
class _Step:
    project: Project
    grader: Grader
    author: str
    job: Job

    def advance_all(self) -> None:
        """Advance each batch as far as possible, and then the job."""
        request, endpoint = self.job.request, grader_endpoint(self.grader)
        if endpoint.endpoint.base_url != request["address"]:
            raise GradingError(
                "batches-at-another-address",
                f"The batches of this grader are at {request['address']}, not at"
                f" {endpoint.endpoint.base_url}.",
                f"Use that address: --base-url {request['address']}",
            )
        # Names of calls depend on their wording, which depends on the dialect in which they were
        # sent.
        endpoint.use_dialect(request["dialect"])
        for batch in call_batches(self.project, self.job.key):
            if batch.open:
                self._advance(batch)
        if not any(batch.open for batch in call_batches(self.project, self.job.key)):
            self._go_on_or_end(call_batches(self.project, self.job.key))

    def _advance(self, batch: CallBatch) -> None:
        service = grader_endpoint(self.grader).batches()
        if batch.batch_id is None:
            # The process may have stopped after it made the batch and before it recorded the id.
            remote_batch = service.find(batch.file_id, batch.mark) if batch.file_id else None
            if remote_batch is None and batch.cancelling:
                self.project.write(lambda cursor: _close_batch(cursor, batch, "dropped"))
                return
            if batch.file_id is None:
                # A new file equals the first one, because its calls depend on texts that never
                # change.
                kept = kept_replies(self.project, self.grader.spec)
                calls = replay_pairs(
                    self.project, self.grader, self._pairs(batch), kept, service.key
                )
                with WorkingFolder() as folder:
                    write_calls((call for _, _, call in calls if call), folder / "calls.jsonl")
                    file = service.upload(folder / "calls.jsonl", f"exam-{batch.mark}.jsonl")
                    batch = self._update_batch(batch, state="uploaded", file_id=file)
            remote_batch = remote_batch or service.create(
                batch.file_id or "", URLS[service.endpoint.dialect.api], batch.mark
            )
            batch = self._update_batch(
                batch, state="sent", batch_id=remote_batch.id, remote=remote_batch.status
            )
        remote = service.fetch_state(batch.batch_id or "")
        if remote is None:
            # At a wrong address nothing is found, and the list of batches fails.
            if batch.cancelling or service.find(batch.file_id or "", batch.mark) is None:
                message = "the endpoint no longer has the batch"
                self.project.write(
                    lambda cursor: _close_batch(
                        cursor, batch, "failed", code=_GONE, message=message
                    )
                )
            return
        if batch.cancelling and not remote.is_over and remote.status != "cancelling":
            service.cancel(remote.id)
            remote = service.fetch_state(remote.id) or remote
        batch = self._update_batch(batch, remote=remote.status, done=min(remote.done, batch.calls))
        if remote.is_over:
            self._import_replies(batch, remote)

    def _update_batch(self, batch: CallBatch, **changed: Any) -> CallBatch:
        if replace(batch, **changed) != batch:
            self.project.write(
                lambda cursor: cursor.execute(
                    f"UPDATE call_batches SET {' = ?, '.join(changed)} = ? WHERE batch_key = ?",
                    [*changed.values(), batch.key],
                )
            )
        return replace(batch, **changed)

    def _pairs(self, batch: CallBatch) -> list[Pair]:
        pairs = (
            "SELECT question_text_key, passage_text_key FROM call_batch_pairs"
            " WHERE batch_key = ? ORDER BY place"
        )
        return [(question, passage) for question, passage in self.project.rows(pairs, [batch.key])]

    def _import_replies(self, batch: CallBatch, remote: EndpointBatch) -> None:
        """Import the answers of a finished batch; a repeated import changes nothing."""
        service, job = grader_endpoint(self.grader).batches(), find_job(self.project, self.job.key)
        pairs = set(self._pairs(batch))
        waiting = {
            pair: recorded
            for pair, recorded in kept_replies(self.project, self.grader.spec).items()
            if pair in pairs
        }
        reply_import = ReplyImport(
            self.project, self.grader, self.author, job.key, service.key, waiting
        )
        recorded = {"calls": 1, "input_tokens": 0, "output_tokens": 0} | (
            job.request.get("told") or {}
        )
        # An answer without token counts gets the mean of the estimated tokens.
        usual = Tokens(
            *(
                recorded[name] // max(recorded["calls"], 1)
                for name in ("input_tokens", "output_tokens")
            )
        )
        used: dict[str, Tokens] = {}
        with WorkingFolder() as folder:
            downloads = [
                service.download(file, folder / f"{at}.jsonl")
                for at, file in enumerate(remote.files)
            ]
            files = [path for path in downloads if path is not None]
            for replies in in_chunks(
                read_replies([Source.from_path(file) for file in files], Report()), CHUNK
            ):
                # The first answer to a call counts. A call whose line is unusable still counts as
                # missing.
                ours = {
                    reply.name: reply
                    for reply in reversed(replies)
                    if is_answered(reply)
                    and reply.name not in used
                    and not find_name_fault(reply.name, self.grader)
                    and pair_of_call(reply.name) in pairs
                }
                reply_import.import_replies(list(ours.values()))
                used |= {
                    name: Tokens()
                    if reply.content is None
                    else tokens_in_answer(reply.content, usual)
                    for name, reply in ours.items()
                }
        tokens = Tokens(*map(sum, zip(*used.values(), strict=True)))
        usage = make_usage(len(used), tokens, reply_import.price.in_batch.cost_of(*tokens)).plus(
            job_usage(job)
        )
        rows = [
            (
                *pair,
                reply.name,
                None if reply.content is None else reply.content.decode(),
                reply.error,
            )
            for pair, replies in reply_import.unfinished().items()
            for reply in replies
        ]
        reason = ("", "")
        if remote.files and not files:
            reason = (_GONE, "the endpoint no longer has the answers")
        elif remote.status == "failed" and not files:
            reason = (remote.code, remote.message or "the endpoint gave no reason")
        state = "failed" if any(reason) else "taken"

        def record_answers(cursor: Cursor) -> None:
            cursor.execute(
                "DELETE FROM kept_replies"
                " WHERE (question_text_key, passage_text_key) IN (SELECT (question_text_key,"
                " passage_text_key) FROM call_batch_pairs"
                " WHERE batch_key = $batch) AND job_key IN (SELECT job_key FROM jobs"
                " WHERE subject_key = (SELECT subject_key FROM jobs WHERE job_key = $job))",
                {"batch": batch.key, "job": job.key},
            )
            stage_rows(cursor, "staged_rows", rows, _KEPT)
            cursor.execute("INSERT INTO kept_replies SELECT ?, * FROM staged_rows", [job.key])
            _close_batch(cursor, batch, state, len(used), tokens, *reason)
            record_usage(cursor, job.key, usage)

        self.project.write(record_answers)

    def _go_on_or_end(self, batches: list[CallBatch]) -> None:
        """Plan second calls, and calls that the endpoint had no room for, or record the end of the
        job.
        """
        job = find_job(self.project, self.job.key)
        cancelled = any(batch.cancelling for batch in batches)
        # If the endpoint accepted none of the last batches, it has no room for the next ones
        # either.
        any_taken = any(
            batch.state == "taken" and batch.wave == batches[-1].wave for batch in batches
        )
        if any_taken and not cancelled:
            replies = kept_replies(self.project, self.grader.spec)
            again = [
                (question, passage)
                for question, passage, calls, state, code in self.project.rows(
                    "SELECT question_text_key, passage_text_key, count(*) FILTER (state = 'taken'),"
                    " arg_max(state, batch_key), arg_max(code, batch_key)"
                    " FROM call_batch_pairs JOIN call_batches USING (batch_key) WHERE job_key = ?"
                    " GROUP BY question_text_key, passage_text_key"
                    " ORDER BY max(batch_key), max(place)",
                    [job.key],
                )
                # A pair gets its next call only if all its calls were answered. Otherwise it counts
                # as missing.
                if code in NO_ROOM
                or (state == "taken" and len(replies.get((question, passage), ())) >= calls)
            ]
            if again and _plan_batches(
                self.project,
                self.grader,
                self.author,
                job,
                again,
                max(batch.calls for batch in batches),
            ):
                return
        refused = [batch for batch in batches if batch.state == "failed"]
        # Calls that there was no room for are planned again, or another sentence covers them.
        missing = sum(
            batch.unanswered or 0
            for batch in batches
            if batch.state != "dropped" and batch.code not in NO_ROOM
        )
        stopped, failed = job.request.get("stopped"), refused and not cancelled and not any_taken
        state = (
            "cancelled" if cancelled else "failed" if failed else "stopped" if stopped else "done"
        )
        reasons = dict.fromkeys(
            f"{batch.message} ({batch.code})" if batch.code else batch.message
            for batch in refused
            if failed or batch.code not in NO_ROOM
        )
        sentences = (
            "Cancelled by a person. Start grading again to grade the remaining pairs."
            if cancelled
            else "",
            *(
                f"The endpoint could not process a batch: {reason.rstrip('.')}."
                for reason in reasons
            ),
            "Try smaller batches: --batch-size."
            if failed and any(batch.code in NO_ROOM for batch in refused)
            else "",
            f"Unanswered calls: {missing:,}. Start grading again to repeat them."
            if missing
            else "",
            "The budget is used up. Start grading again with a new budget to grade"
            " the remaining pairs."
            if stopped
            else "",
            billing_sentence(job.request.get("told"), job_usage(job)),
        )

        def record_end(cursor: Cursor) -> None:
            if end_job(cursor, job.key, state, " ".join(filter(None, sentences))):
                log_action(
                    cursor,
                    self.author,
                    f"job {state}",
                    job=job.key,
                    graded=job.done,
                    failed=job.failed,
                )

        self.project.write(record_end)


def _close_batch(
    cursor: Cursor,
    batch: CallBatch,
    state: str,
    answered: int = 0,
    tokens: Sequence[int] = (0, 0, 0, 0),
    code: str = "",
    message: str = "",
) -> None:
    cursor.execute(
        "UPDATE call_batches SET state = ?, answered = ?, unanswered = ?, code = ?, message = ?,"
        " input_tokens = ?,"
        " output_tokens = ?, cached_tokens = ?, thinking_tokens = ?, ended_at = now()::TIMESTAMP"
        " WHERE batch_key = ?",
        [state, answered, max(batch.calls - answered, 0), code, message, *tokens, batch.key],
    )


def follow_batches(
    look: Callable[[], BatchProgress],
    report: Callable[[str], None],
    wait: Callable[[float], object],
) -> None:
    """Look at batches at growing intervals until no waiting job remains.

    Args:
        look: looks once, like `advance_batches`.
        report: called with a line for every failed look.
        wait: waits the given seconds, or less.

    Raises:
        PassingError: too many looks failed in a row.
    """
    pause, failures, over = FIRST_PAUSE, 0, False
    while not over:
        try:
            over, failures = not look().jobs, 0
        except PassingError as error:
            failures += 1
            report(error.message)
            if failures > MOST_FAILED_LOOKS:
                raise
        if not over:
            wait(pause)
            pause = min(pause * GROWTH, LONGEST_PAUSE)


def jobs_outcome(project: Project, keys: list[int]) -> Progress:
    """Return how finished jobs of batches ended."""
    ended = find_jobs(project, "grading", keys=keys)
    message = " ".join(job.message for job in ended)
    return Progress(
        next(
            (
                state
                for state in ("failed", "cancelled", "stopped")
                if state in [job.state for job in ended]
            ),
            "done",
        ),
        sum(job.total for job in ended),
        sum(job.done for job in ended),
        sum(job.failed for job in ended),
        project.value("SELECT count(*) FROM grades WHERE defaulted AND job_key IN ?", [keys]),
        message=message,
        usage=reduce(Usage.plus, map(job_usage, ended), NOTHING_USED),
        remarks=message,
    )


def run_batches(
    project: Project,
    grader: Grader,
    request: Request,
    author: str,
    report: Callable[[Progress], None],
    control: Control,
    wait: Callable[[float], None],
) -> Progress:
    """Grade missing pairs in batches, in this thread, until no waiting job remains.

    Args:
        report: called with the progress at every look.
        control: its cancellation cancels the batches; it gets a line for every failed look.
        wait: waits the given seconds, or less.

    Raises:
        GradingError, InputError: see `send_batches` and `advance_batches`. Batches at the endpoint
            continue there; the next run imports them.
    """
    keys = send_batches(project, grader, request, author, control.report)

    def report_standing(now: BatchProgress) -> BatchProgress:
        report(
            Progress(
                "running",
                now.total,
                now.graded,
                now.failed,
                message=now.description,
                usage=now.usage,
            )
        )
        return now

    if report_standing(batch_standing(project, grader.spec)).jobs:
        follow_batches(
            lambda: report_standing(
                (cancel_batches if control.cancelled else advance_batches)(project, grader, author)
            ),
            control.report,
            wait,
        )
    final = jobs_outcome(project, keys)
    report(final)
    return final


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
    estimate = (
        estimate_record(
            price_of_pairs(project, grader, [pair for group in groups for pair in group])
        )
        if is_remote(grader)
        else None
    )
    job_request = request_record(request) | {"bank_version": version}
    if estimate is not None:
        job_request["told"] = estimate
    with project.transaction(act="grade", author=author) as cursor:
        grader_key = put_grader(cursor, grader.spec)
        job = add_job(cursor, "grading", grader_key, job_request, total, author)
        log_action(cursor, author, "start job", job=job, grader=grader.spec.name, pairs=total)

    def outcome_batches() -> Iterator[Sequence[Outcome]]:
        if groups:
            check_again(project, grader, author, control)
        asker = with_kept_replies(project, grader)
        for pairs in in_chunks((pair for group in groups for pair in group), CHUNK):
            texts = with_texts(project, grader.spec, pairs)
            yield from asker.grade(texts.questions, texts.passages, texts.pairs, control)
            if control.stopping:
                break

    writer = ResultWriter[Outcome](
        project,
        job,
        Progress("running", total),
        report,
        control,
        lambda cursor, outcomes: add_outcomes(cursor, grader_key, outcomes, job),
        failed=lambda outcome: outcome[2].rating is None,
        defaulted=lambda outcome: outcome[2].status == "defaulted",
    )
    return run_recorded_job(
        writer,
        outcome_batches,
        "Start grading again",
        "to grade the remaining pairs",
        "The grader",
        lambda: " ".join(
            filter(
                None,
                (
                    other_models_note(grader.spec.model, control.models),
                    billing_sentence(estimate, control.usage),
                ),
            )
        ),
        lambda cursor, final: log_action(
            cursor, author, f"job {final.state}", job=job, graded=final.graded, failed=final.failed
        ),
    )


def make_control(
    project: Project,
    grader: Grader,
    request: Request,
    report: Callable[[str], None] = lambda line: None,
) -> Control:
    """Return the control of a grading job, which stores the vectors of texts in the project.

    Raises:
        InputError: money is limited and the model has no price.
    """
    back_end = getattr(grader, "back_end", None)
    return job_control(
        project, grader.spec.model, back_end, request, report, vectors=ProjectVectors(project)
    )


def start_job(project: Project, grader: Grader, request: Request, author: str) -> BackgroundJob:
    """Start a grading job in the background; a project runs one at a time.

    Raises:
        GradingError: a grading job is running.
        NotAllowed: the role of the person does not include grading.
    """
    name = grader.spec.name

    def make_background(owned: Project) -> BackgroundJob:
        def run_grading(report: Watch, job: BackgroundJob) -> Progress:
            watch = partial(report, name)
            if request.batch:
                return run_batches(
                    owned,
                    grader,
                    request,
                    author,
                    watch,
                    job.control,
                    partial(_wait_for_look, job.control),
                )
            return run_job(owned, grader, request, author, watch, job.control)

        return BackgroundJob(
            name,
            "pairs",
            request,
            author,
            make_control(owned, grader, request),
            run_grading,
            grader.spec,
        )

    return start_background(project, "grading", "grade", author, make_background)


def _wait_for_look(control: Control, seconds: float) -> None:
    """Wait until the next look at batches, or until a person cancels them."""
    if not control.cancelled:
        control.wait_until_cancelled(seconds)
    else:
        time.sleep(CANCELLING_SECONDS)
    control.may_continue()
