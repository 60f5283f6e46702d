"""A queue of outcomes between the thread that produces them and the thread that stores them."""

from __future__ import annotations

import threading
from collections import deque

from ..base import Outcome

BEAT_SECONDS = 1.0
"""Interval of empty batches while no outcomes arrive, so that the caller can commit and report progress."""
LINGER_SECONDS = 0.05
"""Time during which later outcomes join a batch: waking the reader for each one would slow down the producer."""


class Outbox:
    """A queue that is emptied at once. `put` never blocks, so the producer must check the length."""

    def __init__(self) -> None:
        self._outcomes: deque[Outcome] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, outcome: Outcome) -> None:
        """Add an outcome; never blocks."""
        with self._changed:
            self._outcomes.append(outcome)
            if len(self._outcomes) == 1:
                self._changed.notify()

    def close(self) -> None:
        """Declare that no more outcomes follow."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def take(self) -> list[Outcome] | None:
        """Return all outcomes, after waiting for a short time; None after the end."""
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
