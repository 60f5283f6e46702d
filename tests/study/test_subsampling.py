"""Leaderboards from fewer queries and fewer questions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from exam_workbench.labels import Policy
from exam_workbench.measures import ALPHA, adjust_holm, separable_differences, t_test
from exam_workbench.store import Project
from exam_workbench.study import sample_queries, sample_questions
from exam_workbench.types import Question
from tests.made.projects import commit, fill
from tests.study.test_significance import board_of, random_scores


def test_differences_above_the_bound_are_separated() -> None:
    rng = np.random.default_rng(1)
    differences = rng.normal([0.0, 0.02, 0.5], 0.1, size=(12, 3))
    bounds = separable_differences(differences)
    significant = sum(p < ALPHA for p in adjust_holm(t_test(differences).tolist()))
    level = ALPHA / (3 - significant)
    for factor, separated in ((0.999, False), (1.001, True)):
        moved = differences - differences.mean(axis=0) + factor * bounds
        assert ((stats.ttest_1samp(moved, 0).pvalue < level) == separated).all()
    assert np.isnan(separable_differences(np.ones((5, 1)))).all()


def test_more_queries_separate_smaller_differences(project: Project) -> None:
    board = board_of(random_scores(6, 40, seed=2))
    sizes = sample_queries(project, board)
    bounds = [size.separable for size in sizes]
    assert [size.count for size in sizes] == sorted({size.count for size in sizes})
    assert bounds == sorted(bounds, reverse=True)
    assert (sizes[-1].count, sizes[-1].kendall) == (40, pytest.approx(1.0))
    assert sizes[0].low <= sizes[0].kendall <= sizes[0].high < 1
    assert sample_queries(project, board_of(random_scores(3, 4, seed=3))) == []


QUESTIONS = [Question(f"q{q}/{n}", f"q{q}", f"Question {n} of q{q}?") for q in range(4) for n in range(6)]
PASSAGES = [f"p{n}" for n in range(8)]


def ask(project: Project) -> None:
    rng = np.random.default_rng(4)
    ratings = {(question.text, passage): int(rng.integers(0, 6)) for question in QUESTIONS for passage in PASSAGES}
    runs = {f"run{r}": {f"q{q}": rng.permutation(PASSAGES).tolist() for q in range(4)} for r in range(5)}
    fill(project, QUESTIONS, ratings, runs)


def test_only_fewer_questions_change_the_order(project: Project) -> None:
    ask(project)
    for measure in ("nDCG@10", "P@3", "EXAM-Cover@3", "alpha_nDCG@10"):
        shares: list[float] = []
        sizes = sample_questions(project, measure, Policy(), shares.append)
        assert (sizes[0].count, sizes[-1].count, sizes[-1].kendall) == (1, 6, pytest.approx(1.0)), measure
        assert min(size.low for size in sizes[:-1]) < 1, measure
        assert shares == sorted(shares) and shares[0] == 0, measure
    assert sample_questions(project, "EXAM-Cover@3/pool", Policy()) == []
    # Samples follow the rule for skipped queries.
    commit(project, "DELETE FROM rankings WHERE run_key = (SELECT min(run_key) FROM rankings) AND query_key % 2 = 0")
    zero = sample_questions(project, "EXAM-Cover@3", Policy())
    assert sample_questions(project, "EXAM-Cover@3", Policy(skipped="ignore")) != zero
