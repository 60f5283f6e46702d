"""Measure how much of the embedding grader's time is its encoder's, its threads, and what it encodes.

The project has 8 queries with 50 passages of TREC DL 2020 each, or of the demo where that is not there, and a tenth of
them once more under other ids. Time is time of processor, which other work on the machine changes little; the encoder's
own limit is the time within its forward passes.
"""

from __future__ import annotations

import functools
import gzip
import itertools
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from core.exchange import FILES, import_files
from core.formats import Source
from core.graders import Control, make_grader
from core.grading import Request, run_job
from core.project import Project, create, open_project, set_pool_depth
from core.types import Asked

ROOT = Path(__file__).resolve().parents[1]
QUERIES, PASSAGES, TWICE = 8, 50, 5
"""Queries, passages of each, and how many of these have a second id."""
QUESTIONS = (1, 5, 10, 20, 50, 100)
"""Questions a query that are measured."""


def texts(shared: Path) -> tuple[list[str], list[str]]:
    """Passages and questions of a real collection, in its order; then the questions with their words turned round."""
    folder = shared / "dl20"
    if folder.is_dir():
        passages = _lines(folder / "passages.jsonl.gz")
        banks = _lines(folder / "dl20-questions.jsonl.gz")
        questions = [item["question_text"] for one in banks for item in one["items"]]
    else:
        passages, questions = _lines(FILES / "passages.jsonl"), [one["text"] for one in _lines(FILES / "bank.jsonl")]
    different = list(dict.fromkeys(one["text"] for one in passages))
    return different, questions + [" ".join(reversed(question.split())) for question in questions]


def _lines(path: Path) -> list[Any]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def make(path: Path, questions: int, shared: Path) -> None:
    """The project of so many questions a query."""
    found, asked = texts(shared)
    wording = itertools.cycle(asked)
    queries, passages, ranked, bank = [], [], [], []
    for number in range(QUERIES):
        query = f"q{number}"
        queries.append({"query_id": query, "text": f"what is told of subject {number}"})
        own = [found[(number * PASSAGES + at) % len(found)] for at in range(PASSAGES)]
        for at, text in enumerate([*own, *own[:TWICE]]):
            passages.append({"passage_id": f"{query}-{at}", "text": text})
            ranked.append(f"{query} Q0 {query}-{at} {at + 1} {1000 - at} one")
        bank += [
            {"query_id": query, "question_id": f"{query}/{at}", "text": next(wording), "kind": "question"}
            for at in range(questions)
        ]
    project = create(path)
    for kind, name, rows in (
        ("queries", "queries.jsonl", map(json.dumps, queries)),
        ("passages", "passages.jsonl", map(json.dumps, passages)),
        ("runs", "one.run", ranked),
        ("bank", "bank.jsonl", map(json.dumps, bank)),
    ):
        import_files(project, kind, [Source(name, data="\n".join(rows).encode())], "bench")
    with project.transaction() as cursor:
        set_pool_depth(cursor, PASSAGES + TWICE, "bench")
    project.close()


class Watch:
    """Adds up the time of processor within functions, and counts what they are given."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.threads: set[int] = set()
        self.encoded: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def over(self, place: Any, name: str, clock: Callable[[], float], what: str) -> Iterator[None]:
        """Watch a function of a class or a module until the block ends."""
        plain = getattr(place, name)

        @functools.wraps(plain)
        def watched(*given: Any, **named: Any) -> Any:
            begun = clock()
            try:
                return plain(*given, **named)
            finally:
                with self._lock:
                    self.seconds[what] += clock() - begun
                    self.threads.add(threading.get_ident())
                    if what == "tokens":
                        self.encoded.update(given[1])

        setattr(place, name, watched)
        try:
            yield
        finally:
            setattr(place, name, plain)


def measure(path: Path) -> dict[str, float]:
    """Grade the project, and say where the time went; in a process that has done nothing else."""
    begun = time.process_time()
    # What is measured lies behind the face of its room.
    inner: Any = import_module("core.graders.embedding.minilm")
    bert: Any = import_module("core.graders.embedding.bert")

    project = open_project(path)
    grader = make_grader("embedding", {})
    # The library and the weights are loaded once a process, whatever it grades.
    list(grader.grade({0: Asked("Which one?")}, {1: "A first passage. It has two."}, [(0, 1)], Control()))
    loading = time.process_time() - begun
    watch = Watch()
    begun, clock = time.process_time(), time.perf_counter()
    with (
        watch.over(bert.Bert, "__call__", time.thread_time, "forward"),
        watch.over(inner.Encoder, "_tokens", time.process_time, "tokens"),
    ):
        threads_before = watch.threads
        final = run_job(project, grader, Request(), "bench")
        spent, wall = time.process_time() - begun, time.perf_counter() - clock
    assert final.state == "done" and not final.failed and final.graded == final.total
    distinct = _distinct(project)
    project.close()
    # The same texts in one go, with nothing else around: what the encoder itself bears.
    encoder = inner.load_encoder(inner.model_folder())
    alone = Watch()
    with alone.over(bert.Bert, "__call__", time.thread_time, "forward"):
        encoder.encode(list(watch.encoded))
    return {
        "pairs": final.graded,
        "loading": loading,
        "spent": spent,
        "wall": wall,
        "forward": watch.seconds["forward"],
        "tokens": watch.seconds["tokens"],
        "alone": alone.seconds["forward"],
        "threads": len(threads_before) - 1,
        "encoded": sum(watch.encoded.values()),
        "different": len(watch.encoded),
        "passages": distinct,
    }


def _distinct(project: Project) -> int:
    return int(project.value("SELECT count(DISTINCT text_key) FROM pool"))


def measured(questions: int, shared: Path) -> dict[str, float]:
    """The same, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "encoder.duckdb"
        make(path, questions, shared)
        command = [sys.executable, "-m", "bench.encoder", str(path)]
        run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        return dict(json.loads(run.stdout.splitlines()[-1]))


def encoder(say: Any, shared: Path) -> None:
    """The share of the time in anything but the encoder, by the number of questions a query."""
    for questions in QUESTIONS:
        found = measured(questions, shared)
        say(
            f"embedding grader, {questions} questions a query",
            f"{found['pairs']:,.0f} pairs",
            f"{found['spent']:.2f} s of processor ({found['wall']:.2f} s)",
            f"outside the encoder {1 - found['forward'] / found['spent']:.1%}"
            f" (tokens {found['tokens'] / found['spent']:.1%})",
            f"{found['pairs'] / found['spent']:,.0f} pairs/s, encoder alone {found['pairs'] / found['alone']:,.0f}",
            f"{found['threads']:.0f} threads",
            f"{found['encoded']:,.0f} texts encoded, {found['different']:,.0f} different,"
            f" {found['passages']:,.0f} of them passages",
            f"loading {found['loading']:.1f} s",
        )


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
