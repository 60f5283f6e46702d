"""Files that all processes of a test run share: made by the first test that needs them."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Path]) -> Path:
    """Return a file or folder shared by a test run; tests must not write to it.

    Args:
        make: creates it at the given path and returns the path, or another path at which it created it.
    """
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    path = base / name
    with path.with_suffix(".lock").open("w") as lock:
        # Other processes wait here instead of making the same file.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            make(path.with_name(f"unfinished-{name}")).rename(path)
    return path
