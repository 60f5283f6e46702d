"""Batches on record: which were planned, which are at the endpoint, and what came of each."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.formats import Reply
from core.graders import Pair, Tokens
from core.grading.ledgers import LARGEST
from core.project import Cursor, Project, stage

OPEN = ("planned", "uploaded", "sent")
"""States of a batch of which something may come."""


@dataclass(frozen=True)
class CallBatch:
    """A batch of calls.

    Args:
        key, job: its own key, and the job's that asks.
        wave: from 1: first calls, then second ones.
        mark: what it is marked with at the endpoint.
        state: planned, uploaded, sent, taken, failed or dropped; see migration 0021.
        cancelling: whether a person wants no more of it.
        calls: in it.
        file_id, batch_id: the names of its file and of itself at the endpoint; None until they are known.
        remote: what the endpoint called its state last.
        done: calls that it had made then.
        answered, unanswered: calls that were taken in, and those that were not made or may be made again; None before.
        code, message: why it failed.
        tokens: of what was taken in.
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
        """Whether something may come of it."""
        return self.state in OPEN


def call_batches(project: Project, job: int) -> list[CallBatch]:
    """The batches of a job, in the order in which they were planned."""
    return [
        CallBatch(*(*known, Tokens(*(number or 0 for number in (read, written, cached, thinking)))))
        for *known, read, written, cached, thinking in project.rows(
            "SELECT batch_key, job_key, wave, mark, state, cancelling, calls, file_id, batch_id, remote, done,"
            " answered, unanswered, code, message, input_tokens, output_tokens, cached_tokens, thinking_tokens"
            " FROM call_batches WHERE job_key = ? ORDER BY batch_key",
            [job],
        )
    ]


def new_mark() -> str:
    """A mark that no other batch of any project has."""
    return uuid.uuid4().hex


def plan(cursor: Cursor, job: int, wave: int, batches: Mapping[str, Sequence[Pair]]) -> None:
    """Put down batches that are about to be sent.

    Args:
        batches: by mark, the pairs in the order of the file; a mark that is known already changes nothing.
    """
    for mark, pairs in batches.items():
        if cursor.execute("SELECT count(*) FROM call_batches WHERE mark = ?", [mark]).fetchall()[0][0]:
            continue
        ((key,),) = cursor.execute(
            "INSERT INTO call_batches (batch_key, job_key, wave, mark, state, cancelling, calls, remote, done, code,"
            " message, planned_at)"
            " VALUES (nextval('keys'), ?, ?, ?, 'planned', false, ?, '', 0, '', '', now()::TIMESTAMP)"
            " RETURNING batch_key",
            [job, wave, mark, len(pairs)],
        ).fetchall()
        columns = {
            "place": list(range(len(pairs))),
            "question_text_key": [question for question, _ in pairs],
            "passage_text_key": [passage for _, passage in pairs],
        }
        stage(cursor, "new_batch_pairs", columns, dict.fromkeys(columns, "INTEGER"))
        cursor.execute("INSERT INTO call_batch_pairs SELECT ?, * FROM new_batch_pairs", [key])


def pairs_of(project: Project, batches: Sequence[CallBatch]) -> list[Pair]:
    """The pairs that batches ask about, in the order of their files."""
    return [
        (question, passage)
        for question, passage in project.rows(
            "SELECT question_text_key, passage_text_key FROM call_batch_pairs WHERE list_contains(?, batch_key)"
            " ORDER BY batch_key, place",
            [[batch.key for batch in batches]],
        )
    ]


def note(cursor: Cursor, batch: CallBatch, **changed: object) -> None:
    """Put down what is known of a batch now; `changed` has column names of the table."""
    columns = ", ".join(f"{name} = ?" for name in changed)
    cursor.execute(f"UPDATE call_batches SET {columns} WHERE batch_key = ?", [*changed.values(), batch.key])


def close(cursor: Cursor, batch: CallBatch, state: str, answered: int, unanswered: int, tokens: Tokens) -> None:
    """Put down how a batch ended: taken, failed or dropped."""
    note(
        cursor, batch, state=state, answered=answered, unanswered=unanswered,
        **dict(
            zip(
                ("input_tokens", "output_tokens", "cached_tokens", "thinking_tokens"),
                (min(number, LARGEST) for number in tokens),
                strict=True,
            )
        ),
    )  # fmt: skip
    cursor.execute("UPDATE call_batches SET ended_at = now()::TIMESTAMP WHERE batch_key = ?", [batch.key])


def keep_replies(cursor: Cursor, batch: CallBatch, kept: Mapping[Pair, Sequence[Reply]]) -> None:
    """Keep the answers of a batch's pairs that need another call, in the place of those that were kept of them."""
    cursor.execute(
        "DELETE FROM kept_replies WHERE job_key = ? AND (question_text_key, passage_text_key) IN"
        " (SELECT (question_text_key, passage_text_key) FROM call_batch_pairs WHERE batch_key = ?)",
        [batch.job, batch.key],
    )
    rows = [(*pair, reply) for pair, replies in kept.items() for reply in replies]
    columns: dict[str, list[Any]] = {
        "question_text_key": [question for question, _, _ in rows],
        "passage_text_key": [passage for _, passage, _ in rows],
        "name": [reply.name for _, _, reply in rows],
        "content": [None if reply.content is None else reply.content.decode() for _, _, reply in rows],
        "error": [reply.error for _, _, reply in rows],
    }
    types = dict.fromkeys(columns, "VARCHAR") | dict.fromkeys(("question_text_key", "passage_text_key"), "INTEGER")
    stage(cursor, "new_kept_replies", columns, types)
    cursor.execute("INSERT INTO kept_replies SELECT ?, * FROM new_kept_replies", [batch.job])


def kept_replies(project: Project, grader_key: int) -> dict[Pair, dict[str, Reply]]:
    """The answers that are kept of a grader's pairs that have no grade yet, by pair and name, of any of its jobs."""
    found: dict[Pair, dict[str, Reply]] = {}
    for question, passage, name, content, error in project.rows(
        "SELECT question_text_key, passage_text_key, name, content, error FROM kept_replies JOIN jobs USING (job_key)"
        " ANTI JOIN grades USING (grader_key, question_text_key, passage_text_key) WHERE grader_key = ? ORDER BY ALL",
        [grader_key],
    ):
        reply = Reply(name, None if content is None else content.encode(), error)
        found.setdefault((question, passage), {})[name] = reply
    return found
