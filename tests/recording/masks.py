"""A stopped clock, and masks for parts of an answer that differ between two recordings of the same code."""

from __future__ import annotations

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
    # The key that a project gets when it publishes for the first time.
    (re.compile(r'(?<="id": ")[0-9a-f]{32}\b|(?<=project_id\t)[0-9a-f]{32}\b'), "<key>"),
    (re.compile(r"\b[0-9A-F]{6}\b(?=\.\")"), "<number in the log>"),
    # What an exported project says of the file with its activity, where the export itself is with its time.
    (re.compile(r'(?<="activity.parquet",)(\s*"rows": \d+),\s*"bytes": \d+,\s*"sha256": "[0-9a-f]{64}"'), r"\1"),
    # Files that a project was made of, in whichever checkout that was.
    (re.compile(r"(?:/[\w.-]+)+/(?=data/demo/|shared/data/)"), "<checkout>/"),
    (re.compile(r"\bprocess \d+"), "process <number>"),
)

_started = dates.datetime.fromtimestamp(time.time())


class _Kind(type):
    """Of a class that takes the place of one in `datetime`: values of that one are instances of it, too."""

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
    """Let it be `NOW` for modules, and for all that calls `time.time`; the clock of DuckDB goes on."""
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
    """A text without what chance, the clock of DuckDB or the place on this machine put in.

    Args:
        fixed: strings with what is put in their place.
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
