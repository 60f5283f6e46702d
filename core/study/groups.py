"""Groups of systems on a leaderboard that are not separated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..leaderboard import Leaderboard
from .significance import SAME, Difference


@dataclass(frozen=True)
class Alike:
    """The systems of a leaderboard that are not separated.

    Args:
        groups: first and last place, from 0, of every longest stretch of the leaderboard in which no two systems
            differ; from the top down, of two systems or more each. Stretches can overlap: their ends may differ from
            each other, though neither is separated from the systems in between.
        of: by run, the other runs that it is not separated from, in the order of the leaderboard.
        untested: why pairs of systems could not be tested, each reason once. Such pairs are not grouped, because
            nothing is known about them.
    """

    groups: list[tuple[int, int]]
    of: dict[str, list[str]]
    untested: list[str]


def alike(board: Leaderboard, pairs: Sequence[Difference]) -> Alike:
    """Return the groups of systems without significant differences, like the lines of a critical difference diagram.

    Source: Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets, Journal of Machine Learning Research
    7, 2006, section 3.2.2. Groups that are not significantly different are connected. The tests are those of the given
    comparisons.

    Args:
        board: the systems, best first.
        pairs: every two of its systems compared, as `remembered_pairs` returns them.
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
