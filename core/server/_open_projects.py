"""The projects that this server has open: one object of each for all sessions and requests, with a
door.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..errors import WorkbenchError
from ..records import close_interrupted, peek_members
from ..store import (
    Door,
    Project,
    close_projects,
    keep_backups,
    make_door,
    open_project,
    remove_door,
)

_log = logging.getLogger(__name__)


@dataclass
class OpenProject:
    """An open project and its door; None if no door could be made, or the project is not served."""

    project: Project
    door: Door | None = None


_changing = threading.Lock()
_held: dict[Path, OpenProject] = {}
_people_before: dict[Path, frozenset[str]] = {}
_address: str | None = None


def hold_project(path: Path) -> Project:
    """Return a project, opened at the first call; later calls in this process return the same
    object.

    Raises:
        InputError: the file does not exist.
        ProjectError: the project cannot be opened.
    """
    # Unlike Path.resolve, it returns a link that leads to itself, which is then refused with a
    # message.
    file = Path(os.path.realpath(path))
    with _changing:
        known = _held.get(file)
        if known is not None and not known.project.closed:
            return known.project
        project = open_project(path)
        try:
            close_interrupted(project)
        except WorkbenchError as error:
            # On a full disk everything can still be read.
            _log.warning("%s: interrupted jobs could not be closed: %s", path, error)
        project.checkpoint_when_idle()
        keep_backups(project)
        _held[file] = OpenProject(project, _make_own_door(project))
        return project


def list_held() -> list[OpenProject]:
    """Return every project that is open here."""
    with _changing:
        return [entry for entry in _held.values() if not entry.project.closed]


def projects_with_role(projects: Mapping[str, Path], identity: str) -> dict[str, Path]:
    """Return the projects in which a person has a role; on a shared server people see only these.

    Args:
        projects: files by name.
        identity: of their login, see `project.identity_of`.
    """
    return {
        name: path
        for name, path in projects.items()
        if identity in _read_people(Path(os.path.realpath(path)))
    }


def _read_people(file: Path) -> Collection[str]:
    """Return the identities with a role in a project; if it cannot be read now, the last known
    ones.
    """
    known = _held.get(file)
    try:
        if known is None or known.project.closed:
            with _changing:
                members = peek_members(file)
            if members is not None:
                return members
        _people_before[file] = frozenset(hold_project(file).members())
    except WorkbenchError as error:
        # The screens show the problem to people with a role.
        _log.warning("%s: roles could not be read: %s", file, error)
    return _people_before.get(file, frozenset())


def open_doors(address: str | None) -> None:
    """From now on, lead commands to an address if their project is open here.

    Args:
        address: of this server, as seen from this computer; None if it cannot be reached without
            further set-up.
    """
    global _address
    with _changing:
        _address = address
        for one in _held.values():
            if one.door is None and not one.project.closed:
                one.door = _make_own_door(one.project)


@contextmanager
def release_project(project: Project) -> Iterator[None]:
    """Surround a move of a project that may close it; then its door is removed. No project is
    opened meanwhile.
    """
    with _changing:
        try:
            yield
        finally:
            if project.closed:
                for file in [file for file, one in _held.items() if one.project.closed]:
                    if (door := _held.pop(file).door) is not None:
                        remove_door(file, door)


def close_all_projects() -> None:
    """Remove the doors and close every project, at the end of the server."""
    global _address
    with _changing:
        _address = None
        for one in _held.values():
            if one.door is not None:
                remove_door(one.project.path, one.door)
        _held.clear()
    close_projects()


def _make_own_door(project: Project) -> Door | None:
    # Every command that reads can open a read-only project itself, so it needs no door.
    return None if _address is None or project.read_only else make_door(project.path, _address)
