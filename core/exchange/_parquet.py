"""Parquet files: export of a whole project with a manifest, its checked import, and grades for
leaderboards.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Annotated

import duckdb
import msgspec

from .. import __version__
from ..atomic_files import WorkingFolder, create_file, make_folder, replace_file
from ..bank import bank_for, without_answered_by_topic
from ..errors import FileError, InputError, Problem
from ..labels import IMPORTED_SQL, Policy, basis, failed_pairs, graded_pairs, label_qrels
from ..records import refuse_sealed
from ..store import (
    MARK,
    Cursor,
    Project,
    as_pattern,
    database_connection,
    first_line,
    log_action,
    log_readonly_action,
    migrations,
    no_room,
    open_project,
    quoted_name,
    quoted_path,
)
from ._integrity import LARGEST_KEY, filled_tables, find_faults
from .exporting import write_zip

FORMAT = "exam-workbench project"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"

LARGEST_MANIFEST = 10_000_000
"""Bytes."""
LARGEST_TABLE = 200_000_000
"""Rows: forty times the grades of a large collection."""
MOST_EXPANDED = 100
"""Highest ratio of unpacked to packed size of a zip. Parquet is compressed already, so real ratios
are low.
"""
EXPANDED_ANYWAY = 64_000_000
"""Bytes that a zip of any size may unpack to."""

MEND = "Export the project again: exam export project -o FOLDER."

_UNREADABLE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
)
"""Errors of the standard library for damaged or encrypted zips, or zips with unsupported
compression.
"""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table in the manifest. `bytes` and `sha256` describe its file."""

    name: str
    file: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_]+\.parquet\Z")]
    rows: Annotated[int, msgspec.Meta(ge=0, le=LARGEST_TABLE)]
    bytes: Annotated[int, msgspec.Meta(ge=0)]
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Sequences(msgspec.Struct, frozen=True):
    """The last assigned key; None if not stated."""

    keys: Annotated[int, msgspec.Meta(ge=0, le=LARGEST_KEY)] | None = None


class Manifest(msgspec.Struct, frozen=True):
    """The content of a manifest.

    Args:
        steps: names of the migrations applied to the project, oldest first.
        tables: every table.
    """

    tables: list[Table]
    steps: list[str] = msgspec.field(name="migrations")
    sequences: Sequences = Sequences()


def file_refusal(source: Path, file: str, code: str, reason: str) -> FileError:
    """Return an error about one file of an exported project."""
    return FileError([Problem(str(source / file), None, code, reason)], MEND)


def read_project(source: Path, unpacked: Path) -> tuple[Manifest, Path]:
    """Read the manifest of an exported project, check it, and check the files against it.

    Args:
        source: a folder or zip.
        unpacked: a folder to make for the content of a zip.

    Returns:
        The manifest, and the folder with the files.

    Raises:
        InputError: the source is not an exported project, is damaged, or comes from a newer
            version.
    """
    if source.exists() and not source.is_dir() and not source.is_file():
        raise InputError(
            "not-an-export",
            f"{source} is neither a folder nor a file.",
            "Use an exported project: a folder or a zip file.",
        )
    folder = source if source.is_dir() else _unpack_zip(source, unpacked)
    manifest = _read_manifest(folder, source)
    for table in manifest.tables:
        file = folder / table.file
        _check_plain(file, source)
        if file.stat().st_size != table.bytes or file_sha256(file) != table.sha256:
            raise file_refusal(
                source, table.file, "changed-file", "the file was changed after the export"
            )
    return manifest, folder


def file_sha256(file: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _check_plain(file: Path, source: Path) -> None:
    """Refuse a missing file or a link: all files of a project are in its folder."""
    try:
        kind = file.lstat().st_mode
    except FileNotFoundError:
        raise file_refusal(source, file.name, "missing-file", "the file is missing") from None
    if not stat.S_ISREG(kind):
        raise file_refusal(
            source,
            file.name,
            "not-a-plain-file",
            "not a regular file but a link, a folder or a device",
        )


def _unpack_zip(source: Path, folder: Path) -> Path:
    """Make the folder, fill it with the files that a zip's manifest names, and return it."""
    folder.mkdir()
    try:
        with zipfile.ZipFile(source) as archive:
            _unpack_file(archive, MANIFEST, LARGEST_MANIFEST, folder, source)
            tables = _read_manifest(folder, source).tables
            if sum(table.bytes for table in tables) > max(
                EXPANDED_ANYWAY, MOST_EXPANDED * source.stat().st_size
            ):
                raise file_refusal(
                    source,
                    MANIFEST,
                    "limit-exceeded",
                    f"the files are more than {MOST_EXPANDED} times as large as the zip",
                )
            for table in tables:
                _unpack_file(archive, table.file, table.bytes, folder, source)
    except _UNREADABLE as error:
        raise InputError(
            "unreadable-zip", f"{source} is not a readable zip file ({error}).", MEND
        ) from error
    return folder


def _unpack_file(
    archive: zipfile.ZipFile, name: str, largest: int, folder: Path, source: Path
) -> None:
    """Unpack a file, up to its announced size: a small zip may have endless content."""
    try:
        member = archive.open(name)
    except KeyError:
        raise file_refusal(source, name, "missing-file", "the file is missing") from None
    with member, (folder / name).open("wb") as out:
        written = 0
        while part := member.read(1 << 20):
            written += len(part)
            if written > largest:
                raise file_refusal(
                    source, name, "limit-exceeded", "the file is larger than the manifest states"
                )
            out.write(part)


def _read_manifest(folder: Path, source: Path) -> Manifest:
    file = folder / MANIFEST
    _check_plain(file, source)
    if file.stat().st_size > LARGEST_MANIFEST:
        raise file_refusal(
            source,
            MANIFEST,
            "limit-exceeded",
            f"the file is larger than {LARGEST_MANIFEST:,} bytes",
        )
    try:
        content = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise file_refusal(source, MANIFEST, "invalid-json", f"invalid JSON ({error})") from error
    invalid = file_refusal(
        source, MANIFEST, "invalid-manifest", "not the manifest of an exported project"
    )
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise invalid
    # Other versions of the format may have other fields, so the version is checked first.
    if (version := content.get("format_version")) != FORMAT_VERSION:
        raise _newer_error(source, f"format {version}")
    try:
        manifest = msgspec.convert(content, Manifest)
    except msgspec.ValidationError as error:
        raise invalid from error
    if len(
        {table.name for table in manifest.tables if table.file == f"{table.name}.parquet"}
    ) < len(manifest.tables):
        raise invalid
    known = migrations.migration_names()
    if newer := [step for step in manifest.steps if step not in known]:
        raise _newer_error(source, f"schema step {newer[-1]}")
    if not manifest.steps or tuple(manifest.steps) != known[: len(manifest.steps)]:
        raise file_refusal(source, MANIFEST, "schema-differs", "unknown schema steps")
    return manifest


def _newer_error(source: Path, what: str) -> InputError:
    return InputError(
        "newer-version",
        f"{source} was written by a newer version ({what}).",
        "Upgrade Exam Workbench to read it.",
    )


CACHES = frozenset({"text_vectors"})
"""Tables that can be computed again. Exports omit them."""
SECRETS = frozenset({"tokens"})
"""Tables of credentials for access, without other data. Exports omit them too."""

SHOWN = 20
"""Greatest number of faults named for an imported project."""
LARGEST_VALUE = 256_000_000
"""Maximum number of bytes of a text, equal to that of a line of a graded file. The limit is
necessary because a file of a few bytes can claim texts of any length."""
LARGEST_TEXTS = 64_000_000_000
"""Maximum number of bytes of all texts of a table together."""


def export_project(
    project: Project, target: Path, author: str, hand_over: Callable[[], object] = lambda: None
) -> dict[str, int]:
    """Write every table of a project but its caches as Parquet, with a manifest of names, sizes and
    hashes.

    Args:
        target: a folder that is new or empty, or a new file that ends with .zip.
        hand_over: called when the target is complete. If it fails, nothing is recorded.

    Returns:
        Number of rows by table.

    Raises:
        InputError: the target exists already or cannot be written, or questions are sealed.
    """
    refuse_sealed(project)
    taken = any(target.iterdir()) if target.is_dir() else target.exists()
    if taken or (target.suffix == ".zip" and target.exists()):
        raise InputError(
            "file-exists", f"{target} already exists.", "Use a new folder or .zip file."
        )
    make_folder(target.parent)
    # One transaction, so that all tables show the same state and include the log line of the
    # export. It is committed after the files are in place.
    with project.transaction(act="take everything out", author=author) as cursor:
        log_action(cursor, author, "export project", name=target.name)
        with replace_file(target) as temporary:
            folder = temporary.parent / "tables" if target.suffix == ".zip" else temporary
            folder.mkdir()
            tables = _write_folder(project, cursor, folder)
            if folder != temporary:
                write_zip({file.name: file for file in folder.iterdir()}, temporary)
        hand_over()
    return {table.name: table.rows for table in tables}


def _write_folder(project: Project, cursor: Cursor, folder: Path) -> list[Table]:
    names = sorted(_table_columns(cursor).keys() - CACHES - SECRETS)
    sequences = "SELECT sequence_name, last_value FROM duckdb_sequences() WHERE NOT temporary"
    tables = [_write_table(cursor, table, project.working_folder, folder) for table in names]
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "software": {"name": "Exam Workbench", "version": __version__},
        "project": project.name,
        "migrations": migrations.applied_migrations(cursor),
        "sequences": dict(cursor.execute(sequences).fetchall()),
        "tables": [msgspec.structs.asdict(table) for table in tables],
    }
    (folder / MANIFEST).write_text(
        json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
    )
    return tables


def _write_table(cursor: Cursor, table: str, working: Path, folder: Path) -> Table:
    temporary, file = working / f"{table}.parquet", folder / f"{table}.parquet"
    # In the order of the rows, because publications refer to row numbers of grades. The mark of an
    # open file is left out because it is not part of the project.
    kept = f"WHERE name <> '{MARK}'" if table == "settings" else ""
    rows = cursor.execute(
        f"COPY (SELECT * FROM {table} {kept} ORDER BY rowid) TO {quoted_path(temporary)} (FORMAT"
        " parquet, COMPRESSION zstd)"
    ).fetchall()[0][0]
    shutil.move(temporary, file)
    return Table(table, file.name, int(rows), file.stat().st_size, file_sha256(file))


def import_project(source: Path, path: Path) -> Project:
    """Make a project of a folder or zip that `export_project` wrote, equal to the old one table by
    table.

    Args:
        path: the project file to make. A project of an older schema is migrated to the current one.

    Returns:
        The new project, open.

    Raises:
        InputError: the file exists already, or the folder is not an exported project, is damaged,
            comes from a newer version, or has invalid rows. Nothing is made.
        ProjectError: the disk is full. Nothing is made.
    """
    path_taken = InputError(
        "file-exists", f"{path} already exists.", "Use another name for the project."
    )
    try:
        with create_file(path, path_taken) as made:
            manifest, folder = read_project(source, made.parent / "unpacked")
            try:
                _build_project(made, manifest, folder, source)
            except duckdb.Error as error:
                if full := no_room(path, error):
                    raise full from error
                raise file_refusal(
                    source,
                    MANIFEST,
                    "schema-differs",
                    f"the files do not form a project ({first_line(error)})",
                ) from error
    except OSError as error:
        raise no_room(path, error) or InputError(
            "cannot-read-file",
            f"{error.filename or source}: cannot be read or written ({error.strerror}).",
        ) from error
    return open_project(path)


def _build_project(path: Path, manifest: Manifest, folder: Path, source: Path) -> None:
    """Make the project file in the exported schema, fill it, migrate it to the current schema and
    check it.
    """
    with database_connection(path, readable=folder, made_here=True) as connection:
        migrations.apply_migrations(connection, manifest.steps)
        columns = _table_columns(connection)
        expected = columns.keys() - CACHES - SECRETS
        if odd := expected ^ {table.name for table in manifest.tables}:
            raise file_refusal(
                source,
                MANIFEST,
                "schema-differs",
                f"tables that do not match the schema: {', '.join(sorted(odd))}",
            )
        # Migrations fill tables too. Delete these rows in a transaction of their own: within one
        # transaction, DuckDB would still refuse their keys.
        connection.execute("BEGIN")
        for name in filled_tables(connection) & expected:
            connection.execute(f"DELETE FROM {name}")
        connection.execute("COMMIT")
        connection.execute("BEGIN")
        for table in manifest.tables:
            _load_table(connection, table, columns[table.name], folder, source)
        connection.execute("COMMIT")
        if migrations.applied_migrations(connection) != manifest.steps:
            raise file_refusal(
                source,
                "migrations.parquet",
                "schema-differs",
                "the schema steps differ from the manifest",
            )
        connection.execute("DELETE FROM settings WHERE name = ?", [MARK])
        _advance_keys(connection, manifest.sequences.keys or 0)
        migrations.apply_migrations(connection)
        if faulty := list(islice(find_faults(connection), SHOWN)):
            files = [str(source / f"{fault.table}.parquet") for fault in faulty]
            problems = [
                Problem(file, None, "inconsistent-rows", str(fault))
                for file, fault in zip(files, faulty, strict=True)
            ]
            raise FileError(problems, MEND)


def _load_table(
    connection: Cursor, table: Table, columns: Sequence[tuple[str, str]], folder: Path, source: Path
) -> None:
    file = (
        f"read_parquet({quoted_path(as_pattern(folder / table.file))}, hive_partitioning = false)"
    )
    try:
        columns_given = [
            (name, type_)
            for name, type_, *_ in connection.execute(f"DESCRIBE FROM {file}").fetchall()
        ]
        for actual, expected in zip_longest(
            map(" ".join, columns_given), map(" ".join, columns), fillvalue="missing"
        ):
            if actual != expected:
                raise file_refusal(
                    source,
                    table.file,
                    "schema-differs",
                    f"the columns differ from those of {table.name}: {actual} instead of"
                    f" {expected}",
                )
        rows = connection.execute(f"SELECT count(*) FROM {file}").fetchall()[0][0]
        if rows != table.rows:
            raise file_refusal(
                source,
                table.file,
                "row-count-differs",
                f"{rows:,} rows instead of {table.rows:,} in the manifest",
            )
        if not rows:
            # Most tables of most projects are empty.
            return
        longest, together = _text_lengths(
            connection, file, [name for name, type_ in columns if type_ == "VARCHAR"]
        )
        if longest > LARGEST_VALUE or together > LARGEST_TEXTS:
            raise file_refusal(source, table.file, "limit-exceeded", "the texts are too long")
        connection.execute(f"INSERT INTO {table.name} FROM {file}")
    except duckdb.Error as error:
        if full := no_room(folder, error):
            raise full from error
        raise file_refusal(
            source,
            table.file,
            "rows-do-not-fit",
            f"the rows do not fit the table ({first_line(error)})",
        ) from error


def _text_lengths(connection: Cursor, file: str, columns: Sequence[str]) -> tuple[int, int]:
    """Return the longest text, and the total length of the longest column, in bytes, without
    fetching the texts.
    """
    lengths = ["0", *(f"strlen({quoted_name(column)})" for column in columns)]
    longest, together = (
        f"greatest({', '.join(f'{what}({length})' for length in lengths)})"
        for what in ("max", "sum")
    )
    row = connection.execute(f"SELECT {longest}, {together} FROM {file}").fetchall()[0]
    return int(row[0]), int(row[1])


def _advance_keys(connection: Cursor, last: int) -> None:
    """Set the key sequence above every key that was assigned or is in use."""
    filled = filled_tables(connection)
    used = " UNION ALL ".join(
        f"SELECT max({name}) FROM {table}"
        for table, columns in _table_columns(connection).items()
        for name, type_ in columns
        if table in filled and name.endswith("_key") and type_ == "INTEGER"
    )
    if used:
        sql = f"SELECT greatest({last:d}, least(max(key), {LARGEST_KEY})) FROM ({used}) u(key)"
        ((last,),) = connection.execute(sql).fetchall()
    if last:
        connection.execute(f"CREATE OR REPLACE SEQUENCE keys START {last:d}")
        connection.execute("SELECT nextval('keys')")


def _table_columns(cursor: Cursor) -> dict[str, list[tuple[str, str]]]:
    columns = cursor.execute(
        "SELECT table_name, list((column_name, data_type) ORDER BY column_index)"
        " FROM duckdb_columns() WHERE schema_name = 'main' AND NOT internal"
        " AND table_name IN (SELECT table_name FROM duckdb_tables() WHERE NOT temporary)"
        " GROUP BY 1 ORDER BY 1"
    )
    return dict(columns.fetchall())


def export_grades(
    project: Project, folder: Path, author: str, policy: Policy | None = None
) -> dict[str, int]:
    """Write grades/*.parquet, runs.parquet and questions.parquet, which
    `leaderboard.leaderboard_of_files` reads.

    Args:
        folder: new or empty.
        policy: its grader, bank version and treatment of overrides count; the default for None.

    Returns:
        Number of rows by kind.

    Raises:
        InputError: the folder is not empty or cannot be written, or nothing is graded.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("file-exists", f"{folder} is not empty.", "Use a new folder.")
    base = basis(project, policy or Policy())
    queries = without_answered_by_topic(project, label_qrels(project, base))
    if not queries:
        raise InputError("no-labels", "No labels yet.", "Grade first: exam grade")
    ids = (
        "(SELECT question_key, question_id FROM questions UNION ALL"
        " SELECT query_key, query_id FROM queries) USING (question_key)"
    )
    parameters = {**base.parameters, "queries": queries}
    counts = "list_contains($queries, query_id)"
    # Every table names all parameters, as each gets the same.
    tables = {
        "grades": f"SELECT query_id, passage_id, question_id, rating FROM ({graded_pairs(base)})"
        f" LEFT JOIN (SELECT *, true AS failed FROM ({failed_pairs(base, 'true')}))"
        " USING (query_key, question_key, passage_key)"
        f" JOIN queries USING (query_key) JOIN passages USING (passage_key) JOIN {ids}"
        f" WHERE (rating IS NOT NULL OR failed) AND {counts} ORDER BY query_id",
        "questions": f"SELECT query_id, question_id, weight, {base.grader.spec.max_rating:d} AS top"
        f" FROM {bank_for(base.grader.spec)} JOIN queries USING (query_key) JOIN {ids}"
        f" WHERE {counts} AND $grader IS NOT NULL ORDER BY query_id",
        # A run without passages for these queries gets a row with only its name, so that it is on
        # the leaderboard too. Passages of the pool that no run ranks get a row without a run.
        "runs": "WITH ranked AS (SELECT name AS run, query_id, passage_id, rank,"
        " if(run_key IN (FROM ranked_runs), NULL, score) AS score,"
        f" pool.text_key IS NOT NULL AND NOT {IMPORTED_SQL} AS gradable"
        " FROM (rankings JOIN runs USING (run_key))"
        " FULL JOIN pool USING (query_key, passage_key)"
        f" JOIN queries USING (query_key) JOIN passages USING (passage_key) WHERE {counts}"
        " AND $version IS NOT NULL AND $grader IS NOT NULL)"
        " FROM ranked UNION ALL SELECT name, NULL, NULL, NULL, NULL, NULL FROM runs"
        " WHERE name NOT IN (SELECT run FROM ranked WHERE run IS NOT NULL)"
        " ORDER BY query_id, run, rank",
    }

    def write_tables(cursor: Cursor) -> dict[str, int]:
        written = {}
        for name, sql in tables.items():
            target = quoted_path(
                working / "files" / (name if name == "grades" else f"{name}.parquet")
            )
            # Approximate size of each file of grades.
            size = ", FILE_SIZE_BYTES '256MB'" if name == "grades" else ""
            copy = f"COPY ({sql}) TO {target} (FORMAT parquet, COMPRESSION zstd{size})"
            ((written[name],),) = cursor.execute(copy, parameters).fetchall()
        return written

    make_folder(folder.parent)
    with replace_file(folder) as target, WorkingFolder(project.working_folder) as working:
        (working / "files").mkdir()
        rows = project.read(write_tables)
        shutil.move(working / "files", target)
    log_readonly_action(project, author, "export grades", file=folder.name, grades=rows["grades"])
    return rows


def project_zip(project: Project, author: str) -> bytes:
    """Return the whole project as a zip of Parquet files. The export is in the activity log, and so
    in the zip.

    Raises:
        InputError: it cannot be written.
    """
    with WorkingFolder() as folder:
        target = folder / f"{project.name}.zip"
        export_project(project, target, author)
        return target.read_bytes()
