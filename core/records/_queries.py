"""Writing queries with their subtopics, and validation of new ids and names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import InputError
from ..store import Cursor, Project, stage
from ..text import all_plain, clean_or_none, clean_text, fault_of_id, first_few, how_many, quoted
from ..types import Query, Subtopic
from ._replaced_data import Keeper


def add_queries(cursor: Cursor, queries: Sequence[Query], replace: bool, keeper: Keeper | None = None) -> int:
    """Add queries and subtopics, and missing texts of known queries and subtopics.

    Args:
        replace: whether to overwrite the texts of known queries and subtopics. A text that equals the query's id
            counts as missing and is always overwritten.
        keeper: keeps replaced texts; None discards them.

    Returns:
        The number of new queries.

    Raises:
        InputError: the id of a new query is not valid in qrels.
    """
    check_new(cursor, "query", (q.query_id for q in queries))
    queries = [_clean_query(query) for query in queries]
    stage(
        cursor,
        "new_queries",
        {
            "query_id": [q.query_id for q in queries],
            "text": [q.text or q.query_id for q in queries],
            "narrative": [q.narrative for q in queries],
            "answer": [q.answer for q in queries],
            "further_answers": [list(q.further_answers) or None for q in queries],
            "position": list(range(len(queries))),
        },
        {
            "query_id": "VARCHAR",
            "text": "VARCHAR",
            "narrative": "VARCHAR",
            "answer": "VARCHAR",
            "further_answers": "VARCHAR[]",
            "position": "INTEGER",
        },
    )
    _take_titles(cursor)
    added = cursor.execute(
        "INSERT INTO queries SELECT nextval('keys'), query_id, text, narrative, answer, further_answers FROM ("
        " SELECT query_id, arg_min(text, position) AS text, arg_min(narrative, position) AS narrative,"
        " arg_min(answer, position) AS answer,"
        " arg_min(further_answers, position) FILTER (answer IS NOT NULL) AS further_answers, min(position) AS first"
        " FROM new_queries ANTI JOIN queries USING (query_id)"
        " GROUP BY query_id ORDER BY first)"
    ).fetchall()[0][0]
    changing = (
        "n.query_id = queries.query_id"
        " AND (n.text, n.narrative, n.answer, n.further_answers) IS DISTINCT FROM"
        " (queries.text, queries.narrative, queries.answer, queries.further_answers)"
        f" AND n.text <> n.query_id AND ({replace} OR queries.text = queries.query_id)"
    )
    if keeper is not None:
        keeper.keep_queries(f"SELECT queries.query_key FROM queries, new_queries n WHERE {changing}")
    cursor.execute(
        "UPDATE queries SET text = n.text, narrative = coalesce(n.narrative, queries.narrative),"
        " answer = coalesce(n.answer, queries.answer),"
        " further_answers = coalesce(n.further_answers, queries.further_answers)"
        f" FROM new_queries n WHERE {changing}"
    )
    _add_subtopics(cursor, queries, replace, keeper)
    return int(added)


_NAMES = {
    "query": ("queries", "query_id", True),
    "passage": ("passages", "passage_id", True),
    "run": ("runs", "name", False),
    "source": ("sources", "name", False),
    "leaderboard": ("boards", "name", False),
    "question": ("questions", "question_id", False),
    "subtopic": ("question_revisions", "subtopic_id", False),
    "examinee": ("students", "name", False),
    "retrieval": ("retrievals", "name", False),
    "grader": ("graders", "name", False),
    "answer generator": ("generators", "name", False),
    "answer check": ("answer_judges", "name", False),
}
"""By kind of id or name: its table and column, and whether it must fit into a column of a TREC file."""


def check_new(cursor: Cursor, what: str, names: Iterable[str]) -> None:
    """Refuse new ids or names that files cannot contain. Ids and names that the project already has are accepted.

    Raises:
        InputError: a new id or name has control characters, or white space in a column of a TREC file.
    """
    table, column, one_column = _NAMES[what]
    names = set(names)
    if not names or all_plain(names):
        return
    faults = {name: fault for name in names if (fault := fault_of_id(name, one_column))}
    if not faults:
        return
    known = cursor.execute(
        f"SELECT {column} FROM {table} WHERE list_contains(?, {column})", [[clean_text(name) for name in faults]]
    ).fetchall()
    for name in sorted(faults.keys() - {name for (name,) in known}):
        raise InputError("invalid-name", f"The {what} {quoted(name)} {faults[name]}.", "Use another name.")


def _clean_query(query: Query) -> Query:
    return Query(
        query.query_id,
        clean_text(query.text),
        clean_or_none(query.narrative),
        tuple(Subtopic(clean_text(s.subtopic_id), clean_text(s.text)) for s in query.subtopics),
        clean_or_none(query.answer),
        tuple(map(clean_text, query.further_answers)),
    )


def _take_titles(cursor: Cursor) -> None:
    """Move grades of direct grading from the id of a query to its new title, if the query had no text before."""
    cursor.execute(
        "UPDATE question_texts SET text = n.text FROM new_queries n JOIN queries USING (query_id)"
        " WHERE queries.text = query_id AND n.text <> query_id AND question_texts.text = query_id"
        " AND n.text NOT IN (SELECT text FROM question_texts WHERE text IS NOT NULL)"
        " AND question_texts.text_key NOT IN (SELECT text_key FROM question_revisions)"
    )


def _add_subtopics(cursor: Cursor, queries: Sequence[Query], replace: bool, keeper: Keeper | None) -> None:
    rows = [(q.query_id, s.subtopic_id, s.text, i) for q in queries for i, s in enumerate(q.subtopics)]
    if not rows:
        return
    names = ("query_id", "subtopic_id", "text", "position")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    types = dict.fromkeys(names, "VARCHAR") | {"position": "INTEGER"}
    stage(cursor, "new_subtopics", columns, types)
    cursor.execute(
        "INSERT INTO subtopics SELECT query_key, n.subtopic_id, arg_min(n.text, n.rowid), min(n.position)"
        " FROM new_subtopics n JOIN queries USING (query_id)"
        " ANTI JOIN subtopics s ON s.query_key = queries.query_key AND s.subtopic_id = n.subtopic_id"
        " GROUP BY query_key, n.subtopic_id ORDER BY min(n.rowid)"
    )
    # As with a query, a text that equals the id is replaced by any other.
    changing = (
        "queries.query_key = subtopics.query_key AND n.subtopic_id = subtopics.subtopic_id"
        f" AND n.text NOT IN (subtopics.text, n.subtopic_id) AND ({replace} OR subtopics.text = subtopics.subtopic_id)"
    )
    if keeper is not None:
        keeper.keep_subtopics(
            "SELECT (queries.query_key, n.subtopic_id) FROM subtopics, new_subtopics n JOIN queries USING (query_id)"
            f" WHERE {changing}"
        )
    cursor.execute(
        f"UPDATE subtopics SET text = n.text FROM new_subtopics n JOIN queries USING (query_id) WHERE {changing}"
    )


def unknown_queries(cursor: Cursor, query_ids: Iterable[str]) -> list[str]:
    """Return the ids that the project does not have, in the given order without repeats."""
    known = {query_id for (query_id,) in cursor.execute("SELECT query_id FROM queries").fetchall()}
    return [query_id for query_id in dict.fromkeys(query_ids) if query_id not in known]


def check_queries(project: Project, query_ids: Sequence[str]) -> list[str]:
    """Check that all ids are queries of the project, and return them.

    Raises:
        InputError: a query is unknown.
    """
    if unknown := project.read(lambda cursor: unknown_queries(cursor, query_ids)):
        raise InputError(
            "unknown-query",
            f"{how_many(len(unknown), 'unknown query ids')}: {first_few(unknown)}.",
            "Import these queries first, or leave them out.",
        )
    return list(query_ids)


def queries_of(project: Project) -> list[Query]:
    """Return the queries of a project with their subtopics, in order."""
    subtopics: dict[int, list[Subtopic]] = {}
    for key, subtopic_id, text in project.rows(
        "SELECT query_key, subtopic_id, text FROM subtopics ORDER BY query_key, position"
    ):
        subtopics.setdefault(key, []).append(Subtopic(subtopic_id, text))
    return [
        Query(query_id, text, narrative, tuple(subtopics.get(key, ())), answer, tuple(further or ()))
        for key, query_id, text, narrative, answer, further in project.rows(
            "SELECT query_key, query_id, text, narrative, answer, further_answers FROM queries ORDER BY query_key"
        )
    ]
