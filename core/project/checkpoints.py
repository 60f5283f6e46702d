"""When what the log of a file holds goes into the file itself, and how a file says that it was not closed.

The engine keeps the newest changes in a log beside the file, NAME.duckdb.wal. Somebody who copies the file alone would
miss them without a word. So the log goes into the file when nobody has written for a moment, and a file that is being
written says so in itself, until it is closed.
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

IDLE = 3.0
"""Seconds without a change after which the log goes into the file."""
LONGEST = 60.0
"""Seconds after which it does so although changes keep coming, as those of a grading job do."""

MARK = "not closed"
"""Name of the setting that a file has from its first change until it is closed. No export holds it."""


def log_of(path: Path) -> Path:
    """The engine's log of a file."""
    return path.with_name(f"{path.name}.wal")


def has_log(path: Path) -> bool:
    """Whether there is anything in the log of a file."""
    try:
        return log_of(path).stat().st_size > 0
    except OSError:
        return False


def mark(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Let the file itself say that it is not closed, and up to when it holds all that was saved.

    Raises:
        duckdb.Error: it cannot be written.
    """
    content = {"file": path.stat().st_ino, "saved_until": datetime.now().isoformat(timespec="seconds")}
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", [MARK, json.dumps(content)])
    connection.execute("CHECKPOINT")


def unmark(connection: duckdb.DuckDBPyConnection) -> None:
    """Take the mark away."""
    connection.execute("DELETE FROM settings WHERE name = ?", [MARK])


def not_closed(connection: duckdb.DuckDBPyConnection, path: Path, had_log: bool) -> str:
    """What is to be said of a file that was not closed when it was used last.

    Args:
        connection: to the file.
        path: the file.
        had_log: whether its log lay beside it when it was opened.

    Returns:
        A sentence or two; empty where the file was closed, or holds all that was saved in any case.
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
    # If the file is where it was, an absent log is one that was empty.
    if not is_copy:
        return ""
    changes = "The latest changes" if until is None else f"Changes saved after {until:%Y-%m-%d %H:%M:%S}"
    return (
        f"{path.name} is a copy of a project in use, without {log}. {changes} may be missing."
        f" Close the project and copy it again, or copy {log} too."
    )


class Idle:
    """Calls a method when nothing has been written for a while; a thread that sleeps unless there is something.

    It ends with the object that the method is of, which nobody need close for that.

    Args:
        checkpoint: writes the log into the file; whether it did.
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
        """Take note that something was written."""
        with self._change:
            self._last = time.monotonic()
            if self._first is None:
                self._first = self._last
                self._change.notify_all()

    def end(self) -> None:
        """Call nothing from here on; a call that is under way is waited for."""
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
            # While this thread sleeps, nothing here keeps the file open.
            del checkpoint
            with self._change:
                # What could not be done now, as on a full disk, is tried again after the next change, or much later.
                now = time.monotonic()
                self._first, self._last = (None, now) if done else (now, now + LONGEST)

    def _due(self) -> bool:
        """Wait until the log should go into the file; False at the end."""
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
