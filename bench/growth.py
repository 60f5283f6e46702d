"""How work grows with a project's queries, grades and runs, each time beside what a user would write, numbers equal.

    python bench/run.py growth

writes the tables and plots of `docs/performance.md`. Each size is made, measured and thrown away in a process of its
own, so that its peak of memory is its own. Seconds are of the processor, all threads together. `EXAM_BENCH_SIZES` names
some of the sizes; `EXAM_BENCH_FOLDER` is where projects are made; `EXAM_BENCH_PEERS` is a Python that has ranx.
"""

from __future__ import annotations

import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.plot import Line, plot

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
PART = re.compile(r"(<!-- measured:growth -->\n).*?(<!-- /measured -->)", re.S)


@dataclass(frozen=True)
class Size:
    """A project to measure: 55 questions a query, each run 100 passages deep."""

    name: str
    queries: int
    passages: int
    runs: int

    @property
    def grades(self) -> int:
        """All pairs of a query's questions and passages are graded."""
        return self.queries * self.passages * 55


SIZES = (
    Size("10", 10, 650, 16),
    Size("33", 33, 650, 16),
    Size("131", 131, 650, 16),
    Size("131/30", 131, 650, 30),
    Size("131/64", 131, 650, 64),
    Size("131/256", 131, 650, 256),
    Size("1000/5M", 1000, 101, 16),
    Size("1000", 1000, 364, 16),
)

MEASURED: tuple[tuple[str, str], ...] = (
    ("impact", "impact of an edit"),
    ("again", "labels and board again"),
    ("labels", "labels"),
    ("pandas labels", "labels, pandas"),
    ("coverage", "coverage, five thresholds"),
    ("pandas coverage", "coverage, pandas"),
    ("measures", "six measures"),
    ("pytrec_eval", "six measures, pytrec_eval over dictionaries"),
    ("ranx", "six measures, ranx"),
    ("whole", "from the file to the table"),
    ("whole sql", "the same, plain SQL and pytrec_eval"),
    ("whole pandas", "the same, pandas and pytrec_eval"),
    ("whole parquet", "the same, pandas and pytrec_eval from Parquet"),
    ("whole ranx", "the same, pandas and ranx from Parquet"),
    ("import", "import"),
    ("parse", "gzip and json.loads alone"),
    ("export", "export"),
    ("dump", "json.dumps and gzip alone"),
)


def growth(say: Callable[..., None]) -> None:
    """Measure every size and write what was found."""
    asked = os.environ.get("EXAM_BENCH_SIZES", "").split()
    found = []
    for size in SIZES:
        if asked and size.name not in asked:
            continue
        told = _in_child(size)
        found.append((size, told))
        say(f"{size.queries} queries, {size.grades:,} grades, {size.runs} runs", json.dumps(told))
        # The next size may take an hour, and be given up.
        _write(found)


def _in_child(size: Size) -> dict[str, float]:
    """Measurements of one size by name: seconds, or MB where the name ends so."""
    told: dict[str, float] = {}
    parts = ("making", "scoring", "whole", "exchanging", "importing")
    with tempfile.TemporaryDirectory(dir=os.environ.get("EXAM_BENCH_FOLDER")) as folder:
        for part in parts:
            words = [sys.executable, "-m", "bench.growth_parts", part, folder]
            words += [str(size.queries), str(size.passages), str(size.runs)]
            for line in subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
                told |= json.loads(line)
    return told


def _write(found: Sequence[tuple[Size, dict[str, float]]]) -> None:
    folder = PAGE.parent / "growth"
    folder.mkdir(exist_ok=True)
    for name, (title, across, of, lines) in PLOTS.items():
        drawn = [
            Line(label, [(of(size), told[key]) for size, told in found if key in told and _is_in(name, size)])
            for key, label in lines
        ]
        if len({x for line in drawn for x, _ in line.points}) > 1:
            (folder / f"{name}.svg").write_text(plot(title, across, "seconds of processor", drawn))
    body = "\n\n".join(_tables(found))
    PAGE.write_text(PART.sub(lambda part: f"{part[1]}\n{body}\n\n{part[2]}", PAGE.read_text()))


def _is_in(plotted: str, size: Size) -> bool:
    return size.queries == 131 and size.passages == 650 if plotted == "runs" else size.runs == 16


def _named(*keys: str) -> list[tuple[str, str]]:
    return [(key, dict(MEASURED)[key]) for key in keys]


PLOTS: dict[str, tuple[str, str, Callable[[Size], int], list[tuple[str, str]]]] = {
    "impact": ("An edit in one query", "queries", lambda size: size.queries, _named("impact", "again")),
    "labels": (
        "Labels and coverage",
        "grades",
        lambda size: size.grades,
        _named("labels", "pandas labels", "coverage", "pandas coverage"),
    ),
    "runs": (
        "Six measures, 131 queries",
        "runs",
        lambda size: size.runs,
        _named("measures", "pytrec_eval", "ranx"),
    ),
    "files": ("Graded files", "grades", lambda size: size.grades, _named("import", "parse", "export", "dump")),
}


def _tables(found: Sequence[tuple[Size, dict[str, float]]]) -> list[str]:
    heads = [f"{size.queries:,} queries, {size.grades / 1e6:.1f} M, {size.runs} runs" for size, _ in found]
    rows = [
        [label, *(_said(told.get(key)) for _, told in found), _exponent(found, key)]
        for key, label in MEASURED
        if any(key in told for _, told in found)
    ]
    seconds = markdown(["seconds of processor", *heads, "exponent"], rows)
    pairs = (
        ("an edit beside all again", ("again",), ("impact",)),
        ("labels beside pandas", ("pandas labels",), ("labels",)),
        ("coverage beside pandas", ("pandas coverage",), ("coverage",)),
        ("six measures beside pytrec_eval", ("pytrec_eval",), ("measures",)),
        ("six measures beside ranx", ("ranx",), ("measures",)),
        (
            "labels, coverage and measures beside the best of the others",
            ("pandas labels", "pandas coverage", "best"),
            ("labels", "coverage", "measures"),
        ),
        ("from the file to the table, beside pandas and pytrec_eval or ranx", ("best frames",), ("whole",)),
        ("from the file to the table, beside plain SQL and pytrec_eval", ("whole sql",), ("whole",)),
        ("import takes, in times of parsing alone", ("import",), ("parse",)),
        ("export takes, in times of dumping alone", ("export",), ("dump",)),
    )
    told = []
    for size, numbers in found:
        told.append((size, numbers | _best(numbers)))
    rows = [[label, *(_ratio(numbers, theirs, ours) for _, numbers in told)] for label, theirs, ours in pairs]
    ratios = markdown(["times as fast as", *heads], rows)
    memory = [
        [label, *(f"{told[key]:,.0f}" if key in told else "" for _, told in found)]
        for key, label in (
            ("scoring MB", "labels, coverage, measures and a board"),
            ("whole MB", "from the file to the table"),
            ("whole sql MB", "the same, plain SQL and pytrec_eval"),
            ("whole pandas MB", "the same, pandas and pytrec_eval"),
            ("import MB", "import"),
            ("export MB", "export"),
        )
    ]
    peaks = markdown(["peak of memory, MB more than at the start", *heads], memory)
    drawn = [(name, title) for name, (title, *_) in PLOTS.items() if (PAGE.parent / "growth" / f"{name}.svg").exists()]
    pictures = " ".join(f"![{title}](growth/{name}.svg)" for name, title in drawn)
    return [seconds, ratios, peaks, pictures]


def _best(numbers: dict[str, float]) -> dict[str, float]:
    """The least seconds that any of the others takes, by what for."""
    groups = {"best": ("pytrec_eval", "ranx"), "best frames": ("whole pandas", "whole parquet", "whole ranx")}
    return {
        name: min(numbers[key] for key in keys if key in numbers)
        for name, keys in groups.items()
        if not numbers.keys().isdisjoint(keys)
    }


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; all columns but the first hold numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _said(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.3g}" if seconds < 100 else f"{seconds:,.0f}"


def _ratio(told: dict[str, float], theirs: Sequence[str], ours: Sequence[str]) -> str:
    if not {*theirs, *ours} <= told.keys():
        return ""
    return f"{sum(told[key] for key in theirs) / sum(told[key] for key in ours):.3g}"


def _exponent(found: Sequence[tuple[Size, dict[str, float]]], key: str) -> str:
    return exponent([(size.grades, told[key]) for size, told in found if size.runs == 16 and key in told])


def exponent(points: Sequence[tuple[float, float]]) -> str:
    """The slope of log(y) on log(x) by least squares, as text; empty for fewer than three points."""
    if len(points) < 3:
        return ""
    x, y = zip(*((math.log(a), math.log(b)) for a, b in points), strict=True)
    return f"{statistics.linear_regression(x, y).slope:.2f}"


if __name__ == "__main__":
    growth(print)
