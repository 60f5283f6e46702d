"""Nuggetizer's scores of a response: the share of its nuggets that are supported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

NOT_SUPPORTED, PARTIAL, NUGGETS_SUPPORTED = range(3)
"""Ratings of assignments, Nuggetizer's not_support, partial_support and support."""


@dataclass(frozen=True)
class NuggetScores:
    """Scores from 0 to 1, as castorini/nuggetizer defines them in `metrics.py`.

    Args:
        strict_vital, strict_all: share of the vital nuggets, and of all nuggets, that are fully supported.
        vital, all: the same, but a partly supported nugget counts half. In `all`, okay and vital nuggets count equally.
    """

    strict_vital: float
    strict_all: float
    vital: float
    all: float


def nugget_scores(assigned: Sequence[tuple[bool, int]]) -> NuggetScores:
    """Return the scores of one response.

    Args:
        assigned: for each nugget whether it is vital, and the rating of its assignment.

    Returns:
        The scores. A share is 0 without nuggets, or without vital nuggets.
    """
    every = [rating for _, rating in assigned]
    vital = [rating for is_vital, rating in assigned if is_vital]
    return NuggetScores(_share(vital, 0), _share(every, 0), _share(vital, 0.5), _share(every, 0.5))


def _share(ratings: Sequence[int], partial: float) -> float:
    earned = ratings.count(NUGGETS_SUPPORTED) + partial * ratings.count(PARTIAL)
    return earned / len(ratings) if ratings else 0.0


def mean_nugget_scores(scores: Sequence[NuggetScores]) -> NuggetScores:
    """Return the mean of each score over the responses of a run."""
    columns = zip(*((one.strict_vital, one.strict_all, one.vital, one.all) for one in scores), strict=True)
    return NuggetScores(*map(mean, columns))
