"""The pool: the passages to grade for every query."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ..errors import InputError
from ..store import Cursor, Project, lent, let_go, log, numbered, put_setting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_POOL_DEPTH = 20
"""Passages of each run that are pooled per query (exam-plus-plus, section 5.1)."""


ROWS_A_PART = 200_000
"""Approximate number of rows of lists, judgments and rankings to pool at once, which limits the memory
for sorting. A single query may have more.
"""


def list_keys(cursor: Cursor, queries: NDArray[np.int32], passages: NDArray[np.int32]) -> None:
    """Add pairs of keys, in columns of equal length, to the pool in the given order."""
    import numpy as np

    for start in range(0, len(queries), ROWS_A_PART):
        if start:
            let_go(cursor)
        of, listed = (keys[start : start + ROWS_A_PART] for keys in (queries, passages))
        with lent(cursor, "new_listed", numbered(row=np.arange(len(of)), query_key=of, passage_key=listed)):
            cursor.execute(
                "INSERT INTO listed SELECT query_key, passage_key, start + row_number() OVER (ORDER BY first) FROM ("
                " SELECT query_key, passage_key, min(n.row) AS first"
                " FROM new_listed n ANTI JOIN (FROM listed WHERE query_key BETWEEN $least AND $greatest)"
                "  USING (query_key, passage_key) GROUP BY ALL),"
                " (SELECT coalesce(max(position), 0)::INTEGER AS start FROM listed)",
                {"least": int(of.min()), "greatest": int(of.max())},
            )


def pool_depth(cursor: Cursor) -> int:
    """Return how many passages of each run are pooled per query."""
    rows = cursor.execute("SELECT value FROM settings WHERE name = 'pool_depth'").fetchall()
    return int(rows[0][0]) if rows else DEFAULT_POOL_DEPTH


def set_pool_depth(cursor: Cursor, depth: int, author: str) -> None:
    """Set how many passages of each run are pooled, and refresh the pool.

    Raises:
        InputError: a depth below 1.
    """
    if depth < 1:
        raise InputError("depth-out-of-range", f"Invalid pool depth {depth}.", "Use 1 or more.")
    put_setting(cursor, "pool_depth", str(depth))
    refresh_pool(cursor)
    log(cursor, author, "set pool depth", depth=depth)


def pool_rows(cursor: Cursor) -> str:
    """Return SQL for the pool's content: query_key, passage_key, and place, the first position in a list or NULL."""
    return (
        "SELECT query_key, passage_key, min(position) AS place FROM ("
        " SELECT query_key, passage_key, position FROM listed"
        " UNION ALL SELECT query_key, passage_key, NULL FROM judgments"
        f" UNION ALL SELECT query_key, passage_key, NULL FROM rankings WHERE rank <= {pool_depth(cursor):d}"
        " UNION ALL SELECT query_key, passage_key, NULL FROM gold_passages"
        ") GROUP BY ALL"
    )


def refresh_pool(cursor: Cursor) -> None:
    """Rebuild the pool: per query the listed and the judged passages, the gold texts, and the top of every run.

    Call it at the end of every transaction that changed one of these.
    """
    cursor.execute("DELETE FROM pool")
    for number, (first, last) in enumerate(_parts(cursor)):
        if number:
            let_go(cursor)
        pooled = cursor.execute(
            f"FROM ({pool_rows(cursor)}) WHERE query_key BETWEEN ? AND ?", [first, last]
        ).to_arrow_table()
        with lent(cursor, "pooled", pooled):
            # In a transaction that adds a million passages DuckDB estimates none and would load all
            # of them for the join. The range of keys avoids that.
            ends = cursor.execute("SELECT min(passage_key), max(passage_key) FROM pooled").fetchall()[0]
            cursor.execute(
                "INSERT INTO pool SELECT query_key, passage_key, text_key,"
                " row_number() OVER (PARTITION BY query_key ORDER BY place, passage_key)"
                " FROM pooled JOIN passages USING (passage_key) WHERE passage_key BETWEEN ? AND ?"
                " ORDER BY query_key, place, passage_key",
                ends,
            )


def _parts(cursor: Cursor) -> list[tuple[int, int]]:
    """Return ranges of query keys with about `ROWS_A_PART` rows each."""
    named = ("listed", "judgments", "rankings", "gold_passages")
    counts = " + ".join(f"(SELECT count(*) FROM {table})" for table in named)
    first, last, rows = cursor.execute(
        f"SELECT coalesce(min(query_key), 0), coalesce(max(query_key), 0), {counts} FROM queries"
    ).fetchall()[0]
    if rows <= ROWS_A_PART:
        return [(first, last)]
    every = " UNION ALL ".join(f"SELECT query_key FROM {table}" for table in named)
    ends = cursor.execute(
        "SELECT max(query_key) FROM (SELECT query_key,"
        f" sum(count(*)) OVER (ORDER BY query_key) // {ROWS_A_PART} AS part FROM ({every}) GROUP BY query_key)"
        " GROUP BY part ORDER BY part"
    ).fetchall()
    return [(first, ends[0][0]), *((before + 1, end) for (before,), (end,) in pairwise(ends))]


def pooled_queries(project: Project) -> dict[str, str]:
    """Return the texts of the queries that have passages in the pool, by id."""
    return dict(project.rows("SELECT query_id, text FROM queries SEMI JOIN pool USING (query_key) ORDER BY query_key"))
