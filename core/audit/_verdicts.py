"""Verdicts on drawn passages: a judgment, "cannot say", or skipped. Each verdict is stored at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ..errors import InputError
from ..labels import basis, label_qrels
from ..records import JUDGE, SCALE, WITHDRAW, put_judgment
from ..store import Cursor, Project, log
from ..types import Said
from ._audit_records import Audit
from ._batch_assignment import LEASE, assessor_name, renew, take
from ._batch_state import HELD, Place, State, read_state

CANNOT_SAY, SKIP, LOOK = "cannot say", "skip passage", "look at label"
"""Actions of the log in addition to those of every judgment."""


@dataclass(frozen=True)
class Verdict:
    """A person's verdict on a drawn passage.

    Args:
        value: the judgment; None for other verdicts.
        note: a reason, shown to people.
    """

    query_id: str
    passage_id: str
    said: Said
    value: int | None = None
    note: str = ""


def scale(audit: Audit) -> dict[int, str]:
    """Return the possible judgments of an audit with their meanings, which are empty for another scale than `SCALE`."""
    values = range(audit.highest + 1)
    return {value: SCALE[value] if audit.highest == max(SCALE) else "" for value in values}


def judge(
    project: Project,
    audit: Audit,
    query_id: str,
    passage_id: str,
    value: int,
    assessor: str,
    note: str = "",
    lease: timedelta = LEASE,
) -> None:
    """Judge a drawn passage; assessors can change their own verdicts until the next batch is drawn.

    Args:
        value: a key of `scale`.
        lease: how long the query stays assigned to this person from now on.

    Raises:
        InputError: the value is out of range, the name is empty, or the passage was not drawn or belongs to another
            assessor.
    """
    say(project, audit, Verdict(query_id, passage_id, "judged", value, note), assessor, lease)


def cannot_say(project: Project, audit: Audit, query_id: str, passage_id: str, assessor: str, note: str = "") -> None:
    """Record that the passage cannot be judged. It gets no value, and intervals become wider. See `judge`."""
    say(project, audit, Verdict(query_id, passage_id, "cannot say", None, note), assessor)


def skip(project: Project, audit: Audit, query_id: str, passage_id: str, assessor: str) -> None:
    """Skip the passage, so that other assessors can judge it, or this assessor at the end. See `judge`."""
    say(project, audit, Verdict(query_id, passage_id, "skipped"), assessor)


def take_back(project: Project, audit: Audit, query_id: str, passage_id: str, assessor: str) -> None:
    """Withdraw the assessor's own verdict, so that the passage is open again; see `judge`."""
    say(project, audit, Verdict(query_id, passage_id, "taken back"), assessor)


def say(project: Project, audit: Audit, verdict: Verdict, assessor: str, lease: timedelta = LEASE) -> None:
    """Store a verdict. The last verdict counts; a repeated verdict is stored once. See `judge`."""
    name = assessor_name(assessor)
    if verdict.said == "judged":
        check_value(audit, verdict.value)
    with project.transaction(act="judge audits", queries=[verdict.query_id], author=name) as cursor:
        state = read_state(cursor, audit)
        place = state.place(verdict.query_id, verdict.passage_id)
        turn = _turn(cursor, state, place, verdict.said, name, lease)
        write_verdict(cursor, audit, state, place, turn, verdict, name)


def check_value(audit: Audit, value: int | None) -> None:
    """Refuse an invalid value of a judgment.

    Raises:
        InputError: the value is not on the scale.
    """
    if value not in scale(audit):
        raise InputError(
            "judgment-out-of-range", f"Judgment {value} is out of range.", f"Use a number from 0 to {audit.highest}."
        )


def _turn(cursor: Cursor, state: State, place: Place, said: Said, assessor: str, lease: timedelta) -> int:
    """Return the turn in which an assessor judges a passage, and assign its query to the assessor.

    Raises:
        InputError: the passage belongs to another assessor.
    """
    for turn in (1, 2):
        # Assessors may change their last judgment, even if the query is now assigned to another assessor.
        if place.by[turn - 1] == assessor and place.said[turn - 1] is not None and place.settled(turn):
            held = state.holder(place.query_key, turn)
            if held is not None and held.assessor == assessor:
                renew(cursor, held, lease)
            elif said == "taken back" and held is not None:
                raise InputError(
                    "query-taken",
                    f"Query {place.query_id} is being judged by {held.assessor}.",
                    "You cannot withdraw your judgment now. Change its value instead.",
                )
            elif said == "taken back":
                # The passage is unjudged again. Assign its query to this assessor, or another could get it meanwhile.
                take(cursor, state, place.query_key, turn, assessor, lease)
            return turn
    if said == "taken back":
        raise InputError(
            "no-own-judgment",
            f"{assessor} has not judged this passage.",
            "You can withdraw only your own judgments.",
        )
    open_in = [turn for turn in (1, 2) if place.open_to(assessor, turn)]
    if not open_in:
        raise InputError(
            "already-judged",
            f"{place.by[0]} has already judged this passage.",
            "Judge another passage instead.",
        )
    turn = open_in[0]
    held = state.holder(place.query_key, turn)
    if held is None:
        take(cursor, state, place.query_key, turn, assessor, lease)
    elif held.assessor == assessor:
        renew(cursor, held, lease)
    else:
        raise InputError(
            "query-taken",
            f"Query {place.query_id} is being judged by {held.assessor}.",
            "Judge the query that you have now. This one was released after a long pause.",
        )
    return turn


def write_verdict(
    cursor: Cursor,
    audit: Audit,
    state: State,
    place: Place,
    turn: int,
    verdict: Verdict,
    assessor: str,
    elsewhere: bool = False,
) -> bool:
    """Write a verdict, the judgment of the source, and the action; write nothing if the verdict is unchanged.

    The source gets the judgment of the first turn. The second turn only measures agreement.

    Returns:
        Whether the verdict is new.
    """
    at = turn - 1
    if (place.said[at], place.values[at], place.by[at]) == (verdict.said, verdict.value, assessor):
        return False
    cursor.execute(
        "INSERT INTO audit_verdicts VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP)",
        [state.batch_key, place.query_key, place.passage_key, turn, assessor, verdict.said, verdict.value,
         verdict.note.strip(), elsewhere],
    )  # fmt: skip
    if turn == 1 and (verdict.said == "judged" or place.said[0] == "judged"):
        put_judgment(cursor, audit.source, place.query_key, place.passage_key, verdict.value)
    act = {"judged": JUDGE, "cannot say": CANNOT_SAY, "skipped": SKIP, "taken back": WITHDRAW}[verdict.said]
    value = {} if verdict.value is None else {"value": verdict.value}
    log(
        cursor, assessor, act, query=place.query_id, passage=place.passage_id, **value, note=verdict.note.strip(),
        audit=audit.name,
    )  # fmt: skip
    return True


@dataclass(frozen=True)
class Look:
    """The grader's label of a passage, up to `highest`; None without a label."""

    label: int | None
    highest: int


def look(project: Project, audit: Audit, query_id: str, passage_id: str, assessor: str) -> Look:
    """Return the grader's label of a drawn passage for an assessor. The look is recorded, and reported in `methods`.

    Raises:
        InputError: the name is empty, or the passage was not drawn.
    """
    name = assessor_name(assessor)
    with project.transaction(act="judge audits", queries=[query_id], author=name) as cursor:
        state = read_state(cursor, audit)
        place = state.place(query_id, passage_id)
        looked = cursor.execute(
            "INSERT INTO audit_looks SELECT nextval('keys'), $batch, $query, $passage, $assessor, now()::TIMESTAMP"
            " WHERE NOT EXISTS (FROM audit_looks WHERE batch_key = $batch AND query_key = $query"
            " AND passage_key = $passage AND assessor = $assessor)",
            {"batch": state.batch_key, "query": place.query_key, "passage": place.passage_key, "assessor": name},
        ).fetchall()[0][0]
        if looked:
            log(cursor, name, LOOK, query=query_id, passage=passage_id, audit=audit.name)
    base = basis(project, audit.policy)
    return Look(label_qrels(project, base).get(query_id, {}).get(passage_id), base.grader.spec.max_rating)


@dataclass(frozen=True)
class Assessor:
    """The progress of an assessor in a batch.

    Args:
        query_id: the query assigned to the assessor; None without an assigned query.
        judged, cannot_say, skipped: numbers of passages by their last verdict. `second` of the judged passages are
            second judgments.
        looked: number of passages for which the assessor asked for the grader's label.
    """

    name: str
    query_id: str | None
    judged: int
    cannot_say: int
    skipped: int
    second: int
    looked: int


def assessors(project: Project, audit: Audit, number: int | None = None) -> list[Assessor]:
    """Return every assessor with a part in a batch, by name.

    Args:
        number: number of the batch; None for the newest.
    """
    # Not cached, because claims expire without any write.
    rows = project.read(lambda cursor: cursor.execute(_ASSESSORS, {"audit": audit.key, "number": number}).fetchall())
    return [Assessor(*row) for row in rows]


_ASSESSORS = (
    "WITH batch AS (SELECT batch_key FROM audit_batches WHERE audit_key = $audit"
    "  AND ($number IS NULL OR number = $number) ORDER BY number DESC LIMIT 1),"
    " said AS (SELECT assessor, turn, said FROM audit_verdicts SEMI JOIN batch USING (batch_key)"
    "  QUALIFY row_number() OVER (PARTITION BY query_key, passage_key, turn ORDER BY verdict_key DESC) = 1),"
    " held AS (SELECT assessor, arg_min(query_id, claim_key) AS query_id FROM audit_claims"
    "  SEMI JOIN batch USING (batch_key) JOIN queries USING (query_key) WHERE ended_at IS NULL"
    f"  AND {HELD} GROUP BY 1),"
    " looks AS (SELECT assessor, count(*) AS n FROM audit_looks SEMI JOIN batch USING (batch_key) GROUP BY 1),"
    " everybody AS (SELECT assessor FROM said UNION SELECT assessor FROM held UNION SELECT assessor FROM looks)"
    " SELECT e.assessor, any_value(held.query_id), count(*) FILTER (said = 'judged'),"
    " count(*) FILTER (said = 'cannot say'), count(*) FILTER (said = 'skipped'),"
    " count(*) FILTER (turn = 2 AND said = 'judged'), coalesce(any_value(looks.n), 0)"
    " FROM everybody e LEFT JOIN said USING (assessor) LEFT JOIN held USING (assessor)"
    " LEFT JOIN looks USING (assessor) GROUP BY 1 ORDER BY 1"
)
