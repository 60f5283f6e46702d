"""Pause and stop for long work in several steps."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..graders import Awaited, Control


class Reins:
    """Pause and stop for work in several steps, as students one after the other: they hold the one under way."""

    def __init__(self, report: Callable[[str], None] = lambda line: None) -> None:
        self.report = report
        self._control: Control | None = None
        self._lock = threading.Lock()
        self._paused = self._cancelled = False

    def take(self, control: Control) -> None:
        """Hold the next step."""
        with self._lock:
            self._control = control
            if self._paused:
                control.pause()
            if self._cancelled:
                control.cancel()

    def pause(self) -> None:
        """Let new calls wait until `resume`."""
        with self._lock:
            self._paused = not self._cancelled
            if self._control is not None:
                self._control.pause()

    def resume(self) -> None:
        """Let calls go on."""
        with self._lock:
            self._paused = False
            if self._control is not None:
                self._control.resume()

    def cancel(self) -> None:
        """Let no new call be made. Those in flight end and count."""
        with self._lock:
            self._cancelled, self._paused = True, False
            if self._control is not None:
                self._control.cancel()

    @property
    def paused(self) -> bool:
        """Whether new calls wait."""
        return self._paused

    @property
    def awaited(self) -> Awaited | None:
        """The endpoint that the step under way waits for now; None where it waits for none."""
        return None if self._control is None else self._control.awaited

    @property
    def cancelled(self) -> bool:
        """Whether a person asked to stop."""
        return self._cancelled
