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
    GRID,
    IntervalEstimate,
    analyse_responses,
    answer_information,
    answer_probability,
    design_of,
    fit_graded,
    fit_marginal,
    graded_information,
    improve_items,
    information_by_category,
    item_rest,
    mean_information,
    plant_faults,
)
from exam_workbench.measures.item_response._exam_analysis import level_estimates, student_abilities
from exam_workbench.measures.item_response._exam_improvement import FAULTS, link_scale
from exam_workbench.measures.item_response._fit_statistics import (
    bias_corrected_interval,
    bootstrap_items,
    fit_statistics,
    item_errors,
    item_rmse,
    item_worth,
)
from exam_workbench.measures.item_response._response_fits import (
    GradedItems,
    Objective,
    fit_responses,
    graded_chances,
    log_likelihood,
)
from exam_workbench.measures.item_response._response_models import (
    Items,
    factor_design,
    flat_design,
    most_informative_ability,
)
from tests.made.answers import ADDED, correlation, exam, students
from tests.made.projects import examples
from tests.made.refusals import mentions, refusal

PLAIN = Items(np.array([1.0]), np.array([0.0]), np.array([0.25]))


def item(d: float, b: float, g: float) -> Items:
    return Items(np.array([d]), np.array([b]), np.array([g]))


def test_information_matches_values_computed_by_hand() -> None:
    assert answer_information(np.array([0.0]), PLAIN)[0, 0] == pytest.approx(0.15)
    assert most_informative_ability(PLAIN)[0] == pytest.approx(0.312, abs=5e-4)
    assert answer_information(most_informative_ability(PLAIN), PLAIN)[0, 0] == pytest.approx(0.1547, abs=5e-5)
    sharp = Items(np.array([4.0, 4.0]), np.array([0.0, 0.0]), np.array([0.0, 0.25]))
    assert np.allclose(answer_information(np.array([-900.0, 900.0]), sharp), 0)
    d, b = np.array([0.7, 1.8]), np.array([-0.5, 1.2])
    at = np.linspace(-2, 2, 9)
    plain = answer_information(at, Items(d, b, np.zeros(2)))
    assert graded_information(at, GradedItems(d, b[:, None])) == pytest.approx(plain)
    assert graded_chances(at, GradedItems(d, np.sort(np.array([[0.0, 1.0], [-1.0, 2.0]])))).sum(
        axis=2
    ) == pytest.approx(1)


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


def test_constants_moved_between_factors_and_scales_do_not_change_reports() -> None:
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
    theta, items = link_scale(found, 3 * found.theta + 1)
    assert theta == pytest.approx(3 * found.theta + 1)
    assert answer_probability(theta, items) == pytest.approx(found.chances)
    assert mean_information(items, theta) * 9 == pytest.approx(mean_information(found.items, found.theta))
    level = replace(found, theta=np.zeros(63))
    assert link_scale(level, found.theta)[1].d == pytest.approx(found.items.d)


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


def test_inseparable_factors_and_empty_exams_are_refused() -> None:
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


NAMES = [f"item {i:03}" for i in range(148)]
BAD = 22


def with_bad_items(seed: int) -> np.ndarray:
    """Return answers to 148 items, the first 22 of which are answered at random."""
    made = exam(148, seed)
    rng = np.random.default_rng(1000 + seed)
    made.responses[:, :BAD] = rng.random((63, BAD)) < rng.uniform(0.25, 0.6, BAD)
    return made.responses


def test_each_item_fault_has_a_distinct_reason() -> None:
    made = exam(40, seed=2)
    faults = {
        "key": (made.theta < 0.2).astype(float),
        "easy": np.ones(63),
        "hopeless": np.zeros(63),
        "given away": np.tile([1.0, 0.0, 1.0], 21),
        "unanswered": np.full(63, np.nan),
    }
    reasons = set()
    for fault, answers in faults.items():
        made.responses[:, 0] = answers
        told = item_worth(made.responses, fit_responses(made.responses, made.design, starts=1), NAMES[:40])[0]
        reasons.add(told.reason)
        assert (told.item_rest is None) == (fault in ("easy", "hopeless", "unanswered"))
        assert (told.accuracy is None) == (fault == "unanswered")
    assert len(reasons - {""}) == len(faults)


def test_planted_faults_are_found_without_changing_the_answers() -> None:
    made = exam(148, seed=4)
    made.responses[:9, :40] = np.nan
    before = made.responses.copy()
    found = {row.fault: row for row in plant_faults(made.responses, made.design, NAMES)}
    assert np.array_equal(before, made.responses, equal_nan=True) and list(found) == list(FAULTS)
    for row in found.values():
        # By chance, the lowest 30 of 148 items would include 15 * 30 / 148 = 3.04 of the 15 faults.
        assert (row.items, row.planted, row.last) == (148, 15, 30)
        assert max(row.found.values()) > 2 * 3.04, row.fault
    at_random = found["answered at random"].found
    assert at_random["information"] > 9 and at_random["item-rest"] > 8
    # The paper's criterion misses wrong keys; the other two find most of them.
    wrong = found["key wrong"].found
    assert wrong["d"] < 3 and wrong["information"] > 11 and wrong["item-rest"] > 11


def test_item_rest_is_the_correlation_with_the_other_answers() -> None:
    answers = exam(12, seed=1).responses
    answers[4, 3] = answers[9, 0] = np.nan
    for i, found in enumerate(item_rest(answers)):
        seen = ~np.isnan(answers[:, i])
        rest = np.nanmean(np.delete(answers[seen], i, axis=1), axis=1)
        assert found == pytest.approx(correlation(answers[seen, i], rest))


def test_exam_is_shortened_stepwise_without_changing_answers() -> None:
    answers = with_bad_items(5)
    before = answers.copy()
    found = improve_items(answers, exam(148).design, NAMES, drop=20, steps=2)
    assert np.array_equal(answers, before)
    assert [step.items for step in found.steps] == [148, 118, 94]
    assert [len(step.dropped) for step in found.steps] == [30, 24, 0]
    assert len({row.item for row in found.retire}) == 54 and found.stopped == ""
    assert found.steps[0].ranking == 1 and (found.steps[-1].ranking or 0) > 0.9
    # On a common scale, the remaining items are more informative, because they were chosen for it.
    assert found.steps[-1].information > found.steps[0].information
    assert found.steps[0].curve.shape == GRID.shape
    assert found.held_out is not None and found.held_out.students == 32
    assert found.held_out.dropped == 54 and (found.held_out.ranking or 0) > 0.8
    lowest = item_worth(answers, fit_responses(answers, exam(148).design), NAMES)
    assert {row.item for row in found.steps[0].dropped} == {
        row.item for row in sorted(lowest, key=lambda row: row.information)[:30]
    }


def test_few_or_equal_items_and_few_examinees_limit_shortening() -> None:
    made = exam(36, seed=4)
    found = improve_items(made.responses, made.design, NAMES[:36], drop=10, steps=9, criterion="d")
    assert found.steps[-1].items == 32 and len(found.retire) == 4
    assert mentions(found.stopped, "32")
    short = improve_items(made.responses[:, :20], made.design, NAMES[:20])
    assert short.retire == [] and mentions(short.stopped, "20")
    made = exam(40, seed=4)
    answers = np.repeat(made.responses[:, :1], 40, axis=1)
    names = [f"item {i:03}" for i in reversed(range(40))]
    dropped = improve_items(answers, made.design, names, 10, 1, "item-rest").retire
    assert [row.item for row in dropped] == ["item 000", "item 001", "item 002", "item 003"]
    made = exam(40)
    few = made.responses[:8]
    assert improve_items(few, design_of(list("abcdefgh"), None), NAMES[:40], steps=1).held_out is None


@pytest.mark.parametrize("drop", [0.0, -1.0, 100.0])
def test_drop_share_of_nothing_or_everything_is_refused(drop: float) -> None:
    made = exam(40)
    with refusal("share-out-of-range"):
        improve_items(made.responses, made.design, NAMES[:40], drop)


def test_analysis_record_has_all_results() -> None:
    made = exam(30, seed=6)
    names = [f"s{i}" for i in range(63)]
    levels = students()
    factors = {name: {factor: levels[factor][i] for factor in levels} for i, name in enumerate(names)}
    whole = analyse_responses(names, NAMES[:30], made.responses, factors, bootstrap=4)
    said = whole.as_dict()
    assert [row["level"] for row in said["components"] if row["factor"] == "icl"] == ["0", "1", "2"]
    assert said["components"][0]["students"] == 21
    assert said["students"][0]["answered"] == 30 and said["students"][0]["ability"]["low"] is not None
    assert {"d", "d_error", "information", "item_rest", "reason"} <= set(said["items"][0])
    assert said["remarks"] == []
    d, b, g, theta = (row[1:] for row in whole.statistics.table[3:])
    assert d == (whole.statistics.d.mean, whole.statistics.d.sd) and theta[0] == whole.statistics.theta.mean
    assert (b[1], g[1]) == (whole.statistics.b.sd, whole.statistics.g.sd)
    for number, remarked in ((29, 1), (30, 0)):
        few = analyse_responses(
            names[:number], NAMES[:30], made.responses[:number], model="2pl", bootstrap=0, held_out=False
        )
        assert len(few.remarks) == remarked
    flat = analyse_responses(names[:5], NAMES[:30], made.responses[:5], estimator="paper", bootstrap=0, held_out=False)
    assert flat.components == [] and flat.students[0].ability.low is None and flat.statistics.held_out is None
    assert mentions(flat.remarks[0], "5")
    assert any(mentions(remark, "paper") for remark in flat.remarks)
    with refusal("students-without-factors", "s62", "1"):
        design_of(names, {name: factors[name] for name in names[:-1]})


# How many of 1,000 test takers gave each pattern of right answers, 00000 to 11111: Bock and Lieberman, 1970.
LSAT6 = "3 6 2 11 1 1 3 4 1 8 0 16 0 3 2 15 10 29 14 81 3 28 15 80 16 56 21 173 11 61 28 298"


def lsat6() -> np.ndarray:
    patterns = np.array([[int(sign) for sign in f"{i:05b}"] for i in range(32)], float)
    return np.repeat(patterns, [int(count) for count in LSAT6.split()], axis=0)


def test_lsat6_gives_the_published_parameters_and_likelihood() -> None:
    found = fit_marginal(lsat6())
    assert found.converged and found.parameters == 10
    assert found.log_likelihood == pytest.approx(-2466.653, abs=5e-4)
    assert found.items.d == pytest.approx([0.826, 0.723, 0.891, 0.688, 0.657], abs=1e-3)
    assert found.items.b == pytest.approx([-3.359, -1.370, -0.280, -1.866, -3.126], abs=2e-3)
    assert (found.items.g == 0).all()
    assert found.theta[-1] == found.theta.max() and found.theta[0] == found.theta.min()
    # Five items tell little: the error of ability stays near the spread of the examinees.
    assert ((found.theta_error > 0.6) & (found.theta_error < 1)).all()
    one = fit_marginal(lsat6(), "1pl")
    three = fit_marginal(lsat6(), "3pl")
    assert one.parameters == 5 and one.log_likelihood < found.log_likelihood
    assert np.isfinite(three.items.b).all() and ((three.items.g > 0.1) & (three.items.g < 0.3)).all()
    answers = lsat6()
    hidden = answers.copy()
    hidden[np.random.default_rng(0).random(answers.shape) < 0.1] = np.nan
    assert fit_marginal(hidden).items.b == pytest.approx(found.items.b, abs=0.5)


def graded_answers(items: GradedItems, theta: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    reached = graded_chances(theta, items).cumsum(axis=2)[..., :-1]
    answers = (rng.random((len(theta), len(items.d), 1)) > reached).sum(axis=2).astype(float)
    answers[rng.random(answers.shape) < 0.1] = np.nan
    return answers


def test_graded_fit_recovers_items_and_abilities() -> None:
    rng = np.random.default_rng(0)
    items = GradedItems(np.exp(rng.normal(0, 0.4, 8)), np.sort(rng.normal(0, 1, (8, 5)), axis=1))
    theta = rng.normal(size=800)
    found = fit_graded(graded_answers(items, theta, 1))
    assert found.converged
    assert correlation(found.theta, theta) >= 0.8
    assert correlation(found.items.d, items.d) >= 0.85
    assert correlation(found.items.b.ravel(), items.b.ravel()) >= 0.97
    assert (np.diff(found.items.b, axis=1) > 0).all()


def test_unreached_levels_lie_above_the_others() -> None:
    rng = np.random.default_rng(1)
    found = fit_graded(rng.integers(0, 3, (200, 4)).astype(float))
    assert np.isfinite(found.items.b).all() and (np.diff(found.items.b, axis=1) > 0).all()
    assert (graded_chances(np.array([0.0]), found.items)[0, :, 3:].sum(axis=1) < 0.2).all()
