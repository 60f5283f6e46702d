"""The server that all tests of doors and of the API share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exam_workbench.store import open_project
from exam_workbench.store._opening import door_file
from tests.cli.test_reading_together import fill_all
from tests.made.browser import ROOT, free_port
from tests.made.cascades import fill_planned
from tests.made.projects import file_of
from tests.server import hostile
from tests.server.api import Api


def serve(*paths: Path, canary: Path | None = None) -> subprocess.Popen[bytes]:
    """A server that has projects open; it is there when the door of the last is.

    Args:
        canary: a folder of which the server writes down each look into it, in a file beside it.
    """
    watched = {} if canary is None else {"CANARY": str(canary)}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.server.serving", str(free_port()), *map(str, paths)],
        cwd=ROOT,
        # All routes are asked in less than a minute.
        env={**os.environ, "PYTHONPATH": str(ROOT), "EXAM_LIMIT_REQUESTS": "100000", **watched},
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
    file_of(fill_all).write(path)
    open_project(path).close()
    return path


@pytest.fixture(scope="session")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a cascade of two graders."""
    path = tmp_path_factory.mktemp("planned") / "some.duckdb"
    file_of(fill_planned).write(path)
    return path


@pytest.fixture(scope="session")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has something of everything, for requests that are to do harm."""
    path = tmp_path_factory.mktemp("attacked") / "some.duckdb"
    file_of(hostile.fill_attacked).write(path)
    return path


@pytest.fixture(scope="session")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the server with secrets, into which no request may look."""
    folder = tmp_path_factory.mktemp("canary") / "canary"
    folder.mkdir()
    (folder / "secret.txt").write_text(f"{hostile.SECRET}\n", encoding="utf-8")
    (folder / "secret.run").write_text(f"q1 Q0 p2 1 2.0 {hostile.SECRET}\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def held(
    apart: Path, planned: Path, attacked: Path, canary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Path]]:
    """Projects that one server has open from the first test that asks for them to the end."""
    paths = {}
    for name, content in (
        ("read", apart), ("planned", planned), ("stopped", planned), ("attacked", attacked), ("placed", attacked),
        ("changed", apart),
    ):  # fmt: skip
        paths[name] = tmp_path_factory.mktemp(name) / "some.duckdb"
        paths[name].write_bytes(content.read_bytes())
    process = serve(*paths.values(), canary=canary)
    yield paths
    process.terminate()
    process.wait(timeout=60)
    for path in paths.values():
        assert not door_file(path).exists()
        # It let go of the file.
        open_project(path).close()


@pytest.fixture(scope="session")
def changed(held: dict[str, Path]) -> Path:
    """A project that a server has open and tests change."""
    return held["changed"]


@pytest.fixture(scope="session")
def api(changed: Path) -> Api:
    return Api(changed)


@pytest.fixture(scope="session")
def tokens(api: Api) -> dict[str, str]:
    """A token of each role, made by the owner through the door."""
    return made_tokens(api)


def made_tokens(api: Api) -> dict[str, str]:
    """A token of each role for a project that a server has open."""
    made = {}
    for role in ("viewer", "assessor", "organizer"):
        status, content = api.ask("POST", "/api/v1/tokens/add", api.door.token, {"name": f"a {role}", "role": role})
        assert status == 200
        made[role] = content.decode().strip()
    return made
