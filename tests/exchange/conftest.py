"""Projects and folders that the tests of import and export share."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_workbench.store import Project
from tests.made.fuzz_parquet import exported
from tests.made.once import made_once
from tests.made.projects import new_project


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    """A second, empty project."""
    return new_project(tmp_path / "fresh.duckdb")


@pytest.fixture(scope="session")
def shared_export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported project as a folder; tests that change it copy it first."""
    return made_once(tmp_path_factory, "exported project", exported)
