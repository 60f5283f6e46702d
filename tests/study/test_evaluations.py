"""Comparison of evaluations of the same runs: leaderboards of a project and imported score tables."""

from __future__ import annotations

from dataclasses import replace

from exam_workbench.bank import question_text_key
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.store import Project
from exam_workbench.study import BoardChoice, boards_to_choose_by, compare_choices
from exam_workbench.study._figure_data import score_table
from exam_workbench.types import GraderSpec
from tests.made.projects import grade
from tests.study.test_retriever_selection import fill_judged


def test_leaderboards_and_score_tables_share_common_queries(project: Project) -> None:
    fill_judged(project)
    reteval = {"x": {"q1": 0.0, "q2": 0.0}, "y": {"q1": 1.0, "q2": None}, "z": {"q1": 0.0, "q2": 0.0}}
    asked = {"people": BoardChoice("P@1", "judgments"), "cover": BoardChoice("EXAM-Cover@1")}
    asked["nobody"] = BoardChoice("P@1", "nobody")
    compared = compare_choices(project, asked, Policy(), {"LLM-retEval@1": reteval}, samples=50)
    assert [*compared.left_out] == ["nobody"]
    found = compared.found
    assert found.runs == ["x", "y", "z"]
    chosen = {one.evaluation: one.chosen for one in found.choices}
    assert chosen == {"people": ["x"], "cover": ["x", "y"], "LLM-retEval@1": ["y"]}
    board = leaderboard(project, "P@1", "judgments", Policy())
    scores = {run: mean for run, (mean, _) in found.choices[1].scores.items()}
    assert scores == board.scores
    for skipped, value in (("zero", 0.0), ("ignore", None)):
        partly = replace(board, policy=Policy(skipped=skipped), per_query={"x": {"q1": 1.0}})
        assert score_table(partly) == {"x": {"q1": 1.0, "q2": value}}
    same = {(one.one, one.other): one.same_choice for one in found.pairings}
    assert same["people", "cover"] and not same["cover", "people"]


def test_judgments_and_graders_with_grades_are_offered(project: Project) -> None:
    assert boards_to_choose_by(project, 5) == {}
    fill_judged(project)
    with project.transaction() as cursor:
        for query in ("query q1", "query q2"):
            question_text_key(cursor, query)
    # A direct grader rates each passage 1 or 0, without questions of the bank.
    binary = {("query q1", "p1"): 0, ("query q1", "p2"): 1, ("query q1", "p3"): 0, ("query q1", "p5"): 0}
    binary |= {("query q2", "p4"): 1, ("query q2", "p1"): 0}
    grade(project, binary, GraderSpec("binary judge", "direct", "m", max_rating=1))
    offered = boards_to_choose_by(project, 5)
    assert [(one.source, one.measure) for one in offered.values()] == [
        ("assessors", "nDCG@10"),
        ("exam", "EXAM-Cover@5"),
        ("exam", "nDCG@10"),
    ]
    compared = compare_choices(project, offered, Policy(), {}, samples=10)
    assert [one.evaluation for one in compared.found.choices] == list(offered) and not compared.left_out
    by_judge = next(one for one in compared.found.choices if one.evaluation.startswith("binary judge"))
    assert by_judge.chosen == ["y"]
