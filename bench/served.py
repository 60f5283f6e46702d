"""The app with one project of its own, called bench, for what looks at it in a browser.

By default it is the demo; a graded project of another size comes as a file: `EXAM_BENCH_PROJECT=dl20.duckdb`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.exchange import make_demo
from tests.made.browser import serving


@contextmanager
def served_project() -> Iterator[str]:
    """Serve a copy of the project until the block ends; gives the address of the app."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        projects = folder / "projects"
        projects.mkdir()
        if given := os.environ.get("EXAM_BENCH_PROJECT"):
            shutil.copy(given, projects / "bench.duckdb")
        else:
            make_demo(projects / "bench.duckdb", "bench", True, lambda line: None)
        with serving(projects, folder / "server.log") as server:
            yield server.address
