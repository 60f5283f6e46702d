"""How much memory a process took."""

from __future__ import annotations

import re
from pathlib import Path


def peak_megabytes() -> float:
    """The most memory that this process has used; getrusage would count its parent's too."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) / 1024
