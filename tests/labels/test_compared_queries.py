"""Comparisons of leaderboards: over common queries, without ungraded queries, and not with few grades."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from exam_workbench import bank
from exam_workbench.board_summary import find_summary
from exam_workbench.labels import (
    Leaderboard,
    Policy,
    Queries,
    align_boards,
    basis,
    compare,
    correlation_shift,
    grading_progress,
    leaderboard,
    leaderboard_per,
    official_board,
)
from exam_workbench.labels._official_comparison import board_over
from exam_workbench.measures import bootstrap_samples, correlate_scores
from exam_workbench.records import add_job, end_job, set_pool_depth
from exam_workbench.review import changes, ratings_effect, state_changes
from exam_workbench.store import Project
from exam_workbench.study import (
    cell_comparison,
    choose_rows,
    compare_selection,
    make_board,
    make_caption,
    meta_latex,
    meta_table,
    meta_tsv,
    offered_boards,
    system_points,
)
from exam_workbench.study._meta_table import Column
from exam_workbench.types import Question
from pages.parts.home import panels
from tests.made.projects import commit, fill, filled_project, grade, judge, made_project, read_project
from tests.made.refusals import mentions
from tests.made.shell import ShellOn, printed
from tests.study.test_significance import board_of

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


def by_hand(project: Project, queries: list[str], measure: str = "nDCG@10") -> float | None:
    mine, theirs = leaderboard(project, measure), leaderboard(project, "nDCG@10", "NIST")
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


def test_correlation_names_ungraded_queries_and_can_include_them(half: Project) -> None:
    found = compare(half, "nDCG@10", "NIST")
    assert found.board.query_ids == found.official.query_ids == [*COMPLETE, FAILED]
    assert found.correlation.spearman == by_hand(half, [*COMPLETE, FAILED])
    assert (found.queries.ungraded, found.queries.left_out, found.queries.common) == ((HALF, NONE), True, 4)
    assert HALF in found.queries.description and NONE in found.queries.description
    covered = compare(half, f"EXAM-Cover@{TOP}", "NIST")
    assert covered.board.query_ids == QUERIES[:5], "the half-graded query has all pairs that this measure needs"
    assert covered.correlation.spearman == by_hand(half, QUERIES[:5], f"EXAM-Cover@{TOP}")
    for queries, ids in (("all", QUERIES[:5]), ("own", QUERIES)):
        found = compare(half, "nDCG@10", "NIST", queries=queries)  # type: ignore[arg-type]
        assert found.official.query_ids == ids
        assert (found.queries.ungraded, found.queries.left_out) == ((HALF, NONE), False)
    assert compare(half, "nDCG@10", "NIST", queries="all").correlation.spearman == by_hand(half, QUERIES[:5])
    assert compare(half, "nDCG@10", "NIST", source="NIST").correlation.spearman == pytest.approx(1)


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

    project = made_project(tmp_path / "test.duckdb", fill_some)
    found = compare(project, "nDCG@10", "NIST")
    assert found.correlation.spearman is None and found.correlation.undefined
    assert not found.board.systems and len(found.queries.ungraded) == 6
    home = find_summary(project, Policy(), "nDCG@10", "NIST")
    assert home is not None and home.board.systems and home.official is None and not home.board.left_out
    row = meta_table(project, choose_rows(project, ["exam"], [4]), ["NIST"], ["nDCG@10"]).rows[0]
    assert row.cells[0].correlation.undefined == found.correlation.undefined
    assert compare_selection(project, "NIST").choices[0].best_by_judge == []


def test_imported_partial_grades_are_counted_and_included(own: Project) -> None:
    grader = own.value("SELECT grader_key FROM graders")
    commit(own, lambda cursor: end_job(cursor, add_job(cursor, "grading", grader, {}, 34, "ann"), "imported", ""))
    found = compare(own, "nDCG@10", "NIST")
    assert (found.queries.ungraded, found.queries.left_out, found.queries.common) == ((HALF, NONE), False, 5)


def test_home_tables_and_figures_use_the_same_queries(half: Project) -> None:
    four = by_hand(half, [*COMPLETE, FAILED])
    home = find_summary(half, Policy(), "nDCG@10", "NIST")
    assert home is not None and home.compared is not None
    assert home.compared.correlation.spearman == four and home.outcome[0] == {*COMPLETE, FAILED}
    table = meta_table(half, choose_rows(half, ["exam", "NIST"], [4]), ["NIST"], ["nDCG@10", f"P@{TOP}"])
    cells = table.rows[0].cells
    assert cells[0].correlation.spearman == four and table.rows[0].queries == "4; 5"
    assert HALF in make_caption(table) and NONE in make_caption(table)
    _, found = system_points(leaderboard(half, "nDCG@10", "NIST"), leaderboard(half, "nDCG@10"))
    assert found.correlation.spearman == four


def test_commands_name_and_count_ungraded_queries(half: Project, shell_on: ShellOn) -> None:
    run = shell_on(fill_half)
    four, five = by_hand(half, [*COMPLETE, FAILED]), by_hand(half, QUERIES[:5])
    said = printed(run("correlate", "--against", "NIST", "--json"))
    assert said["spearman"] == pytest.approx(four) and said["pairs"] == {"needed": 48, "usable": 34}
    assert (said["queries"]["ungraded"], said["queries"]["left_out"]) == ([HALF, NONE], True)
    said = printed(run("correlate", "--against", "NIST", "--queries", "all", "--json"))
    assert said["spearman"] == pytest.approx(five) and said["queries"]["left_out"] is False
    assert HALF in str(run("correlate", "--against", "NIST")) and NONE in str(run("meta", "--against", "NIST"))
    assert HALF in str(run("leaderboard"))
    said = printed(run("leaderboard", "--measure", f"EXAM-Cover@{TOP}", "--json"))
    assert (said["pairs"], said["ungraded_queries"]) == ({"needed": 24, "usable": 19}, {NONE: TOP})


# Common queries of two leaderboards


SYSTEMS = [f"s{i}" for i in range(6)]


def board(queries: list[str], seed: int, source: str = "exam") -> Leaderboard:
    """Return a leaderboard of random scores; the same seed gives a query the same scores on every leaderboard."""
    per_query = {
        run: {q: float(np.random.default_rng([seed, i, int(q[1:])]).random()) for q in queries}
        for i, run in enumerate(SYSTEMS)
    }
    return replace(board_of(per_query, queries=queries), source=source)


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


def test_leaderboards_without_shared_queries_are_compared_over_their_own() -> None:
    mine, theirs, found = align_boards(MINE, THEIRS, "own")
    assert (mine, theirs, found) == (MINE, THEIRS, Queries("own", 5, 28, 3))
    assert all(mentions(found.description, number) for number in ("3", "5", "28"))
    assert found.short == "5 / 28"
    # Without common queries, own queries are used.
    mine, _, found = align_boards(MINE, board(names(9, 12), 2))
    assert (mine, found) == (MINE, Queries("own", 5, 3, 0))
    assert all(mentions(found.description, number) for number in ("0", "3", "5"))
    # The queries of an imported leaderboard are unknown.
    imported = replace(THEIRS, per_query={}, query_ids=[])
    mine, theirs, found = align_boards(MINE, imported)
    assert (mine, theirs, found) == (MINE, imported, Queries("own", 5, None, None))
    assert mentions(found.description, "5")
    assert found.short == "5 / ?"


def test_leaderboards_with_same_queries_are_unchanged() -> None:
    same = board(names(0, 5), 2)
    mine, theirs, found = align_boards(MINE, same)
    assert mine is MINE and theirs is same and found.ungraded == ()
    assert found.short == "5" and mentions(found.description, "5")


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
    # Own queries are used if one side shares none.
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


part = filled_project(fill_part)


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
    assert table.as_dict()["rows"][0]["cells"][0]["queries"] == compared.queries.as_dict()
    header, row = (line.split("\t") for line in meta_tsv(table).splitlines()[:2])
    assert row[header.index("queries")] == "1 of 2 / 5"
    assert "1 of 2 / 5" in meta_latex(table)
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


def test_impact_of_edit_matches_shift_after_saving(part: Project) -> None:
    edit = [replace(Question("q1/1", "q1", "q1?"), active=False), Question("q2/1", "q2", "q0?")]
    found = changes(part, "nDCG@10", Policy(), {"q1": edit[:1], "q2": edit[1:]})
    official = official_board(part, "NIST", "nDCG@10", Policy())
    live = correlation_shift(found.before, found.after, official, samples=30)
    before = leaderboard(part, "nDCG@10")
    bank.save_version(part, edit, "edit", "ann")
    saved = correlation_shift(before, leaderboard(part, "nDCG@10"), official, samples=30)
    assert live == saved


# Few grades


SPARSE_RUNS = {f"s{n}": {"q1": PASSAGES[n:] + PASSAGES[:n]} for n in range(4)}
A, B = Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?")


@pytest.fixture
def sparse(project: Project) -> Project:
    """Four runs, eight passages and two questions; seven of the sixteen pairs have ratings."""
    commit(project, set_pool_depth, 8, "tester")
    fill(project, [A, B], {("A?", passage): 5 - place for place, passage in enumerate(PASSAGES[:6])}, SPARSE_RUNS)
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


# The shift in correlation that an edit causes


TWELVE = [f"q{i:02}" for i in range(12)]


def imported(scores: dict[str, float]) -> Leaderboard:
    return replace(board_of({run: {"all": score} for run, score in scores.items()}), source="nist", per_query={})


def at_random(seed: int, quality: float = 0.0) -> dict[str, dict[str, float]]:
    """Return scores by system and query: noise plus `quality` times the system's place."""
    dice = np.random.default_rng(seed)
    return {
        run: {query: float(quality * place + dice.random()) for query in TWELVE} for place, run in enumerate(SYSTEMS)
    }


OFFICIAL = imported({run: place / 10 for place, run in enumerate(SYSTEMS)})


def reference(
    before: Leaderboard, after: Leaderboard, official: dict[str, float], queries: list[str], samples: int
) -> tuple[float, float]:
    """Compute the interval with plain loops and scipy, both leaderboards on the same draws of queries."""
    counts = np.random.default_rng(0).multinomial(len(queries), [1 / len(queries)] * len(queries), size=samples)
    shifts = []
    for count in counts.tolist():
        rho = []
        for one in (before, after):
            known = {query for scores in one.per_query.values() for query in scores}
            drawn = [query for query, times in zip(queries, count, strict=True) for _ in range(times) if query in known]
            means = [round(sum(one.per_query[run].get(q, 0.0) for q in drawn) / len(drawn), 12) for run in SYSTEMS]
            rho.append(spearmanr(means, [official[run] for run in SYSTEMS]).statistic)
        shifts.append(rho[1] - rho[0])
    low, high = np.quantile(shifts, (0.025, 0.975))
    return float(low), float(high)


def test_interval_uses_the_same_query_draws_for_both():
    before, after = board_of(at_random(1)), board_of(at_random(2, quality=0.05))
    found = correlation_shift(before, after, OFFICIAL, samples=150)
    low, high = reference(before, after, OFFICIAL.scores, TWELVE, 150)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert found.before == pytest.approx(spearmanr([before.scores[run] for run in SYSTEMS], range(6)).statistic)
    assert found.after == pytest.approx(spearmanr([after.scores[run] for run in SYSTEMS], range(6)).statistic)


def test_removed_query_does_not_change_draws():
    scores = at_random(1)
    fewer = {run: {query: score for query, score in by.items() if query != "q00"} for run, by in scores.items()}
    before, after = board_of(scores), board_of(fewer)
    found = correlation_shift(before, after, OFFICIAL, samples=150)
    low, high = reference(before, after, OFFICIAL.scores, TWELVE, 150)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    back = correlation_shift(after, before, OFFICIAL, samples=150)
    assert (back.low, back.high) == (pytest.approx(-high), pytest.approx(-low))


def test_large_gain_and_its_loss_exceed_noise():
    bad, good = board_of(at_random(1)), board_of(at_random(1, quality=1.0))
    found = correlation_shift(bad, good, OFFICIAL)
    assert found.low is not None and found.high is not None and found.after is not None and found.before is not None
    assert 0 < found.low <= found.after - found.before <= found.high
    loss = correlation_shift(good, bad, OFFICIAL)
    assert loss.high is not None and loss.high < 0
    assert len({found.says, loss.says}) == 2
    # Official scores per query use the same draws.
    found = correlation_shift(bad, good, good)
    assert found.after == 1.0
    assert found.high is not None and found.low is not None
    assert 0 < found.low <= 1 - (found.before or 0) <= found.high


@pytest.mark.parametrize(
    ("official", "common"),
    [
        ({"s0": 0.1, "s1": 0.2}, "2"),
        ({"a": 0.1, "b": 0.2, "c": 0.3}, "0"),
        (dict.fromkeys(SYSTEMS, 0.5), "6"),
    ],
)
def test_undefined_correlation_gives_reason(official: dict[str, float], common: str):
    found = correlation_shift(board_of(at_random(1)), board_of(at_random(2)), imported(official))
    assert (found.before, found.after, found.low, found.high) == (None, None, None, None)
    assert mentions(found.says, common)


def test_edit_to_constant_scores_or_single_query_leaves_parts_undefined():
    constant = board_of({run: dict.fromkeys(TWELVE, 0.5) for run in SYSTEMS})
    found = correlation_shift(board_of(at_random(1)), constant, OFFICIAL)
    assert (found.before is None, found.after) == (False, None)
    assert mentions(found.says, "6") and mentions(found.says, "first")
    one, other = ({run: {"q00": by["q00"]} for run, by in at_random(seed).items()} for seed in (1, 2))
    found = correlation_shift(board_of(one), board_of(other), OFFICIAL)
    assert (found.before is None, found.after is None) == (False, False)
    assert (found.low, found.high) == (None, None) and found.says
