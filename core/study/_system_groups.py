"""Groups of systems on a leaderboard that are not separated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..labels import Leaderboard
from ._system_significance import SAME, Difference


@dataclass(frozen=True)
class Alike:
    """The systems of a leaderboard that are not separated.

    Args:
        groups: (first, last) position, from 0, of every maximal section of the leaderboard in which no two systems
            differ significantly, from the top down. A group has two or more systems. Groups can overlap: of three
            systems, the first and the last may differ, though neither is separated from the second.
        of: by run, the other runs from which it is not separated, in the order of the leaderboard.
        untested: the reasons why pairs of systems could not be tested, each reason once. Such pairs are not grouped,
            because nothing is known about them.
    """

    groups: list[tuple[int, int]]
    of: dict[str, list[str]]
    untested: list[str]


def alike(board: Leaderboard, pairs: Sequence[Difference]) -> Alike:
    """Return the groups of systems without significant differences, like the lines of a critical difference diagram.

    Source: Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets, Journal of Machine Learning Research
    7, 2006, section 3.2.2: systems without significant differences are connected. The tests of `pairs` are used.

    Args:
        board: the leaderboard, best systems first.
        pairs: comparisons of every two systems, as `remembered_pairs` returns them.
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
