"""Bench of `exam status`: processor time of the command, compared with a script that counts grades with DuckDB."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure
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
        command = [sys.executable, "-c", COMMAND, "status", "--project", str(path)]
        took = statistics.median(_processor_seconds(command) for _ in range(times))
        script = [sys.executable, "-c", SCRIPT, str(path)]
        alternative = statistics.median(_processor_seconds(script) for _ in range(times))
    yield Figure(
        "exam status",
        f"{took:.2f} s",
        f"script with duckdb and pandas: {alternative:.2f} s",
        alternative / took,
        "< .5 s",
        took < 0.5,
    )


def _processor_seconds(command: list[str]) -> float:
    """Run a command and return its user and system time."""
    before = os.times()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system
