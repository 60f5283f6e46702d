"""The state of a batch, and its dealing to assessors by query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from ..bank import asked_questions, find_query, readable_questions
from ..errors import InputError, check_not_empty
from ..records import passage_texts
from ..store import Cursor, Project, as_name
from ..types import Query, Question, Said
from ._audit_records import LAST_SAID, Audit, find_audits, list_batches

HELD = "(until IS NULL OR until BETWEEN now()::TIMESTAMP AND now()::TIMESTAMP + INTERVAL 2 HOUR)"
"""SQL condition for a claim of a query in force. A later end than this was written before the clock
was set back.
"""

FINAL = ("judged", "cannot say")
"""Verdicts that settle a passage in a turn. Other verdicts leave it open."""


@dataclass(frozen=True)
class Claim:
    """A query assigned to an assessor.

    Args:
        turn: 1 for all drawn passages of the query, 2 for second judgments.
        until: when the query is released after inactivity; None if the passages are judged
            elsewhere.
    """

    key: int
    query_key: int
    turn: int
    assessor: str
    until: datetime | None


@dataclass(frozen=True)
class DrawnPassage:
    """A drawn passage with its last verdicts in the two turns, and their assessors."""

    query_key: int
    query_id: str
    passage_key: int
    passage_id: str
    doubled: bool
    said: tuple[Said | None, Said | None]
    by: tuple[str | None, str | None]
    values: tuple[int | None, int | None]

    def is_settled(self, turn: int) -> bool:
        """Return whether it needs no more verdicts in a turn."""
        return self.said[turn - 1] in FINAL

    def judged_by(self, assessor: str, turn: int) -> bool:
        """Return whether it is settled in a turn by this assessor."""
        return self.is_settled(turn) and self.by[turn - 1] == assessor

    def open_to(self, assessor: str, turn: int) -> bool:
        """Return whether an assessor may judge it in a turn. The second judgment must be from
        another person.
        """
        if self.is_settled(turn):
            return False
        return turn == 1 or (self.doubled and self.is_settled(1) and self.by[0] != assessor)


@dataclass(frozen=True)
class BatchState:
    """A batch at one moment.

    Args:
        places: the drawn passages, by query and in the order in which they are dealt.
        claims: the claims that were not released and have not expired.
    """

    batch_key: int
    number: int
    places: Sequence[DrawnPassage]
    claims: Sequence[Claim] = field(default_factory=tuple)

    def find_passage(self, query_id: str, passage_id: str) -> DrawnPassage:
        """Return the drawn passage with these ids.

        Raises:
            InputError: the passage was not drawn.
        """
        for candidate in self.places:
            if (candidate.query_id, candidate.passage_id) == (query_id, passage_id):
                return candidate
        raise InputError(
            "passage-not-drawn",
            f"Passage {passage_id} of query {query_id} is not in batch {self.number}.",
            "Judge only passages that were drawn for this batch.",
        )

    def holder(self, query_key: int, turn: int) -> Claim | None:
        """Return the claim of a query in a turn; None if it is free."""
        return next((c for c in self.claims if (c.query_key, c.turn) == (query_key, turn)), None)


def read_state(cursor: Cursor, audit: Audit) -> BatchState:
    """Return the current state of the newest batch of an audit.

    Raises:
        InputError: nothing was drawn yet, or the batch or the audit has ended.
    """
    batch_rows = cursor.execute(
        "SELECT number, batch_key FROM audit_batches WHERE audit_key = ?", [audit.key]
    ).fetchall()
    if not batch_rows:
        raise InputError(
            "no-batch",
            f"The audit '{audit.name}' has no batch yet.",
            audit.next_step,
        )
    number, key = max(batch_rows)
    if cursor.execute(
        "SELECT batch_key FROM audit_ends WHERE audit_key = ? AND (batch_key IS NULL"
        " OR batch_key = ?)",
        [audit.key, key],
    ).fetchall():
        raise InputError(
            "batch-ended",
            f"Batch {number} of the audit '{audit.name}' has ended.",
            audit.next_step,
        )
    rows = cursor.execute(
        f"WITH said AS (SELECT * FROM {LAST_SAID} WHERE batch_key = $batch) SELECT query_key,"
        " query_id, passage_key, passage_id, doubled, a.said, b.said, a.assessor, b.assessor,"
        " a.value, b.value FROM audit_chances c JOIN audit_queries o USING (query_key)"
        " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
        " LEFT JOIN (FROM said WHERE turn = 1) a USING (query_key, passage_key)"
        " LEFT JOIN (FROM said WHERE turn = 2) b USING (query_key, passage_key)"
        " WHERE c.batch_key = $batch AND drawn AND o.audit_key = $audit"
        " ORDER BY o.position, passage_id",
        {"batch": key, "audit": audit.key},
    ).fetchall()
    claims = cursor.execute(
        "SELECT claim_key, query_key, turn, assessor, until FROM audit_claims"
        f" WHERE batch_key = ? AND ended_at IS NULL AND {HELD} ORDER BY claim_key",
        [key],
    ).fetchall()
    places = [
        DrawnPassage(*row[:5], said=(row[5], row[6]), by=(row[7], row[8]), values=(row[9], row[10]))  # type: ignore[misc]
        for row in rows
    ]
    return BatchState(key, number, places, [Claim(*row) for row in claims])


LEASE = timedelta(hours=1)
"""How long a query stays assigned to an inactive assessor. After this time it is free; judgments
stay.
"""


@dataclass(frozen=True)
class AssignedPassage:
    """A dealt passage.

    Args:
        text: None if the passage is known only by its id, so that it cannot be judged.
        said, value: the last decision of its assessor (judged, cannot say or skipped), and the
            judgment; None without it.
        looked: whether the assessor asked for the grader's label.
    """

    passage_id: str
    text: str | None
    said: Said | None
    value: int | None
    looked: bool

    @property
    def is_settled(self) -> bool:
        """Whether the assessor has judged the passage or recorded that they cannot judge it."""
        return self.said in ("judged", "cannot say")


@dataclass(frozen=True)
class AssignedQuery:
    """The drawn passages of one query that an assessor is judging, with its questions.

    Args:
        batch: number of the batch.
        turn: 2 for second judgments of passages that another assessor has judged.
        cards: the passages in the order of judging; skipped passages are last.
        until: when the query is released after inactivity; None if it is judged elsewhere.
        left: number of open passages of the whole batch, in both turns.
    """

    audit: str
    batch: int
    turn: int
    query: Query
    questions: list[Question]
    cards: list[AssignedPassage]
    until: datetime | None
    left: int


def deal_ahead(
    project: Project, audit: Audit, assessor: str, passages: int, lease: timedelta = LEASE
) -> list[AssignedQuery]:
    """Assign whole queries to an assessor until enough passages wait, to avoid delays between
    queries.

    Args:
        passages: number of passages that should wait, from 1. Fewer wait if the batch has no more
            for the assessor.
        lease: how long an assignment lasts without activity; every verdict restarts it.

    Returns:
        The assessor's queries, in the order of judging; empty if nothing is left for the assessor.

    Raises:
        InputError: the name is empty, or no batch is open.
    """
    name = assessor_name(assessor)
    with project.transaction("judge audits", author=name) as cursor:
        state = read_state(cursor, audit)
        claims = _own_claims(state, name)
        kept_claims = [
            claim
            for claim in claims
            if _count_waiting(state, name, claim.query_key, claim.turn, again=False)
        ]
        waits = sum(
            _count_waiting(state, name, claim.query_key, claim.turn, again=False)
            for claim in kept_claims
        )
        while waits < passages:
            # Passages that they skipped are dealt again when nothing else is left.
            again = not kept_claims
            has = [(claim.query_key, claim.turn) for claim in kept_claims]
            chosen = _choose_query(
                cursor, state, name, has, again, lambda query: project.allows("judge audits", query)
            )
            if chosen is None:
                break
            own = next((claim for claim in claims if (claim.query_key, claim.turn) == chosen), None)
            kept_claims.append(own or claim_query(cursor, state, *chosen, name, lease))
            waits += _count_waiting(state, name, *chosen, again)
        for claim in claims:
            if claim not in kept_claims:
                _end_claim(cursor, claim)
    return _make_hands(
        project, audit, name, state, sorted(kept_claims, key=lambda claim: claim.key)
    )


def _make_hands(
    project: Project, audit: Audit, name: str, state: BatchState, claims: Sequence[Claim]
) -> list[AssignedQuery]:
    looked = set(
        project.rows(
            "SELECT query_key, passage_key FROM audit_looks WHERE batch_key = ? AND assessor = ?",
            [state.batch_key, name],
        )
    )
    dealt = {
        claim: [
            entry
            for entry in state.places
            if entry.query_key == claim.query_key
            and (entry.open_to(name, claim.turn) or entry.judged_by(name, claim.turn))
        ]
        for claim in claims
    }
    texts = passage_texts(
        project, [entry.passage_id for places in dealt.values() for entry in places]
    )
    waits, hands = _count_open(state), []
    for claim, places in dealt.items():
        cards = [
            AssignedPassage(
                entry.passage_id,
                texts.get(entry.passage_id),
                entry.said[claim.turn - 1],
                entry.values[claim.turn - 1],
                (entry.query_key, entry.passage_key) in looked,
            )
            for entry in places
        ]
        cards.sort(key=lambda card: card.said == "skipped")
        query = find_query(project, places[0].query_id)
        asked = asked_questions(project, audit.policy.bank_version or 0, query.query_id)
        questions = [entry for entry in readable_questions(project, asked) if entry.active]
        hands.append(
            AssignedQuery(
                audit.name, state.number, claim.turn, query, questions, cards, claim.until, waits
            )
        )
    return hands


def count_open_judgments(project: Project, audit: Audit) -> int:
    """Return the number of open judgments of the newest batch, including second judgments."""
    return _count_open(project.read(lambda cursor: read_state(cursor, audit)))


def _count_open(state: BatchState) -> int:
    return sum(
        (not one.is_settled(1)) + (one.doubled and not one.is_settled(2)) for one in state.places
    )


def audits_to_judge(project: Project, assessor: str) -> dict[str, int]:
    """Return the number of passages that an assessor may judge now, by name of each audit with such
    passages.
    """
    open_by_audit = {}
    for audit in find_audits(project):
        drawn = list_batches(project, audit)
        # Second judgments may be missing after the first ones are done.
        if drawn and not audit.ended and not drawn[-1].ended:
            places = project.read(partial(read_state, audit=audit)).places
            mine = [place for place in places if project.allows("judge audits", place.query_id)]
            open_by_audit[audit.name] = sum(
                place.open_to(assessor, 1) or place.open_to(assessor, 2) for place in mine
            )
    return {name: count for name, count in open_by_audit.items() if count}


def give_back(project: Project, audit: Audit, assessor: str) -> int:
    """Release an assessor's queries for other assessors; their judgments stay.

    Returns:
        The number of released queries.
    """
    name = assessor_name(assessor)
    with project.transaction("judge audits", author=name) as cursor:
        claims = [claim for claim in read_state(cursor, audit).claims if claim.assessor == name]
        for claim in claims:
            _end_claim(cursor, claim)
    return len(claims)


def assessor_name(assessor: str) -> str:
    """Return the name under which an assessor's verdicts are recorded.

    Raises:
        InputError: the name is empty.
    """
    return check_not_empty(
        "empty-name",
        "The name of the assessor is empty.",
        "Give a name. Judgments are stored under it.",
        as_name(assessor),
    )


def claim_query(
    cursor: Cursor,
    state: BatchState,
    query_key: int,
    turn: int,
    assessor: str,
    lease: timedelta | None,
) -> Claim:
    """Assign a free query to an assessor.

    Args:
        lease: None if the passages are judged elsewhere, so that the query stays assigned until it
            is given back.
    """
    until = "NULL" if lease is None else f"now()::TIMESTAMP + to_seconds({lease.total_seconds():f})"
    row = cursor.execute(
        "INSERT INTO audit_claims"
        f" VALUES (nextval('keys'), ?, ?, ?, ?, now()::TIMESTAMP, {until}, NULL)"
        " RETURNING claim_key, query_key, turn, assessor, until",
        [state.batch_key, query_key, turn, assessor],
    ).fetchall()[0]
    return Claim(*row)


def renew_claim(cursor: Cursor, claim: Claim, lease: timedelta) -> None:
    """Restart the lease of a query; queries judged elsewhere have no lease."""
    cursor.execute(
        f"UPDATE audit_claims SET until = now()::TIMESTAMP + to_seconds({lease.total_seconds():f})"
        " WHERE claim_key = ? AND until IS NOT NULL",
        [claim.key],
    )


def _end_claim(cursor: Cursor, claim: Claim) -> None:
    cursor.execute(
        "UPDATE audit_claims SET ended_at = now()::TIMESTAMP WHERE claim_key = ?", [claim.key]
    )


def _own_claims(state: BatchState, assessor: str) -> list[Claim]:
    """Return an assessor's claims, oldest first, without claims of queries that they judge
    elsewhere.
    """
    return [
        claim for claim in state.claims if claim.assessor == assessor and claim.until is not None
    ]


def _count_waiting(state: BatchState, assessor: str, query_key: int, turn: int, again: bool) -> int:
    """Return the number of passages of a query that an assessor can judge; skipped passages count
    only with `again`.
    """
    return sum(
        one.open_to(assessor, turn)
        and (again or (one.said[turn - 1], one.by[turn - 1]) != ("skipped", assessor))
        for one in state.places
        if one.query_key == query_key
    )


def _choose_query(
    cursor: Cursor,
    state: BatchState,
    assessor: str,
    but: Sequence[tuple[int, int]],
    skipped: bool,
    may: Callable[[str], bool],
) -> tuple[int, int] | None:
    """Return the (query key, turn) to deal next to an assessor; None if nothing is left for them.

    Unjudged passages are first, then second judgments, then passages that the assessor skipped.
    Queries that the assessor had before are preferred, because their questions are known to the
    assessor.

    Args:
        but: (query key, turn) to leave out, because the assessor has them now.
        skipped: whether to deal passages that the assessor skipped.
        may: returns whether the assessor may judge the query with an id.
    """
    before = {
        key
        for (key,) in cursor.execute(
            "SELECT query_key FROM audit_claims WHERE batch_key = ? AND assessor = ?",
            [state.batch_key, assessor],
        ).fetchall()
    }
    ids = {one.query_key: one.query_id for one in state.places}
    queries = [key for key, query_id in ids.items() if may(query_id)]
    queries.sort(key=lambda key: key not in before)
    for again in (False, True)[: 1 + skipped]:
        for turn in (1, 2):
            for key in queries:
                holder = state.holder(key, turn)
                free = holder is None or (holder.assessor == assessor and holder.until is not None)
                if (
                    free
                    and (key, turn) not in but
                    and _count_waiting(state, assessor, key, turn, again)
                ):
                    return key, turn
    return None
