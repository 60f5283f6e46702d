"""Comparisons of two leaderboards over the queries that both have."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from exam_workbench import bank
from exam_workbench.cli import cli
from exam_workbench.labels import (
    Leaderboard,
    Policy,
    Queries,
    align_boards,
    compare,
    correlation_shift,
    leaderboard,
    official_board,
    order_systems,
)
from exam_workbench.labels._official_comparison import board_over
from exam_workbench.measures import bootstrap_samples, correlate_scores
from exam_workbench.review import changes, ratings_effect, state_changes
from exam_workbench.store import Project
from exam_workbench.study import (
    cell_comparison,
    choose_rows,
    compare_selection,
    meta_latex,
    meta_table,
    meta_tsv,
    system_points,
)
from exam_workbench.study._meta_table import Column
from exam_workbench.types import Question
from tests.made.projects import fill, filled_project, judge, read_project
from tests.made.refusals import mentions

SYSTEMS = [f"s{i}" for i in range(6)]


def board(queries: list[str], seed: int, source: str = "exam") -> Leaderboard:
    """Return a leaderboard of random scores; the same seed gives a query the same scores on every leaderboard."""
    per_query = {
        run: {q: float(np.random.default_rng([seed, i, int(q[1:])]).random()) for q in queries}
        for i, run in enumerate(SYSTEMS)
    }
    systems = order_systems(per_query, queries, Policy())
    return Leaderboard("nDCG@10", source, Policy(), systems, per_query, queries)


def names(first: int, last: int) -> list[str]:
    return [f"q{i}" for i in range(first, last)]


MINE, THEIRS = board(names(0, 5), 1), board(names(2, 30), 2, "nist")


def test_leaderboards_are_compared_over_common_queries() -> None:
    mine, theirs, found = align_boards(MINE, THEIRS)
    assert found == Queries("common", 5, 28, 3)
    assert mine.scores == board(names(2, 5), 1).scores
    assert theirs.systems == board(names(2, 5), 2).systems
    assert found.short == "3 of 5 / 28"
    assert all(mentions(found.description, number) for number in ("3", "5", "28"))


def test_own_queries_can_be_chosen() -> None:
    mine, theirs, found = align_boards(MINE, THEIRS, "own")
    assert (mine, theirs, found) == (MINE, THEIRS, Queries("own", 5, 28, 3))
    assert all(mentions(found.description, number) for number in ("3", "5", "28"))
    assert found.short == "5 / 28"


def test_leaderboards_with_same_queries_are_unchanged() -> None:
    mine, theirs, found = align_boards(MINE, board(names(0, 5), 2))
    assert mine is MINE
    assert theirs.query_ids == MINE.query_ids
    assert found.short == "5" and mentions(found.description, "5")


def test_imported_leaderboard_has_unknown_queries() -> None:
    imported = replace(THEIRS, per_query={}, query_ids=[])
    mine, theirs, found = align_boards(MINE, imported)
    assert (mine, theirs, found) == (MINE, imported, Queries("own", 5, None, None))
    assert mentions(found.description, "5")
    assert found.short == "5 / ?"


def test_without_common_queries_own_queries_are_used() -> None:
    mine, _, found = align_boards(MINE, board(names(9, 12), 2))
    assert (mine, found) == (MINE, Queries("own", 5, 3, 0))
    assert all(mentions(found.description, number) for number in ("0", "3", "5"))


def test_shift_and_interval_use_common_queries() -> None:
    before, after = MINE, board(names(0, 6), 3)
    found = correlation_shift(before, after, THEIRS, samples=60)
    old, new = (align_boards(each, THEIRS) for each in (before, after))
    assert found.before == correlate_scores(old[0].scores, old[1].scores).spearman
    assert found.after == correlate_scores(new[0].scores, new[1].scores).spearman
    assert found.queries == Queries("common", 6, 28, 4)
    among = names(2, 6)
    drawn = [
        bootstrap_samples(mine.per_query, theirs.per_query, ("spearman",), 60, among=among)["spearman"]
        for mine, theirs, _ in (old, new)
    ]
    low, high = np.nanquantile(drawn[1] - drawn[0], (0.025, 0.975))
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_shift_uses_own_queries_if_one_side_shares_none() -> None:
    found = correlation_shift(board(names(0, 2), 1), MINE, THEIRS, samples=20)
    assert found.queries.over == "own"
    assert found.after == correlate_scores(MINE.scores, THEIRS.scores).spearman


def fill_part(project: Project) -> None:
    """Fill six queries: two have questions, five are judged, and one has both."""
    queries, passages = names(0, 6), ["a", "b", "c", "d"]
    dice = np.random.default_rng(5)
    runs = {run: {q: [str(p) for p in dice.permutation(passages)] for q in queries} for run in SYSTEMS[:5]}
    asked = [Question(f"{q}/1", q, f"{q}?") for q in names(0, 2)]
    ratings = {(f"{q}?", p): int(dice.integers(0, 6)) for q in names(0, 2) for p in passages}
    fill(project, asked, ratings, runs)
    judge(project, {(q, p): int(dice.integers(0, 3)) for q in names(1, 6) for p in passages}, "NIST")


part = read_project(fill_part)
own = filled_project(fill_part)


def by_hand(project: Project, queries: list[str]) -> float | None:
    mine = board_over(leaderboard(project, "nDCG@10"), queries)
    theirs = board_over(leaderboard(project, "nDCG@10", "NIST"), queries)
    return correlate_scores(mine.scores, theirs.scores).spearman


def test_all_comparisons_use_common_queries(part: Project) -> None:
    common, own = by_hand(part, ["q1"]), by_hand(part, names(0, 6))
    assert common != own
    compared = compare(part, "nDCG@10", "NIST")
    assert (compared.correlation.spearman, compared.queries) == (common, Queries("common", 2, 5, 1))
    assert compare(part, "nDCG@10", "NIST", queries="own").correlation.spearman == own
    rows = choose_rows(part, ["exam"], [4])
    table = meta_table(part, rows, ["NIST"], ["nDCG@10"])
    cell = table.rows[0].cells[0]
    assert (cell.correlation.spearman, cell.queries) == (common, compared.queries)
    assert meta_table(part, rows, ["NIST"], ["nDCG@10"], queries="own").rows[0].cells[0].correlation.spearman == own
    column = Column("nDCG@10", "NIST", "nDCG@10", "nDCG@10")
    assert cell_comparison(part, rows[0], column).board.scores == compared.board.scores
    _, points = system_points(leaderboard(part, "nDCG@10", "NIST"), leaderboard(part, "nDCG@10"))
    assert (points.correlation.spearman, points.queries) == (common, compared.queries)
    effect = ratings_effect(part, "nDCG@10", Policy(), "a", {"q0/1": (0, 5)}, "NIST")
    assert effect.shift is not None and effect.shift.queries == compared.queries
    assert effect.shift.before == effect.shift.after == common
    assert compare_selection(part, "NIST").queries == compared.queries
    states = state_changes(part, Policy(), Policy(label="mean", min_rating=3), "nDCG@10", "NIST")
    assert states.shift is not None and states.shift.before == common


def test_impact_of_edit_matches_shift_after_saving(own: Project) -> None:
    edit = [replace(Question("q1/1", "q1", "q1?"), active=False), Question("q2/1", "q2", "q0?")]
    found = changes(own, "nDCG@10", Policy(), {"q1": edit[:1], "q2": edit[1:]})
    official = official_board(own, "NIST", "nDCG@10", Policy())
    live = correlation_shift(found.before, found.after, official, samples=30)
    before = leaderboard(own, "nDCG@10")
    bank.save_version(own, edit, "edit", "ann")
    saved = correlation_shift(before, leaderboard(own, "nDCG@10"), official, samples=30)
    assert live == saved


def run(project: Project, *arguments: str) -> str:
    project.close()
    result = CliRunner().invoke(cli, [*arguments, "--project", str(project.path)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_commands_report_compared_queries(own: Project) -> None:
    common, whole = by_hand(own, ["q1"]), by_hand(own, names(0, 6))
    said = json.loads(run(own, "correlate", "--against", "NIST", "--json"))
    assert (said["spearman"], said["systems"]) == (pytest.approx(common), 5)
    assert said["queries"] == {"over": "common", "board": 2, "official": 5, "common": 1}
    said = json.loads(run(own, "correlate", "--against", "NIST", "--queries", "own", "--json"))
    assert (said["spearman"], said["queries"]["over"]) == (pytest.approx(whole), "own")
    assert compare(own, "nDCG@10", "NIST").queries.description in run(own, "correlate", "--against", "NIST")
    said = json.loads(run(own, "meta", "--against", "NIST", "--measure", "nDCG@10", "--json"))
    assert said["rows"][0]["cells"][0]["queries"] == {"over": "common", "board": 2, "official": 5, "common": 1}


def test_paper_tables_include_query_counts(part: Project) -> None:
    table = meta_table(part, choose_rows(part, ["exam"], [4]), ["NIST"], ["nDCG@10"])
    header, row = (line.split("\t") for line in meta_tsv(table).splitlines()[:2])
    assert row[header.index("queries")] == "1 of 2 / 5"
    assert "1 of 2 / 5" in meta_latex(table)
