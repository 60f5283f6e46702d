"""Readers under Atheris: what is mutated is whatever took a branch of our own code that none took before.

`tests.fuzz.readers` tells ways through a reader by what it says, and is fast; this tells them by the instrumented
branches and comparisons of `core`, and is thorough. Mutations are libFuzzer's and those of `tests.fuzz.readers`, in
turn. What fails is kept as the other fuzzers keep it, once for each kind of failure, and the run goes on.

Usage: python -m tests.fuzz.guided --inputs 200000 --seed 7 --out FOLDER   (pip install "exam-workbench[fuzz]")
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random

try:
    import atheris
except ImportError:
    sys.exit('atheris is not installed: pip install "exam-workbench[fuzz]"')

with atheris.instrument_imports(include=["core"], enable_loader_override=False):
    from tests.fuzz import limits, readers
    from tests.fuzz.bench import Bench
    from tests.fuzz.files import FORMS, a_file
    from tests.fuzz.inputs import Input
    from tests.fuzz.limits import MIB, Limits, TookTooLong
    from tests.fuzz.round_trip import ROUND_TRIPS
    from tests.fuzz.worker import Failure, folder_of, keep, send

KINDS = (*ROUND_TRIPS, "detect", "ratings")
OURS = 0.5
"""Share of mutations that know what the files are made of; the others are libFuzzer's."""
SEEDS = 6
"""Valid files of each form to begin with."""
TELL = 10_000
"""After so many inputs it says how far it is."""


class Run:
    """One run over all readers: the first byte of an input says which reader, and under which name it comes."""

    def __init__(self, folder: Path, out: Path, seed: int) -> None:
        self.dice = Random(seed)
        self.corpus = readers.Corpus(self.dice)
        self.bench, self.bounds = Bench(folder), Limits()
        self.out, self.seed = out, seed
        self.sent, self.failures = 0, 0

    def seeds(self, folder: Path) -> None:
        """Write valid files of every form, to begin with."""
        for number, form in enumerate(form for form in FORMS for _ in range(SEEDS)):
            data = a_file(form, self.dice)[1][: readers.LONGEST]
            (folder / str(number)).write_bytes(bytes([FORMS.index(form)]) + data)

    def made(self, data: bytes) -> Input:
        """The input that bytes stand for."""
        form = FORMS[data[0] % len(FORMS)] if data else FORMS[0]
        if data and data[0] >= 250:
            kind = "detect" if data[0] % 2 else "ratings"
            if kind == "ratings":
                text = data[1:].decode("utf-8", "surrogateescape")
                return Input(kind, (), {"text": text, "more": "4", "complete": data[0] % 4 < 2, "top": 5})
            return Input(kind, ((form.name, data[1:]),), readers.GIVEN)
        return Input(form.kind, ((form.name, data[1:]),), dict(readers.GIVEN, door=False, deep=False))

    def mutate(self, data: bytes, longest: int, seed: int) -> bytes:
        """Another input like one that is known."""
        self.dice.seed(seed)
        if self.dice.random() >= OURS or len(data) < 2:
            return bytes(atheris.Mutate(data, longest))
        changed = data[1:]
        for _ in range(1 + int(self.dice.expovariate(0.8))):
            changed = self.dice.choice(readers.MUTATIONS)(changed, self.corpus)
        return (data[:1] + changed)[:longest]

    def one(self, data: bytes) -> None:
        """Read one input; it fails as with the other fuzzers."""
        sent = self.made(data)
        self.sent += 1
        failure: Failure | None = None
        try:
            with readers.in_time():
                readers.outcome(sent)
        except Exception:
            failure = send(self.bench, self.bounds, sent)[1]
        except TookTooLong:
            failure = Failure(f"TookTooLong [{sent.kind}]", f"more than {limits.CPU_SECONDS} s")
        if failure is not None:
            self.failures += 1
            if not folder_of(self.out, failure.name).exists():
                print(f"{failure.name}: {folder_of(self.out, failure.name)}", flush=True)
            keep(self.bench, self.bounds, sent, failure, self.out, f"guided, seed {self.seed}", lambda: None)
        if self.sent % TELL == 0:
            self.tell()

    def tell(self) -> None:
        """Say what was done so far: libFuzzer ends the process, and nothing of ours runs after it."""
        seconds = time.process_time()
        grown = (limits.peak() - self.bounds.base) // MIB
        print(f"{self.sent:,} inputs, {self.sent / seconds:,.0f} a second of the processor, {self.failures} failures,"
              f" at most {grown} MiB more memory", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=None, help="folder for the inputs that fail")
    parser.add_argument("--corpus", type=Path, default=None, help="folder of inputs to begin with, and to add to")
    given = parser.parse_args()
    out = (given.out or Path(tempfile.mkdtemp(prefix="fuzz-"))).resolve()
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    corpus = (given.corpus or folder / "corpus").resolve()
    corpus.mkdir(parents=True, exist_ok=True)
    run = Run(folder, out, given.seed)
    if not any(corpus.iterdir()):
        run.seeds(corpus)
    # The limits on time and memory are ours, and so is the signal by which libFuzzer would look at the time.
    options = (f"-runs={given.inputs}", f"-seed={given.seed}", f"-max_len={readers.LONGEST}", "-timeout=0",
               "-rss_limit_mb=0", f"-artifact_prefix={out}/")  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(corpus)], run.one, custom_mutator=run.mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
