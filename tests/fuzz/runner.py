"""Runs inputs in a process of its own, begins a new one where that dies or has done its part, and counts."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.kinds import KINDS
from tests.fuzz.limits import CLOCK_SECONDS
from tests.fuzz.worker import ROOT, folder_of, made

PART = 10_000
"""Inputs of one process: a new one begins with nothing that others left behind."""
SILENCE = 3 * CLOCK_SECONDS
"""Seconds after which a process that says nothing is ended."""
IN_MEMORY = Path("/dev/shm")


@dataclass
class Result:
    """What became of the inputs.

    `sent` and `accepted` count by kind, `failures` by what failed; `peak` is the most memory, in bytes, that a process
    took beyond what it had when it began; `seconds` is by the clock, `cpu` what the processes took of the processor.
    """

    sent: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    peak: int = 0
    seconds: float = 0.0
    cpu: float = 0.0


@contextmanager
def _room() -> Iterator[Path]:
    """A folder for the project's files, in memory where there is such a place."""
    parent = IN_MEMORY if IN_MEMORY.is_dir() and os.access(IN_MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _process(folder: Path, out: Path, *options: object) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.worker",
        "--folder",
        str(folder),
        "--out",
        str(out),
        *map(str, options),
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "EXAM_PROJECTS_DIR": str(folder / "projects"),
    }
    environment.pop("EXAM_PROJECT", None)
    with (out / "worker.log").open("a") as log:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)


def _lines(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """What a process tells, until it ends; one that says nothing for long is ended."""
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    rest = b""
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while selector.select(SILENCE):
                data = os.read(descriptor, 1 << 16)
                if not data:
                    process.wait(CLOCK_SECONDS)
                    break
                *whole, rest = (rest + data).split(b"\n")
                yield from map(json.loads, whole)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def run(
    inputs: int, seed: int, out: Path, kinds: Sequence[str] = (), begin: int = 0, say: Callable[[str], None] = print
) -> Result:
    """Send inputs.

    Args:
        inputs: how many.
        seed: of the dice; the same one makes the same inputs.
        out: folder where inputs that fail are kept.
        kinds: keys of the table; all for none.
        begin: number of the first input.
        say: takes a line for each new failure, and one now and then on how far it is.
    """
    kinds = list(kinds) or list(KINDS)
    out.mkdir(parents=True, exist_ok=True)
    result = Result()
    started = time.monotonic()
    number, end = begin, begin + inputs

    def fail(name: str, kind: str, number: int) -> None:
        result.failures[name] += 1
        if result.failures[name] == 1:
            say(f"{name}: seed {seed}, input {number} ({kind}); {again(folder_of(out, name))}")

    while number < end:
        with _room() as folder:
            part = min(end, number + PART)
            options = ("--seed", seed, "--begin", number, "--end", part, "--kinds", *kinds)
            process = _process(folder, out, *options)
            under_way: dict[str, Any] | None = None
            cpu = 0.0
            for line in _lines(process):
                if "begin" in line:
                    under_way = line
                elif "failure" in line:
                    fail(line["failure"], line["kind"], line["number"])
                elif "end" in line:
                    assert under_way is not None
                    result.sent[under_way["kind"]] += 1
                    result.accepted[under_way["kind"]] += line["accepted"]
                    result.peak = max(result.peak, line["peak"])
                    number, under_way, cpu = line["end"] + 1, None, line["cpu"]
                    if number % 1000 == 0:
                        rate = (number - begin) / (time.monotonic() - started)
                        say(f"{number - begin:,} inputs, {rate:.0f} a second, {len(result.failures)} failures")
            result.cpu += cpu
            if number < part:
                if under_way is None:
                    raise RuntimeError(f"the process ended before it began; see {out / 'worker.log'}")
                name = f"the process ended ({_why(process.returncode)}) [{under_way['kind']}]"
                if not folder_of(out, name).exists():
                    made(seed, number, kinds).store(
                        folder_of(out, name), failure=name, made_by=f"--seed {seed} --at {number}"
                    )
                fail(name, under_way["kind"], number)
                result.sent[under_way["kind"]] += 1
                number += 1
    result.seconds = time.monotonic() - started
    return result


def again(folder: Path) -> str:
    """The command that sends a kept input once more."""
    return f"python -m tests.fuzz --again {folder}"


def repeat(kept: Path) -> tuple[str | None, str]:
    """Send a kept input once more: what fails, None where nothing does, and what there is to read about it."""
    with _room() as folder:
        process = _process(folder, folder, "--again", kept.resolve())
        told = list(_lines(process))
    if not told:
        return f"the process ended ({_why(process.returncode)})", ""
    return told[0]["failure"], told[0]["detail"] or ""


def _why(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"code {code}"
