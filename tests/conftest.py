"""Fixtures that several test files share, and what the summary says of skipped tests."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from core.graders.access import access, endpoints
from core.project import CONFIG, Project
from tests.made.projects import examples, new_project

pytest_plugins = ["tests.made.browser"]

# A busy machine makes no test fail.
hypothesis.settings.register_profile("project", deadline=None, max_examples=examples(25))
hypothesis.settings.load_profile("project")

# Looking for garbage after every few hundred objects takes the tests a fifth of their time.
gc.set_threshold(50_000, 20, 100)

# The tests keep every core busy by themselves, and waking another one costs a small query more than it gains.
CONFIG["threads"] = 1

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits begins first: tests in the browser, and those marked as long.

    Of the processes that share the tests, the first gets them all: the others work while these wait, one browser and
    one server serve them, and what is left to the end are small tests, of which each process can take its part.
    """
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("browser", "long"))))


def pytest_collection_finish() -> None:
    """All that was loaded for the tests stays to the end: nobody need look through it for garbage again."""
    gc.collect()
    gc.freeze()


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
def at_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who acts is found out anew in every test: the app of an earlier one says it of its own visitors."""
    monkeypatch.setattr(access, "_provider", access._provider)
    monkeypatch.setattr(endpoints, "_secrets", endpoints._secrets)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A new, empty project."""
    opened = new_project(tmp_path / "test.duckdb")
    yield opened
    opened.close()
