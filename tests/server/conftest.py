"""The server that all tests of the API and of commands through a server share."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exam_workbench.store import Project, open_project
from exam_workbench.store._opening import door_file
from tests.cli.test_reading_together import fill_all
from tests.made.browser import ROOT, free_port
from tests.made.cascades import fill_planned
from tests.made.projects import file_of
from tests.server import hostile
from tests.server.api import Api


def serve(*paths: Path, canary: Path | None = None) -> subprocess.Popen[bytes]:
    """Start a server with open projects and wait until the connection file of the last one exists.

    Args:
        canary: a folder; the server logs every access to it in a file next to it.
    """
    watched = {} if canary is None else {"CANARY": str(canary)}
    # The tests request all routes in less than a minute. A full disk would leave broken bytecode in the tree.
    settings = {"PYTHONPATH": str(ROOT), "EXAM_LIMIT_REQUESTS": "100000", "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.server.serving", str(free_port()), *map(str, paths)],
        cwd=ROOT,
        env={**os.environ, **settings, **watched},
    )
    while not door_file(paths[-1]).exists():
        try:
            raise AssertionError(f"the server ended: {process.wait(timeout=0.05)}")
        except subprocess.TimeoutExpired:
            continue
    return process


def made(factory: pytest.TempPathFactory, fill: Callable[[Project], object]) -> Path:
    path = factory.mktemp(fill.__name__) / "some.duckdb"
    file_of(fill).write(path)
    return path


@pytest.fixture(scope="session")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed project with the same contents as the served project."""
    path = made(tmp_path_factory, fill_all)
    open_project(path).close()
    return path


@pytest.fixture(scope="session")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed project with a cascade of two graders."""
    return made(tmp_path_factory, fill_planned)


@pytest.fixture(scope="session")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with some of every kind of content, for hostile requests."""
    return made(tmp_path_factory, hostile.fill_attacked)


@pytest.fixture(scope="session")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the server with secrets, which no request may access."""
    folder = tmp_path_factory.mktemp("canary") / "canary"
    folder.mkdir()
    (folder / "secret.txt").write_text(f"{hostile.SECRET}\n", encoding="utf-8")
    (folder / "secret.run").write_text(f"q1 Q0 p2 1 2.0 {hostile.SECRET}\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def held(
    apart: Path, planned: Path, attacked: Path, canary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Path]]:
    """Projects that one server keeps open from their first use to the end of the session."""
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
        # The server has released the file.
        open_project(path).close()


@pytest.fixture(scope="session")
def changed(held: dict[str, Path]) -> Path:
    """A served project that tests may change."""
    return held["changed"]


@pytest.fixture(scope="session")
def api(changed: Path) -> Api:
    return Api(changed)


@pytest.fixture(scope="session")
def tokens(api: Api) -> dict[str, str]:
    """A token of each role, made with the owner's token."""
    return made_tokens(api)


def made_tokens(api: Api) -> dict[str, str]:
    """Return a token of each role for a served project."""
    made = {}
    for role in ("viewer", "assessor", "organizer"):
        status, content = api.ask("POST", "/api/v1/tokens/add", api.door.token, {"name": f"a {role}", "role": role})
        assert status == 200
        made[role] = content.decode().strip()
    return made
