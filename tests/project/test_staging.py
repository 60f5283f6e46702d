"""Tables that SQL reads without a copy."""

from __future__ import annotations

import weakref

import duckdb
import pyarrow as pa

from core.project import lent


def test_what_is_lent_is_let_go_of_before_the_transaction_ends() -> None:
    """An import lends batch after batch in one transaction; its memory would grow with the file."""
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})
    held = weakref.ref(table)
    with duckdb.connect() as cursor:
        cursor.execute("BEGIN")
        with lent(cursor, "rows", table):
            twice = "SELECT sum(l.a), min(r.b) FROM rows l JOIN rows r USING (a) WHERE l.a > 1"
            assert cursor.execute(twice).fetchall() == [(5, "z")]
        del table
        assert held() is None
        cursor.execute("COMMIT")
