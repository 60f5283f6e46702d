"""The meaning of ratings and labels in judgments, and thresholds that are fitted to the audit's sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...errors import InputError
from .estimate import CONFIDENCE
from .labels import Quality, Rate, confusion, quality, statistic
from .weights import Array


@dataclass(frozen=True)
class Meaning:
    """People's judgments of the passages with one label or rating.

    Args:
        label: the machine's level.
        passages: number of the pool's passages with this label.
        judged: how many of these were judged.
        chances: by level of judgment, the share of the label's passages that people would give it.
        mean: the mean judgment; NaN if no passage was judged.
    """

    label: float
    passages: int
    judged: int
    chances: dict[float, Rate]
    mean: float


def meanings(
    labels: Array,
    judgments: Array,
    weight: Array,
    spread: Array,
    levels: Sequence[float] | None = None,
    confidence: float = CONFIDENCE,
) -> list[Meaning]:
    """Return the chance of each judgment for every label, with intervals, over the pool.

    The chances are valid for the pool as a whole. Among passages that a system ranks high, the same label is right
    more or less often. So they must not be used to correct a leaderboard; the difference estimator does that.

    Args: see `measures.audit.labels.confusion`.

    Returns:
        One row per label of the pool, rising; without chances if no passage of it was judged.
    """
    whole = confusion(labels, judgments, weight, spread, levels)
    rows = []
    for i, label in enumerate(whole.labels):
        passages, judged = int((labels == label).sum()), int(whole.judged[i].sum())
        if not judged:
            rows.append(Meaning(label, passages, 0, {}, float("nan")))
            continue
        own = confusion(np.where(labels == label, labels, np.nan), judgments, weight, spread, whole.judgments)
        chances = {
            level: statistic(own, lambda counts, j=j: float(counts[0, j] / counts.sum()), confidence=confidence)  # type: ignore[misc]
            for j, level in enumerate(own.judgments)
        }
        mean = float(own.counts[0] @ np.array(own.judgments) / own.counts.sum())
        rows.append(Meaning(label, passages, judged, chances, mean))
    return rows


@dataclass(frozen=True)
class Threshold:
    """The quality of labels with one min rating.

    Args:
        label_from: the lowest label or rating that counts as relevant.
        quality: precision, recall and the rest.
    """

    label_from: float
    quality: Quality


def thresholds(
    labels: Array,
    judgments: Array,
    weight: Array,
    spread: Array,
    *,
    judgment_from: float,
    confidence: float = CONFIDENCE,
) -> list[Threshold]:
    """Return precision and recall at every min rating among the labels except the lowest, which calls all relevant.

    Args: see `measures.audit.labels.quality`.

    Returns:
        Rising by min rating.
    """
    offered = np.unique(labels[~np.isnan(labels)])[1:]
    return [
        Threshold(
            float(level),
            quality(
                labels,
                judgments,
                weight,
                spread,
                label_from=float(level),
                judgment_from=judgment_from,
                confidence=confidence,
            ),
        )
        for level in offered
    ]


def balanced(found: Sequence[Threshold]) -> Threshold | None:
    """Return the min rating whose precision and recall are closest: about as many are called relevant as are.

    Returns:
        None if precision or recall is undefined at every min rating.
    """
    gaps = [
        (abs(one.quality.precision.value - one.quality.recall.value), one.label_from, one)
        for one in found
        if np.isfinite(one.quality.precision.value) and np.isfinite(one.quality.recall.value)
    ]
    return min(gaps, key=lambda gap: gap[:2])[2] if gaps else None


def cut_points(scores: Array, judgments: Array, weight: Array, levels: Sequence[float]) -> tuple[float, ...]:
    """Return the cuts of a continuous score that make its levels match people's levels.

    For each level, the cut misplaces the least weight of passages: those judged at least this level with a score
    below the cut, and those judged lower with a score from the cut on. The sum over levels is the weighted sum of
    absolute differences in levels, so all cuts together minimise that. Of equally good cuts the lowest is used,
    which keeps cuts in rising order. For the embedding grader, scores are similarities and the cuts are its cut
    points.

    Args:
        scores: shape (N,), such as the highest similarity of a passage to the questions of its query; NaN if
            missing.
        judgments: shape (N,); NaN if unknown.
        weight: shape (N,), from `combined_weights`.
        levels: the judgments at which a cut leads to the next level, rising: K levels give K cuts.

    Returns:
        K cuts, rising or equal; a score of at least the k-th belongs to level k or above. A cut above all scores is
        infinite: the level was not given, or no score shows it.

    Raises:
        InputError: no passage with a score was judged, or the levels do not rise.
    """
    if any(a >= b for a, b in pairwise(levels)):
        raise InputError(
            "cut-points-do-not-rise", "The cut levels are not in rising order.", "Name them from lowest to highest."
        )
    seen = ~np.isnan(scores) & ~np.isnan(judgments) & (weight > 0)
    if not seen.any():
        raise InputError(
            "no-judged-scores", "No passage with a score has been judged.", "Judge a batch of the audit first."
        )
    s, y, own = scores[seen], judgments[seen], weight[seen]
    values = np.unique(s)
    # Any cut between two scores is equally good; use the midpoint.
    places = np.concatenate([[values[0]], (values[:-1] + values[1:]) / 2, [np.inf]])
    at = np.searchsorted(values, s)
    cuts = []
    for level in levels:
        high = y >= level
        below = np.bincount(at, weights=np.where(high, own, 0.0), minlength=len(values))
        above = np.bincount(at, weights=np.where(high, 0.0, own), minlength=len(values))
        loss = np.concatenate([[0.0], np.cumsum(below)]) + np.concatenate([np.cumsum(above[::-1])[::-1], [0.0]])
        # Losses that differ only by the order of addition are equal.
        cuts.append(float(places[int(np.argmax(loss <= loss.min() + 1e-9 * own.sum()))]))
    return tuple(np.maximum.accumulate(cuts).tolist())
