"""Coordination of people who share a project: guidelines, and marks of queries as done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..errors import InputError, unknown_name
from ..store import Cursor, Project, as_name, log
from ..text import clean_text

LONGEST_GUIDELINES = 20_000
"""Maximum number of characters of the guidelines of a project or a query."""


@dataclass(frozen=True)
class Guidelines:
    """Instructions for assessors, for the whole project and for a query; empty if not written."""

    project: str
    query: str = ""


def guidelines(project: Project, query_id: str | None = None) -> Guidelines:
    """Return the guidelines of the project and, if given, of a query."""
    rows = project.rows(
        "SELECT query_id, arg_max(g.text, guideline_key) FROM guidelines g LEFT JOIN queries USING (query_key)"
        " WHERE query_id IS NULL OR query_id = ? GROUP BY query_id",
        [query_id or ""],
    )
    found = dict(rows)
    return Guidelines(found.get(None, ""), found.get(query_id, "") if query_id is not None else "")


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
            "INSERT INTO guidelines VALUES (nextval('keys'), ?, ?, ?, now()::TIMESTAMP)", [key, text, as_name(author)]
        )
        log(cursor, author, "set guidelines", **({} if query_id is None else {"query": query_id}))


def mark_done(project: Project, query_id: str, done: bool, author: str) -> None:
    """Mark a query as done or not done by a person.

    Raises:
        InputError: unknown query.
        NotAllowed: the query is not assigned to the person.
    """
    with project.transaction(act="mark work", queries=[query_id], author=author) as cursor:
        key = find_query(cursor, query_id)
        cursor.execute(
            "INSERT INTO query_marks VALUES (nextval('keys'), ?, ?, ?, now()::TIMESTAMP)", [key, as_name(author), done]
        )
        log(cursor, author, "finish query" if done else "reopen query", query=query_id)


def done_queries(project: Project) -> dict[str, dict[str, datetime]]:
    """Return when people marked queries as done, by name and query id; withdrawn marks are absent."""
    found: dict[str, dict[str, datetime]] = {}
    for author, query_id, at in project.rows(
        "SELECT author, query_id, max(stated_at) FROM query_marks JOIN queries USING (query_key) GROUP BY ALL"
        " HAVING arg_max(done, query_mark_key) ORDER BY ALL"
    ):
        found.setdefault(author, {})[query_id] = at
    return found


def find_query(cursor: Cursor, query_id: str) -> int:
    """Return the key of a query.

    Raises:
        InputError: unknown query.
    """
    found = cursor.execute("SELECT query_key FROM queries WHERE query_id = ?", [query_id]).fetchall()
    if not found:
        raise unknown_name("unknown-query", "query", query_id, (), "Check the id, or import the query first.")
    return int(found[0][0])
