"""What a passage weighs on a board: how far a unit of its gain moves systems apart."""

from __future__ import annotations

from collections.abc import Mapping


def weight(discounts: Mapping[float, int], systems: int) -> float:
    """The mean over all pairs of systems of the absolute difference of what the passage's gain counts for each.

    A passage that all systems rank alike tells none from another and weighs nothing. If gains change by d(i), between
    -1 and 1, the difference of two systems' scores under a measure that is linear in gains changes, on average over the
    pairs, by at most the sum of weight(i) |d(i)|.

    With x(1) <= ... <= x(S) it is 2 / (S (S - 1)) times the sum of (2 i - S - 1) x(i): Gini's mean difference. For one
    system alone it is what the gain counts.

    Args:
        discounts: how many systems have the passage at each discount above 0; all others have it at 0.
        systems: S, at least 1.
    """
    if systems == 1:
        return float(sum(discounts))
    place = systems - sum(discounts.values())
    total = 0.0
    for discount, times in sorted(discounts.items()):
        total += discount * times * (2 * place + times - systems)
        place += times
    return 2 * total / (systems * (systems - 1))
