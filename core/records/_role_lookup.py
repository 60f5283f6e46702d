"""The identities with a role in a project, read without keeping the project open."""

from __future__ import annotations

from pathlib import Path

import duckdb

from ..errors import WorkbenchError
from ..store import MEMBERS, connected, is_open, log_of

_seen: dict[Path, tuple[tuple[int, ...], frozenset[str]]] = {}
"""By file, its state when it was read, and the identities in it."""


def peek_members(path: Path) -> frozenset[str] | None:
    """Return the identities with a role in a project that this process does not have open.

    The file is read again only if it changed. If another process holds it now, the result is that of the last read.
    This process must not open the file meanwhile, because closing it here would drop the lock on it.

    Returns:
        An empty set for a file that is not a project, has a version without roles, or was never readable. None if
        this process has the project open; ask the project itself then.
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
