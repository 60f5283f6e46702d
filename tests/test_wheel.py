"""The wheel, installed outside the clone: it serves, grades, exports and runs the notebook.

`make release-check` installs it and its dependencies except torch from the package index, for several Pythons.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import exam_workbench
from tests.made.browser import free_port, heading, visit, wait_until_healthy
from tests.made.endpoint_server import EndpointServer, rate

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "docs" / "notebooks" / "quickstart.ipynb"
UV = ROOT / ".venv" / "bin" / "uv"
BY_HAND = ("torch", "transformers")
"""Packages that only local models need."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source archive like a release."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [UV, "build", "--quiet", "--offline", "--no-build-isolation", "--python", sys.executable, "-o", folder, ROOT],
        check=True,
    )
    return next(folder.glob("*.whl"))


def installed(wheel: Path, folder: Path, version: str) -> Path:
    """Install the wheel and its dependencies for a Python version; return the new environment's Python."""
    known = [shutil.which(f"python{version}"), *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    runs = [name for name in known if name and subprocess.run([name, "-V"], check=False).returncode == 0]
    if not runs:
        pytest.skip(f"no Python {version} here")
    subprocess.run([UV, "venv", "--quiet", "--python", runs[0], folder], check=True)
    python = folder / "bin" / "python"
    locked = (ROOT / "locks" / "run.txt").read_text(encoding="utf-8")
    parts = re.split(r"^(?=[A-Za-z0-9])", locked, flags=re.MULTILINE)
    needed = folder / "needed.txt"
    needed.write_text("".join(part for part in parts if part.split("==")[0] not in BY_HAND), encoding="utf-8")
    install = [UV, "pip", "install", "--quiet", "--no-deps", "--python", python]
    subprocess.run([*install, "--require-hashes", "-r", needed], check=True)
    subprocess.run([*install, wheel], check=True)
    return python


@pytest.fixture
def endpoint() -> Iterator[EndpointServer]:
    """An endpoint whose model rates every passage 4: it grades without torch."""
    with EndpointServer(lambda seen: rate(seen, 4)) as server:
        yield server


@pytest.mark.index
@pytest.mark.browser
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_installed_product_works(
    version: str,
    wheel: Path,
    tmp_path: Path,
    tab_of: Callable[[str], Page],
    monkeypatch: pytest.MonkeyPatch,
    endpoint: EndpointServer,
) -> None:
    environment = tmp_path / "environment"
    python = installed(wheel, environment, version)
    exam = str(python.with_name("exam"))
    # Secrets within the package must not be read: these would require a login.
    app = next(environment.glob("lib/python*/site-packages/exam_workbench/app"))
    (app / ".streamlit" / "secrets.toml").write_text('[auth]\ncookie_secret = "x"\n', encoding="utf-8")
    folder = hostile_folder(tmp_path / "work")
    home = tmp_path / "home"
    home.mkdir()
    for name in [name for name in os.environ if name.startswith(("EXAM_", "XDG_", "PYTHONPATH", "STREAMLIT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(folder)

    def run(*command: str) -> str:
        return subprocess.run([exam, *command], capture_output=True, text=True, check=True).stdout

    assert exam_workbench.__version__ in run("--version")
    run("demo", "--no-grade")
    project = next(home.rglob("demo.duckdb"))
    assert project.parent.name == "projects" and not project.is_relative_to(environment)
    grader = ["self-rating", "--model", "scripted", "--base-url", endpoint.url]
    run("grade", "--grader", *grader, "--query", "heat-pumps", "--project", str(project))
    assert "heat-pumps" in run("leaderboard", "--queries", "--project", str(project))
    run("status", "--project", str(project))
    run("export", "qrels", "-o", "labels.qrels", "--project", str(project))
    assert {line.split()[0] for line in (folder / "labels.qrels").read_text().splitlines()} == {"heat-pumps"}
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    code = "\n".join("".join(cell["source"]) for cell in cells)
    embedding = ["grade", "--grader", "embedding", "--project", str(project)]
    refused = subprocess.run([exam, *embedding], capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "torch" in refused.stderr and "Traceback" not in refused.stderr
    code = code.replace('"embedding"', f'"self-rating", model="scripted", base_url="{endpoint.url}"')
    checks = "chart.to_dict(); import sys; assert not {'core', 'streamlit'} & set(sys.modules)"
    subprocess.run([str(python), "-c", f"{code}\n{checks}"], check=True)
    serve_and_look(exam, project, tmp_path / "server.log", tab_of)


def hostile_folder(folder: Path) -> Path:
    """Create a folder with a `core`, `pages`, `app.py` and settings that the program must not use."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("core/__init__.py", "pages/__init__.py", "app.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("raise SystemExit('a file of the working folder was imported')\n", encoding="utf-8")
    (folder / ".streamlit").mkdir()
    settings = '[server]\naddress = "0.0.0.0"\nallowedHosts = ["*"]\nenableXsrfProtection = false\n'
    (folder / ".streamlit" / "config.toml").write_text(settings, encoding="utf-8")
    return folder


def serve_and_look(exam: str, project: Path, log: Path, tab_of: Callable[[str], Page]) -> None:
    """Serve a project: the server is healthy, listens only on loopback, refuses other hosts, and draws a screen."""
    port = free_port()
    address = f"http://localhost:{port}"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [exam, "serve", "--port", str(port), "--project", str(project)], stdout=output, stderr=subprocess.STDOUT
        )
    try:
        wait_until_healthy(server, address, log)
        with socket.socket() as probe:
            # A server that listens on all addresses of this computer would answer here too.
            assert probe.connect_ex(("127.0.0.2", port)) != 0
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(
                urllib.request.Request(f"{address}/_stcore/health", headers={"Host": "evil.example"})
            )
        assert refused.value.code in (400, 403, 421)
        page = tab_of("tester")
        visit(page, f"{address}/leaderboard")
        expect(heading(page, "leaderboard")).to_be_visible()
        assert "Traceback" not in log.read_text(encoding="utf-8")
    finally:
        server.terminate()
        server.wait()
