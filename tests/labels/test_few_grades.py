"""Correlations are withheld until half of the needed pairs are graded."""

from __future__ import annotations

import pytest

from exam_workbench import bank
from exam_workbench.board_summary import find_summary
from exam_workbench.labels import Policy, compare, correlation_shift, leaderboard, official_board
from exam_workbench.records import set_pool_depth
from exam_workbench.store import Project
from exam_workbench.study import cell_comparison, choose_rows, make_board, meta_table, offered_boards, system_points
from exam_workbench.types import Question
from pages.parts.home import panels
from tests.made.projects import fill, grade, judge

PASSAGES = [f"p{i}" for i in range(8)]
RUNS = {f"s{n}": {"q1": PASSAGES[n:] + PASSAGES[:n]} for n in range(4)}
A, B = Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?")


@pytest.fixture
def sparse(project: Project) -> Project:
    """Four runs, eight passages and two questions; seven of the sixteen pairs have ratings."""
    with project.transaction() as cursor:
        set_pool_depth(cursor, 8, "tester")
    fill(project, [A, B], {("A?", passage): 5 - place for place, passage in enumerate(PASSAGES[:6])}, RUNS)
    grade(project, {("B?", "p0"): 1, ("B?", "p1"): None})
    judge(project, {("q1", passage): int(place < 3) for place, passage in enumerate(PASSAGES)})
    return project


def test_correlation_is_withheld_below_half_of_pairs(sparse: Project) -> None:
    found = compare(sparse, "AP", "assessors")
    assert (found.board.usable, found.board.needed) == (7, 16) and found.correlation.spearman is None
    assert found.correlation.undefined == found.board.too_few and "43%" in (found.board.too_few or "")
    shown = str(panels.board_panel(find_summary(sparse, Policy(), "AP", "assessors"))["blocks"])
    assert "Spearman" not in shown and "43%" in shown
    official = official_board(sparse, "assessors", "AP", Policy())
    shift = correlation_shift(found.board, leaderboard(sparse, "AP"), official)
    assert (shift.before, shift.after, shift.low) == (None, None, None) and "43%" in shift.says
    table = meta_table(sparse, choose_rows(sparse, ["test grader"], [4]), ["assessors"], ["AP"])
    assert table.rows[0].cells[0].correlation.spearman is None
    assert cell_comparison(sparse, table.rows[0].row, table.columns[0]).correlation.undefined
    boards = [make_board(sparse, choice, Policy()) for choice in offered_boards(sparse, ["AP"]).values()]
    assert system_points(boards[-1], boards[0])[1].correlation.undefined
    grade(sparse, {("B?", "p2"): 0})
    assert compare(sparse, "AP", "assessors", queries="all").correlation.spearman is not None


def test_measure_needs_no_pairs_below_its_cutoff(sparse: Project) -> None:
    shallow = compare(sparse, "P@2", "assessors", queries="all")
    # The top two passages of the four runs are p0 to p4: six of ten pairs are rated, and one failed.
    assert (shallow.board.usable, shallow.board.needed) == (6, 10) and shallow.correlation.undefined is None
    bank.save_version(sparse, [Question("q1/c", "q1", "C?")], "one more question", "ann")
    shallow = compare(sparse, "P@2", "assessors", queries="all")
    assert (shallow.board.usable, shallow.board.needed) == (6, 15) and shallow.correlation.spearman is None
