"""Nuggetizer's scores of the runs of a project, from assignments that were imported as grades."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..bank import graders
from ..errors import InputError
from ..measures import NUGGETS_SUPPORTED, NuggetScores, mean_nugget_scores, nugget_scores
from ..store import Project, as_act
from . import Policy, basis

VITAL = 1.0
"""The weight from which an active nugget counts as vital."""


@dataclass(frozen=True)
class NuggetBoardRow:
    """The mean scores of a run over its responses with assignments, and the numbers of responses and nuggets."""

    run: str
    queries: int
    nuggets: int
    scores: NuggetScores


@as_act("see boards")
def nugget_board(project: Project, policy: Policy) -> list[NuggetBoardRow]:
    """Return Nuggetizer's four scores of each run, the best `all` first.

    For each nugget, a response has the highest grade of its ranked passages, or the grade of a passage with the id
    RUN/QUERY. A nugget without a grade is left out of the response, like an unassigned nugget. Retired nuggets count,
    because Nuggetizer counts nuggets without a valid importance.

    Args:
        policy: names the grader. If it does not, the first grader with the scale of assignments is used; without such
            a grader the result is empty.

    Raises:
        InputError: the grader is unknown, its scale is not the scale of assignments, or it has not graded a response.
    """
    if policy.grader is None:
        named = [one.spec.name for one in graders(project) if one.spec.max_rating == NUGGETS_SUPPORTED]
        if not named:
            return []
        policy = replace(policy, grader=named[0])
    base = basis(project, policy)
    spec = base.grader.spec
    if spec.max_rating != NUGGETS_SUPPORTED:
        raise InputError(
            "not-assignments",
            f"Grader {spec.name} rates from 0 to {spec.max_rating}, not from 0 to {NUGGETS_SUPPORTED}.",
            "Choose a grader of imported assignments (--grader).",
        )
    responses: dict[str, dict[str, list[tuple[bool, int]]]] = {}
    for run, query_id, vital, rating in project.rows(_ASSIGNED, {**base.parameters, "vital": VITAL}):
        responses.setdefault(run, {}).setdefault(query_id, []).append((vital, rating))
    if not responses:
        raise InputError("no-grades", f"Grader {spec.name} has not graded any responses.", "Choose another --grader.")
    rows = [
        NuggetBoardRow(
            run,
            len(assigned),
            sum(map(len, assigned.values())),
            mean_nugget_scores([nugget_scores(nuggets) for nuggets in assigned.values()]),
        )
        for run, assigned in responses.items()
    ]
    return sorted(rows, key=lambda row: -row.scores.all)


_ASSIGNED = (
    "SELECT name, query_id, any_value(active AND weight >= $vital), max(rating)"
    " FROM (SELECT run_key, query_key, passage_key FROM rankings"
    "  UNION SELECT run_key, query_key, passage_key FROM runs CROSS JOIN queries"
    "  JOIN passages ON passage_id = name || '/' || query_id)"
    " JOIN runs USING (run_key) JOIN queries USING (query_key) JOIN passages p USING (passage_key)"
    " JOIN questions USING (query_key) JOIN bank_at($version) r USING (question_key)"
    " JOIN grades g ON g.question_text_key = r.text_key AND g.passage_text_key = p.text_key AND grader_key = $grader"
    " GROUP BY run_key, name, query_key, query_id, question_key ORDER BY run_key, query_key, question_key"
)
