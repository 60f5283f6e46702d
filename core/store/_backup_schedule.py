"""Scheduled backups, made while a process such as the app keeps a project open."""

from __future__ import annotations

import json
import logging
import threading
import weakref
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from ..errors import InputError, WorkbenchError
from ._backups import Backup, backup, backups
from ._project import Project, log
from ._settings import put_setting, setting

SETTING_OF_BACKUPS = "backups"
"""Name of the setting that holds a schedule, as JSON."""
MOST_HOURS, MOST_KEPT = 24 * 366, 10_000
LOOK = 60.0
"""Seconds between two checks for a due backup."""
LAST = 5.0
"""Seconds to wait for a running backup when the project is closed."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Schedule:
    """How often backups are made while the app has a project open.

    Args:
        hours: hours between two backups; 0 for no backups.
        keep: how many backups are kept; older ones are deleted.

    Raises:
        InputError: a number is out of range.
    """

    hours: int = 0
    keep: int = 7

    def __post_init__(self) -> None:
        for name, value, least, most in (("hours", self.hours, 0, MOST_HOURS), ("keep", self.keep, 1, MOST_KEPT)):
            if type(value) is not int or not least <= value <= most:
                raise InputError(
                    "backups-out-of-range",
                    f"Invalid backup schedule: {name} is {value}.",
                    f"Use a whole number from {least} to {most:,}.",
                )


def read_schedule(text: str) -> Schedule:
    """Read a schedule from the JSON of its setting.

    Raises:
        ValueError, TypeError, InputError: invalid schedule.
    """
    return Schedule(**json.loads(text))


def schedule(project: Project) -> Schedule:
    """Return the schedule of a project; by default, backups are off."""
    found = setting(project, SETTING_OF_BACKUPS)
    return Schedule() if found is None else read_schedule(found)


def set_schedule(project: Project, wanted: Schedule, author: str) -> bool:
    """Set the schedule of backups; return whether it changed."""
    if schedule(project) == wanted:
        return False
    with project.transaction() as cursor:
        put_setting(cursor, SETTING_OF_BACKUPS, json.dumps(asdict(wanted)))
        log(cursor, author, "set backups", **asdict(wanted))
    return True


def due(wanted: Schedule, newest: datetime | None, now: datetime) -> bool:
    """Return whether a backup is due.

    Args:
        newest: local time of the newest backup; None without backups. A time in the future is ignored, because the
            clock was set back.
        now: local time.
    """
    if not wanted.hours:
        return False
    return newest is None or newest > now or now - newest >= timedelta(hours=wanted.hours)


class Keeping:
    """A thread that makes the backups of a project when they are due, and ends when the project is closed.

    Args:
        project: the open project. The thread has only a weak reference to it.

    Attributes:
        failed: why the last backup failed; empty if it succeeded.
    """

    def __init__(self, project: Project) -> None:
        self.failed = ""
        self._project = weakref.ref(project)
        self._version: int | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="backups", daemon=True)
        project.when_closed(self.end)
        self._thread.start()

    def end(self) -> None:
        """Stop making backups; wait up to `LAST` seconds for a backup that is running."""
        self._ended.set()
        if self._thread is not threading.current_thread():
            self._thread.join(LAST)

    def look(self, now: datetime) -> Backup | None:
        """Make a backup if it is due and the project changed since the last backup of this thread.

        Return the backup; None without it.

        Args:
            now: local time.
        """
        project = self._project()
        if project is None:
            return None
        try:
            wanted = schedule(project)
            newest = next((one.made_at for one in backups(project.path)), None)
            if not due(wanted, newest, now) or (newest is not None and project.version() == self._version):
                return None
            version = project.version()
            made = backup(project, keep=wanted.keep)
        except WorkbenchError as error:
            self.failed = f"{now:%Y-%m-%d %H:%M}: {error}"
            _log.warning("%s: scheduled backup failed: %s", project.path, error)
            return None
        self.failed, self._version = "", version
        return made

    def _run(self) -> None:
        while not self._ended.wait(LOOK) and self._project() is not None:
            self.look(datetime.now())


_keeping: weakref.WeakKeyDictionary[Project, Keeping] = weakref.WeakKeyDictionary()


def keep_backups(project: Project) -> None:
    """Make the scheduled backups of a project from now until it is closed."""
    if not project.read_only and project not in _keeping:
        _keeping[project] = Keeping(project)


def last_failure(project: Project) -> str:
    """Return the time and the error of the last scheduled backup; empty if it did not fail."""
    found = _keeping.get(project)
    return found.failed if found else ""
