"""Readers alone, a thousand inputs a second: small files are mutated and read in one process, a few of them imported.

What is mutated are valid files, and files that were refused for a reason that was not heard before: a reason stands
for a way through the reader, and is had without tracing the interpreter. Whatever is refused must be said well; what is
read is written and read again for a sample, and a smaller sample goes through the door into a project, where all of it
or nothing arrives. A process that dies or hangs is noticed by the number that it left in a file.

Usage: python -m tests.fuzz.readers --inputs 5000000 --seed 7 --out FOLDER
"""

from __future__ import annotations

import argparse
import json
import mmap
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from core.errors import FileError, Report, WorkbenchError
from core.formats import Source, detect
from tests.fuzz import answers, limits, mutations, oracles
from tests.fuzz.bench import Bench
from tests.fuzz.files import FORMS, a_file
from tests.fuzz.inputs import Input
from tests.fuzz.limits import CLOCK_SECONDS, CPU_SECONDS, MIB, Limits, TookTooLong, TookTooMuch
from tests.fuzz.round_trip import ROUND_TRIPS
from tests.fuzz.worker import Failure, folder_of, keep, send

PART = 200_000
"""Inputs of one process: a new one begins with nothing that others left behind."""
FRESH = 0.12
"""Share of inputs that are made anew, value by value; the others are mutations of what is known."""
ROUND, DOOR, DEEP = 16, 500, 8
"""Of so many inputs one is written and read again, one imported; of so many imported one goes out and in again."""
CORPUS = 300
"""Files of one reader that are mutated, at most; beyond that a new one takes the place of any."""
SEEDS = 6
"""Valid files of each form to begin with."""
TELL = 2_000
"""After so many inputs the parent is told, and memory looked at."""
LONGEST, LONG, LONGER = 4_000, 60_000, 0.01
"""Bytes of an input, at most, and those of a small share: a small one goes the same ways as a large one, sooner."""
KINDS = (*ROUND_TRIPS, "ratings", "detect")
GIVEN = {"options": {"source": None, "skip_unknown": True, "gold": False}, "preview": False}
TOKEN = re.compile(rb'"(?:[^"\\\n]|\\.)*"|[^\s,:{}\[\]"]+')
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
WORDS = re.compile("[a-z]{3,}")
NUMBER = struct.Struct("q")


class Corpus:
    """What is mutated, by kind of file.

    Args:
        dice: of the whole process; the same ones make the same inputs.
    """

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.forms = {kind: [form for form in FORMS if form.kind == kind] for kind in ROUND_TRIPS}
        self.files = {
            kind: [a_file(form, dice) for form in forms for _ in range(SEEDS)] for kind, forms in self.forms.items()
        }
        self.heard: dict[str, set[object]] = defaultdict(set)

    def make(self, kind: str) -> Input:
        """An input of a kind."""
        if kind == "ratings":
            return answers.an_answer(self.dice)
        of = kind if kind in ROUND_TRIPS else self.dice.choice(list(ROUND_TRIPS))
        if self.dice.random() < FRESH:
            name, data = a_file(self.dice.choice(self.forms[of]), self.dice)
        else:
            name, data = self.dice.choice(self.files[of])
            for _ in range(1 + int(self.dice.expovariate(0.8))):
                data = self.dice.choice(MUTATIONS)(data, self)
        data = data[: LONG if self.dice.random() < LONGER else LONGEST]
        return Input(kind, ((name, data),), dict(GIVEN, door=False, deep=False))

    def hear(self, sent: Input, outcome: object) -> None:
        """Keep a file whose outcome is another than all before it."""
        heard, files = self.heard[sent.kind], self.files.get(sent.kind)
        if files is None or outcome in heard:
            return
        heard.add(outcome)
        if len(files) < CORPUS:
            files.append(sent.files[0])
        else:
            files[self.dice.randrange(CORPUS)] = sent.files[0]


def _as_text(spoil: Callable[[str, Random], str]) -> Callable[[bytes, Corpus], bytes]:
    def mutate(data: bytes, corpus: Corpus) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        return spoil(text, corpus.dice).encode("utf-8", "surrogateescape")

    return mutate


def _token(data: bytes, corpus: Corpus) -> bytes:
    """One word, number or quoted text in place of which stands another."""
    dice = corpus.dice
    at = TOKEN.search(data, dice.randrange(len(data) + 1))
    if at is None:
        return data
    choice = dice.random()
    if choice < 0.4:
        other = json.dumps(mutations.a_text(dice)).encode()
    elif choice < 0.7:
        other = dice.choice(mutations.RAW).encode()
    else:
        found = TOKEN.search(data, dice.randrange(len(data) + 1))
        other = b"" if found is None else found.group()
    return data[: at.start()] + other + data[at.end() :]


def _splice(data: bytes, corpus: Corpus) -> bytes:
    """The beginning of one file and the end of another."""
    _, other = corpus.dice.choice(corpus.files[corpus.dice.choice(list(corpus.files))])
    return data[: corpus.dice.randrange(len(data) + 1)] + other[corpus.dice.randrange(len(other) + 1) :]


MUTATIONS: tuple[Callable[[bytes, Corpus], bytes], ...] = (
    _token,
    _token,
    _as_text(mutations.spoil_cell),
    _as_text(mutations.spoil_lines),
    lambda data, corpus: mutations.spoil_bytes(data, corpus.dice),
    _splice,
)


def outcome(sent: Input) -> object:
    """Read an input: what came of it, in the words of its first refusals, or how it was read.

    Raises:
        oracles.Broken: a refusal is not one that a person can read.
    """
    if sent.kind == "ratings":
        return answers.read_answer(None, sent)  # type: ignore[arg-type]
    ((name, data),) = sent.files
    if sent.kind == "detect":
        return detect(Source(name, data=data))
    report = Report()
    try:
        found = ROUND_TRIPS[sent.kind][0]([Source(name, data=data)], report)
    except WorkbenchError as error:
        oracles.refused_well(error)
        said = [str(problem.reason) for problem in error.problems[:3]] if isinstance(error, FileError) else [str(error)]
        return type(error).__name__, *map(_gist, said)
    for problem in report.problems[:5]:
        oracles.one_bounded_line(str(problem))
    return min(len(found), 3), *sorted({_gist(problem.reason) for problem in report.problems[:5]})


def _gist(reason: str) -> str:
    """The first words of a reason that are ours: what it quotes is the input's."""
    return " ".join(WORDS.findall(QUOTED.sub("", reason))[:5])


def read_all(
    folder: Path, out: Path, seed: int, begin: int, end: int, tell: Callable[..., None], place: mmap.mmap
) -> None:
    """The inputs of one process.

    Args:
        folder: for the project into which a sample goes.
        tell: takes what is to be told to the parent.
        place: takes the number of the input under way.
    """
    dice = Random(f"{seed}/{begin}")
    corpus, bench, bounds = Corpus(dice), Bench(folder), Limits()
    sent_of: Counter[str] = Counter()
    read_of: Counter[str] = Counter()
    imported = 0
    for number in range(begin, end):
        place[: NUMBER.size] = NUMBER.pack(number)
        sent = corpus.make(dice.choice(KINDS))
        failure: Failure | None = None
        sample = sent.kind in ROUND_TRIPS and dice.random()
        if sample is not False and sample < 1 / ROUND:
            door = sample < 1 / DOOR
            imported += door
            sent = Input(sent.kind, sent.files, dict(GIVEN, door=door, deep=sample < 1 / DOOR / DEEP))
            accepted, failure = send(bench, bounds, sent)
            read_of[sent.kind] += accepted
        else:
            try:
                with in_time():
                    came = outcome(sent)
                corpus.hear(sent, came)
                read_of[sent.kind] += bool(came) and not (isinstance(came, tuple) and len(came) > 1)
            except Exception:
                # Once more through the other door, which tells what it is and keeps it.
                failure = send(bench, bounds, sent)[1]
            except TookTooLong:
                failure = Failure(f"TookTooLong [{sent.kind}]", f"more than {CPU_SECONDS} s")
        sent_of[sent.kind] += 1
        if failure is not None:
            tell(failure=failure.name, kind=sent.kind, number=number)
            keep(bench, bounds, sent, failure, out, f"readers, seed {seed}", lambda number=number: tell(alive=number))
        if (number + 1) % TELL == 0 or number + 1 == end:
            grown = max(bounds.peak, limits.peak() - bounds.base)
            if grown > limits.MEMORY:
                tell(failure=f"{TookTooMuch.__name__} among the last {TELL}", kind="any", number=number)
            oracles.unchanged(bench, bench.rehearsal)
            tell(
                done=number + 1, sent=sent_of, read=read_of, imported=imported, peak=grown, cpu=time.process_time(),
                heard={kind: len(found) for kind, found in corpus.heard.items()},
            )  # fmt: skip


@contextmanager
def in_time() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.readers", description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--begin", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None, help="folder for the inputs that fail")
    parser.add_argument("--worker", type=Path, default=None, help=argparse.SUPPRESS)
    given = parser.parse_args()
    out = (given.out or Path(tempfile.mkdtemp(prefix="fuzz-"))).resolve()
    out.mkdir(parents=True, exist_ok=True)
    if given.worker is None:
        return _run(given.inputs, given.seed, given.begin, out)
    with (given.worker / "number").open("r+b") as file:
        place = mmap.mmap(file.fileno(), NUMBER.size)

    def tell(**what: object) -> None:
        print(json.dumps(what), flush=True)

    read_all(given.worker, out, given.seed, given.begin, given.begin + given.inputs, tell, place)
    return 0


def _run(inputs: int, seed: int, begin: int, out: Path) -> int:
    """Begin one process after the other; a line of figures now and then, and the whole at the end."""
    total: dict[str, Counter[str]] = {"sent": Counter(), "read": Counter()}
    failures: Counter[str] = Counter()
    cpu, imported, peak, number = 0.0, 0, 0, begin
    while number < begin + inputs:
        last = min(number + PART, begin + inputs)
        latest = {"done": number, "sent": {}, "read": {}, "imported": 0, "peak": 0, "cpu": 0.0}
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
            folder = Path(name)
            (folder / "number").write_bytes(NUMBER.pack(number))
            options = ("--worker", name, "--out", out, "--seed", seed, "--begin", number, "--inputs", last - number)
            command = [sys.executable, "-m", "tests.fuzz.readers", *map(str, options)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            watch = _Watch(process, folder / "number")
            assert process.stdout is not None
            for line in process.stdout:
                told = json.loads(line)
                if "failure" in told:
                    failures[told["failure"]] += 1
                    if failures[told["failure"]] == 1:
                        print(f"{told['failure']}: {folder_of(out, told['failure'])}", flush=True)
                elif "done" in told:
                    latest = told
                    if told["done"] % (25 * TELL) == 0:
                        rate = (told["done"] - number) / max(told["cpu"], 0.01)
                        print(f"{told['done'] - begin:,} inputs, {rate:,.0f} a second of the processor,"
                              f" {sum(told['heard'].values())} ways, {len(failures)} failures", flush=True)  # fmt: skip
            code = process.wait()
            watch.end()
            reached = NUMBER.unpack((folder / "number").read_bytes())[0]
        for what in ("sent", "read"):
            total[what].update(latest[what])
        cpu, imported, peak = cpu + latest["cpu"], imported + latest["imported"], max(peak, latest["peak"])
        if code:
            failures[f"the process ended with {code} at input {reached} of those from {number}"] += 1
            print(list(failures)[-1], flush=True)
        number = last
    for kind in KINDS:
        print(f"{kind}: {total['sent'][kind]:,} sent, {total['read'][kind]:,} read", flush=True)
    count = sum(total["sent"].values())
    print(f"{count:,} inputs, {imported:,} of them imported, {count / max(cpu, 0.01):,.0f} a second of the processor,"
          f" at most {peak // MIB} MiB more memory, {sum(failures.values())} failures")  # fmt: skip
    for name, times in failures.items():
        print(f"  {times}x {name}")
    return int(bool(failures))


class _Watch:
    """Ends a process that stays at one input for too long.

    Args:
        place: the file in which it leaves the number of the input under way.
    """

    def __init__(self, process: subprocess.Popen[str], place: Path) -> None:
        self._process, self._place = process, place
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        before = b""
        # It takes a while to begin, and on a busy machine to go on.
        while not self._over.wait(10 * CLOCK_SECONDS):
            now = self._place.read_bytes()
            if now == before:
                self._process.kill()
                return
            before = now

    def end(self) -> None:
        self._over.set()
        self._thread.join()


if __name__ == "__main__":
    sys.exit(main())
