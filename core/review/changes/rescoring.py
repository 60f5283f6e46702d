"""A board of which some queries are scored again, and what differs between two boards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...leaderboard import Leaderboard, QueryChoice, Shift, correlation_shift, official_board, order_systems
from ...project import Project


@dataclass(frozen=True)
class SystemChange:
    """A system on the boards before and after; None where it is not on one of them."""

    run: str
    score_before: float | None
    score_after: float | None
    rank_before: int | None
    rank_after: int | None


def rescored(board: Leaderboard, found: Mapping[str, Mapping[str, float] | None]) -> Leaderboard:
    """The board with other scores for some queries.

    Args:
        found: by query id the score of every run that answered it; None for a query that has nothing to score, which
            leaves the mean.
    """
    kept = [query for query in board.query_ids if found.get(query, {}) is not None]
    query_ids = kept + [query for query, by_run in found.items() if by_run is not None and query not in kept]
    per_query = {run: _with(scores, run, found) for run, scores in board.per_query.items()}
    # Whoever's scores stay has the mean that it had, if it is one over the same queries.
    same = query_ids == board.query_ids
    stays = {
        system.run: system for system in board.systems if same and per_query[system.run] == board.per_query[system.run]
    }
    systems = order_systems(per_query, query_ids, board.policy, stays)
    return replace(board, systems=systems, per_query=per_query, query_ids=query_ids)


def _with(scores: Mapping[str, float], run: str, found: Mapping[str, Mapping[str, float] | None]) -> dict[str, float]:
    """The scores of a run by query, with those that were found in the place of its own."""
    after = dict(scores)
    for query, by_run in found.items():
        if by_run is not None and run in by_run:
            after[query] = by_run[run]
        else:
            after.pop(query, None)
    return after


def moves(before: Leaderboard | None, after: Leaderboard | None) -> list[SystemChange]:
    """Every system of two boards, in the order of the one after; None stands for a board without any."""
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
    """The shift in correlation with an official board between two boards.

    Args:
        against: a source of judgments or an imported leaderboard.
        measure: of the two boards, as it was asked for.

    Returns:
        None where nothing is official, or one of the boards is missing.

    Raises:
        InputError: there is no such source, or it gives no such measure.
    """
    if against is None or before is None or after is None:
        return None
    return correlation_shift(before, after, official_board(project, against, measure, after.policy), queries=queries)
