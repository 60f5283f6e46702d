"""Questions of the bank at every version, the history of the bank, and the questions kept from
people.
"""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ..errors import InputError, check_rules, unknown_name
from ..grouping import group_pairs
from ..records import add_seals, hidden_questions, open_seals, readable_versions, sealed_questions
from ..store import Cursor, Project, as_act, cache, cached, log_action, put_setting, read_setting
from ..types import Query, Question, Subtopic


@dataclass(frozen=True)
class BankVersion:
    """A saved state of the whole bank."""

    version: int
    note: str
    author: str
    saved_at: datetime
    changed: int


@dataclass(frozen=True)
class Revision:
    """A question as saved in a bank version."""

    version: int
    note: str
    author: str
    saved_at: datetime
    question: Question


@dataclass(frozen=True)
class QueryOverview:
    """A query with its numbers of questions and pooled passages."""

    query_id: str
    text: str
    questions: int
    active: int
    pooled: int
    without_text: int


@as_act("see boards")
def latest_version(project: Project) -> int:
    """Return the number of the newest bank version; 0 if none was saved."""
    return int(project.value("SELECT coalesce(max(version), 0) FROM bank_versions"))


@as_act("see boards")
def check_version(project: Project, version: int | None) -> int:
    """Check that a bank version exists and return its number; None selects the newest version.

    Raises:
        InputError: the version does not exist.
    """
    newest = latest_version(project)
    if version is None:
        return newest
    if not 0 <= version <= newest:
        raise InputError(
            "unknown-bank-version",
            f"Unknown bank version {version}.",
            f"Use 0 to {newest}: exam bank list --versions",
        )
    return version


def list_questions(
    project: Project, version: int | None = None, query_id: str | None = None
) -> list[Question]:
    """Return the questions of the bank, active or not, in their order.

    Args:
        version: bank version; None for the newest.
        query_id: restricts the result to this query; None for all.
    """
    given = {"version": check_version(project, version), "query_id": query_id}
    return list(map(as_question, project.rows(_BANK, given)))


def saved_question(project: Project, question_id: str, version: int | None = None) -> Question:
    """Return a question of the bank.

    Args:
        version: bank version; None for the newest.

    Raises:
        InputError: the version or the question is unknown.
    """
    rows = project.rows(
        f"SELECT * FROM ({_BANK}) WHERE question_id = $question_id",
        {"version": check_version(project, version), "query_id": None, "question_id": question_id},
    )
    if not rows:
        raise unknown_name("unknown-question", "question", question_id, (), "See exam bank list.")
    return as_question(rows[0])


def latest_questions(cursor: Cursor) -> list[Question]:
    """Return the questions of the newest version, including changes of the open transaction."""
    return list(
        map(as_question, cursor.execute(_BANK, {"version": NEWEST, "query_id": None}).fetchall())
    )


NEWEST = 2**31 - 1
"""Larger than any version number, so it selects the newest version."""
_COLUMNS = (
    "question_id, query_id, t.text, kind, weight, active, subtopic_id, answer_key, choices,"
    " r.note, r.position"
)
_BANK = (
    f"SELECT {_COLUMNS} FROM bank_at($version) r JOIN questions USING (question_key)"
    " JOIN queries q USING (query_key) JOIN question_texts t USING (text_key)"
    " WHERE $query_id IS NULL OR query_id = $query_id ORDER BY query_key, r.position, question_key"
)


def as_question(row: Sequence[Any]) -> Question:
    """Return a question from a row with its fields in their order; choices are JSON."""
    values = list(row)
    # A short cut: most questions have no choices.
    values[8] = () if row[8] == "[]" else tuple(json.loads(row[8]))
    return Question(*values)


def readable_questions(project: Project, questions_given: Sequence[Question]) -> list[Question]:
    """Return questions as the person of this handle may read them: sealed ones of other people have
    no words.
    """
    hidden = hidden_questions(project)
    return [
        replace(one, text=None, answer_key=None, choices=(), note="")
        if one.question_id in hidden
        else one
        for one in questions_given
    ]


def unsealed_questions(project: Project, questions_given: Sequence[Question]) -> list[Question]:
    """Return questions without sealed ones, for files and prompts that anyone may read."""
    sealed = sealed_questions(project)
    return [one for one in questions_given if one.question_id not in sealed]


@as_act("see boards")
def list_versions(project: Project) -> list[BankVersion]:
    """Return every saved version, newest first, with the number of questions that it changed.

    Notes quote questions. So they are empty for people without permission to read questions.
    """
    note = "v.note" if project.allows("read the bank") else "''"
    return [
        BankVersion(*row)
        for row in project.rows(
            f"SELECT version, {note}, author, saved_at, count(revision_key)"
            f" FROM {readable_versions(project)} v"
            " LEFT JOIN question_revisions USING (version) GROUP BY ALL ORDER BY version DESC"
        )
    ]


def question_history(project: Project, question_id: str) -> list[Revision]:
    """Return every saved version of a question, newest first."""
    return [
        Revision(
            row[0], row[1], row[2], row[3], readable_questions(project, [as_question(row[4:])])[0]
        )
        for row in project.rows(
            f"SELECT r.version, v.note, v.author, v.saved_at, {_COLUMNS}"
            f" FROM question_revisions r JOIN {readable_versions(project)} v USING (version)"
            " JOIN questions USING (question_key) JOIN queries q USING (query_key)"
            " JOIN question_texts t USING (text_key)"
            " WHERE question_id = ? ORDER BY r.version DESC",
            [question_id],
        )
    ]


@cached(cache.ASKED)
def query_overviews(project: Project) -> list[QueryOverview]:
    """Return every query with its numbers of questions (newest version) and pooled passages."""
    return [
        QueryOverview(*row)
        for row in project.rows(
            "SELECT query_id, q.text, coalesce(b.questions, 0), coalesce(b.active, 0),"
            " coalesce(p.pooled, 0), coalesce(p.without_text, 0) FROM queries q LEFT JOIN"
            " (SELECT query_key, count(*) AS questions, count(*) FILTER (active) AS active"
            "  FROM bank_at($version) JOIN questions USING (question_key)"
            " GROUP BY query_key) b USING (query_key)"
            " LEFT JOIN (SELECT query_key, count(*) AS pooled, count(*) FILTER (text_key IS NULL)"
            "  AS without_text FROM pool"
            " GROUP BY query_key) p USING (query_key) ORDER BY query_key",
            {"version": latest_version(project)},
        )
    ]


def find_query(project: Project, query_id: str) -> Query:
    """Return a query with its narrative, its subtopics and its answer.

    Raises:
        InputError: the query is unknown.
    """
    rows = project.rows(
        "SELECT text, narrative, answer, further_answers FROM queries WHERE query_id = ?",
        [query_id],
    )
    if not rows:
        raise InputError("unknown-query", f"Unknown query '{query_id}'.", "Import the query first.")
    subtopics = project.rows(
        "SELECT subtopic_id, s.text FROM subtopics s JOIN queries USING (query_key)"
        " WHERE query_id = ? ORDER BY subtopic_id",
        [query_id],
    )
    text, narrative, answer, further = rows[0]
    return Query(
        query_id,
        text,
        narrative,
        tuple(Subtopic(*one) for one in subtopics),
        answer,
        tuple(further or ()),
    )


@dataclass(frozen=True)
class BankDifference:
    """Difference between two lists of questions, by question id.

    Args:
        added, removed: questions that only the new or only the old list has.
        changed: questions of both lists, before and after.
    """

    added: list[Question]
    changed: list[tuple[Question, Question]]
    removed: list[Question]


def bank_difference(before: Sequence[Question], after: Sequence[Question]) -> BankDifference:
    """Return the questions that were added, changed and removed between two lists."""
    old = {question.question_id: question for question in before}
    new = {question.question_id: question for question in after}
    return BankDifference(
        [question for key, question in new.items() if key not in old],
        [
            (old[key], question)
            for key, question in new.items()
            if key in old and old[key] != question
        ],
        [question for key, question in old.items() if key not in new],
    )


LEAST, SEALED_PER_QUERY = 2, 3
"""Least and usual number of sealed questions per query. At least as many stay public."""


def seal_questions(
    project: Project, author: str, per_query: int = SEALED_PER_QUERY, seed: int | None = None
) -> dict[str, list[str]]:
    """Seal random questions of every query with enough active questions of positive weight.

    Args:
        per_query: number of sealed questions per query.
        seed: seed of the draw, which is recorded; None for a random one.

    Returns:
        The ids of the sealed questions by query.

    Raises:
        InputError: questions are sealed already, the number is too small, or no query has enough
            questions.
    """
    check_rules(
        (
            per_query < LEAST,
            InputError(
                "too-few-seals", f"Cannot seal {per_query} per query.", f"Seal at least {LEAST}."
            ),
        ),
        (
            bool(sealed_questions(project)),
            InputError(
                "already-sealed", "Questions are already sealed.", "Open them first: exam bank open"
            ),
        ),
    )
    seed = secrets.randbelow(2**31) if seed is None else seed
    by_query = group_pairs(
        (question.query_id, question.question_id)
        for question in list_questions(project)
        if question.active and question.weight > 0 and question.text
    )
    drawn = {
        query: sorted(random.Random(f"{seed} {query}").sample(sorted(ids), per_query))
        for query, ids in by_query.items()
        if len(ids) >= 2 * per_query
    }
    if not drawn:
        raise InputError(
            "too-few-questions",
            f"No query has {2 * per_query} active questions of positive weight.",
            "Seal fewer questions per query, or add questions.",
        )
    with project.transaction(act="organize", author=author) as cursor:
        add_seals(cursor, [one for ids in drawn.values() for one in ids], seed, author)
        log_action(
            cursor,
            author,
            "seal questions",
            questions=sum(map(len, drawn.values())),
            queries=len(drawn),
            seed=seed,
        )
    return drawn


def open_sealed(project: Project, author: str) -> int:
    """Open all sealed questions; return their number."""
    with project.transaction(act="organize", author=author) as cursor:
        opened = open_seals(cursor, author)
        if opened:
            log_action(cursor, author, "open sealed questions", questions=opened)
    return opened


SETTING = "assessors_first"


def assessors_first(project: Project) -> bool:
    """Return whether suggestions wait for a person's own question."""
    return read_setting(project, SETTING) is not None


def set_assessors_first(project: Project, on: bool, author: str) -> None:
    """Turn the switch on or off."""
    with project.transaction(act="organize", author=author) as cursor:
        put_setting(cursor, SETTING, "on" if on else None)
        log_action(cursor, author, "set assessors first", on=on)


def queries_awaiting_own(project: Project, author: str) -> frozenset[str]:
    """Return the queries whose suggestions are hidden from a person; empty if the switch is off.

    A question is a person's own if they saved its first version, or have drafted it with a text.
    """
    if not assessors_first(project):
        return frozenset()
    return frozenset(
        query
        for (query,) in project.rows(
            "SELECT query_id FROM queries"
            " WHERE query_key NOT IN (SELECT query_key FROM question_revisions"
            "  JOIN questions USING (question_key) JOIN bank_versions USING (version)"
            " GROUP BY query_key, question_key"
            "  HAVING arg_min(author, version) = $author UNION ALL SELECT query_key FROM drafts"
            " WHERE author = $author"
            "  AND question_id NOT IN (SELECT question_id FROM questions)"
            "  AND trim(coalesce(content->>'$.text', '')) <> '')",
            {"author": author},
        )
    )
