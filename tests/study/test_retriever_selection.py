"""Retriever selection, checked by hand, against scipy and by command."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from scipy.stats import pearsonr, zscore

from exam_workbench.labels import Policy, leaderboard
from exam_workbench.store import Project
from exam_workbench.study import compare_selection
from exam_workbench.study._retriever_selection import classify_pairs, standardised_pearson
from exam_workbench.types import Question
from tests.made.projects import fill, judge, new_project, read_project
from tests.made.refusals import mentions, refusal
from tests.made.shell import exam_on

BANK = [Question("q1/a", "q1", "A?"), Question("q2/b", "q2", "B?")]
RUNS = {
    "x": {"q1": ["p1", "p2", "p3"], "q2": ["p4"]},
    "y": {"q1": ["p2", "p5", "p1"], "q2": ["p4", "p1"]},
    "z": {"q1": ["p3"], "q2": ["p1"]},
}
RATINGS = {
    ("A?", "p1"): 5,
    ("A?", "p2"): 4,
    ("A?", "p3"): 1,
    ("A?", "p5"): 0,
    ("B?", "p4"): 5,
    ("B?", "p1"): None,
}
JUDGMENTS = {("q1", "p1"): 2, ("q1", "p2"): 0, ("q1", "p3"): 1, ("q2", "p4"): 1, ("q2", "p1"): 0}


def fill_judged(project: Project) -> None:
    fill(project, BANK, RATINGS, RUNS)
    judge(project, JUDGMENTS)


judged = read_project(fill_judged)


def test_grader_is_classified_over_distinct_passages_of_all_runs(judged: Project) -> None:
    """p1 and q2's p4 are true positives, p2 is false, p3 missed; p5 is unjudged, q2's p1 unlabelled."""
    found = compare_selection(judged, top_k=3, measures=["P@1"]).overall
    assert (found.true_positive, found.false_positive, found.false_negative, found.true_negative) == (2, 1, 1, 0)
    assert (found.unlabelled, found.unjudged, found.compared) == (1, 1, 4)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(2 / 3)
    assert found.f1 == pytest.approx(2 / 3)
    assert found.accuracy == pytest.approx(2 / 4)
    found = compare_selection(judged, top_k=3, measures=["P@1"], unjudged_zero=True).overall
    assert (found.true_negative, found.unjudged, found.compared) == (1, 0, 5)
    strict = Policy(min_rating=1, min_judgment=2)
    found = compare_selection(judged, policy=strict, top_k=3, measures=["P@1"]).overall
    assert (found.true_positive, found.false_positive, found.false_negative, found.true_negative) == (1, 3, 0, 0)
    as_no = compare_selection(judged, top_k=3, measures=["P@1"], unreadable_no=True)
    # q2's p1 has no label and is judged non-relevant.
    assert (as_no.overall.true_negative, as_no.overall.unlabelled, as_no.overall.compared) == (1, 0, 5)
    assert as_no.verdicts.unreadable == 1, "unreadable outputs are still counted separately"
    assert as_no.as_dict()["unreadable_no"] is True


def test_each_run_is_classified_down_to_depth_and_best_ones_are_compared(judged: Project) -> None:
    found = compare_selection(judged, top_k=1, measures=["Success@1", "P@1"])
    assert found.per_run["x"].compared == 2 and found.per_run["x"].precision == 1.0
    assert found.per_run["y"].precision == 0.5
    # z returns p3, which the grader misses, and a passage without a label.
    assert found.per_run["z"].precision is None and found.per_run["z"].recall == 0.0
    assert found.retriever == {"x": (1.0, 1.0), "y": (1.0, 0.5), "z": (0.0, 0.5)}
    choice = next(choice for choice in found.choices if choice.measure == "P@1")
    assert (choice.best_by_judge, choice.best_by_truth, choice.same_choice) == (["x", "y"], ["x"], False)
    with refusal("unknown-source", "nobody"):
        compare_selection(judged, "nobody")
    with refusal("depth-out-of-range", "0"):
        compare_selection(judged, top_k=0)


def test_verdict_counts_include_unreadable_and_ungraded(project: Project) -> None:
    """p1, p2 and q2's p4 are yes, p3 and p5 are no, q2's p1 is unreadable, and p9 is ungraded."""
    fill(project, BANK, RATINGS, RUNS | {"w": {"q1": ["p9"]}})
    judge(project, JUDGMENTS)
    found = compare_selection(project, top_k=3, measures=["P@1"])
    verdicts = found.verdicts
    assert (verdicts.yes, verdicts.no, verdicts.unreadable, verdicts.ungraded) == (3, 2, 1, 1)
    assert verdicts.shares == {"yes": 3 / 6, "no": 2 / 6, "unreadable": 1 / 6}
    assert found.as_dict()["verdicts"]["shares"]["unreadable"] == 1 / 6
    assert found.overall.unlabelled == 2 and not found.unreadable_no


def test_counting_unreadable_as_no_changes_nothing_if_all_are_readable(project: Project) -> None:
    fill(project, BANK, {pair: rating for pair, rating in RATINGS.items() if rating is not None}, RUNS)
    judge(project, JUDGMENTS)
    for queries in ("common", "own"):
        first, second = (
            compare_selection(project, measures=["P@1", "AP"], unreadable_no=choice, queries=queries)
            for choice in (False, True)
        )
        assert first.as_dict() | {"unreadable_no": True} == second.as_dict()
        assert first.verdicts.unreadable == 0 < first.verdicts.ungraded


def test_fully_unreadable_query_counts_if_unreadable_means_no(project: Project) -> None:
    fill(project, BANK, RATINGS | {("B?", "p4"): None}, RUNS)
    judge(project, JUDGMENTS)
    (left_out,) = compare_selection(project, measures=["P@1"], queries="own").choices
    (counted,) = compare_selection(project, measures=["P@1"], unreadable_no=True, queries="own").choices
    assert left_out.judge == {"x": 1.0, "y": 1.0, "z": 0.0}
    assert counted.judge == {"x": 0.5, "y": 0.5, "z": 0.0}
    assert left_out.truth == counted.truth


def test_unknown_values_give_no_numbers() -> None:
    empty = classify_pairs({("q", "p")}, {}, {("q", "p"): True})
    assert (empty.unlabelled, empty.compared) == (1, 0)
    assert (empty.precision, empty.recall, empty.f1, empty.accuracy) == (None, None, None, None)


def test_correlation_covers_all_standardised_measures_and_systems(judged: Project) -> None:
    measures = ["nDCG@10", "AP", "Success@1", "P@5"]
    found = compare_selection(judged, measures=measures)
    left: list[float] = []
    right: list[float] = []
    for name in measures:
        by_grader, truth = (leaderboard(judged, name, source).scores for source in ("exam", "judgments"))
        for side, scores in ((left, by_grader), (right, truth)):
            side.extend(zscore([scores[run] for run in "xyz"]))
    assert found.pearson == pytest.approx(pearsonr(left, right).statistic)
    assert [choice.measure for choice in found.choices] == measures


def test_meaningless_correlation_is_undefined_with_reason() -> None:
    few = {"a": 1.0, "b": 2.0}
    flat = {"a": 1.0, "b": 1.0, "c": 1.0}
    value, reason = standardised_pearson([(few, few)])
    assert value is None and reason is not None and mentions(reason, "2") and mentions(reason, "3")
    assert standardised_pearson([(flat, flat)])[0] is None
    rising = {"a": 1.0, "b": 2.0, "c": 4.0}
    assert standardised_pearson([(flat, rising), (rising, rising)]) == (pytest.approx(1.0), None)


def test_command_prints_the_same_numbers(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p.duckdb")
    fill_judged(project)
    expected = compare_selection(project, top_k=3).as_dict()
    printed = partial(exam_on, project, "selection", "--against", "assessors", "--top-k", "3")
    assert printed("--json") == json.loads(json.dumps(expected))
    shown = printed()
    assert "all runs" in shown and "Pearson over all measures and systems" in shown
    assert all(number in shown for number in ("yes 3 (50.0%)", "no 2 (33.3%)", "unreadable 1 (16.7%)", "ungraded 0"))
    found = printed("--unreadable-no", "--json")
    assert found["unreadable_no"] and found["overall"]["unlabelled"] == 0
