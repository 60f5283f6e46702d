"""The app as it is served, with a door in the same process through which a soak asks what is true in a project.

One process owns a project's file while it is open, so nothing outside can look into it. Each question opens the
project anew beside the app: it shares the database and nothing that the app remembers.
"""

from __future__ import annotations

import json
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from streamlit.web import cli

from core.project import open_project
from tests.soak.facts import FACTS

APP = Path(__file__).resolve().parents[2] / "app.py"


class Door(BaseHTTPRequestHandler):
    """Answers GET /FACT?project=FILE&arguments=JSON with JSON."""

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        given = parse_qs(asked.query)
        try:
            project = open_project(Path(given["project"][0]))
            try:
                found = FACTS[asked.path.strip("/")](project, **json.loads(given["arguments"][0]))
            finally:
                project.close()
            status, answer = 200, json.dumps(found)
        except Exception:
            # Whoever asked is told; a soak takes it for a failure of its own.
            status, answer = 500, traceback.format_exc()
        self.send_response(status)
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *_: object) -> None:
        """Nothing: the log is the app's."""


def main(port: str, door: str) -> None:
    """Serve the app on one port of this machine and the facts on another."""
    answering = ThreadingHTTPServer(("127.0.0.1", int(door)), Door)
    threading.Thread(target=answering.serve_forever, name="facts", daemon=True).start()
    sys.argv = ["streamlit", "run", str(APP), "--server.port", port, "--server.headless", "true"]
    cli.main()


if __name__ == "__main__":
    main(*sys.argv[1:])
