"""Export of a whole project as a folder (or zip) of Parquet files with a manifest, and its import."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from itertools import islice, zip_longest
from pathlib import Path

import duckdb

from ... import __version__
from ...atomic_files import WorkingFolder, make_folder, put, put_new, writing
from ...errors import FileError, InputError, Problem
from ...project import (
    MARK,
    Cursor,
    Project,
    as_pattern,
    connected,
    first_line,
    log,
    migrations,
    no_room,
    open_project,
    quoted_name,
    quoted_path,
)
from ..rules import LARGEST_KEY, faults, with_rows
from ..zipping import write_zip
from .manifest import (
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    MEND,
    Manifest,
    Table,
    read_project,
    refused,
    sha256,
)

CACHES = frozenset({"text_vectors"})
"""Tables that can be computed again. Exports omit them."""
SECRETS = frozenset({"tokens"})
"""Tables of credentials for access, without other data. Exports omit them too."""

SHOWN = 20
"""Greatest number of faults named for an imported project."""
LARGEST_VALUE = 256_000_000
"""Bytes of a text, as in a line of a graded file. A file of a few bytes can claim texts of any length."""
LARGEST_TEXTS = 64_000_000_000
"""Bytes of all texts of a table together."""


def export_project(
    project: Project, target: Path, author: str, hand_over: Callable[[], object] = lambda: None
) -> dict[str, int]:
    """Write every table of a project but its caches as Parquet, with a manifest of names, sizes and hashes.

    Args:
        target: a folder that is new or empty, or a new file that ends with .zip.
        hand_over: called when the target is complete. If it fails, nothing is recorded.

    Returns:
        Number of rows by table.

    Raises:
        InputError: the target exists already, or cannot be written.
    """
    taken = any(target.iterdir()) if target.is_dir() else target.exists()
    if taken or (target.suffix == ".zip" and target.exists()):
        raise InputError("file-exists", f"{target} already exists.", "Use a new folder or .zip file.")
    with writing(target):
        make_folder(target.parent)
        # One transaction, so that all tables are of one moment and include the log line of the export. It is committed
        # after the files are in place.
        with (
            WorkingFolder(target.parent) as working,
            project.transaction(act="take everything out", author=author) as cursor,
        ):
            log(cursor, author, "export project", name=target.name)
            made = working / target.name
            folder = working / "tables" if target.suffix == ".zip" else made
            folder.mkdir()
            tables = _write_folder(project, cursor, folder)
            if folder != made:
                write_zip({file.name: file for file in folder.iterdir()}, made)
            put(made, target)
            hand_over()
    return {table.name: table.rows for table in tables}


def _write_folder(project: Project, cursor: Cursor, folder: Path) -> list[Table]:
    names = sorted(_columns(cursor).keys() - CACHES - SECRETS)
    sequences = "SELECT sequence_name, last_value FROM duckdb_sequences() WHERE NOT temporary"
    tables = [_write_table(cursor, table, project.working_folder, folder) for table in names]
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "software": {"name": "Exam Workbench", "version": __version__},
        "project": project.name,
        "migrations": migrations.applied(cursor),
        "sequences": dict(cursor.execute(sequences).fetchall()),
        "tables": [vars(table) for table in tables],
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return tables


def _write_table(cursor: Cursor, table: str, working: Path, folder: Path) -> Table:
    made, file = working / f"{table}.parquet", folder / f"{table}.parquet"
    # In the order of the rows, because publications refer to row numbers of grades. The mark of an open file is left
    # out because it is not part of the project.
    kept = f"WHERE name <> '{MARK}'" if table == "settings" else ""
    rows = cursor.execute(
        f"COPY (SELECT * FROM {table} {kept} ORDER BY rowid) TO {quoted_path(made)} (FORMAT parquet, COMPRESSION zstd)"
    ).fetchall()[0][0]
    shutil.move(made, file)
    return Table(table, file.name, int(rows), file.stat().st_size, sha256(file))


def import_project(source: Path, path: Path) -> Project:
    """Make a project of a folder or zip that `export_project` wrote, equal to the old one table by table.

    Args:
        path: the project file to make. A project of an older schema is migrated to the current one.

    Returns:
        The new project, open.

    Raises:
        InputError: the file exists already, or the folder is not an exported project, is damaged, comes from a newer
            version, or has invalid rows. Nothing is made.
        ProjectError: the disk is full. Nothing is made.
    """
    taken = InputError("file-exists", f"{path} already exists.", "Use another name for the project.")
    if path.exists():
        raise taken
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with WorkingFolder(path.parent) as working:
            manifest, folder = read_project(source, working / "unpacked")
            built = working / "project.duckdb"
            try:
                _build(built, manifest, folder, source)
            except duckdb.Error as error:
                if full := no_room(path, error):
                    raise full from error
                raise refused(
                    source, MANIFEST, "schema-differs", f"the files do not form a project ({first_line(error)})"
                ) from error
            if not put_new(built, path):
                raise taken
    except OSError as error:
        raise no_room(path, error) or InputError(
            "cannot-read-file", f"{error.filename or source}: cannot be read or written ({error.strerror})."
        ) from error
    return open_project(path)


def _build(path: Path, manifest: Manifest, folder: Path, source: Path) -> None:
    """Make the project file in the exported schema, fill it, migrate it to the current schema and check it."""
    with connected(path, readable=folder, made_here=True) as connection:
        migrations.upgrade(connection, manifest.steps)
        columns = _columns(connection)
        expected = columns.keys() - CACHES - SECRETS
        if odd := expected ^ {table.name for table in manifest.tables}:
            raise refused(
                source, MANIFEST, "schema-differs", f"tables that do not match the schema: {', '.join(sorted(odd))}"
            )
        # Migrations fill tables too. They are emptied in a transaction of their own, or keys would seem to be taken.
        connection.execute("BEGIN")
        for name in with_rows(connection) & expected:
            connection.execute(f"DELETE FROM {name}")
        connection.execute("COMMIT")
        connection.execute("BEGIN")
        for table in manifest.tables:
            _load(connection, table, columns[table.name], folder, source)
        connection.execute("COMMIT")
        if migrations.applied(connection) != manifest.steps:
            raise refused(source, "migrations.parquet", "schema-differs", "the schema steps differ from the manifest")
        connection.execute("DELETE FROM settings WHERE name = ?", [MARK])
        _advance(connection, manifest.keys)
        migrations.upgrade(connection)
        _check(connection, source)


def _load(connection: Cursor, table: Table, columns: Sequence[tuple[str, str]], folder: Path, source: Path) -> None:
    file = f"read_parquet({quoted_path(as_pattern(folder / table.file))}, hive_partitioning = false)"
    try:
        given = [(name, type_) for name, type_, *_ in connection.execute(f"DESCRIBE FROM {file}").fetchall()]
        for found, wanted in zip_longest(map(" ".join, given), map(" ".join, columns), fillvalue="missing"):
            if found != wanted:
                reason = f"the columns differ from those of {table.name}: {found} instead of {wanted}"
                raise refused(source, table.file, "schema-differs", reason)
        rows = connection.execute(f"SELECT count(*) FROM {file}").fetchall()[0][0]
        if rows != table.rows:
            raise refused(
                source, table.file, "row-count-differs", f"{rows:,} rows instead of {table.rows:,} in the manifest"
            )
        if not rows:
            # Most tables of most projects are empty.
            return
        texts = [name for name, type_ in columns if type_ == "VARCHAR"]
        longest, together = _lengths(connection, file, texts)
        if longest > LARGEST_VALUE or together > LARGEST_TEXTS:
            raise refused(source, table.file, "limit-exceeded", "the texts are too long")
        connection.execute(f"INSERT INTO {table.name} FROM {file}")
    except duckdb.Error as error:
        if full := no_room(folder, error):
            raise full from error
        raise refused(
            source, table.file, "rows-do-not-fit", f"the rows do not fit the table ({first_line(error)})"
        ) from error


def _lengths(connection: Cursor, file: str, columns: Sequence[str]) -> tuple[int, int]:
    """Return the longest text, and the total length of the longest column, in bytes, without fetching the texts."""
    lengths = ["0", *(f"strlen({quoted_name(column)})" for column in columns)]
    longest, together = (f"greatest({', '.join(f'{what}({length})' for length in lengths)})" for what in ("max", "sum"))
    found = connection.execute(f"SELECT {longest}, {together} FROM {file}").fetchall()[0]
    return int(found[0]), int(found[1])


def _check(connection: Cursor, source: Path) -> None:
    """Refuse a project with rows that break a rule."""
    found = list(islice(faults(connection), SHOWN))
    if found:
        problems = [Problem(str(source / f"{one.table}.parquet"), None, "inconsistent-rows", str(one)) for one in found]
        raise FileError(problems, MEND)


def _advance(connection: Cursor, last: int) -> None:
    """Set the key sequence above every key that was assigned or is in use."""
    filled = with_rows(connection)
    for table, columns in _columns(connection).items():
        keys = [f"max({name})" for name, type_ in columns if name.endswith("_key") and type_ == "INTEGER"]
        if keys and table in filled:
            used = connection.execute(f"SELECT {', '.join(keys)} FROM {table}").fetchall()[0]
            last = max(last, *(min(key, LARGEST_KEY) for key in used if key is not None))
    if last:
        connection.execute(f"CREATE OR REPLACE SEQUENCE keys START {last:d}")
        connection.execute("SELECT nextval('keys')")


def _columns(cursor: Cursor) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for table, column, type_ in cursor.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE schema_name = 'main' AND NOT internal"
        " AND table_name IN (SELECT table_name FROM duckdb_tables() WHERE NOT temporary) ORDER BY 1, column_index"
    ).fetchall():
        found.setdefault(table, []).append((column, type_))
    return found
