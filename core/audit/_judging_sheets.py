"""Judging elsewhere: export of a batch, or of a part of it, as a sheet, and import of the judged sheet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..bank import asked_questions, public
from ..errors import InputError, Report
from ..formats import SheetForm, SheetLine, Source, read_sheet, write_sheet
from ..records import passage_texts, queries_of
from ..store import Cursor, Project, log
from ..text import how_many
from ..types import Said
from ._audit_records import Audit
from ._batch_assignment import assessor_name, take
from ._batch_state import Place, State, read_state
from ._verdicts import Verdict, scale, write_verdict

EXPORT, IMPORT = "export audit sheet", "import audit sheet"


@dataclass(frozen=True)
class Sheet:
    """Passages to be judged elsewhere.

    Args:
        text: content of the file.
        passages, queries: numbers of passages and of queries on the sheet.
    """

    text: str
    passages: int
    queries: int


def sheet(
    project: Project,
    audit: Audit,
    form: SheetForm = "tsv",
    assessor: str | None = None,
    most: int | None = None,
    deliver: Callable[[str], object] = lambda _: None,
) -> Sheet:
    """Return a sheet with the open, unassigned passages of the newest batch and the questions, but without labels.

    Args:
        assessor: the queries of the sheet are assigned to this assessor until they are released (`give_back`), and not
            dealt to other assessors. With None they stay free, and the first judgment of a passage counts.
        most: approximate maximum number of passages, because queries are not divided; None for all.
        deliver: writes the sheet. If it fails, nothing is recorded.

    Raises:
        InputError: no batch is open, or no unassigned passage is left.
    """
    name = None if assessor is None else assessor_name(assessor)
    with project.transaction(act="plan audits") as cursor:
        state = read_state(cursor, audit)
        chosen: dict[int, list[Place]] = {}
        for place in state.places:
            holder = state.holder(place.query_key, 1)
            if place.settled(1) or (holder is not None and (holder.assessor != name or holder.until is not None)):
                continue
            enough = most is not None and sum(map(len, chosen.values())) >= most
            if place.query_key in chosen or not enough:
                chosen.setdefault(place.query_key, []).append(place)
        if not chosen:
            raise InputError(
                "no-waiting-passage", "Every unjudged passage is assigned to an assessor.", "See exam audit status."
            )
        if name is not None:
            for key in chosen:
                if state.holder(key, 1) is None:
                    take(cursor, state, key, 1, name, None)
        places = [place for of_query in chosen.values() for place in of_query]
        log(cursor, name or audit.author, EXPORT, audit=audit.name, batch=state.number, passages=len(places))
        text = write_sheet(_lines(project, audit, places), form)
        deliver(text)
    return Sheet(text, len(places), len(chosen))


def _lines(project: Project, audit: Audit, places: list[Place]) -> list[SheetLine]:
    wanted = {one.query_id for one in places}
    words = {query.query_id: query.text for query in queries_of(project) if query.query_id in wanted}
    found = passage_texts(project, [one.passage_id for one in places])
    version = audit.policy.bank_version or 0
    asked = {
        query: tuple(one.shown for one in public(project, asked_questions(project, version, query)) if one.active)
        for query in words
    }
    return [
        SheetLine(one.query_id, one.passage_id, words[one.query_id], asked[one.query_id], found.get(one.passage_id, ""))
        for one in places
    ]


@dataclass(frozen=True)
class TakenIn:
    """The outcome of importing a sheet.

    Args:
        verdicts: number of judgments and `cannot say` on the sheet.
        new: number of those that the project did not have yet.
        left: number of open passages of the batch.
    """

    verdicts: int
    new: int
    left: int


def take_in(project: Project, audit: Audit, source: Source, assessor: str) -> TakenIn:
    """Import a judged sheet. A refused line refuses the whole sheet. A repeated import has no effect.

    Args:
        assessor: the person who judged, if the sheet does not name them.

    Raises:
        FileError: a line has a passage that was not drawn, an invalid value, or a passage that another person judged.
        InputError: no batch is open, or the name is empty.
    """
    name = assessor_name(assessor)
    report = Report()
    lines = read_sheet(source, report)
    report.raise_if_refused(_MEND)
    with project.transaction(act="plan audits") as cursor:
        state = read_state(cursor, audit)
        by_name = {(one.query_id, one.passage_id): one for one in state.places}
        new = 0
        for line, number in lines:
            who = line.assessor or name
            fault, turn = _placed(audit, state, by_name, line, who)
            if fault:
                report.refuse(source.name, number, "not-placed", fault)
                continue
            new += _write(cursor, audit, state, by_name, line, turn, who)
        report.raise_if_refused(_MEND)
        left = sum(not one.settled(1) for one in read_state(cursor, audit).places)
        log(cursor, name, IMPORT, audit=audit.name, batch=state.number, file=source.file, verdicts=len(lines), new=new)
    return TakenIn(len(lines), new, left)


_MEND = "Nothing was imported. Correct the file and import it again."


def _placed(
    audit: Audit, state: State, by_name: dict[tuple[str, str], Place], line: SheetLine, assessor: str
) -> tuple[str, int]:
    """Return the fault of a line (empty for a valid line), and the turn that it belongs to."""
    place = by_name.get((line.query_id, line.passage_id))
    if place is None:
        return f"passage {line.passage_id} of query {line.query_id} is not in batch {state.number}", 0
    if line.judgment is not None and line.judgment not in scale(audit):
        return f"judgment {line.judgment} is out of range (0–{audit.highest})", 0
    own = [turn for turn in (1, 2) if place.settled(turn) and place.by[turn - 1] == assessor]
    turns = own or [turn for turn in (1, 2) if place.open_to(assessor, turn)]
    if not turns:
        return f"passage {line.passage_id} of query {line.query_id} was already judged by {place.by[0]}", 0
    holder = state.holder(place.query_key, turns[0])
    if not own and holder is not None and holder.assessor != assessor:
        return f"query {line.query_id} is being judged by {holder.assessor}", 0
    return "", turns[0]


def _write(
    cursor: Cursor,
    audit: Audit,
    state: State,
    by_name: dict[tuple[str, str], Place],
    line: SheetLine,
    turn: int,
    assessor: str,
) -> bool:
    place = by_name[line.query_id, line.passage_id]
    said: Said = "cannot say" if line.cannot_say else "judged"
    verdict = Verdict(line.query_id, line.passage_id, said, line.judgment, line.note)
    is_new = write_verdict(cursor, audit, state, place, turn, verdict, assessor, elsewhere=True)
    # Later lines of the same file must see this one.
    if turn == 1:
        now = replace(
            place, said=(said, place.said[1]), by=(assessor, place.by[1]), values=(line.judgment, place.values[1])
        )
    else:
        now = replace(
            place, said=(place.said[0], said), by=(place.by[0], assessor), values=(place.values[0], line.judgment)
        )
    by_name[line.query_id, line.passage_id] = now
    return is_new


def sentence(done: TakenIn) -> str:
    """Return the outcome of an import as a sentence."""
    return (
        f"Imported {how_many(done.verdicts, 'judgments')} ({done.new:,} new)."
        f" Passages of the batch left to judge: {done.left:,}."
    )
