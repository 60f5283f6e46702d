"""Marginal fits: the published numbers of LSAT6, and the graded response model."""

from __future__ import annotations

import numpy as np
import pytest

from exam_workbench.measures.item_response import answer_information, fit_graded, fit_marginal, graded_information
from exam_workbench.measures.item_response._response_fits import GradedItems, graded_chances
from exam_workbench.measures.item_response._response_models import Items
from tests.made.answers import correlation

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


def test_1pl_fits_lsat6_worse_and_3pl_stays_finite() -> None:
    two = fit_marginal(lsat6())
    one = fit_marginal(lsat6(), "1pl")
    three = fit_marginal(lsat6(), "3pl")
    assert one.parameters == 5 and one.log_likelihood < two.log_likelihood
    assert np.isfinite(three.items.b).all() and ((three.items.g > 0.1) & (three.items.g < 0.3)).all()


def test_missing_answers_barely_change_item_parameters() -> None:
    answers = lsat6()
    hidden = answers.copy()
    hidden[np.random.default_rng(0).random(answers.shape) < 0.1] = np.nan
    assert fit_marginal(hidden).items.b == pytest.approx(fit_marginal(answers).items.b, abs=0.5)


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


def test_single_level_equals_the_binary_model() -> None:
    d, b = np.array([0.7, 1.8]), np.array([-0.5, 1.2])
    at = np.linspace(-2, 2, 9)
    plain = answer_information(at, Items(d, b, np.zeros(2)))
    assert graded_information(at, GradedItems(d, b[:, None])) == pytest.approx(plain)
    assert graded_chances(at, GradedItems(d, np.sort(np.array([[0.0, 1.0], [-1.0, 2.0]])))).sum(
        axis=2
    ) == pytest.approx(1)
