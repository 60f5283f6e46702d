"""Boards over Parquet shards: a hundred million grades, in a process that must not take more than it is allowed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

Say = Callable[..., None]

QUERIES, PASSAGES, QUESTIONS = 1_000, 5_000, 20
SYSTEMS, DEPTH = 100, 100
FILES = 20
MEMORY = "2GB"
_RATING = "(hash(query, passage) % 6 * (hash(query, passage, question) % 4) // 3)"
"""A passage's own level, brought down by the question: some answer most of what is asked, most next to nothing."""
_ID = "'p' || hash(query, {})"
"""Ids of passages that no encoding makes small, up to 21 characters."""


def make(folder: Path, queries: int = QUERIES) -> None:
    """Write shards of so many queries, with 5,000 passages and 20 questions each, and 100 runs of depth 100."""
    (folder / "grades").mkdir()
    with duckdb.connect() as engine:
        engine.execute("SET memory_limit = '2GB'; SET preserve_insertion_order = false")
        each = -(-queries // FILES)
        for file in range(FILES):
            rows = (
                f"SELECT 'query ' || lpad(query::VARCHAR, 5, '0') AS query_id, {_ID.format('passage')} AS passage_id,"
                " 'question ' || query || '/' || question AS question_id,"
                f" {_RATING}::TINYINT AS rating FROM range({file * each}, {min(queries, (file + 1) * each)}) q(query),"
                f" range({PASSAGES}) p(passage), range({QUESTIONS}) o(question)"
            )
            engine.execute(f"COPY ({rows}) TO '{folder}/grades/{file:03}.parquet' (FORMAT parquet, COMPRESSION zstd)")
        engine.execute(
            "COPY (SELECT 'query ' || lpad(query::VARCHAR, 5, '0') AS query_id, 'question ' || query || '/' || question"
            f" AS question_id, 1.0 AS weight, 5 AS top FROM range({queries}) q(query), range({QUESTIONS}) o(question))"
            f" TO '{folder}/questions.parquet' (FORMAT parquet)"
        )
        # A system draws its passages from the better of the pool, the later ones from ever more of it.
        engine.execute(
            "COPY (SELECT 'system ' || system AS run, 'query ' || lpad(query::VARCHAR, 5, '0') AS query_id,"
            f" {_ID.format('(hash(system, query, rank) % (500 + 40 * system))::BIGINT')} AS passage_id, rank,"
            f" 1000.0 - rank AS score FROM range({SYSTEMS}) s(system), range({queries}) q(query),"
            f" range(1, {DEPTH + 1}) r(rank) QUALIFY row_number() OVER (PARTITION BY run, query_id, passage_id"
            f" ORDER BY rank) = 1) TO '{folder}/runs.parquet' (FORMAT parquet, COMPRESSION zstd)"
        )


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _watched(folder: Path, measure: str) -> tuple[float, float, float, float]:
    """Seconds, seconds of processor, the most resident memory of the command in GB, and the most on the disk in GB."""
    spill = folder / "spill"
    spill.mkdir(exist_ok=True)
    command = [
        str(Path(sys.executable).with_name("exam")), "shards", "board", "--grades", f"{folder}/grades/*.parquet",
        "--runs", f"{folder}/runs.parquet", "--questions", f"{folder}/questions.parquet", "--measure", measure,
        "--memory", MEMORY, "--spill", str(spill), "--json",
    ]  # fmt: skip
    start = time.perf_counter()
    most = 0
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    ended = threading.Event()

    def watch() -> None:
        nonlocal most
        while not ended.wait(0.5):
            most = max(most, _size(spill))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, used = os.wait4(child.pid, 0)
    took = time.perf_counter() - start
    ended.set()
    watcher.join()
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6, most / 1e9


def shards(say: Say, queries: int = QUERIES) -> None:
    """Time and memory of boards over 100 million grades."""
    with tempfile.TemporaryDirectory(prefix="bench-shards-", dir=os.environ.get("EXAM_SPILL")) as made:
        folder = Path(made)
        start = time.perf_counter()
        make(folder, queries)
        grades = queries * PASSAGES * QUESTIONS
        say(
            f"shards of {grades:,} grades",
            f"{_size(folder / 'grades') / 1e9:.2f} GB in {FILES} files",
            f"{_size(folder / 'grades') / grades:.2f} bytes a grade",
            f"{SYSTEMS} runs of depth {DEPTH}: {(folder / 'runs.parquet').stat().st_size / 1e9:.2f} GB",
            f"made in {time.perf_counter() - start:.0f} s",
        )
        for measure in ("nDCG@10", "AP"):
            took, processor, memory, disk = _watched(folder, measure)
            say(
                f"exam shards board --measure {measure} --memory {MEMORY}",
                f"{took:.0f} s, {processor:.0f} s of processor",
                f"{grades / took / 1e6:.1f} million grades/s",
                f"peak memory {memory:.2f} GB",
                f"on the disk meanwhile {disk:.2f} GB",
            )
