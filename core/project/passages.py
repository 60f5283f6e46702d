"""Passages and their texts: writing them, and reading them by id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from core.errors import InputError
from core.project.kept_passages import in_batches
from core.project.project import Cursor, Project
from core.project.queries import check_new
from core.project.replacing import Keeper
from core.project.staging import lent, table_of
from core.text import clean_text
from core.types import Passage

_NEW = {"row": "INTEGER", "passage_id": "VARCHAR", "text": "VARCHAR"}


def add_passages(cursor: Cursor, passages: Iterable[Passage], keeper: Keeper | None = None) -> int:
    """Add passages, or the text of passages that are known by id only.

    Args:
        keeper: keeps the text of passages that are there with another one, so that it can be replaced; for None that is
            refused.

    Returns:
        The number of passages that had no text before.

    Raises:
        InputError: a passage comes with two texts, something rests on the text that would be replaced, or the id of a
            new one could not stand in qrels.
    """
    added = 0
    for batch in in_batches(passages):
        check_new(cursor, "passage", (p.passage_id for p in batch))
        batch = _clean_passages(cursor, batch)
        columns: dict[str, Sequence[Any]] = {
            "row": range(len(batch)),
            "passage_id": [p.passage_id for p in batch],
            "text": [p.text for p in batch],
        }
        with lent(cursor, "new_passages", table_of(columns, _NEW)):
            added += _add_passage_batch(cursor, keeper)
    return added


def _clean_passages(cursor: Cursor, passages: list[Passage]) -> list[Passage]:
    """The passages with clean texts; one that earlier versions took in as it was stays that text, with its grades."""
    unclean = {p.text: clean for p in passages if (clean := clean_text(p.text)) != p.text}
    if not unclean:
        return passages
    kept = kept_as_they_are(cursor, "passage_texts", unclean)
    return [Passage(p.passage_id, p.text if p.text in kept else unclean.get(p.text, p.text)) for p in passages]


def kept_as_they_are(
    cursor: Cursor, table: Literal["question_texts", "passage_texts"], texts: Iterable[str]
) -> set[str]:
    """Which of some unclean texts earlier versions took in as they were: these stay, with their grades."""
    # Halves of surrogate pairs cannot be asked for, nor be there.
    asked = [text for text in texts if text.encode(errors="ignore").decode() == text]
    return {
        text for (text,) in cursor.execute(f"SELECT text FROM {table} WHERE list_contains(?, text)", [asked]).fetchall()
    }


def _add_passage_batch(cursor: Cursor, keeper: Keeper | None) -> int:
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE other_texts AS SELECT passage_key, passage_id, p.text_key, n.text"
        " FROM new_passages n JOIN passages p USING (passage_id) JOIN passage_texts t USING (text_key)"
        " WHERE t.text <> n.text"
    )
    # What this import itself gave the passage for its text is no text that could be replaced.
    own = (
        "SELECT passage_id FROM other_texts"
        if keeper is None
        else f"SELECT passage_id FROM other_texts WHERE passage_key > {keeper.first_key:d}"
        f" OR passage_key IN ({keeper.among_replaced()})"
    )
    clash = cursor.execute(
        "SELECT passage_id FROM new_passages GROUP BY passage_id HAVING count(DISTINCT text) > 1"
        f" UNION ALL {own} LIMIT 1"
    ).fetchall()
    if clash:
        raise InputError(
            f"Passage {clash[0][0]} has two different texts.",
            "Grades are about texts, so a text cannot change: give the new text a new passage id.",
        )
    if keeper is not None:
        keeper.keep_passages("other_texts")
    cursor.execute(
        "INSERT INTO passage_texts SELECT nextval('keys'), text FROM ("
        " SELECT text, min(row) AS first FROM new_passages ANTI JOIN passage_texts USING (text)"
        " GROUP BY text ORDER BY first)"
    )
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE texted AS SELECT passage_id, any_value(text_key) AS text_key,"
        " min(n.row) AS first FROM new_passages n JOIN passage_texts USING (text) GROUP BY passage_id"
    )
    if keeper is not None:
        cursor.execute(
            "INSERT INTO given_texts SELECT passage_key FROM passages p JOIN texted USING (passage_id)"
            " WHERE p.text_key IS NULL"
        )
        cursor.execute(
            "UPDATE passages SET text_key = n.text_key FROM texted n"
            " WHERE n.passage_id = passages.passage_id AND n.passage_id IN (SELECT passage_id FROM other_texts)"
        )
    filled = cursor.execute(
        "UPDATE passages SET text_key = n.text_key FROM texted n"
        " WHERE n.passage_id = passages.passage_id AND passages.text_key IS NULL"
    ).fetchall()[0][0]
    created = cursor.execute(
        "INSERT INTO passages SELECT nextval('keys'), passage_id, text_key"
        " FROM (SELECT * FROM texted ANTI JOIN passages USING (passage_id) ORDER BY first)"
    ).fetchall()[0][0]
    return int(filled + created)


def name_passages(cursor: Cursor, passage_ids: Sequence[str]) -> None:
    """Make passages known by id only, until their texts come.

    Raises:
        InputError: the id of a new one could not stand in qrels.
    """
    check_new(cursor, "passage", passage_ids)
    columns: dict[str, Sequence[Any]] = {"row": range(len(passage_ids)), "passage_id": passage_ids}
    with lent(cursor, "new_names", table_of(columns, {"row": "INTEGER", "passage_id": "VARCHAR"})):
        name_passages_of(cursor, "new_names", "row")


def name_passages_of(cursor: Cursor, table: str, place: str = "rowid") -> None:
    """Give a key to every passage that a table names and the project does not know yet.

    Args:
        table: with a column `passage_id`; a table or what SQL can read as one.
        place: SQL for what orders its rows.
    """
    cursor.execute(
        "INSERT INTO passages SELECT nextval('keys'), passage_id, NULL FROM ("
        f" SELECT passage_id, min({place}) AS first FROM {table} ANTI JOIN passages USING (passage_id)"
        " GROUP BY passage_id ORDER BY first)"
    )


def passage_texts(project: Project, passage_ids: Sequence[str]) -> dict[str, str]:
    """The texts of passages by id; those that are known by id only are left out."""
    return dict(
        project.rows(
            "SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key)"
            " WHERE passage_id IN (SELECT unnest($ids))",
            {"ids": list(passage_ids)},
        )
    )
