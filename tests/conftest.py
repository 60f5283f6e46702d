"""Fixtures that several test files share, and what the summary says of skipped tests."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import itertools
import logging
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies

from exam_workbench.graders.access import access, endpoints
from exam_workbench.graders.local import loading
from exam_workbench.project import Project
from exam_workbench.project.engine_memory import CONFIG
from tests.made.projects import TEST_IS_OVER, examples, new_project

pytest_plugins = ["tests.made.browser"]

# A busy machine makes no test fail.
hypothesis.settings.register_profile("project", deadline=None, max_examples=examples(25))
hypothesis.settings.load_profile("project")

# Looking for garbage after every few hundred objects takes the tests a fifth of their time.
gc.set_threshold(50_000, 20, 100)

# The tests keep every core busy by themselves, and waking another one costs a small query more than it gains.
CONFIG["threads"] = 1

# Graders of this computer's models are the same on every processor that runs the tests.
loading.CPU_INFO = Path(os.devnull)


@pytest.fixture(scope="session", autouse=True)
def _one_copy_of_the_package() -> Iterator[None]:
    """The folder `core` is imported as `exam_workbench` only: two copies would have two classes of each error."""
    yield
    assert "core" not in sys.modules


SIGNS = Path(__file__).resolve().parents[1] / ".hypothesis" / "unicode_data"
"""What hypothesis keeps of all signs; where it is, the tests were loaded in this checkout before."""

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What waits begins first: tests in the browser, and those marked as long.

    Of the processes that share the tests, each gets an equal part of them in a row. So the first begins with the tests
    in the browser, which is started once then, as the server is that they share; the second with the long ones; and
    what is left to the end are small tests, of which each process can take its part.
    """
    processes = int(getattr(config, "workerinput", {}).get("workercount", 1))
    browser, long, small = (list[pytest.Item]() for _ in range(3))
    for item in items:
        marked = item.get_closest_marker
        (browser if marked("browser") else long if marked("long") else small).append(item)
    begin = [browser, long] if processes > 1 else [browser + long]
    left, rest, ordered = len(items), iter(small), list[pytest.Item]()
    for number, first in enumerate(begin):
        part = left // (processes - number)
        ordered += [*first, *itertools.islice(rest, max(part - len(first), 0))]
        left -= part
    items[:] = [*ordered, *rest]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Whoever has the tests in the browser goes first: it waits for a server and a page in turn, and takes longest."""
    if getattr(session.config, "workerinput", {"workerid": "gw0"})["workerid"] != "gw0":
        os.nice(5)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Of the processes that share the tests, one loads everything, and the others after it, all at once.

    In a new checkout that one compiles the tests and the libraries; otherwise each of them would compile them all. And
    it looks for hypothesis through all signs that there are, of which the others then find a list. Where that is there,
    all of them load at once.
    """
    if SIGNS.is_dir():
        return (yield)
    with Path(__file__).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            first = True
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_SH)
            first = False
        found = yield
        if first:
            strategies.text().validate()
        return found


def pytest_collection_finish() -> None:
    """All that was loaded for the tests stays to the end: nobody need look through it for garbage again.

    Nor is what records the log to be hung on each of Streamlit's seventy loggers six times a test: they hand it up.
    """
    gc.collect()
    gc.freeze()
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "streamlit":
            logging.getLogger(name).propagate = True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """Nobody looks any more at the files that are closed now."""
    TEST_IS_OVER.set()
    try:
        return (yield)
    finally:
        TEST_IS_OVER.clear()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once for each reason how many tests were skipped: what a machine lacks stops dozens alike."""
    reasons = Counter(str(report.longrepr[2]) for report in terminalreporter.getreports("skipped"))
    for reason, tests in reasons.items():
        terminalreporter.write_line(f"{tests} tests skipped: {reason.removeprefix('Skipped: ')}")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real test collections beside the checkout; the test skips where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real test collections are not at {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture(autouse=True)
def as_found(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What an earlier test left in the process is not there for the next; one fixture, as every test has it.

    Who acts is found out anew in every test: the app of an earlier one says it of its own visitors. The browser's
    driver says that its loop runs in this thread for good: only its own tests see that. What a test patches stays so
    until all else that it has is taken down.
    """
    monkeypatch.setattr(access, "_provider", access._provider)
    monkeypatch.setattr(endpoints, "_secrets", endpoints._secrets)
    loop = None if request.node.get_closest_marker("browser") else asyncio._get_running_loop()
    if loop is not None:
        asyncio._set_running_loop(None)
    yield
    if loop is not None:
        asyncio._set_running_loop(loop)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A new, empty project."""
    opened = new_project(tmp_path / "test.duckdb")
    yield opened
    opened.close()
