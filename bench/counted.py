"""The app as it is served, with a door in the same process that says what it has cost so far.

Queries are counted where they reach DuckDB, whoever asks them, so that nothing of the app has to know of it.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import duckdb
from streamlit.web import cli

from core.labels import override
from core.project import open_project

APP = Path(__file__).resolve().parents[1] / "app.py"
ASKING = ("execute", "executemany", "sql")
"""The ways in which a statement reaches the database."""

LOOKS_EVERY, QUIET_LOOKS = 0.05, 5
"""Seconds between two looks at what the process has taken, and looks in a row that must find it at rest."""
AT_REST = 0.004
"""Seconds of the processor that it may take from one look to the next and be at rest."""

asked: Counter[str] = Counter()
"""How often each statement was asked since the process began."""
_asking = threading.Lock()


def count_statements() -> None:
    """From now on every statement of this process is counted."""
    for name in ASKING:
        setattr(duckdb.DuckDBPyConnection, name, _counting(getattr(duckdb.DuckDBPyConnection, name)))


def _counting(ask: Callable[..., Any]) -> Callable[..., Any]:
    def counted(connection: duckdb.DuckDBPyConnection, *given: Any, **named: Any) -> Any:
        with _asking:
            asked[str(given[0] if given else named.get("query"))] += 1
        return ask(connection, *given, **named)

    return counted


def spent() -> dict[str, Any]:
    """What the process has taken once it rests: `seconds` of the processor until then, and `queries`."""
    rested, taken = 0, time.process_time()
    until = taken, asked.total()
    while rested < QUIET_LOOKS:
        time.sleep(LOOKS_EVERY)
        before, taken = taken, time.process_time()
        rested = rested + 1 if taken - before < AT_REST else 0
        if not rested:
            until = taken, asked.total()
    return {"seconds": until[0], "queries": until[1]}


def statements() -> dict[str, Any]:
    """How often each statement was asked, for whoever wants to know which they are."""
    return dict(asked)


def save(project: str, question: str, passage: str, rating: str) -> dict[str, Any]:
    """Override a rating, as somebody else might while a screen is open."""
    opened = open_project(Path(project))
    try:
        override(opened, question, passage, int(rating), "as measured", "somebody else")
    finally:
        opened.close()
    return {}


class Door(BaseHTTPRequestHandler):
    """Answers GET /ACT?NAME=VALUE with JSON."""

    def do_GET(self) -> None:
        wanted = urlsplit(self.path)
        given = {name: values[0] for name, values in parse_qs(wanted.query).items()}
        acts: dict[str, Callable[..., dict[str, Any]]] = {"/spent": spent, "/statements": statements, "/save": save}
        found = json.dumps(acts[wanted.path](**given)).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(found)

    def log_message(self, *_: object) -> None:
        """Nothing: the log is the app's."""


def main(port: str, door: str) -> None:
    """Serve the app on one port of this machine and the door on another."""
    count_statements()
    answering = ThreadingHTTPServer(("127.0.0.1", int(door)), Door)
    threading.Thread(target=answering.serve_forever, name="door", daemon=True).start()
    sys.argv = ["streamlit", "run", str(APP), "--server.port", port, "--server.headless", "true"]
    cli.main()


if __name__ == "__main__":
    # As a module, so that what is counted is known by one name.
    from bench import counted

    counted.main(*sys.argv[1:])
