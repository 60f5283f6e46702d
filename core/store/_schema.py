"""Check that a file has exactly the schema of a project, before anything in the file is read or run.

A view, a macro, a default or a check in a file from another person is code that a query would run.
"""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path

import duckdb

from ..atomic_files import write_file
from ..errors import ProjectError
from . import migrations
from ._engine import CONFIG, NAME_ANOTHER

Object = tuple[str, str, str, str, str]
"""Kind, schema, name, definition and parameters of an object in a file's catalog."""

DIGESTS = Path(__file__).parent / "sql" / "digests.txt"
"""A digest of the schema after each migration; `python -m exam_workbench.store._schema` writes it."""

MOST_OBJECTS = 1_000
"""Maximum number of objects to read from a file; a project has about a hundred."""

# Full catalog names and no function calls: a macro in the file could have the name of any function. A file can set the
# flag `internal` of its objects. It is trusted only for types, because a type runs no code.
_OBJECTS = """
SELECT 'schema', '', schema_name, NULL, NULL FROM system.main.duckdb_schemas()
WHERE database_name NOT IN ('system', 'temp')
UNION ALL SELECT 'table', schema_name, table_name, sql, NULL FROM system.main.duckdb_tables()
WHERE database_name NOT IN ('system', 'temp')
UNION ALL SELECT 'view', schema_name, view_name, sql, NULL FROM system.main.duckdb_views()
WHERE database_name NOT IN ('system', 'temp')
UNION ALL SELECT 'index', schema_name, index_name, sql, NULL FROM system.main.duckdb_indexes()
WHERE database_name NOT IN ('system', 'temp')
UNION ALL SELECT 'sequence', schema_name, sequence_name, NULL, NULL FROM system.main.duckdb_sequences()
WHERE database_name NOT IN ('system', 'temp')
UNION ALL SELECT 'type', schema_name, type_name, NULL, NULL FROM system.main.duckdb_types()
WHERE database_name NOT IN ('system', 'temp') AND NOT internal
UNION ALL SELECT 'macro', schema_name, function_name, macro_definition, parameters::VARCHAR
FROM system.main.duckdb_functions() WHERE database_name NOT IN ('system', 'temp')
"""

_EXCLUDED = re.compile(r"EXCLUDE \(([^()]*)\)")


def read_objects(connection: duckdb.DuckDBPyConnection) -> frozenset[Object]:
    """Return every object that a file defines, with definitions that are stable when the file is opened again.

    Raises:
        duckdb.Error: the catalog of the file is damaged.
    """
    rows = connection.execute(_OBJECTS).fetchmany(MOST_OBJECTS)
    return frozenset(
        (kind, schema, name, _EXCLUDED.sub(_sorted_names, text or ""), parameters or "")
        for kind, schema, name, text, parameters in rows
    )


def _sorted_names(excluded: re.Match[str]) -> str:
    # DuckDB keeps these names as a set and writes them in a varying order.
    return f"EXCLUDE ({', '.join(sorted(excluded[1].split(', ')))})"


def digest_of(objects: frozenset[Object]) -> str:
    """Return a digest that is the same for equal schemas."""
    return hashlib.sha256(repr(sorted(objects)).encode(errors="replace")).hexdigest()


def check_schema(path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse a file that defines anything but the schema of a project, of this or an earlier version.

    An empty database is accepted, because a new project starts as one.

    Args:
        path: the file, for messages.
        connection: to it, before any other query.

    Raises:
        ProjectError: the file is not a project, was written by a newer version, or defines other objects.
        duckdb.Error: the catalog of the file is damaged.
    """
    found = read_objects(connection)
    if digest_of(found) in _known_digests():
        return
    # This is slow but rare: the file is foreign, or this DuckDB version formats definitions differently.
    names = {name for kind, schema, name, *_ in found if (kind, schema) == ("table", "main")}
    if "migrations" not in names:
        raise ProjectError("not-a-project", f"{path} is a database, but not an Exam Workbench project.", NAME_ANOTHER)
    here = frozenset(one for one in found if one[2] == "migrations")
    if here <= expected_objects(migrations.names()):
        steps = migrations.applied(connection)
        refuse_newer(path, steps)
        if not (differences := found ^ expected_objects(tuple(steps))):
            return
    else:
        differences = here
    kind, _, name, *_ = min(differences)
    raise ProjectError(
        "project-changed-elsewhere",
        f"{path} was changed by another program (see {kind} '{name}'). Nothing from it was loaded or run.",
        "Restore a backup with exam restore, or ask the sender for an export (exam export project).",
    )


def refuse_newer(path: Path, steps: list[str]) -> None:
    """Refuse a project of a newer version.

    Args:
        steps: names of the migrations that were applied to it.

    Raises:
        ProjectError: a migration is unknown.
    """
    if newer := [name for name in steps if name not in migrations.names()]:
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
        migrations.upgrade(fresh, steps)
        return read_objects(fresh)


def make_digests() -> str:
    """Return the content of the file of digests: the name of each migration and the digest after it, one per line.

    The first line is an empty database.
    """
    with duckdb.connect(config=CONFIG) as fresh:
        lines = [f"empty {digest_of(read_objects(fresh))}"]
        for name in migrations.names():
            migrations.upgrade(fresh, [name])
            lines.append(f"{name} {digest_of(read_objects(fresh))}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_file(DIGESTS, make_digests().encode())
