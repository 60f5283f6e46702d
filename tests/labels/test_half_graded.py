"""Queries with ungraded pairs: counts, names, and exclusion from correlations by default."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from exam_workbench.board_summary import find_summary
from exam_workbench.cli import cli
from exam_workbench.labels import (
    Leaderboard,
    Policy,
    align_boards,
    basis,
    compare,
    grading_progress,
    leaderboard,
    leaderboard_per,
)
from exam_workbench.labels._official_comparison import board_over
from exam_workbench.measures import correlate_scores
from exam_workbench.store import Project
from exam_workbench.study import choose_rows, compare_selection, make_caption, meta_table, system_points
from exam_workbench.types import Question
from tests.made.projects import copy_of, fill, filled_project, grade, judge, read_project

QUERIES = [f"q{i}" for i in range(6)]
PASSAGES = [f"p{i}" for i in range(8)]
RUNS = [f"s{i}" for i in range(5)]
COMPLETE, FAILED, HALF, NONE = QUERIES[:3], QUERIES[3], QUERIES[4], QUERIES[5]
TOP = 4


def fill_half(project: Project) -> None:
    """Fill three graded queries, one with failed pairs, one half graded and one ungraded.

    In the half-graded query, only the top passages of every run are graded.
    """
    dice = np.random.default_rng(11)
    runs = {
        run: {
            q: [*map(str, dice.permutation(PASSAGES[:TOP])), *map(str, dice.permutation(PASSAGES[TOP:]))]
            for q in QUERIES
        }
        for run in RUNS
    }
    ratings: dict[tuple[str, str], int | None] = {
        (f"{q}?", p): int(dice.integers(0, 6)) for q in [*COMPLETE, FAILED] for p in PASSAGES
    }
    ratings[f"{FAILED}?", "p0"] = ratings[f"{FAILED}?", "p5"] = None
    ratings |= {(f"{HALF}?", p): int(dice.integers(0, 6)) for p in PASSAGES[:TOP]}
    fill(project, [Question(f"{q}/1", q, f"{q}?") for q in QUERIES], ratings, runs)
    judge(project, {(q, p): int(dice.integers(0, 3)) for q in QUERIES for p in PASSAGES}, "NIST")


half = read_project(fill_half)
own = filled_project(fill_half)


def by_hand(project: Project, measure: str, queries: list[str], official: str = "nDCG@10") -> float | None:
    mine, theirs = leaderboard(project, measure), leaderboard(project, official, "NIST")
    return correlate_scores(board_over(mine, queries).scores, board_over(theirs, queries).scores).spearman


def test_ungraded_pairs_are_counted_for_each_measure(half: Project) -> None:
    whole, top = leaderboard(half, "nDCG@10"), leaderboard(half, f"EXAM-Cover@{TOP}")
    assert whole.ungraded == {HALF: 4, NONE: 8} and top.ungraded == {NONE: TOP}
    assert grading_progress(half, basis(half, Policy())).ungraded_of == {HALF: 4, NONE: 8}
    assert (whole.needed, whole.usable) == (48, 34), "two failed, twelve are ungraded"
    assert (top.needed, top.usable) == (24, 19), "one failed pair is in the top, four are ungraded"
    for measure, ungraded in ((f"P@{TOP}", {NONE: TOP}), ("AP", {HALF: 4, NONE: 8}), ("P@8", {HALF: 4, NONE: 8})):
        assert leaderboard(half, measure).ungraded == ungraded, measure
    assert leaderboard(half, "nDCG@10", "NIST").ungraded == {}
    assert whole.as_dict()["ungraded_queries"] == {HALF: 4, NONE: 8}
    assert HALF in whole.ungraded_note and NONE in whole.ungraded_note
    assert NONE in top.ungraded_note and COMPLETE[0] not in top.ungraded_note


@pytest.mark.parametrize(("rating", "open_pairs"), [({}, {"q": 1}), ({("B?", "p"): None}, {})])
def test_coverage_needs_grades_of_avoid_questions(
    project: Project, rating: dict[tuple[str, str], int | None], open_pairs: dict[str, int]
) -> None:
    weights = {"A?": ("q", 1), "B?": ("q", -0.5), "off?": ("q", 0), "only avoid?": ("r", -1)}
    asked = [Question(text, query, text, weight=weight) for text, (query, weight) in weights.items()]
    fill(project, asked, {("A?", "p"): 5} | rating, {"x": {"q": ["p"], "r": ["p"]}})
    for measure in ("nDCG@10", "EXAM-Cover@5", "EXAM-Cover@5/pool"):
        board, needed = leaderboard(project, measure), 1 + (measure != "nDCG@10")
        assert (board.needed, board.usable, board.ungraded) == (needed, 1, open_pairs if needed == 2 else {}), measure
    union = leaderboard_per(project, "EXAM-Cover@5", per="union")
    assert (union.needed, union.usable, union.ungraded) == (2, 1, open_pairs)


def test_leaderboard_leaves_out_ungraded_queries_by_default(half: Project) -> None:
    for measure, kept in (("nDCG@10", QUERIES[:4]), (f"EXAM-Cover@{TOP}", QUERIES[:5])):
        board, whole = leaderboard(half, measure), leaderboard(half, measure, with_ungraded=True)
        assert board.query_ids == kept and board.left_out == set(QUERIES).difference(kept)
        assert set(whole.query_ids) > set(kept) and not whole.left_out.intersection(whole.query_ids)
        assert board.systems == board_over(whole, kept).systems
        assert all(set(scores) <= set(kept) for scores in board.per_query.values())
    per_topic = leaderboard_per(half, f"EXAM-Cover@{TOP}", per="topic")
    assert per_topic.query_ids == QUERIES[:5] and leaderboard_per(half, "AP", per="subtopic").query_ids == QUERIES[:4]


def test_correlation_leaves_out_and_names_ungraded_queries(half: Project) -> None:
    found = compare(half, "nDCG@10", "NIST")
    assert found.board.query_ids == found.official.query_ids == [*COMPLETE, FAILED]
    assert found.correlation.spearman == by_hand(half, "nDCG@10", [*COMPLETE, FAILED])
    assert (found.queries.ungraded, found.queries.left_out, found.queries.common) == ((HALF, NONE), True, 4)
    assert HALF in found.queries.description and NONE in found.queries.description
    covered = compare(half, f"EXAM-Cover@{TOP}", "NIST")
    assert covered.board.query_ids == QUERIES[:5], "the half-graded query has all pairs that this measure needs"
    assert covered.correlation.spearman == by_hand(half, f"EXAM-Cover@{TOP}", QUERIES[:5])


def test_ungraded_queries_can_be_included(half: Project) -> None:
    for queries, ids in (("all", QUERIES[:5]), ("own", QUERIES)):
        found = compare(half, "nDCG@10", "NIST", queries=queries)  # type: ignore[arg-type]
        assert found.official.query_ids == ids
        assert (found.queries.ungraded, found.queries.left_out) == ((HALF, NONE), False)
    assert compare(half, "nDCG@10", "NIST", queries="all").correlation.spearman == by_hand(half, "nDCG@10", QUERIES[:5])


def test_no_query_is_left_out_once_all_are_graded(own: Project) -> None:
    grade(own, {(f"{NONE}?", p): 2 for p in PASSAGES} | {(f"{HALF}?", p): 3 for p in PASSAGES[TOP:]})
    found = compare(own, "nDCG@10", "NIST")
    assert (found.queries.ungraded, found.queries.common) == ((), 6)
    assert found.as_dict()["queries"] == {"over": "common", "board": 6, "official": 6, "common": 6}


def test_no_correlation_without_complete_query(tmp_path: Path) -> None:
    def fill_some(project: Project) -> None:
        runs = {run: {q: PASSAGES[i:] for q in QUERIES} for i, run in enumerate(RUNS)}
        fill(project, [Question(q, q, f"{q}?") for q in QUERIES], {(f"{q}?", "p1"): 4 for q in QUERIES}, runs)
        judge(project, {(q, "p1"): 1 for q in QUERIES}, "NIST")

    for project in copy_of(fill_some, tmp_path):
        found = compare(project, "nDCG@10", "NIST")
        assert found.correlation.spearman is None and found.correlation.undefined
        assert not found.board.systems and len(found.queries.ungraded) == 6
        home = find_summary(project, Policy(), "nDCG@10", "NIST")
        assert home is not None and home.board.systems and home.official is None and not home.board.left_out
        row = meta_table(project, choose_rows(project, ["exam"], [4]), ["NIST"], ["nDCG@10"]).rows[0]
        assert row.cells[0].correlation.undefined == found.correlation.undefined
        assert compare_selection(project, "NIST").choices[0].best_by_judge == []


def test_imported_partial_grades_are_counted_and_included(own: Project) -> None:
    with own.transaction() as cursor:
        cursor.execute(
            "INSERT INTO jobs BY NAME SELECT 1 AS job_key, 'grading' AS kind, grader_key AS subject_key,"
            " '{}' AS request, 'imported' AS state, 34 AS total, 34 AS done, 0 AS failed, '' AS message,"
            " 'me' AS author, now()::TIMESTAMP AS started_at FROM graders"
        )
    found = compare(own, "nDCG@10", "NIST")
    assert (found.queries.ungraded, found.queries.left_out, found.queries.common) == ((HALF, NONE), False, 5)


def test_home_tables_and_figures_use_the_same_queries(half: Project) -> None:
    four = by_hand(half, "nDCG@10", [*COMPLETE, FAILED])
    home = find_summary(half, Policy(), "nDCG@10", "NIST")
    assert home is not None and home.compared is not None
    assert home.compared.correlation.spearman == four and home.outcome[0] == {*COMPLETE, FAILED}
    table = meta_table(half, choose_rows(half, ["exam", "NIST"], [4]), ["NIST"], ["nDCG@10", f"P@{TOP}"])
    cells = table.rows[0].cells
    assert cells[0].correlation.spearman == four and table.rows[0].queries == "4; 5"
    assert HALF in make_caption(table) and NONE in make_caption(table)
    _, found = system_points(leaderboard(half, "nDCG@10", "NIST"), leaderboard(half, "nDCG@10"))
    assert found.correlation.spearman == four


def test_commands_name_and_count_ungraded_queries(own: Project) -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(cli, [*arguments, "--project", str(path)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    four, five = by_hand(own, "nDCG@10", [*COMPLETE, FAILED]), by_hand(own, "nDCG@10", QUERIES[:5])
    path = own.path
    own.close()
    said = json.loads(run("correlate", "--against", "NIST", "--json"))
    assert said["spearman"] == pytest.approx(four) and said["pairs"] == {"needed": 48, "usable": 34}
    assert (said["queries"]["ungraded"], said["queries"]["left_out"]) == ([HALF, NONE], True)
    said = json.loads(run("correlate", "--against", "NIST", "--queries", "all", "--json"))
    assert said["spearman"] == pytest.approx(five) and said["queries"]["left_out"] is False
    assert HALF in run("correlate", "--against", "NIST") and NONE in run("meta", "--against", "NIST")
    assert HALF in run("leaderboard")
    said = json.loads(run("leaderboard", "--measure", f"EXAM-Cover@{TOP}", "--json"))
    assert (said["pairs"], said["ungraded_queries"]) == ({"needed": 24, "usable": 19}, {NONE: TOP})


def test_complete_leaderboards_are_returned_unchanged() -> None:
    board = Leaderboard("nDCG@10", "exam", Policy(), [], {"a": {"q": 1.0}}, ["q"])
    mine, theirs, found = align_boards(board, board)
    assert mine is board and theirs is board and found.ungraded == ()
