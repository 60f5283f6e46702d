"""Commands about runs: list them, and state which families of models they, the grader and the questions use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..audit import circularity
from ..catalogue import find_grader
from ..errors import InputError
from ..project import Project, run_sizes, state_families, stated_families
from .options import (
    author_option,
    json_option,
    opened,
    project_option,
)
from .printing import Output, on_project, printed


@click.group()
def runs() -> None:
    """List runs, and set the model families that they use."""


@runs.command(name="list")
@project_option
@json_option
@on_project
def list_runs(project: Project) -> Output:
    """List runs with their size and model families."""
    stated = stated_families(project, "run")
    rows = [
        {"run": run, "queries": queries, "passages": passages, "families": stated.get(run)}
        for run, queries, passages in run_sizes(project)
    ]
    return Output({"runs": rows}).table(
        ("run", "queries", "passages", "model families"),
        [
            (row["run"], row["queries"], row["passages"], None if row["families"] is None else _said(row["families"]))
            for row in rows
        ],
    )


def _said(families: Any) -> str:
    return ", ".join(families) or "no model"


@runs.command()
@click.argument("names", nargs=-1, metavar="[RUN]...")
@project_option
@click.option("--family", "families", multiple=True, help="A model family, such as gpt or llama; may be repeated.")
@click.option("--none", is_flag=True, help="No language model is used.")
@click.option("--questions", is_flag=True, help="Set the families of the questions in the bank.")
@click.option("--grader", help="Set the families of this grader.")
@author_option
@printed
def families(
    names: tuple[str, ...],
    project_path: Path | None,
    families: tuple[str, ...],
    none: bool,
    questions: bool,
    grader: str | None,
    author: str,
) -> Output:
    """Set the model families of RUNs, of the questions, or of a grader."""
    if bool(families) == none:
        raise InputError(
            "option-missing", "Exactly one of --family and --none is needed.", "Use --family NAME, or --none."
        )
    if not (names or questions or grader):
        raise InputError(
            "option-missing", "No runs, questions or grader given.", "Name runs, or use --questions or --grader NAME."
        )
    with opened(project_path) as project:
        for name in names:
            state_families(project, "run", name, families, author)
        if questions:
            state_families(project, "questions", "", families, author)
        if grader is not None:
            state_families(project, "grader", find_grader(project, grader).spec.fingerprint, families, author)
        return Output().note(*(f"warning: {warning}" for warning in circularity(project).warnings))
