"""Large statements in parts: what one takes of memory grows with the rows that it joins and sorts."""

from __future__ import annotations

from itertools import pairwise

from core.project.project import Cursor


def query_ranges(cursor: Cursor, rows: str, size: int) -> list[tuple[int, int]]:
    """Ranges of query keys, in order, that together hold all rows of a table; none where it has none.

    Args:
        rows: SQL for the table, with `query_key`.
        size: how many rows a range has, or as many as one query more has.
    """
    ends = cursor.execute(
        f"SELECT min(query_key), max(query_key) FROM (SELECT query_key,"
        f" sum(count(*)) OVER (ORDER BY query_key) // {size:d} AS part FROM ({rows}) GROUP BY query_key)"
        " GROUP BY part ORDER BY part"
    ).fetchall()
    return [(ends[0][0], ends[0][1]), *((before + 1, end) for (_, before), (_, end) in pairwise(ends))] if ends else []
