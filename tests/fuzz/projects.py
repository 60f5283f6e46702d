"""Exported projects, spoilt by `tests.made.fuzz_parquet`: each is refused whole, or imported sound."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import shutil
import tempfile
from pathlib import Path
from random import Random
from types import ModuleType

from core.exchange import export_project
from core.project import open_project
from tests.fuzz.bench import AUTHOR, Bench, make_template
from tests.fuzz.inputs import Input

MODULE = "tests.made.fuzz_parquet"
"""Has `mutate(folder, random)`, which spoils an exported project, and `check(folder)`, which imports it and looks."""


def is_there() -> bool:
    """Whether there is the module that spoils and checks."""
    return importlib.util.find_spec(MODULE) is not None


def _module() -> ModuleType:
    return importlib.import_module(MODULE)


@functools.cache
def _exported() -> dict[str, bytes]:
    """The files of the fuzzer's project as it is exported."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_template(folder / "template.duckdb")
        project = open_project(folder / "template.duckdb")
        try:
            export_project(project, folder / "exported", AUTHOR)
        finally:
            project.close()
        return _files(folder / "exported")


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _write(files: dict[str, bytes], folder: Path) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def a_project(random: Random) -> Input:
    """An exported project, spoilt."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        _write(_exported(), folder)
        _module().mutate(folder, random)
        return Input("project", tuple(_files(folder).items()))


def take_project(bench: Bench, sent: Input) -> bool:
    """Import it; `check` raises what must not happen, and says whether it was accepted."""
    bench.clear()
    folder = bench.scratch / "project"
    folder.mkdir()
    _write(dict(sent.files), folder)
    try:
        return bool(_module().check(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
