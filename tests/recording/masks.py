"""A stopped clock, and masks for the parts of an answer that differ between two recordings of the same code."""

import datetime as dates
import os
import re
import time
from collections.abc import Iterable
from types import ModuleType

NOW = dates.datetime(2029, 6, 1, 12, 0, 0)
"""The time of every recording."""

MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?")
PATTERNS = (
    # The key that a project gets at its first publication.
    (re.compile(r'(?<="id": ")[0-9a-f]{32}\b|(?<=project_id\t)[0-9a-f]{32}\b'), "<key>"),
    (re.compile(r"\b[0-9A-F]{6}\b(?=\.\")"), "<number in the log>"),
    # In an exported project, the entry of the activity file, which includes the time of the export.
    (re.compile(r'(?<="activity.parquet",)(\s*"rows": \d+),\s*"bytes": \d+,\s*"sha256": "[0-9a-f]{64}"'), r"\1"),
    # Paths of imported files, in any checkout.
    (re.compile(r"(?:/[\w.-]+)+/(?=data/demo/|shared/data/)"), "<checkout>/"),
    (re.compile(r"\bprocess \d+"), "process <number>"),
)

_started = dates.datetime.fromtimestamp(time.time())


class _Kind(type):
    """Metaclass of a class that replaces one of `datetime`: values of the original class count as instances."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.__mro__[1])


class _Moment(dates.datetime, metaclass=_Kind):
    @classmethod
    def now(cls, tz: dates.tzinfo | None = None) -> dates.datetime:  # type: ignore[override]
        return NOW if tz is None else NOW.replace(tzinfo=tz)


class _Day(dates.date, metaclass=_Kind):
    @classmethod
    def today(cls) -> dates.date:  # type: ignore[override]
        return NOW.date()


def stop_clock(modules: Iterable[ModuleType]) -> None:
    """Set the time to `NOW` for modules and for all callers of `time.time`; the clock of DuckDB continues."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    moment = NOW.replace(tzinfo=dates.UTC).timestamp()
    time.time = lambda: moment
    for module in modules:
        for name, value in list(vars(module).items()):
            if value is dates.datetime:
                setattr(module, name, _Moment)
            elif value is dates.date:
                setattr(module, name, _Day)


def mask(text: str, fixed: Iterable[tuple[str, str]]) -> str:
    """Return a text without parts that depend on chance, the clock of DuckDB, or paths of this machine.

    Args:
        fixed: strings with their replacements.
    """
    for part, instead in fixed:
        text = text.replace(part, instead)
    for pattern, instead in PATTERNS:
        text = pattern.sub(instead, text)
    return MOMENT.sub(_without_now, text)


def _without_now(found: re.Match[str]) -> str:
    try:
        moment = dates.datetime.fromisoformat(found[0])
    except ValueError:
        return found[0]
    passed = moment - _started.replace(second=0, microsecond=0)
    return "<now>" if dates.timedelta(0) <= passed < dates.timedelta(days=1) else found[0]
