"""The server that all tests of doors and of the API share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.project import door_file, find_door, open_project
from tests.cli.test_reading_together import fill_all
from tests.made.browser import ROOT, free_port
from tests.made.projects import file_of


def serve(path: Path) -> subprocess.Popen[bytes]:
    """A server that has a project open; it is there when its door is."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.server.serving", str(path), str(free_port())],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    while not door_file(path).exists():
        try:
            assert process.wait(timeout=0.05) is None, "the server ended"
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
def served(apart: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project that a server has open from the first test that asks for it to the end."""
    path = tmp_path_factory.mktemp("served") / "some.duckdb"
    path.write_bytes(apart.read_bytes())
    process = serve(path)
    assert find_door(path) is not None
    yield path
    process.terminate()
    assert process.wait(timeout=60) is not None
    assert not door_file(path).exists()
    # It let go of the file.
    open_project(path).close()
