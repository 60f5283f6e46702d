"""The projects that this server has open: one object of each for all sessions and requests, with a door beside it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import WorkbenchError
from ..project import (
    Door,
    Project,
    close_interrupted,
    close_projects,
    keep_backups,
    make_door,
    open_project,
    peek_members,
    remove_door,
)

_log = logging.getLogger(__name__)


@dataclass
class Held:
    """An open project, and the door that leads to it; None where no door could be made, or nobody serves it."""

    project: Project
    door: Door | None = None


_changing = threading.Lock()
_held: dict[Path, Held] = {}
_people_before: dict[Path, frozenset[str]] = {}
_address: str | None = None


def hold(path: Path) -> Project:
    """A project, opened at the first call; from then on the same object for everybody in this process.

    Raises:
        InputError: there is no such file.
        ProjectError: it cannot be opened.
    """
    # Unlike Path.resolve, it returns a link that leads to itself, which is refused with a sentence when it is opened.
    file = Path(os.path.realpath(path))
    with _changing:
        known = _held.get(file)
        if known is not None and not known.project.closed:
            return known.project
        project = open_project(path)
        try:
            close_interrupted(project)
        except WorkbenchError as error:
            # On a full disk everything can be read all the same.
            _log.warning("%s: interrupted jobs could not be closed: %s", path, error)
        project.checkpoint_when_idle()
        keep_backups(project)
        _held[file] = Held(project, _door(project))
        return project


def held() -> list[Held]:
    """Every project that is open here."""
    with _changing:
        return [one for one in _held.values() if not one.project.closed]


def with_role(projects: Mapping[str, Path], identity: str) -> dict[str, Path]:
    """Those of some projects in which somebody has a role: on a shared server all that they are told of.

    Args:
        projects: files by name.
        identity: what their login is known by, see `project.identity_of`.
    """
    return {name: path for name, path in projects.items() if identity in _people(Path(os.path.realpath(path)))}


def _people(file: Path) -> Collection[str]:
    """Identities of those who have a role in a project; where it cannot be asked now, those who had one before."""
    known = _held.get(file)
    try:
        if known is None or known.project.closed:
            with _changing:
                found = peek_members(file)
            if found is not None:
                return found
        _people_before[file] = frozenset(hold(file).members())
    except WorkbenchError as error:
        # The screen of whoever has a role says what is wrong with it.
        _log.warning("%s: roles could not be read: %s", file, error)
    return _people_before.get(file, frozenset())


def open_doors(address: str | None) -> None:
    """From now on commands whose project is open here find their way to an address.

    Args:
        address: of this server, as this computer reaches it; None where it cannot be reached without more ado.
    """
    global _address
    with _changing:
        _address = address
        for one in _held.values():
            if one.door is None and not one.project.closed:
                one.door = _door(one.project)


def let_go() -> None:
    """Take the doors away and close every project, for the end of the server."""
    global _address
    with _changing:
        _address = None
        for one in _held.values():
            if one.door is not None:
                remove_door(one.project.path, one.door)
        _held.clear()
    close_projects()


def _door(project: Project) -> Door | None:
    # A project that can only be read is open to every command that reads, without anybody's help.
    return None if _address is None or project.read_only else make_door(project.path, _address)
