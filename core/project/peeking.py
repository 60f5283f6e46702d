"""Identities with a role in a project that this process does not have open, read without opening it for work."""

from __future__ import annotations

from pathlib import Path

import duckdb

from ..errors import WorkbenchError
from .acting import MEMBERS
from .checkpoints import log_of
from .database import connected, is_open

_seen: dict[Path, tuple[tuple[int, ...], frozenset[str]]] = {}
"""The identities of each file, with its state when it was read."""


def peek_members(path: Path) -> frozenset[str] | None:
    """Return the identities with a role in a project; if another process holds it now, those of the last read.

    The file is read again only if it changed. This process must not open it meanwhile: closing the file
    would drop the lock that the process has on it.

    Returns:
        An empty set for a file that is not a project, has a version without roles, or was never readable. None if
        this process has it open; ask the project itself then.
    """
    if is_open(path):
        return None
    before = _seen.get(path)
    try:
        looks = _looks(path)
        if before is not None and before[0] == looks:
            return before[1]
        with connected(path, read_only=True, patience=0) as connection:
            rows = connection.execute(MEMBERS).fetchall()
    except (WorkbenchError, duckdb.Error, OSError):
        return before[1] if before is not None else frozenset()
    found = frozenset(str(identity) for identity, _, role, _ in rows if role is not None)
    _seen[path] = looks, found
    return found


def _looks(path: Path) -> tuple[int, ...]:
    """Return the modification times and sizes of the file and its log."""
    found: list[int] = []
    for file in path, log_of(path):
        if file.exists():
            about = file.stat()
            found += [about.st_mtime_ns, about.st_size]
    return tuple(found)
