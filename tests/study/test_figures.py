"""Figures of leaderboards: leaderboards on one scale, systems on two leaderboards, queries of two systems."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import pytest
from scipy import stats

from exam_workbench.labels import Leaderboard, Policy, leaderboard
from exam_workbench.labels._leaderboard import System
from exam_workbench.measures import correlate_scores
from exam_workbench.records import write_board
from exam_workbench.store import Project
from exam_workbench.study import (
    PANEL_MEASURES,
    BoardChoice,
    QueryPoints,
    board_name,
    compare_neighbours,
    compare_systems,
    make_board,
    make_board_panel,
    offered_boards,
    outstanding_systems,
    query_points,
    system_points,
)
from exam_workbench.study._system_significance import compare_all
from exam_workbench.types import Board, BoardRow, GraderSpec, Question
from pages.parts.shared.leaderboard_table import QUERIES_KEY
from tests.made.projects import commit, fill, filled_project, grade, judge, read_project
from tests.made.refusals import mentions, refusal
from tests.made.screens import Screen, as_text, served, visit
from tests.made.shell import exam_on

__all__ = ["served"]

QUESTIONS = [Question(f"q{i}/a", f"q{i}", f"What is {i}?") for i in range(4)]
RATINGS = {(f"What is {i}?", f"p{i}{j}"): (i + 2 * j) % 6 for i in range(4) for j in range(3)}
ORDERS = {"good": (2, 1, 0), "fair": (1, 2, 0), "poor": (0, 1, 2)}
RUNS = {run: {f"q{i}": [f"p{i}{j}" for j in order] for i in range(4)} for run, order in ORDERS.items()}
RUNS["poor"].pop("q3")


def fill_small(project: Project) -> None:
    fill(project, QUESTIONS, RATINGS, RUNS)
    judge(project, {(f"q{i}", f"p{i}{j}"): j for i in range(3) for j in range(3)})


small = read_project(fill_small)
own = filled_project(fill_small)


def board_of(scores: Mapping[str, float], error: float | None = 0.1) -> Leaderboard:
    """Return a leaderboard without scores by query."""
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    systems = [System(run, score, error, 0, rank) for rank, (run, score) in enumerate(ordered, 1)]
    return Leaderboard("AP", "made", Policy(), systems, {})


class TestOfferedLeaderboards:
    def test_min_ratings_are_named_only_if_they_matter(self, small: Project) -> None:
        names = list(offered_boards(small, ["AP", "nDCG@10", "EXAM-Cover"]))
        assert names == [
            *(f"EXAM AP ≥ {level}" for level in range(1, 6)),
            "EXAM nDCG@10",
            *(f"EXAM-Cover ≥ {level}" for level in range(1, 6)),
            "assessors AP",
            "assessors nDCG@10",
        ]

    def test_graders_with_grades_and_imports_are_offered(self, own: Project) -> None:
        grade(own, RATINGS, GraderSpec("second grader", "self-rating", "another"))
        commit(own, write_board, Board("printed", "MAP", [BoardRow("good", 0.9), BoardRow("poor", 0.1)]))
        found = offered_boards(own, ["nDCG@10", "EXAM-Cover@20/pool", "ROUGE-1@20"])
        names = list(found)
        assert [name for name in names if name.startswith("EXAM n")] == [
            "EXAM nDCG@10 · test grader",
            "EXAM nDCG@10 · second grader",
        ]
        assert [name for name in names if "pool" in name][:2] == [
            "EXAM-Cover@20/pool ≥ 1 · test grader",
            "EXAM-Cover@20/pool ≥ 2 · test grader",
        ]
        assert [name for name in names if "EXAM" not in name] == ["ROUGE-1@20", "assessors nDCG@10", "printed (MAP)"]
        wanted = BoardChoice("ROUGE-1@20", "exam", "test grader", 4)
        assert board_name(found, wanted) == "ROUGE-1@20"

    def test_all_offered_leaderboards_can_be_made(self, small: Project) -> None:
        for choice in offered_boards(small, [*PANEL_MEASURES, "alpha_nDCG@20"]).values():
            board = make_board(small, choice, Policy())
            assert {system.run for system in board.systems} == set(RUNS)

    def test_unset_choices_follow_the_policy(self, small: Project) -> None:
        policy = Policy(min_rating=2, cutoff=1)
        assert make_board(small, BoardChoice("EXAM-Cover"), policy).measure == "EXAM-Cover@1"
        chosen = make_board(small, BoardChoice("AP", min_rating=5), policy)
        assert chosen.scores == leaderboard(small, "AP", "exam", Policy(min_rating=5)).scores
        assert chosen.scores != leaderboard(small, "AP", "exam", policy).scores


class TestLeaderboardPanel:
    OFFICIAL = board_of({"a": 0.8, "b": 0.6, "c": 0.4})

    def test_leaderboards_are_scaled_from_0_to_1_in_the_order_of_the_reference(self) -> None:
        found = make_board_panel(self.OFFICIAL, {"other": board_of({"a": 20, "b": 30, "c": 10}, error=5)}, "official")
        scaled = {(m.board, m.run): (m.scaled, m.low, m.high) for m in found.marks}
        assert scaled["official", "a"] == pytest.approx((1, 0.75, 1.25))
        assert scaled["official", "b"] == pytest.approx((0.5, 0.25, 0.75))
        assert scaled["other", "a"] == pytest.approx((0.5, 0.25, 0.75))
        assert scaled["other", "b"] == pytest.approx((1, 0.75, 1.25))
        assert scaled["other", "c"] == pytest.approx((0, -0.25, 0.25))
        assert (found.left_out, found.order) == ({}, ["a", "b", "c"])
        assert [(m.run, m.place, m.score) for m in found.marks if m.board == "other"] == [
            ("a", 1, 20), ("b", 2, 30), ("c", 3, 10),
        ]  # fmt: skip
        found = make_board_panel(board_of({"a": 1, "b": 0}, error=None), {}, "official")
        assert all(m.low == m.scaled == m.high and m.std_error is None for m in found.marks)

    def test_scaling_uses_shared_systems_and_other_leaderboards_have_reasons(self) -> None:
        others = {
            "more": board_of({"a": 3, "b": 2, "c": 1, "z": 100}),
            "fewer": board_of({"a": 3, "b": 1}),
            "flat": board_of({"a": 1, "b": 1, "c": 1}),
            "foreign": board_of({"x": 1}),
        }
        found = make_board_panel(self.OFFICIAL, others, "official")
        assert {m.run: m.scaled for m in found.marks if m.board == "more"} == {"a": 1, "b": 0.5, "c": 0}
        assert {m.board for m in found.marks} == {"official", "more", "fewer"}
        assert mentions(found.left_out["more"], "1") and mentions(found.left_out["more"], "official")
        assert mentions(found.left_out["fewer"], "1") and mentions(found.left_out["fewer"], "3")
        assert mentions(found.left_out["flat"], "3")
        # The reason gives no number of systems, because none are in common.
        foreign = found.left_out["foreign"]
        assert mentions(foreign, "official") and not any(character.isdigit() for character in foreign)


class TestSystemsOnTwoLeaderboards:
    def test_points_are_common_systems_with_scores_and_ranks(self) -> None:
        x, y = board_of({"a": 3, "b": 2, "c": 1, "x": 0}), board_of({"c": 9, "b": 8, "a": 7, "y": 1}, error=None)
        points, compared = system_points(x, y)
        correlation = compared.correlation
        assert [(p.run, p.x, p.x_error, p.x_rank, p.y, p.y_error, p.y_rank) for p in points] == [
            ("a", 3, 0.1, 1, 7, None, 3), ("b", 2, 0.1, 2, 8, None, 2), ("c", 1, 0.1, 3, 9, None, 1),
        ]  # fmt: skip
        assert correlation == correlate_scores(y.scores, x.scores)
        assert correlation.spearman == pytest.approx(-1)

    def test_systems_that_move_furthest_are_named_first(self) -> None:
        x = board_of({"a": 5, "b": 4, "c": 3, "d": 2, "e": 1})
        points, _ = system_points(x, board_of({"d": 9, "b": 8, "a": 7, "c": 6, "e": 5}))
        assert outstanding_systems(points, 9) == ["d", "a", "c"]
        assert outstanding_systems(points, 1) == ["d"]


class TestQueriesOfTwoSystems:
    def test_points_match_leaderboard_scores(self, small: Project) -> None:
        board = leaderboard(small, "nDCG@10")
        found = query_points(small, board, "good", board, "fair")
        assert [(p.query_id, p.text) for p in found.points] == [(f"q{i}", f"query q{i}") for i in range(4)]
        for point in found.points:
            assert (point.x, point.y) == (
                board.per_query["good"][point.query_id],
                board.per_query["fair"][point.query_id],
            )
        assert found.means == pytest.approx((board.scores["good"], board.scores["fair"]))
        assert sum(found.count(who) for who in ("first", "second", "equal")) == 4
        assert found.count("first") > 0
        low, high = stats.ttest_rel(*zip(*((p.x, p.y) for p in found.points), strict=True)).confidence_interval()
        assert found.half_width == pytest.approx((high - low) / 2)
        assert math.isnan(QueryPoints(found.points[:1], 3, found.means).half_width)

    def test_skipped_query_scores_zero_or_is_left_out(self, small: Project) -> None:
        board = leaderboard(small, "nDCG@10")
        last = query_points(small, board, "good", board, "poor").points[3]
        assert (last.y, last.skipped, last.better) == (0.0, ("poor",), "first")
        board = leaderboard(small, "nDCG@10", "exam", Policy(skipped="ignore"))
        found = query_points(small, board, "good", board, "poor")
        assert [p.query_id for p in found.points] == ["q0", "q1", "q2"]
        assert found.left_out == 1

    def test_one_system_on_two_leaderboards_uses_common_queries(self, small: Project) -> None:
        exam, judged = leaderboard(small, "AP"), leaderboard(small, "AP", "assessors")
        found = query_points(small, exam, "good", judged, "good")
        assert [p.query_id for p in found.points] == ["q0", "q1", "q2"]
        assert found.left_out == 1
        assert [p.y for p in found.points] == [judged.per_query["good"][f"q{i}"] for i in range(3)]

    def test_unknown_system_and_imported_leaderboard_are_refused(self, small: Project) -> None:
        board = leaderboard(small, "AP")
        with refusal("unknown-system", "nobody"):
            query_points(small, board, "good", board, "nobody")
        with refusal("no-scores-by-query"):
            query_points(small, board, "good", board_of({"good": 1}), "good")


def test_command_prints_significance(own: Project) -> None:
    expected = compare_systems(leaderboard(own, "nDCG@10"), "poor", "randomisation")
    best = leaderboard(own, "nDCG@10").systems[0].run
    printed = partial(exam_on, own, "significance", "--measure", "nDCG@10")
    found = printed("--test", "randomisation", "--baseline", "poor", "--json")
    assert (found["measure"], found["test"], found["baseline"]) == ("nDCG@10", "randomisation", "poor")
    assert found["systems"] == [row.as_dict() for row in expected]
    lines = printed().splitlines()
    assert lines[0].startswith("nDCG@10 ") and f" {best}," in lines[0]
    assert len(lines) == 2 + 2


class TestLeaderboardViews:
    """The browser draws the charts; these tests check the elements around them."""

    def test_offered_leaderboards_are_chosen_and_system_is_followed(self, own: Project) -> None:
        app = visit("leaderboard", view="All boards", system="poor")
        (boards,) = app.multiselect
        assert boards.value == ["EXAM nDCG@10"]
        boards.set_value(["EXAM nDCG@10", "EXAM-Cover ≥ 2", "assessors AP"])
        app.run()
        assert any(mentions(as_text(c.value), "assessors nDCG@10") for c in app.caption)
        assert app.holds(QUERIES_KEY)["run"] == "poor"
        assert app.tell(QUERIES_KEY, "ask", "q1").holds(QUERIES_KEY)["asked"] == "q1"

    def test_two_systems_follow_ranks_unless_chosen(self, project: Project) -> None:
        def shown(app: Screen) -> list[str]:
            return [app.selectbox("first system").value, app.selectbox("second system").value]

        ratings = {("What?", f"p{at}"): 4 * (at % 2) for at in range(6)}
        ranked = {"a": ["p1", "p0", "p2"], "b": ["p0", "p1", "p3"], "c": ["p0", "p2", "p4"]}
        fill(project, [Question("q1/a", "q1", "What?")], ratings, {run: {"q1": top} for run, top in ranked.items()})
        app = visit("leaderboard", view="Two systems", measure="RR")
        assert shown(app) == ["a", "b"]
        assert shown(app.choose("measure", "P@5")) == ["b", "a"]
        app.selectbox("second system").set_value("c")
        assert shown(app.choose("measure", "RR")) == ["b", "c"]

    def test_untested_pairs_are_not_drawn(self, project: Project) -> None:
        asked = [Question("q1/a", "q1", "What?")]
        fill(project, asked, {("What?", "p1"): 4, ("What?", "p2"): 0}, {"a": {"q1": ["p1"]}, "b": {"q1": ["p2"]}})
        app = visit("leaderboard", view="Significance")
        assert app.shows("untested", 1) and not app.charts()

    def test_views_compare_leaderboards_systems_and_pairs(self, own: Project) -> None:
        default = leaderboard(own, "nDCG@10")
        app = visit("leaderboard", view="Two boards")
        second = next(box for box in app.selectbox if (box.key or "").startswith("second board"))
        second.set_value("assessors AP")
        app.run()
        _, expected = system_points(leaderboard(own, "nDCG@10", "assessors"), leaderboard(own, "AP", "assessors"))
        assert app.metric_of("Spearman") == f"{expected.correlation.spearman:.3f}"

        app = visit("leaderboard", view="Two systems", compared="query q1")
        found = query_points(own, default, "good", default, "fair")
        assert app.metric_of("First better") == str(found.count("first"))
        assert app.metric_of("Equal") == str(found.count("equal"))
        queries = [link.query_string for link in app.page_links()]
        assert sum("passage=p12" in query and "query=q1" in query for query in queries) == 2

        app = visit("leaderboard", view="Significance", test="Randomisation")
        rows = compare_all(default, "randomisation")
        assert f"{sum(bool(row.differs) for row in rows)} of {len(rows)} pairs" in app.said()
        assert not app.shows("untested")

        for differs, compared in ("the best", compare_systems), ("the one above", compare_neighbours):
            table = visit("leaderboard", differs_from=differs, over_queries="own").board()
            for row in compared(default):
                assert table["p, corrected"][row.run] == pytest.approx(row.corrected)
                assert table["Error bars"][row.run] == ("overlap" if row.error_bars_overlap else "apart")
        assert "p, corrected" not in visit("leaderboard").board()
