"""Results of a bench next to an alternative and a budget, and helpers to measure them."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def header(columns: str) -> None:
    """Print the header of a Markdown table; a bar separates its columns."""
    print(f"| {columns} |\n|{' --- |' * len(columns.split('|'))}", flush=True)


def row(*cells: object) -> None:
    """Print a row of a Markdown table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


@dataclass(frozen=True)
class Figure:
    """A measured value and an alternative that the same call measured.

    Args:
        measured, alternative: the values with their units.
        ratio: quotient of the two; each bench says in `what` or `alternative` which is divided by which.
        budget: the limit of DESIGN section 10 in words.
        kept: whether the measured value is within the budget.
    """

    what: str
    measured: str
    alternative: str
    ratio: float
    budget: str
    kept: bool

    def show(self) -> None:
        """Print the figure as a row of the table of all figures."""
        kept = "yes" if self.kept else "NO"
        row(self.what, self.measured, self.alternative, f"{self.ratio:.3g}", self.budget, kept)


def faster(what: str, seconds: float, name: str, alternative: float, limit: float) -> Figure:
    """Return the figure of a time with a limit, compared with the time of a named alternative; all in seconds."""
    measured, other, budget = (f"{value * 1000:,.0f} ms" for value in (seconds, alternative, limit))
    return Figure(what, measured, f"{name}: {other}", alternative / seconds, f"< {budget}", seconds < limit)


def timed(clock: Callable[[], float], work: Callable[..., T], *arguments: Any) -> tuple[float, T]:
    """Return the seconds of a call by a clock, such as `time.process_time` for all threads together, and its result."""
    begin = clock()
    result = work(*arguments)
    return clock() - begin, result


def peak_megabytes() -> float:
    """Return the peak resident memory of this process; getrusage would include that of the parent."""
    match = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    assert match
    return int(match[1]) / 1024


def in_child(tiny: bool, work: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a new process, which has no caches and its own peak of memory.

    At the smallest size, call it in this process: a new process takes longer than the work.
    """
    if tiny:
        return work(*arguments)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)
