"""The manifest of an exported project: read and checked, with the files that it names, before a project is made."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import stat
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import FileError, InputError, Problem
from ...project import migrations
from ..rules import LARGEST_KEY

FORMAT = "exam-workbench project"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"

LARGEST_MANIFEST = 10_000_000
"""Bytes."""
LARGEST_TABLE = 200_000_000
"""Rows: forty times the grades of a large collection."""
MOST_EXPANDED = 100
"""Highest ratio of unpacked to packed size of a zip. Parquet is compressed already, so real ratios are low."""
EXPANDED_ANYWAY = 64_000_000
"""Bytes that a zip of any size may unpack to."""

MEND = "Export the project again: exam export project -o FOLDER."

_FILE = re.compile(r"\w+\.parquet", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")
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
"""Errors of the standard library for damaged or encrypted zips, or zips with unsupported compression."""


@dataclass(frozen=True)
class Table:
    """A table in the manifest. `bytes` and `sha256` describe its file."""

    name: str
    file: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The content of a manifest.

    Args:
        steps: names of the migrations applied to the project, oldest first.
        keys: the last assigned key; 0 if not stated.
        tables: every table.
    """

    steps: list[str]
    keys: int
    tables: list[Table]


def refused(source: Path, file: str, code: str, reason: str) -> FileError:
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
        InputError: the source is not an exported project, is damaged, or comes from a newer version.
    """
    if source.exists() and not source.is_dir() and not source.is_file():
        raise InputError(
            "not-an-export",
            f"{source} is neither a folder nor a file.",
            "Use an exported project: a folder or a zip file.",
        )
    folder = source if source.is_dir() else _unpacked(source, unpacked)
    manifest = _read_manifest(folder, source)
    for table in manifest.tables:
        file = folder / table.file
        _check_plain(file, source)
        if file.stat().st_size != table.bytes or sha256(file) != table.sha256:
            raise refused(source, table.file, "changed-file", "the file was changed after the export")
    return manifest, folder


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _check_plain(file: Path, source: Path) -> None:
    """Refuse a missing file or a link: all files of a project are in its folder."""
    try:
        kind = file.lstat().st_mode
    except FileNotFoundError:
        raise refused(source, file.name, "missing-file", "the file is missing") from None
    if not stat.S_ISREG(kind):
        raise refused(source, file.name, "not-a-plain-file", "not a regular file but a link, a folder or a device")


def _unpacked(source: Path, folder: Path) -> Path:
    """Make the folder, fill it with the files that a zip's manifest names, and return it."""
    folder.mkdir()
    try:
        with zipfile.ZipFile(source) as archive:
            _unpack(archive, MANIFEST, LARGEST_MANIFEST, folder, source)
            tables = _read_manifest(folder, source).tables
            if sum(table.bytes for table in tables) > max(EXPANDED_ANYWAY, MOST_EXPANDED * source.stat().st_size):
                raise refused(
                    source,
                    MANIFEST,
                    "limit-exceeded",
                    f"the files are more than {MOST_EXPANDED} times as large as the zip",
                )
            for table in tables:
                _unpack(archive, table.file, table.bytes, folder, source)
    except _UNREADABLE as error:
        raise InputError("unreadable-zip", f"{source} is not a readable zip file ({error}).", MEND) from error
    return folder


def _unpack(archive: zipfile.ZipFile, name: str, largest: int, folder: Path, source: Path) -> None:
    """Unpack a file, up to its announced size: a small zip may have endless content."""
    try:
        member = archive.open(name)
    except KeyError:
        raise refused(source, name, "missing-file", "the file is missing") from None
    with member, (folder / name).open("wb") as out:
        written = 0
        while part := member.read(1 << 20):
            written += len(part)
            if written > largest:
                raise refused(source, name, "limit-exceeded", "the file is larger than the manifest states")
            out.write(part)


def _read_manifest(folder: Path, source: Path) -> Manifest:
    file = folder / MANIFEST
    _check_plain(file, source)
    if file.stat().st_size > LARGEST_MANIFEST:
        raise refused(source, MANIFEST, "limit-exceeded", f"the file is larger than {LARGEST_MANIFEST:,} bytes")
    try:
        content = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise refused(source, MANIFEST, "invalid-json", f"invalid JSON ({error})") from error
    manifest = None
    # Other versions of the format may have other fields, so the version is checked first.
    if isinstance(content, dict) and content.get("format") == FORMAT:
        if (version := content.get("format_version")) != FORMAT_VERSION:
            raise _newer(source, f"format {version}")
        manifest = _well_formed(content)
    if manifest is None:
        raise refused(source, MANIFEST, "invalid-manifest", "not the manifest of an exported project")
    known = migrations.names()
    if newer := [step for step in manifest.steps if step not in known]:
        raise _newer(source, f"schema step {newer[-1]}")
    if not manifest.steps or tuple(manifest.steps) != known[: len(manifest.steps)]:
        raise refused(source, MANIFEST, "schema-differs", "unknown schema steps")
    return manifest


def _newer(source: Path, what: str) -> InputError:
    return InputError(
        "newer-version", f"{source} was written by a newer version ({what}).", "Upgrade Exam Workbench to read it."
    )


def _well_formed(content: dict[str, Any]) -> Manifest | None:
    """Return the manifest, or None if a field is missing or has a value that no export has."""
    try:
        last = content.get("sequences", {}).get("keys")
        manifest = Manifest(content["migrations"], last or 0, [Table(**table) for table in content["tables"]])
        sound = (
            isinstance(manifest.steps, list)
            and all(isinstance(step, str) for step in manifest.steps)
            and (last is None or (type(last) is int and 0 <= last <= LARGEST_KEY))
            and len({table.name for table in manifest.tables}) == len(manifest.tables)
            and all(
                _FILE.fullmatch(table.file)
                and table.file == f"{table.name}.parquet"
                and type(table.rows) is int
                and 0 <= table.rows <= LARGEST_TABLE
                and type(table.bytes) is int
                and table.bytes >= 0
                and _SHA256.fullmatch(table.sha256)
                for table in manifest.tables
            )
        )
    except (KeyError, TypeError, AttributeError):
        return None
    return manifest if sound else None
