"""The command that says what a project holds."""

from __future__ import annotations

from pathlib import Path

import click

from core.bank import counts, judged_queries, speaking_passages
from core.cli.options import json_option, opened, print_json, print_table, project_option


@click.command()
@project_option
@json_option
def status(project_path: Path | None, as_json: bool) -> None:
    """Say what the project holds."""
    with opened(project_path) as project:
        speaking = {"passages that speak to the grader": len(speaking_passages(project))}
        found = {**counts(project), **judged_queries(project).as_dict(), **speaking}
    if as_json:
        print_json(found)
    else:
        print_table(("what", "count"), list(found.items()))
