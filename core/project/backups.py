"""Backups of a project while people work in it, and putting one back in its place.

A file that is open must not be copied by its own process: the system takes the lock of a file from a process that
closes the file anywhere, and another process could write to it from then on. So a process of its own copies it, with
its log, while no change is let in; that takes as long as reading the file does.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

from ..atomic_files import WorkingFolder, put, put_new, sync, writing
from ..errors import InputError, ProjectError
from . import checkpoints
from .database import connected, is_open
from .engine_errors import check_kind, first_line
from .holders import is_held
from .opening import missing_steps, open_project
from .project import Project, log, record
from .values import quoted_name

FOLDER = "backups"
"""Name of the folder beside a project in which its backups are kept where nobody names another."""

_COPY = """
import os, shutil, sys
for source, target in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        shutil.copyfile(source, target)
        with open(target, "rb+") as copy:
            os.fsync(copy.fileno())
    except OSError as error:
        sys.exit(str(error.errno))
"""


@dataclass(frozen=True)
class Backup:
    """A copy of a project.

    Args:
        made_at: local time.
        size: bytes.
        why: how it came about: backup, before an upgrade, or before a restore.
    """

    path: Path
    made_at: datetime
    size: int
    why: str = "backup"


@dataclass(frozen=True)
class Restored:
    """What a restore did.

    Args:
        path: the project.
        kept: the file that was there before, under its new name; None where there was none.
    """

    path: Path
    kept: Path | None


def backup(project: Project, target: Path | None = None, keep: int | None = None, author: str = "") -> Backup:
    """Make a copy of a project as it is at one moment, open it and read all of it; people go on working.

    Args:
        target: a new file whose name ends with .duckdb, or a folder, which is made; for None the folder `backups`
            beside the project. In a folder the file is named after the project and the time.
        keep: how many backups of this project stay in that folder; all for None.
        author: who takes it, for the log; for the empty text it is not logged.

    Raises:
        NotAllowed: whoever the project is open for may not take everything out.
        InputError: the target is there already, or cannot be written; or nothing is to be kept.
        ProjectError: the copy is not whole. Nothing is left of it.
    """
    if keep is not None and keep < 1:
        raise InputError("backups-out-of-range", f"Invalid number of backups to keep: {keep}.", "Use 1 or more.")
    of_file = target is not None and target.suffix == ".duckdb" and not target.is_dir()
    folder = target.parent if of_file and target else target or project.path.parent / FOLDER
    taken = InputError("file-exists", f"The file {target} already exists.", "Name a new file or a folder.")
    with project.doing("take everything out", author=author or None), writing(target or folder):
        if of_file and target and target.exists():
            raise taken
        folder.mkdir(parents=True, exist_ok=True)
        with WorkingFolder(folder) as working:
            made = working / f"{project.name}.duckdb"
            _copy(project, made)
            with connected(made) as copy:
                # What the log holds goes into the file, which nobody has open.
                checkpoints.unmark(copy)
            verify(made)
            earlier = backups(project.path, folder)
            if not of_file or target is None:
                # The newest backup is told by its name, although the clock may have been set back.
                latest = max([datetime.now(), *(one.made_at + timedelta(seconds=1) for one in earlier)])
                path = _put_dated(made, f"{folder / project.name}-", latest, ".duckdb")
            elif put_new(made, path := target):
                keep = None
            else:
                raise taken
        for old in earlier[keep - 1 :] if keep else ():
            old.path.unlink(missing_ok=True)
        if author:
            record(project, author, "export backup", file=path.name)
        return _found(path, "backup")


def _copy(project: Project, made: Path) -> None:
    source = project.path.resolve()
    with project.unchanging():
        pairs = [(source, made)]
        if checkpoints.has_log(source):
            pairs.append((checkpoints.log_of(source), checkpoints.log_of(made)))
        command = [sys.executable, "-I", "-S", "-c", _COPY, *(str(path) for pair in pairs for path in pair)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        code = (done.stderr.split() or [""])[-1]
        if not code.isdecimal():
            raise ProjectError(
                "backup-ended-early",
                "The process that copies the project ended early. No backup was made.",
                "Try again.",
            )
        if os.name == "nt" and int(code) == errno.EACCES:
            raise ProjectError(
                "backup-of-open-file",
                f"Windows refuses a copy of {source} while it is open. No backup was made.",
                "Close the app, then copy the file.",
            )
        raise OSError(int(code), os.strerror(int(code)))


def verify(path: Path) -> None:
    """See whether a backup is a whole project of this or an older version, by reading all of it; nothing is changed.

    Raises:
        InputError: there is no such file.
        ProjectError: it is no project, is damaged, or comes from a newer version.
    """
    if not path.exists():
        raise InputError("no-such-file", f"File not found: {path}.", "See exam backup --list.")
    if is_open(path):
        raise ProjectError(
            "project-in-use",
            f"{path} is open in this process, so it is not a backup.",
            "Choose a backup that is not open.",
        )
    check_kind(path)
    if checkpoints.has_log(path):
        raise ProjectError(
            "backup-with-log",
            f"{path} is not a backup: it is a copy of a project in use, with its log file.",
            f"Open it once to read the log: exam status --project {shlex.quote(str(path))}.",
        )
    with connected(path, read_only=True) as connection:
        missing_steps(path, connection)
        # Others work in this process.
        connection.execute("SET threads = 1")
        if said := checkpoints.not_closed(connection, path, had_log=False):
            raise ProjectError("not-a-backup", said, "Choose a backup made by exam backup.")
        for table, reason in unreadable_tables(connection):
            raise ProjectError(
                "damaged-backup",
                f"{path} is damaged: table {table} cannot be read ({reason[:200]}).",
                "Choose another backup: exam backup --list.",
            )


def unreadable_tables(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, str]]:
    """Read every block of a database; yield the tables that cannot be read, with what the engine says."""
    for (table,) in cursor.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY table_name"
    ).fetchall():
        try:
            # A sum over all columns reads them all, and the engine compares the checksum of each block.
            cursor.execute(f"SELECT bit_xor(hash(t)) FROM {quoted_name(table)} t").fetchall()
        except duckdb.Error as error:
            yield table, first_line(error)


def backups(path: Path, folder: Path | None = None) -> list[Backup]:
    """The backups of a project that lie in a folder, the newest first by the time in their names.

    Args:
        path: the project.
        folder: where; `backups` beside the project for None.
    """
    named = re.compile(rf"{re.escape(path.stem)}-(\d{{8}}-\d{{6}})(?:-\d+)?\.duckdb")
    found = []
    for one in filter(Path.is_file, (folder or path.parent / FOLDER).glob("*.duckdb")):
        with suppress(ValueError):
            if stamped := named.fullmatch(one.name):
                found.append(Backup(one, datetime.strptime(stamped[1], _STAMP), one.stat().st_size))
    # Earlier versions numbered the backups of the same second.
    return sorted(found, key=lambda one: (one.made_at, len(one.path.name), one.path.name), reverse=True)


def set_aside(path: Path) -> list[Backup]:
    """Copies that lie beside a project itself, the newest first: from before an upgrade, and from before a restore."""
    kinds = {".before-": "before an upgrade", ".replaced-": "before a restore"}
    found = [
        _found(one, why)
        for mark, why in kinds.items()
        for one in path.parent.glob(f"{glob.escape(path.name + mark)}*")
        if one.is_file() and one.suffix != ".wal"
    ]
    return sorted(found, key=lambda one: one.made_at, reverse=True)


def restore(source: Path, path: Path, author: str) -> Restored:
    """Put a backup in the place of a project; what was there is kept beside it, under a name with the date.

    Args:
        source: a backup, which stays as it is.
        path: the project, which may be damaged, or not be there at all.

    Raises:
        InputError: there is no such backup, or it is the project itself; the place cannot be written.
        ProjectError: the backup is not whole, or somebody has the project open. Nothing was changed.
    """
    verify(source)
    if path.exists() and (not path.is_file() or path.samefile(source)):
        raise InputError("invalid-restore-place", f"Cannot restore a backup to {path}.", "Name the project's own file.")
    if is_open(path):
        raise ProjectError(
            "project-in-use", f"{path} is open in this process.", "Close the app, then restore the backup."
        )
    kept: Path | None = None
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with WorkingFolder(path.parent) as working:
            made = working / path.name
            shutil.copyfile(source, made)
            sync(made)
            if path.exists():
                _closed(path)
                kept = _kept(path)
            put(made, path, private=True)
    # Brings an older one to this version, after a copy of its own.
    project = open_project(path)
    try:
        if not project.read_only:
            with project.transaction() as cursor:
                log(cursor, author, "restore project", file=source.name, kept=kept.name if kept else "")
    finally:
        project.close()
    return Restored(path, kept)


def _closed(path: Path) -> None:
    """See to it that no other process writes to a project; what is damaged may be.

    Raises:
        ProjectError: another process does.
    """
    try:
        # To be read: whatever is in its log stays there and goes along.
        with connected(path, read_only=True):
            pass
    except ProjectError as error:
        if is_held(str(error.__cause__)):
            raise


def _kept(path: Path) -> Path:
    """Give a project another name beside its own, under which it stays when another file takes its place."""
    kept = _put_dated(path, f"{path}.replaced-", datetime.now())
    if (logged := checkpoints.log_of(path)).exists():
        logged.replace(checkpoints.log_of(kept))
    return kept


_STAMP = "%Y%m%d-%H%M%S"


def _put_dated(made: Path, begin: str, moment: datetime, end: str = "") -> Path:
    """Give a file a name with a time, or with the next second for which the name is free."""
    while not put_new(made, path := Path(f"{begin}{moment:{_STAMP}}{end}")):
        moment += timedelta(seconds=1)
    return path


def _found(path: Path, why: str) -> Backup:
    known = path.stat()
    return Backup(path, datetime.fromtimestamp(known.st_mtime), known.st_size, why)
