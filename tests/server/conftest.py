"""The server that all tests of doors and of the API share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.project import door_file, open_project
from tests.cli.test_reading_together import fill_all
from tests.made.browser import ROOT, free_port
from tests.made.projects import file_of


def serve(*paths: Path) -> subprocess.Popen[bytes]:
    """A server that has projects open; it is there when the door of the last is."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.server.serving", str(free_port()), *map(str, paths)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    while not door_file(paths[-1]).exists():
        try:
            raise AssertionError(f"the server ended: {process.wait(timeout=0.05)}")
        except subprocess.TimeoutExpired:
            continue
    return process


@pytest.fixture(scope="session")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that nobody has open, equal to the one that is served."""
    path = tmp_path_factory.mktemp("apart") / "some.duckdb"
    path.write_bytes(file_of(fill_all))
    open_project(path).close()
    return path


@pytest.fixture(scope="session")
def both(apart: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """Two projects that one server has open from the first test that asks for it to the end."""
    paths = tmp_path_factory.mktemp("read") / "some.duckdb", tmp_path_factory.mktemp("changed") / "some.duckdb"
    for path in paths:
        path.write_bytes(apart.read_bytes())
    process = serve(*paths)
    yield paths
    process.terminate()
    process.wait(timeout=60)
    for path in paths:
        assert not door_file(path).exists()
        # It let go of the file.
        open_project(path).close()


@pytest.fixture(scope="session")
def served(both: tuple[Path, Path]) -> Path:
    """A project that a server has open and no test changes."""
    return both[0]


@pytest.fixture(scope="session")
def changed(both: tuple[Path, Path]) -> Path:
    """A project that a server has open and tests change."""
    return both[1]
