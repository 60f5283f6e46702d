"""Agreement of an answer check with people: accuracy, kappa, precision, recall, and the best threshold."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ..means import SAMPLES, Interval, drawn_counts, interval, quotients

Array = NDArray[np.float64]
By = Literal["kappa", "accuracy"]

POINTS = 101
"""Most thresholds of a curve."""


@dataclass(frozen=True)
class Against:
    """Verdicts of an answer check compared with people's verdicts, which count as the truth.

    Args:
        answers: n, answers with a verdict of both.
        failed: answers without a verdict of the check.
        yes_yes, yes_no, no_yes, no_no: numbers of answers, the check's verdict first.
        accuracy, kappa, precision, recall: with intervals over resampled groups of answers.
    """

    answers: int
    failed: int
    yes_yes: int
    yes_no: int
    no_yes: int
    no_no: int
    accuracy: Interval
    kappa: Interval
    precision: Interval
    recall: Interval


@dataclass(frozen=True)
class Point:
    """The quality of an answer check at one threshold; a coefficient is None if it is undefined."""

    threshold: float
    accuracy: float
    kappa: float | None
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class Tested:
    """A threshold chosen on half of the groups, and its quality on the other half.

    Args:
        chosen_on, tested_on: numbers of answers.
        usual: the usual threshold on the same other half.
    """

    threshold: float
    chosen_on: int
    tested_on: int
    tested: Against
    usual: Against


def against_people(
    verdicts: Sequence[float | bool | None],
    people: Sequence[bool],
    groups: Sequence[Hashable] | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Against:
    """Return accuracy, Cohen's kappa, precision and recall of an answer check, each with a bootstrap interval.

    Accuracy = (TP + TN) / n, precision = TP / (TP + FP), recall = TP / (TP + FN); kappa as `cohen_kappa` of
    `measures` (Cohen, 1960).

    Args:
        verdicts: the check's verdicts on n answers, 1 yes and 0 no; None if a verdict is missing.
        people: whether people accept each of them.
        groups: answers that are drawn together, such as those to one question; None draws each alone.
        samples, seed: of the bootstrap.

    Raises:
        InputError: the lists differ in length.
    """
    known, truth, group = _known(verdicts, people, groups)
    said = np.array([float(verdicts[at] or 0) for at in known])
    cells = _cells(said > 0.5, truth)
    drawn = _drawn(cells, group, samples, seed)
    tp, fp, fn, tn = (int(number) for number in cells.sum(axis=0))
    found = {
        name: interval(_or_none(values[0]), values[1:], why)
        for (name, values), why in zip(
            _coefficients(np.concatenate([cells.sum(axis=0, keepdims=True), drawn])).items(), _WHY, strict=True
        )
    }
    return Against(len(known), len(people) - len(known), tp, fp, fn, tn, **found)


_WHY = (
    "no answer has both results",
    "both sides give every answer the same result",
    "the answer check accepts no answer",
    "people accept no answer",
)


def threshold_curve(scores: Sequence[float | None], people: Sequence[bool], points: int = POINTS) -> list[Point]:
    """Return the quality of an answer check at each threshold, in rising order.

    Args:
        scores: of n answers; an answer is accepted from the threshold upwards. None if a score is missing.
        people: whether people accept each of them.
        points: most thresholds; if there are more different scores, thresholds are quantiles.

    Raises:
        InputError: the lists differ in length.
    """
    known, truth, _ = _known(scores, people, None)
    numbers = np.array([float(scores[at] or 0) for at in known])
    if not len(numbers):
        return []
    thresholds = _between(np.unique(numbers))
    if len(thresholds) > points:
        thresholds = np.unique(np.quantile(thresholds, np.linspace(0, 1, points), method="nearest"))
    return [
        Point(float(threshold), float(accuracy), _or_none(kappa), _or_none(precision), _or_none(recall))
        for threshold, accuracy, kappa, precision, recall in zip(
            thresholds, *_coefficients(_at_thresholds(numbers, truth, thresholds)).values(), strict=True
        )
    ]


def best_threshold(scores: Sequence[float | None], people: Sequence[bool], by: By = "kappa") -> float | None:
    """Return the lowest threshold with the greatest kappa or accuracy; None if it is undefined everywhere.

    It is the midpoint of two scores, so that rounding does not move scores across it.
    """
    curve = threshold_curve(scores, people, points=len(scores) + 1)
    values = [(value, -at) for at, point in enumerate(curve) if (value := getattr(point, by)) is not None]
    return curve[-max(values)[1]].threshold if values else None


def halves_test(
    scores: Sequence[float | None],
    people: Sequence[bool],
    usual: float,
    groups: Sequence[Hashable] | None = None,
    by: By = "kappa",
    samples: int = SAMPLES,
    seed: int = 0,
) -> Tested | None:
    """Choose a threshold on a random half of the groups and test it on the other half.

    Args:
        scores, people: as for `threshold_curve`.
        usual: the threshold to compare it with.
        groups: answers that stay together, such as those to one question; None splits single answers.
        by: the coefficient that the chosen threshold maximises.
        samples, seed: of the bootstrap; the seed also makes the halves.

    Returns:
        None if no threshold can be chosen: fewer than two groups, or a half whose coefficient is undefined.

    Raises:
        InputError: the lists differ in length.
    """
    known, _, _ = _known(scores, people, groups)
    names = list(groups) if groups is not None else list(range(len(people)))
    distinct = list(dict.fromkeys(names[at] for at in known))
    order = np.random.default_rng(seed).permutation(len(distinct))
    chosen = {distinct[at] for at in order[: len(distinct) // 2]}
    one, other = ([at for at in known if (names[at] in chosen) == side] for side in (True, False))
    threshold = best_threshold([scores[at] for at in one], [people[at] for at in one], by)
    if threshold is None or not other:
        return None
    found = [
        against_people(
            [(scores[at] or 0.0) >= limit for at in other],
            [people[at] for at in other],
            [names[at] for at in other],
            samples,
            seed,
        )
        for limit in (threshold, usual)
    ]
    return Tested(threshold, len(one), len(other), *found)


def _known(
    values: Sequence[float | bool | None], people: Sequence[bool], groups: Sequence[Hashable] | None
) -> tuple[list[int], NDArray[np.bool_], NDArray[np.int64]]:
    """Return positions of the answers with a value, people's verdicts on these, and each one's group number."""
    if len(values) != len(people) or (groups is not None and len(groups) != len(people)):
        raise InputError(
            "verdicts-do-not-match",
            f"{len(values)} results of the answer check do not match {len(people)} human results.",
            "Use one human result per answer.",
        )
    known = [at for at, value in enumerate(values) if value is not None]
    names = list(groups) if groups is not None else list(range(len(people)))
    numbers: dict[Hashable, int] = {}
    group = [numbers.setdefault(names[at], len(numbers)) for at in known]
    return known, np.array([bool(people[at]) for at in known], dtype=bool), np.array(group, dtype=np.int64)


def _cells(said: NDArray[np.bool_], truth: NDArray[np.bool_]) -> Array:
    """Return whether each answer is TP, FP, FN or TN: (n, 4) of 0 and 1."""
    return np.stack([said & truth, said & ~truth, ~said & truth, ~said & ~truth], axis=1).astype(np.float64)


def _drawn(cells: Array, group: NDArray[np.int64], samples: int, seed: int) -> Array:
    """Return TP, FP, FN and TN in each resample of the groups: (samples, 4)."""
    groups = int(group.max()) + 1 if len(group) else 0
    totals = np.zeros((groups, 4))
    np.add.at(totals, group, cells)
    return drawn_counts(groups, samples, seed) @ totals


def _at_thresholds(scores: Array, truth: NDArray[np.bool_], thresholds: ArrayLike) -> Array:
    order = np.argsort(scores)
    rising, right = scores[order], np.concatenate([[0], np.cumsum(truth[order])])
    below = np.searchsorted(rising, np.asarray(thresholds), side="left")
    fn = right[below]
    tn, tp = below - fn, right[-1] - fn
    return np.stack([tp, len(scores) - below - tp, fn, tn], axis=1).astype(np.float64)


def _between(distinct: Array) -> Array:
    """Return thresholds that split the scores in every possible way: below all, each midpoint, above all."""
    return np.concatenate([distinct[:1], (distinct[1:] + distinct[:-1]) / 2, np.nextafter(distinct[-1:], np.inf)])


def _coefficients(counts: Array) -> dict[str, Array]:
    """Return accuracy, kappa, precision and recall of rows of TP, FP, FN, TN; NaN if undefined."""
    tp, fp, fn, tn = counts.T
    n = tp + fp + fn + tn
    same, chance = tp + tn, (tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)
    return {
        "accuracy": quotients(same, n),
        "kappa": quotients(n * same - chance, n * n - chance),
        "precision": quotients(tp, tp + fp),
        "recall": quotients(tp, tp + fn),
    }


def _or_none(number: float) -> float | None:
    return None if np.isnan(number) else float(number)
