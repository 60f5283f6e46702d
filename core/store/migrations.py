"""The ordered steps that bring a project file to the current schema."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import duckdb

SQL = Path(__file__).parent / "sql"


def _script(name: str) -> Callable[[duckdb.DuckDBPyConnection], None]:
    def run(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute((SQL / f"{name}.sql").read_text(encoding="utf-8"))

    return run


add_relations = _script("0014_relations")
"""Create the macros that statements use in a database with a project's tables."""

MIGRATIONS: tuple[tuple[str, Callable[[duckdb.DuckDBPyConnection], None]], ...] = (
    ("0001_initial", _script("0001_initial")),
    ("0002_draft_steps", _script("0002_draft_steps")),
    ("0003_overrides", _script("0003_overrides")),
    ("0004_reading", _script("0004_reading")),
    ("0005_proposals", _script("0005_proposals")),
    ("0006_publications", _script("0006_publications")),
    ("0007_settling", _script("0007_settling")),
    ("0008_responses", _script("0008_responses")),
    ("0009_settled_cases", _script("0009_settled_cases")),
    ("0010_stated_ranks", _script("0010_stated_ranks")),
    ("0011_text_vectors", _script("0011_text_vectors")),
    ("0012_words_of_overrides", _script("0012_words_of_overrides")),
    ("0013_replacements", _script("0013_replacements")),
    ("0014_relations", add_relations),
    ("0015_items", _script("0015_items")),
    ("0016_students", _script("0016_students")),
    ("0017_audits", _script("0017_audits")),
    ("0018_answers", _script("0018_answers")),
    ("0019_freezes", _script("0019_freezes")),
    ("0020_cascades", _script("0020_cascades")),
    ("0021_batches", _script("0021_batches")),
    ("0022_members", _script("0022_members")),
    ("0023_teamwork", _script("0023_teamwork")),
    ("0024_tokens", _script("0024_tokens")),
    ("0025_doubles", _script("0025_doubles")),
    ("0026_keyless", _script("0026_keyless")),
    ("0027_board_queries", _script("0027_board_queries")),
    ("0028_verdicts_of_queries", _script("0028_verdicts_of_queries")),
    ("0029_one_table_of_jobs", _script("0029_one_table_of_jobs")),
    ("0030_support_values", _script("0030_support_values")),
    ("0031_kept_objects", _script("0031_kept_objects")),
    ("0032_citations", _script("0032_citations")),
    ("0033_trust", _script("0033_trust")),
)
"""Name and step of every migration, oldest first. A released step is never edited."""


def names() -> tuple[str, ...]:
    """Return the names of all migrations, oldest first."""
    return tuple(name for name, _ in MIGRATIONS)


def applied(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the names of the migrations that were applied to a database, oldest first.

    Returns:
        An empty list for a database without the table, which is not a project.
    """
    try:
        rows = connection.execute("SELECT name FROM migrations ORDER BY position").fetchall()
    except duckdb.CatalogException:
        # A query of the catalog would take much longer than the rest of the opening.
        return []
    return [name for (name,) in rows]


def upgrade(connection: duckdb.DuckDBPyConnection, only: Collection[str] | None = None) -> list[str]:
    """Apply every missing migration; each is recorded in its own transaction.

    Args:
        only: names of the migrations to apply; None for all.

    Returns:
        The names of the migrations applied by this call.
    """
    done = set(applied(connection))
    missing = [(at, name, step) for at, (name, step) in enumerate(MIGRATIONS) if name not in done]
    if only is not None:
        missing = [one for one in missing if one[1] in only]
    for position, name, step in missing:
        connection.execute("BEGIN")
        try:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migrations"
                " (position INTEGER PRIMARY KEY, name VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL)"
            )
            step(connection)
            connection.execute(f"INSERT INTO migrations VALUES ({position}, '{name}', now()::TIMESTAMP)")
            connection.execute("COMMIT")
        except BaseException:
            # DuckDB has already rolled back a failed commit, as on a full disk.
            with suppress(duckdb.TransactionException):
                connection.execute("ROLLBACK")
            raise
    return [name for _, name, _ in missing]
