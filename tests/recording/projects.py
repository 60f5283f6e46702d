"""The project files that a recording reads."""

import os
import shlex
import shutil
import tempfile
from pathlib import Path

from tests.recording import product
from tests.recording.table import ROOT, filled, table

DATA = ROOT.parent / "shared" / "data"


def make(folder: Path) -> None:
    """Make each project that the folder lacks; real collections only if their data is next to the checkout."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {"EXAM_AUTHOR": "recorder", "LOGNAME": "recorder"}
    for name, fill in (
        ("demo", _demo), ("worked", _worked), ("made", _made), ("dl20", _dl20), ("dl23-llmjudge", _dl23)
    ):  # fmt: skip
        path = folder / f"{name}.duckdb"
        if path.exists() or (name.startswith("dl") and not (DATA / name).is_dir()):
            print(f"{name}: {'kept' if path.exists() else f'skipped, because {DATA / name} is missing'}", flush=True)
            continue
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            making = Path(scratch) / path.name
            fill(making)
            making.replace(path)
        print(f"{name}: made", flush=True)


def _do(path: Path, *words: object) -> None:
    code, _, errors = product.run([str(word) for word in words], path)
    if code:
        raise SystemExit(f"exam {' '.join(map(str, words))}: exit {code}\n{errors}")


def _demo(path: Path) -> None:
    _do(path, "demo")


def _worked(path: Path) -> None:
    """Make the demo after people worked on it."""
    demo = path.parent.parent / "demo.duckdb"
    shutil.copyfile(demo, path)
    out = path.parent / "out"
    out.mkdir()
    (out / "guidelines.md").write_text("Judge what the passage says.\n", encoding="utf-8")
    for line in table()["work"]:
        _do(path, *shlex.split(filled(line, {"out": str(out)})))


def _made(path: Path) -> None:
    """Make a small project with a cascade, an audit and invented grades."""
    from exam_workbench.store import create_project
    from tests.server.hostile import fill_attacked

    project = create_project(path)
    fill_attacked(project)
    project.close()


def _dl20(path: Path) -> None:
    data = DATA / "dl20"
    _do(path, "init")
    for kind, files in (
        ("queries", [data / "queries.tsv"]),
        ("passages", [data / "passages.jsonl.gz"]),
        ("runs", sorted((data / "runs").glob("*.run"))),
        ("bank", [data / "dl20-questions.jsonl.gz"]),
        ("graded", [data / "direct-grades-umbrela.jsonl.gz"]),
        ("qrels", sorted((data / "rubric-qrels").glob("*.qrel"))),
    ):
        _do(path, "import", kind, *files)
    _do(path, "import", "qrels", data / "qrels-nist.txt", "--source", "NIST")


def _dl23(path: Path) -> None:
    _do(path, "init")
    _do(path, "import", "graded", DATA / "dl23-llmjudge" / "graded-with-rankings.jsonl.gz")
