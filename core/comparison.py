"""Comparing two leaderboards: the board under study beside the official one, and how well they agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.correlation import Correlation, Ties, correlate
from core.leaderboard import Leaderboard, boards, cover_cutoff, find_source, leaderboard
from core.policy import Policy
from core.project import Project

DEFAULT_MEASURE = "nDCG@10"


@dataclass(frozen=True)
class Comparison:
    """Two leaderboards and their rank correlation over the systems that both have."""

    board: Leaderboard
    official: Leaderboard
    correlation: Correlation

    def as_dict(self) -> dict[str, Any]:
        """The correlation as plain values, as `--json` prints it."""
        return {
            **vars(self.correlation),
            "measure": self.board.measure,
            "source": self.board.source,
            "against": self.official.source,
            "against_measure": self.official.measure,
        }


def official_measure(measure: str, policy: Policy) -> str:
    """The measure of the official board where nobody names one: the same, or nDCG@10 beside coverage."""
    return measure if cover_cutoff(measure, policy) is None else DEFAULT_MEASURE


def compare(
    project: Project,
    measure: str,
    against: str,
    source: str = "exam",
    against_measure: str | None = None,
    policy: Policy | None = None,
    ties: Ties = "average",
    within_error: bool = False,
) -> Comparison:
    """Make two leaderboards and correlate them.

    Args:
        measure: the measure of the board under study.
        against: the official board: a source of judgments or an imported leaderboard.
        source: what the board under study comes from: `exam`, or again a source or board.
        against_measure: the measure of the official board; see `official_measure` for None.
        ties: `average` ranks, or `random` tie breaking.
        within_error: whether systems whose error bars overlap are tied too; with `random` only.

    Raises:
        InputError: a board cannot be made.
    """
    policy = policy or Policy()
    against = find_source(project, against)
    board = leaderboard(project, measure, source, policy)
    imported = dict(boards(project))
    wanted = against_measure or official_measure(measure, policy)
    official = leaderboard(project, imported.get(against, wanted), against, policy)
    return Comparison(
        board,
        official,
        correlate(
            board.scores,
            official.scores,
            ties=ties,
            std_errors_a=board.std_errors if within_error else None,
            std_errors_b=official.std_errors if within_error else None,
        ),
    )
