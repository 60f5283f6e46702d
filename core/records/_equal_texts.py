"""Detection of equal texts among many new passages and the texts of the project. Hashes are compared,
so that the texts need not be in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..store import Cursor, lent, numbered

if TYPE_CHECKING:
    from numpy.typing import NDArray

HASH = "(hash({}.text) >> 1)::BIGINT"
"""SQL for a 63-bit hash. Texts with different hashes differ; texts with equal hashes are compared."""
ROWS_A_PART = 200_000
"""Passages whose hashes are computed or sorted at once."""
COMPARED = 50_000
"""Pairs of texts to compare at once."""


def same_texts(cursor: Cursor, kept: str, rows: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Find passages with the same text.

    Args:
        kept: SQL for a table with the columns `row`, from 0 to `rows` - 1, and `text`.
        rows: number of its rows.

    Returns:
        Two arrays by row. The first has the first row with the same text, or -1 without a text. The second has the
        key of the text in the project; 0 for texts that the project does not have, and for repeats of an earlier row.
    """
    hashes = _hashes(cursor, kept, rows)
    same, parts = np.full(rows, -1, np.int32), rows // ROWS_A_PART + 1
    for part in range(parts):
        # Sorting takes several times the memory of its input, so it is done in parts; equal hashes
        # are in the same part.
        texted = np.flatnonzero((hashes >= 0) & (hashes % parts == part)).astype(np.int32)
        _, first, place = np.unique(hashes[texted], return_index=True, return_inverse=True)
        same[texted] = texted[first][place]
    _part_different(cursor, kept, same)
    own = np.flatnonzero(same == np.arange(rows)).astype(np.int32)
    return same, _known(cursor, kept, rows, own, hashes[own])


def _hashes(cursor: Cursor, kept: str, rows: int) -> NDArray[np.int64]:
    """Return the hash of each row's text; -1 without a text."""
    hashes = np.full(rows, -1, np.int64)
    for start in range(0, rows, ROWS_A_PART):
        found = cursor.execute(
            f"SELECT row, {HASH.format('k')} AS hash FROM {kept} k"
            f" WHERE text IS NOT NULL AND row BETWEEN {start:d} AND {start + ROWS_A_PART - 1:d}"
        ).fetchnumpy()
        hashes[found["row"]] = found["hash"]
    return hashes


def _part_different(cursor: Cursor, kept: str, same: NDArray[np.int32]) -> None:
    """Separate rows whose texts differ despite equal hashes."""
    met = np.flatnonzero((same >= 0) & (same != np.arange(len(same)))).astype(np.int32)
    apart: dict[str, int] = {}
    for part in _parts(met):
        with lent(cursor, "met", numbered(row=part, first=same[part])):
            differing = cursor.execute(
                f"SELECT m.row, a.text FROM met m JOIN {kept} a USING (row) JOIN {kept} b ON b.row = m.first"
                " WHERE a.text <> b.text ORDER BY m.row"
            ).fetchall()
        for row, text in differing:
            same[row] = apart.setdefault(text, row)


def _known(
    cursor: Cursor, kept: str, rows: int, first: NDArray[np.int32], hashes: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the keys of the texts that the project has, by row.

    Args:
        first: the first row of each text.
        hashes: the hashes of the rows in `first`.
    """
    keys = np.zeros(rows, np.int32)
    if not cursor.execute("SELECT EXISTS (FROM passage_texts)").fetchall()[0][0]:
        return keys
    with lent(cursor, "hashed", numbered(row=first, hash=hashes)):
        met = cursor.execute(
            f"SELECT h.row, t.text_key FROM passage_texts t JOIN hashed h ON h.hash = {HASH.format('t')}"
        ).fetchnumpy()
    rows_met, keys_met = np.asarray(met["row"]), np.asarray(met["text_key"])
    for part in _parts(np.arange(len(rows_met))):
        with lent(cursor, "met", numbered(row=rows_met[part], text_key=keys_met[part])):
            equal = cursor.execute(
                f"SELECT m.row, m.text_key FROM met m JOIN {kept} k USING (row) JOIN passage_texts t USING (text_key)"
                " WHERE k.text = t.text"
            ).fetchnumpy()
        keys[equal["row"]] = equal["text_key"]
    return keys


def _parts(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (values[start : start + COMPARED] for start in range(0, len(values), COMPARED))
