"""Conclusions from audits: label quality, calibration, stopping, planning and order, with a small simulation."""

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
    inclusion_chances,
    judgments_needed,
    judgments_to_separate,
    kendall_bounds,
    label_meanings,
    level_at,
    linear_measure,
    passage_importance,
    planned_chances,
    pool_of,
    predict_batches,
    quality_by_threshold,
    residual_spread,
    true_correlation,
)
from exam_workbench.measures.audit._audit_planning import spend_level
from exam_workbench.measures.audit._gain_estimates import folds_of, predict_gains
from exam_workbench.measures.audit._label_quality import estimate_confusion
from exam_workbench.measures.audit._sampling_design import Array, Weights
from tests.made.projects import examples


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


def test_confusion_table_keeps_the_known_label_counts() -> None:
    table = estimate_confusion(LABELS, SAID, SEEN, SEEN)
    assert table.counts.sum(axis=1) == pytest.approx([4, 4])
    assert table.counts == pytest.approx(np.array([[8, 4], [4, 8]]) / 3)
    assert table.judged.tolist() == [[2, 1], [1, 2]]
    rates = estimate_quality(LABELS, SAID, SEEN, SEEN, label_from=1, judgment_from=1)
    assert [rates.precision.value, rates.recall.value, rates.kappa.value] == pytest.approx([2 / 3, 2 / 3, 1 / 3])


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


def test_recall_is_undefined_without_judgments_of_low_labels() -> None:
    said = np.where(LABELS == 0, np.nan, SAID)
    rates = estimate_quality(LABELS, said, SEEN, SEEN, label_from=1, judgment_from=1)
    assert rates.recall.value is None
    assert rates.precision.value == pytest.approx(2 / 3)


def test_label_meanings_follow_the_judgments() -> None:
    rows = label_meanings(LABELS, SAID, SEEN, SEEN, (0.0, 1.0))
    assert [(row.label, row.passages, row.judged) for row in rows] == [(0, 4, 3), (1, 4, 3)]
    assert rows[1].mean == pytest.approx(2 / 3)
    assert sum(rate.value for rate in rows[0].chances.values()) == pytest.approx(1)
    assert all(rate.low < rate.value < rate.high for row in rows for rate in row.chances.values())
    unseen = label_meanings(LABELS, np.where(LABELS == 0, np.nan, SAID), SEEN, SEEN)[0]
    assert (unseen.judged, unseen.chances, unseen.mean) == (0, {}, None)


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
    levels = spend_level(0.05, 5)
    assert sum(levels) == pytest.approx(0.05)
    assert list(levels) == sorted(levels)
    assert spend_level(0.05, 4, power=1) == pytest.approx([0.0125] * 4)
    assert level_at(0.05, 5, 3) == levels[2]
    with pytest.raises(InputError):
        spend_level(0, 5)


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


def test_more_judgments_give_narrower_intervals() -> None:
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


def test_expected_width_matches_the_observed_width() -> None:
    batches, planned, gains, predicted = audited(1, batches=1, budget=80)
    spread = residual_spread(batches, planned, gains, predicted)
    assert spread is not None
    told = expected_width(WEIGHTS.w, passage_importance(WEIGHTS.w), spread, [80])[0]
    found = estimate_sums(WEIGHTS.w, correct_gains(batches, planned, gains, predicted))
    assert told.mean() == pytest.approx(found.width.mean(), rel=0.25)


def test_weights_of_zero_need_no_judgments() -> None:
    w = np.zeros((1, 4))
    chance = inclusion_chances(passage_importance(w), 2)
    batch = Batch(chance, np.zeros(4, bool), np.zeros(4, bool), np.zeros(4, bool))
    told = estimate_sums(w, correct_gains([batch], chance[None], np.full(4, np.nan), np.zeros((1, 4))))
    assert (told.value.tolist(), told.width.tolist()) == ([0.0], [0.0])
