"""Rehearsals: a preview of an import runs on a temporary copy of the tables that it reads, without blocking anyone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..project import Cursor, Project, connected, migrations

LARGE = frozenset(
    {
        "passages", "passage_texts", "rankings", "judgments", "responses", "response_sentences", "listed", "grades",
        "failures", "overrides", "settlings", "answers", "retrieved", "generated_answers", "comparisons", "audit_ranks",
        "audit_chances",
    }
)  # fmt: skip
"""Tables that may be large: an import states which of them it reads."""

_NEVER = frozenset(
    {
        "activity", "audit_claims", "audit_looks", "call_batch_pairs", "call_batches", "cascade_passages", "cascades",
        "draft_steps", "drafts", "generations", "kept_replies", "migrations", "pool", "prompts", "proposals",
        "proposed_items", "publications", "published_awaited", "published_passages", "published_pools",
        "published_queries", "text_vectors",
    }
)  # fmt: skip
"""Tables that no import has to read for its outcome, or that it makes again."""

_NARROW = {
    "grades": "* REPLACE (NULL AS answer, NULL AS raw, NULL AS note, NULL AS distribution, NULL AS confidence)",
    "failures": "* REPLACE (NULL AS raw)",
    "answers": "* REPLACE (NULL AS scores, NULL AS raw, NULL AS note)",
    "items": "* REPLACE (NULL AS raw)",
}
"""Long texts by models, which no import reads, are left out."""


@contextmanager
def rehearsal(project: Project, tables: Collection[str], folder: Path) -> Iterator[Cursor]:
    """Provide a cursor on a copy of the project, in which imports can be tried.

    The copy has the tables that these imports read, all of one moment. It is a separate database: it blocks no other
    work, and nothing in it reaches the project.

    Args:
        tables: those of `LARGE` that the imports read; all small tables are copied.
        folder: for the copy, which is deleted with the folder.
    """
    with connected(folder / "rehearsal.duckdb", readable=folder, made_here=True) as copy:
        # The copy is deleted, so a checkpoint at the end would be wasted.
        copy.execute("PRAGMA disable_checkpoint_on_shutdown")
        with project.cursor() as cursor:
            cursor.execute("BEGIN")
            _copy(cursor, copy, tables)
            cursor.execute("ROLLBACK")
        copy.execute("BEGIN")
        yield copy
        copy.execute("ROLLBACK")


def _copy(cursor: Cursor, copy: Cursor, tables: Collection[str]) -> None:
    for name, last in cursor.execute("SELECT sequence_name, last_value FROM duckdb_sequences()").fetchall():
        copy.execute(f"CREATE SEQUENCE {name} START {(last or 0) + 1:d}")
    made = cursor.execute(
        "SELECT table_name, sql FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY table_oid"
    ).fetchall()
    copy.execute(";".join(sql for _, sql in made))
    read = [
        name
        for name, _ in made
        if not (name in _NEVER or name.startswith("replac") or (name in LARGE and name not in tables))
    ]
    # Most tables of a small project are empty, and copying nothing takes as long as copying a few rows.
    filled = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (FROM {name})" for name in read)
    for (name,) in cursor.execute(filled).fetchall():
        rows = cursor.sql(f"SELECT {_NARROW.get(name, '*')} FROM {name} ORDER BY rowid").to_arrow_reader()
        copy.register("copied", rows)
        copy.execute(f"INSERT INTO {name} FROM copied")
        copy.unregister("copied")
    migrations.add_relations(copy)
