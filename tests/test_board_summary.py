"""Leaderboard summaries and readiness: graded pairs, open disagreements, audit, bank version."""

from dataclasses import replace

import pytest

from exam_workbench import audit, bank
from exam_workbench.audit import Goal
from exam_workbench.board_summary import (
    BoardSummary,
    Readiness,
    board_readiness,
    find_summary,
    publication_checks,
    summarize_board,
)
from exam_workbench.labels import Leaderboard, Policy, compare, leaderboard
from exam_workbench.labels._leaderboard import order_systems
from exam_workbench.records import set_member
from exam_workbench.review import Judgments, Labels, list_disagreements, settle_by_comment
from exam_workbench.review._disagreements.settling import case_of
from exam_workbench.store import Project
from exam_workbench.study import group_alike
from exam_workbench.study._system_significance import compare_all
from exam_workbench.types import Question
from tests.made.audits import fill_audited, judge_batch
from tests.made.projects import fill, judge
from tests.made.screens import JUDGED, QUESTIONS, RATINGS, RUNS, numbers, put_small


@pytest.mark.parametrize("measure", ["nDCG@10", "P@1", "EXAM-Cover"])
def test_readiness_counts_same_pairs_as_leaderboard(project: Project, measure: str) -> None:
    put_small(project)
    found, board = board_readiness(project, Policy(), measure), leaderboard(project, measure)
    assert (found.measure, found.needed, found.usable) == (board.measure, board.needed, board.usable)
    assert found.usable and found.bank_version == bank.latest_version(project) and not found.too_few
    checks = {check.name: check.done for check in publication_checks(project, Policy(), found)}
    done = {"graded": found.usable == found.needed, "failed": False, "stale": True, "sealed": True, "speaking": True}
    assert checks == done | {"disagreements": False, "audit": False}
    bank.save_version(project, [replace(one, text=f"{one.text} Why?") for one in QUESTIONS[1:]], "", "bob")
    found = board_readiness(project, Policy(), measure)
    assert found.too_few and 0 < found.usable < found.needed / 2


def test_open_disagreements_match_queue_and_are_hidden_from_viewers(project: Project) -> None:
    put_small(project)
    sides = Labels(Policy()), Judgments("judgments")
    waiting = list_disagreements(project, *sides)
    found = board_readiness(project, Policy(), "AP")
    assert found.disagreements == waiting.total > 1
    settle_by_comment(project, case_of(project, *sides, waiting.rows[0].pair), "agreed", "ann")
    assert board_readiness(project, Policy(), "AP").disagreements == waiting.total - 1
    set_member(project, "vera@x.org", "viewer", "shell")
    seen = board_readiness(project.acting_as("vera@x.org"), Policy(), "AP")
    assert seen == replace(found, disagreements=None)


def test_audit_counts_after_first_judged_batch(project: Project) -> None:
    fill_audited(project)

    def audited() -> str:
        return board_readiness(project, Policy(), "P@3").audited

    assert audited() == "not audited"
    audit.design_audit(project, "first", "P@3", Goal("best"), batch_size=12, seed=3, author="org")
    assert audited() == "audit in progress"
    audit.draw_batch(project, audit.find_audit(project), "org")
    judge_batch(project, audit.find_audit(project), "ben")
    assert audited() == "audited"
    assert board_readiness(project, Policy(), "nDCG@10").audited not in ("audited", "not audited"), "another measure"


def test_leaderboard_is_doubtful_if_most_queries_are_incomplete(project: Project) -> None:
    ranked = [f"p{at:02d}" for at in range(12)]
    queries = [f"q{at}" for at in range(3)]
    asked = [Question(f"{query}/a", query, f"What is {query}?") for query in queries]
    graded = {("What is q0?", passage): 4 for passage in ranked}
    graded |= {(f"What is {query}?", passage): 4 for query in queries[1:] for passage in ranked[:10]}
    fill(project, asked, graded, {"run": dict.fromkeys(queries, ranked)})
    found = summarize_board(project, Policy(), "AP")
    assert (found.ready.too_few, len(found.board.left_out), found.board.query_ids) == (False, 2, ["q0"])
    assert found.doubt and "P@10" in found.fully_graded
    assert "nDCG@10" not in found.fully_graded, "the ideal ranking needs the whole pool"
    top = summarize_board(project, Policy(), "P@10")
    assert not top.doubt and not top.fully_graded, "all its pairs are graded"


def test_graded_share_is_never_rounded_up() -> None:
    for needed, usable, graded in (
        (0, 0, "0%"),
        (100, 29, "29%"),
        (1000, 999, "99%"),
        (9, 9, "100%"),
        (1000, 9, "under 1%"),
    ):
        assert Readiness("AP", needed, usable, None, "not audited", 1).graded == graded


def board_of(scores: dict[str, list[float]]) -> Leaderboard:
    """A leaderboard with these scores on queries 0, 1, ..."""
    per_query = {run: {str(at): score for at, score in enumerate(of_run)} for run, of_run in scores.items()}
    queries = [str(at) for at in range(len(next(iter(scores.values()))))]
    systems = order_systems(per_query, queries, Policy())
    return Leaderboard("AP", "exam", Policy(), systems, per_query, queries, 0, 0)


def summary_of(board: Leaderboard) -> BoardSummary:
    ready = Readiness("AP", board.needed, board.usable, None, "", 1)
    return BoardSummary(board, None, group_alike(board, compare_all(board)), ready, [])


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
def test_summary_counts_best_systems_not_separated(scores: dict[str, list[float]], unseparated: int | None) -> None:
    found = summary_of(board_of(scores))
    assert found.unseparated == unseparated
    # A leaderboard without grades says nothing about grading or an audit.
    assert (found.grading, found.auditing, found.agreement, found.ready.grading) == ("", "", "", "")


@pytest.mark.parametrize(
    ("ungraded", "numbers_said"),
    [((), [12]), (("20", "21"), [12, 14, 2]), (("0", "1", "20"), [12, 13, 2])],
)
def test_summary_states_number_of_queries(ungraded: tuple[str, ...], numbers_said: list[int]) -> None:
    board = replace(board_of({"a": level(0.9), "b": level(0.1)}), ungraded=dict.fromkeys(ungraded, 1))
    found = summary_of(board)
    assert numbers(found.queries) == numbers_said and found.queries[:-1] in found.description


def test_change_of_queries_and_best_system_is_described() -> None:
    few, all_ = board_of({"a": [0.9, 0.9], "b": [0.1, 0.1]}), board_of({"b": level(0.9), "a": level(0.1)})
    before = summary_of(few).outcome
    assert summary_of(few).describe_change(before) == ""
    changed = summary_of(all_).describe_change(before)
    assert numbers(changed) == [2, 12] and changed.index(" a ") < changed.index(" b.")


def test_summary_matches_leaderboard_comparison(project: Project) -> None:
    fill(project, QUESTIONS, RATINGS, RUNS)
    judge(project, JUDGED)
    compared = compare(project, "nDCG@10", "assessors")
    groups = group_alike(compared.board, compare_all(compared.board))
    ready = board_readiness(project, Policy(), "nDCG@10")
    found = summarize_board(project, Policy(), "nDCG@10", "assessors")
    assert found == BoardSummary(compared.board, compared, groups, ready, found.fully_graded)
    assert found.official == compared.official
    assert found == find_summary(project, Policy(), "nDCG@10", "assessors")
    assert find_summary(project, Policy(), "goodness", None) is None
