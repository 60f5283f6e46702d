"""Outcomes on their way from the thread that makes them to the thread that takes them."""

from __future__ import annotations

import threading
from collections import deque

from ..base import Outcome

BEAT_SECONDS = 1.0
"""An empty batch is given this often while nothing comes, so that the caller can commit and show what it has."""
LINGER_SECONDS = 0.05
"""What comes this soon after the first outcome is in its batch: waking for each one would slow down who makes them."""


class Outbox:
    """A queue that is emptied at once; `put` never waits, so whoever fills it looks at its length."""

    def __init__(self) -> None:
        self._outcomes: deque[Outcome] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, outcome: Outcome) -> None:
        """Leave an outcome; never waits."""
        with self._changed:
            self._outcomes.append(outcome)
            if len(self._outcomes) == 1:
                self._changed.notify()

    def close(self) -> None:
        """Say that no more comes."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def take(self) -> list[Outcome] | None:
        """All that is there, after waiting for it for a while; None once no more comes."""
        with self._changed:
            self._changed.wait_for(lambda: self._outcomes or self._closed, BEAT_SECONDS)
            if not self._closed:
                self._changed.wait_for(lambda: self._closed, LINGER_SECONDS)
            if not self._outcomes and self._closed:
                return None
            batch = list(self._outcomes)
            self._outcomes.clear()
            return batch

    def __len__(self) -> int:
        return len(self._outcomes)
