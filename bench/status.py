"""Bench of `exam status`: processor time of the command, compared with a script that counts grades with DuckDB."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.figures import Figure, faster, timed
from bench.large import large_file, large_size

ROOT = Path(__file__).resolve().parents[1]
COMMAND = "import sys; from exam_workbench.cli import main; sys.exit(main())"
SCRIPT = """
import sys
import duckdb
import pandas
project = duckdb.connect(sys.argv[1], read_only=True)
print(project.execute("SELECT rating, count(*) FROM grades GROUP BY ALL").df())
"""


def status(tiny: bool) -> Iterator[Figure]:
    """Measure the median processor time of three runs, including the start of Python."""
    times = 1 if tiny else 3
    with large_file(large_size(tiny)) as path:
        took = _processor_seconds(times, COMMAND, "status", "--project", str(path))
        alternative = _processor_seconds(times, SCRIPT, str(path))
    yield faster("exam status", took, "script with duckdb and pandas", alternative, 0.5)


def _processor_seconds(times: int, *arguments: str) -> float:
    """Return the median user and system time of a Python script with its arguments."""
    command = [sys.executable, "-c", *arguments]
    run = partial(subprocess.run, command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return statistics.median(timed(lambda: sum(os.times()[2:4]), run)[0] for _ in range(times))
