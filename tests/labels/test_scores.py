"""Labels, coverage and leaderboards against their definitions."""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from exam_workbench.bank import question_text_key, save_version
from exam_workbench.errors import InputError
from exam_workbench.labels import Policy, add_override, basis, coverage_scores, labels_of, leaderboard, list_labels
from exam_workbench.labels._policy import parse_rule
from exam_workbench.store import Project
from exam_workbench.types import GraderSpec, Question
from tests.made.projects import (
    examples,
    expected_coverage,
    expected_label,
    fill,
    filled_project,
    grade,
    judge,
    new_project,
)
from tests.made.refusals import refusal

PASSAGES = [f"p{i}" for i in range(6)]


@st.composite
def small_projects(draw: st.DrawFn) -> tuple[list[Question], dict[tuple[str, str], int | None], dict]:
    weights = draw(st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0]), min_size=1, max_size=5))
    questions = [
        Question(f"q1/{i}", "q1", f"question {i}?", weight=w, active=draw(st.booleans())) for i, w in enumerate(weights)
    ]
    pairs = [(q.text or "", p) for q in questions for p in PASSAGES]
    rated = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=len(pairs)))
    ratings = {pair: draw(st.sampled_from([None, 0, 1, 2, 3, 4, 5])) for pair in rated}
    runs = {run: {"q1": draw(st.lists(st.sampled_from(PASSAGES), unique=True, min_size=1))} for run in ("a", "b", "c")}
    return questions, ratings, runs


policies = st.builds(
    Policy,
    label=st.sampled_from(["max", "mean", "support:1", "support:2", "support:3"]),
    weighted=st.booleans(),
    min_rating=st.integers(1, 5),
    cutoff=st.integers(1, 4),
)


@settings(max_examples=examples(5), suppress_health_check=[HealthCheck.too_slow])
@given(small_projects(), st.lists(policies, min_size=2, max_size=4))
def test_labels_and_coverage_follow_their_definitions(made, several):
    questions, ratings, runs = made
    active = [q for q in questions if q.active]
    pooled = {p for by_query in runs.values() for p in by_query["q1"]} if active else set()
    weights = {q.text: q.weight for q in active}
    with tempfile.TemporaryDirectory() as folder:
        project = new_project(Path(folder) / "p.duckdb")
        fill(project, questions, ratings, runs)
        if not ratings:
            grade(project, {})
        for policy in several:
            rule, weighted, tau = policy.label, policy.weighted, policy.min_rating
            table = list_labels(project, basis(project, policy))
            found = {
                passage: None if pd.isna(label) else label
                for passage, label in zip(table["passage_id"], table["label"], strict=True)
            }
            assert found == {
                p: expected_label([(q.weight, ratings.get((q.text, p))) for q in active], rule, weighted)
                for p in pooled
            }
            scores = coverage_scores(project, basis(project, policy))
            for run, by_query in runs.items():
                expected = expected_coverage(weights, ratings, by_query["q1"][: policy.cutoff], tau, weighted)
                assert scores.get(run, {}).get("q1") == (None if expected is None else pytest.approx(expected))
        project.close()


QUESTIONS = [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?"), Question("q2/c", "q2", "C?")]
RATINGS = {("A?", "p1"): 5, ("A?", "p2"): 0, ("B?", "p1"): None, ("B?", "p2"): 3, ("C?", "p3"): 4}
RUNS = {"good": {"q1": ["p1", "p2"], "q2": ["p3"]}, "bad": {"q1": ["p9"]}}


def fill_graded(project: Project) -> None:
    fill(project, QUESTIONS, RATINGS, RUNS)


own = filled_project(fill_graded)


def test_skipped_query_scores_zero_unless_ignored(own):
    zero = leaderboard(own, "EXAM-Cover@20", policy=Policy(min_rating=3), with_ungraded=True)
    ignored = leaderboard(own, "EXAM-Cover@20", policy=Policy(min_rating=3, skipped="ignore"), with_ungraded=True)
    assert zero.scores == {"good": 1.0, "bad": 0.0}
    assert {s.run: s.queries for s in ignored.systems} == {"good": 2, "bad": 1}
    judge(own, {("q1", "p1"): 2, ("q2", "p3"): 1})
    official = leaderboard(own, "P@5", "assessors", Policy(skipped="ignore"))
    assert official.scores["good"] == pytest.approx(0.2)


def test_leaderboard_has_standard_errors_and_uses_min_rating_for_answers(own):
    policies = [Policy(min_rating=t) for t in (4, 3)]
    # The standard error is the sample deviation over the root of the number of queries.
    board = leaderboard(own, "EXAM-Cover@20", policy=Policy(min_rating=4), with_ungraded=True)
    good = next(s for s in board.systems if s.run == "good")
    assert good.score == pytest.approx((0.5 + 1.0) / 2)
    assert good.std_error == pytest.approx(0.25)
    strict, lenient = (leaderboard(own, "P@5", policy=each, with_ungraded=True).scores for each in policies)
    assert strict["good"] < lenient["good"]
    same = [leaderboard(own, "nDCG@10", policy=each).scores for each in policies]
    assert same[0] == same[1]
    # alpha_nDCG uses answered questions as intents.
    scores = leaderboard(own, "alpha_nDCG@10", policy=Policy(min_rating=3), with_ungraded=True).per_query
    assert scores["good"]["q1"] == pytest.approx(1.0)


def test_weights_change_scores_without_new_grades(own):
    before = own.value("SELECT count(*) FROM grades")
    save_version(own, [replace(QUESTIONS[0], weight=3.0)], "A matters", "tester")
    board = leaderboard(own, "EXAM-Cover@20", policy=Policy(min_rating=4), with_ungraded=True)
    assert board.per_query["good"]["q1"] == pytest.approx(0.75)
    old = leaderboard(own, "EXAM-Cover@20", policy=Policy(min_rating=4, bank_version=1), with_ungraded=True)
    assert old.per_query["good"]["q1"] == pytest.approx(0.5)
    assert own.value("SELECT count(*) FROM grades") == before
    # A grader of nuggets is scored on nuggets only.
    save_version(own, [Question("q1/n", "q1", "A fact", kind="nugget")], "a nugget", "tester")
    spec = replace(GraderSpec("nuggets", "self-rating", "m"), kinds=("nugget",))
    grade(own, {("A fact", "p2"): 5}, spec)
    board = leaderboard(own, "EXAM-Cover@20", policy=Policy(grader="nuggets"))
    assert board.per_query["good"] == {"q1": 1.0}


def test_direct_grader_labels_without_questions(own):
    spec = GraderSpec("judge", "direct", "m", max_rating=3)
    with own.transaction() as cursor:
        question_text_key(cursor, "query q1")
    grade(own, {("query q1", "p1"): 2, ("query q1", "p2"): 0}, spec)
    table = list_labels(own, basis(own, Policy(grader="judge"))).set_index("passage_id")
    assert (table.loc["p1", "label"], table.loc["p2", "label"]) == (2, 0)
    # Each query is its only question. No passage answers the second of the two queries, so it scores 0.
    board = leaderboard(own, "EXAM-Cover@20", policy=Policy(grader="judge", min_rating=2))
    assert (board.per_query["good"]["q1"], board.systems[0].score) == (1.0, 0.5)


def test_unknown_names_are_refused(own):
    with refusal("unknown-measure"):
        leaderboard(own, "nDGC@10")
    with refusal("unknown-grader", "test"):
        leaderboard(own, "nDCG@10", policy=Policy(grader="nobody"))
    with refusal("unknown-bank-version"):
        leaderboard(own, "nDCG@10", policy=Policy(bank_version=9))
    with refusal("measure-not-from-judgments"):
        judge(own, {("q1", "p1"): 1})
        leaderboard(own, "EXAM-Cover", "judgments")


@pytest.mark.parametrize(
    ("top", "expected"), [(5, [0, 1, 2, 3, 4, 5]), (3, [0, 0, 1, 2, 3, 3]), (1, [0, 0, 0, 0, 1, 1])]
)
def test_override_is_mapped_to_shorter_scale(project: Project, top: int, expected: list[int]) -> None:
    spec = GraderSpec("short", "self-rating", "none", max_rating=top)
    passages = [f"p{rating}" for rating in range(6)]
    runs = {passage: {"q1": [passage]} for passage in passages}
    fill(project, [Question("q1/a", "q1", "A?")], {("A?", p): 0 for p in passages}, runs, spec)
    for rating, passage in enumerate(passages):
        add_override(project, "q1/a", passage, rating, "read", "ann")
    # An override of 4 or 5 counts as an answer on every scale.
    assert leaderboard(project, "EXAM-Cover@1").scores == {p: float(at >= 4) for at, p in enumerate(passages)}
    assert (
        list_labels(project, basis(project, Policy()))["label"].tolist()
        == expected
        == [spec.on_scale(rating) for rating in range(6)]
    )


def test_weighted_mean_halfway_between_labels_rounds_up(project: Project) -> None:
    # (0.3 + 2.1 + 0.4 + 1.6 + 0.6) / 2.0 = 2.5, which floating-point sums miss slightly.
    given = [(0.1, 3), (0.7, 3), (0.2, 2), (0.4, 4), (0.6, 1)]
    bank = [Question(f"q1/{i}", "q1", f"{i}?", weight=weight) for i, (weight, _) in enumerate(given)]
    fill(project, bank, {(f"{i}?", "p1"): rating for i, (_, rating) in enumerate(given)}, {"s": {"q1": ["p1"]}})
    assert list_labels(project, basis(project, Policy(label="mean")))["label"].tolist() == [3]
    weights, ratings = (np.array(column) for column in zip(*given, strict=True))
    assert labels_of(ratings.astype(np.int8)[None], weights, parse_rule("mean")).tolist() == [3]


def test_invalid_policy_is_refused():
    for policy in ({"min_rating": 0}, {"min_rating": 6}, {"cutoff": 0}, {"label": "median"}, {"label": "support:0"}):
        with pytest.raises(InputError):
            Policy(**policy)
    too_large = itertools.product(("cutoff", "min_judgment", "bank_version"), (2**31, -(2**63), 10**3000))
    for name, number in too_large:
        with refusal("setting-out-of-range") as refused:
            Policy(**{name: number})
        assert len(str(refused.value)) < 200


def test_largest_allowed_numbers_work(project: Project) -> None:
    fill(project, [Question("a", "q", "A?")], {("A?", "p"): 5}, {"r": {"q": ["p"]}})
    judge(project, {("q", "p"): 1})
    policy = Policy(cutoff=2**31 - 1, min_judgment=2**31 - 1)
    assert leaderboard(project, "EXAM-Cover", "exam", policy).scores == {"r": 1.0}
    assert leaderboard(project, "AP", "assessors", policy).scores == {"r": 0.0}
    with refusal("cutoff-out-of-range"):
        leaderboard(project, f"EXAM-Cover@{10**30}", "exam")
