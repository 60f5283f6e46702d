"""Evaluations of the same runs side by side: boards of the project, and tables of scores from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.errors import InputError
from core.labels import Policy
from core.leaderboard import Leaderboard, leaderboard
from core.measures import Choosing, Over, Table, choosing
from core.project import Project


def score_table(board: Leaderboard) -> Table:
    """The scores of a board by run and query; where its policy leaves out skipped queries, those are None.

    Raises:
        InputError: an imported board, which has no scores by query.
    """
    if not board.per_query:
        raise InputError(
            f"{board.source} is an imported leaderboard: it has no scores by query.", "Name a source of judgments."
        )
    skipped = 0.0 if board.policy.skipped == "zero" else None
    return {
        run: {query: scores.get(query, skipped) for query in board.query_ids} for run, scores in board.per_query.items()
    }


def compare_choices(
    project: Project,
    asked: Sequence[tuple[str, str]],
    policy: Policy | None = None,
    further: Mapping[str, Table] | None = None,
    over: Over = "common",
    samples: int = 1000,
    seed: int = 0,
) -> Choosing:
    """Which run each of several evaluations chooses, with bootstrap intervals over queries.

    Source: llm-reteval specification, section 13: EXAM-Cover of answers, LLM-retEval of their retrievers, binary judges
    of their passages and judgments side by side.

    Args:
        asked: (source, measure) of the boards, such as ("exam", "EXAM-Cover@20") and ("NIST", "nDCG@10"); a source is
            `exam` for grades, or names judgments.
        policy: of these boards; the default one for None.
        further: tables that are no boards, such as LLM-retEval@5, by their name.
        over, samples, seed: as for `core.measures.choosing`.

    Raises:
        InputError: no such source or measure, an imported board, no run that all have, or no query in common.
    """
    tables: dict[str, Table] = {}
    for source, measure in asked:
        board = leaderboard(project, measure, source, policy or Policy())
        tables[f"{board.measure} by {source}"] = score_table(board)
    return choosing({**tables, **(further or {})}, over, samples, seed)
