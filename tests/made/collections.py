"""Real test collections as projects: imported once in a run of the tests by whoever comes first, then only read."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.exchange import Options, import_files
from core.formats import Source
from core.project import Project, open_project
from tests.made.projects import new_project


def take(project: Project, kind: str, files: list[Path], source: str | None = None) -> None:
    """Import files of one kind."""
    import_files(project, kind, [Source.of(file) for file in files], "tester", Options(source))


def dl20(shared_data: Path, factory: pytest.TempPathFactory) -> Iterator[Project]:
    """For a fixture: TREC DL 2020 with its runs, judgments, eight sources of labels and questions, to be read."""
    folder = shared_data / "dl20"

    def make(project: Project) -> None:
        take(project, "queries", [folder / "queries.tsv"])
        take(project, "passages", [folder / "passages.jsonl.gz"])
        take(project, "runs", sorted((folder / "runs").glob("*.run")))
        take(project, "qrels", [folder / "qrels-nist.txt"], "NIST")
        take(project, "qrels", sorted((folder / "rubric-qrels").glob("*.qrel")))
        take(project, "bank", [folder / "dl20-questions.jsonl.gz"])

    yield from _read(factory, "dl20", make)


def dl23(shared_data: Path, factory: pytest.TempPathFactory) -> Iterator[Project]:
    """For a fixture: the graded file of TREC DL 2023 with rankings, imported whole, to be read."""
    file = shared_data / "dl23-llmjudge" / "graded-with-rankings.jsonl.gz"
    yield from _read(factory, "dl23", lambda project: take(project, "graded", [file]))


def _read(factory: pytest.TempPathFactory, name: str, make: Callable[[Project], None]) -> Iterator[Project]:
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    path = base / f"{name}.duckdb"
    with path.with_suffix(".lock").open("w") as lock:
        # Whoever comes second waits here for the project instead of importing the same files.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            unfinished = new_project(path.with_name(f"{name}-unfinished.duckdb"))
            make(unfinished)
            unfinished.close()
            unfinished.path.rename(path)
    project = open_project(path, read_only=True)
    yield project
    project.close()
