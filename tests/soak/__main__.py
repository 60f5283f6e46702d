"""Runs a soak: `python -m tests.soak --minutes 120 --persons 3 --seed 7`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.soak.acts import ACTS
from tests.soak.person import Broken
from tests.soak.walk import NAMES, Soak, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=0, help="acts of each person at most; 0 for no limit")
    parser.add_argument("--persons", type=int, default=1, choices=range(1, len(NAMES) + 1))
    parser.add_argument("--seed", type=int, default=None, help="any; the same one throws the same dice")
    parser.add_argument("--demo", type=Path, default=None, help="a demo project to copy, in place of making one")
    parser.add_argument(
        "--out", type=Path, default=None, help="empty folder for the log and what is known of a failure"
    )
    parser.add_argument("--only", nargs="+", default=(), choices=tuple(ACTS), metavar="ACT", help="no acts but these")
    parser.add_argument("--go-on", action="store_true", help="after a failure others take over until the time is up")
    given = parser.parse_args()
    seed = random.randrange(10_000) if given.seed is None else given.seed
    folder = (given.out or Path(tempfile.mkdtemp(prefix="soak-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        parser.error(f"{folder} is not empty; a soak begins in a folder of its own")
    print(f"Seed {seed}, {given.persons} persons, {given.minutes:g} minutes; see {folder}", flush=True)
    soak = Soak(
        folder,
        seed,
        given.persons,
        given.minutes,
        given.rounds,
        tuple(given.only),
        given.go_on,
        lambda line: print(line, flush=True),
    )
    done: Counter[str] = Counter()
    try:
        run(soak, done, given.demo)
    except Broken as failure:
        print(failure, file=sys.stderr)
        return 1
    finally:
        print(f"{sum(done.values())} acts: {', '.join(f'{times} {act}' for act, times in done.most_common())}")
        print(f"Never possible: {', '.join(name for name in soak.only or ACTS if not done[name]) or 'none'}")
    print("Everything held.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
