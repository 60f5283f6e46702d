"""What all tests of a run share, of whatever process: made by the first that wants it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Path]) -> Path:
    """A file or folder in the folder of a run of the tests; nobody may write into it.

    Args:
        make: makes it at a path of its own and gives that, or where else it was made.
    """
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    path = base / name
    with path.with_suffix(".lock").open("w") as lock:
        # Whoever comes second waits here instead of making the same.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            make(path.with_name(f"unfinished-{name}")).rename(path)
    return path
