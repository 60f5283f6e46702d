"""The command that makes a project. It has its own module, because those for files load slowly."""

from __future__ import annotations

from ..store import create
from .registry import Opening, operation


@operation("init", act="organize", at_shell=True)
def init(
    opening: Opening,
) -> str:
    """Create a new, empty project."""
    create(opening.path).close()
    return f"Created {opening.path}."
