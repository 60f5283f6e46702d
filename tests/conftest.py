"""Fixtures that several test files share, and the summary of skipped tests."""

import asyncio
import fcntl
import gc
import itertools
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies

from exam_workbench.graders import _access as access
from exam_workbench.graders._local import loading
from exam_workbench.store import Project
from exam_workbench.store._engine import CONFIG
from tests.made.cached_reads import check_cached_reads
from tests.made.projects import TEST_IS_OVER, examples, let_go, new_project

pytest_plugins = ["tests.made.browser", "tests.made.shell", "tests.made.warm_exam"]

# No deadline, because test machines are busy.
hypothesis.settings.register_profile("project", deadline=None, max_examples=examples(25))
hypothesis.settings.load_profile("project")

# The default threshold of garbage collection costs a fifth of the tests' time.
gc.set_threshold(50_000, 20, 100)

# The tests use every core already, and a second thread costs a small query more than it gains.
CONFIG["threads"] = 1

# Fingerprints of local graders must not depend on the processor of the test machine.
loading.CPU_INFO = Path(os.devnull)


@pytest.fixture(scope="session", autouse=True)
def _one_copy_of_the_package() -> Iterator[None]:
    """The folder `core` is imported only as `exam_workbench`: two copies would have two classes of each error."""
    yield
    assert "core" not in sys.modules


# Every test also checks which tables cached results are read from.
check_cached_reads()

SIGNS = Path(__file__).resolve().parents[1] / ".hypothesis" / "unicode_data"
"""Hypothesis' file of all characters; if it exists, the tests were loaded in this checkout before."""

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start slow tests first: those in the browser, and those marked as long.

    Each test process gets a contiguous part of equal size. The first starts with the tests in the
    browser, so that browser and server start only once; the second starts with the long ones. Small
    tests remain for the end, when processes share them evenly.
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
    """Give priority to the process with the browser tests: it waits for server and page in turn, and takes longest."""
    if getattr(session.config, "workerinput", {"workerid": "gw0"})["workerid"] != "gw0":
        os.nice(5)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Make one test process load everything first; the others follow in parallel.

    In a new checkout that process compiles the tests and the libraries, which every process would
    do otherwise. It also makes Hypothesis' list of characters. If the list exists, all processes
    load at once.
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
    """Freeze the loaded objects, so that garbage collection skips them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """Mark files that are closed now as no longer needed."""
    TEST_IS_OVER.set()
    try:
        return (yield)
    finally:
        TEST_IS_OVER.clear()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number of skipped tests per reason: one missing program can skip dozens."""
    reasons = Counter(str(report.longrepr[2]) for report in terminalreporter.getreports("skipped"))
    for reason, tests in reasons.items():
        terminalreporter.write_line(f"{tests} tests skipped: {reason.removeprefix('Skipped: ')}")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real test collections next to the checkout; the test skips if it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real test collections are not at {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture(autouse=True)
def as_found(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo the global changes of earlier tests, in a single fixture, because every test uses it.

    The current person is looked up again in every test, because an app sets it for its own
    visitors. The browser's driver marks its event loop as running in this thread; only browser
    tests may see that. Patches stay in place until the other fixtures of the test are torn down.
    Then all projects in the folder of the test are closed.
    """
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    for name, provider in dict(vars(access.providers)).items():
        monkeypatch.setattr(access.providers, name, provider)
    loop = None if request.node.get_closest_marker("browser") else asyncio._get_running_loop()
    if loop is not None:
        asyncio._set_running_loop(None)
    yield
    if folder is not None:
        let_go(folder)
    if loop is not None:
        asyncio._set_running_loop(loop)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A new, empty project."""
    return new_project(tmp_path / "test.duckdb")
