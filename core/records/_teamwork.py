"""Coordination of people: guidelines, marks of queries as done, double assignments and due dates.

A double assignment is a query that several people judge blindly.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from ..errors import InputError, NotAllowed, check_rules, unknown_name
from ..grouping import group_pairs, nest_triples
from ..store import Cursor, Project, as_name, log_action
from ..text import clean_text, first_few, how_many

LONGEST_GUIDELINES = 20_000
"""Maximum number of characters of the guidelines of a project or a query."""


@dataclass(frozen=True)
class Guidelines:
    """Instructions for assessors, for the whole project and for a query; empty if not written."""

    project: str
    query: str = ""


def find_guidelines(project: Project, query_id: str | None = None) -> Guidelines:
    """Return the guidelines of the project and, if given, of a query."""
    rows = project.rows(
        "SELECT query_id, arg_max(g.text, guideline_key) FROM guidelines g LEFT JOIN queries"
        " USING (query_key) WHERE query_id IS NULL OR query_id = ? GROUP BY query_id",
        [query_id or ""],
    )
    texts = dict(rows)
    return Guidelines(texts.get(None, ""), texts.get(query_id, "") if query_id is not None else "")


def set_guidelines(project: Project, text: str, author: str, query_id: str | None = None) -> None:
    """Set the guidelines of the project or of a query; earlier ones stay on record.

    Args:
        text: plain text; empty removes them.
        query_id: None for the whole project.

    Raises:
        InputError: the text is too long, or unknown query.
        NotAllowed: only an organizer may set guidelines.
    """
    text = clean_text(text).strip()
    if len(text) > LONGEST_GUIDELINES:
        raise InputError(
            "guidelines-too-long",
            f"The guidelines are too long: {len(text):,} characters.",
            f"Use at most {LONGEST_GUIDELINES:,} characters.",
        )
    with project.transaction(act="set guidelines", author=author) as cursor:
        key = None if query_id is None else find_query(cursor, query_id)
        cursor.execute(
            "INSERT INTO guidelines VALUES (nextval('keys'), ?, ?, ?, now()::TIMESTAMP)",
            [key, text, as_name(author)],
        )
        log_action(
            cursor, author, "set guidelines", **({} if query_id is None else {"query": query_id})
        )


def mark_done(project: Project, query_id: str, is_done: bool, author: str) -> None:
    """Mark a query as done or not done by a person.

    Raises:
        InputError: unknown query.
        NotAllowed: the query is not assigned to the person.
    """
    with project.transaction(act="mark work", queries=[query_id], author=author) as cursor:
        key = find_query(cursor, query_id)
        cursor.execute(
            "INSERT INTO query_marks VALUES (nextval('keys'), ?, ?, ?, now()::TIMESTAMP)",
            [key, as_name(author), is_done],
        )
        log_action(cursor, author, "finish query" if is_done else "reopen query", query=query_id)


def done_queries(project: Project) -> dict[str, dict[str, datetime]]:
    """Return when people marked queries as done, by name and query id, without withdrawn marks."""
    return nest_triples(
        project.rows(
            "SELECT author, query_id, max(stated_at) FROM query_marks JOIN queries"
            " USING (query_key) GROUP BY ALL HAVING arg_max(done, query_mark_key) ORDER BY ALL"
        )
    )


def find_query(cursor: Cursor, query_id: str) -> int:
    """Return the key of a query.

    Raises:
        InputError: unknown query.
    """
    rows = cursor.execute("SELECT query_key FROM queries WHERE query_id = ?", [query_id]).fetchall()
    if not rows:
        raise unknown_name(
            "unknown-query", "query", query_id, (), "Check the id, or import the query first."
        )
    return int(rows[0][0])


MOST_WANTED = 10
"""Maximum number of assessors per double assignment."""
TAKING_PART = ("asked", "claimed")
TURNS = (*TAKING_PART, "declined", "released")
"""States of a person in a double assignment."""


@dataclass(frozen=True)
class DoubleAssignment:
    """A query, or some of its passages, that several people judge blindly. Open ones never share a
    passage.

    Args:
        key: the number of the assignment.
        passages: ids of its passages; None for all passages of the query.
        wanted: number of people who are to judge.
        adjudicator: person who decides on differences, in addition to the organizers; None for
            organizers only.
        people: latest state of each person by name: asked, claimed, declined or released.
        reasons: why people declined, by name, if they gave a reason.
    """

    key: int
    query_id: str
    passages: tuple[str, ...] | None
    wanted: int
    adjudicator: str | None
    author: str
    stated_at: datetime
    people: Mapping[str, str]
    reasons: Mapping[str, str]

    @property
    def present(self) -> tuple[str, ...]:
        """Names of the people who take part."""
        return tuple(name for name, turn in self.people.items() if turn in TAKING_PART)

    @property
    def free(self) -> int:
        """Number of people who can still claim it."""
        return max(self.wanted - len(self.present), 0)

    def includes(self, passage_id: str) -> bool:
        """Return whether it includes a passage of the query."""
        return self.passages is None or passage_id in self.passages

    @property
    def description(self) -> str:
        """A phrase for messages: the number of the assignment, its passages, and its assessors."""
        what = "all passages" if self.passages is None else how_many(len(self.passages), "passages")
        return f"number {self.key} ({what}; {', '.join(self.present) or 'no assessors yet'})"

    def is_open_to(self, name: str) -> bool:
        """Return whether a person was asked or may claim it, and has not answered yet."""
        turn = self.people.get(name)
        return name != self.adjudicator and (
            turn == "asked" or (self.free > 0 and turn not in ("claimed", "declined"))
        )


def open_double_assignments(project: Project) -> list[DoubleAssignment]:
    """Return the open double assignments, in the order of the queries."""
    turns = project.rows(
        "SELECT double_key, name, arg_max(act, double_turn_key), arg_max(t.reason,"
        " double_turn_key) FROM double_turns t"
        " GROUP BY ALL ORDER BY double_key, min(double_turn_key)"
    )
    people = nest_triples((key, name, turn) for key, name, turn, _ in turns)
    reasons = nest_triples((key, name, reason) for key, name, _, reason in turns if reason)
    passages: dict[int, list[str]] = group_pairs(
        project.rows(
            "SELECT double_key, passage_id FROM (SELECT double_key, unnest(passage_keys) AS"
            " passage_key FROM doubles"
            " WHERE ended_at IS NULL) JOIN passages USING (passage_key) ORDER BY ALL"
        )
    )
    return [
        DoubleAssignment(
            key,
            query_id,
            tuple(passages.get(key, ())) if some else None,
            wanted,
            adjudicator,
            author,
            stated_at,
            people.get(key, {}),
            reasons.get(key, {}),
        )
        for key, query_id, some, wanted, adjudicator, author, stated_at in project.rows(
            "SELECT double_key, query_id, passage_keys IS NOT NULL, wanted,"
            " adjudicator, author, stated_at"
            " FROM doubles JOIN queries USING (query_key) WHERE ended_at IS NULL ORDER BY query_key"
        )
    ]


def doubles_of(project: Project, query_id: str) -> list[DoubleAssignment]:
    """Return the open double assignments of a query.

    Raises:
        InputError: the query has no open double assignment.
    """
    matches = [one for one in open_double_assignments(project) if one.query_id == query_id]
    if not matches:
        raise InputError(
            "not-doubly-assigned",
            f"Query {query_id} has no double assignment.",
            "See exam assignments list.",
        )
    return matches


def double_of(
    project: Project,
    query_id: str,
    number: int | None = None,
    fits: Callable[[DoubleAssignment], bool] = lambda one: True,
) -> DoubleAssignment:
    """Return an open double assignment of a query.

    Args:
        number: its number, if the query has several; None selects the only candidate.
        fits: returns whether an assignment is a candidate.

    Raises:
        InputError: the query has no double assignment, the number is unknown, or several are
            candidates.
    """
    matches = doubles_of(project, query_id)
    if number is not None:
        matches = [double for double in matches if double.key == number]
        if not matches:
            raise InputError(
                "unknown-double-assignment",
                f"Query {query_id} has no double assignment number {number}.",
                "See exam assignments list.",
            )
    elif len(matches) > 1:
        matches = list(filter(fits, matches)) or matches
    if len(matches) > 1:
        raise InputError(
            "ambiguous-double-assignment",
            f"Query {query_id} has {len(matches)} double assignments:"
            f" {'; '.join(double.description for double in matches)}.",
            "Choose one by its number (--number).",
        )
    return matches[0]


def assign_double(
    project: Project,
    query_id: str,
    author: str,
    people: Sequence[str] = (),
    assessor_count: int | None = None,
    passages: Iterable[str] | None = None,
    adjudicator: str | None = None,
) -> int:
    """Assign a query, or some of its passages, to several people who judge without seeing each
    other's judgments.

    Args:
        people: names of the people who are asked; other people may claim it, up to
            `assessor_count`.
        assessor_count: number of judging people; None means the number asked, and at least 2.
        passages: ids; None for all of the query.
        adjudicator: person who may decide on differences without being an organizer.

    Returns:
        The number of the double assignment.

    Raises:
        InputError: unknown query or passage, an overlap with an open assignment, too few or too
            many people, or an adjudicator who is one of them.
        NotAllowed: only an organizer may assign.
    """
    names = list(dict.fromkeys(as_name(name) for name in people))
    decider = as_name(adjudicator or "") or None
    number = max(len(names), 2) if assessor_count is None else assessor_count
    check_rules(
        (
            not 2 <= number <= MOST_WANTED or len(names) > number or not all(names),
            InputError(
                "people-out-of-range",
                f"Invalid double assignment of query {query_id}: {number} assessors wanted,"
                f" {len(names)} named.",
                f"Ask for 2 to {MOST_WANTED} assessors, and name at most as many.",
            ),
        ),
        (
            decider in names,
            InputError(
                "adjudicator-takes-part",
                f"{decider} cannot adjudicate their own judgments.",
                "Name an adjudicator who does not take part.",
            ),
        ),
    )
    with project.transaction(act="assign work", author=author) as cursor:
        query = find_query(cursor, query_id)
        keys = (
            None
            if passages is None
            else _pooled_keys(cursor, query_id, query, list(dict.fromkeys(passages)))
        )
        _check_apart(cursor, query_id, query, keys)
        (key,) = cursor.execute(
            "INSERT INTO doubles VALUES (nextval('keys'), ?, ?::INTEGER[], ?, ?, ?,"
            " now()::TIMESTAMP, NULL, NULL) RETURNING double_key",
            [query, keys, number, decider, as_name(author)],
        ).fetchall()[0]
        for name in names:
            _record_turn(cursor, key, name, "asked", "", author)
        told = {"people": names} | ({} if keys is None else {"passages": len(keys)})
        log_action(cursor, author, "assign double", query=query_id, wanted=number, **told)
    return int(key)


def sample_of(project: Project, query_id: str, size: int, seed: int = 1) -> list[str]:
    """Draw passages of a query's pool at random; return their ids. The same seed gives the same
    passages.

    Passages in an open double assignment are left out.

    Raises:
        InputError: the pool has fewer passages than requested.
    """
    pooled = [
        passage_id
        for (passage_id,) in project.rows(
            "SELECT passage_id FROM pool JOIN queries USING (query_key)"
            " JOIN passages USING (passage_key) WHERE query_id = ? AND NOT EXISTS (SELECT *"
            " FROM doubles d WHERE d.query_key = pool.query_key"
            "  AND ended_at IS NULL AND (passage_keys IS NULL"
            " OR list_contains(passage_keys, pool.passage_key))) ORDER BY position",
            [query_id],
        )
    ]
    if not 1 <= size <= len(pooled):
        raise InputError(
            "sample-out-of-range",
            f"Cannot draw {how_many(size, 'passages')} of query {query_id}: {len(pooled):,} pooled"
            " and not yet in a double assignment.",
            "Draw fewer passages, but at least 1.",
        )
    return random.Random(seed).sample(pooled, size)


def claim_double(project: Project, query_id: str, author: str, number: int | None = None) -> None:
    """Join the double assignment of a query.

    Args:
        number: of the assignment; None selects the only assignment that the person was asked to
            join or may claim.

    Raises:
        InputError: the number of candidates is not 1, or the assignment is full.
        NotAllowed: the person adjudicates it, or is not an assessor.
    """
    with project.transaction(act="claim work", author=author) as cursor:
        name = as_name(author)
        double = double_of(project, query_id, number, lambda one: one.is_open_to(name))
        # The place is reserved for a person who was asked.
        is_asked = double.people.get(name) == "asked"
        check_rules(
            (
                name == double.adjudicator,
                NotAllowed(
                    "adjudicator-takes-part",
                    f"{name} is the adjudicator of query {query_id}.",
                    "An adjudicator cannot take part.",
                ),
            ),
            (
                name in double.present and not is_asked,
                InputError(
                    "already-takes-part",
                    f"{name} already takes part in the double assignment of query {query_id}.",
                ),
            ),
            (
                not double.free and not is_asked,
                InputError(
                    "double-assignment-full",
                    f"The double assignment of query {query_id} is full:"
                    f" {first_few(list(double.present))}.",
                    "Claim another one. See exam assignments list.",
                ),
            ),
        )
        _record_turn(cursor, double.key, name, "claimed", "", author)
        log_action(cursor, author, "claim double", query=query_id)


def decline_double(
    project: Project, query_id: str, author: str, reason: str = "", number: int | None = None
) -> None:
    """Decline or leave the double assignment of a query, which frees a place.

    Args:
        number: of the assignment; None selects the only assignment that the person joined or may
            join.

    Raises:
        InputError: the number of candidates is not 1, or the person does not take part.
    """
    with project.transaction(act="claim work", author=author) as cursor:
        name = as_name(author)
        found = double_of(
            project, query_id, number, lambda one: name in one.present or one.is_open_to(name)
        )
        _leave_double(cursor, found, name, "declined", reason, author)
        log_action(
            cursor, author, "decline double", query=query_id, reason=clean_text(reason).strip()
        )


def release_double(
    project: Project, query_id: str, name: str, author: str, number: int | None = None
) -> None:
    """Remove a person from a double assignment, which frees a place.

    Args:
        number: of the assignment; None selects the only assignment in which the person takes part.

    Raises:
        InputError: the query has no double assignment, or the person does not take part in exactly
            one.
        NotAllowed: only an organizer may remove people.
    """
    with project.transaction(act="assign work", author=author) as cursor:
        found = double_of(project, query_id, number, lambda one: as_name(name) in one.present)
        _leave_double(cursor, found, as_name(name), "released", "", author)
        log_action(cursor, author, "release double", query=query_id, person=as_name(name))


def write_end(cursor: Cursor, double: DoubleAssignment, author: str) -> None:
    """End a double assignment. Later judgments, and differences without a decision, count as
    without an assignment.
    """
    cursor.execute(
        "UPDATE doubles SET ended_by = ?, ended_at = now()::TIMESTAMP WHERE double_key = ?",
        [as_name(author), double.key],
    )
    log_action(cursor, author, "end double", query=double.query_id)


def check_undecided(
    cursor: Cursor, name: str, query_key: int, passage_key: int, question_key: int | None
) -> None:
    """Refuse a change of a judgment or rating in a double assignment after its adjudication.

    Args:
        question_key: None for a judgment.

    Raises:
        InputError: it was adjudicated.
    """
    rows = cursor.execute(
        "SELECT a.author FROM doubles d JOIN double_people p USING (double_key)"
        " JOIN standing_adjudications a USING (double_key) WHERE ended_at IS NULL AND p.name = ?"
        " AND d.query_key = ? AND a.passage_key = ? AND a.question_key IS NOT DISTINCT FROM ?",
        [as_name(name), query_key, passage_key, question_key],
    ).fetchall()
    if rows:
        raise InputError(
            "decided-meanwhile",
            f"{rows[0][0]} has already adjudicated this, so the value from"
            f" {as_name(name)} cannot change.",
            "Ask the adjudicator to withdraw the decision: screen Adjudication, or"
            " exam adjudicate undo.",
        )


def set_due(
    project: Project,
    query_ids: Sequence[str],
    due: date | None,
    author: str,
    name: str | None = None,
) -> None:
    """Set or remove the due date of queries.

    Args:
        due: the last day; None removes the date.
        name: the person for whom it applies; None for everyone who works on the queries.

    Raises:
        InputError: unknown query, or empty list.
        NotAllowed: only an organizer may set due dates.
    """
    if not query_ids:
        raise InputError(
            "no-query-named", "No query is named.", "Name the queries for the due date."
        )
    person = None if name is None else as_name(name)
    with project.transaction(act="assign work", author=author) as cursor:
        for query_id in dict.fromkeys(query_ids):
            cursor.execute(
                "INSERT INTO dues VALUES (nextval('keys'), ?, ?, ?, ?, now()::TIMESTAMP)",
                [find_query(cursor, query_id), person, due, as_name(author)],
            )
        details: dict[str, object] = (
            {"queries": len(query_ids)} if len(query_ids) > 1 else {"query": query_ids[0]}
        )
        details |= {"due": due.isoformat()} if due else {}
        log_action(cursor, author, "set due", **details, **({"person": person} if person else {}))


Dues = Mapping[tuple[str, str | None], date]
"""Due dates by query id and name of the person; the name is None for all people."""


def due_of(dates: Dues, query_id: str, name: str) -> date | None:
    """Return a query's due date for a person, or else the date for all people, or else None."""
    return dates.get((query_id, name)) or dates.get((query_id, None))


def due_dates(project: Project) -> Dues:
    """Return all current due dates."""
    return {
        (query_id, name): due
        for query_id, name, due in project.rows(
            "SELECT query_id, name, due FROM (FROM dues QUALIFY row_number() OVER"
            " (PARTITION BY query_key, name ORDER BY due_key DESC) = 1)"
            " JOIN queries USING (query_key) WHERE due IS NOT NULL"
        )
    }


def _leave_double(
    cursor: Cursor, double: DoubleAssignment, name: str, turn: str, reason: str, author: str
) -> None:
    if name not in double.present and not (
        turn == "declined" and double.free and name not in double.people
    ):
        raise InputError(
            "takes-no-part",
            f"{name} does not take part in the double assignment of query {double.query_id}.",
            "See exam assignments list.",
        )
    _record_turn(cursor, double.key, name, turn, clean_text(reason).strip(), author)


def _record_turn(cursor: Cursor, key: int, name: str, act: str, reason: str, author: str) -> None:
    cursor.execute(
        "INSERT INTO double_turns VALUES (nextval('keys'), ?, ?, ?, ?, ?, now()::TIMESTAMP)",
        [key, name, act, reason, as_name(author)],
    )


def _check_apart(cursor: Cursor, query_id: str, query: int, keys: list[int] | None) -> None:
    """Refuse passages of a query that are in an open double assignment; None means all passages."""
    whole, some = cursor.execute(
        "SELECT coalesce(bool_or(passage_keys IS NULL OR $keys IS NULL), false), coalesce("
        "len(list_intersect(flatten(list(passage_keys)), coalesce($keys, [])::INTEGER[])), 0)"
        " FROM doubles WHERE query_key = $query AND ended_at IS NULL",
        {"keys": keys, "query": query},
    ).fetchall()[0]
    check_rules(
        (
            whole,
            InputError(
                "already-doubly-assigned",
                f"Query {query_id} already has a double assignment.",
                "End it first: exam assignments end. A query can have several only if"
                " they share no passage.",
            ),
        ),
        (
            some > 0,
            InputError(
                "already-doubly-assigned",
                f"{how_many(some, 'named passages')} of query {query_id} already assigned"
                " to several assessors.",
                "Name other passages (--passage), or draw a sample (--sample).",
            ),
        ),
    )


def _pooled_keys(cursor: Cursor, query_id: str, query: int, passages: Sequence[str]) -> list[int]:
    keys = dict(
        cursor.execute(
            "SELECT passage_id, passage_key FROM pool JOIN passages USING (passage_key)"
            " WHERE query_key = ? AND passage_id IN (SELECT unnest(?::VARCHAR[]))",
            [query, list(passages)],
        ).fetchall()
    )
    strange = [passage_id for passage_id in passages if passage_id not in keys]
    check_rules(
        (
            bool(strange),
            InputError(
                "passage-not-pooled",
                f"Not in the pool of query {query_id}: {first_few(strange)}.",
                "Name pooled passages.",
            ),
        ),
        (
            not keys,
            InputError(
                "no-passage-named",
                "No passage is named.",
                "Name passages, or omit the list to assign the query.",
            ),
        ),
    )
    return sorted(keys.values())
