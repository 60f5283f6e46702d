"""Rounds of a job in batches: each is sent, looked at, taken in when it is over, and followed by second calls.

Every step is put down before the next one is done, and each can be done again: a process that is killed anywhere, and
started anew, goes on from there, and no call in a batch is paid for twice. A batch that was made, but whose id could
not be noted, is found at the endpoint by its file and its mark.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.atomic_files import WorkingFolder
from core.catalogue import prices
from core.errors import GradingError, Report
from core.formats import URLS, Source, WrittenCall, read_replies, write_calls
from core.graders import (
    BatchService,
    EndpointBatch,
    Grader,
    Tokens,
    address_of,
    asked_by,
    batches_of,
    speak,
    tokens_told,
)
from core.grading import batch_records as records
from core.grading.batch_planning import divide, left_of
from core.grading.batch_records import CallBatch, call_batches, kept_replies, pairs_of
from core.grading.batch_standing import BatchJob, Standing, key_of, standing, usage_of, waiting_jobs
from core.grading.billing import billed
from core.grading.budgets import budget
from core.grading.jobs import JOBS, end
from core.grading.pairs import with_texts
from core.grading.replies import CHUNK, Taking, fault_of, in_chunks, is_answered, name_of, pair_of, play_with
from core.project import Cursor, Project, log

NO_ROOM = frozenset(("token_limit_exceeded", "rate_limit_exceeded", "batch_limit_exceeded", "enqueued_limit_exceeded"))
"""Why an endpoint makes nothing of a batch that it would take later: too much waits there already."""


def step(project: Project, grader: Grader, author: str) -> Standing:
    """Bring all batches of a grader as far as they come now: sent, looked at, taken in, followed by the next ones.

    Returns:
        How far they are; `jobs` is 0 where nothing is left to wait for.

    Raises:
        PassingError: the endpoint could not be asked, which may pass; nothing is lost.
        GradingError: it cannot be asked at all.
    """
    if found := waiting_jobs(project, grader):
        with batches_of(grader) as service:
            for job in found:
                _Round(project, grader, job, author, service).go()
    return standing(project, grader)


def cancel(project: Project, grader: Grader, author: str) -> Standing:
    """Let no more calls of a grader's batches be made; what was made is taken in as soon as the endpoint gives it.

    Raises:
        PassingError, GradingError: as `step`. That they are to be cancelled is on record nevertheless.
    """
    found = waiting_jobs(project, grader)

    def mark(cursor: Cursor) -> None:
        for job in found:
            cursor.execute(
                "UPDATE call_batches SET cancelling = true WHERE job_key = ? AND list_contains(?, state)",
                [job.key, list(records.OPEN)],
            )

    if found:
        project.write(mark)
    return step(project, grader, author)


class _Round:
    """One look at all batches of a job."""

    def __init__(self, project: Project, grader: Grader, job: BatchJob, author: str, service: BatchService) -> None:
        self.project, self.grader, self.job, self.author = project, grader, job, author
        if (address := address_of(grader)) != job.asked["address"]:
            raise GradingError(
                "batches-at-another-address",
                f"The batches of this grader are at {job.asked['address']}, and not at {address}.",
                f"Name that address: --base-url {job.asked['address']}",
            )
        # What was sent is only known again by being said the same way.
        speak(grader, job.asked["dialect"])
        self.service = service

    def go(self) -> None:
        """Bring each batch as far as it comes, and then the job."""
        for batch in call_batches(self.project, self.job.key):
            if batch.open:
                self._advance(batch)
        batches = call_batches(self.project, self.job.key)
        if not any(batch.open for batch in batches) and not self._goes_on(batches):
            self._end(batches)

    def _advance(self, batch: CallBatch) -> None:
        begun_now = False
        if batch.state == "planned":
            if batch.cancelling:
                self._close(batch, "dropped")
                return
            with WorkingFolder() as folder:
                path = folder / "calls.jsonl"
                self._write(batch, path)
                file = self.service.upload(path, f"exam-{batch.mark}.jsonl")
            batch = self._note(batch, state="uploaded", file_id=file)
            begun_now = True
        if batch.state == "uploaded":
            # Whoever began it may have been stopped between the batch and the note of its id.
            found = None if begun_now else self.service.find(batch.file_id, batch.mark)
            if found is None and batch.cancelling:
                self._close(batch, "dropped")
                return
            if found is None:
                found = self.service.create(batch.file_id or "", URLS[asked_by(self.grader)], batch.mark)
            batch = self._note(batch, state="sent", batch_id=found.id, remote=found.status)
        seen = self.service.look(batch.batch_id or "")
        if batch.cancelling and not seen.over and seen.status != "cancelling":
            self.service.cancel(seen.id)
            seen = self.service.look(seen.id)
        batch = self._note(batch, remote=seen.status, done=min(seen.done, batch.calls))
        if seen.over:
            self._take(batch, seen)

    def _note(self, batch: CallBatch, **changed: Any) -> CallBatch:
        if any(getattr(batch, name) != value for name, value in changed.items()):
            self.project.write(lambda cursor: records.note(cursor, batch, **changed))
        return replace(batch, **changed)

    def _close(self, batch: CallBatch, state: str) -> None:
        self.project.write(lambda cursor: records.close(cursor, batch, state, 0, batch.calls, Tokens()))

    def _write(self, batch: CallBatch, path: Path) -> None:
        """Write a batch's file: the same each time, since its calls hang on texts that never change."""
        api = asked_by(self.grader)
        kept = kept_replies(self.project, key_of(self.project, self.grader))
        calls: list[WrittenCall] = []
        for pairs in in_chunks(pairs_of(self.project, [batch]), CHUNK):
            texts = with_texts(self.project, self.grader.spec, pairs)
            for pair in pairs:
                body = play_with(self.grader, pair, texts, kept.get(pair, {}), key=self.service.key).body
                if body is not None:
                    calls.append(WrittenCall(name_of(self.grader, pair, body), api, body))
        write_calls(calls, path)

    def _take(self, batch: CallBatch, seen: EndpointBatch) -> None:
        """Take in what came of a batch that is over; done twice it is the same."""
        if seen.status == "failed" and not seen.files:
            self._note(batch, code=seen.code, message=seen.message or "the endpoint says no reason")
            self._close(batch, "failed")
            return
        pairs = set(pairs_of(self.project, [batch]))
        kept = kept_replies(self.project, key_of(self.project, self.grader))
        waiting = {pair: dict(replies) for pair, replies in kept.items() if pair in pairs}
        taking = Taking(self.project, self.grader, self.author, self.job.key, self.service.key, waiting)
        answered, tokens = 0, Tokens()
        usual = self._usual()
        names: set[str] = set()
        with WorkingFolder() as folder:
            sources = []
            for number, file in enumerate(seen.files):
                path = folder / f"{number}.jsonl"
                self.service.download(file, path)
                sources.append(Source.of(path))
            for replies in in_chunks(read_replies(sources, Report()), CHUNK):
                # A line that answers nothing of what was sent is passed over: its call stays missing.
                ours = [
                    reply
                    for reply in replies
                    if is_answered(reply)
                    and reply.name not in names
                    and not fault_of(reply.name, self.grader)
                    and pair_of(reply.name) in pairs
                ]
                names.update(reply.name for reply in ours)
                taking.take(ours)
                answered += len(ours)
                for reply in ours:
                    if reply.content is not None:
                        tokens = tokens.plus(tokens_told(reply.content, usual))
        unfinished = taking.unfinished()
        now = replace(batch, state="taken", answered=answered, tokens=tokens)

        def finish(cursor: Cursor) -> None:
            records.keep_replies(cursor, batch, unfinished)
            records.close(cursor, batch, "taken", answered, max(batch.calls - answered, 0), tokens)

        self.project.write(finish)
        others = [other for other in call_batches(self.project, self.job.key) if other.key != batch.key]
        usage = usage_of(self.project, self.grader.spec.model, self.job, [*others, now])
        self.project.write(lambda cursor: JOBS.use(cursor, self.job.key, usage))

    def _usual(self) -> Tokens:
        """What a call takes by the price tag: for answers that do not say what they took."""
        told = self.job.asked.get("told") or {}
        calls = max(told.get("calls") or 1, 1)
        return Tokens((told.get("input_tokens") or 0) // calls, (told.get("output_tokens") or 0) // calls)

    def _goes_on(self, batches: Sequence[CallBatch]) -> bool:
        """Plan the next wave, if there is to be one: second calls, and what the endpoint had no room for."""
        if any(batch.cancelling for batch in batches):
            return False
        wave = max((batch.wave for batch in batches), default=0)
        latest = [batch for batch in batches if batch.wave == wave]
        taken = [batch for batch in latest if batch.state == "taken"]
        if not taken:
            return False
        kept = kept_replies(self.project, key_of(self.project, self.grader))
        # What has no more answers than before this wave was not answered in it, and is missing.
        again = [pair for pair in pairs_of(self.project, taken) if len(kept.get(pair, ())) >= wave]
        crowded = [batch for batch in latest if batch.state == "failed" and batch.code in NO_ROOM]
        again += pairs_of(self.project, crowded)
        if not again:
            return False
        most = max(batch.calls for batch in latest)
        asked = self.job.asked
        price = prices(self.project).get(self.grader.spec.model)
        caps = budget(
            self.project, self.grader.spec.model, getattr(self.grader, "back_end", None), asked.get("max_calls"),
            asked.get("max_cost") if price else None,
        )  # fmt: skip
        used = usage_of(self.project, self.grader.spec.model, self.job, batches)
        planning = divide(self.project, self.grader, again, kept, left_of(caps, used), most)
        Taking(self.project, self.grader, self.author, self.job.key).write(planning.settled)
        asked["stopped"] = asked.get("stopped", False) or planning.stopped
        if not planning.batches:
            return False

        def put_down(cursor: Cursor) -> None:
            records.plan(cursor, self.job.key, wave + 1, planning.batches)
            cursor.execute("UPDATE jobs SET asked = ? WHERE job_key = ?", [json.dumps(asked), self.job.key])

        self.project.write(put_down)
        return True

    def _end(self, batches: Sequence[CallBatch]) -> None:
        """Put down how the job ended, and what it cost beside what was told."""
        usage = usage_of(self.project, self.grader.spec.model, self.job, batches)
        crowded = {batch.key for batch in batches if batch.code in NO_ROOM and batch.state == "failed"}
        refused = [batch for batch in batches if batch.state == "failed"]
        missing = sum(batch.unanswered or 0 for batch in batches if batch.state == "taken")
        state, said = "done", []
        if any(batch.cancelling for batch in batches):
            state = "cancelled"
            said.append("Stopped by a person. Run it again to grade the rest.")
        elif refused and not any(batch.state == "taken" for batch in batches if batch.wave == batches[-1].wave):
            state = "failed"
        for message in dict.fromkeys(f"{one.message} ({one.code})" if one.code else one.message for one in refused):
            if state == "failed":
                said.append(f"The endpoint made nothing of a batch: {message.rstrip('.')}.")
        if state == "failed" and crowded:
            said.append("It may take smaller ones: --batch-size.")
        if missing:
            said.append(f"{missing:,} calls came back unanswered: they are missing still. Run it again to ask them.")
        if self.job.asked.get("stopped"):
            said.append("The budget is used up. Run it again with a new one to grade the rest.")
            state = "stopped" if state == "done" else state
        said.append(billed(self.job.asked.get("told"), usage))
        counts = self.project.rows("SELECT graded, failed FROM jobs WHERE job_key = ?", [self.job.key])[0]

        def finish(cursor: Cursor) -> None:
            JOBS.use(cursor, self.job.key, usage)
            if end(cursor, self.job.key, state, " ".join(filter(None, said))):
                log(
                    cursor, self.author, f"job {state}", job=self.job.key, graded=counts[0], failed=counts[1]
                )  # fmt: skip

        self.project.write(finish)
