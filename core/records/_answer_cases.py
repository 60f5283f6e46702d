"""Cases that people confirmed, and correct answers that they added to queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..errors import InputError
from ..store import Cursor, Project, as_name, log
from ..text import clean_text
from ._teamwork import find_query


@dataclass(frozen=True)
class ConfirmedCase:
    """The case of a run for a query (how its answer relates to its ranking), as a person confirmed it.

    Args:
        key: key of the record.
        case: letter of the case.
        proposed: the letter that the table of cases proposed; empty without a proposal.
    """

    key: int
    query_id: str
    run: str
    k: int
    generator: str
    case: str
    proposed: str
    note: str
    author: str
    confirmed_at: datetime


@dataclass(frozen=True)
class CasePlace:
    """The place of a case: a query, a run at a cutoff, and the generator of the answer (key and name)."""

    query_id: str
    run: str
    k: int
    generator_key: int
    generator: str


def confirm(project: Project, place: CasePlace, case: str, proposed: str, note: str, author: str) -> int:
    """Record a case. It replaces the earlier case of the same person at this place.

    Returns:
        The key of the record.

    Raises:
        InputError: unknown query, or empty name of the assessor.
    """
    if not (author := as_name(author)):
        raise InputError("empty-name", "The name of the assessor is empty.", "Give the name to record with the case.")
    with project.transaction(act="confirm cases", queries=[place.query_id], author=author) as cursor:
        query = find_query(cursor, place.query_id)
        _withdraw(cursor, place, query, author)
        key = cursor.execute(
            "INSERT INTO answer_cases (case_key, query_key, run, k, generator_key, case_name, proposed, note, author,"
            " confirmed_at) VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP) RETURNING case_key",
            [query, place.run, place.k, place.generator_key, case, proposed, note.strip(), author],
        ).fetchall()[0][0]
        log(
            cursor, author, "confirm case", query=place.query_id, run=place.run, k=place.k, case=case,
            proposed=proposed, generator=place.generator, note=note.strip(),
        )  # fmt: skip
    return int(key)


def withdraw_case(project: Project, place: CasePlace, author: str) -> None:
    """Withdraw the case that a person confirmed.

    Raises:
        InputError: this person has not confirmed a case there.
    """
    author = as_name(author)
    with project.transaction(act="confirm cases", queries=[place.query_id], author=author) as cursor:
        if not _withdraw(cursor, place, find_query(cursor, place.query_id), author):
            raise InputError(
                "no-own-case",
                f"{author} has not confirmed a case of query {place.query_id} for run {place.run} at cutoff {place.k}.",
                "You can withdraw only your own cases. See exam reteval cases.",
            )
        log(cursor, author, "withdraw case", query=place.query_id, run=place.run, k=place.k)


def _withdraw(cursor: Cursor, place: CasePlace, query: int, author: str) -> bool:
    changed = cursor.execute(
        "UPDATE answer_cases SET withdrawn_by = ?, withdrawn_at = now()::TIMESTAMP WHERE query_key = ? AND run = ?"
        " AND k = ? AND generator_key = ? AND author = ? AND withdrawn_at IS NULL",
        [author, query, place.run, place.k, place.generator_key, author],
    ).fetchall()
    return bool(changed[0][0])


def confirmed_cases(project: Project, generator_key: int | None = None) -> list[ConfirmedCase]:
    """Return the cases that people confirmed, in the order of their confirmation.

    Args:
        generator_key: restricts the cases to answers of this generator; None returns all.
    """
    return [
        ConfirmedCase(*row)
        for row in project.rows(
            "SELECT case_key, query_id, run, k, g.name, case_name, proposed, note, c.author, confirmed_at"
            " FROM answer_cases c JOIN queries USING (query_key)"
            " JOIN generators g USING (generator_key)"
            " WHERE ($generator IS NULL OR generator_key = $generator) AND withdrawn_at IS NULL"
            " ORDER BY case_key",
            {"generator": generator_key},
        )
    ]


def add_gold_answer(project: Project, query_id: str, answer: str, author: str) -> bool:
    """Add a correct answer to a query.

    Returns:
        False if the query had this answer already.

    Raises:
        InputError: unknown query, or empty answer.
    """
    if not (answer := clean_text(answer).strip()):
        raise InputError("empty-answer", "The answer is empty.", "Type the answer.")
    with project.transaction(act="confirm cases", queries=[query_id], author=author) as cursor:
        known = _answers(cursor, query_id)
        if answer in known:
            return False
        _put_answers(cursor, query_id, [*known, answer])
        log(cursor, author, "add gold answer", query=query_id, answer=answer)
    return True


def withdraw_gold_answer(project: Project, query_id: str, answer: str, author: str) -> None:
    """Remove a correct answer from a query.

    Raises:
        InputError: unknown query, or the query does not have this answer.
    """
    with project.transaction(act="confirm cases", queries=[query_id], author=author) as cursor:
        known = _answers(cursor, query_id)
        if answer not in known:
            raise InputError(
                "unknown-gold-answer",
                f"Query {query_id} has no correct answer '{answer}'.",
                "The screen Cases lists its correct answers.",
            )
        _put_answers(cursor, query_id, [one for one in known if one != answer])
        log(cursor, author, "withdraw gold answer", query=query_id, answer=answer)


def _answers(cursor: Cursor, query_id: str) -> list[str]:
    query = find_query(cursor, query_id)
    ((first, further),) = cursor.execute(
        "SELECT answer, further_answers FROM queries WHERE query_key = ?", [query]
    ).fetchall()
    return [] if first is None else [first, *(further or ())]


def _put_answers(cursor: Cursor, query_id: str, answers: list[str]) -> None:
    cursor.execute(
        "UPDATE queries SET answer = ?, further_answers = ? WHERE query_id = ?",
        [answers[0] if answers else None, answers[1:] or None, query_id],
    )
