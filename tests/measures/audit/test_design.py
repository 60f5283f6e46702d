"""Sampling design: rank weights, inclusion chances and reproducible samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exam_workbench.audit._audit_plan import weights_from
from exam_workbench.errors import InputError
from exam_workbench.measures.audit import (
    batch_shares,
    draw_sample,
    inclusion_chances,
    linear_measure,
    passage_importance,
    planned_chances,
)
from tests.made.projects import examples

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


def test_only_unknown_passages_can_be_drawn() -> None:
    found = inclusion_chances(np.array([5.0, 1.0, 0.0]), 1.0, eligible=np.array([False, True, True]))
    assert found[0] == 0
    assert found[1] > found[2] > 0


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


def test_mean_sample_size_equals_the_budget() -> None:
    items = [("q", str(i)) for i in range(500)]
    chance = inclusion_chances(np.linspace(0.1, 3, 500), 80)
    count = [draw_sample(chance, seed, 1, items).sum() for seed in range(200)]
    # The standard error of the mean is below 8 / sqrt(200) = 0.6.
    assert np.mean(count) == pytest.approx(80, abs=2)


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
