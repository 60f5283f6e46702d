"""Results of a bench next to an alternative and a budget, and helpers to measure them."""

from __future__ import annotations

import multiprocessing
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

HEADER = "| what | measured | alternative | ratio | budget | kept |\n| --- | --- | --- | ---: | --- | --- |"


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

    def row(self) -> str:
        """Return the figure as a row of a Markdown table."""
        kept = "yes" if self.kept else "NO"
        cells = (self.what, self.measured, self.alternative, f"{self.ratio:.3g}", self.budget, kept)
        return f"| {' | '.join(cells)} |"


def processor_seconds(work: Callable[[], T]) -> tuple[float, T]:
    """Return the processor time of a call in seconds, all threads together, and its result."""
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def wall_seconds(work: Callable[[], T]) -> tuple[float, T]:
    """Return the elapsed time of a call in seconds, and its result."""
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def peak_megabytes() -> float:
    """Return the peak resident memory of this process; getrusage would include that of the parent."""
    match = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    assert match
    return int(match[1]) / 1024


def in_child(work: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a new process, which has no caches and its own peak of memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def in_this_process(work: Callable[..., T], *arguments: Any) -> T:
    """Call a function in this process, for benches at the smallest size: a new process takes longer than their work."""
    return work(*arguments)
