"""Limits on data from outside: one table, and an environment variable that sets each limit."""

from __future__ import annotations

import os
import re
import threading
import time
from dataclasses import dataclass

from .errors import InputError

PREFIX = "EXAM_LIMIT_"


@dataclass(frozen=True)
class Limit:
    """One limit.

    Args:
        name: the part of its environment variable after EXAM_LIMIT_.
        default: the value if that variable is not set.
        unit: the unit of the value.
        what: the limited thing, as a phrase.
    """

    name: str
    default: int
    unit: str
    what: str

    @property
    def variable(self) -> str:
        """The environment variable that sets this limit."""
        return PREFIX + self.name


_MIB = 1 << 20

LIMITS: dict[str, Limit] = {
    limit.name: limit
    for limit in (
        Limit("FILE", 16 << 30, "bytes", "a file, as it is stored"),
        Limit("EXPANDED", 4 << 30, "bytes", "a gzip file, expanded"),
        Limit(
            "RATIO",
            200,
            "times",
            "a gzip file: expanded size over stored size, if it expands beyond 64 MiB",
        ),
        Limit("MEMBERS", 1_000_000, "members", "a gzip file"),
        Limit(
            "WHOLE",
            512 * _MIB,
            "bytes",
            "a file that is read whole: queries, banks, responses, qrels, leaderboards",
        ),
        Limit("WHOLE_LINES", 2_000_000, "lines", "a file that is read whole"),
        Limit(
            "LINES",
            50_000_000,
            "lines",
            "a file that is read line by line: passages, runs, graded files",
        ),
        Limit("BLANK_LINES", 1_000_000, "blank lines", "any file"),
        Limit("REFUSED_LINES", 100_000, "refused lines", "any file; reading stops there"),
        Limit("LINE", 50_000_000, "bytes", "a line"),
        Limit("TREC_LINE", 1_000_000, "bytes", "a line of a run or of qrels"),
        Limit(
            "GRADED_LINE",
            256_000_000,
            "bytes",
            "a line of a graded file, which holds all grades of a query",
        ),
        Limit("CELLS", 10_000, "cells", "a line of a table"),
        Limit("CELL", 10_000_000, "bytes", "a cell of a CSV file"),
        Limit(
            "VALUES",
            5_000_000,
            "values",
            "a line or a whole file of JSON, or the cells of a leaderboard",
        ),
        Limit("DEPTH", 64, "levels", "nested lists and objects in JSON"),
        Limit(
            "IDS",
            1_000_000,
            "ids",
            "different queries of a run or of qrels, different questions of a graded file",
        ),
        Limit("SYSTEMS", 10_000, "systems", "different runs or graders in one file"),
        Limit(
            "SMALL_FILE",
            16 * _MIB,
            "bytes",
            "a leaderboard, a prompt, a manifest, or examples for a prompt",
        ),
        Limit("ENDPOINT_ANSWER", _MIB, "bytes", "an endpoint's answer, expanded"),
        Limit(
            "ENDPOINT_BATCH", 2 << 30, "bytes", "an endpoint's answer file of a batch, decompressed"
        ),
        Limit("ENDPOINT_KEPT", 20_000, "characters", "the answer text that is kept with a grade"),
        Limit("REQUEST", 16 << 30, "bytes", "a request to the API, with its files"),
        Limit("UPLOAD", 512 * _MIB, "bytes", "a file uploaded in a browser"),
        Limit(
            "UPLOADS",
            2 << 30,
            "bytes",
            "all files uploaded in a browser tab, until the tab is closed or reloaded",
        ),
        Limit("REQUESTS", 600, "requests", "one token, per minute"),
        Limit(
            "CALLS",
            100_000,
            "calls",
            "calls of endpoints for one login or token, per project and day",
        ),
        Limit(
            "ENDPOINT_TOKENS",
            2_000_000,
            "tokens",
            "the use that an endpoint may report for one call, read or written",
        ),
    )
}
"""Every limit by its name, in the order of the docs."""


def read_limit(name: str) -> int:
    """Return the value of a limit: the environment's, else the default.

    Args:
        name: a key of `LIMITS`.

    Raises:
        InputError: the environment variable is not a whole number from 1.
    """
    rule = LIMITS[name]
    setting = os.environ.get(rule.variable, "").strip()
    if not setting:
        return rule.default
    if not re.fullmatch(r"0*[1-9][0-9]{0,17}", setting):
        raise InputError(
            "invalid-limit",
            f"Invalid value {setting[:40]!r} of {rule.variable}.",
            f"Use a whole number of {rule.unit} from 1.",
        )
    return int(setting)


_counting = threading.Lock()
_counts: dict[tuple[str, str], tuple[int, int]] = {}


def allow_event(name: str, key: str, period: float, now: float | None = None) -> bool:
    """Count one event and return whether a limit per period still allows it.

    Args:
        name: a key of `LIMITS`.
        key: the person or token whose events are counted.
        period: in seconds.
        now: seconds that only grow; None means the clock's.
    """
    which = int((time.monotonic() if now is None else now) // period)
    with _counting:
        before, count = _counts.get((name, key), (which, 0))
        count = count + 1 if before == which else 1
        _counts[name, key] = which, count
    return count <= read_limit(name)


def describe_exceeded(what: str, name: str, most: int) -> str:
    """Return a sentence without a full stop: a limit is exceeded, and the variable that sets it.

    Args:
        what: the oversized thing with its verb: "the line is longer than".
        name: a key of `LIMITS`.
        most: the limit's present value.
    """
    known = LIMITS[name]
    return f"{what} {most:,} {known.unit} ({known.variable} sets this limit)"
