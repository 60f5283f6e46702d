"""Fixtures that several test files share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.project import Project, create

pytest_plugins = ["tests.browser"]

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real test collections beside the checkout; the test skips where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real test collections are not at {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A new, empty project."""
    made = create(tmp_path / "test.duckdb")
    yield made
    made.close()
