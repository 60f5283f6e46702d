"""Measure regrading one reworded question with the vectors that the project keeps, and without them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from core import bank
from core.exchange import FILES, Options, import_files
from core.formats import Source
from core.graders import make_grader
from core.grading import Request, Scope, count_vectors, drop_vectors, run_job
from core.project import Project, create, open_project

ROOT = Path(__file__).resolve().parents[1]


def _demo(project: Project) -> None:
    _import(project, FILES, "queries.jsonl", "passages.jsonl", sorted((FILES / "runs").glob("*.run")), "bank.jsonl")


def _dl20(shared: Path) -> Callable[[Project], None]:
    folder = shared / "dl20"
    runs = sorted((folder / "runs").glob("*.run"))
    return lambda project: _import(
        project, folder, "dl20-queries.json", "passages.jsonl.gz", runs, "dl20-questions.jsonl.gz"
    )


def _import(project: Project, folder: Path, queries: str, passages: str, runs: list[Path], questions: str) -> None:
    for kind, files in (
        ("queries", [folder / queries]),
        ("passages", [folder / passages]),
        ("runs", runs),
        ("bank", [folder / questions]),
    ):
        import_files(project, kind, [Source.of(file) for file in files], "bench", Options(None))


def _regrade(path: str, text: str) -> None:
    """Grade one question in a wording of its own; print what that took, the loading of torch and the model included."""
    project = open_project(Path(path))
    question = next(question for question in bank.questions(project) if question.text)
    wall, processor = time.perf_counter(), time.process_time()
    request = Request(trial=(replace(question, text=text),))
    pairs = run_job(project, make_grader("embedding", {}), request, "bench").graded
    print(json.dumps([pairs, time.perf_counter() - wall, time.process_time() - processor]))
    project.close()


def _measured(path: Path, text: str) -> tuple[int, float, float]:
    """Pairs, seconds and seconds of processor, in a process that remembers nothing and has no library loaded."""
    command = [sys.executable, "-m", "bench.vectors", str(path), text]
    run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    pairs, wall, processor = json.loads(run.stdout)
    return pairs, wall, processor


def vectors(say: Any, shared: Path) -> None:
    """One reworded question of the demo and of TREC DL 2020, after the questions of its query were graded."""
    collections = {"demo": _demo}
    if (shared / "dl20").is_dir():
        collections["dl20"] = _dl20(shared)
    for name, fill in collections.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.duckdb"
            project = create(path)
            fill(project)
            query = next(question.query_id for question in bank.questions(project) if question.text)
            run_job(project, make_grader("embedding", {}), Request(Scope(queries=(query,))), "bench")
            kept = count_vectors(project)
            project.close()
            pairs, wall, processor = _measured(path, "What is told of it here?")
            project = open_project(path)
            drop_vectors(project)
            project.close()
            _, plain_wall, plain_processor = _measured(path, "What does one learn of it here?")
        of_passages = next(one for one in kept if one.role == "passage")
        say(
            f"one reworded question, {name}, {pairs} pairs",
            f"{processor:.1f} s of processor ({wall:.1f} s)",
            f"without kept vectors {plain_processor:.1f} s ({plain_wall:.1f} s)",
            f"{plain_processor / processor:.1f} x less",
            f"{of_passages.size / of_passages.texts / 1000:.1f} kB kept a passage",
        )


if __name__ == "__main__":
    _regrade(*sys.argv[1:])
