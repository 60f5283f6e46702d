"""The ordered steps that bring a project file to the current schema, and the check that a file has
exactly that schema.

A view, a macro, a default or a check in a file from another person is code that a query would run.
So the schema is checked before anything in the file is read or run.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import duckdb

from ..atomic_files import write_file
from ..errors import ProjectError
from ._engine import CONFIG, NAME_ANOTHER

SQL = Path(__file__).parent / "sql"


def run_script(name: str, connection: duckdb.DuckDBPyConnection) -> None:
    """Run an SQL script of this package."""
    connection.execute((SQL / f"{name}.sql").read_text(encoding="utf-8"))


add_relations = functools.partial(run_script, "0014_relations")
"""Create the macros that statements use in a database with a project's tables."""

MIGRATIONS: tuple[tuple[str, Callable[[duckdb.DuckDBPyConnection], None]], ...] = tuple(
    (name, functools.partial(run_script, name))
    for name in (
        "0001_initial",
        "0002_draft_steps",
        "0003_overrides",
        "0004_reading",
        "0005_proposals",
        "0006_publications",
        "0007_settling",
        "0008_responses",
        "0009_settled_cases",
        "0010_stated_ranks",
        "0011_text_vectors",
        "0012_words_of_overrides",
        "0013_replacements",
        "0014_relations",
        "0015_items",
        "0016_students",
        "0017_audits",
        "0018_answers",
        "0019_freezes",
        "0020_cascades",
        "0021_batches",
        "0022_members",
        "0023_teamwork",
        "0024_tokens",
        "0025_doubles",
        "0026_keyless",
        "0027_board_queries",
        "0028_verdicts_of_queries",
        "0029_one_table_of_jobs",
        "0030_support_values",
        "0031_kept_objects",
        "0032_citations",
        "0033_trust",
    )
)
"""Name and step of every migration, oldest first. A released step is never edited."""


def migration_names() -> tuple[str, ...]:
    """Return the names of all migrations, oldest first."""
    return tuple(name for name, _ in MIGRATIONS)


def applied_migrations(connection: duckdb.DuckDBPyConnection) -> list[str]:
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


def apply_migrations(
    connection: duckdb.DuckDBPyConnection, only: Collection[str] | None = None
) -> list[str]:
    """Apply every missing migration; each is recorded in its own transaction.

    Args:
        only: names of the migrations to apply; None for all.

    Returns:
        The names of the migrations applied by this call.
    """
    steps_done, steps_wanted = (
        applied_migrations(connection),
        migration_names() if only is None else only,
    )
    missing = [
        (at, name, step)
        for at, (name, step) in enumerate(MIGRATIONS)
        if name in steps_wanted and name not in steps_done
    ]
    for position, name, step in missing:
        connection.execute("BEGIN")
        try:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migrations (position INTEGER PRIMARY KEY, name VARCHAR"
                " NOT NULL, applied_at TIMESTAMP NOT NULL)"
            )
            step(connection)
            connection.execute(
                f"INSERT INTO migrations VALUES ({position}, '{name}', now()::TIMESTAMP)"
            )
            connection.execute("COMMIT")
        except BaseException:
            # DuckDB has already rolled back a failed commit, as on a full disk.
            with suppress(duckdb.TransactionException):
                connection.execute("ROLLBACK")
            raise
    return [name for _, name, _ in missing]


Object = tuple[str, str, str, str, str]
"""Kind, schema, name, definition and parameters of an object in a file's catalog."""

DIGESTS = Path(__file__).parent / "sql" / "digests.txt"
"""A digest of the schema after each migration; `python -m exam_workbench.store.migrations` writes
it.
"""

MOST_OBJECTS = 1_000
"""Maximum number of objects to read from a file; a project has about a hundred."""

# Full catalog names and no function calls: a macro in the file could have the name of any function.
# A file can set the flag `internal` of its objects. It is trusted only for types, because a type
# runs no code.
_OBJECTS = """
SELECT 'schema', '', schema_name, NULL, NULL FROM system.main.duckdb_schemas()
WHERE database_name NOT IN ('system', 'temp')
UNION ALL SELECT 'table', schema_name, table_name, sql, NULL FROM system.main.duckdb_tables()
WHERE database_name NOT IN ('system', 'temp')
UNION ALL SELECT 'view', schema_name, view_name, sql, NULL FROM system.main.duckdb_views()
WHERE database_name NOT IN ('system', 'temp')
UNION ALL SELECT 'index', schema_name, index_name, sql, NULL FROM system.main.duckdb_indexes()
WHERE database_name NOT IN ('system', 'temp')
UNION ALL SELECT 'sequence', schema_name, sequence_name, NULL, NULL
FROM system.main.duckdb_sequences() WHERE database_name NOT IN ('system', 'temp')
UNION ALL SELECT 'type', schema_name, type_name, NULL, NULL FROM system.main.duckdb_types()
WHERE database_name NOT IN ('system', 'temp') AND NOT internal
UNION ALL SELECT 'macro', schema_name, function_name, macro_definition, parameters::VARCHAR
FROM system.main.duckdb_functions() WHERE database_name NOT IN ('system', 'temp')
"""

_EXCLUDED = re.compile(r"EXCLUDE \(([^()]*)\)")


def read_objects(connection: duckdb.DuckDBPyConnection) -> frozenset[Object]:
    """Return every object that a file defines, with definitions that are stable when the file is
    opened again.

    Raises:
        duckdb.Error: the catalog of the file is damaged.
    """
    rows = connection.execute(_OBJECTS).fetchmany(MOST_OBJECTS)
    return frozenset(
        [
            (kind, schema, name, _EXCLUDED.sub(_sorted_names, text or ""), parameters or "")
            for kind, schema, name, text, parameters in rows
        ]
    )


def _sorted_names(excluded: re.Match[str]) -> str:
    # DuckDB keeps these names as a set and writes them in a varying order.
    return f"EXCLUDE ({', '.join(sorted(excluded[1].split(', ')))})"


def digest_of(objects: frozenset[Object]) -> str:
    """Return a digest that is the same for equal schemas."""
    return hashlib.sha256(repr(sorted(objects)).encode(errors="replace")).hexdigest()


def check_schema(path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse a file that defines anything but the schema of a project, of this or an earlier
    version.

    Args:
        path: the file, for messages.
        connection: to it, before any other query.

    Raises:
        ProjectError: the file is not a project, was written by a newer version, or defines other
            objects.
        duckdb.Error: the catalog of the file is damaged.
    """
    objects = read_objects(connection)
    if digest_of(objects) in _known_digests():
        return
    # This is slow but rare: the file is foreign, or this DuckDB version formats definitions
    # differently.
    tables = {name for kind, schema, name, *_ in objects if (kind, schema) == ("table", "main")}
    if "migrations" not in tables:
        raise ProjectError(
            "not-a-project",
            f"{path} is a database, but not an Exam Workbench project.",
            NAME_ANOTHER,
        )
    migration_objects = frozenset(one for one in objects if one[2] == "migrations")
    if migration_objects <= expected_objects(migration_names()):
        steps = applied_migrations(connection)
        refuse_newer(path, steps)
        if not (differences := objects ^ expected_objects(tuple(steps))):
            return
    else:
        differences = migration_objects
    kind, _, name, *_ = min(differences)
    raise ProjectError(
        "project-changed-elsewhere",
        f"{path} was changed by another program (see {kind} '{name}'). Nothing from"
        " it was loaded or run.",
        "Restore a backup with exam restore, or ask the sender for an export"
        " (exam export project).",
    )


def refuse_newer(path: Path, steps: list[str]) -> None:
    """Refuse a project of a newer version.

    Args:
        steps: names of the migrations that were applied to it.

    Raises:
        ProjectError: a migration is unknown.
    """
    if newer := sorted(set(steps).difference(migration_names())):
        raise ProjectError(
            "newer-version",
            f"{path} was written by a newer version of Exam Workbench (schema step {newer[-1]}).",
            "Upgrade Exam Workbench to open it.",
        )


@functools.cache
def _known_digests() -> frozenset[str]:
    return frozenset(line.split()[1] for line in DIGESTS.read_text(encoding="utf-8").splitlines())


@functools.lru_cache(maxsize=2)
def expected_objects(steps: tuple[str, ...]) -> frozenset[Object]:
    """Return every object that some migrations define, by applying them to an empty database."""
    with duckdb.connect(config=CONFIG) as fresh:
        apply_migrations(fresh, steps)
        return read_objects(fresh)


def make_digests() -> str:
    """Return the content of the file of digests: the name of each migration and the digest after
    it, one per line.
    """
    with duckdb.connect(config=CONFIG) as fresh:
        lines = []
        for name in migration_names():
            apply_migrations(fresh, [name])
            lines.append(f"{name} {digest_of(read_objects(fresh))}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_file(DIGESTS, make_digests().encode())
