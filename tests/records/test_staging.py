"""Tables that SQL reads without a copy, and memory that the engine gives up in the midst of a transaction."""

from __future__ import annotations

import weakref

import duckdb
import pyarrow as pa
import pytest

from exam_workbench.store import Project, _engine as engine, lend_table, release_memory


def test_what_is_lent_is_let_go_of_before_the_transaction_ends() -> None:
    """An import lends batch after batch in one transaction; its memory would grow with the file."""
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})
    held = weakref.ref(table)
    with duckdb.connect() as cursor:
        cursor.execute("BEGIN")
        with lend_table(cursor, "rows", table):
            twice = "SELECT sum(l.a), min(r.b) FROM rows l JOIN rows r USING (a) WHERE l.a > 1"
            assert cursor.execute(twice).fetchall() == [(5, "z")]
        del table
        assert held() is None
        cursor.execute("COMMIT")


def test_memory_is_let_go_of_and_the_transaction_and_its_limit_stay(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "HELD", 1 << 20)
    used = "SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag IN ('BASE_TABLE', 'IN_MEMORY_TABLE')"
    limit = "SELECT current_setting('memory_limit')"
    with project.transaction() as cursor:
        before = cursor.execute(limit).fetchall()
        cursor.execute("INSERT INTO passage_texts SELECT i, repeat('text ', 20) || i FROM range(20_000) t(i)")
        held = cursor.execute(used).fetchall()[0][0]
        release_memory(cursor)
        assert cursor.execute(used).fetchall()[0][0] < held / 2
        assert cursor.execute(limit).fetchall() == before
        # The lowest limit was refused, and not there even for a moment: what is written to last is in use, key or not.
        with cursor.cursor() as other, pytest.raises(duckdb.OutOfMemoryException):
            other.execute("SET memory_limit = '1B'")
        cursor.execute("RESET memory_limit")
        # Others may have as much memory as before, and so may the transaction.
        assert len(project.rows("SELECT DISTINCT i, hash(i)::VARCHAR FROM range(20_000) t(i)")) == 20_000
        cursor.execute("INSERT INTO passages SELECT text_key, text_key::VARCHAR, text_key FROM passage_texts")
    assert project.value("SELECT count(*) FROM passages JOIN passage_texts USING (text_key)") == 20_000
