"""The command about the vectors that the embedding grader keeps."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from core.cli.options import json_option, opened, print_json, print_table, project_option, tell
from core.grading import count_vectors, drop_vectors


@click.command()
@project_option
@click.option("--drop", is_flag=True, help="Forget them all; grading computes them again.")
@json_option
def vectors(project_path: Path | None, drop: bool, as_json: bool) -> None:
    """Say how many vectors the embedding grader keeps in the project, or drop them.

    They are a cache: without them a reworded question is graded more slowly and with the same ratings.
    """
    with opened(project_path) as project:
        dropped = drop_vectors(project) if drop else 0
        found = count_vectors(project)
    if as_json:
        print_json({"dropped": dropped, "vectors": [asdict(one) for one in found]})
    elif drop:
        tell(f"Dropped the vectors of {dropped:,} texts. The file uses their space again as it grows.")
    elif found:
        rows = [(one.role, one.texts, f"{one.size / 1e6:.1f} MB", one.encoder) for one in found]
        print_table(("texts", "kept", "size", "encoder"), rows)
    else:
        tell("No vectors are kept: the embedding grader has not graded here yet.")
