"""The command about the vectors that the embedding grader keeps."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from ..grading import count_vectors, drop_vectors
from .options import counted, json_option, opened, print_json, print_table, project_option, tell


@click.command()
@project_option
@click.option("--drop", is_flag=True, help="Delete all vectors; grading computes them again.")
@json_option
def vectors(project_path: Path | None, drop: bool, as_json: bool) -> None:
    """Count the cached vectors of the embedding grader, or delete them.

    Without this cache, reworded questions are graded more slowly. The ratings are the same.
    """
    with opened(project_path) as project:
        dropped = drop_vectors(project) if drop else 0
        found = count_vectors(project)
    if as_json:
        print_json({"dropped": dropped, "vectors": [asdict(one) for one in found]})
    elif drop:
        tell(f"Deleted the vectors of {counted(dropped, 'text')}. The file reuses their space as it grows.")
    elif found:
        rows = [(one.role, one.texts, f"{one.size / 1e6:.1f} MB", one.encoder) for one in found]
        print_table(("kind", "texts", "size", "encoder"), rows)
    else:
        tell("No cached vectors. The embedding grader has not graded in this project yet.")
