"""Writing any number of passages with their texts, in few statements that work on row numbers.

Equal texts are found by their hashes, so that the texts need not be in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..store import Cursor, lend_table, number_table, release_memory
from ._replaced_data import PassageWithTwoTexts, ReplacedDataKeeper

if TYPE_CHECKING:
    from numpy.typing import NDArray


HASH = "(hash({}.text) >> 1)::BIGINT"
"""SQL for a 63-bit hash. Texts with different hashes differ; texts with equal hashes are compared.
"""
ROWS_A_PART = 200_000
"""Passages whose hashes are computed or sorted at once."""
COMPARED = 50_000
"""Pairs of texts to compare at once."""


def same_texts(
    cursor: Cursor, texts_sql: str, rows: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Find passages with the same text.

    Args:
        texts_sql: SQL for a table with the columns `row`, from 0 to `rows` - 1, and `text`.
        rows: number of its rows.

    Returns:
        Two arrays by row. The first has the first row with the same text, or -1 without a text. The
        second has the key of the text in the project; 0 for texts that the project does not have,
        and for repeats of an earlier row.
    """
    hashes = _text_hashes(cursor, texts_sql, rows)
    same, parts = np.full(rows, -1, np.int32), rows // ROWS_A_PART + 1
    for part in range(parts):
        # Sorting takes several times the memory of its input, so it is done in parts; equal hashes
        # are in the same part.
        texted = np.flatnonzero((hashes >= 0) & (hashes % parts == part)).astype(np.int32)
        _, first, place = np.unique(hashes[texted], return_index=True, return_inverse=True)
        same[texted] = texted[first][place]
    _part_different(cursor, texts_sql, same)
    own = np.flatnonzero(same == np.arange(rows)).astype(np.int32)
    return same, _known_text_keys(cursor, texts_sql, rows, own, hashes[own])


def _text_hashes(cursor: Cursor, texts_sql: str, rows: int) -> NDArray[np.int64]:
    """Return the hash of each row's text; -1 without a text."""
    hashes = np.full(rows, -1, np.int64)
    for start in range(0, rows, ROWS_A_PART):
        hashed = cursor.execute(
            f"SELECT row, {HASH.format('k')} AS hash FROM {texts_sql} k"
            f" WHERE text IS NOT NULL AND row BETWEEN {start:d} AND {start + ROWS_A_PART - 1:d}"
        ).fetchnumpy()
        hashes[hashed["row"]] = hashed["hash"]
    return hashes


def _part_different(cursor: Cursor, texts_sql: str, same: NDArray[np.int32]) -> None:
    """Separate rows whose texts differ despite equal hashes."""
    met = np.flatnonzero((same >= 0) & (same != np.arange(len(same)))).astype(np.int32)
    apart: dict[str, int] = {}
    for part in _compared_parts(met):
        with lend_table(cursor, "met", number_table(row=part, first=same[part])):
            differing = cursor.execute(
                f"SELECT m.row, a.text FROM met m JOIN {texts_sql} a USING (row)"
                f" JOIN {texts_sql} b ON b.row = m.first WHERE a.text <> b.text ORDER BY m.row"
            ).fetchall()
        for row, text in differing:
            same[row] = apart.setdefault(text, row)


def _known_text_keys(
    cursor: Cursor, texts_sql: str, rows: int, first: NDArray[np.int32], hashes: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the keys of the texts that the project has, by row.

    Args:
        first: the first row of each text.
        hashes: the hashes of the rows in `first`.
    """
    keys = np.zeros(rows, np.int32)
    if not cursor.execute("SELECT EXISTS (FROM passage_texts)").fetchall()[0][0]:
        return keys
    with lend_table(cursor, "hashed", number_table(row=first, hash=hashes)):
        met = cursor.execute(
            "SELECT h.row, t.text_key FROM passage_texts t JOIN hashed h"
            f" ON h.hash = {HASH.format('t')}"
        ).fetchnumpy()
    rows_met, keys_met = np.asarray(met["row"]), np.asarray(met["text_key"])
    for part in _compared_parts(np.arange(len(rows_met))):
        with lend_table(cursor, "met", number_table(row=rows_met[part], text_key=keys_met[part])):
            equal = cursor.execute(
                f"SELECT m.row, m.text_key FROM met m JOIN {texts_sql} k USING (row)"
                " JOIN passage_texts t USING (text_key) WHERE k.text = t.text"
            ).fetchnumpy()
        keys[equal["row"]] = equal["text_key"]
    return keys


def _compared_parts(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (values[start : start + COMPARED] for start in range(0, len(values), COMPARED))


ROWS_A_STATEMENT = 10_000
"""Passages per INSERT statement. Before each one DuckDB evicts earlier texts, which it would hold
until the transaction ends.
"""


@dataclass(frozen=True)
class WrittenPassages:
    """The result of writing passages.

    Args:
        new: number of passages that had no text before.
        keys: keys of the passages, by row.
        text_keys: keys of their texts, by row; 0 for a passage without a text.
    """

    new: int
    keys: NDArray[np.int32]
    text_keys: NDArray[np.int32]


def write_passages(
    cursor: Cursor, passages_sql: str, rows: int, unclean: bool, keeper: ReplacedDataKeeper | None
) -> WrittenPassages:
    """Write passages; see `project.passages.add_passages`.

    Args:
        passages_sql: SQL for a table with the columns of `project.kept_passages.passage_table`.
        rows: number of passages.
        unclean: whether any text is in `given`.
    """
    # All decisions use row numbers. Texts never go into temporary tables, whose data stays in
    # memory until the transaction ends.
    passages_sql = _with_clean_texts(cursor, passages_sql) if unclean else passages_sql
    same, text_keys = same_texts(cursor, passages_sql, rows)
    texted, numbers = same >= 0, np.arange(rows, dtype=np.int32)
    first = _first_rows(cursor, passages_sql, texted)
    differing = np.flatnonzero(texted & (same != same[first]))
    if len(differing):
        found = cursor.execute(
            f"SELECT passage_id FROM {passages_sql} WHERE row = ?", [int(differing[0])]
        ).fetchall()
        raise PassageWithTwoTexts(found[0][0])
    own = texted & (first == numbers)
    known_rows = cursor.execute(
        f"SELECT row, passage_key, coalesce(p.text_key, 0) AS text_key FROM {passages_sql}"
        " JOIN passages p USING (passage_id)"
    ).fetchnumpy()
    keys, before = np.zeros(rows, np.int32), np.zeros(rows, np.int32)
    keys[known_rows["row"]], before[known_rows["row"]] = (
        known_rows["passage_key"],
        known_rows["text_key"],
    )
    others = own & (before > 0) & (before != text_keys[same])
    if others.any():
        _replace_texts(cursor, keys[others], keeper)
    created_texts = np.flatnonzero((same == numbers) & (text_keys == 0)).astype(np.int32)
    text_keys[created_texts] = _new_keys(cursor, len(created_texts))
    _insert_passages(
        cursor,
        f"passage_texts SELECT c.text_key, text FROM {passages_sql}",
        created_texts,
        text_key=text_keys,
    )
    text_keys = np.where(texted, text_keys[same], np.int32(0))
    filled = own & (keys > 0) & (before == 0)
    given = filled | others
    if given.any():
        with lend_table(
            cursor, "given", number_table(passage_key=keys[given], text_key=text_keys[given])
        ):
            cursor.execute(
                "UPDATE passages SET text_key = g.text_key FROM given g"
                " WHERE g.passage_key = passages.passage_key"
            )
    if filled.any() and keeper is not None:
        with lend_table(cursor, "filled", number_table(passage_key=keys[filled])):
            cursor.execute("INSERT INTO given_texts FROM filled")
    created = np.flatnonzero(own & (keys == 0)).astype(np.int32)
    keys[created] = _new_keys(cursor, len(created))
    into = f"passages SELECT c.passage_key, passage_id, c.text_key FROM {passages_sql}"
    _insert_passages(cursor, into, created, passage_key=keys, text_key=text_keys)
    return WrittenPassages(int(filled.sum()) + len(created), keys[first], text_keys)


def _insert_passages(
    cursor: Cursor, into: str, rows: NDArray[np.int32], **columns: NDArray[np.int32]
) -> None:
    """Insert some of the passages, in order.

    Args:
        into: SQL for the table and the inserted columns, with `c` for those of `columns`.
        rows: rows of the passages to insert, ascending.
        columns: values by column, for all passages.
    """
    for start in range(0, len(rows), ROWS_A_STATEMENT):
        release_memory(cursor)
        part = rows[start : start + ROWS_A_STATEMENT]
        with lend_table(
            cursor,
            "created",
            number_table(row=part, **{name: column[part] for name, column in columns.items()}),
        ):
            cursor.execute(
                f"INSERT INTO {into} JOIN created c USING (row) WHERE row BETWEEN {part[0]:d}"
                f" AND {part[-1]:d}"
            )


def _with_clean_texts(cursor: Cursor, passages_sql: str) -> str:
    """Return SQL for the passages with clean texts. An unclean text that an earlier version stored
    stays unchanged, because it has grades.
    """
    old = (
        r"(SELECT DISTINCT text FROM passage_texts"
        r" WHERE regexp_matches(text, '[\x00-\x08\x0b-\x1f\x7f]'))"
    )
    if not cursor.execute(
        f"SELECT EXISTS (FROM {passages_sql} k JOIN {old} o ON o.text = k.given)"
    ).fetchall()[0][0]:
        return passages_sql
    return (
        "(SELECT row, passage_id, coalesce(o.text, k.text) AS text"
        f" FROM {passages_sql} k LEFT JOIN {old} o ON o.text = k.given)"
    )


def _first_rows(cursor: Cursor, passages_sql: str, texted: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return, by row, the first row with a text for the same passage; a row without a text maps to
    itself.
    """
    first, parts = np.arange(len(texted), dtype=np.int32), len(texted) // ROWS_A_PART + 1
    for part in range(parts):
        repeats = cursor.execute(
            f"SELECT row, least FROM {passages_sql} JOIN (SELECT passage_id, min(row) AS least FROM"
            f" {passages_sql}"
            f" WHERE hash(passage_id) % {parts} = {part} GROUP BY passage_id"
            " HAVING count(*) > 1) USING (passage_id) ORDER BY row"
        ).fetchnumpy()
        has = texted[repeats["row"]]
        rows = repeats["row"][has]
        _, place, of = np.unique(repeats["least"][has], return_index=True, return_inverse=True)
        first[rows] = rows[place][of]
    return first


def _replace_texts(
    cursor: Cursor, keys: NDArray[np.int32], keeper: ReplacedDataKeeper | None
) -> None:
    """Keep the texts of passages before their replacement.

    Raises:
        InputError: this import itself set one of the texts, `keeper` is None, or other data depends
            on a text.
    """
    with lend_table(cursor, "replaced", number_table(passage_key=keys)):
        others = cursor.execute(
            "SELECT p.* FROM replaced JOIN passages p USING (passage_key)"
        ).to_arrow_table()
    named = zip(others["passage_key"].to_pylist(), others["passage_id"].to_pylist(), strict=True)
    # A text that this import itself set does not count as replaceable.
    own = (
        set()
        if keeper is None
        else {key for (key,) in cursor.execute(keeper.among_replaced()).fetchall()}
    )
    for key, passage_id in named:
        if keeper is None or key > keeper.first_key or key in own:
            raise PassageWithTwoTexts(passage_id)
    if keeper is not None:
        with lend_table(cursor, "other_texts", others):
            keeper.keep_passages("other_texts")


def _new_keys(cursor: Cursor, count: int) -> NDArray[np.int32]:
    """Return new keys in ascending order."""
    found = cursor.execute(
        "SELECT nextval('keys')::INTEGER AS key FROM range(?)", [count]
    ).fetchnumpy()
    return np.sort(np.asarray(found["key"], np.int32))
