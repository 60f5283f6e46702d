"""Fixtures shared by the tests of the screens."""

from pathlib import Path

import pytest

from tests.made.screens import looked_at, served, shared, small
from tests.made.tiny_models import build_tiny_t5, shared_model

__all__ = ["looked_at", "served", "shared", "small"]


@pytest.fixture(scope="session")
def tiny_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_model(tmp_path_factory, build_tiny_t5)
