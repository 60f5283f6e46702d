"""The harness of the browser tests: it drives the app that it started, and no other."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.made import browser


class Stranger(BaseHTTPRequestHandler):
    """Says that all is well, whatever it is asked."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def stranger() -> Iterator[str]:
    """The address of a server that the harness did not start."""
    with HTTPServer(("localhost", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_stranger_on_the_port_is_not_taken_for_the_app(stranger: str, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("Port 8501 is not available\n")
    with (
        subprocess.Popen([sys.executable, "-c", "import sys; sys.exit(1)"]) as refused,
        pytest.raises(pytest.fail.Exception, match=r"did not answer(.|\n)*Port 8501 is not available"),
    ):
        browser.wait_until_healthy(refused, stranger, log)


def test_an_app_that_has_its_port_is_found(stranger: str, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("  URL: http://localhost:8501\n")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        browser.wait_until_healthy(process, stranger, log)
        process.communicate(b"\n")


def test_a_project_that_the_shell_names_is_on_no_screen_of_a_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAM_PROJECT", str(tmp_path / "mine.duckdb"))
    assert "EXAM_PROJECT" not in browser.environment(tmp_path)
    assert browser.environment(tmp_path)["EXAM_PROJECTS_DIR"] == str(tmp_path)
