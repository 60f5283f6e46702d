"""The command that makes a project, alone: what imports and exports files takes half a second to load."""

from __future__ import annotations

from ..project import create
from .console import tell
from .opening import Opening
from .registry import operation


@operation("init", act="organize", at_shell=True)
def init(
    opening: Opening,
) -> None:
    """Create a new, empty project."""
    create(opening.path).close()
    tell(f"Created {opening.path}.")
