"""Opening and making the file of a project; one of an older version is upgraded, after a copy was put aside."""

from __future__ import annotations

import itertools
import logging
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from ..atomic_files import WorkingFolder, put_new, remove_leftovers, writing
from ..errors import InputError, ProjectError
from ..locations import is_reserved, projects_folder
from . import checkpoints, migrations
from .database import Connection, Database, connect, connected, disconnect, is_open
from .engine_errors import NAME_ANOTHER, check_kind, explained, first_line
from .project import Project
from .schema import refuse_newer

_log = logging.getLogger(__name__)

_NOT_IN_NAMES = re.compile(r'[/\\:*?"<>|\x00-\x1f]')
"""Characters that no file name has on Windows, so that a project can be passed on."""


def new_file(name: str) -> Path:
    """Where a new project of the projects folder is to lie, by the name that somebody typed; blanks become hyphens.

    Raises:
        InputError: it is empty, cannot be the name of a file, or another project has it, be it in other capitals.
    """
    words = "-".join(name.split())
    if not words:
        raise InputError("empty-name", "The new project has no name.", "Type a name.")
    if _NOT_IN_NAMES.search(words) or words.startswith("."):
        raise InputError(
            "invalid-name",
            f"Invalid project name '{words}'.",
            'Leave out / \\ : * ? " < > | and a leading dot.',
        )
    if is_reserved(words):
        raise InputError("reserved-name", f"Invalid project name '{words}': Windows reserves it.", "Type another name.")
    taken = {path.stem.casefold(): path.stem for path in projects_folder().glob("*.duckdb")}
    if there := taken.get(words.casefold()):
        raise InputError(
            "project-exists",
            f"The project '{there}' already exists.",
            "Choose it in the sidebar, or type another name.",
        )
    return projects_folder() / f"{words}.duckdb"


def create(path: Path) -> Project:
    """Make a new, empty project.

    Raises:
        InputError: there is a file already, or the folder cannot be written.
    """
    # A link that leads nowhere is a file of this name, too: a database would be made where it leads.
    if os.path.lexists(path):
        raise _exists(path)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with WorkingFolder(path.parent) as folder:
            try:
                with connected(made := folder / path.name, made_here=True) as connection:
                    migrations.upgrade(connection)
            except duckdb.Error as error:
                raise explained(path, error) from error
            if not put_new(made, path):
                raise _exists(path)
    return Project(Database(path, connect(path, made_here=True)))


def _exists(path: Path) -> InputError:
    return InputError(
        "file-exists", f"The file {path} already exists.", "Choose another name, or open the existing project."
    )


def open_project(path: Path, read_only: bool = False) -> Project:
    """Open a project; one from an older version is copied aside and upgraded.

    A file that must not be written, or that lies in such a folder, is opened to be read.

    Args:
        read_only: nothing is going to be written, so that other processes can read it at the same time.

    Raises:
        InputError: there is no such file.
        ProjectError: it is no project, is damaged, comes from a newer version, or another process holds it.
    """
    if not path.exists():
        raise InputError(
            "no-such-project",
            f"Project not found: {path}.",
            f"Create it: exam init --project {shlex.quote(str(path))}",
        )
    # Where this process has the file open already, its log is in use and nothing is amiss. Nor is it looked into: who
    # closes a file anywhere lets go of the lock that the process has on it.
    shared = is_open(path)
    if not shared:
        check_kind(path)
    read_only = read_only or not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
    had_log = checkpoints.has_log(path)
    for folder in path.parent, path.parent / "backups":
        remove_leftovers(folder)
    connection = connect(path, read_only)
    try:
        if missing := missing_steps(path, connection):
            disconnect(path, connection)
            with _beside(path) as working:
                _upgrade(path, missing[0], working)
            connection = connect(path, read_only)
        not_closed = "" if shared else checkpoints.not_closed(connection, path, had_log)
    except BaseException as error:
        disconnect(path, connection)
        if isinstance(error, duckdb.Error):
            raise explained(path, error) from error
        raise
    if not_closed:
        _log.warning("%s", not_closed)
    return Project(Database(path, connection, read_only), not_closed)


def missing_steps(path: Path, connection: Connection) -> list[str]:
    """Names of the migrations that a file needs, oldest first.

    Raises:
        ProjectError: it is no project, or one of a newer version.
    """
    seen = migrations.applied(connection)
    if not seen:
        raise ProjectError("not-a-project", f"{path} is a database, but not an Exam Workbench project.", NAME_ANOTHER)
    refuse_newer(path, seen)
    return list(migrations.names()[len(seen) :])


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A working folder for the copy of a project that is put aside before an upgrade."""
    try:
        with WorkingFolder(path.parent) as working:
            yield working
    except OSError as error:
        raise ProjectError(
            "no-copy-before-upgrade",
            f"Cannot upgrade {path}: its backup copy cannot be written ({error.strerror}).",
            "Free some disk space, or move the project to a writable folder.",
        ) from error


def _upgrade(path: Path, step: str, working: Path) -> None:
    copy = working / path.name
    try:
        # Closing writes the log into the file, so that the copy is whole.
        with connected(path):
            pass
        shutil.copyfile(path, copy)
    except ProjectError as error:
        raise ProjectError(error.code, f"{path} must be upgraded before use. {error.message}", error.hint) from error
    with connected(path) as connection:
        if not missing_steps(path, connection):
            # Another process did it meanwhile: the backup of how it was before is its own, and stays.
            return
        # A project that was restored, or copied back, is upgraded again.
        named = f"{path.name}.before-{step}"
        numbered = itertools.chain([named], (f"{named}-{number}" for number in itertools.count(2)))
        backup = next(one for one in map(path.with_name, numbered) if put_new(copy, one))
        try:
            migrations.upgrade(connection)
        except duckdb.Error as error:
            raise ProjectError(
                "upgrade-failed",
                f"Cannot upgrade {path}: {first_line(error)}.",
                f"Nothing is lost: {backup.name} holds the project before the upgrade.",
            ) from error
