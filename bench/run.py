"""Measure the speed budgets of DESIGN section 10, each beside an alternative in the same call.

Usage: python bench/run.py [--tiny] [NAME...]

Without a NAME all budgets are measured. The studies replay audits on collections with full judgments, and simulate
graders that change and systems that learn the questions. `--tiny` runs each bench at the smallest size: it shows that
the bench works, and its figures mean nothing.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.figures import header

BUDGETS = {
    "impact": "scoring",
    "recompute": "scoring",
    "importing": "importing",
    "local": "grading",
    "endpoint": "grading",
    "screens": "screens",
    "status": "status",
}
"""The module of each bench, imported when its bench runs."""
STUDIES = {"audit": "audit", "graders": "trust", "drift": "trust", "sealed": "trust", "repair": "trust"}
"""The module of each study with known answers, which prints its own tables."""
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def main() -> None:
    """Run the named benches and print their figures as a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="run each bench at the smallest size")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join([*BUDGETS, *STUDIES]))
    given = parser.parse_args()
    unknown = sorted(set(given.names) - {*BUDGETS, *STUDIES})
    if unknown:
        parser.error(f"Unknown bench {unknown[0]!r}. Available: {', '.join([*BUDGETS, *STUDIES])}.")
    names = given.names or list(BUDGETS)
    budgets = [name for name in names if name in BUDGETS]
    if budgets:
        header("what | measured | alternative | ratio | budget | kept")
    for name in budgets:
        measure = getattr(importlib.import_module(f"bench.{BUDGETS[name]}"), name)
        for figure in measure(given.tiny):
            figure.show()
    for name in [name for name in names if name in STUDIES]:
        getattr(importlib.import_module(f"bench.{STUDIES[name]}"), name)(SHARED, given.tiny)


if __name__ == "__main__":
    main()
