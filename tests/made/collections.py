"""Real test collections as projects: imported once per test run, then read-only."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exam_workbench.exchange import Options, import_files
from exam_workbench.formats import Source
from exam_workbench.store import Project, open_project
from tests.made.once import made_once
from tests.made.projects import new_project


def take(project: Project, kind: str, files: list[Path], source: str | None = None) -> None:
    import_files(project, kind, [Source.from_path(file) for file in files], "tester", Options(source))


def dl20(shared_data: Path, factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Yield TREC DL 2020, read-only, for a fixture: runs, judgments, eight sources of labels, and questions."""
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
    """Yield TREC DL 2023, read-only, for a fixture: the complete graded file with rankings."""
    file = shared_data / "dl23-llmjudge" / "graded-with-rankings.jsonl.gz"
    yield from _read(factory, "dl23", lambda project: take(project, "graded", [file]))


def _read(factory: pytest.TempPathFactory, name: str, make: Callable[[Project], None]) -> Iterator[Project]:
    def made(path: Path) -> Path:
        unfinished = new_project(path)
        make(unfinished)
        unfinished.close()
        return path

    path = made_once(factory, f"{name}.duckdb", made)
    project = open_project(path, read_only=True)
    yield project
    project.close()
