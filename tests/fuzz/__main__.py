"""Runs the fuzzer: `python -m tests.fuzz --inputs 200000 --seed 7`."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from pathlib import Path

from tests.fuzz.kinds import KINDS
from tests.fuzz.limits import MIB
from tests.fuzz.runner import again, repeat, run
from tests.fuzz.worker import folder_of


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None, help="any; the same one makes the same inputs")
    parser.add_argument(
        "--kind", nargs="+", default=(), choices=tuple(KINDS), metavar="KIND", help="none but these kinds"
    )
    parser.add_argument("--at", type=int, default=None, help="this input alone, by its number")
    parser.add_argument("--out", type=Path, default=None, help="folder for the inputs that fail")
    parser.add_argument("--again", type=Path, default=None, metavar="FOLDER", help="an input that was kept, once more")
    given = parser.parse_args()
    # Whoever ends a long run leaves nothing behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    if given.again is not None:
        failure, detail = repeat(given.again)
        print(f"{detail}\n{failure}" if failure else "It does not fail.")
        return 1 if failure else 0
    seed = random.randrange(1_000_000) if given.seed is None else given.seed
    out = (given.out or Path(tempfile.mkdtemp(prefix="fuzz-"))).resolve()
    begin, inputs = (0, given.inputs) if given.at is None else (given.at, 1)
    print(f"Seed {seed}, {inputs:,} inputs; what fails is kept in {out}", flush=True)
    result = run(inputs, seed, out, given.kind, begin, lambda line: print(line, flush=True))
    for kind, sent in sorted(result.sent.items()):
        print(f"{kind:12} {sent:8,} sent {result.accepted[kind]:8,} accepted")
    total = sum(result.sent.values())
    print(f"{total:,} inputs in {result.seconds:.0f} s, {total / result.seconds:.0f} a second,", end=" ")
    print(f"{total / result.cpu:.0f} a second of the processor;" if result.cpu else "", end=" ")
    print(f"at most {result.peak // MIB} MiB of memory beyond the beginning")
    for name, times in result.failures.most_common():
        print(f"{times:6,} × {name}: {again(folder_of(out, name))}")
    print(f"{len(result.failures)} things failed." if result.failures else "Everything held.")
    return 1 if result.failures else 0


if __name__ == "__main__":
    sys.exit(main())
