"""Audits: sampling design, estimates by enumeration of all samples, label quality, stopping and planning."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exam_workbench.audit._audit_plan import weights_from
from exam_workbench.errors import InputError
from exam_workbench.measures.audit import (
    Batch,
    CorrectedGains,
    Pool,
    balanced_threshold,
    batch_shares,
    combined_weights,
    compare_all_systems,
    composite_scores,
    correct_gains,
    cut_points,
    decide_best,
    decide_better,
    decide_precise,
    draw_sample,
    estimate_quality,
    estimate_sums,
    expected_spread,
    expected_width,
    group_alike,
    group_bias,
    inclusion_chances,
    judgments_needed,
    judgments_to_separate,
    kendall_bounds,
    label_meanings,
    level_at,
    linear_measure,
    machine_bias,
    missing_bounds,
    passage_importance,
    planned_chances,
    pool_of,
    predict_batches,
    quality_by_threshold,
    residual_spread,
    true_correlation,
)
from exam_workbench.measures.audit._gain_estimates import folds_of, predict_gains
from exam_workbench.measures.audit._label_quality import estimate_confusion
from exam_workbench.measures.audit._sampling_design import Array, Flags, Weights
from tests.made.projects import examples
from tests.made.refusals import refusal

RANKS = [("A", "q1", "a", 1), ("A", "q1", "b", 2), ("A", "q2", "x", 1), ("B", "q1", "b", 1), ("B", "q1", "z", 2)]


def test_scores_are_weights_times_gains() -> None:
    weights = weights_from(RANKS, ["A", "B"], linear_measure("P@2"), 2)
    assert weights.items == (("q1", "a"), ("q1", "b"), ("q1", "z"), ("q2", "x"))
    assert (weights.w @ [1.0, 1.0, 0.0, 1.0]).tolist() == [0.75, 0.25]
    of_first = [line for line in RANKS if line[1] == "q1"]
    dcg = weights_from(of_first, ["A", "B"], linear_measure("DCG@2"), 1)
    whole = 1 + 1 / np.log2(3)
    assert (dcg.w @ [3.0, 2.0, 0.0]).tolist() == pytest.approx([(3 + 2 / np.log2(3)) / whole, 2 / whole])
    rbp = weights_from([*of_first, ("A", "q1", "c", 3)], ["A", "B"], linear_measure("RBP(p=0.8)@3"), 1)
    assert rbp.w[rbp.systems.index("A")] == pytest.approx([0.2, 0.16, 0.128, 0.0])


@pytest.mark.parametrize("name", ["nDCG@10", "AP", "P@0", "RBP@10", "RBP(p=0.0)@10", "DCG"])
def test_nonlinear_or_invalid_measure_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        linear_measure(name)


def test_equally_ranked_passage_does_not_matter_for_differences() -> None:
    w = np.array([[0.5, 0.3, 0.0], [0.5, 0.0, 0.3]])
    assert passage_importance(w)[0] > passage_importance(w)[1]
    assert passage_importance(w, "differences") == pytest.approx([0.0, 0.3, 0.3])


sizes = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 10)), min_size=1, max_size=40)


@settings(max_examples=examples(150), deadline=None)
@given(sizes, st.floats(0.05, 50), st.floats(0.01, 1))
def test_inclusion_chances_sum_to_the_budget_within_bounds(size: list[float], budget: float, floor: float) -> None:
    found = inclusion_chances(np.array(size), budget, floor)
    total = min(budget, len(size))
    assert found.sum() == pytest.approx(total, rel=1e-6)
    assert found.max() <= 1
    assert found.min() >= floor * total / len(size) * (1 - 1e-9)
    assert np.all(np.diff(found[np.argsort(size, kind="stable")]) >= -1e-9)


def test_sample_depends_on_seed_and_ids_not_row_order() -> None:
    items = [(f"q{i % 7}", f"p{i}") for i in range(300)]
    chance = np.linspace(0.05, 0.9, 300)
    mixed = np.random.default_rng(3).permutation(300)
    drawn = draw_sample(chance, "a seed", 1, items)
    again = draw_sample(chance[mixed], "a seed", 1, [items[i] for i in mixed])
    assert again.tolist() == drawn[mixed].tolist()
    # These positions must be the same on every machine.
    assert np.flatnonzero(draw_sample(np.full(12, 0.4), 17, 2, items[:12])).tolist() == [0, 1, 3, 6, 8, 10]
    assert draw_sample(chance, "another seed", 1, items).tolist() != drawn.tolist()
    assert draw_sample(chance, "a seed", 2, items).tolist() != drawn.tolist()


def test_sample_has_the_budgeted_size_and_no_known_passages() -> None:
    items = [("q", str(i)) for i in range(500)]
    chance = inclusion_chances(np.linspace(0.1, 3, 500), 80)
    count = [draw_sample(chance, seed, 1, items).sum() for seed in range(200)]
    # The standard error of the mean is below 8 / sqrt(200) = 0.6.
    assert np.mean(count) == pytest.approx(80, abs=2)
    found = inclusion_chances(np.array([5.0, 1.0, 0.0]), 1.0, eligible=np.array([False, True, True]))
    assert found[0] == 0
    assert found[1] > found[2] > 0


@settings(max_examples=examples(60), deadline=None)
@given(sizes, st.lists(st.floats(0.5, 15), min_size=1, max_size=5))
def test_batch_shares_of_every_passage_sum_to_one(size: list[float], budgets: list[float]) -> None:
    planned = planned_chances(np.array(size), budgets)
    found = batch_shares(planned)
    assert found.min() >= 0
    assert found.sum(axis=0) == pytest.approx(np.ones(len(size)))
    certain = (planned >= 1).any(axis=0)
    assert found[np.argmax(planned >= 1, axis=0), np.arange(len(size))][certain] == pytest.approx(1)


def test_first_batch_does_not_depend_on_later_batches() -> None:
    size = np.linspace(0, 2, 30)
    assert planned_chances(size, [5.0] * 2)[0] == pytest.approx(planned_chances(size, [5.0] * 6)[0])


NOBODY = np.zeros(5, bool)
Y = np.array([3.0, 0.0, 1.0, 2.0, 0.0])
W = np.array([[0.4, 0.3, 0.0, 0.2, 0.1], [0.0, 0.2, 0.5, 0.1, 0.3]])
X = np.array([[1.0], [-1.0], [0.0], [1.0], [-1.0]])
ITEMS = [("q", f"p{i}") for i in range(5)]
SMALL = Pool(X, folds_of(ITEMS, 3), np.array([0, 0, 0, 1, 1]))


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


def test_two_batches_and_their_variance_are_unbiased_if_the_second_adapts(few: None) -> None:
    first = np.array([0.5, 0.3, 0.8, 0.6, 0.4])
    planned = planned_chances(first, [2.0, 2.0])
    guess = np.tile(Y[::-1], (2, 1))
    mean, square, variance = np.zeros(2), np.zeros(2), np.zeros(2)
    for p, drawn in samples(first):
        # The second batch may adapt to the first: if much was found, it is larger and has other chances.
        seen = Y[drawn].sum()
        second = inclusion_chances(np.where(Y.sum() > 2 * seen, W[0], W[1]) + 0.05, 1 + 0.3 * seen, 0.3, ~drawn)
        for q, again in samples(second):
            batches = [one(first, drawn), one(second, again, drawn)]
            gains = np.where(drawn | again, Y, np.nan)
            predicted = predict_batches(SMALL, batches, planned, gains)
            mean += p * q * estimate_sums(W, correct_gains(batches, planned, gains, predicted)).value
            found = estimate_sums(W, correct_gains(batches, planned, gains, guess))
            square += p * q * (found.value - W @ Y) ** 2
            # The error is NaN if no passage of a system was judged.
            variance += p * q * np.nan_to_num(found.error) ** 2
    assert mean == pytest.approx(W @ Y, abs=1e-12)
    assert variance == pytest.approx(square, rel=1e-10)


def test_planned_batches_are_as_precise_as_one_combined_batch() -> None:
    size = np.array([0.5, 0.3, 0.8, 0.6, 0.4])
    planned = planned_chances(size, [1.5, 1.0, 1.0])
    total = 1 - np.prod(1 - planned, axis=0)
    square = np.zeros(2)
    for p, drawn in samples(planned[0]):
        for q, again in samples(np.where(drawn, 0.0, planned[1])):
            for r, last in samples(np.where(drawn | again, 0.0, planned[2])):
                batches = [one(planned[0], drawn), one(planned[1], again, drawn), one(planned[2], last, drawn | again)]
                gains = np.where(drawn | again | last, Y, np.nan)
                found = estimate_sums(W, correct_gains(batches, planned, gains, np.zeros((3, 5))))
                square += p * q * r * (found.value - W @ Y) ** 2
    assert square == pytest.approx(W**2 @ (Y**2 * (1 / total - 1)), rel=1e-9)


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


def test_error_is_unknown_if_judgments_tell_nothing_about_a_part() -> None:
    drawn = np.array([True, False, False, False, False])
    gains, predicted = np.where(drawn, Y, np.nan), np.full((1, 5), 1.5)
    w = np.array([[0.5, 0.5, 0.0, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0, 0.0]])
    chance = np.full(5, 0.5)
    sampled = correct_gains([one(chance, drawn)], chance[None], gains, predicted)
    assert not np.isnan(estimate_sums(w, sampled).low).any()
    # Both systems rank the judged passage equally, so their difference rests on others.
    assert np.isnan(compare_all_systems(w, sampled).difference.low).all()
    # A passage that is drawn in any case shows nothing about the error of the others.
    certain = np.where(drawn, 1.0, 0.5)
    found = correct_gains([one(certain, drawn)], certain[None], gains, predicted)
    assert np.isnan(estimate_sums(w, found).low).all()


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
    predicted = predict_batches(SMALL, [first, second], planned, gains)
    found = correct_gains([first, second], planned, gains, predicted)
    assert np.isfinite(found.gains).all() and np.isfinite(found.variances).all()
    assert (found.judged, found.missed) == (3, 0)
    only = correct_gains([second], planned, gains, predict_batches(SMALL, [second], planned, gains))
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


def test_groups_are_maximal_and_a_single_system_has_none() -> None:
    found = CorrectedGains(np.array([0.0, 2.0, 4.0, 30.0]), np.full(4, 0.8), 4, 0)
    told = estimate_sums(np.eye(4), found)
    assert group_alike(told.value, compare_all_systems(np.eye(4), found), 0.2) == [[2, 1], [1, 0]]
    found = CorrectedGains(Y, np.full(5, 0.1), 5, 0)
    pairs = compare_all_systems(W[:1], found)
    assert len(pairs.p) == 0
    assert group_alike(estimate_sums(W[:1], found).value, pairs) == []
    assert compare_all_systems(W[[0, 0]], found).p.tolist() == [1.0], "identical systems"


def test_contradictory_samples_are_refused() -> None:
    chance, drawn = np.full(5, 0.5), np.array([True, False, False, False, False])
    zeros, planned = np.zeros((1, 5)), chance[None]
    with refusal("batch-does-not-match"):
        correct_gains([one(np.zeros(5), drawn)], planned, Y, zeros)


def board(seed: int = 0) -> tuple[Weights, Array, dict[str, Array]]:
    """Return six systems over 20 queries, gains from 0 to 3, and noisy machine labels."""
    rng = np.random.default_rng(seed)
    passages = [f"p{i}" for i in range(15)]
    gain = {(f"q{q}", p): float(rng.integers(0, 4)) for q in range(20) for p in passages}
    runs = {
        f"s{s}": {
            f"q{q}": sorted(passages, key=lambda p, s=s, q=q: -gain[f"q{q}", p] + (0.5 + s) * rng.normal())
            for q in range(20)
        }
        for s in range(6)
    }
    ranks = [
        (run, query, passage, rank)
        for run, ranking in runs.items()
        for query, ranked in ranking.items()
        for rank, passage in enumerate(ranked[:5], 1)
    ]
    weights = weights_from(ranks, list(runs), linear_measure("DCG@5"), 20)
    gains = np.array([gain[item] for item in weights.items])
    label = np.clip(np.round(gains + rng.normal(0, 1, len(gains))), 0, 3)
    return weights, gains, {"label": np.where(rng.random(len(gains)) < 0.1, np.nan, label)}


WEIGHTS, GAINS, COLUMNS = board()
POOL = pool_of(WEIGHTS, COLUMNS)


def audited(seed: int, batches: int = 2, budget: float = 60) -> tuple[list[Batch], Array, Array, Array]:
    """Return adaptive batches, their plan, the revealed gains, and the predictions."""
    size, n = passage_importance(WEIGHTS.w), len(GAINS)
    planned = planned_chances(size, [budget / batches] * batches)
    known, spread, gains = np.zeros(n, bool), np.ones(n), np.full(n, np.nan)
    done: list[Batch] = []
    for t in range(batches):
        chance = inclusion_chances(size * spread, budget / batches, eligible=~known)
        drawn = draw_sample(chance, seed, t + 1, WEIGHTS.items)
        done.append(Batch(chance, drawn, drawn, known))
        known = known | drawn
        gains[drawn] = GAINS[drawn]
        predicted = predict_batches(POOL, done, planned, gains)
        spread = expected_spread(POOL, done, planned, gains, predicted)
    return done, planned, gains, predicted


def test_intervals_have_nominal_coverage() -> None:
    truth = WEIGHTS.w @ GAINS
    label = COLUMNS["label"]
    whole = estimate_quality(label, GAINS, np.ones(len(GAINS)), np.zeros(len(GAINS)), label_from=2, judgment_from=2)
    held, shift = [], []
    for seed in range(80):
        batches, planned, gains, predicted = audited(seed)
        found = correct_gains(batches, planned, gains, predicted)
        told, pairs = estimate_sums(WEIGHTS.w, found), compare_all_systems(WEIGHTS.w, found)
        apart = truth[pairs.first] - truth[pairs.second]
        weight, spread = combined_weights(batches, batch_shares(planned))
        rates = estimate_quality(label, gains, weight, spread, label_from=2, judgment_from=2)
        shift.append(told.value - truth)
        held.append(
            (
                ((told.low <= truth) & (truth <= told.high)).mean(),
                ((pairs.difference.low <= apart) & (apart <= pairs.difference.high)).mean(),
                np.mean(
                    [
                        getattr(rates, name).low <= getattr(whole, name).value <= getattr(rates, name).high
                        for name in ("precision", "recall", "accuracy", "kappa", "prevalence")
                    ]
                ),
            )
        )
    scores, differences, labels = np.mean(held, axis=0)
    assert 0.91 <= scores <= 0.98
    assert 0.91 <= differences <= 0.98
    assert 0.92 <= labels <= 0.995
    # Three standard errors of the mean over the audits.
    assert np.all(np.abs(np.mean(shift, axis=0)) < 3 * np.std(shift, axis=0) / math.sqrt(80) + 1e-9)


def test_predictions_do_not_use_the_judgment_that_corrects_them() -> None:
    learnt = np.ones(len(GAINS), bool)
    before = predict_gains(POOL, GAINS, learnt, np.ones(len(GAINS)))
    for i in (0, 7, 40):
        changed = GAINS.copy()
        changed[i] = 3 - changed[i]
        after = predict_gains(POOL, changed, learnt, np.ones(len(GAINS)))
        assert after[POOL.folds == POOL.folds[i]].tolist() == before[POOL.folds == POOL.folds[i]].tolist()
        assert not np.allclose(after, before)


def test_missing_features_are_not_zeros_and_few_judgments_give_means() -> None:
    rng = np.random.default_rng(0)
    n = 400
    label = rng.integers(0, 4, n).astype(float)
    gains = np.where(np.arange(n) % 4 == 0, 2.5, label)
    missing = np.where(np.arange(n) % 4 == 0, np.nan, label)
    items = [("q", str(i)) for i in range(n)]
    weights = Weights(("s",), tuple(items), np.full((1, n), 1 / n), 1)
    found = predict_gains(pool_of(weights, {"label": missing}), gains, np.ones(n, bool), np.ones(n))
    assert np.abs(found - gains).max() < 0.15
    few = np.arange(n) < 10
    assert np.unique(predict_gains(pool_of(weights, {}), gains, few, np.ones(n)).round(9)).size <= 5
    nobody = predict_gains(POOL, GAINS, np.zeros(len(GAINS), bool), np.ones(len(GAINS)))
    assert nobody.tolist() == [0.0] * len(GAINS)


def test_expected_spread_follows_the_residuals() -> None:
    n = 300
    noisy = np.arange(n) % 2 == 0
    gains = np.where(noisy, np.random.default_rng(0).normal(0, 2, n), 0.5)
    x = np.where(noisy, 1.0, -1.0)[:, None]
    pool = Pool(x, folds_of([("q", str(i)) for i in range(n)]), np.zeros(n, np.int64))
    batch = Batch(np.full(n, 0.5), np.arange(n) % 3 > 0, np.arange(n) % 3 > 0, np.zeros(n, bool))
    planned, predicted = np.full((1, n), 0.5), np.zeros((1, n))
    found = expected_spread(pool, [batch], planned, gains, predicted)
    assert found[noisy].min() > 1.5 * found[~noisy].max()
    spread = residual_spread([batch], planned, gains, predicted)
    assert spread == pytest.approx(np.sqrt((gains[batch.judged] ** 2).mean()))
    nobody = Batch(batch.chances, np.zeros(n, bool), np.zeros(n, bool), np.zeros(n, bool))
    assert residual_spread([nobody], planned, gains, predicted) is None
    assert expected_spread(pool, [nobody], planned, gains, predicted).tolist() == [1.0] * n


def test_composite_scores_weigh_machine_and_audit_by_error() -> None:
    machine, scores = np.array([0.9, 0.5, 0.7]), np.array([0.4, 0.5, 0.3])
    assert composite_scores(machine, scores, np.zeros(3)) == pytest.approx(scores)
    unsure = composite_scores(machine, scores, np.full(3, 9.0))
    assert unsure == pytest.approx(machine + (scores - machine).mean())
    assert composite_scores(machine[:1], scores[:1], np.array([0.2])) == pytest.approx([0.4])


def test_true_correlation_removes_noise_within_valid_bounds() -> None:
    truth = WEIGHTS.w @ GAINS
    machine = WEIGHTS.w @ np.nan_to_num(COLUMNS["label"])
    r = np.corrcoef(machine, truth)[0, 1]
    signs = np.sign(machine[:, None] - machine) * np.sign(truth[:, None] - truth)
    tau = signs[np.triu_indices(6, 1)].mean()
    found = [correct_gains(*audited(seed, batches=1, budget=120)) for seed in range(40)]
    told = [true_correlation(machine, WEIGHTS.w, one) for one in found]
    assert np.mean([one.low <= r <= one.high for one in told]) >= 0.9
    for one in found:
        low, high = kendall_bounds(machine, compare_all_systems(WEIGHTS.w, one))
        assert low <= tau <= high
    exact = CorrectedGains(GAINS, np.zeros(len(GAINS)), len(GAINS), 0)
    all_ = true_correlation(machine, WEIGHTS.w, exact)
    assert (all_.low, all_.value, all_.high) == pytest.approx((r, r, r))
    assert kendall_bounds(machine, compare_all_systems(WEIGHTS.w, exact)) == pytest.approx((tau, tau))
    noise = CorrectedGains(GAINS, np.full(len(GAINS), 1e4), 10, 0)
    assert true_correlation(machine, WEIGHTS.w, noise).value is None
    assert math.isnan(kendall_bounds(machine[:1], compare_all_systems(WEIGHTS.w[:1], exact))[0])


LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 1, np.nan])
SAID = np.array([0, 0, 1, np.nan, 1, 1, 0, np.nan, 1])
SEEN = np.where(np.isnan(SAID), 0.0, 4 / 3)


def test_confusion_table_keeps_label_counts_and_meanings_follow_judgments() -> None:
    table = estimate_confusion(LABELS, SAID, SEEN, SEEN)
    assert table.counts.sum(axis=1) == pytest.approx([4, 4])
    assert table.counts == pytest.approx(np.array([[8, 4], [4, 8]]) / 3)
    assert table.judged.tolist() == [[2, 1], [1, 2]]
    rates = estimate_quality(LABELS, SAID, SEEN, SEEN, label_from=1, judgment_from=1)
    assert [rates.precision.value, rates.recall.value, rates.kappa.value] == pytest.approx([2 / 3, 2 / 3, 1 / 3])
    said = np.where(LABELS == 0, np.nan, SAID)
    rates = estimate_quality(LABELS, said, SEEN, SEEN, label_from=1, judgment_from=1)
    assert rates.recall.value is None
    assert rates.precision.value == pytest.approx(2 / 3)
    rows = label_meanings(LABELS, SAID, SEEN, SEEN, (0.0, 1.0))
    assert [(row.label, row.passages, row.judged) for row in rows] == [(0, 4, 3), (1, 4, 3)]
    assert rows[1].mean == pytest.approx(2 / 3)
    assert sum(rate.value for rate in rows[0].chances.values()) == pytest.approx(1)
    assert all(rate.low < rate.value < rate.high for row in rows for rate in row.chances.values())
    unseen = label_meanings(LABELS, np.where(LABELS == 0, np.nan, SAID), SEEN, SEEN)[0]
    assert (unseen.judged, unseen.chances, unseen.mean) == (0, {}, None)


def test_plain_sample_gets_the_clopper_pearson_interval() -> None:
    n = 50
    said = np.repeat([1.0, 0.0], [30, 20])
    labels, ones = np.ones(n), np.ones(n)
    rate = estimate_quality(labels, said, ones, ones, label_from=1, judgment_from=1).precision
    assert (rate.low, rate.high) == pytest.approx((0.4518, 0.7359), abs=5e-4)
    exact = estimate_quality(labels, said, ones, np.zeros(n), label_from=1, judgment_from=1).precision
    assert (exact.low, exact.value, exact.high) == (0.6, 0.6, 0.6)
    agreed = estimate_quality(labels, np.ones(n), ones, ones, label_from=1, judgment_from=1)
    assert 0.9 < agreed.precision.low < 0.95
    assert agreed.precision.high == 1
    assert agreed.kappa.value is None


def test_balanced_min_rating_matches_the_number_of_relevant_passages() -> None:
    rating = np.repeat([0.0, 1, 2, 3, 4, 5], 20)
    said = (np.arange(120) % 20 < np.repeat([0, 2, 6, 12, 18, 20], 20)).astype(float)
    ones = np.ones(120)
    found = quality_by_threshold(rating, said, ones, ones, judgment_from=1)
    assert [one.rating for one in found] == [1, 2, 3, 4, 5]
    recalls = [one.quality.recall.value for one in found]
    assert recalls == sorted(recalls, reverse=True)
    chosen = balanced_threshold(found)
    assert chosen is not None and chosen.rating == 3
    assert balanced_threshold([]) is None


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2), st.floats(0.5, 3)), min_size=1, max_size=8))
def test_cut_points_minimise_misplacement(rows: list[tuple[int, int, float]]) -> None:
    scores, said, weight = (np.array(column, float) for column in zip(*rows, strict=True))

    def loss(cuts: tuple[float, ...]) -> float:
        levels = np.sum(scores[:, None] >= np.array(cuts), axis=1)
        return float((weight * np.abs(levels - said)).sum())

    found = cut_points(scores, said, weight, (1.0, 2.0))
    assert found[0] <= found[1]
    places = [*(i - 0.5 for i in range(8)), np.inf]
    assert loss(found) <= min(loss(cuts) for cuts in product(places, places) if cuts[0] <= cuts[1]) + 1e-6


def test_spent_levels_sum_to_the_total_level() -> None:
    levels = [level_at(0.05, 5, look) for look in range(1, 6)]
    assert sum(levels) == pytest.approx(0.05)
    assert levels == sorted(levels)
    assert [level_at(0.05, 4, look, power=1) for look in range(1, 5)] == pytest.approx([0.0125] * 4)
    with pytest.raises(InputError):
        level_at(0, 5, 1)


def test_conclusions_hold_only_with_sufficient_evidence() -> None:
    w = np.eye(3)
    sure = CorrectedGains(np.array([3.0, 2.0, 1.0]), np.full(3, 0.01), 100, 0)
    unsure = CorrectedGains(np.array([3.0, 2.0, 1.0]), np.full(3, 0.5), 100, 0)
    assert (decide_better(w, sure, 1, 0, 0.01).holds, decide_better(w, sure, 1, 0, 0.01).systems) == (True, (0,))
    assert not decide_better(w, unsure, 1, 0, 0.01).holds
    assert decide_best(w, sure, 0.01).systems == (0,)
    assert decide_best(w, unsure, 0.01).systems == (0, 1, 2)
    assert decide_best(w[:1], unsure, 0.01).holds
    assert not decide_precise(w, sure, 0.1, 0.05).holds
    assert decide_precise(w, sure, 20.0, 0.05).holds
    certain = CorrectedGains(sure.gains, np.zeros(3), 100, 0)
    assert decide_precise(w, certain, 0.0, 0.05).holds
    assert not decide_better(w, CorrectedGains(np.ones(3), np.zeros(3), 3, 0), 0, 1, 0.05).holds


def test_intervals_narrow_with_judgments_as_expected() -> None:
    size = passage_importance(WEIGHTS.w)
    widths = expected_width(WEIGHTS.w, size, 1.0, [20, 50, 100, len(size)])
    assert np.all(np.diff(widths, axis=0) < 0)
    assert widths[-1] == pytest.approx(np.zeros(6), abs=1e-9)
    plain = expected_width(WEIGHTS.w, np.ones(len(size)), 1.0, [50], floor=1.0)
    assert plain.mean() > widths[1].mean()
    need = judgments_needed(WEIGHTS.w, size, 1.0, float(widths[1].max()))
    assert need == pytest.approx(50, abs=1)
    assert judgments_needed(WEIGHTS.w, size, 1.0, 0.0) == len(size)
    row = WEIGHTS.w[0] - WEIGHTS.w[5]
    told = judgments_to_separate(row, size, 1.0, 0.3)
    assert told < judgments_to_separate(row, size, 1.0, 0.15)
    batches, planned, gains, predicted = audited(1, batches=1, budget=80)
    spread = residual_spread(batches, planned, gains, predicted)
    assert spread is not None
    told = expected_width(WEIGHTS.w, passage_importance(WEIGHTS.w), spread, [80])[0]
    found = estimate_sums(WEIGHTS.w, correct_gains(batches, planned, gains, predicted))
    assert told.mean() == pytest.approx(found.width.mean(), rel=0.25)
    w = np.zeros((1, 4))
    chance = inclusion_chances(passage_importance(w), 2)
    batch = Batch(chance, np.zeros(4, bool), np.zeros(4, bool), np.zeros(4, bool))
    told = estimate_sums(w, correct_gains([batch], chance[None], np.full(4, np.nan), np.zeros((1, 4))))
    assert (told.value.tolist(), told.width.tolist()) == ([0.0], [0.0])
