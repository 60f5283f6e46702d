"""Commands about runs: list them, and set the model families of runs, grader and questions."""

from __future__ import annotations

from typing import Annotated, Any

from ..audit import circularity
from ..bank import find_grader
from ..errors import InputError
from ..records import run_sizes, state_families, stated_families
from ..store import Project
from .describing import Argument, Option
from .opening import Opening
from .options import Author
from .output import Output, TextOutput
from .registry import operation


@operation("runs list", act="see boards", reads=True)
def list_runs(
    project: Project,
) -> Output:
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


@operation("runs families", act="organize")
def families(
    opening: Opening,
    *,
    names: Annotated[tuple[str, ...], Argument(metavar="[RUN]...")] = (),
    families: Annotated[
        tuple[str, ...], Option("--family", help="A model family, such as gpt or llama; may be repeated.")
    ] = (),
    none: Annotated[bool, Option(help="No language model is used.")] = False,
    questions: Annotated[bool, Option(help="Set the families of the questions in the bank.")] = False,
    grader: Annotated[str | None, Option(help="Set the families of this grader.")] = None,
    author: Author,
) -> TextOutput:
    """Set the model families of RUNs, of the questions, or of a grader."""
    if bool(families) == none:
        raise InputError(
            "option-missing", "Exactly one of --family and --none is needed.", "Use --family NAME, or --none."
        )
    if not (names or questions or grader):
        raise InputError(
            "option-missing", "No runs, questions or grader given.", "Name runs, or use --questions or --grader NAME."
        )
    with opening() as project:
        for name in names:
            state_families(project, "run", name, families, author)
        if questions:
            state_families(project, "questions", "", families, author)
        if grader is not None:
            state_families(project, "grader", find_grader(project, grader).spec.fingerprint, families, author)
        return TextOutput().note(*(f"warning: {warning}" for warning in circularity(project).warnings))
