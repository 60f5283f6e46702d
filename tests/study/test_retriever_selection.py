"""Retriever selection, checked by hand, against scipy and by command."""

from __future__ import annotations

import json
import random
import statistics
import sys

import pytest
from scipy.stats import pearsonr, zscore

from exam_workbench import cli
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.store import Project
from exam_workbench.study import compare_selection
from exam_workbench.study._retriever_selection import classify_pairs, standardised_pearson
from exam_workbench.types import Question
from tests.made.projects import fill, judge, new_project
from tests.made.refusals import mentions, refusal

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


def _fill(project: Project) -> None:
    fill(project, BANK, RATINGS, RUNS)
    judge(project, JUDGMENTS)


def test_grader_is_classified_over_distinct_passages_of_all_runs(project: Project) -> None:
    """p1 and q2's p4 are true positives, p2 is false, p3 missed; p5 is unjudged, q2's p1 unlabelled."""
    _fill(project)
    found = compare_selection(project, top_k=3, measures=["P@1"]).overall
    assert (found.true_positive, found.false_positive, found.false_negative, found.true_negative) == (2, 1, 1, 0)
    assert (found.unlabelled, found.unjudged, found.compared) == (1, 1, 4)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(2 / 3)
    assert found.f1 == pytest.approx(2 / 3)
    assert found.accuracy == pytest.approx(2 / 4)


def test_each_run_is_classified_down_to_depth(project: Project) -> None:
    _fill(project)
    found = compare_selection(project, top_k=1, measures=["P@1"])
    assert found.per_run["x"].compared == 2 and found.per_run["x"].precision == 1.0
    assert found.per_run["y"].precision == 0.5
    # z returns p3, which the grader misses, and a passage without a label.
    assert found.per_run["z"].precision is None and found.per_run["z"].recall == 0.0
    assert found.retriever == {"x": (1.0, 1.0), "y": (1.0, 0.5), "z": (0.0, 0.5)}


def test_unjudged_passages_can_count_as_non_relevant(project: Project) -> None:
    _fill(project)
    found = compare_selection(project, top_k=3, measures=["P@1"], unjudged_zero=True).overall
    assert (found.true_negative, found.unjudged, found.compared) == (1, 0, 5)


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


def test_unreadable_outputs_can_count_as_no(project: Project) -> None:
    _fill(project)
    found = compare_selection(project, top_k=3, measures=["P@1"], unreadable_no=True)
    # q2's p1 has no label and is judged non-relevant.
    assert (found.overall.true_negative, found.overall.unlabelled, found.overall.compared) == (1, 0, 5)
    assert found.verdicts.unreadable == 1, "unreadable outputs are still counted separately"
    assert found.as_dict()["unreadable_no"] is True


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


def test_min_rating_and_min_judgment_come_from_policy(project: Project) -> None:
    _fill(project)
    found = compare_selection(project, policy=Policy(min_rating=1, min_judgment=2), top_k=3, measures=["P@1"]).overall
    assert (found.true_positive, found.false_positive, found.false_negative, found.true_negative) == (1, 3, 0, 0)


def test_unknown_values_give_no_numbers() -> None:
    empty = classify_pairs({("q", "p")}, {}, {("q", "p"): True})
    assert (empty.unlabelled, empty.compared) == (1, 0)
    assert (empty.precision, empty.recall, empty.f1, empty.accuracy) == (None, None, None, None)


def test_correlation_covers_all_standardised_measures_and_systems(project: Project) -> None:
    _fill(project)
    measures = ["nDCG@10", "AP", "Success@1", "P@5"]
    found = compare_selection(project, measures=measures)
    left: list[float] = []
    right: list[float] = []
    for name in measures:
        judged, truth = (leaderboard(project, name, source).scores for source in ("exam", "judgments"))
        for side, scores in ((left, judged), (right, truth)):
            side.extend(zscore([scores[run] for run in "xyz"]))
    assert found.pearson == pytest.approx(pearsonr(left, right).statistic)
    assert [choice.measure for choice in found.choices] == measures


def test_standardising_removes_differences_between_measures() -> None:
    """Raw values correlate only because one measure is large on both sides; the order of systems is random."""
    dice = random.Random(5)
    runs = [f"r{i}" for i in range(40)]
    small, large = ([({run: level + dice.random() for run in runs}) for _ in range(2)] for level in (0.0, 100.0))
    value, reason = standardised_pearson([(small[0], small[1]), (large[0], large[1])])
    assert reason is None and value is not None and abs(value) < 0.4
    raw = statistics.correlation([*small[0].values(), *large[0].values()], [*small[1].values(), *large[1].values()])
    assert raw > 0.99


def test_meaningless_correlation_is_undefined_with_reason() -> None:
    few = {"a": 1.0, "b": 2.0}
    flat = {"a": 1.0, "b": 1.0, "c": 1.0}
    value, reason = standardised_pearson([(few, few)])
    assert value is None and reason is not None and mentions(reason, "2") and mentions(reason, "3")
    assert standardised_pearson([(flat, flat)])[0] is None
    rising = {"a": 1.0, "b": 2.0, "c": 4.0}
    assert standardised_pearson([(flat, rising), (rising, rising)]) == (pytest.approx(1.0), None)


def test_best_systems_are_compared_for_each_measure(project: Project) -> None:
    _fill(project)
    choices = {choice.measure: choice for choice in compare_selection(project, measures=["Success@1", "P@1"]).choices}
    assert choices["P@1"].best_by_judge == ["x", "y"]
    assert choices["P@1"].best_by_truth == ["x"]
    assert not choices["P@1"].same_choice


def test_unknown_source_and_depth_are_refused(project: Project) -> None:
    _fill(project)
    with refusal("unknown-source", "nobody"):
        compare_selection(project, "nobody")
    with refusal("depth-out-of-range", "0"):
        compare_selection(project, top_k=0)


def test_command_prints_the_same_numbers(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = new_project(tmp_path / "p.duckdb")
    _fill(project)
    expected = compare_selection(project, top_k=3).as_dict()
    project.close()
    line = ["exam", "selection", "--project", str(tmp_path / "p.duckdb"), "--against", "assessors", "--top-k", "3"]
    monkeypatch.setattr(sys, "argv", [*line, "--json"])
    cli.main()
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(expected))
    monkeypatch.setattr(sys, "argv", line)
    cli.main()
    shown = capsys.readouterr().out
    assert "all runs" in shown and "Pearson over all measures and systems" in shown
    assert all(number in shown for number in ("yes 3 (50.0%)", "no 2 (33.3%)", "unreadable 1 (16.7%)", "ungraded 0"))
    monkeypatch.setattr(sys, "argv", [*line, "--unreadable-no", "--json"])
    cli.main()
    found = json.loads(capsys.readouterr().out)
    assert found["unreadable_no"] and found["overall"]["unlabelled"] == 0
