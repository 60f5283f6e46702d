"""Measure the speed budgets of DESIGN section 10, each beside an alternative in the same call.

Usage: python bench/run.py [--tiny] [NAME...]

Without a NAME all budgets are measured; `audit` replays audits on collections with full judgments. `--tiny` runs each
bench at the smallest size: it shows that the bench works, and its figures mean nothing.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.figures import HEADER

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
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def main() -> None:
    """Run the named benches and print their figures as a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="run each bench at the smallest size")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join([*BUDGETS, "audit"]))
    given = parser.parse_args()
    unknown = sorted(set(given.names) - {*BUDGETS, "audit"})
    if unknown:
        parser.error(f"Unknown bench {unknown[0]!r}. Available: {', '.join([*BUDGETS, 'audit'])}.")
    names = given.names or list(BUDGETS)
    budgets = [name for name in names if name in BUDGETS]
    if budgets:
        print(HEADER, flush=True)
    for name in budgets:
        measure = getattr(importlib.import_module(f"bench.{BUDGETS[name]}"), name)
        for figure in measure(given.tiny):
            print(figure.row(), flush=True)
    if "audit" in names:
        importlib.import_module("bench.audit").audit(SHARED, given.tiny)


if __name__ == "__main__":
    main()
