"""Leaderboards with new scores for some queries, and differences between two leaderboards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...labels import Leaderboard, QueryChoice, Shift, correlation_shift, official_board, order_systems
from ...store import Project


@dataclass(frozen=True)
class SystemChange:
    """A system on the leaderboards before and after a change; None for a leaderboard without it."""

    run: str
    score_before: float | None
    score_after: float | None
    rank_before: int | None
    rank_after: int | None


def rescored(board: Leaderboard, found: Mapping[str, Mapping[str, float] | None]) -> Leaderboard:
    """Return the leaderboard with new scores for some queries.

    Args:
        found: by query id, the score of every run that answered the query. None removes the query from the mean,
            because it has nothing to score.
    """
    kept = [query for query in board.query_ids if found.get(query, {}) is not None]
    query_ids = kept + [query for query, by_run in found.items() if by_run is not None and query not in kept]
    per_query = {run: _with(scores, run, found) for run, scores in board.per_query.items()}
    # Systems with unchanged scores keep their means exactly, if the queries are the same.
    same = query_ids == board.query_ids
    stays = {
        system.run: system for system in board.systems if same and per_query[system.run] == board.per_query[system.run]
    }
    systems = order_systems(per_query, query_ids, board.policy, stays)
    return replace(board, systems=systems, per_query=per_query, query_ids=query_ids)


def _with(scores: Mapping[str, float], run: str, found: Mapping[str, Mapping[str, float] | None]) -> dict[str, float]:
    after = dict(scores)
    for query, by_run in found.items():
        if by_run is not None and run in by_run:
            after[query] = by_run[run]
        else:
            after.pop(query, None)
    return after


def moves(before: Leaderboard | None, after: Leaderboard | None) -> list[SystemChange]:
    """Return every system of two leaderboards, in the order of the later one. None counts as an empty leaderboard."""
    old, new = ({system.run: system for system in board.systems} if board else {} for board in (before, after))
    return [
        SystemChange(
            run,
            old[run].score if run in old else None,
            new[run].score if run in new else None,
            old[run].rank if run in old else None,
            new[run].rank if run in new else None,
        )
        for run in {**new, **old}
    ]


def shift_against(
    project: Project,
    before: Leaderboard | None,
    after: Leaderboard | None,
    against: str | None,
    measure: str,
    queries: QueryChoice = "common",
) -> Shift | None:
    """Return the shift in correlation with an official leaderboard between two leaderboards.

    Args:
        against: a source of judgments or an imported leaderboard.
        measure: of the two leaderboards, as requested.

    Returns:
        None if `against` is None, or a leaderboard is missing.

    Raises:
        InputError: the source is unknown, or it does not have this measure.
    """
    if against is None or before is None or after is None:
        return None
    return correlation_shift(before, after, official_board(project, against, measure, after.policy), queries=queries)
