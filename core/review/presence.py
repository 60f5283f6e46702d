"""Who is in which query now: kept in the memory of the server, as it is of no use a minute later."""

from __future__ import annotations

import threading
import time
from pathlib import Path

PRESENT = 45.0
"""Seconds since somebody was seen in a query last, within which they are taken to be there still."""


class Presence:
    """Who was seen where, and when, in every project that this process has open."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Path, str], tuple[str, float]] = {}
        self._lock = threading.Lock()

    def see(self, project: Path, query_id: str, name: str, now: float | None = None) -> list[str]:
        """Take note that somebody is in a query, and in no other one of the project.

        Args:
            now: seconds of any clock that only goes forward; that of this computer for None.

        Returns:
            The names of the others who are there.
        """
        now = time.monotonic() if now is None else now
        with self._lock:
            self._seen[project, name] = query_id, now
            for key in [key for key, (_, at) in self._seen.items() if now - at > PRESENT]:
                del self._seen[key]
            return sorted(
                other
                for (where, other), (query, _) in self._seen.items()
                if where == project and query == query_id and other != name
            )
