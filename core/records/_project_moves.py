"""Renaming, removing and restoring a project: its file moves with its copies and backups."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ..atomic_files import explain_write_errors, sync_to_disk
from ..errors import InputError, ProjectError, check_rules
from ..locations import projects_folder
from ..store import (
    FOLDER,
    STAMP,
    Project,
    check_name_free,
    find_backups,
    has_log,
    is_open,
    log_action,
    new_file,
    open_project,
)
from ._job_records import recorded_jobs

REMOVED = "removed"
"""Name of the folder of removed projects in the projects folder."""
_FOLDER = re.compile(r"(.+)-(\d{8}-\d{6})", re.DOTALL)


@dataclass(frozen=True)
class RemovedProject:
    """A removed project.

    Args:
        name: its name, which it gets back.
        removed_at: local time.
        path: its file in a folder of its own.
    """

    name: str
    removed_at: datetime
    path: Path


def rename_project(project: Project, name: str, author: str) -> Path:
    """Close a project, give it another name in the same folder, and return the new path. Its
    backups get the name too.

    Raises:
        NotAllowed: the person is not an organizer.
        InputError: invalid or taken name; the project may not be moved, or its folder cannot be
            written.
        ProjectError: a job is running, or the project is in use. Nothing was changed.
    """
    project.require("organize", author=author)
    target = new_file(name)
    path = _close_for_move(project)
    _move_files(path, target)
    _log_in_closed_project(target, author, "rename project", name=path.stem, to=target.stem)
    return target


def remove_project(project: Project, author: str) -> RemovedProject:
    """Close a project and move it, with its copies and backups, into a folder from which it can be
    restored.

    Raises:
        NotAllowed, InputError, ProjectError: as in `rename_project`.
    """
    project.require("organize", author=author)
    path, removed_at = _close_for_move(project), datetime.now().replace(microsecond=0)
    folder = path.parent / REMOVED / f"{path.stem}-{removed_at:{STAMP}}"
    with explain_write_errors(folder):
        folder.mkdir(parents=True)
    _move_files(path, folder / path.name)
    _log_in_closed_project(folder / path.name, author, "remove project", name=path.stem)
    return RemovedProject(path.stem, removed_at, folder / path.name)


def removed_projects() -> list[RemovedProject]:
    """Return the removed projects of the projects folder, the latest first."""
    projects = [
        RemovedProject(path.stem, datetime.strptime(named[2], STAMP), path)
        for path in (projects_folder() / REMOVED).glob("*/*.duckdb")
        if (named := _FOLDER.fullmatch(path.parent.name)) and named[1] == path.stem
    ]
    return sorted(projects, key=lambda one: one.removed_at, reverse=True)


def restore_removed(removed: RemovedProject, author: str, identity: str | None = None) -> Path:
    """Move a removed project back to its place, with its copies and backups, and return its path.

    Args:
        identity: of the login; None without a login.

    Raises:
        NotAllowed: the person is not an organizer of the removed project.
        InputError: another project has its name now, or the folder cannot be written.
        ProjectError: the file cannot be opened.
    """
    check_name_free(removed.name)
    with closing(open_project(removed.path)) as project:
        if identity is not None:
            project.acting_as(identity).require("organize", author=author)
    target = projects_folder() / removed.path.name
    _move_files(removed.path, target)
    for emptied in (removed.path.parent / FOLDER, removed.path.parent):
        if emptied.is_dir() and not any(emptied.iterdir()):
            emptied.rmdir()
    _log_in_closed_project(target, author, "restore removed project", name=removed.name)
    return target


def _close_for_move(project: Project) -> Path:
    """Close a project that may be moved, and return its path."""
    path, named = project.path, os.environ.get("EXAM_PROJECT")
    reasons = {
        "it is outside the projects folder": path.is_symlink()
        or path.parent.resolve() != projects_folder().resolve(),
        "EXAM_PROJECT names it": bool(named) and Path(str(named)).resolve() == path.resolve(),
        "it is open read-only": project.read_only,
    }
    if reason := next((reason for reason, applies in reasons.items() if applies), None):
        raise InputError(
            "project-not-movable",
            f"Cannot rename or remove {path}: {reason}.",
            "Close the program, then move the file.",
        )
    for state in ("running", "waiting"):
        if jobs := recorded_jobs(project, state=state):
            raise ProjectError(
                "job-running",
                f"A job of this project is {state}: {jobs[0].name}.",
                "Wait until it ends, or cancel it.",
            )
    closed = project.close(when_unused=True) and not is_open(path)
    check_rules(
        (
            not closed,
            ProjectError(
                "project-busy", f"{path.name} is in use by other work.", "Try again in a minute."
            ),
        ),
        (
            has_log(path),
            ProjectError(
                "project-busy",
                f"The latest changes of {path.name} are still in its log.",
                "Free some disk space, then try again.",
            ),
        ),
    )
    return path


def _move_files(path: Path, target: Path) -> None:
    """Rename the file of a closed project, its copies from before an upgrade or restore, and its
    backups.

    The file itself is last, so that an interruption leaves a complete project.

    Raises:
        InputError: a file cannot be moved, or its new name is taken. Nothing was moved.
    """
    copies = re.compile(rf"{re.escape(path.name)}(\.(?:before|replaced)-[^.]*(?:\.wal)?)")
    moves = {
        one: target.with_name(f"{target.name}{named[1]}")
        for one in path.parent.iterdir()
        if (named := copies.fullmatch(one.name))
    }
    for backup in find_backups(path):
        moves[backup.path] = (
            target.parent / FOLDER / f"{target.stem}{backup.path.name.removeprefix(path.stem)}"
        )
    with explain_write_errors(target):
        if find_backups(path):
            (target.parent / FOLDER).mkdir(exist_ok=True)
        _rename_all({**moves, path: target})


def _rename_all(moves: Mapping[Path, Path]) -> None:
    """Rename files; undo all if one fails."""
    moved: list[tuple[Path, Path]] = []
    try:
        for source, target in moves.items():
            if os.path.lexists(target):
                raise InputError(
                    "file-exists", f"The file {target} already exists.", "Choose another name."
                )
            source.rename(target)
            moved.append((source, target))
    except BaseException:
        for source, target in reversed(moved):
            target.rename(source)
        raise
    for folder in {one.parent for move in moved for one in move}:
        sync_to_disk(folder)


def _log_in_closed_project(path: Path, author: str, act: str, **detail: Any) -> None:
    """Log an act in a project that is closed."""
    with closing(open_project(path)) as project, project.transaction() as cursor:
        log_action(cursor, author, act, **detail)
