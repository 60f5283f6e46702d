"""Writing passages and their texts, and reading them by id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..store import Cursor, Project, lent, numbered
from ..types import Passage
from ._passage_buffer import PassageFiles, passage_table
from ._queries import check_new
from ._replaced_data import Keeper

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._writing_passages import WrittenPassages


def add_passages(cursor: Cursor, passages: Iterable[Passage], keeper: Keeper | None = None) -> int:
    """Add passages, or the texts of passages that are known only by id.

    Args:
        keeper: keeps the replaced texts; None refuses to replace texts.

    Returns:
        The number of passages that had no text before.

    Raises:
        InputError: a passage has two texts, the replaced text is in use, or the id of a new passage is not valid in
            qrels.
    """
    # Opening a project must not wait for the import of numpy.
    from ._writing_passages import write_passages

    listed = list(passages)
    check_new(cursor, "passage", (passage.passage_id for passage in listed))
    table = passage_table(listed, 0)
    with lent(cursor, "given_passages", table):
        unclean = table["given"].null_count < len(table)
        return write_passages(cursor, "given_passages", len(table), unclean, keeper).new


def add_kept_passages(cursor: Cursor, kept: PassageFiles, keeper: Keeper | None = None) -> WrittenPassages:
    """Add any number of passages from files as `add_passages` does; passages without a text are added last.

    Args:
        kept: the buffered passages, closed.
    """
    from ._writing_passages import write_passages

    check_new(cursor, "passage", kept.faulty)
    written = write_passages(cursor, kept.relation, kept.rows, kept.unclean, keeper)
    (textless,) = (written.text_keys == 0).nonzero()
    if len(textless):
        _name_textless(cursor, kept.relation, textless, written)
    return written


def _name_textless(cursor: Cursor, kept: str, rows: NDArray[np.int64], written: WrittenPassages) -> None:
    """Add passages without a text. Write their keys, and the keys of texts that the project has, into `written`."""
    with lent(cursor, "textless", numbered(row=rows)):
        of = f"(SELECT row, passage_id FROM {kept} SEMI JOIN textless USING (row))"
        name_passages_of(cursor, of, "row")
        found = cursor.execute(
            f"SELECT row, passage_key, coalesce(text_key, 0) AS text_key FROM {of} JOIN passages USING (passage_id)"
        ).fetchnumpy()
    written.keys[found["row"]], written.text_keys[found["row"]] = found["passage_key"], found["text_key"]


def kept_as_they_are(cursor: Cursor, texts: Iterable[str]) -> set[str]:
    """Return the unclean question texts that earlier versions stored unchanged. They stay, with their grades."""
    # The database cannot hold halves of surrogate pairs, nor be queried with them.
    asked = [text for text in texts if text.encode(errors="ignore").decode() == text]
    return {
        text
        for (text,) in cursor.execute(
            "SELECT text FROM question_texts WHERE list_contains(?, text)", [asked]
        ).fetchall()
    }


def name_passages_of(cursor: Cursor, table: str, place: str = "rowid") -> None:
    """Add every passage of a table that the project does not know yet.

    Args:
        table: table, or SQL for one, with a column `passage_id`.
        place: SQL of the order of its rows.
    """
    cursor.execute(
        "INSERT INTO passages SELECT nextval('keys'), passage_id, NULL FROM ("
        f" SELECT passage_id, min({place}) AS first FROM {table} ANTI JOIN passages USING (passage_id)"
        " GROUP BY passage_id ORDER BY first)"
    )


def passage_texts(project: Project, passage_ids: Sequence[str]) -> dict[str, str]:
    """Return the texts of passages by id; passages without a text are left out."""
    return dict(
        project.rows(
            "SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key)"
            " WHERE passage_id IN (SELECT unnest($ids))",
            {"ids": list(passage_ids)},
        )
    )
