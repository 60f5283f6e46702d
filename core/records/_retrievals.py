"""Retrievals: rankings of passages for the items of an exam. Items are not queries, so retrievals are not runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import InputError
from ..store import Cursor, as_name, stage
from ..text import fault_of_id, quoted

Ranking = Sequence[tuple[str, float]]
"""Passage ids with their scores, best first."""


def retrieved(cursor: Cursor, name: str) -> dict[str, list[tuple[str, float]]]:
    """Return the rankings of a retrieval by question id; empty for an unknown retrieval."""
    found: dict[str, list[tuple[str, float]]] = {}
    for question_id, passage_id, score in cursor.execute(
        "SELECT question_id, passage_id, score FROM retrieved JOIN retrievals r USING (retrieval_key)"
        " JOIN questions USING (question_key) JOIN passages USING (passage_key) WHERE r.name = ?"
        " ORDER BY question_key, rank",
        [name],
    ).fetchall():
        found.setdefault(question_id, []).append((passage_id, score))
    return found


def put_retrieval(cursor: Cursor, name: str, made_by: str, rankings: Mapping[str, Ranking], author: str) -> int:
    """Store a retrieval; ranks are the positions in the rankings.

    Args:
        made_by: name of the file or of the retriever.
        rankings: by id of a known question; all passages must be known.

    Returns:
        The number of items with a ranking.

    Raises:
        InputError: the name is taken or invalid, or an item or a passage is unknown.
    """
    if fault := fault_of_id(name, False):
        raise InputError("invalid-name", f"The retrieval {quoted(name)} {fault}.", "Use another name.")
    if cursor.execute("SELECT 1 FROM retrievals WHERE name = ?", [name]).fetchall():
        raise InputError("name-taken", f"A retrieval named '{name}' already exists.", "Use another name.")
    lines = [
        (item, passage, rank, score)
        for item, ranking in rankings.items()
        for rank, (passage, score) in enumerate(ranking, 1)
    ]
    types = {"question_id": "VARCHAR", "passage_id": "VARCHAR", "rank": "INTEGER", "score": "DOUBLE"}
    stage(cursor, "new_retrieved", {column: [line[at] for line in lines] for at, column in enumerate(types)}, types)
    for what, column, hint in (
        ("item", "question", "In a run for an exam, use item ids as query ids. See exam items list."),
        ("passage", "passage", "Import the passages first."),
    ):
        lost = cursor.execute(
            f"SELECT {column}_id FROM new_retrieved ANTI JOIN {column}s USING ({column}_id)"
        ).fetchall()
        if lost:
            raise InputError(f"unknown-{what}", f"Unknown {what} '{lost[0][0]}' in {made_by}.", hint)
    ((key,),) = cursor.execute(
        "INSERT INTO retrievals VALUES (nextval('keys'), ?, ?, ?, now()::TIMESTAMP) RETURNING retrieval_key",
        [name, made_by, as_name(author)],
    ).fetchall()
    cursor.execute(
        "INSERT INTO retrieved SELECT ?, question_key, passage_key, rank, score FROM new_retrieved"
        " JOIN questions USING (question_id) JOIN passages USING (passage_id) ORDER BY question_key, rank",
        [key],
    )
    return sum(bool(ranking) for ranking in rankings.values())
