"""A rehearsal: a passing copy of what an import looks at, on which it is tried while everybody goes on working."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from core.project import CONFIG, Cursor, Project, migrations

_WITH_TEXTS = frozenset({"passages", "graded", "responses"})
_RANKED = frozenset({"runs", "graded", "responses"})
_GRADED = frozenset({"passages", "graded"})

_ONLY_FOR: dict[str, frozenset[str]] = {
    "passages": frozenset({"passages", "graded", "responses", "runs", "qrels"}),
    "passage_texts": _WITH_TEXTS,
    "rankings": _RANKED,
    "judgments": frozenset({"qrels", "graded", "passages"}),
    "responses": _RANKED,
    "response_sentences": _WITH_TEXTS,
    "listed": frozenset({"graded"}),
    "grades": _GRADED,
    "failures": frozenset({"graded"}),
    "overrides": _GRADED,
    "settlings": _GRADED,
}
"""Tables that may be large, and the kinds of import that read them."""

_NEVER = frozenset(
    {
        "activity", "draft_steps", "drafts", "generations", "migrations", "pool", "prompts", "proposals",
        "publications", "published_awaited", "published_passages", "published_pools", "published_queries",
        "text_vectors",
    }
)  # fmt: skip
"""Tables that no import reads to know what it does, or that it makes anew."""

_NARROW = {
    "grades": "* REPLACE (NULL AS answer, NULL AS raw, NULL AS note, NULL AS distribution, NULL AS confidence)",
    "failures": "* REPLACE (NULL AS raw)",
}
"""What models wrote is long, and no import reads it."""


@contextmanager
def rehearsal(project: Project, kinds: Collection[str], folder: Path) -> Iterator[Cursor]:
    """A cursor on a copy of the project, in which imports of some kinds can be tried.

    The copy has what these imports look at, all of one moment. Nobody waits for it, and nothing of it reaches the
    project: it is another database.

    Args:
        kinds: of imports.
        folder: for the copy, which goes with the folder.
    """
    with duckdb.connect(str(folder / "rehearsal.duckdb"), config=CONFIG) as copy:
        with project.cursor() as cursor:
            cursor.execute("BEGIN")
            _copy(cursor, copy, kinds)
            cursor.execute("ROLLBACK")
        copy.execute("BEGIN")
        yield copy
        copy.execute("ROLLBACK")


def _copy(cursor: Cursor, copy: Cursor, kinds: Collection[str]) -> None:
    for name, last in cursor.execute("SELECT sequence_name, last_value FROM duckdb_sequences()").fetchall():
        copy.execute(f"CREATE SEQUENCE {name} START {(last or 0) + 1:d}")
    for name, sql in cursor.execute(
        "SELECT table_name, sql FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY table_oid"
    ).fetchall():
        copy.execute(sql)
        wanted = _ONLY_FOR.get(name)
        if name in _NEVER or name.startswith("replac") or (wanted is not None and wanted.isdisjoint(kinds)):
            continue
        rows = cursor.sql(f"SELECT {_NARROW.get(name, '*')} FROM {name} ORDER BY rowid").to_arrow_reader()
        copy.register("copied", rows)
        copy.execute(f"INSERT INTO {name} FROM copied")
        copy.unregister("copied")
    migrations.add_relations(copy)
