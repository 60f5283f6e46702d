"""Evaluations of the same runs side by side: boards of a project beside scores from elsewhere."""

from __future__ import annotations

import pytest

from core.errors import InputError
from core.labels import Policy
from core.leaderboard import leaderboard
from core.project import Project
from core.study import compare_choices, score_table
from tests.made.projects import fill, judge
from tests.study.test_retriever_selection import BANK, JUDGMENTS, RATINGS, RUNS


def test_boards_and_tables_from_elsewhere_choose_over_the_queries_that_all_have(project: Project) -> None:
    fill(project, BANK, RATINGS, RUNS)
    judge(project, JUDGMENTS)
    reteval = {"x": {"q1": 0.0, "q2": 0.0}, "y": {"q1": 1.0, "q2": None}, "z": {"q1": 0.0, "q2": 0.0}}
    asked = [("judgments", "P@1"), ("exam", "EXAM-Cover@1")]
    found = compare_choices(project, asked, further={"LLM-retEval@1": reteval}, samples=50)
    assert found.runs == ["x", "y", "z"]
    chosen = {one.evaluation: one.chosen for one in found.choices}
    assert chosen == {
        "P@1 by judgments": ["x"],
        "EXAM-Cover@1 by exam": ["x", "y"],
        "LLM-retEval@1": ["y"],
    }
    board = leaderboard(project, "P@1", "judgments", Policy())
    scores = {run: mean for run, (mean, _) in found.choices[0].scores.items()}
    assert scores == board.scores
    same = {(one.one, one.other): one.same_choice for one in found.pairings}
    assert same["P@1 by judgments", "EXAM-Cover@1 by exam"] and not same["EXAM-Cover@1 by exam", "P@1 by judgments"]


def test_a_query_that_a_run_skipped_counts_as_the_policy_says(project: Project) -> None:
    fill(project, BANK, RATINGS, RUNS | {"x": {"q1": ["p1"]}})
    judge(project, JUDGMENTS)
    for skipped, value in (("zero", 0.0), ("ignore", None)):
        board = leaderboard(project, "P@1", "judgments", Policy(skipped=skipped))
        table = score_table(board)
        assert table["x"] == {"q1": 1.0, "q2": value}
    with pytest.raises(InputError):
        compare_choices(project, [("nobody", "P@1")])
