"""Restoring the state that an action of the activity log replaced."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InputError
from ..store import Cursor, Project, log
from ._pool import refresh_pool
from ._replaced_data import KINDS, Keeper, Replaced


def can_bring_back(project: Project, activity_key: int) -> list[Replaced]:
    """Return the objects that an action of the log replaced; empty if it replaced nothing."""
    return [
        Replaced(*row)
        for row in project.rows(
            "SELECT kind, name, before, gone, after FROM replacements WHERE activity_key = ? ORDER BY replacement_key",
            [activity_key],
        )
    ]


def bring_back(project: Project, activity_key: int, author: str) -> list[Replaced]:
    """Restore the objects that an action of the log replaced. The present ones are kept, so you can undo this.

    Other changes of the action stay.

    Args:
        activity_key: number of the action.

    Returns:
        The restored objects.

    Raises:
        InputError: the action replaced nothing, the project already has the replaced objects, or a text that would be
            removed is in use.
    """
    project.require("bring back", author=author)
    restored = can_bring_back(project, activity_key)
    if not restored:
        raise InputError(
            "nothing-replaced",
            f"Action {activity_key} replaced nothing that can be restored.",
            "See exam activity for the numbers of actions.",
        )
    with project.transaction(act="bring back", author=author) as cursor:
        keeper = Keeper(cursor)
        tables = sorted({table for one in restored for table in (*KINDS[one.kind].tables, *_BESIDE)})
        before = _content(cursor, tables)
        for replacement, kind, key, name in cursor.execute(
            "SELECT replacement_key, kind, object_key, name FROM replacements WHERE activity_key = ?"
            " ORDER BY replacement_key",
            [activity_key],
        ).fetchall():
            _restore(cursor, keeper, replacement, kind, key, name)
        if _content(cursor, tables) == before:
            raise InputError(
                "nothing-to-restore",
                f"Nothing to restore: the project already has everything that action {activity_key} replaced.",
            )
        refresh_pool(cursor)
        replaced = keeper.settle()
        act = log(cursor, author, "bring back", undone=activity_key, restored=[one.whole for one in restored])
        keeper.record(replaced, act)
    return restored


_BESIDE = ("runs", "boards", "sources", "passages", "subtopics")
"""Tables that can change together with the tables of the replaced objects."""


def _content(cursor: Cursor, tables: Sequence[str]) -> list[tuple[object, ...]]:
    """Return a count and a hash of each table, independent of the order of rows, to detect changes."""
    return [cursor.execute(f"SELECT count(*), sum(hash(t)::HUGEINT) FROM {table} t").fetchall()[0] for table in tables]


def _restore(cursor: Cursor, keeper: Keeper, replacement: int, kind: str, key: int | None, name: str) -> None:
    of = KINDS[kind]
    kept = f"replacement_key = {replacement:d}"
    if kind == "passages":
        _restore_passages(cursor, keeper, kept)
    elif kind == "queries":
        _restore_queries(cursor, keeper, kept)
    else:
        if kind == "citations":
            where = f"passage_key IN (SELECT passage_key FROM replaced_response_sentences WHERE {kept})"
            keeper.keep_sentences(f"SELECT passage_key FROM replaced_response_sentences WHERE {kept}")
        else:
            where = "true" if of.key is None else f"{of.key} = {key:d}"
            keeper.keep(kind, name, key)
        if kind == "judgments":
            # The removal of its last judgment removed the source too.
            cursor.execute(
                "INSERT INTO sources SELECT ?, ? WHERE NOT EXISTS (FROM sources WHERE source_key = ?)", [key, name, key]
            )
        for table in of.tables:
            cursor.execute(f"DELETE FROM {table} WHERE {where}")
            cursor.execute(
                f"INSERT INTO {table} SELECT * EXCLUDE (replacement_key) FROM replaced_{table} WHERE {kept}"
                " ORDER BY rowid"
            )
        if kind == "run":
            cursor.execute(
                "UPDATE runs SET tag = r.tag, file = r.file FROM replaced_runs r"
                f" WHERE r.{kept} AND r.run_key = runs.run_key"
            )
        if kind == "leaderboard":
            cursor.execute(
                "UPDATE boards SET measure = r.measure FROM replaced_boards r"
                f" WHERE r.{kept} AND r.board_key = boards.board_key"
            )


def _restore_passages(cursor: Cursor, keeper: Keeper, kept: str) -> None:
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE returning_texts AS SELECT p.passage_key, p.passage_id, p.text_key,"
        " r.text_key AS old FROM replaced_passages r JOIN passages p USING (passage_key)"
        f" WHERE r.{kept} AND p.text_key IS DISTINCT FROM r.text_key"
    )
    keeper.keep_passages("returning_texts")
    cursor.execute(
        "UPDATE passages SET text_key = r.old FROM returning_texts r WHERE r.passage_key = passages.passage_key"
    )


def _restore_queries(cursor: Cursor, keeper: Keeper, kept: str) -> None:
    keeper.keep_queries(f"SELECT query_key FROM replaced_queries WHERE {kept}")
    keeper.keep_subtopics(f"SELECT (query_key, subtopic_id) FROM replaced_subtopics WHERE {kept}")
    cursor.execute(
        "UPDATE queries SET text = r.text, narrative = r.narrative, answer = r.answer,"
        " further_answers = r.further_answers FROM replaced_queries r"
        f" WHERE r.{kept} AND r.query_key = queries.query_key"
    )
    cursor.execute(
        f"UPDATE subtopics SET text = r.text FROM replaced_subtopics r WHERE r.{kept}"
        " AND r.query_key = subtopics.query_key AND r.subtopic_id = subtopics.subtopic_id"
    )
