"""Creating and opening the file of a project, and the door file next to an open one.

An older version is copied, then upgraded. Through the door, commands of its owner find the server
that has it open.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import shlex
import shutil
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb

from ..atomic_files import (
    WorkingFolder,
    create_file,
    explain_write_errors,
    put_new,
    remove_leftovers,
)
from ..errors import InputError, ProjectError, check_not_empty, check_rules
from ..locations import is_reserved, projects_folder
from ..text import numbered_names, one_line, quote_name
from ._database import (
    Connection,
    Database,
    close_connection,
    database_connection,
    has_log,
    is_open,
    open_connection,
    unclosed_warning,
)
from ._engine import check_kind, explain_opening_error, first_line
from ._project import Project
from .migrations import applied_migrations, apply_migrations, migration_names, refuse_newer

LONGEST_DOOR = 4096
"""Largest size of a door file in bytes."""


@dataclass(frozen=True)
class Door:
    """The address of the server that has a project open, with an access token.

    Args:
        address: such as http://127.0.0.1:8501, without a slash at the end.
        token: admits anyone who can read the door file.
        process: process id of the server.
        project: path of the project's file when it was opened.
        file: identity of that file on this computer, independent of its name.
    """

    address: str
    token: str
    process: int
    project: str
    file: str


def door_file(path: Path) -> Path:
    """Return the path of a project's door: next to its file, after links are resolved."""
    # Unlike Path.resolve, it accepts a link that leads to itself. Opening it then fails with a
    # clear error.
    file = Path(os.path.realpath(path))
    return file.with_name(f"{file.name}.door")


def make_door(path: Path, address: str) -> Door | None:
    """Create the door of a project that this process has open; only its owner can read the file.

    Args:
        path: the project's file.
        address: of the server, reachable from this computer.

    Returns:
        None if the folder cannot be written; commands then report who has the project open.
    """
    file, project = door_file(path), path.resolve()
    door = Door(
        address.rstrip("/"),
        secrets.token_urlsafe(32),
        os.getpid(),
        str(project),
        _file_identity(project),
    )
    try:
        with WorkingFolder(file.parent) as folder:
            temporary = folder / file.name
            temporary.write_text(json.dumps(asdict(door)), encoding="utf-8")
            temporary.chmod(0o600)
            # Replaces the door of a server that was killed.
            temporary.replace(file)
    except OSError as error:
        _log.warning("%s: commands cannot be forwarded to this server: %s", path, error.strerror)
        return None
    return door


def remove_door(path: Path, door: Door) -> None:
    """Remove a door that this process made, unless another server has replaced it."""
    if _read_door(door_file(path)) == door:
        door_file(path).unlink(missing_ok=True)


def find_door(path: Path) -> Door | None:
    """Return the door of a project; None if it is missing or untrusted, or its process has ended.

    A file that belongs to or can be written by another user is not trusted: it could lead to a
    server of theirs. A door that was copied with its project belongs to the original, not to the
    copy.
    """
    file = door_file(path)
    try:
        about = file.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(about.st_mode) or (
        os.name != "nt" and (about.st_uid != os.getuid() or about.st_mode & 0o077)
    ):
        return None
    door = _read_door(file)
    return (
        door
        if door is not None and _leads_to(door, path.resolve()) and _is_running(door.process)
        else None
    )


def _file_identity(file: Path) -> str:
    """Return the identity of a file (device and inode), which a move keeps and a copy does not."""
    try:
        about = file.stat()
    except OSError:
        return ""
    return f"{about.st_dev}:{about.st_ino}"


def _leads_to(door: Door, file: Path) -> bool:
    """Return whether a door belongs to a project: by the file's identity, or by its path if the
    file was replaced.
    """
    return door.project == str(file) or door.file == _file_identity(file) != ""


def _read_door(file: Path) -> Door | None:
    # Imported here, because most commands find no door.
    import msgspec

    try:
        with file.open("rb") as opened:
            door = msgspec.json.decode(opened.read(LONGEST_DOOR), type=Door)
    except (OSError, ValueError):
        return None
    return door if door.process > 0 else None


def _is_running(process: int) -> bool:
    if os.name == "nt":
        # On Windows signal 0 would end the process. A request shows whether it runs.
        return True
    try:
        os.kill(process, 0)
    except (OSError, OverflowError) as error:
        # Other errors concern a process that runs for another user.
        return not isinstance(error, ProcessLookupError | OverflowError)
    return True


_log = logging.getLogger(__name__)

_NOT_IN_NAMES = re.compile(
    r'[/\\:*?"<>|\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]'
)
"""Characters that Windows forbids in file names or that screens do not show, such as changes of
direction.
"""
LONGEST_NAME = 200
"""Most bytes of a project's name. File systems allow 255, and the names of copies have a step or a
time at the end.
"""


def new_file(name: str) -> Path:
    """Return the path of a new project in the projects folder for a typed name; blanks become
    hyphens.

    Raises:
        InputError: empty, invalid or too long file name, or an existing project has this name,
            ignoring case.
    """
    words = check_not_empty(
        "empty-name", "The new project has no name.", "Type a name.", "-".join(name.split())
    )
    length = len(words.encode(errors="replace"))
    check_rules(
        (
            bool(_NOT_IN_NAMES.search(name.strip())) or words.startswith("."),
            InputError(
                "invalid-name",
                f"Invalid project name {quote_name(words)}.",
                'Leave out / \\ : * ? " < > |, control characters and a leading dot.',
            ),
        ),
        (
            length > LONGEST_NAME,
            InputError(
                "name-too-long",
                f"The project name has {length:,} bytes ({one_line(words, 40)}).",
                f"Use at most {LONGEST_NAME}. A letter outside ASCII has two to four.",
            ),
        ),
        (
            is_reserved(words),
            InputError(
                "reserved-name",
                f"Invalid project name '{words}': Windows reserves it.",
                "Type another name.",
            ),
        ),
    )
    check_name_free(words)
    return projects_folder() / f"{words}.duckdb"


def check_name_free(name: str) -> None:
    """Check that no project of the projects folder has a name, ignoring case.

    Raises:
        InputError: the name is taken.
    """
    taken = {path.stem.casefold(): path.stem for path in projects_folder().glob("*.duckdb")}
    if existing := taken.get(name.casefold()):
        raise InputError(
            "project-exists",
            f"The project '{existing}' already exists.",
            "Choose it in the sidebar, or type another name.",
        )


def create_project(path: Path) -> Project:
    """Create an empty project.

    Raises:
        InputError: the file exists, or the folder cannot be written.
    """
    path_taken = InputError(
        "file-exists",
        f"The file {path} already exists.",
        "Choose another name, or open the existing project.",
    )
    with explain_write_errors(path), create_file(path, path_taken) as made:
        try:
            with database_connection(made, made_here=True) as connection:
                apply_migrations(connection)
        except duckdb.Error as error:
            raise explain_opening_error(path, error) from error
    return Project(Database(path, open_connection(path, made_here=True)))


def open_project(path: Path, read_only: bool = False) -> Project:
    """Open a project; a project of an older version is copied, then upgraded.

    A file is opened for reading if the file or its folder cannot be written.

    Args:
        read_only: opens for reading, so that other processes can read it at the same time.

    Raises:
        InputError: unknown file.
        ProjectError: the file is not a project, is damaged, comes from a newer version, or is in
            use elsewhere.
    """
    if not path.exists():
        raise InputError(
            "no-such-project",
            f"Project not found: {path}.",
            f"Create it: exam init --project {shlex.quote(str(path))}",
        )
    # If this process has the file open, its log is in use. The file must not be read here either:
    # closing it would drop the lock that the process has on it.
    shared = is_open(path)
    if not shared:
        check_kind(path)
    read_only = read_only or not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
    had_log = has_log(path)
    for folder in path.parent, path.parent / "backups":
        remove_leftovers(folder)
    connection = open_connection(path, read_only)
    try:
        if missing := missing_steps(path, connection):
            close_connection(path, connection)
            _upgrade_project(path, missing[0])
            connection = open_connection(path, read_only)
        warning = "" if shared else unclosed_warning(connection, path, had_log)
    except BaseException as error:
        close_connection(path, connection)
        if isinstance(error, duckdb.Error):
            raise explain_opening_error(path, error) from error
        raise
    if warning:
        _log.warning("%s", warning)
    return Project(Database(path, connection, read_only), warning)


def missing_steps(path: Path, connection: Connection) -> list[str]:
    """Return the names of the migrations that a file needs, oldest first.

    Raises:
        ProjectError: a newer version wrote the file.
    """
    seen = applied_migrations(connection)
    refuse_newer(path, seen)
    return list(migration_names()[len(seen) :])


def _upgrade_project(path: Path, step: str) -> None:
    """Copy a project, then apply the migrations from a step on."""
    try:
        with WorkingFolder(path.parent) as working:
            _upgrade_with_copy(path, step, working / path.name)
    except OSError as error:
        raise ProjectError(
            "no-copy-before-upgrade",
            f"Cannot upgrade {path}: its backup copy cannot be written ({error.strerror}).",
            "Free some disk space, or move the project to a writable folder.",
        ) from error


def _upgrade_with_copy(path: Path, step: str, copy: Path) -> None:
    try:
        # Closing writes the log into the file, so that the copy is complete.
        with database_connection(path):
            pass
        shutil.copyfile(path, copy)
    except ProjectError as error:
        raise ProjectError(
            error.code, f"{path} must be upgraded before use. {error.message}", error.hint
        ) from error
    with database_connection(path) as connection:
        if not missing_steps(path, connection):
            # Another process has upgraded it meanwhile, and made its own backup.
            return
        # A restored or copied project may be upgraded a second time.
        numbered = map(path.with_name, numbered_names(f"{path.name}.before-{step}"))
        backup = next(one for one in numbered if put_new(copy, one))
        try:
            apply_migrations(connection)
        except duckdb.Error as error:
            raise ProjectError(
                "upgrade-failed",
                f"Cannot upgrade {path}: {first_line(error)}.",
                f"Nothing is lost: {backup.name} holds the project before the upgrade.",
            ) from error
