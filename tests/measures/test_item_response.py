"""Item response: identities of the model, its gradient, recovery of parameters, and invariances."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exam_workbench.choices import EstimatorName, ResponseModel
from exam_workbench.measures._means_and_tests import wilson_interval
from exam_workbench.measures.item_response import (
    ESTIMATORS,
    IntervalEstimate,
    analyse_responses,
    answer_information,
    answer_probability,
    information_by_category,
    mean_information,
)
from exam_workbench.measures.item_response._exam_analysis import level_estimates, student_abilities
from exam_workbench.measures.item_response._fit_statistics import (
    bias_corrected_interval,
    bootstrap_items,
    fit_statistics,
    item_errors,
    item_rmse,
)
from exam_workbench.measures.item_response._response_fits import Objective, fit_responses, log_likelihood
from exam_workbench.measures.item_response._response_models import (
    Items,
    factor_design,
    flat_design,
    most_informative_ability,
)
from tests.made.answers import ADDED, correlation, exam, students
from tests.made.projects import examples
from tests.made.refusals import refusal

PLAIN = Items(np.array([1.0]), np.array([0.0]), np.array([0.25]))


def item(d: float, b: float, g: float) -> Items:
    return Items(np.array([d]), np.array([b]), np.array([g]))


def test_information_matches_values_computed_by_hand() -> None:
    assert answer_information(np.array([0.0]), PLAIN)[0, 0] == pytest.approx(0.15)
    assert most_informative_ability(PLAIN)[0] == pytest.approx(0.312, abs=5e-4)
    assert answer_information(most_informative_ability(PLAIN), PLAIN)[0, 0] == pytest.approx(0.1547, abs=5e-5)


@settings(max_examples=examples(60), deadline=None)
@given(st.floats(0.05, 4), st.floats(-4, 4), st.floats(0, 0.5), st.floats(-6, 6))
def test_information_is_squared_slope_over_variance_and_peaks(d: float, b: float, g: float, at: float) -> None:
    one, h = item(d, b, g), 1e-5
    low, mid, high = answer_probability(np.array([at - h, at, at + h]), one)[:, 0]
    told = answer_information(np.array([at]), one)[0, 0]
    # Near 1, a probability has too few digits left for a slope or a variance.
    if mid < 1 - 1e-6:
        assert told == pytest.approx(((high - low) / (2 * h)) ** 2 / (mid * (1 - mid)), rel=1e-4, abs=1e-8)
    assert told <= answer_information(most_informative_ability(one), one)[0, 0] * (1 + 1e-12)


def test_information_far_from_an_item_is_zero() -> None:
    sharp = Items(np.array([4.0, 4.0]), np.array([0.0, 0.0]), np.array([0.0, 0.25]))
    assert np.allclose(answer_information(np.array([-900.0, 900.0]), sharp), 0)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("model", get_args(ResponseModel))
def test_gradient_matches_finite_differences(model: ResponseModel, estimator: EstimatorName) -> None:
    rng = np.random.default_rng(3)
    made = exam(12, seed=2)
    made.responses[rng.random(made.responses.shape) < 0.2] = np.nan
    objective = Objective.from_responses(made.responses, made.design, model, ESTIMATORS[estimator])
    objective = replace(objective, weights=rng.integers(0, 3, 12).astype(float))
    low, high = objective.bounds
    inside = np.clip(low, -1, None) + rng.uniform(0.2, 0.8, len(low)) * (
        np.clip(high, None, 1.5) - np.clip(low, -1, None)
    )
    gradient = objective.value(inside)[1]
    h = 1e-5
    steps = h * np.eye(len(inside))
    by_hand = [(objective.value(inside + s)[0] - objective.value(inside - s)[0]) / (2 * h) for s in steps]
    assert np.allclose(gradient, by_hand, rtol=1e-6, atol=1e-5)


def test_objective_without_priors_is_the_log_likelihood_of_answers() -> None:
    made = exam(20)
    made.responses[:, 3] = np.nan
    made.responses[5] = np.nan
    objective = Objective.from_responses(made.responses, made.design, "3pl", ESTIMATORS["paper"])
    vector = objective.join(np.linspace(-1, 1, 13), made.items)
    parts, items = objective.split(vector)
    chances = answer_probability(made.design.matrix @ parts, items)
    by_hand = sum(
        np.log(p if r == 1 else 1 - p)
        for r, p in zip(made.responses.ravel(), chances.ravel(), strict=True)
        if not np.isnan(r)
    )
    assert objective.value(vector)[0] == pytest.approx(by_hand)
    assert log_likelihood(made.responses, chances) == pytest.approx(by_hand)


@pytest.mark.parametrize(("items", "ability", "b_low"), [(148, 0.97, 0.7), (515, 0.98, 0.7)])
def test_fit_recovers_abilities_and_item_parameters(items: int, ability: float, b_low: float) -> None:
    made = exam(items, seed=11)
    found = fit_responses(made.responses, made.design, starts=1)
    assert found.converged
    assert correlation(found.theta, made.theta) >= ability
    retrieval = found.parts[found.design.columns["retrieval"]]
    assert correlation(retrieval, np.array(list(ADDED["retrieval"].values()))) >= 0.97
    assert correlation(found.items.d, made.items.d) >= 0.25
    assert correlation(found.items.b, made.items.b) >= b_low
    told = fit_statistics(made.responses, found)
    assert 0.4 <= told.rmse.mean < told.baseline.mean <= 0.5
    assert told.held_out is not None and told.held_out_baseline is not None
    assert told.held_out < told.held_out_baseline
    assert told.aic == pytest.approx(2 * (3 * items + 11) - 2 * found.log_likelihood)


def test_paper_estimator_reports_parameters_at_its_bounds() -> None:
    made = exam(148, seed=5)
    found = fit_responses(made.responses, made.design, estimator="paper", starts=1)
    held = {kind: flags.mean() for kind, flags in found.at_bound.items()}
    assert 0.35 <= held["d"] <= 0.7 and 0.4 <= held["b"] <= 0.75 and 0.5 <= held["g"] <= 0.9
    low, high = ESTIMATORS["paper"].d
    assert np.isin(found.items.d[found.at_bound["d"]].round(5), [low, high]).all()
    assert np.isnan(item_errors(made.responses, found).d[found.at_bound["d"]]).all()
    assert correlation(found.theta, made.theta) >= 0.97


def test_order_of_examinees_and_items_does_not_change_the_fit() -> None:
    made = exam(60, seed=4)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(63), rng.permutation(60)
    factors = {name: [levels[i] for i in rows] for name, levels in students().items()}
    first = fit_responses(made.responses, made.design, starts=1)
    other = fit_responses(made.responses[np.ix_(rows, columns)], factor_design(factors), starts=1)
    assert np.allclose(other.theta, first.theta[rows], atol=2e-3)
    assert np.allclose(answer_probability(other.theta, other.items), first.chances[np.ix_(rows, columns)], atol=2e-3)


def test_constants_moved_between_factors_do_not_change_reports() -> None:
    made = exam(40)
    found = fit_responses(made.responses, made.design, starts=1)
    moved = found.parts.copy()
    moved[found.design.columns["llm"]] += 0.7
    moved[found.design.columns["icl"]] -= 0.7
    other = replace(found, parts=moved, theta=found.design.matrix @ moved)
    assert np.allclose(other.chances, found.chances)
    reported, level = level_estimates(made.responses, found)
    again, same = level_estimates(made.responses, other)
    assert level == pytest.approx(same)
    assert [row.ability.value for row in again] == pytest.approx([row.ability.value for row in reported])
    by_factor = [row.ability.value for row in reported if row.factor == "retrieval"]
    assert sum(by_factor) == pytest.approx(0) and reported[3].difference is None
    assert reported[9].difference is not None
    assert reported[9].difference.value == pytest.approx(by_factor[6] - by_factor[0])


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("model", get_args(ResponseModel))
def test_uniform_or_missing_responses_give_finite_numbers(model: ResponseModel, estimator: EstimatorName) -> None:
    made = exam(30, seed=8)
    answers = made.responses
    answers[0], answers[1] = 1, 0
    answers[:, 0], answers[:, 1], answers[:, 2], answers[2] = 1, 0, np.nan, np.nan
    flat = flat_design([str(i) for i in range(63)])
    for design in (made.design, flat):
        found = fit_responses(answers, design, model, estimator, starts=1)
        numbers = [found.theta, found.items.d, found.items.b, found.items.g, mean_information(found.items)]
        assert all(np.isfinite(values).all() for values in numbers)
        assert np.isfinite([found.log_likelihood, found.aic, found.objective]).all()
    assert found.theta[0] == found.theta.max() and found.theta[1] == found.theta.min()
    assert np.isnan(item_rmse(answers, found.chances)[2])
    unseen = student_abilities(answers, found, list("abc") + [""] * 60)[2]
    assert unseen.answered == 0 and unseen.accuracy is None and unseen.accuracy_error is None
    assert unseen.accuracy_interval is None


def test_missing_answers_are_not_wrong_answers() -> None:
    made = exam(80, seed=1)
    made.responses[0, made.responses[0] == 0] = np.nan
    flat = flat_design([str(i) for i in range(63)])
    as_missing = fit_responses(made.responses, flat, "2pl", starts=1).theta[0]
    as_wrong = fit_responses(np.nan_to_num(made.responses), flat, "2pl", starts=1).theta[0]
    assert as_missing > as_wrong + 0.5


def test_inseparable_factors_are_refused_by_name() -> None:
    everything = students()
    assert factor_design(everything).rank == 3 + 7 + 3 - 2
    tied = {"llm": ["A", "A", "B", "B", "C"], "retrieval": ["bm25", "dpr", "bm25", "dpr", "oracle"]}
    with refusal("factors-not-separable", "llm C", "retrieval oracle"):
        factor_design(tied)
    with refusal("factor-with-one-level", "icl", "0"):
        factor_design({"llm": ["A", "B"], "icl": ["0", "0"]})
    with refusal("students-without-factors"):
        factor_design({"llm": ["A", "B"], "icl": ["0"]})
    with refusal("students-without-factors"):
        factor_design({})


def test_exam_without_answers_is_refused() -> None:
    with refusal("no-answers"):
        fit_responses(np.full((3, 4), np.nan), flat_design(list("abc")))


def test_bootstrap_is_repeatable_and_gives_intervals() -> None:
    made = exam(60, seed=6)
    found = fit_responses(made.responses, made.design, starts=1)
    draws = bootstrap_items(made.responses, found, 12, seed=1)
    assert np.array_equal(draws.parts, bootstrap_items(made.responses, found, 12, seed=1).parts)
    rows, _ = level_estimates(made.responses, found, draws)
    for row in rows:
        assert row.ability.low is not None and row.ability.high is not None
        assert row.ability.low < row.ability.high
        assert row.difference is None or row.difference.low is not None
    wide = bias_corrected_interval(np.zeros(1), np.linspace(-1, 1, 201)[:, None])
    assert wide[0][0] == pytest.approx(-0.95, abs=0.01) and wide[1][0] == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize(
    "rows", [[[1, 0, 1]] * 3, [[1] * 4] * 5, [[1, 1, 1], [0, 0, 0], [1, 1, 1]], [[1] * 6, [0] * 6], [[1, 0, 1]]]
)
def test_identical_draws_give_no_interval(rows: list[list[int]]) -> None:
    names = [f"s{at}" for at in range(len(rows))]
    told = analyse_responses(names, [f"i{at}" for at in range(len(rows[0]))], np.array(rows, float), held_out=False)
    assert [(row.ability.low, row.ability.high) for row in told.students] == [(None, None)] * len(rows)
    assert any("interval" in remark for remark in told.remarks)


def test_levels_with_identical_answers_have_no_interval() -> None:
    table = (np.random.default_rng(0).random((6, 40)) < 0.6).astype(float)
    table[3:] = table[:3]
    factors = {f"s{at}": {"model": "abc"[at % 3], "icl": str(at // 3)} for at in range(6)}
    told = analyse_responses(
        list(factors), [f"i{at}" for at in range(40)], table, factors, bootstrap=20, held_out=False
    )
    assert [row.ability.low is None for row in told.components] == [False, False, False, True, True]
    assert told.components[-1].difference == IntervalEstimate(told.components[-1].difference.value)


def test_wilson_interval_matches_published_values() -> None:
    # Newcombe, Statistics in Medicine 17, 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for right, answered, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611),
                                       (1, 29, 0.0061, 0.1718), (4, 4, 0.5101, 1)):  # fmt: skip
        assert wilson_interval(right, answered) == pytest.approx((low, high), abs=5e-5)
    assert wilson_interval(0, 0) is None


def test_item_standard_errors_match_repeated_exams() -> None:
    made = exam(150, seed=3, model="2pl")
    rng = np.random.default_rng(0)
    chances = answer_probability(made.theta, made.items)
    fits = [
        fit_responses((rng.random(chances.shape) < chances).astype(float), made.design, "2pl", starts=1, seed=i)
        for i in range(8)
    ]
    seen = np.std([one.items.b for one in fits], axis=0).mean()
    said = np.mean([item_errors(made.responses, one).b.mean() for one in fits])
    assert 0.6 <= seen / said <= 1.3


def test_information_by_category_hides_categories_of_few_items() -> None:
    made = exam(12)
    categories = [["remember"] if i < 7 else ["apply", "apply"] if i < 11 else [] for i in range(12)]
    categories[0] = ["remember", "apply"]
    curves, few = information_by_category(made.items, categories)
    assert [(curve.name, curve.items) for curve in curves] == [("remember", 7), ("apply", 5)]
    assert curves[0].values == pytest.approx(mean_information(made.items.select(range(7))))
    assert information_by_category(made.items, categories, 6)[1] == {"apply": 5}
    assert few == {}
