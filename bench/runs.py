"""Import of generated runs of growing size: the peak of memory must not grow with the file."""

from __future__ import annotations

import multiprocessing
import random
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from core.exchange import import_files
from core.formats import Source
from core.project import create

LINES = (300_000, 1_000_000, 3_000_000)
DEPTH = 1000
COLLECTION = 100_000
"""Passages to draw from: systems rank the same ones over and over. Every passage that is new to a project takes some
sixty bytes of its index besides, whatever the file's length."""


def runs(say: Callable[..., None]) -> None:
    """Peak memory and time of importing one run of each size, beside splitting its lines and nothing else."""
    context = multiprocessing.get_context("spawn")
    peaks = []
    for lines in LINES:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "generated.run"
            _write(file, lines)
            queue = context.Queue()
            child = context.Process(target=_import, args=(str(file), folder, lines // DEPTH, queue))
            child.start()
            took, peak = queue.get()
            child.join()
            splitting = _split_seconds(file)
        peaks.append(peak)
        say(
            f"import of a run of {lines:,} lines",
            f"peak memory +{peak:,.0f} MB",
            f"{took:.0f} s, {lines / took:,.0f} lines/s",
            f"{took / splitting:.1f} x splitting the lines alone",
        )
    say(
        f"{LINES[-1] // LINES[0]} times the lines",
        f"{peaks[-1] / peaks[0]:.2f} x the peak memory",
    )


def _write(file: Path, lines: int) -> None:
    """One run whose scores fall with the rank, as systems write it."""
    dice = random.Random(lines)
    with file.open("w") as out:
        for query in range(lines // DEPTH):
            for rank, passage in enumerate(dice.sample(range(COLLECTION), DEPTH), 1):
                out.write(f"{1_000_000 + query} Q0 msmarco_passage_{passage} {rank} {100 - rank / 16} generated\n")


def _import(file: str, folder: str, queries: int, queue: multiprocessing.Queue) -> None:
    project = create(Path(folder) / "runs.duckdb")
    names = "".join(f"{1_000_000 + query}\tquery {query}\n" for query in range(queries))
    import_files(project, "queries", [Source("queries.tsv", data=names.encode())], "bench")
    before = _peak_megabytes()
    start = time.perf_counter()
    import_files(project, "runs", [Source.of(Path(file))], "bench")
    took = time.perf_counter() - start
    peak = _peak_megabytes()
    project.close()
    queue.put((took, peak - before))


def _peak_megabytes() -> float:
    """The most memory that this process has used; getrusage would count its parent's too."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


def _split_seconds(file: Path) -> float:
    start = time.perf_counter()
    with file.open() as lines:
        for line in lines:
            line.split()
    return time.perf_counter() - start
