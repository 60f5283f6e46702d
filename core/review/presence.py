"""Presence of people in queries, kept in the server's memory because it is useless a minute later."""

from __future__ import annotations

import threading
import time
from pathlib import Path

PRESENT = 45.0
"""Seconds after the last sign of a person within which they count as present."""


class Presence:
    """The last query and time of every person, in every project that this process has open."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Path, str], tuple[str, float]] = {}
        self._lock = threading.Lock()

    def see(self, project: Path, query_id: str, name: str, now: float | None = None) -> list[str]:
        """Record that a person is in a query, and in no other one of the project.

        Args:
            now: seconds of a monotonic clock; None for that of this computer.

        Returns:
            The names of the other people there.
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
