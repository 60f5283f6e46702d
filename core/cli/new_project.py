"""The command that makes a project, alone: what imports and exports files takes half a second to load."""

from __future__ import annotations

from pathlib import Path

import click

from ..project import create
from .options import project_option, required, tell


@click.command()
@project_option
def init(project_path: Path | None) -> None:
    """Create a new, empty project."""
    create(required(project_path)).close()
    tell(f"Created {project_path}.")
