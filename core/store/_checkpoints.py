"""Checkpoints of the log of a database file, and the mark of a file that was not closed.

DuckDB keeps the newest changes in a log next to the file, NAME.duckdb.wal. A copy of the file alone
would silently lack them. So the log is written into the file after `IDLE` seconds without a change.
A file with changes has a mark until it is closed.
"""

from __future__ import annotations

import json
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import duckdb

from ._sql_values import quoted_text

IDLE = 3.0
"""Seconds without a change after which the log is written into the file."""
LONGEST = 60.0
"""Seconds after which the log is written even if changes continue, as in a grading job."""

MARK = "not closed"
"""Name of the setting that a file has from its first change until it is closed. Exports leave it out."""


def log_of(path: Path) -> Path:
    """Return the path of DuckDB's log of a file."""
    return path.with_name(f"{path.name}.wal")


def has_log(path: Path) -> bool:
    """Return whether the log of a file has any content."""
    try:
        return log_of(path).stat().st_size > 0
    except OSError:
        return False


def mark(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Mark a file as not closed, with the time up to which it holds all saved changes.

    Raises:
        duckdb.Error: the file cannot be written.
    """
    content = {"file": path.stat().st_ino, "saved_until": datetime.now().isoformat(timespec="seconds")}
    connection.execute(f"INSERT OR REPLACE INTO settings VALUES ('{MARK}', {quoted_text(json.dumps(content))})")
    connection.execute("CHECKPOINT")


def unmark(connection: duckdb.DuckDBPyConnection) -> None:
    """Remove the mark."""
    connection.execute(f"DELETE FROM settings WHERE name = '{MARK}'")


def not_closed(connection: duckdb.DuckDBPyConnection, path: Path, had_log: bool) -> str:
    """Return a warning about a file that was not closed after its last use.

    Args:
        connection: to the file.
        path: the file.
        had_log: whether its log existed when it was opened.

    Returns:
        One or two sentences; empty if the file was closed or holds all saved changes anyway.
    """
    found = connection.execute(f"SELECT value FROM settings WHERE name = '{MARK}'").fetchall()
    log = log_of(path).name
    is_copy, until = bool(found), None
    if found:
        with suppress(ValueError, TypeError, KeyError):
            content = json.loads(found[0][0])
            until = datetime.fromisoformat(content["saved_until"])
            is_copy = content["file"] != path.stat().st_ino
    if had_log and is_copy:
        return (
            f"{path.name} is a copy of a project in use, and {log} was read. Changes saved during the copy may be"
            " missing. Run exam check, or close the project and copy it again."
        )
    if had_log:
        return f"{path.name} was not closed properly. Nothing is lost: the remaining changes were read from {log}."
    # In a file that was not copied or moved, a missing log means that the log was empty.
    if not is_copy:
        return ""
    changes = "The latest changes" if until is None else f"Changes saved after {until:%Y-%m-%d %H:%M:%S}"
    return (
        f"{path.name} is a copy of a project in use, without {log}. {changes} may be missing."
        f" Close the project and copy it again, or copy {log} too."
    )


class Idle:
    """A thread that calls a method some seconds after the last write, and sleeps otherwise.

    It has a weak reference to the object of the method and ends when the object is deleted.

    Args:
        checkpoint: a method that writes the log into the file and returns whether it succeeded.
    """

    def __init__(self, checkpoint: Callable[[], bool]) -> None:
        self._checkpoint = weakref.WeakMethod(checkpoint, self._gone)
        self._change = threading.Condition()
        self._first: float | None = None
        self._last = 0.0
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
        self._thread.start()

    def written(self) -> None:
        """Note that something was written."""
        with self._change:
            self._last = time.monotonic()
            if self._first is None:
                self._first = self._last
                self._change.notify_all()

    def end(self) -> None:
        """Stop calling the method; wait for a call that is running."""
        self._gone()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _gone(self, _: object = None) -> None:
        with self._change:
            self._ended = True
            self._change.notify_all()

    def _run(self) -> None:
        while self._due():
            checkpoint = self._checkpoint()
            done = checkpoint is None or checkpoint()
            # The thread must not keep the file open while it sleeps.
            del checkpoint
            with self._change:
                # After a failure, as on a full disk, try again after the next change or much later.
                now = time.monotonic()
                self._first, self._last = (None, now) if done else (now, now + LONGEST)

    def _due(self) -> bool:
        """Wait until the log should be written into the file; return False at the end."""
        with self._change:
            while not self._ended:
                if self._first is None:
                    self._change.wait()
                    continue
                left = min(self._last + IDLE, self._first + LONGEST) - time.monotonic()
                if left <= 0:
                    return True
                self._change.wait(left)
            return False
