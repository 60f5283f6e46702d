"""The numbers of a cascade: the bound, the promise over many samples, and what a cheap grader's ratings stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from core.errors import InputError
from core.measures.cascade import agreeing, confidence, draws, learn, priorities, promised, upper_bound, weight
from tests.made.projects import examples


@given(st.integers(1, 300), st.floats(0.01, 0.5), st.data())
@settings(max_examples=examples(30), deadline=None)
def test_the_bound_is_the_largest_share_that_is_still_believed(n: int, delta: float, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n - 1))
    bound = upper_bound(k, n, delta)
    assert binom.cdf(k, n, bound) == pytest.approx(delta, rel=1e-6)
    assert upper_bound(n, n, delta) == 1.0


def _world(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, priorities that say something of doubt, and who disagrees."""
    dice = np.random.default_rng(seed)
    weight = dice.pareto(1.5, 400) + 0.01
    doubt = dice.uniform(0, 0.6, 400)
    return weight, weight * doubt, dice.uniform(0, 1, 400) < doubt


@pytest.mark.parametrize("promise", ["all", "kept"])
def test_the_promise_is_broken_in_no_more_samples_than_it_says(promise: str) -> None:
    weight, priority, wrong = _world(1)
    alpha, delta, broken, kept = 0.15, 0.1, 0, 0
    for seed in range(300):
        drawn = draws(weight, 120, seed)
        chosen = promised(priority, drawn, ~wrong[drawn], alpha, delta, promise).chosen  # type: ignore[arg-type]
        stays = priority <= chosen.threshold
        of = weight.sum() if promise == "all" else weight[stays].sum()
        broken += bool(of) and weight[stays & wrong].sum() / of > alpha
        kept += stays.sum()
    # 300 samples: more than 46 broken ones would be a chance of one in a thousand under 10 %.
    assert broken <= 46
    assert kept > 0, "some passages are kept, or the promise is empty"


def test_what_has_no_cheap_label_is_never_kept_and_nothing_is_promised_without_a_sample() -> None:
    priority = np.array([np.inf, 0.1, 0.2])
    sure = promised(priority, np.repeat(np.arange(3), 50), np.ones(150, bool), 0.2, 0.1)
    assert sure.escalated == 1 and sure.chosen.kept == 2
    assert promised(priority, np.empty(0, int), np.empty(0, bool), 0.2, 0.1).escalated == 3


def test_draws_follow_the_weights_and_the_seed() -> None:
    weight = np.array([0.0, 3.0, 1.0])
    drawn = draws(weight, 4000, 7)
    assert np.array_equal(drawn, draws(weight, 4000, 7)) and set(drawn) == {1, 2}
    assert np.mean(drawn == 1) == pytest.approx(0.75, abs=0.03)
    with pytest.raises(InputError, match="weighs anything"):
        draws(np.zeros(3), 1, 0)


def test_ratings_of_another_scale_are_read_and_doubt_is_told() -> None:
    dice = np.random.default_rng(0)
    cheap = dice.uniform(0, 5, 600)
    true = np.clip(np.rint(cheap / 5 * 3 + dice.normal(0, 0.4, 600)), 0, 3).astype(int)
    model = learn(cheap[:300, None], true[:300], 3)
    given = model.labels(cheap[300:, None])
    assert np.all(np.diff(given[np.argsort(cheap[300:])]) >= 0), "a higher rating never means a lower label"
    chances = model.chances(cheap[300:, None])
    assert np.allclose(chances.sum(axis=1), 1)
    for agreement in ("label", "relevance"):
        told = confidence(chances, given, agreement, 2)  # type: ignore[arg-type]
        kept = agreeing(given, true[300:], agreement, 2)  # type: ignore[arg-type]
        assert told.mean() == pytest.approx(kept.mean(), abs=0.08), "it is as sure as it is right"
        assert told[kept].mean() > told[~kept].mean()
    # What was never seen stays possible, and what is missing is unknown.
    assert (learn(np.ones((5, 1)), np.zeros(5, int), 3).chances(np.ones((1, 1))) > 0).all()
    assert model.labels(np.array([[np.nan]])).tolist() == [-1]
    assert np.isinf(priorities(np.ones(1), confidence(model.chances(np.array([[np.nan]])), np.array([-1]), "label", 2)))
    with pytest.raises(InputError, match="both graders"):
        learn(np.full((2, 1), np.nan), np.zeros(2, int), 3)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=8))
@settings(max_examples=examples(40), deadline=None)
def test_a_passage_weighs_the_mean_difference_of_what_it_counts_for_two_systems(counts: list[float]) -> None:
    found = weight({one: counts.count(one) for one in set(counts) - {0.0}}, len(counts))
    values = np.array(counts)
    pairs = np.triu_indices(len(values), 1)
    assert found == pytest.approx(np.abs(values[:, None] - values[None, :])[pairs].mean(), abs=1e-12)
    assert weight({0.5: 1}, 1) == 0.5
