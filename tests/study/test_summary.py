"""The facts of the sentence above a leaderboard."""

from __future__ import annotations

import pytest

from exam_workbench.labels import Leaderboard, Policy, compare, graded_share, leaderboard
from exam_workbench.labels._leaderboard import order_systems
from exam_workbench.store import Project
from exam_workbench.study import Summary, group_alike, remembered_pairs, summarize_board
from tests.made.projects import fill, judge
from tests.made.screens import JUDGED, QUESTIONS, RATINGS, RUNS


def board_of(scores: dict[str, list[float]], needed: int = 0, usable: int = 0) -> Leaderboard:
    """A leaderboard with these scores on queries 0, 1, ..."""
    per_query = {run: {str(at): score for at, score in enumerate(of_run)} for run, of_run in scores.items()}
    queries = [str(at) for at in range(len(next(iter(scores.values()))))]
    systems = order_systems(per_query, queries, Policy())
    return Leaderboard("AP", "exam", Policy(), systems, per_query, queries, needed, usable)


WOBBLE = [0.01 * (at % 3) for at in range(12)]


def level(mean: float, times: int = 1) -> list[float]:
    return [mean + times * wobble for wobble in WOBBLE]


@pytest.mark.parametrize(
    ("scores", "unseparated"),
    [
        ({"a": level(0.9), "b": level(0.5, 2), "c": level(0.1, 3)}, 1),
        ({"a": level(0.9), "b": level(0.9)[::-1], "c": level(0.1, 3)}, 2),
        ({"a": level(0.9), "b": level(0.9)[::-1]}, 2),
        ({"a": [0.9], "b": [0.1]}, None),
    ],
)
def test_it_counts_the_best_systems_that_are_not_separated(
    project: Project, scores: dict[str, list[float]], unseparated: int | None
) -> None:
    assert summarize_board(project, board_of(scores)).unseparated == unseparated


def test_a_share_of_graded_pairs_is_never_rounded_up_to_all(project: Project) -> None:
    scores = {"a": level(0.9), "b": level(0.1)}

    def grading(usable: int) -> str:
        return summarize_board(project, board_of(scores, 1000, usable)).grading

    assert "100%" in grading(1000) and "99%" in grading(999) and "0%" in grading(0)
    assert "0%" not in grading(9).split() and grading(9) != grading(0)


def test_a_leaderboard_without_grades_says_nothing_about_grades_and_audits(project: Project) -> None:
    found = summarize_board(project, board_of({"a": level(0.9), "b": level(0.1)}))
    assert (found.grading, found.auditing, found.agreement) == ("", "", "")


def test_the_facts_of_a_project_are_those_of_its_comparison(project: Project) -> None:
    fill(project, QUESTIONS, RATINGS, RUNS)
    judge(project, JUDGED)
    found = compare(project, "nDCG@10", "assessors")
    board = leaderboard(project, "nDCG@10")
    groups = group_alike(found.board, remembered_pairs(project, found.board, "t"))
    share = graded_share(board.usable, board.needed)
    queries = len(found.board.query_ids)
    expected = Summary("nDCG@10", len(RUNS), groups, "assessors", found.correlation.kendall, share, None, queries)
    assert summarize_board(project, found.board, found) == expected
    said = {summarize_board(project, found.board, found, measure).auditing for measure in (None, "P@3", "nDCG@10")}
    assert len(said) == 3 and expected.auditing in said, "an audit of another measure is not one of these scores"
