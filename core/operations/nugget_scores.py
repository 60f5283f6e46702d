"""The command that shows Nuggetizer's scores."""

from __future__ import annotations

from dataclasses import asdict

from ..labels import nugget_board
from ..store import Project
from .output import Output
from .policy import PolicyOptions
from .registry import operation


@operation("nugget-scores", act="see boards", reads=True)
def nugget_scores(project: Project, *, policy: PolicyOptions) -> Output:
    """Show Nuggetizer's four scores of each run, from imported assignments.

    Partly supported nuggets count half; strict scores count full support only. Vital nuggets have weight 1 or more.
    """
    rows = nugget_board(project, policy)
    value = [{"run": row.run, "queries": row.queries, "nuggets": row.nuggets, **asdict(row.scores)} for row in rows]
    header = ("run", "queries", "nuggets", "strict vital", "strict all", "vital", "all")
    if not rows:
        return Output({"runs": value}).note("No imported assignments yet.")
    return Output({"runs": value}).table(header, [tuple(row.values()) for row in value])
