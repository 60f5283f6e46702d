"""Who has a role in a project that this process does not have open: looked up without opening it for work."""

from __future__ import annotations

from pathlib import Path

import duckdb

from ..errors import WorkbenchError
from .acting import MEMBERS
from .checkpoints import log_of
from .database import connected, is_open

_seen: dict[Path, tuple[tuple[int, ...], frozenset[str]]] = {}
"""What was found in each file, with what the file looked like then."""


def peek_members(path: Path) -> frozenset[str] | None:
    """Identities of those who have a role in a project; as they were seen last where another process holds it now.

    The file is read again only where it was written since. Nobody may open it in this process meanwhile: whoever closes
    a file anywhere lets go of the lock that the process has on it.

    Returns:
        Nobody for a file that is no project, is of a version without roles, or was never to be read. None where this
        process has it open: then the project itself is to be asked.
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
    """When the file and its log were written, and how long they are."""
    found: list[int] = []
    for file in path, log_of(path):
        if file.exists():
            about = file.stat()
            found += [about.st_mtime_ns, about.st_size]
    return tuple(found)
