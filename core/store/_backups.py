"""Backups of a project while people work in it, their schedule, and their restoration.

A process must not copy a file that it has open. When it closes the file after reading, the system
drops its lock, and another process could then write to it. So a separate process copies the file
and its log, and changes wait until it has read them.
"""

from __future__ import annotations

import errno
import glob
import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import duckdb

from ..atomic_files import (
    WorkingFolder,
    explain_write_errors,
    move_into_place,
    put_new,
    sync_to_disk,
)
from ..errors import InputError, ProjectError, WorkbenchError
from ._database import (
    RepeatingThread,
    database_connection,
    has_log,
    is_open,
    log_of,
    remove_open_mark,
    unclosed_warning,
)
from ._engine import check_kind, first_line, is_held
from ._opening import missing_steps, open_project
from ._project import Project, log_action, log_readonly_action, put_setting, read_setting
from ._sql_values import quoted_name

FOLDER = "backups"
"""Name of the folder next to a project for its backups, if no other folder is given."""

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
        why: its origin: backup, before an upgrade, or before a restore.
    """

    path: Path
    made_at: datetime
    size: int
    why: str = "backup"


@dataclass(frozen=True)
class Restored:
    """The result of a restore.

    Args:
        path: the project.
        kept: the earlier file under its new name; None if the project was missing.
    """

    path: Path
    kept: Path | None


def back_up_project(
    project: Project, target: Path | None = None, keep: int | None = None, author: str = ""
) -> Backup:
    """Copy a project as it is at one moment, then open the copy and read all of it. People can
    continue to work.

    Args:
        target: a new file whose name ends with .duckdb, or a folder, which is created. None means
            the folder `backups` next to the project. In a folder the file is named after the
            project and the time.
        keep: number of backups of this project to keep in that folder; None keeps all.
        author: the person for the log; the empty text writes no entry.

    Raises:
        NotAllowed: the role of the person does not allow an export of everything.
        InputError: the target exists already or cannot be written, or `keep` is less than 1.
        ProjectError: the copy is incomplete; it is removed.
    """
    if keep is not None and keep < 1:
        raise InputError(
            "backups-out-of-range", f"Invalid number of backups to keep: {keep}.", "Use 1 or more."
        )
    of_file = target is not None and target.suffix == ".duckdb" and not target.is_dir()
    folder = target.parent if of_file and target else target or project.path.parent / FOLDER
    file_taken = InputError(
        "file-exists", f"The file {target} already exists.", "Name a new file or a folder."
    )
    with (
        project.permit("take everything out", author=author or None),
        explain_write_errors(target or folder),
    ):
        if of_file and target and target.exists():
            raise file_taken
        folder.mkdir(parents=True, exist_ok=True)
        with WorkingFolder(folder) as working:
            temporary = working / f"{project.name}.duckdb"
            _copy_project(project, temporary)
            with database_connection(temporary) as copy:
                # No other process has the copy open, so its log can be written into the file.
                remove_open_mark(copy)
            verify_backup(temporary)
            earlier = find_backups(project.path, folder)
            if not of_file or target is None:
                # The name must sort as the newest, even if the clock was set back.
                latest = max(
                    [datetime.now(), *(one.made_at + timedelta(seconds=1) for one in earlier)]
                )
                path = _rename_dated(temporary, f"{folder / project.name}-", latest, ".duckdb")
            elif put_new(temporary, path := target):
                keep = None
            else:
                raise file_taken
        for old in earlier[keep - 1 :] if keep else ():
            old.path.unlink(missing_ok=True)
        if author:
            log_readonly_action(project, author, "export backup", file=path.name)
        return _backup_at(path, "backup")


def _copy_project(project: Project, finished: Path) -> None:
    source = project.path.resolve()
    with project.unchanging():
        pairs = [(source, finished)]
        if has_log(source):
            pairs.append((log_of(source), log_of(finished)))
        command = [
            sys.executable,
            "-I",
            "-S",
            "-c",
            _COPY,
            *(str(path) for pair in pairs for path in pair),
        ]
        copied = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    if copied.returncode:
        code = (copied.stderr.split() or [""])[-1]
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


def verify_backup(path: Path) -> None:
    """Read a whole backup to check that it is a complete project of this or an older version;
    change nothing.

    Raises:
        InputError: unknown file.
        ProjectError: the file is not a project, is damaged, or comes from a newer version.
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
    if has_log(path):
        raise ProjectError(
            "backup-with-log",
            f"{path} is not a backup: it is a copy of a project in use, with its log file.",
            f"Open it once to read the log: exam status --project {shlex.quote(str(path))}.",
        )
    with database_connection(path, read_only=True) as connection:
        missing_steps(path, connection)
        # Other work in this process needs the processor too.
        connection.execute("SET threads = 1")
        if warning := unclosed_warning(connection, path, had_log=False):
            raise ProjectError("not-a-backup", warning, "Choose a backup made by exam backup.")
        for table, reason in unreadable_tables(connection):
            raise ProjectError(
                "damaged-backup",
                f"{path} is damaged: table {table} cannot be read ({reason[:200]}).",
                "Choose another backup: exam backup --list.",
            )


def unreadable_tables(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, str]]:
    """Read every block of a database; yield each unreadable table with the message of DuckDB."""
    for (table,) in cursor.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary"
        " ORDER BY table_name"
    ).fetchall():
        try:
            # A sum over all columns reads them all, and DuckDB checks the checksum of each block.
            cursor.execute(f"SELECT bit_xor(hash(t)) FROM {quoted_name(table)} t").fetchall()
        except duckdb.Error as error:
            yield table, first_line(error)


def find_backups(path: Path, folder: Path | None = None) -> list[Backup]:
    """Return the backups of a project in a folder, newest first by the time in their names.

    Args:
        path: the project.
        folder: None means `backups` next to the project.
    """
    named = re.compile(rf"{re.escape(path.stem)}-(\d{{8}}-\d{{6}})(?:-\d+)?\.duckdb")
    copies = []
    for copy in filter(Path.is_file, (folder or path.parent / FOLDER).glob("*.duckdb")):
        with suppress(ValueError):
            if stamped := named.fullmatch(copy.name):
                copies.append(
                    Backup(copy, datetime.strptime(stamped[1], STAMP), copy.stat().st_size)
                )
    # Earlier versions numbered the backups of the same second.
    return sorted(
        copies, key=lambda copy: (copy.made_at, len(copy.path.name), copy.path.name), reverse=True
    )


def list_earlier_copies(path: Path) -> list[Backup]:
    """Return the copies next to a project from before an upgrade or a restore, newest first."""
    kinds = {".before-": "before an upgrade", ".replaced-": "before a restore"}
    copies = [
        _backup_at(copy, why)
        for mark, why in kinds.items()
        for copy in path.parent.glob(f"{glob.escape(path.name + mark)}*")
        if copy.is_file() and copy.suffix != ".wal"
    ]
    return sorted(copies, key=lambda copy: copy.made_at, reverse=True)


def restore_backup(source: Path, path: Path, author: str) -> Restored:
    """Replace a project by a backup; the earlier file is kept next to it under a dated name.

    Args:
        source: a backup; it is not changed.
        path: the project, which may be damaged or missing.

    Raises:
        InputError: unknown backup, the backup is the project itself, or the folder cannot be
            written.
        ProjectError: the backup is incomplete, or the project is open somewhere. Nothing was
            changed.
    """
    verify_backup(source)
    if path.exists() and (not path.is_file() or path.samefile(source)):
        raise InputError(
            "invalid-restore-place",
            f"Cannot restore a backup to {path}.",
            "Name the project's own file.",
        )
    if is_open(path):
        raise ProjectError(
            "project-in-use",
            f"{path} is open in this process.",
            "Close the app, then restore the backup.",
        )
    kept_path: Path | None = None
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with WorkingFolder(path.parent) as working:
            temporary = working / path.name
            shutil.copyfile(source, temporary)
            sync_to_disk(temporary)
            if path.exists():
                _check_unused(path)
                kept_path = _rename_dated(path, f"{path}.replaced-", datetime.now())
                if log_of(path).exists():
                    log_of(path).replace(log_of(kept_path))
            move_into_place(temporary, path, private=True)
    # Opening upgrades an older backup to this version, after a copy of its own.
    with closing(open_project(path)) as project:
        log_readonly_action(
            project,
            author,
            "restore project",
            file=source.name,
            kept=kept_path.name if kept_path else "",
        )
    return Restored(path, kept_path)


def _check_unused(path: Path) -> None:
    """Check that no other process writes to a project, which may be damaged.

    Raises:
        ProjectError: another process has it open.
    """
    try:
        # Read-only, so that its log stays and moves with it.
        with database_connection(path, read_only=True):
            pass
    except ProjectError as error:
        if is_held(str(error.__cause__)):
            raise


STAMP = "%Y%m%d-%H%M%S"
"""Form of a time in the name of a copy."""


def _rename_dated(finished: Path, begin: str, moment: datetime, end: str = "") -> Path:
    """Rename a file after a time, or after the next second whose name is free; return its path."""
    while not put_new(finished, path := Path(f"{begin}{moment:{STAMP}}{end}")):
        moment += timedelta(seconds=1)
    return path


def _backup_at(path: Path, why: str) -> Backup:
    known = path.stat()
    return Backup(path, datetime.fromtimestamp(known.st_mtime), known.st_size, why)


SETTING_OF_BACKUPS = "backups"
"""Name of the setting that holds a schedule, as JSON."""
MOST_HOURS, MOST_KEPT = 24 * 366, 10_000
LOOK = 60.0
"""Seconds between two checks for a due backup."""
LAST = 5.0
"""Seconds to wait for a running backup when the project is closed."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Schedule:
    """How often backups are made while the app has a project open.

    Args:
        hours: hours between two backups; 0 for no backups.
        keep: how many backups are kept; older ones are deleted.

    Raises:
        InputError: a number is out of range.
    """

    hours: int = 0
    keep: int = 7

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("hours", self.hours, 0, MOST_HOURS),
            ("keep", self.keep, 1, MOST_KEPT),
        ):
            if type(value) is not int or not least <= value <= most:
                raise InputError(
                    "backups-out-of-range",
                    f"Invalid backup schedule: {name} is {value}.",
                    f"Use a whole number from {least} to {most:,}.",
                )


def read_schedule(text: str) -> Schedule:
    """Read a schedule from the JSON of its setting.

    Raises:
        ValueError, TypeError, InputError: invalid schedule.
    """
    return Schedule(**json.loads(text))


def find_schedule(project: Project) -> Schedule:
    """Return the schedule of a project; by default, backups are off."""
    text = read_setting(project, SETTING_OF_BACKUPS)
    return Schedule() if text is None else read_schedule(text)


def set_backup_schedule(project: Project, schedule: Schedule, author: str) -> bool:
    """Set the schedule of backups; return whether it changed."""
    if find_schedule(project) == schedule:
        return False
    with project.transaction() as cursor:
        put_setting(cursor, SETTING_OF_BACKUPS, json.dumps(asdict(schedule)))
        log_action(cursor, author, "set backups", **asdict(schedule))
    return True


def is_backup_due(schedule: Schedule, newest: datetime | None, now: datetime) -> bool:
    """Return whether a backup is due.

    Args:
        newest: local time of the newest backup; None without backups. A time in the future is
            ignored, because the clock was set back.
        now: local time.
    """
    if not schedule.hours:
        return False
    return newest is None or newest > now or now - newest >= timedelta(hours=schedule.hours)


class ScheduledBackups:
    """The backups of a project, which a thread makes when they are due until the project is closed.

    Args:
        project: the open project. The thread has only a weak reference to it.

    Attributes:
        failed: why the last backup failed; empty if it succeeded.
    """

    def __init__(self, project: Project) -> None:
        self.failed = ""
        self._project = weakref.ref(project)
        self._version: int | None = None
        self._thread = RepeatingThread(self.back_up_if_due, LOOK, "backups")
        project.when_closed(partial(self._thread.end, LAST))

    def back_up_if_due(self, now: datetime | None = None) -> Backup | None:
        """Make a backup if it is due and the project changed since the last backup of this thread.

        Return the backup; None without it.

        Args:
            now: local time; None means the clock's.
        """
        now, project = now or datetime.now(), self._project()
        if project is None:
            return None
        try:
            schedule = find_schedule(project)
            newest = next((one.made_at for one in find_backups(project.path)), None)
            if not is_backup_due(schedule, newest, now) or (
                newest is not None and project.version() == self._version
            ):
                return None
            version = project.version()
            backup = back_up_project(project, keep=schedule.keep)
        except WorkbenchError as error:
            self.failed = f"{now:%Y-%m-%d %H:%M}: {error}"
            _log.warning("%s: scheduled backup failed: %s", project.path, error)
            return None
        self.failed, self._version = "", version
        return backup


_keeping: weakref.WeakKeyDictionary[Project, ScheduledBackups] = weakref.WeakKeyDictionary()


def keep_backups(project: Project) -> None:
    """Make the scheduled backups of a project from now until it is closed."""
    if not project.read_only and project not in _keeping:
        _keeping[project] = ScheduledBackups(project)


def last_failure(project: Project) -> str:
    """Return the time and the error of the last scheduled backup; empty if it did not fail."""
    found = _keeping.get(project)
    return found.failed if found else ""
