"""The process that takes the inputs, one after another, under limits; what it finds goes to its parent line by line."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import TracebackType

from tests.fuzz.bench import Bench
from tests.fuzz.inputs import Input, dice, shrunk, stored
from tests.fuzz.kinds import KINDS
from tests.fuzz.limits import Limits, TookTooLong, TookTooMuch
from tests.fuzz.oracles import Broken, unchanged

ROOT = Path(__file__).resolve().parents[2]
LOOK = 100
"""After so many inputs the whole content of the project is compared with what it was."""
PATIENCE = 5.0
"""Seconds of the processor that are spent on making an input smaller."""
CHANGED = "an input left the project changed"


@dataclass(frozen=True)
class Failure:
    """Something that must not happen: what tells it from others, and what there is to read about it."""

    name: str
    detail: str


def made(seed: int, number: int, kinds: Sequence[str]) -> Input:
    """The input of a number: it depends on the seed, the number and the kinds to choose among alone."""
    kind = Random(f"{seed}/{number}").choices(kinds, [KINDS[kind].share for kind in kinds])[0]
    return KINDS[kind].make(dice(seed, kind, number))


def send(bench: Bench, limits: Limits, sent: Input) -> tuple[bool, Failure | None]:
    """Send one input through its door: whether it was accepted, and what should not have happened."""
    try:
        with limits.around_one():
            return KINDS[sent.kind].try_(bench, sent), None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        bench.rehearsal.undo()
        return False, _failure(sent.kind, error)


def _failure(kind: str, error: BaseException) -> Failure:
    detail = "".join(traceback.format_exception(error, limit=-12))[-6000:]
    if isinstance(error, Broken):
        return Failure(f"{error.rule} [{kind}]", detail)
    return Failure(f"{type(error).__name__} in {_innermost(error.__traceback__)}", detail)


def _innermost(trace: TracebackType | None) -> str:
    """The last function of ours that an error went through."""
    found = "nowhere"
    while trace is not None:
        code = trace.tb_frame.f_code
        path = Path(code.co_filename)
        if path.is_relative_to(ROOT / "core") or (found == "nowhere" and path.is_relative_to(ROOT / "tests")):
            found = f"{path.relative_to(ROOT)}:{code.co_name}"
        trace = trace.tb_next
    return found


def folder_of(out: Path, failure: str) -> Path:
    """Where an input that fails so is kept."""
    short = re.sub(r"[^A-Za-z0-9]+", "-", failure)[:60].strip("-")
    return out / f"{short}-{hashlib.sha256(failure.encode()).hexdigest()[:6]}"


def keep(
    bench: Bench, limits: Limits, sent: Input, failure: Failure, out: Path, where: str, alive: Callable[[], None]
) -> None:
    """Keep the first input that fails so, made as small as a few tries can make it."""
    folder = folder_of(out, failure.name)
    if folder.exists():
        return
    sent.store(folder, failure=failure.name, made_by=where)
    (folder / "failure.txt").write_text(failure.detail, errors="backslashreplace")
    if any(slow.__name__ in failure.name for slow in (TookTooLong, TookTooMuch)):
        return

    until = time.process_time() + PATIENCE

    def still_fails(smaller: Input) -> bool:
        if time.process_time() > until:
            return False
        alive()
        again = send(bench, limits, smaller)[1]
        return again is not None and again.name == failure.name

    smaller = shrunk(sent, still_fails)
    if smaller != sent:
        sent.store(folder / "as-sent", failure=failure.name, made_by=where)
        smaller.store(folder, failure=failure.name, made_by=where)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--begin", type=int, default=0)
    parser.add_argument("--end", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=())
    parser.add_argument("--again", type=Path, default=None)
    given = parser.parse_args()
    # What commands print must not reach the parent.
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)

    def tell(**what: object) -> None:
        lines.write(json.dumps(what) + "\n")

    bench = Bench(given.folder)
    limits = Limits()
    if given.again is not None:
        _, failure = send(bench, limits, stored(given.again))
        failure = failure or _changed(bench)
        tell(failure=failure and failure.name, detail=failure and failure.detail)
        return 0
    since: list[int] = []
    for number in range(given.begin, given.end):
        sent = made(given.seed, number, given.kinds)
        tell(begin=number, kind=sent.kind)
        accepted, failure = send(bench, limits, sent)
        since.append(number)
        if failure is None and (number + 1 == given.end or len(since) == LOOK):
            failure = _changed(bench)
            if failure is not None:
                numbers = f"one of the inputs {since[0]} to {since[-1]}"
                failure = Failure(failure.name, f"{numbers}\n{failure.detail}")
                bench = Bench(given.folder)
            since = []
        if failure is not None:
            where = f"--seed {given.seed} --at {number} --kind {' '.join(given.kinds)}"
            tell(number=number, kind=sent.kind, failure=failure.name)
            keep(bench, limits, sent, failure, given.out, where, lambda number=number: tell(alive=number))
        tell(end=number, accepted=accepted, peak=limits.peak, cpu=time.process_time())
    return 0


def _changed(bench: Bench) -> Failure | None:
    try:
        unchanged(bench, bench.rehearsal)
    except Broken as error:
        return Failure(CHANGED, str(error))
    return None


if __name__ == "__main__":
    sys.exit(main())
