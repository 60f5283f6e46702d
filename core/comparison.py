"""Comparing two leaderboards: the board under study beside the official one, and how well they agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from core.correlation import Correlation, Ties, bootstrap_samples, correlate
from core.leaderboard import Leaderboard, boards, find_source, leaderboard, of_answers
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
    return DEFAULT_MEASURE if of_answers(measure, policy) else measure


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


@dataclass(frozen=True)
class Shift:
    """How a change moves the correlation with the official board.

    Args:
        before, after: Spearman's rank correlation; None where undefined.
        low, high: 95 % interval of the shift over resampled queries; None where it cannot be drawn.
        says: the finding in words.
    """

    before: float | None
    after: float | None
    low: float | None
    high: float | None
    says: str


def correlation_shift(before: Leaderboard, after: Leaderboard, official: Leaderboard, samples: int = 1000) -> Shift:
    """The shift in rank correlation with the official board, and whether it is within noise.

    Both boards are averaged over the same resamples of the queries, so that the interval is that of
    the difference (paired bootstrap).

    Args:
        samples: number of resamples.
    """
    then, now = (correlate(board.scores, official.scores) for board in (before, after))
    if then.spearman is None or now.spearman is None:
        return Shift(then.spearman, now.spearman, None, None, (now.undefined or then.undefined) or "")
    if before.per_query == after.per_query:
        return Shift(then.spearman, now.spearman, 0.0, 0.0, "The boards are the same.")
    fixed = official.per_query or official.scores
    # An edit may bring a query onto the board or take it off.
    queries = {query for board in (before, after) for scores in board.per_query.values() for query in scores}
    skipped = before.policy.skipped
    drawn = [
        bootstrap_samples(board.per_query, fixed, ("spearman",), samples, skipped=skipped, among=queries)
        for board in (before, after)
    ]
    shifts = drawn[1]["spearman"] - drawn[0]["spearman"]
    shifts = shifts[~np.isnan(shifts)]
    if not len(shifts):
        return Shift(then.spearman, now.spearman, None, None, "There are too few queries for an interval.")
    low, high = (float(value) for value in np.quantile(shifts, (0.025, 0.975)))
    if low == high == 0:
        says = "Scores shift, but the order of the systems does not, whichever queries are drawn."
    elif low <= 0 <= high:
        says = "Within noise: other queries could move it either way."
    else:
        says = f"More than noise: it {'rises' if low > 0 else 'falls'} in nearly all resamples of the queries."
    return Shift(then.spearman, now.spearman, low, high, says)
