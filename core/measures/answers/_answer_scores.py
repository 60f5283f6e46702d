"""Scores of runs by retrieved gold passages and by answer checks, and agreement of answer checks
with people.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from .._means_and_tests import (
    SAMPLES,
    Array,
    Interval,
    defined_quotients,
    drawn_counts,
    harmonic_mean,
    known_or_none,
    mean_and_standard_error,
    percentile_interval,
)


@dataclass(frozen=True)
class GoldRetrieval:
    """The gold passages in the top k of one query; shares from 0 to 1.

    Args:
        recall: share of the gold passages that were retrieved.
        precision: share of the k ranks with a gold passage; the divisor is k even if fewer passages
            were retrieved.
        f1: harmonic mean of precision and recall; 0 if both are 0.
        places: positions of gold passages in the ranking, from 0.
    """

    recall: float
    precision: float
    f1: float
    places: tuple[int, ...] = ()

    @property
    def has_gold(self) -> bool:
        """Whether a gold passage was retrieved: Recall's verdict r on the query."""
        return self.recall > 0


def score_retrieval(
    ranking: Sequence[str],
    gold: Collection[str],
    k: int,
    same: Mapping[str, Collection[str]] | None = None,
) -> GoldRetrieval:
    """Return Recall@k, Precision@k and F1@k of one query.

    Recall@k = |top k ∩ R| / |R|, Precision@k = |top k ∩ R| / k as in trec_eval, F1@k = 2 P R / (P +
    R). Source: llm-reteval specification, section 7.

    Args:
        ranking: passage ids, best first; empty if the run skipped the query.
        gold: ids of the gold passages, R.
        k: rank depth, from 1.
        same: for each near-copy of a gold passage (case B), the ids of the gold passages that it
            copies. For Recall, these gold passages count as retrieved, each once. For Precision,
            each near-copy counts.

    Raises:
        InputError: no gold passages, or a depth below 1.
    """
    if k < 1 or not gold:
        raise InputError(
            "recall-undefined",
            f"Recall@{k} is undefined for {len(gold)} gold passages.",
            "Use a depth from 1 and queries with gold passages.",
        )
    stands_for = [
        {one for one in (passage, *(same or {}).get(passage, ())) if one in gold}
        for passage in ranking[:k]
    ]
    places = tuple(at for at, found in enumerate(stands_for) if found)
    recall, precision = len(set().union(*stands_for)) / len(set(gold)), len(places) / k
    return GoldRetrieval(recall, precision, harmonic_mean(precision, recall), places)


@dataclass(frozen=True)
class Conventional:
    """Means of a run at a depth over queries, each with its standard error; None without queries.

    Args:
        queries: number of queries.
        recall, precision, f1: (mean, standard error).
        f1_of_means: F1 of the mean Precision and the mean Recall, as in the paper.
    """

    queries: int
    recall: tuple[float | None, float | None]
    precision: tuple[float | None, float | None]
    f1: tuple[float | None, float | None]
    f1_of_means: float | None


def mean_retrieval_scores(queries: Collection[GoldRetrieval]) -> Conventional:
    """Return the means over queries of the results of `score_retrieval`."""
    recall = mean_and_standard_error(query.recall for query in queries)
    precision = mean_and_standard_error(query.precision for query in queries)
    of_means = (
        None
        if recall[0] is None or precision[0] is None
        else harmonic_mean(precision[0], recall[0])
    )
    return Conventional(
        len(queries),
        recall,
        precision,
        mean_and_standard_error(query.f1 for query in queries),
        of_means,
    )


Outcome = float | None
"""The result of an answer check on a query: 1 yes, 0 no, or a number between; None if the
comparison failed.
"""


@dataclass(frozen=True)
class ScoredMean:
    """A mean over queries and the numbers of queries behind it.

    Args:
        mean: None if no query counts.
        error: sample standard deviation / sqrt(n); None with fewer than two queries.
        queries: n, the number of queries that count, including skipped queries.
        failed: number of queries whose comparison failed; they are left out.
        skipped: number of queries that the run did not answer; they count 0.
        waiting: number of queries that have not been compared yet; they are left out.
    """

    mean: float | None
    error: float | None
    queries: int
    failed: int
    skipped: int
    waiting: int

    @property
    def complete(self) -> bool:
        """Whether every query counts."""
        return not self.failed and not self.waiting


def score_outcomes(
    outcomes: Mapping[str, Outcome], queries: Collection[str], skipped: Collection[str] = ()
) -> ScoredMean:
    """Return the mean over queries of an answer check's results.

    Source: llm-reteval specification, section 4.4.

    Args:
        outcomes: result by query id; None if the comparison failed. A query without a comparison is
            absent.
        queries: the queries with gold passages; other queries in `outcomes` do not count.
        skipped: the queries of `queries` for which the run has no passages. Each counts 0, even if
            it has a result.
    """
    distinct = set(queries)
    left_out = distinct & set(skipped)
    outcomes_counted = {
        query: outcomes[query] for query in sorted(distinct - left_out) if query in outcomes
    }
    values = [float(one) for one in outcomes_counted.values() if one is not None]
    mean, error = mean_and_standard_error([*values, *(0.0 for _ in left_out)])
    counted = len(values) + len(left_out)
    waiting = len(distinct) - len(left_out) - len(outcomes_counted)
    return ScoredMean(
        mean, error, counted, len(outcomes_counted) - len(values), len(left_out), waiting
    )


FEW = 2
"""A correlation needs at least this many queries."""


@dataclass(frozen=True)
class QueryCorrelation:
    """Spearman's rho of two measures over queries. For binary values it equals the phi coefficient.

    Args:
        spearman: rho with its interval over resampled queries; undefined if a measure is constant.
        queries: number of queries with values of both measures.
        unknown: number of queries that lack a value of either measure.
        removed: number of queries that were left out, such as failures of Recall.
    """

    spearman: Interval
    queries: int
    unknown: int
    removed: int


def correlate_queries(
    first: Mapping[str, float | None],
    other: Mapping[str, float | None],
    removed: Collection[str] = (),
    samples: int = SAMPLES,
    seed: int = 0,
) -> QueryCorrelation:
    """Return Spearman's rho between two measures over the queries of a run, with average ranks for
    ties.

    Source: llm-reteval, section 4.2 and table 2. Each resample draws n of the n queries with
    replacement. Resamples in which a measure is constant do not count for the interval.

    Args:
        first, other: values by query id, such as Recall@k and LLM-retEval@k; None if the value
            failed.
        removed: queries to leave out, such as queries with a confirmed case A, B or C ("Refined").
        samples, seed: number of resamples and seed of the bootstrap.
    """
    named = first.keys() | other.keys()
    common = sorted(named - set(removed))
    pairs = [
        (x, y)
        for query in common
        if (x := first.get(query)) is not None and (y := other.get(query)) is not None
    ]
    unpaired = len(named) - len(common)
    cells, counts = (
        np.unique(np.array(pairs, dtype=np.float64), axis=0, return_counts=True)
        if pairs
        else (np.zeros((0, 2)), np.zeros(0, dtype=np.int64))
    )
    why = _why_undefined(cells, len(pairs))
    if why is not None:
        return QueryCorrelation(
            Interval(None, undefined=why), len(pairs), len(common) - len(pairs), unpaired
        )
    value = float(_weighted_spearman(cells, counts[None].astype(np.float64))[0])
    dice = np.random.default_rng(seed)
    # Queries with the same pair of values form one cell. Drawing cells by their counts is the same
    # as drawing queries.
    drawn = dice.multinomial(len(pairs), counts / counts.sum(), size=samples).astype(np.float64)
    found = percentile_interval(value, _weighted_spearman(cells, drawn))
    return QueryCorrelation(found, len(pairs), len(common) - len(pairs), unpaired)


def _why_undefined(cells: Array, queries: int) -> str | None:
    if queries < FEW:
        return f"too few queries ({queries})"
    constant = [
        side
        for side, column in zip(("first", "second"), cells.T, strict=True)
        if np.ptp(column) == 0
    ]
    return f"no variation in the {' and the '.join(constant)} measure" if constant else None


def _weighted_spearman(cells: Array, counts: Array) -> Array:
    """Return Spearman's rho in each resample.

    Args:
        cells: distinct pairs of values, (cells, 2).
        counts: how often each resample drew each pair, (samples, cells).
    """
    x, y = (_mid_ranks(cells[:, side], counts) for side in (0, 1))
    n = counts.sum(axis=1, keepdims=True)
    x, y = (
        x - (x * counts).sum(axis=1, keepdims=True) / n,
        y - (y * counts).sum(axis=1, keepdims=True) / n,
    )
    spread = np.sqrt((counts * x**2).sum(axis=1) * (counts * y**2).sum(axis=1))
    return np.clip(defined_quotients((counts * x * y).sum(axis=1), spread, spread > 1e-9), -1, 1)


def _mid_ranks(values: Array, counts: Array) -> Array:
    """Return the average rank of each cell's value among the drawn values, from 0: (samples,
    cells).
    """
    distinct, place = np.unique(values, return_inverse=True)
    totals = np.zeros((len(counts), len(distinct)))
    np.add.at(totals.T, place, counts.T)
    return (np.cumsum(totals, axis=1) - totals + (totals - 1) / 2)[:, place]


POINTS = 101
"""Maximum number of thresholds of a curve."""


@dataclass(frozen=True)
class CheckAgreement:
    """Results of an answer check compared with people's results, which count as the truth.

    Args:
        answers: number of answers with a result from the check and from people.
        failed: number of answers without a result from the check.
        yes_yes, yes_no, no_yes, no_no: numbers of answers by result; the check's result is first.
        accuracy, kappa, precision, recall: coefficients with intervals over resampled groups of
            answers.
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
class ThresholdAgreement:
    """The agreement of an answer check with people at a threshold; an undefined coefficient is
    None.
    """

    threshold: float
    accuracy: float
    kappa: float | None
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class TestedThreshold:
    """A threshold chosen on half of the groups, and its agreement with people on the other half.

    Args:
        chosen_on, tested_on: numbers of answers in the two halves.
        usual: the agreement of the usual threshold on the second half.
    """

    threshold: float
    chosen_on: int
    tested_on: int
    tested: CheckAgreement
    usual: CheckAgreement


def against_people(
    verdicts: Sequence[float | bool | None],
    people: Sequence[bool],
    groups: Sequence[Hashable] | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> CheckAgreement:
    """Return accuracy, Cohen's kappa, precision and recall of an answer check, each with a
    bootstrap interval.

    Accuracy = (TP + TN) / n, precision = TP / (TP + FP), recall = TP / (TP + FN); kappa as
    `cohen_kappa` of `measures` (Cohen, 1960).

    Args:
        verdicts: the check's results for n answers, 1 yes and 0 no; None if a result is missing.
        people: whether people accept each answer.
        groups: the group of each answer, such as its question. The bootstrap draws whole groups;
            None draws answers.
        samples, seed: number of resamples and seed of the bootstrap.
    """
    judged_places, truth, group = _judged_answers(verdicts, people, groups)
    said = np.array([float(verdicts[at] or 0) > 0.5 for at in judged_places], dtype=bool)
    # Whether each answer is TP, FP, FN or TN.
    cells = np.stack([said & truth, said & ~truth, ~said & truth, ~said & ~truth], axis=1).astype(
        np.float64
    )
    drawn = _resampled_counts(cells, group, samples, seed)
    tp, fp, fn, tn = (int(number) for number in cells.sum(axis=0))
    coefficients = {
        name: percentile_interval(known_or_none(values[0]), values[1:], why)
        for (name, values), why in zip(
            _confusion_coefficients(
                np.concatenate([cells.sum(axis=0, keepdims=True), drawn])
            ).items(),
            _WHY,
            strict=True,
        )
    }
    return CheckAgreement(
        len(judged_places), len(people) - len(judged_places), tp, fp, fn, tn, **coefficients
    )


_WHY = (
    "no answer has both results",
    "both sides give every answer the same result",
    "the answer check accepts no answer",
    "people accept no answer",
)


def threshold_curve(
    scores: Sequence[float | None], people: Sequence[bool], points: int = POINTS
) -> list[ThresholdAgreement]:
    """Return the agreement of an answer check with people at each threshold, in rising order.

    Args:
        scores: scores of n answers; None if a score is missing. An answer is accepted from the
            threshold upwards.
        people: whether people accept each answer.
        points: maximum number of thresholds. With more distinct scores, the thresholds are
            quantiles.
    """
    known, truth, _ = _judged_answers(scores, people, None)
    numbers = np.array([float(scores[at] or 0) for at in known])
    if not len(numbers):
        return []
    distinct = np.unique(numbers)
    # Thresholds that split the scores in every possible way: below all, each midpoint, above all.
    thresholds = np.concatenate(
        [distinct[:1], (distinct[1:] + distinct[:-1]) / 2, np.nextafter(distinct[-1:], np.inf)]
    )
    if len(thresholds) > points:
        thresholds = np.unique(np.quantile(thresholds, np.linspace(0, 1, points), method="nearest"))
    return [
        ThresholdAgreement(
            float(threshold),
            float(accuracy),
            known_or_none(kappa),
            known_or_none(precision),
            known_or_none(recall),
        )
        for threshold, accuracy, kappa, precision, recall in zip(
            thresholds,
            *_confusion_coefficients(_at_thresholds(numbers, truth, thresholds)).values(),
            strict=True,
        )
    ]


def best_threshold(scores: Sequence[float | None], people: Sequence[bool]) -> float | None:
    """Return the lowest threshold with the greatest kappa; None if it is undefined everywhere.

    The threshold is the midpoint of two scores, so that rounding does not move a score across it.
    """
    curve = threshold_curve(scores, people, points=len(scores) + 1)
    values = [(point.kappa, -at) for at, point in enumerate(curve) if point.kappa is not None]
    return curve[-max(values)[1]].threshold if values else None


def halves_test(
    scores: Sequence[float | None],
    people: Sequence[bool],
    usual: float,
    groups: Sequence[Hashable] | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> TestedThreshold | None:
    """Choose a threshold on a random half of the groups and test it on the other half.

    Args:
        scores, people: as for `threshold_curve`.
        usual: the usual threshold, for comparison.
        groups: the group of each answer, such as its question. Groups are not divided; None divides
            by answers.
        samples, seed: number of resamples and seed of the bootstrap; the seed also determines the
            halves.

    Returns:
        None if no threshold can be chosen: fewer than two groups, or a half with undefined kappa.
    """
    judged_places, _, numbers = _judged_answers(scores, people, groups)
    group = dict(zip(judged_places, numbers.tolist(), strict=True))
    order = np.random.default_rng(seed).permutation(len(set(group.values()))).tolist()
    chosen = set(order[: len(order) // 2])
    tuned, other = (
        [at for at in judged_places if (group[at] in chosen) == side] for side in (True, False)
    )
    threshold = best_threshold([scores[at] for at in tuned], [people[at] for at in tuned])
    if threshold is None or not other:
        return None
    estimates = [
        against_people(
            [(scores[at] or 0.0) >= limit for at in other],
            [people[at] for at in other],
            [group[at] for at in other],
            samples,
            seed,
        )
        for limit in (threshold, usual)
    ]
    return TestedThreshold(threshold, len(tuned), len(other), *estimates)


def _judged_answers(
    values: Sequence[float | bool | None], people: Sequence[bool], groups: Sequence[Hashable] | None
) -> tuple[list[int], NDArray[np.bool_], NDArray[np.int64]]:
    """Return the positions of the answers with a value, people's results for them, and their group
    numbers.
    """
    judged_places = [at for at, value in enumerate(values) if value is not None]
    names = list(groups) if groups is not None else list(range(len(people)))
    numbers: dict[Hashable, int] = {}
    group = [numbers.setdefault(names[at], len(numbers)) for at in judged_places]
    return (
        judged_places,
        np.array([bool(people[at]) for at in judged_places], dtype=bool),
        np.array(group, dtype=np.int64),
    )


def _resampled_counts(cells: Array, group: NDArray[np.int64], samples: int, seed: int) -> Array:
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


def _confusion_coefficients(counts: Array) -> dict[str, Array]:
    """Return accuracy, kappa, precision and recall of rows of TP, FP, FN, TN; NaN if undefined."""
    tp, fp, fn, tn = counts.T
    n = tp + fp + fn + tn
    same, chance = tp + tn, (tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)
    return {
        "accuracy": defined_quotients(same, n),
        "kappa": defined_quotients(n * same - chance, n * n - chance),
        "precision": defined_quotients(tp, tp + fp),
        "recall": defined_quotients(tp, tp + fn),
    }
