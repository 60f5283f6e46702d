"""Fixtures that several test files share."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real test collections beside the checkout; the test skips where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real test collections are not at {SHARED_DATA}")
    return SHARED_DATA
