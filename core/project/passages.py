"""Passages and their texts: writing them, and reading them by id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NoReturn

from core.errors import InputError
from core.project.kept_passages import in_batches
from core.project.project import Cursor, Project
from core.project.queries import check_new
from core.project.replacing import Keeper
from core.project.staging import lent, table_of
from core.text import clean_text
from core.types import Passage

_IDS = {"passage_id": "VARCHAR"}
_OTHERS = {"passage_key": "INTEGER", "passage_id": "VARCHAR", "text_key": "INTEGER"}


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
        added += _add_passage_batch(cursor, _clean_passages(cursor, batch), keeper)
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


def _add_passage_batch(cursor: Cursor, passages: Sequence[Passage], keeper: Keeper | None) -> int:
    # Nothing of it is put into temporary tables: what these ever held stays in memory until the transaction ends.
    text_of: dict[str, str] = {}
    for passage in passages:
        if text_of.setdefault(passage.passage_id, passage.text) != passage.text:
            _refuse_two_texts(passage.passage_id)
    with lent(cursor, "new_passages", table_of({"passage_id": list(text_of)}, _IDS)):
        known: dict[str, tuple[int, int | None]] = {
            passage_id: (key, text_key)
            for passage_id, key, text_key in cursor.execute(
                "SELECT passage_id, passage_key, text_key FROM passages SEMI JOIN new_passages USING (passage_id)"
            ).fetchall()
        }
    texts = {text: 0 for text in text_of.values()}
    with lent(cursor, "new_texts", table_of({"text": list(texts)}, {"text": "VARCHAR"})):
        stored = dict(
            cursor.execute("SELECT text_key, text FROM passage_texts SEMI JOIN new_texts USING (text)").fetchall()
        )
    others = [
        (key, passage_id, text_key)
        for passage_id, (key, text_key) in known.items()
        if text_key is not None and stored.get(text_key) != text_of[passage_id]
    ]
    if others:
        _replace_texts(cursor, others, keeper)
    texts.update((text, key) for key, text in stored.items())
    new_texts = [text for text, key in texts.items() if not key]
    texts.update(zip(new_texts, _keys(cursor, len(new_texts)), strict=True))
    columns: dict[str, Sequence[Any]] = {"text_key": [texts[text] for text in new_texts], "text": new_texts}
    with lent(cursor, "new_texts", table_of(columns, {"text_key": "INTEGER", "text": "VARCHAR"})):
        cursor.execute("INSERT INTO passage_texts SELECT text_key, text FROM new_texts")
    filled = [key for key, text_key in known.values() if text_key is None]
    given = {key: texts[text_of[passage_id]] for passage_id, (key, text_key) in known.items() if text_key is None}
    given |= {key: texts[text_of[passage_id]] for key, passage_id, _ in others}
    if given:
        columns = {"passage_key": list(given), "text_key": list(given.values())}
        with lent(cursor, "given", table_of(columns, dict.fromkeys(columns, "INTEGER"))):
            cursor.execute(
                "UPDATE passages SET text_key = g.text_key FROM given g WHERE g.passage_key = passages.passage_key"
            )
    if filled and keeper is not None:
        cursor.execute("INSERT INTO given_texts SELECT unnest(?::INTEGER[])", [filled])
    created = [passage_id for passage_id in text_of if passage_id not in known]
    columns = {
        "passage_key": _keys(cursor, len(created)),
        "passage_id": created,
        "text_key": [texts[text_of[passage_id]] for passage_id in created],
    }
    types = {"passage_key": "INTEGER", "passage_id": "VARCHAR", "text_key": "INTEGER"}
    with lent(cursor, "created", table_of(columns, types)):
        cursor.execute("INSERT INTO passages SELECT passage_key, passage_id, text_key FROM created")
    return len(filled) + len(created)


def _replace_texts(cursor: Cursor, others: Sequence[tuple[int, str, int]], keeper: Keeper | None) -> None:
    """Keep the texts of passages that get others: key, id and key of the text that goes of each.

    Raises:
        InputError: this import itself gave one of them its text, nobody keeps it, or something rests on it.
    """
    if keeper is None:
        _refuse_two_texts(others[0][1])
    # What this import itself gave the passage for its text is no text that could be replaced.
    own = {key for (key,) in cursor.execute(keeper.among_replaced()).fetchall()}
    for key, passage_id, _ in others:
        if key > keeper.first_key or key in own:
            _refuse_two_texts(passage_id)
    columns: dict[str, Sequence[Any]] = {
        "passage_key": [key for key, _, _ in others],
        "passage_id": [passage_id for _, passage_id, _ in others],
        "text_key": [text_key for _, _, text_key in others],
    }
    with lent(cursor, "other_texts", table_of(columns, _OTHERS)):
        keeper.keep_passages("other_texts")


def _refuse_two_texts(passage_id: str) -> NoReturn:
    raise InputError(
        f"Passage {passage_id} has two different texts.",
        "Grades are about texts, so a text cannot change: give the new text a new passage id.",
    )


def _keys(cursor: Cursor, count: int) -> list[int]:
    """New keys, in order."""
    return [key for (key,) in cursor.execute("SELECT nextval('keys')::INTEGER FROM range(?)", [count]).fetchall()]


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
