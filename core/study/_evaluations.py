"""Comparison of evaluations of the same runs: leaderboards of the project, and tables of scores from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..bank import graders
from ..errors import InputError
from ..labels import Leaderboard, Policy
from ..measures import Choosing, Table, choosing
from ..records import official_sources
from ..store import Project
from ._figure_data import BoardChoice, make_board

BESIDE = 3
"""Default number of leaderboards to compare."""
JUDGED = "nDCG@10"
"""The measure for judgments of passages, by people and by a direct grader."""


@dataclass(frozen=True)
class Compared:
    """The choices of several evaluations.

    Args:
        found: the choices.
        left_out: by name of a leaderboard that is left out, why it cannot be made or has no scores by query.
    """

    found: Choosing
    left_out: dict[str, InputError]


def boards_to_choose_by(project: Project, k: int, measure: str = JUDGED) -> dict[str, BoardChoice]:
    """Return the leaderboards of a project that can choose a run, by their names for people.

    Source: llm-reteval specification, section 13: judgments of people, EXAM-Cover of the question bank, and graders of
    passages.

    Args:
        k: cutoff of EXAM-Cover.
        measure: the measure for judgments and for direct graders.
    """
    found = {f"{source}: {measure}": BoardChoice(measure, source) for source in official_sources(project)}
    for grader in graders(project):
        if not grader.grades:
            continue
        name = grader.spec.name
        if grader.spec.method == "direct":
            found[f"{name}: {measure}"] = BoardChoice(measure, grader=name)
        else:
            found[f"EXAM-Cover@{k} by {name}"] = BoardChoice(f"EXAM-Cover@{k}", grader=name)
    return found


def score_table(board: Leaderboard) -> Table:
    """Return the scores of a leaderboard by run and query; None for a skipped query if the policy ignores such queries.

    Raises:
        InputError: the leaderboard was imported and has no scores by query.
    """
    if not board.per_query:
        raise InputError(
            "no-scores-by-query",
            f"The imported leaderboard {board.source} has no scores per query.",
            "Use a source of judgments, such as imported qrels.",
        )
    skipped = 0.0 if board.policy.skipped == "zero" else None
    return {
        run: {query: scores.get(query, skipped) for query in board.query_ids} for run, scores in board.per_query.items()
    }


def compare_choices(
    project: Project,
    asked: Mapping[str, BoardChoice],
    policy: Policy,
    further: Mapping[str, Table],
    samples: int = 1000,
) -> Compared:
    """Compare the runs that several evaluations choose, over their common queries, with bootstrap intervals.

    Source: llm-reteval specification, section 13.

    Args:
        asked: leaderboards by name.
        policy: settings that the leaderboards leave open.
        further: tables from other sources by name, such as LLM-retEval@5.
        samples: number of resamples of the queries.

    Raises:
        InputError: the evaluations have no run or no query in common.
    """
    tables, left_out = dict(further), {}
    for name, choice in asked.items():
        try:
            tables[name] = score_table(make_board(project, choice, policy))
        except InputError as error:
            left_out[name] = error
    return Compared(choosing(tables, "common", samples=samples), left_out)
