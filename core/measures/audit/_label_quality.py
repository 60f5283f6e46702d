"""Quality of a machine's labels, estimated from an audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from .._means_and_tests import CONFIDENCE, drawn_counts, known_or_none
from ._audited_scores import UNDEFINED, Rate, degrees_of, t_quantile
from ._sampling_design import Array, Flags

_STEP = 1e-6


@dataclass(frozen=True)
class Confusion:
    """Judgments by label, estimated for the whole pool.

    Args:
        labels: the A levels of the machine in the pool, rising.
        judgments: the J levels of people, rising.
        counts: shape (A, J), estimated numbers of passages. The sum of a row is the known number of
            the pool's passages with this label. NaN in a row without judged passages.
        judged: shape (A, J), numbers of judged passages, unweighted.
        own: shape (n,), the row of each judged passage; `said`, shape (n,): its column.
        factor: shape (n,), the weight of each judged passage, after its row was scaled to the known
            number.
        spread: shape (n,), the factor of each judged passage in variances, scaled in the same way.
    """

    labels: tuple[float, ...]
    judgments: tuple[float, ...]
    counts: Array
    judged: Array
    own: NDArray[np.intp]
    said: NDArray[np.intp]
    factor: Array
    spread: Array


def estimate_confusion(
    labels: Array,
    judgments: Array,
    weight: Array,
    spread: Array,
    levels: Sequence[float] | None = None,
) -> Confusion:
    """Return the table of labels by judgments for the pool, estimated from its judged passages.

    Counts are Horvitz-Thompson sums for each label, scaled to the label's number of passages
    (poststratification, Särndal, Swensson and Wretman, 1992, section 7.6). This number is exact,
    because the machine labelled all passages.

    Args:
        labels: shape (N,); NaN without a label. Passages without a label are left out of the table.
        judgments: shape (N,); NaN if unknown; of at least one labelled passage.
        weight, spread: shape (N,), from `combined_weights`.
        levels: the possible judgments; None means the values that occur.

    Raises:
        InputError: a judgment is not one of the levels.
    """
    is_paired = ~np.isnan(labels) & ~np.isnan(judgments) & (weight > 0)
    rows = np.unique(labels[~np.isnan(labels)])
    columns = np.unique(judgments[is_paired]) if levels is None else np.array(sorted(levels), float)
    if not np.isin(judgments[is_paired], columns).all():
        raise InputError(
            "unknown-level",
            "A judgment has an unknown level.",
            "Name every level that assessors can give.",
        )
    own = np.searchsorted(rows, labels[is_paired])
    judged_columns = np.searchsorted(columns, judgments[is_paired])
    shape = (len(rows), len(columns))
    counts, judged = np.zeros(shape), np.zeros(shape)
    np.add.at(counts, (own, judged_columns), weight[is_paired])
    np.add.at(judged, (own, judged_columns), 1.0)
    known = np.array([(labels == row).sum() for row in rows], dtype=np.float64)
    total = counts.sum(axis=1)
    scale = np.divide(known, total, out=np.full(len(rows), np.nan), where=total > 0)
    return Confusion(
        tuple(rows.tolist()),
        tuple(columns.tolist()),
        counts * scale[:, None],
        judged,
        own,
        judged_columns,
        weight[is_paired] * scale[own],
        spread[is_paired] * scale[own] ** 2,
    )


def table_statistic(
    table: Confusion,
    statistic: Callable[[Array], float],
    *,
    share: bool = True,
    confidence: float = CONFIDENCE,
) -> Rate:
    """Return a smooth function of the estimated counts, with its interval by linearisation.

    The row totals are known. So each judged passage enters the variance with the derivative of the
    function by its cell, minus the mean derivative of its row (Särndal, Swensson and Wretman, 1992,
    sections 5.5 and 7.6). For a share, the interval is by Clopper and Pearson, with the effective
    number of judgments (Korn and Graubard, Survey Methodology 24, 1998). So its width is above 0
    even if all judgments agree. Other statistics have a t interval.

    Args:
        table: from `estimate_confusion`.
        statistic: the function from counts of shape (A, J), with NaN in rows without judged
            passages; NaN if undefined.
        share: whether the value is a share of passages, between 0 and 1.
        confidence: confidence of the interval.
    """
    counts = table.counts
    value = float(statistic(counts))
    if not np.isfinite(value):
        return UNDEFINED
    slope = _count_slopes(statistic, counts)
    total = counts.sum(axis=1, keepdims=True)
    mean = np.divide(
        (slope * counts).sum(axis=1, keepdims=True),
        total,
        out=np.zeros_like(total),
        where=total > 0,
    )
    parts = table.spread * (slope - mean)[table.own, table.said] ** 2
    variance = float(parts.sum())
    degrees = degrees_of(np.array([variance]), np.array([(parts**2).sum()]))
    if not share:
        half = variance**0.5 * float(t_quantile((1 + confidence) / 2, degrees)[0])
        return Rate(value, value - half, value + half)
    if table.spread.sum() <= 0:
        return Rate(value, value, value)
    seen = variance > 0 and 0 < value < 1
    effective = value * (1 - value) / variance if seen else _effective_number(table, statistic)
    low, high = (
        exact_interval(value, effective, confidence) if np.isfinite(effective) else (value, value)
    )
    return Rate(value, low, high)


def _effective_number(table: Confusion, statistic: Callable[[Array], float]) -> float:
    """Return the effective number of judgments of a share if all judgments agree, so that no
    variance is visible.

    It is computed from a table with half a judgment more in every cell.
    """
    judged = table.judged + 0.5
    inside = table.judged.sum(axis=1, keepdims=True) > 0
    chance = judged / judged.sum(axis=1, keepdims=True)
    counts = np.where(inside, chance * table.counts.sum(axis=1, keepdims=True), np.nan)
    value, slope = float(statistic(counts)), _count_slopes(statistic, counts)
    spread = np.bincount(table.own, weights=table.spread, minlength=len(counts))
    mean = (chance * slope).sum(axis=1, keepdims=True)
    variance = float(spread @ (chance * (slope - mean) ** 2).sum(axis=1))
    return value * (1 - value) / variance if variance > 0 else float("inf")


def _count_slopes(statistic: Callable[[Array], float], counts: Array) -> Array:
    """Return the derivative of the function by every cell; it is one-sided for a count of 0."""
    step = _STEP * np.nansum(counts)
    slopes = np.zeros_like(counts)
    for cell in np.ndindex(*counts.shape):
        above, below = counts.copy(), counts.copy()
        above[cell] += step
        below[cell] = max(0.0, float(below[cell]) - step)
        slopes[cell] = (statistic(above) - statistic(below)) / (above[cell] - below[cell])
    return np.nan_to_num(slopes)


def exact_interval(share: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the interval by Clopper and Pearson (Biometrika 26, 1934) for a share of n judgments;
    n may be fractional."""
    from scipy.special import betaincinv

    tail, x = (1 - confidence) / 2, share * n
    low = float(betaincinv(x, n - x + 1, tail)) if x > 0 else 0.0
    high = float(betaincinv(x + 1, n - x, 1 - tail)) if x < n else 1.0
    return low, high


@dataclass(frozen=True)
class Quality:
    """Quality of labels as substitutes for judgments, over the whole pool and not over the ranking
    of a system.

    Args:
        precision: the share of the passages labelled relevant that people judge relevant.
        recall: the share of the relevant passages that are labelled relevant.
        accuracy: the share of passages with the same relevance by label and by judgment.
        kappa: Cohen's kappa of relevance (Educational and Psychological Measurement 20, 1960).
        prevalence: the share of relevant passages.
    """

    precision: Rate
    recall: Rate
    accuracy: Rate
    kappa: Rate
    prevalence: Rate


def estimate_quality(
    labels: Array,
    judgments: Array,
    weight: Array,
    spread: Array,
    *,
    label_from: float,
    judgment_from: float,
    confidence: float = CONFIDENCE,
) -> Quality:
    """Return precision, recall, accuracy, kappa and prevalence of labels, split into relevant and
    not relevant.

    Args:
        label_from: the lowest label that counts as relevant.
        judgment_from: the lowest judgment that counts as relevant.
        labels, judgments, weight, spread, confidence: see `estimate_confusion` and
            `table_statistic`.
    """
    said = np.where(np.isnan(judgments), np.nan, judgments >= judgment_from)
    relevant = np.where(np.isnan(labels), np.nan, labels >= label_from)
    table = estimate_confusion(relevant, said, weight, spread, (0.0, 1.0))
    # If the labels of the pool have only one side, the other row is empty.
    place = [int(label) for label in table.labels]

    def full_table(counts: Array) -> Array:
        whole = np.zeros((2, 2))
        whole[place] = counts
        return whole

    def table_rate(statistic: Callable[[Array], float], share: bool = True) -> Rate:
        return table_statistic(
            table, lambda counts: statistic(full_table(counts)), share=share, confidence=confidence
        )

    return Quality(
        table_rate(lambda c: _ratio_or_nan(c[1, 1], c[1].sum())),
        table_rate(lambda c: _ratio_or_nan(c[1, 1], c[:, 1].sum())),
        table_rate(lambda c: _ratio_or_nan(np.trace(c), c.sum())),
        table_rate(_table_kappa, share=False),
        table_rate(lambda c: _ratio_or_nan(c[:, 1].sum(), c.sum())),
    )


def _ratio_or_nan(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else float("nan")


def _table_kappa(counts: Array) -> float:
    total = counts.sum()
    chance = float((counts.sum(axis=0) * counts.sum(axis=1)).sum() / total**2)
    return float((np.trace(counts) / total - chance) / (1 - chance)) if chance < 1 else float("nan")


def _share_of_first_row(column: int, counts: Array) -> float:
    return float(counts[0, column] / counts.sum())


@dataclass(frozen=True)
class LabelMeaning:
    """People's judgments of the passages with one label or rating.

    Args:
        label: the machine's level.
        passages: number of the pool's passages with this label.
        judged: number of these that were judged.
        chances: by judgment, the estimated share of these passages that have it.
        mean: the mean judgment; None if no passage was judged.
    """

    label: int
    passages: int
    judged: int
    chances: dict[int, Rate]
    mean: float | None


def label_meanings(
    labels: Array,
    judgments: Array,
    weight: Array,
    spread: Array,
    levels: Sequence[float] | None = None,
    confidence: float = CONFIDENCE,
) -> list[LabelMeaning]:
    """Return the probability of each judgment for every label, with intervals, over the pool.

    The probabilities are valid for the pool as a whole. Among passages that a system ranks high,
    the same label is right more often or less often. So do not use them to correct a leaderboard;
    the difference estimator does that.

    Args: see `estimate_confusion`.

    Returns:
        One row per label of the pool, rising. A label without judged passages has no probabilities.
    """
    whole = estimate_confusion(labels, judgments, weight, spread, levels)
    rows = []
    for i, label in enumerate(whole.labels):
        passages, judged = int((labels == label).sum()), int(whole.judged[i].sum())
        if not judged:
            rows.append(LabelMeaning(int(label), passages, 0, {}, None))
            continue
        own = estimate_confusion(
            np.where(labels == label, labels, np.nan), judgments, weight, spread, whole.judgments
        )
        chances = {
            int(level): table_statistic(own, partial(_share_of_first_row, j), confidence=confidence)
            for j, level in enumerate(own.judgments)
        }
        mean = float(own.counts[0] @ np.array(own.judgments) / own.counts.sum())
        rows.append(LabelMeaning(int(label), passages, judged, chances, mean))
    return rows


@dataclass(frozen=True)
class Threshold:
    """The quality of labels at a min rating.

    Args:
        rating: the lowest label or rating that counts as relevant.
        quality: precision, recall and the other statistics.
    """

    rating: int
    quality: Quality


def quality_by_threshold(
    labels: Array,
    judgments: Array,
    weight: Array,
    spread: Array,
    *,
    judgment_from: float,
    confidence: float = CONFIDENCE,
) -> list[Threshold]:
    """Return the quality of labels at every min rating: every label except the lowest, from which
    all are relevant.

    Args: see `estimate_quality`.

    Returns:
        A row per min rating, rising.
    """
    offered = np.unique(labels[~np.isnan(labels)])[1:]
    return [
        Threshold(
            int(level),
            estimate_quality(
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


def balanced_threshold(qualities: Sequence[Threshold]) -> Threshold | None:
    """Return the min rating with the smallest difference of precision and recall.

    There, about as many passages are labelled relevant as are relevant.

    Returns:
        None if precision or recall is undefined at every min rating.
    """
    gaps = [
        (abs(one.quality.precision.value - one.quality.recall.value), one.rating, one)
        for one in qualities
        if one.quality.precision.value is not None and one.quality.recall.value is not None
    ]
    return min(gaps, key=lambda gap: gap[:2])[2] if gaps else None


def cut_points(
    scores: Array, judgments: Array, weight: Array, levels: Sequence[float]
) -> tuple[float, ...]:
    """Return the cut points that divide a continuous score into people's levels.

    Each cut point minimises the weight of misplaced passages: passages judged at least the level
    with a score below the cut point, and passages judged lower with a score from the cut point.
    Summed over levels, this is the weighted sum of absolute differences in levels. So the cut
    points together minimise that sum. Of equally good cut points the lowest is used, which keeps
    them in rising order. For the embedding grader, the scores are similarities.

    Args:
        scores: shape (N,), such as the highest similarity of a passage to the questions of its
            query; NaN if missing.
        judgments: shape (N,); NaN if unknown.
        weight: shape (N,), from `combined_weights`.
        levels: the K judgments above the lowest, rising; each needs a cut point.

    Returns:
        K cut points, rising or equal. A score of at least the k-th belongs to level k or above. A
        cut point is infinite if the level was not given, or if the scores do not separate it.
    """
    seen = ~np.isnan(scores) & ~np.isnan(judgments) & (weight > 0)
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
        loss = np.concatenate([[0.0], np.cumsum(below)]) + np.concatenate(
            [np.cumsum(above[::-1])[::-1], [0.0]]
        )
        # Losses that differ only by the order of addition are equal.
        cuts.append(float(places[int(np.argmax(loss <= loss.min() + 1e-9 * own.sum()))]))
    return tuple(np.maximum.accumulate(cuts).tolist())


FOLDS, REPEATS = 5, 1_000


def weighted_kappas(weights: Array, predicted: Flags, relevant: Flags) -> Array:
    """Return Cohen's kappa for each row of weights, shape (R, n); NaN if either side has one value
    only.
    """
    total = weights.sum(axis=1)
    both, ours, theirs = (
        weights @ part / total for part in (predicted & relevant, predicted, relevant)
    )
    observed, chance = 1 - ours - theirs + 2 * both, ours * theirs + (1 - ours) * (1 - theirs)
    return np.where(chance < 1 - 1e-12, (observed - chance) / np.maximum(1 - chance, 1e-12), np.nan)


def relevant_shares(weights: Array, predicted: Flags, relevant: Flags) -> Array:
    """Return the share of relevant passages for each row of weights, shape (R, n)."""
    return np.asarray(weights @ relevant / weights.sum(axis=1))


def cross_fitted(
    labels: Array, relevant: Flags, weight: Array, queries: NDArray[np.int64]
) -> Flags:
    """Return which passages count as relevant by their label, with the cut that has the best kappa
    on other queries.

    Args:
        labels, relevant, weight, queries: shape (n,), of passages with label and judgment.
    """
    flags = np.zeros(len(labels), bool)
    cuts = np.unique(labels)
    for fold in range(FOLDS):
        inside = queries % FOLDS == fold
        if inside.any() and not inside.all():
            kappa_by_cut = [
                weighted_kappas(weight[None, ~inside], labels[~inside] >= cut, relevant[~inside])[0]
                for cut in cuts
            ]
            flags[inside] = (
                labels[inside] >= cuts[int(np.argmax(np.nan_to_num(kappa_by_cut, nan=-1.0)))]
            )
    return flags


def clustered_interval(
    value: Callable[[Array, Flags, Flags], Array],
    weight: Array,
    predicted: Flags,
    relevant: Flags,
    queries: NDArray[np.int64],
) -> Rate:
    """Return a value with its 95 % interval: percentiles of `REPEATS` samples of whole queries,
    with a fixed seed.

    Queries are drawn, and not passages, because the judgments of a query depend on each other.
    """
    names, own = np.unique(queries, return_inverse=True)
    if not len(names):
        return UNDEFINED
    times = drawn_counts(len(names), REPEATS)
    with np.errstate(invalid="ignore"):
        whole = float(value(weight[None], predicted, relevant)[0])
        resampled = value(weight * times[:, own], predicted, relevant)
    resampled = resampled[~np.isnan(resampled)]
    if len(names) < 2 or not len(resampled):
        return Rate(known_or_none(whole), None, None)
    low, high = np.quantile(resampled, (0.025, 0.975))
    return Rate(known_or_none(whole), float(low), float(high))
