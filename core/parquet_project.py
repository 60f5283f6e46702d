"""A whole project as a folder (or zip) of Parquet files with a manifest, and back."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from core import __version__, migrations
from core.bundle import write_zip
from core.checkpoints import MARK
from core.errors import FileError, InputError, Problem
from core.project import Cursor, Project, log, open_project

FORMAT = "exam-workbench project"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
LARGEST_MANIFEST = 10_000_000

CACHES = frozenset({"text_vectors"})
"""Tables that hold nothing that could not be computed again: they stay out of exports."""

_FILE = re.compile(r"\w+\.parquet", re.ASCII)


@dataclass(frozen=True)
class _Table:
    """A table as the manifest names it. `bytes` and `sha256` are of its file."""

    name: str
    file: str
    rows: int
    bytes: int
    sha256: str


def export_project(project: Project, target: Path, author: str) -> dict[str, int]:
    """Write every table of a project but its caches as Parquet, with a manifest of names, sizes and hashes.

    Args:
        target: a folder that is new or empty, or a new file that ends with .zip.

    Returns:
        Number of rows by table.

    Raises:
        InputError: the target is there already, or cannot be written.
    """
    taken = any(target.iterdir()) if target.is_dir() else target.exists()
    if taken or (target.suffix == ".zip" and target.exists()):
        raise InputError(f"{target}: there is something of this name already.", "Name a new folder or .zip file.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=target.parent) as made:
            folder = Path(made) / "project"
            folder.mkdir()
            tables = _write_folder(project, folder, target.name, author)
            if target.suffix == ".zip":
                packed = Path(made) / "project.zip"
                write_zip({file.name: file for file in folder.iterdir()}, packed)
                packed.replace(target)
            else:
                folder.replace(target)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror}).") from error
    return {table.name: table.rows for table in tables}


def _write_folder(project: Project, folder: Path, name: str, author: str) -> list[_Table]:
    # One transaction, so that all tables are of one moment, and the log line of the export is among them.
    with project.transaction() as cursor:
        log(cursor, author, "export project", name=name)
        tables = [_write_table(cursor, table, folder) for table in sorted(_tables(cursor))]
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "software": {"name": "Exam Workbench", "version": __version__},
            "project": project.name,
            "migrations": migrations.applied(cursor),
            "sequences": _sequences(cursor),
            "tables": [vars(table) for table in tables],
        }
        (folder / MANIFEST).write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return tables


def _write_table(cursor: Cursor, table: str, folder: Path) -> _Table:
    file = folder / f"{table}.parquet"
    # In the order of the rows: publications say by its number up to which row grades were there.
    # Whether this file is closed is nothing of the project's.
    kept = f"WHERE name <> '{MARK}'" if table == "settings" else ""
    rows = cursor.execute(
        f"COPY (SELECT * FROM {table} {kept} ORDER BY rowid) TO {_literal(file)} (FORMAT parquet, COMPRESSION zstd)"
    ).fetchall()[0][0]
    return _Table(table, file.name, int(rows), file.stat().st_size, _sha256(file))


def import_project(source: Path, path: Path) -> Project:
    """Make a project of a folder or zip that `export_project` wrote, equal to the old one table by table.

    Args:
        path: the project file to make. One of an older schema is brought to the current one.

    Returns:
        The new project, open.

    Raises:
        InputError: there is a file of that name already, or the folder is no project, is damaged, or comes
            from a newer version. Nothing is made.
    """
    if path.exists():
        raise InputError(f"{path}: there is a file of this name already.", "Choose another name for the project.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=path.parent) as made:
            folder = source if source.is_dir() else _unpacked(source, Path(made) / "unpacked")
            manifest = _read_manifest(folder / MANIFEST, source)
            tables = _checked_tables(manifest, folder, source)
            built = Path(made) / "project.duckdb"
            _build(built, manifest, tables, folder, source)
            built.replace(path)
    except OSError as error:
        raise InputError(f"{error.filename or source}: cannot be read or written ({error.strerror}).") from error
    return open_project(path)


def _unpacked(source: Path, folder: Path) -> Path:
    """The folder, made and filled with what the manifest of a zip names."""
    folder.mkdir()
    try:
        with zipfile.ZipFile(source) as archive:
            _unpack(archive, MANIFEST, LARGEST_MANIFEST, folder, source)
            for table in _named_tables(_read_manifest(folder / MANIFEST, source), source):
                _unpack(archive, table.file, table.bytes, folder, source)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError) as error:
        raise InputError(f"{source}: this is no readable zip file ({error}).", _MEND) from error
    return folder


def _unpack(archive: zipfile.ZipFile, name: str, largest: int, folder: Path, source: Path) -> None:
    """Unpack a file; no more than was announced of it, as a zip may be small and its content endless."""
    try:
        member = archive.open(name)
    except KeyError:
        raise _refused(source, name, "the file is missing") from None
    with member, (folder / name).open("wb") as out:
        written = 0
        while part := member.read(1 << 20):
            written += len(part)
            if written > largest:
                raise _refused(source, name, "the file is larger than the manifest says")
            out.write(part)


_MEND = "Export the project again: exam export project -o FOLDER."


def _refused(source: Path, file: str, reason: str) -> FileError:
    return FileError([Problem(str(source / file), None, reason)], _MEND)


def _read_manifest(file: Path, source: Path) -> dict[str, Any]:
    if not file.is_file():
        raise _refused(source, MANIFEST, "the file is missing: this is no exported project")
    try:
        manifest = json.loads(file.read_bytes())
    except ValueError as error:
        raise _refused(source, MANIFEST, f"this is no JSON ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise _refused(source, MANIFEST, "this is not the manifest of an exported project")
    known = [name for name, _ in migrations.MIGRATIONS]
    steps = manifest.get("migrations")
    if not isinstance(steps, list):
        raise _refused(source, MANIFEST, "it does not say of which schema the project is")
    newer = [str(name) for name in steps if name not in known]
    if newer or manifest.get("format_version") != FORMAT_VERSION:
        step = f"it has the schema step {newer[-1]}" if newer else f"format {manifest.get('format_version')}"
        raise InputError(f"{source} was written by a newer version ({step}).", "Upgrade Exam Workbench to read it.")
    return manifest


def _named_tables(manifest: dict[str, Any], source: Path) -> list[_Table]:
    try:
        tables = [_Table(**table) for table in manifest["tables"]]
        well_formed = all(
            _FILE.fullmatch(t.file) and t.file == f"{t.name}.parquet" and t.rows >= 0 and t.bytes >= 0 for t in tables
        )
    except (KeyError, TypeError) as error:
        raise _refused(source, MANIFEST, "its list of tables cannot be read") from error
    if not well_formed:
        raise _refused(source, MANIFEST, "its list of tables cannot be read")
    return tables


def _checked_tables(manifest: dict[str, Any], folder: Path, source: Path) -> list[_Table]:
    """The tables of the manifest, every file of which is there and is what was written."""
    tables = _named_tables(manifest, source)
    for table in tables:
        file = folder / table.file
        if not file.is_file():
            raise _refused(source, table.file, "the file is missing")
        if file.stat().st_size != table.bytes or _sha256(file) != table.sha256:
            raise _refused(source, table.file, "the file was changed since it was exported")
    return tables


def _build(path: Path, manifest: dict[str, Any], tables: list[_Table], folder: Path, source: Path) -> None:
    """Make the project file in the schema that was exported, fill it, and bring it to the current schema."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    with duckdb.connect(str(path), config=config) as connection:
        migrations.upgrade(connection, manifest["migrations"])
        expected = _tables(connection)
        if odd := expected ^ {table.name for table in tables}:
            raise _refused(source, MANIFEST, f"it does not fit its schema: {', '.join(sorted(odd))}")
        # Migrations fill tables too. Emptied in a transaction of its own, or keys would seem to be taken.
        for name in expected:
            connection.execute(f"DELETE FROM {name}")
        connection.execute("BEGIN")
        for table in tables:
            _load(connection, table, folder, source)
        connection.execute("COMMIT")
        _advance(connection, manifest.get("sequences") or {})
        migrations.upgrade(connection)


def _load(connection: Cursor, table: _Table, folder: Path, source: Path) -> None:
    file = str(folder / table.file)
    try:
        given = [name for name, *_ in connection.execute("DESCRIBE FROM read_parquet(?)", [file]).fetchall()]
        columns = [name for name, *_ in connection.execute(f"DESCRIBE {table.name}").fetchall()]
        if given != columns:
            raise _refused(source, table.file, f"its columns are not those of {table.name}")
        rows = connection.execute(f"INSERT INTO {table.name} FROM read_parquet(?)", [file]).fetchall()[0][0]
    except duckdb.Error as error:
        raise _refused(source, table.file, f"it does not fit the table ({str(error).splitlines()[0]})") from error
    if rows != table.rows:
        raise _refused(source, table.file, f"it has {rows:,} rows; the manifest says {table.rows:,}")


def _advance(connection: Cursor, sequences: dict[str, Any]) -> None:
    """Let sequences go on above every number that they gave out, and above every key that is in use."""
    highest = dict.fromkeys(_sequences(connection), 0)
    highest |= {name: int(last) for name, last in sequences.items() if name in highest and last is not None}
    for table, column in connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'main' AND NOT internal"
        " AND column_name LIKE '%\\_key' ESCAPE '\\' AND data_type = 'INTEGER' AND table_name IN"
        " (SELECT table_name FROM duckdb_tables() WHERE NOT temporary)"
    ).fetchall():
        used = connection.execute(f"SELECT coalesce(max({column}), 0) FROM {table}").fetchall()[0][0]
        highest["keys"] = max(highest["keys"], used)
    for name, last in highest.items():
        connection.execute(f"SELECT max(nextval('{name}')) FROM range({last:d})").fetchall()


def _tables(cursor: Cursor) -> set[str]:
    rows = cursor.execute(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal AND NOT temporary"
    ).fetchall()
    return {name for (name,) in rows} - CACHES


def _sequences(cursor: Cursor) -> dict[str, int | None]:
    rows = cursor.execute("SELECT sequence_name, last_value FROM duckdb_sequences() WHERE NOT temporary").fetchall()
    return dict(rows)


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
