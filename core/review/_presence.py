"""Presence of people in queries. It is in the server's memory only, because it expires after a minute."""

from __future__ import annotations

import threading
import time
from pathlib import Path

PRESENT = 45.0
"""Seconds for which a person counts as present after their last sign of activity."""


class Presence:
    """The last query and time of every person, in every project that this process has open."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Path, str], tuple[str, float]] = {}
        self._lock = threading.Lock()

    def see(self, project: Path, query_id: str, name: str, now: float | None = None) -> list[str]:
        """Record that a person is in a query, and in no other query of the project.

        Args:
            now: seconds of a monotonic clock; None for the clock of this computer.

        Returns:
            The names of the other people in the query.
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
