"""The state of a batch: the last verdict on each passage, and the assessors of queries; read inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..errors import InputError
from ..store import Cursor
from ..types import Said
from ._audit_records import LAST_SAID, Audit

HELD = "(until IS NULL OR until BETWEEN now()::TIMESTAMP AND now()::TIMESTAMP + INTERVAL 2 HOUR)"
"""SQL condition for a claim of a query in force. A later end than this was written before the clock was set back."""

FINAL = ("judged", "cannot say")
"""Verdicts that settle a passage in a turn. Other verdicts leave it open."""


@dataclass(frozen=True)
class Claim:
    """A query assigned to an assessor.

    Args:
        turn: 1 for all drawn passages of the query, 2 for second judgments.
        until: when the query is released after inactivity; None if the passages are judged elsewhere.
    """

    key: int
    query_key: int
    turn: int
    assessor: str
    until: datetime | None


@dataclass(frozen=True)
class Place:
    """A drawn passage with its last verdicts in the two turns, and their assessors."""

    query_key: int
    query_id: str
    passage_key: int
    passage_id: str
    doubled: bool
    said: tuple[Said | None, Said | None]
    by: tuple[str | None, str | None]
    values: tuple[int | None, int | None]

    def settled(self, turn: int) -> bool:
        """Return whether it needs no more verdicts in a turn."""
        return self.said[turn - 1] in FINAL

    def open_to(self, assessor: str, turn: int) -> bool:
        """Return whether an assessor may judge it in a turn. The second judgment must be from another person."""
        if self.settled(turn):
            return False
        return turn == 1 or (self.doubled and self.settled(1) and self.by[0] != assessor)


@dataclass(frozen=True)
class State:
    """A batch at one moment.

    Args:
        places: the drawn passages, by query and in the order in which they are dealt.
        claims: the claims that were not released and have not expired.
    """

    batch_key: int
    number: int
    places: Sequence[Place]
    claims: Sequence[Claim] = field(default_factory=tuple)

    def place(self, query_id: str, passage_id: str) -> Place:
        """Return the drawn passage with these ids.

        Raises:
            InputError: the passage was not drawn.
        """
        for one in self.places:
            if (one.query_id, one.passage_id) == (query_id, passage_id):
                return one
        raise InputError(
            "passage-not-drawn",
            f"Passage {passage_id} of query {query_id} is not in batch {self.number}.",
            "Judge only passages that were drawn for this batch.",
        )

    def holder(self, query_key: int, turn: int) -> Claim | None:
        """Return the claim of a query in a turn; None if it is free."""
        return next((c for c in self.claims if (c.query_key, c.turn) == (query_key, turn)), None)


def read_state(cursor: Cursor, audit: Audit) -> State:
    """Return the current state of the newest batch of an audit.

    Raises:
        InputError: nothing was drawn yet, or the batch or the audit has ended.
    """
    found = cursor.execute("SELECT number, batch_key FROM audit_batches WHERE audit_key = ?", [audit.key]).fetchall()
    if not found:
        raise InputError(
            "no-batch", f"The audit '{audit.name}' has no batch yet.", "Draw a batch first: exam audit draw"
        )
    number, key = max(found)
    if cursor.execute(
        "SELECT batch_key FROM audit_ends WHERE audit_key = ? AND (batch_key IS NULL OR batch_key = ?)",
        [audit.key, key],
    ).fetchall():
        raise InputError(
            "batch-ended",
            f"Batch {number} of the audit '{audit.name}' has ended.",
            "Draw another batch: exam audit draw",
        )
    rows = cursor.execute(
        f"WITH said AS (SELECT * FROM {LAST_SAID} WHERE batch_key = $batch)"
        " SELECT query_key, query_id, passage_key, passage_id, doubled, a.said, b.said, a.assessor, b.assessor,"
        " a.value, b.value FROM audit_chances c JOIN audit_queries o USING (query_key) JOIN queries USING (query_key)"
        " JOIN passages USING (passage_key)"
        " LEFT JOIN (FROM said WHERE turn = 1) a USING (query_key, passage_key)"
        " LEFT JOIN (FROM said WHERE turn = 2) b USING (query_key, passage_key)"
        " WHERE c.batch_key = $batch AND drawn AND o.audit_key = $audit ORDER BY o.position, passage_id",
        {"batch": key, "audit": audit.key},
    ).fetchall()
    claims = cursor.execute(
        "SELECT claim_key, query_key, turn, assessor, until FROM audit_claims WHERE batch_key = ? AND ended_at IS NULL"
        f" AND {HELD} ORDER BY claim_key",
        [key],
    ).fetchall()
    places = [
        Place(*row[:5], said=(row[5], row[6]), by=(row[7], row[8]), values=(row[9], row[10]))  # type: ignore[misc]
        for row in rows
    ]
    return State(key, number, places, [Claim(*row) for row in claims])
