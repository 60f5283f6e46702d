"""Evaluations of the same runs side by side: boards of the project, and tables of scores from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..catalogue import graders
from ..errors import InputError
from ..labels import Policy
from ..leaderboard import Leaderboard
from ..measures import Choosing, Table, choosing
from ..project import Project, official_sources
from .figures import BoardChoice, make_board

BESIDE = 3
"""Boards that stand beside where nobody names any."""
JUDGED = "nDCG@10"
"""The measure by which judgments of passages choose, people's and a direct grader's."""


@dataclass(frozen=True)
class Compared:
    """What several evaluations choose.

    Args:
        found: their choices.
        left_out: why a board could not be made or has no scores by query, by its name.
    """

    found: Choosing
    left_out: dict[str, InputError]


def boards_to_choose_by(project: Project, k: int, measure: str = JUDGED) -> dict[str, BoardChoice]:
    """The boards of a project that choose a run, by the name that people read.

    Source: llm-reteval specification, section 13: judgments of people, EXAM-Cover of the question bank, and judges of
    passages.

    Args:
        k: depth of EXAM-Cover.
        measure: of judgments and of direct graders.
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
    """The scores of a board by run and query; where its policy leaves out skipped queries, those are None.

    Raises:
        InputError: an imported board, which has no scores by query.
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
    """Which run each of several evaluations chooses, over the queries that all have, with bootstrap intervals.

    Source: llm-reteval specification, section 13.

    Args:
        asked: boards by name.
        policy: says all that the boards leave open.
        further: tables that are no boards, such as LLM-retEval@5, by their name.
        samples: resamples of the queries.

    Raises:
        InputError: no run that all have, or no query in common.
    """
    tables, left_out = dict(further), {}
    for name, choice in asked.items():
        try:
            tables[name] = score_table(make_board(project, choice, policy))
        except InputError as error:
            left_out[name] = error
    return Compared(choosing(tables, "common", samples=samples), left_out)
