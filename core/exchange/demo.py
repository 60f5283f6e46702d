"""The demo collection as a project: imported, graded with the embedding grader, with its exam taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..atomic_files import WorkingFolder, put_new
from ..errors import GradingError, InputError, Report
from ..formats import Source, queries
from ..graders import make_grader
from ..grading import Request, run_job
from ..locations import APP_FOLDER
from ..project import Project, create
from .exam_import import EXAM
from .importing import Options, import_files

FILES = APP_FOLDER / "data" / "demo"


def make_demo(
    path: Path,
    author: str,
    grade: bool,
    tell: Callable[[str], None],
    sit: Callable[[Project], object] | None = None,
) -> None:
    """Make a project of the demo collection.

    Args:
        path: the new project's file.
        grade: whether to grade it with the embedding grader.
        tell: is given a sentence about each step.
        sit: makes students take the exam, as `pipelines.sit_by_rules` does; without it the demo has no exam.

    Raises:
        InputError: the file exists already.
        GradingError: grading failed.
    """
    taken = InputError("project-exists", f"{path} already exists.", "Open it, delete it, or name another file.")
    if path.exists():
        raise taken
    path.parent.mkdir(parents=True, exist_ok=True)
    # Made in a working folder, so that an interruption leaves no partial demo.
    with WorkingFolder(path.parent) as working:
        _fill(making := working / path.name, author, grade, tell, sit)
        if not put_new(making, path):
            raise taken


def _fill(
    path: Path, author: str, grade: bool, tell: Callable[[str], None], sit: Callable[[Project], object] | None
) -> None:
    project = create(path)
    try:
        collection = [
            ("queries", [FILES / "queries.jsonl"], None),
            ("passages", [FILES / "passages.jsonl"], None),
            ("runs", sorted((FILES / "runs").glob("*.run")), None),
            ("qrels", [FILES / "qrels.txt"], "assessors"),
            ("bank", [FILES / "bank.jsonl"], None),
        ]
        for kind, files, source in collection + ([] if sit is None else [("exam", [FILES / "exam.json"], None)]):
            done = import_files(project, kind, [Source.of(file) for file in files], author, Options(source))
            tell(", ".join(f"{name}: {count:,}" for name, count in done.counts.items()))
        if grade:
            tell("Grading with the embedding model ...")
            final = run_job(project, make_grader("embedding", {}), Request(), author)
            if final.state != "done":
                raise GradingError(
                    "job-failed", final.message, "Run exam demo again, or exam demo --no-grade and then exam grade."
                )
            tell(f"Graded {final.graded:,} pairs in {final.seconds:.0f} s.")
        if sit is not None:
            sit(project)
    finally:
        project.close()


def is_demo(project: Project) -> bool:
    """Return whether a project has exactly the queries of the demo collection, apart from its exam."""

    def compute() -> bool:
        ids = {query.query_id for query in queries.read_queries(Source.of(FILES / "queries.jsonl"), Report())}
        return ids == {query_id for (query_id,) in project.rows("SELECT query_id FROM queries")} - {EXAM}

    return project.remember("is demo", compute)
