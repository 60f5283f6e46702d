"""Groups of systems on a leaderboard that cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..leaderboard import Leaderboard
from .significance import SAME, Difference


@dataclass(frozen=True)
class Alike:
    """Which systems of a board cannot be told apart.

    Args:
        groups: the first and the last place, from 0, of every longest stretch of the board in which no two systems
            differ; from the top down, of two systems or more each. Stretches can overlap: each end of one may differ
            from what its middle cannot be told apart from.
        of: by run, the other runs that it cannot be told apart from, in the order of the board.
        untested: why pairs of systems could not be tested, each reason once. Such pairs count as told apart: of them
            nothing is known.
    """

    groups: list[tuple[int, int]]
    of: dict[str, list[str]]
    untested: list[str]


def alike(board: Leaderboard, pairs: Sequence[Difference]) -> Alike:
    """The groups of systems in which no two differ significantly, as the lines of a critical difference diagram.

    Source: Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets, Journal of Machine Learning
    Research 7, 2006, section 3.2.2 (groups that are not significantly different are connected); the tests are those
    that the comparisons were made with.

    Args:
        board: the systems, best first.
        pairs: every two of its systems compared, as `remembered_pairs` gives them.
    """
    order = [system.run for system in board.systems]
    same = {frozenset((row.run, row.against)) for row in pairs if row.differs is False or row.undefined == SAME}
    groups: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and all(
            frozenset((run, order[last + 1])) in same for run in order[first : last + 1]
        ):
            last += 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return Alike(
        groups,
        {run: [other for other in order if frozenset((run, other)) in same] for run in order},
        sorted({row.undefined for row in pairs if row.undefined not in (None, SAME)}),
    )
