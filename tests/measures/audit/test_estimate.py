"""Audited scores: unbiasedness by enumeration of all samples, variance, and edge cases."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from exam_workbench.measures.audit import (
    Batch,
    CorrectedGains,
    Pool,
    compare_all_systems,
    composite_scores,
    correct_gains,
    decide_best,
    decide_better,
    decide_precise,
    estimate_sums,
    group_alike,
    group_bias,
    inclusion_chances,
    machine_bias,
    missing_bounds,
    planned_chances,
    predict_batches,
    true_correlation,
)
from exam_workbench.measures.audit._gain_estimates import folds_of
from exam_workbench.measures.audit._sampling_design import Array, Flags
from tests.made.refusals import refusal

NOBODY = np.zeros(5, bool)
Y = np.array([3.0, 0.0, 1.0, 2.0, 0.0])
W = np.array([[0.4, 0.3, 0.0, 0.2, 0.1], [0.0, 0.2, 0.5, 0.1, 0.3]])
X = np.array([[1.0], [-1.0], [0.0], [1.0], [-1.0]])
ITEMS = [("q", f"p{i}") for i in range(5)]
POOL = Pool(X, folds_of(ITEMS, 3), np.array([0, 0, 0, 1, 1]))


def samples(chance: Array) -> list[tuple[float, Flags]]:
    """Return every possible sample with its chance."""
    sides = [(False,) if p == 0 else (True,) if p >= 1 else (True, False) for p in chance]
    rows = [np.array(row) for row in product(*sides)]
    return [(float(np.where(row, chance, 1 - chance).prod()), row) for row in rows]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow regressions from two passages on, so that this small pool has them."""
    monkeypatch.setattr("exam_workbench.measures.audit._gain_estimates.FEWEST", 2)


def one(chance: Array, drawn: Flags, known: Flags = NOBODY) -> Batch:
    return Batch(chance, drawn, drawn & ~known, known)


def test_one_batch_with_learnt_predictions_is_unbiased(few: None) -> None:
    chance = np.array([0.5, 0.3, 0.8, 0.6, 0.4])
    mean = np.zeros(2)
    for p, drawn in samples(chance):
        batches, planned = [one(chance, drawn)], chance[None]
        predicted = predict_batches(POOL, batches, planned, np.where(drawn, Y, np.nan))
        mean += p * estimate_sums(W, correct_gains(batches, planned, np.where(drawn, Y, np.nan), predicted)).value
    assert mean == pytest.approx(W @ Y, abs=1e-12)


def test_two_batches_are_unbiased_if_the_second_adapts(few: None) -> None:
    first = np.array([0.5, 0.3, 0.8, 0.6, 0.4])
    planned = planned_chances(first, [2.0, 2.0])
    mean = np.zeros(2)
    for p, drawn in samples(first):
        # The second batch may adapt to the first: if much was found, it is larger and has other chances.
        seen = Y[drawn].sum()
        second = inclusion_chances(np.where(Y.sum() > 2 * seen, W[0], W[1]) + 0.05, 1 + 0.3 * seen, 0.3, ~drawn)
        for q, again in samples(second):
            batches = [one(first, drawn), one(second, again, drawn)]
            gains = np.where(drawn | again, Y, np.nan)
            predicted = predict_batches(POOL, batches, planned, gains)
            mean += p * q * estimate_sums(W, correct_gains(batches, planned, gains, predicted)).value
    assert mean == pytest.approx(W @ Y, abs=1e-12)


def test_variance_estimate_is_unbiased_over_all_samples() -> None:
    first = np.array([0.5, 0.3, 0.8, 0.6, 0.4])
    planned = planned_chances(first, [2.0, 2.0])
    guess = np.tile(Y[::-1], (2, 1))
    square, variance = np.zeros(2), np.zeros(2)
    for p, drawn in samples(first):
        second = inclusion_chances(W[0] + Y[drawn].sum() * W[1] + 0.1, 1.5, 0.3, ~drawn)
        for q, again in samples(second):
            batches = [one(first, drawn), one(second, again, drawn)]
            found = estimate_sums(W, correct_gains(batches, planned, np.where(drawn | again, Y, np.nan), guess))
            square += p * q * (found.value - W @ Y) ** 2
            # The error is NaN if no passage of a system was judged.
            variance += p * q * np.nan_to_num(found.error) ** 2
    assert variance == pytest.approx(square, rel=1e-10)


def test_planned_batches_are_as_precise_as_one_combined_batch() -> None:
    size = np.array([0.5, 0.3, 0.8, 0.6, 0.4])
    planned = planned_chances(size, [1.5, 1.0, 1.0])
    total = 1 - np.prod(1 - planned, axis=0)
    square = np.zeros(2)
    for p, drawn in samples(planned[0]):
        for q, again in samples(np.where(drawn, 0.0, planned[1])):
            for r, last in samples(np.where(drawn | again, 0.0, planned[2])):
                batches = [
                    one(planned[0], drawn),
                    one(planned[1], again, drawn),
                    one(planned[2], last, drawn | again),
                ]
                gains = np.where(drawn | again | last, Y, np.nan)
                found = estimate_sums(W, correct_gains(batches, planned, gains, np.zeros((3, 5))))
                square += p * q * r * (found.value - W @ Y) ** 2
    assert square == pytest.approx(W**2 @ (Y**2 * (1 / total - 1)), rel=1e-9)


def test_fully_judged_scores_are_exact() -> None:
    everyone = ~NOBODY
    batch = one(np.ones(5), everyone)
    found = correct_gains([batch], np.ones((1, 5)), Y, np.full((1, 5), 9.0))
    told = estimate_sums(W, found)
    assert told.value == pytest.approx(W @ Y)
    assert told.width.tolist() == [0.0, 0.0]
    pairs = compare_all_systems(W, found)
    assert (pairs.p.tolist(), group_alike(told.value, pairs)) == ([0.0], [])


def test_system_without_judged_passages_has_unknown_interval() -> None:
    w = np.array(
        [[0.5, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0, 1.0]]
    )
    known = np.array([False, False, False, False, True])
    drawn = np.array([True, False, False, False, False])
    chance = np.array([0.5, 0.5, 0.5, 0.5, 0.0])
    gains = np.where(drawn | known, Y, np.nan)
    found = correct_gains(
        [one(chance, drawn, known)], planned_chances(chance, [2.0], known=known), gains, np.full((1, 5), 1.5)
    )
    told = estimate_sums(w, found)
    # System 0 has a judged passage, systems 1 and 2 have none, and system 3 is fully known.
    assert np.isnan([told.error, told.low, told.high]).tolist() == [[False, True, True, False]] * 3
    assert told.degrees[0] == 2 and told.width[0] > 0 and told.width[3] == 0
    bias = machine_bias(w, np.full(5, 3.0), found)
    assert np.isnan(bias.low).tolist() == np.isnan(bias.high).tolist() == [False, True, True, False]

    pairs = compare_all_systems(w, found)
    apart = dict(zip(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True), pairs.difference.low, strict=True))
    assert {pair for pair, low in apart.items() if np.isnan(low)} == {(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)}
    assert pairs.p[np.isnan(pairs.difference.low)].tolist() == [1.0] * 5
    assert pairs.difference.value == pytest.approx(w[pairs.first] @ found.gains - w[pairs.second] @ found.gains)
    assert not decide_better(w, found, 1, 3, 0.05).holds

    assert not decide_precise(w[1:], found, 100.0, 0.05).holds
    assert decide_best(w[1:], found, 0.05).systems == (0, 1, 2)
    machine = np.array([4.0, 3.0, 2.0, 1.0])
    order = composite_scores(machine, told.value, told.error)
    assert order.tolist() == composite_scores(machine, told.value, np.nan_to_num(told.error)).tolist()
    assert true_correlation(machine[1:], w[[1, 2, 2]], found).value is None


def test_difference_of_equal_rankings_is_known_without_judgments() -> None:
    found = correct_gains([one(np.full(5, 0.5), NOBODY)], np.full((1, 5), 0.5), np.full(5, np.nan), np.ones((1, 5)))
    pairs = compare_all_systems(W[[0, 0, 1]], found)
    assert np.isnan(pairs.difference.low).tolist() == [False, True, True]
    assert pairs.p.tolist() == [1.0, 1.0, 1.0]


def test_known_judgments_count_exactly_and_not_as_sample() -> None:
    known = np.array([True, False, False, False, True])
    drawn = np.array([False, True, False, False, False])
    chance = np.array([0.0, 0.5, 0.5, 0.5, 0.0])
    batches = [one(chance, drawn, known)]
    planned = planned_chances(chance, [1.5], known=known)
    found = correct_gains(batches, planned, np.where(known | drawn, Y, np.nan), np.zeros((1, 5)))
    assert found.gains.tolist() == [3.0, 0.0, 0.0, 0.0, 0.0]
    assert (found.judged, found.missed) == (1, 0)


def test_skipped_passages_widen_the_interval_within_worst_cases() -> None:
    n = 400
    rng = np.random.default_rng(0)
    y, w = rng.integers(0, 4, n).astype(float), np.full((1, n), 1 / n)
    chance = np.full(n, 0.5)
    drawn = rng.random(n) < chance
    skipped = drawn & (rng.random(n) < 0.2)
    batch = Batch(chance, drawn, drawn & ~skipped, np.zeros(n, bool))
    full = Batch(chance, drawn, drawn, np.zeros(n, bool))
    gains, mean = np.where(drawn & ~skipped, y, np.nan), np.full((1, n), 1.5)
    found = correct_gains([batch], chance[None], gains, mean)
    told = estimate_sums(w, found)
    assert found.missed == skipped.sum()
    assert told.low[0] < y.mean() < told.high[0]
    assert told.width[0] > 1.05 * estimate_sums(w, correct_gains([full], chance[None], y, mean)).width[0]
    low, high = missing_bounds([batch], chance[None], gains, mean, 0, 3)
    assert estimate_sums(w, low).value[0] < told.value[0] < estimate_sums(w, high).value[0]


def test_skipped_certain_passage_can_be_judged_later() -> None:
    skipped = np.arange(5) == 0
    chance = np.array([1.0, 0.5, 0.5, 0.5, 0.5])
    drawn = np.array([True, True, False, False, True])
    first = Batch(chance, drawn, drawn & ~skipped, NOBODY)
    known = first.judged
    second = Batch(np.where(known, 0.0, 0.5), skipped, skipped, known)
    gains = np.where(drawn, Y, np.nan)
    planned = np.array([chance, chance])
    predicted = predict_batches(POOL, [first, second], planned, gains)
    found = correct_gains([first, second], planned, gains, predicted)
    assert np.isfinite(found.gains).all() and np.isfinite(found.variances).all()
    assert (found.judged, found.missed) == (3, 0)
    only = correct_gains([second], planned, gains, predict_batches(POOL, [second], planned, gains))
    assert np.isfinite(only.gains).all()


def test_query_variance_gives_the_standard_error_of_the_mean() -> None:
    rng = np.random.default_rng(1)
    queries = np.repeat(np.arange(10), 4)
    y = rng.random(40)
    w = np.full((1, 40), 1 / 40)
    told = estimate_sums(w, CorrectedGains(y, np.zeros(40), 40, 0), variance="queries", queries=queries)
    means = y.reshape(10, 4).mean(axis=1)
    assert told.error[0] == pytest.approx(means.std(ddof=1) / np.sqrt(10))
    assert told.degrees.tolist() == [9.0]
    with refusal("single-query"):
        estimate_sums(w, CorrectedGains(y, np.zeros(40), 40, 0), variance="queries", queries=np.zeros(40, int))


def test_grader_bias_and_favoured_group_bias_are_found() -> None:
    w = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    machine, truth = np.array([3.0, 1.0]), np.array([2.0, 1.0])
    found = CorrectedGains(truth, np.array([0.01, 0.01]), 2, 0)
    assert machine_bias(w, machine, found).value == pytest.approx([1.0, 0.0, 0.5])
    contrast = group_bias(w, machine, found, np.array([True, False, False]))
    assert contrast.value == pytest.approx([0.75])
    assert contrast.low[0] > 0


def test_groups_are_maximal_and_may_overlap() -> None:
    found = CorrectedGains(np.array([0.0, 2.0, 4.0, 30.0]), np.full(4, 0.8), 4, 0)
    told = estimate_sums(np.eye(4), found)
    assert group_alike(told.value, compare_all_systems(np.eye(4), found), 0.2) == [[2, 1], [1, 0]]


def test_single_system_has_no_pairs() -> None:
    found = CorrectedGains(Y, np.full(5, 0.1), 5, 0)
    pairs = compare_all_systems(W[:1], found)
    assert len(pairs.p) == 0
    assert group_alike(estimate_sums(W[:1], found).value, pairs) == []


def test_contradictory_samples_are_refused() -> None:
    chance, drawn = np.full(5, 0.5), np.array([True, False, False, False, False])
    zeros, planned = np.zeros((1, 5)), chance[None]
    with refusal("batch-does-not-match"):
        correct_gains([one(np.zeros(5), drawn)], planned, Y, zeros)
