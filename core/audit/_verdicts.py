"""Verdicts on drawn passages, given here or imported as a judged sheet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from ..bank import asked_questions, unsealed_questions
from ..choices import SheetForm
from ..errors import InputError, Report, check_in_range
from ..formats import SheetLine, Source, read_sheet, write_sheet
from ..grouping import group_pairs
from ..labels import basis, label_qrels
from ..records import JUDGE, SCALE, WITHDRAW, passage_texts, put_judgment, queries_of
from ..store import Cursor, Project, log_action
from ..text import how_many
from ..types import Said
from ._audit_records import Audit
from ._batch_assignment import (
    HELD,
    LEASE,
    BatchState,
    DrawnPassage,
    assessor_name,
    claim_query,
    read_state,
    renew_claim,
)

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


def judgment_scale(audit: Audit) -> dict[int, str]:
    """Return the possible judgments of an audit with their meanings, which are empty for another
    scale than `SCALE`.
    """
    values = range(audit.highest + 1)
    return {value: SCALE[value] if audit.highest == max(SCALE) else "" for value in values}


def judge_drawn(
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
        value: a key of `judgment_scale`.
        lease, raises: see `store_verdict`.
    """
    store_verdict(
        project, audit, Verdict(query_id, passage_id, "judged", value, note), assessor, lease
    )


def store_verdict(
    project: Project, audit: Audit, verdict: Verdict, assessor: str, lease: timedelta = LEASE
) -> None:
    """Store a verdict. The last one counts; a repeated verdict is stored once.

    Assessors can change their own verdicts until the next batch is drawn. `cannot say` gives the
    passage no value and widens intervals. A skipped passage goes to other assessors, or to this
    one at the end. `taken back` withdraws the assessor's own verdict.

    Args:
        lease: how long the query stays assigned to this person from now on.

    Raises:
        InputError: the value is out of range, the name is empty, or the passage was not drawn or
            belongs to another assessor.
    """
    name = assessor_name(assessor)
    check_in_range(
        "judgment-out-of-range",
        f"Judgment {verdict.value}",
        f"Use a number from 0 to {audit.highest}.",
        verdict.said != "judged" or verdict.value in judgment_scale(audit),
    )
    with project.transaction(act="judge audits", queries=[verdict.query_id], author=name) as cursor:
        state = read_state(cursor, audit)
        place = state.find_passage(verdict.query_id, verdict.passage_id)
        turn = _find_turn(cursor, state, place, verdict.said, name, lease)
        write_verdict(cursor, audit, state, place, turn, verdict, name)


def _find_turn(
    cursor: Cursor,
    state: BatchState,
    place: DrawnPassage,
    kind: Said,
    assessor: str,
    lease: timedelta,
) -> int:
    """Return the turn in which an assessor judges a passage, and assign its query to the assessor.

    Raises:
        InputError: the passage belongs to another assessor.
    """
    own = [turn for turn in (1, 2) if place.judged_by(assessor, turn)]
    if kind == "taken back" and not own:
        raise InputError(
            "no-own-judgment",
            f"{assessor} has not judged this passage.",
            "You can withdraw only your own judgments.",
        )
    turns = own or [turn for turn in (1, 2) if place.open_to(assessor, turn)]
    if not turns:
        raise InputError(
            "already-judged",
            f"{place.by[0]} has already judged this passage.",
            "Judge another passage instead.",
        )
    claim = state.holder(place.query_key, turns[0])
    if claim is not None and claim.assessor == assessor:
        renew_claim(cursor, claim, lease)
    # Assessors may change their last judgment, even if the query is now assigned to another
    # assessor.
    elif kind == "taken back" or not own:
        if claim is not None:
            raise InputError(
                "query-taken",
                f"Query {place.query_id} is being judged by {claim.assessor}.",
                "You cannot withdraw your judgment now. Change its value instead."
                if own
                else "Judge the query that you have now. This one was released after a long pause.",
            )
        # A passage that was taken back is unjudged again. Its query is assigned to this assessor,
        # or another could get it meanwhile.
        claim_query(cursor, state, place.query_key, turns[0], assessor, lease)
    return turns[0]


def write_verdict(
    cursor: Cursor,
    audit: Audit,
    state: BatchState,
    place: DrawnPassage,
    turn: int,
    verdict: Verdict,
    assessor: str,
    elsewhere: bool = False,
) -> bool:
    """Write a verdict, the judgment of the source, and the action; write nothing if the verdict is
    unchanged.

    The source gets the judgment of the first turn. The second turn only measures agreement.

    Returns:
        Whether the verdict is new.
    """
    at = turn - 1
    if (place.said[at], place.values[at], place.by[at]) == (verdict.said, verdict.value, assessor):
        return False
    cursor.execute(
        "INSERT INTO audit_verdicts VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, ?, ?,"
        " now()::TIMESTAMP)",
        [
            state.batch_key,
            place.query_key,
            place.passage_key,
            turn,
            assessor,
            verdict.said,
            verdict.value,
            verdict.note.strip(),
            elsewhere,
        ],
    )
    if turn == 1 and (verdict.said == "judged" or place.said[0] == "judged"):
        put_judgment(cursor, audit.source, place.query_key, place.passage_key, verdict.value)
    act = {"judged": JUDGE, "cannot say": CANNOT_SAY, "skipped": SKIP, "taken back": WITHDRAW}[
        verdict.said
    ]
    value = {} if verdict.value is None else {"value": verdict.value}
    log_action(
        cursor,
        assessor,
        act,
        query=place.query_id,
        passage=place.passage_id,
        **value,
        note=verdict.note.strip(),
        audit=audit.name,
    )
    return True


@dataclass(frozen=True)
class GraderLabel:
    """The grader's label of a passage, up to `highest`; None without a label."""

    label: int | None
    highest: int


def reveal_label(
    project: Project, audit: Audit, query_id: str, passage_id: str, assessor: str
) -> GraderLabel:
    """Return the grader's label of a drawn passage for an assessor. `describe_methods` reports the
    look.

    Raises:
        InputError: the name is empty, or the passage was not drawn.
    """
    name = assessor_name(assessor)
    with project.transaction(act="judge audits", queries=[query_id], author=name) as cursor:
        state = read_state(cursor, audit)
        place = state.find_passage(query_id, passage_id)
        looked = cursor.execute(
            "INSERT INTO audit_looks SELECT nextval('keys'), $batch, $query, $passage, $assessor,"
            " now()::TIMESTAMP"
            " WHERE NOT EXISTS (FROM audit_looks WHERE batch_key = $batch AND query_key = $query"
            " AND passage_key = $passage AND assessor = $assessor)",
            {
                "batch": state.batch_key,
                "query": place.query_key,
                "passage": place.passage_key,
                "assessor": name,
            },
        ).fetchall()[0][0]
        if looked:
            log_action(cursor, name, LOOK, query=query_id, passage=passage_id, audit=audit.name)
    base = basis(project, audit.policy)
    return GraderLabel(
        label_qrels(project, base).get(query_id, {}).get(passage_id), base.grader.spec.max_rating
    )


@dataclass(frozen=True)
class Assessor:
    """The progress of an assessor in a batch.

    Args:
        query_id: the query assigned to the assessor; None without an assigned query.
        judged, cannot_say, skipped: numbers of passages by their last verdict. `second` of the
            judged passages are second judgments.
        looked: number of passages for which the assessor asked for the grader's label.
    """

    name: str
    query_id: str | None
    judged: int
    cannot_say: int
    skipped: int
    second: int
    looked: int


def list_audit_assessors(
    project: Project, audit: Audit, number: int | None = None
) -> list[Assessor]:
    """Return every assessor with a part in a batch, by name.

    Args:
        number: number of the batch; None for the newest.
    """
    # Not cached, because claims expire without any write.
    rows = project.read(
        lambda cursor: cursor.execute(_ASSESSORS, {"audit": audit.key, "number": number}).fetchall()
    )
    return [Assessor(*row) for row in rows]


_ASSESSORS = (
    "WITH batch AS (SELECT batch_key FROM audit_batches WHERE audit_key = $audit"
    "  AND ($number IS NULL OR number = $number) ORDER BY number DESC LIMIT 1),"
    " said AS (SELECT assessor, turn, said FROM audit_verdicts SEMI JOIN batch USING (batch_key)"
    "  QUALIFY row_number() OVER (PARTITION BY query_key, passage_key, turn"
    " ORDER BY verdict_key DESC) = 1),"
    " held AS (SELECT assessor, arg_min(query_id, claim_key) AS query_id FROM audit_claims"
    "  SEMI JOIN batch USING (batch_key) JOIN queries USING (query_key) WHERE ended_at IS NULL"
    f"  AND {HELD} GROUP BY 1), looks AS (SELECT assessor, count(*) AS n FROM audit_looks"
    " SEMI JOIN batch USING (batch_key) GROUP BY 1), everybody AS (SELECT assessor FROM said"
    " UNION SELECT assessor FROM held UNION SELECT assessor FROM looks)"
    " SELECT e.assessor, any_value(held.query_id), count(*) FILTER (said = 'judged'),"
    " count(*) FILTER (said = 'cannot say'), count(*) FILTER (said = 'skipped'),"
    " count(*) FILTER (turn = 2 AND said = 'judged'), coalesce(any_value(looks.n), 0)"
    " FROM everybody e LEFT JOIN said USING (assessor) LEFT JOIN held USING (assessor)"
    " LEFT JOIN looks USING (assessor) GROUP BY 1 ORDER BY 1"
)


EXPORT, IMPORT = "export audit sheet", "import audit sheet"


@dataclass(frozen=True)
class JudgingSheet:
    """Passages to be judged elsewhere.

    Args:
        text: content of the file.
        passages, queries: numbers of passages and of queries on the sheet.
    """

    text: str
    passages: int
    queries: int


def make_sheet(
    project: Project,
    audit: Audit,
    form: SheetForm = "tsv",
    assessor: str | None = None,
    most: int | None = None,
    deliver: Callable[[str], object] = lambda _: None,
) -> JudgingSheet:
    """Return a sheet with the open, unassigned passages of the newest batch and the questions, but
    without labels.

    Args:
        assessor: the queries of the sheet are assigned to this assessor until they are released
            (`give_back`), and not dealt to other assessors. With None they stay free, and the first
            judgment of a passage counts.
        most: approximate maximum number of passages, because queries are not divided; None for all.
        deliver: writes the sheet. If it fails, nothing is recorded.

    Raises:
        InputError: no batch is open, or no unassigned passage is left.
    """
    name = None if assessor is None else assessor_name(assessor)
    with project.transaction(act="plan audits") as cursor:
        state = read_state(cursor, audit)
        claimed = {
            claim.query_key
            for claim in state.claims
            if claim.turn == 1 and (claim.assessor != name or claim.until is not None)
        }
        waiting = group_pairs(
            (place.query_key, place)
            for place in state.places
            if not place.is_settled(1) and place.query_key not in claimed
        )
        chosen: dict[int, list[DrawnPassage]] = {}
        for query_key, of_query in waiting.items():
            if most is None or sum(map(len, chosen.values())) < most:
                chosen[query_key] = of_query
        if not chosen:
            raise InputError(
                "no-waiting-passage",
                "Every unjudged passage is assigned to an assessor.",
                f"See exam audit status {audit.option}.",
            )
        if name is not None:
            for key in chosen:
                if state.holder(key, 1) is None:
                    claim_query(cursor, state, key, 1, name, None)
        places = [place for of_query in chosen.values() for place in of_query]
        log_action(
            cursor,
            name or audit.author,
            EXPORT,
            audit=audit.name,
            batch=state.number,
            passages=len(places),
        )
        text = write_sheet(_sheet_lines(project, audit, places), form)
        deliver(text)
    return JudgingSheet(text, len(places), len(chosen))


def _sheet_lines(project: Project, audit: Audit, places: list[DrawnPassage]) -> list[SheetLine]:
    words = {query.query_id: query.text for query in queries_of(project)}
    passages = passage_texts(project, [entry.passage_id for entry in places])
    version = audit.policy.bank_version or 0
    questions = {
        query: tuple(
            entry.shown_text
            for entry in unsealed_questions(project, asked_questions(project, version, query))
            if entry.active
        )
        for query in {entry.query_id for entry in places}
    }
    return [
        SheetLine(
            entry.query_id,
            entry.passage_id,
            words[entry.query_id],
            questions[entry.query_id],
            passages.get(entry.passage_id, ""),
        )
        for entry in places
    ]


@dataclass(frozen=True)
class SheetImportResult:
    """The outcome of importing a sheet.

    Args:
        verdicts: number of judgments and `cannot say` on the sheet.
        new: number of those that the project did not have yet.
        left: number of open passages of the batch.
    """

    verdicts: int
    new: int
    left: int


def import_sheet(
    project: Project, audit: Audit, source: Source, assessor: str
) -> SheetImportResult:
    """Import a judged sheet. A refused line refuses the whole sheet. A repeated import has no
    effect.

    Args:
        assessor: the person who judged, if the sheet does not name them.

    Raises:
        FileError: a line has a passage that was not drawn, an invalid value, or a passage that
            another person judged.
        InputError: no batch is open, or the name is empty.
    """
    name = assessor_name(assessor)
    report = Report()
    lines = read_sheet(source, report)
    report.raise_if_refused(_MEND)
    with project.transaction(act="plan audits") as cursor:
        state = read_state(cursor, audit)
        by_name = {(place.query_id, place.passage_id): place for place in state.places}
        new = 0
        for line, number in lines:
            who = line.assessor or name
            fault, turn = _check_line(audit, state, by_name, line, who)
            if fault:
                report.refuse(source.name, number, "not-placed", fault)
                continue
            new += _write_line(cursor, audit, state, by_name, line, turn, who)
        report.raise_if_refused(_MEND)
        open_places = sum(not place.is_settled(1) for place in read_state(cursor, audit).places)
        log_action(
            cursor,
            name,
            IMPORT,
            audit=audit.name,
            batch=state.number,
            file=source.file,
            verdicts=len(lines),
            new=new,
        )
    return SheetImportResult(len(lines), new, open_places)


_MEND = "Nothing was imported. Correct the file and import it again."


def _check_line(
    audit: Audit,
    state: BatchState,
    by_name: dict[tuple[str, str], DrawnPassage],
    line: SheetLine,
    assessor: str,
) -> tuple[str, int]:
    """Return the fault of a line (empty for a valid line), and the turn that it belongs to."""
    place = by_name.get((line.query_id, line.passage_id))
    if place is None:
        return (
            f"passage {line.passage_id} of query {line.query_id} is not in batch {state.number}",
            0,
        )
    if line.judgment is not None and line.judgment not in judgment_scale(audit):
        return f"judgment {line.judgment} is out of range (0–{audit.highest})", 0
    own = [turn for turn in (1, 2) if place.judged_by(assessor, turn)]
    turns = own or [turn for turn in (1, 2) if place.open_to(assessor, turn)]
    if not turns:
        return (
            f"passage {line.passage_id} of query {line.query_id} was already"
            f" judged by {place.by[0]}",
            0,
        )
    holder = state.holder(place.query_key, turns[0])
    if not own and holder is not None and holder.assessor != assessor:
        return f"query {line.query_id} is being judged by {holder.assessor}", 0
    return "", turns[0]


def _write_line(
    cursor: Cursor,
    audit: Audit,
    state: BatchState,
    by_name: dict[tuple[str, str], DrawnPassage],
    line: SheetLine,
    turn: int,
    assessor: str,
) -> bool:
    place = by_name[line.query_id, line.passage_id]
    kind: Said = "cannot say" if line.cannot_say else "judged"
    verdict = Verdict(line.query_id, line.passage_id, kind, line.judgment, line.note)
    is_new = write_verdict(cursor, audit, state, place, turn, verdict, assessor, elsewhere=True)
    # Later lines of the same file must see this one.
    if turn == 1:
        now = replace(
            place,
            said=(kind, place.said[1]),
            by=(assessor, place.by[1]),
            values=(line.judgment, place.values[1]),
        )
    else:
        now = replace(
            place,
            said=(place.said[0], kind),
            by=(place.by[0], assessor),
            values=(place.values[0], line.judgment),
        )
    by_name[line.query_id, line.passage_id] = now
    return is_new


def import_sentence(result: SheetImportResult) -> str:
    """Return the outcome of an import as a sentence."""
    return (
        f"Imported {how_many(result.verdicts, 'judgments')} ({result.new:,} new)."
        f" Passages of the batch left to judge: {result.left:,}."
    )
