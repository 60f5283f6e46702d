"""Bench of imports: time compared with parsing the same file, and peak memory compared with a file of a fifth of the
size.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import process_time

from bench.figures import Figure, in_child, peak_megabytes, timed
from bench.large import large_file, large_size
from exam_workbench.exchange import graded_file, import_files
from exam_workbench.formats import Source
from exam_workbench.store import create_project, open_project


def importing(tiny: bool) -> Iterator[Figure]:
    """Measure the import of a graded file with its rankings.

    Raises:
        AssertionError: the import and the parser count different numbers of grades.
    """
    sizes = [large_size(tiny, share) for share in (5, 1)]
    peaks = []
    for size in sizes:
        with large_file(size) as path:
            file = path.with_name("graded.jsonl.gz")
            with closing(open_project(path)) as project:
                file.write_bytes(graded_file(project))
            seconds, grades, peak = in_child(tiny, _import, file)
            parsing, parsed = in_child(tiny, timed, process_time, _parse, file)
        assert grades == parsed, f"{grades} grades are in the project, {parsed} in the file"
        peaks.append(peak)
    yield Figure(
        f"import of {grades:,} grades",
        f"{seconds:.2f} s",
        f"gzip and json.loads: {parsing:.2f} s",
        seconds / parsing,
        "ratio <= 1.5",
        seconds / parsing <= 1.5,
    )
    small, large = (max(peak, 1.0) for peak in peaks)
    few, many = sizes[0][0], sizes[1][0]
    yield Figure(
        f"memory of it, {many} queries to {few}",
        f"+{large:,.0f} MB",
        f"+{small:,.0f} MB",
        large / small,
        f"far below {many / few:.1f} (file)",
        large / small < 1 + (many / few - 1) / 3,
    )


def _import(file: Path) -> tuple[float, int, float]:
    """Return processor seconds, grades, and the growth of the peak memory in MB."""
    project = create_project(file.with_name("imported.duckdb"))
    before = peak_megabytes()
    seconds, _ = timed(process_time, import_files, project, "graded", [Source.from_path(file)], "bench")
    peak = peak_megabytes() - before
    grades = int(project.value("SELECT count(*) FROM grades"))
    project.close()
    return seconds, grades, peak


def _parse(file: Path) -> int:
    """Read the file with the standard library, and return the number of ratings."""
    grades = 0
    with gzip.open(file) as lines:
        for line in lines:
            for passage in json.loads(line)[1]:
                for entry in passage.get("exam_grades") or []:
                    grades += len(entry["correctAnswered"]) + len(entry["wrongAnswered"])
    return grades
