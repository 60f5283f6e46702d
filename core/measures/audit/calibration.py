"""What ratings and labels mean in judgments, and thresholds that are fitted to the audit's sample."""

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
    """What people say of the passages with one label or rating.

    Args:
        label: the machine's level.
        passages: how many of the pool have it.
        judged: how many of these were judged.
        chances: by level of judgment, the share of the label's passages that people would give it.
        mean: the mean judgment; NaN where none was judged.
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
    """The chance of each judgment for every label, with intervals, over the pool.

    They hold for the pool as a whole. Among the passages that a system ranks high, the same label is right more often
    or less often, so they must not correct a leaderboard; see the difference estimator for that.

    Args: see `measures.audit.labels.confusion`.

    Returns:
        One row a label that the pool has, rising; without chances where nothing of it was judged.
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
    """How labels do with one min rating.

    Args:
        label_from: the least label or rating that counts as relevant.
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
    """Precision and recall at every min rating that the labels offer but the lowest, which calls all relevant.

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
    """The min rating at which precision and recall are nearest to each other; then as many are called relevant as are.

    Returns:
        None where precision or recall is undefined at all of them.
    """
    gaps = [
        (abs(one.quality.precision.value - one.quality.recall.value), one.label_from, one)
        for one in found
        if np.isfinite(one.quality.precision.value) and np.isfinite(one.quality.recall.value)
    ]
    return min(gaps, key=lambda gap: gap[:2])[2] if gaps else None


def cut_points(scores: Array, judgments: Array, weight: Array, levels: Sequence[float]) -> tuple[float, ...]:
    """Where a continuous score should be cut so that its levels are those that people give.

    For each level the cut that misplaces the least weight of passages: those judged at least so high whose score is
    below it, and those judged lower whose score is not. The sum over levels is the weighted sum of absolute differences
    in levels, so the cuts together minimise that; of several as good the lowest is taken, with which cuts never fall.
    For the embedding grader scores are similarities and the cuts its cut points.

    Args:
        scores: shape (N,), such as the highest similarity of a passage to the questions of its query; NaN where none.
        judgments: shape (N,); NaN where unknown.
        weight: shape (N,), from `combined_weights`.
        levels: the judgments, rising, from which the cuts lead to the next level: K levels give K cuts.

    Returns:
        K cuts, rising or equal; a score of at least the k-th belongs to level k or above. A cut above all scores is
        infinite: nobody gave that level, or no score tells it.

    Raises:
        InputError: if nothing with a score was judged, or the levels do not rise.
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
    # Between two scores the middle is as good as any other place.
    places = np.concatenate([[values[0]], (values[:-1] + values[1:]) / 2, [np.inf]])
    at = np.searchsorted(values, s)
    cuts = []
    for level in levels:
        high = y >= level
        below = np.bincount(at, weights=np.where(high, own, 0.0), minlength=len(values))
        above = np.bincount(at, weights=np.where(high, 0.0, own), minlength=len(values))
        loss = np.concatenate([[0.0], np.cumsum(below)]) + np.concatenate([np.cumsum(above[::-1])[::-1], [0.0]])
        # What differs by the order of adding alone is as good.
        cuts.append(float(places[int(np.argmax(loss <= loss.min() + 1e-9 * own.sum()))]))
    return tuple(np.maximum.accumulate(cuts).tolist())
