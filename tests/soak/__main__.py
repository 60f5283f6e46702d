"""Runs a soak: `python -m tests.soak --minutes 120 --persons 3 --seed 7`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.soak.acts import ACTS
from tests.soak.person import Broken
from tests.soak.walk import NAMES, Soak


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--persons", type=int, default=1, choices=range(1, len(NAMES) + 1))
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--demo", type=Path, default=None, help="a project to copy instead of a new demo")
    parser.add_argument("--out", type=Path, default=None, help="a new folder for the logs and the report of a failure")
    given = parser.parse_args()
    folder = (given.out or Path(tempfile.mkdtemp(prefix="soak-"))).resolve()
    print(f"Seed {given.seed}, {given.persons} persons, {given.minutes:g} minutes; see {folder}", flush=True)
    # Commands of the shell run in this process with a standard output of their own: lines go to this one.
    lines = sys.stdout
    soak = Soak(folder, given.seed, given.demo, tell=lambda line: print(line, file=lines, flush=True))
    try:
        soak.run(given.persons, given.minutes)
    except Broken as failure:
        print(failure, file=sys.stderr)
        return 1
    finally:
        print(", ".join(f"{times} {act}" for act, times in soak.done.most_common()))
        print(f"Never possible: {', '.join(name for name in ACTS if not soak.done[name]) or 'none'}")
    print("Everything held.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
