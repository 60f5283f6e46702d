"""Overrides: effect on labels, withdrawal, staleness after rewording, and refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exam_workbench.bank import save_version
from exam_workbench.errors import InputError
from exam_workbench.grading import make_plan
from exam_workbench.labels import (
    Policy,
    add_override,
    basis,
    confirm_override,
    find_overrides,
    label_qrels,
    leaderboard,
    override_all,
    withdraw_all,
    withdraw_by_key,
)
from exam_workbench.review import changes, override_labels
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import SPEC, fill, filled_project
from tests.made.refusals import refusal

A = Question("q1/a", "q1", "A?")
B = Question("q1/b", "q1", "B?")
GRADES = {("A?", "p1"): 5, ("A?", "p2"): 1, ("B?", "p1"): 2}


def fill_graded(project: Project) -> None:
    fill(project, [A, B], GRADES, {"x": {"q1": ["p1"]}, "y": {"q1": ["p2"]}})


own = filled_project(fill_graded)


def label(project: Project, passage: str, **policy: bool) -> int | None:
    return label_qrels(project, basis(project, Policy(**policy)))["q1"].get(passage)


def test_override_counts_at_once_until_withdrawn(own: Project) -> None:
    key = add_override(own, "q1/a", "p1", 0, "it asks, but does not answer", "ann")
    assert (label(own, "p1"), label(own, "p1", overrides=False)) == (2, 5)
    assert leaderboard(own, "EXAM-Cover@20").scores["x"] == 0.0
    assert leaderboard(own, "EXAM-Cover@20", policy=Policy(overrides=False)).scores["x"] == 0.5
    withdraw_by_key(own, key, "bob")
    assert label(own, "p1") == 5
    assert find_overrides(own) == []
    assert own.rows("SELECT rating, withdrawn_by FROM overrides") == [(0, "bob")]
    with refusal("unknown-override"):
        withdraw_by_key(own, key, "ann")


def test_ungraded_pair_can_be_overridden(own: Project) -> None:
    add_override(own, "q1/b", "p2", 4, "it says so in the last line", "ann")
    assert label(own, "p2") == 4
    assert make_plan(own, SPEC, 1).to_grade == 1


def test_impact_includes_overrides(own: Project) -> None:
    add_override(own, "q1/a", "p1", 0, "no", "ann")
    found = changes(own, "EXAM-Cover", Policy(), {"q1": [A, replace(B, active=False)]})
    assert [(c.passage_id, c.before, c.after) for c in found.labels] == [("p1", 2, 0)]


def test_override_of_reworded_question_is_stale_until_confirmed_or_reverted(own: Project) -> None:
    key = add_override(own, "q1/a", "p1", 0, "no", "ann")
    save_version(own, [replace(A, text="A, exactly?")], "reworded", "ann")
    save_version(own, [A], "back", "ann")
    assert not find_overrides(own)[0].stale
    assert label(own, "p1") == 2
    save_version(own, [replace(A, text="A, exactly?")], "reworded", "ann")
    stale = find_overrides(own)[0]
    assert (stale.stale, stale.wording, stale.wording_now) == (True, "A?", "A, exactly?")
    assert label(own, "p1") == 2
    confirm_override(own, key, "bob")
    assert [(one.stale, one.rating, one.author) for one in find_overrides(own)] == [(False, 0, "bob")]
    save_version(own, [replace(B, active=False)], "only A is left", "ann")
    assert label(own, "p1") == 0


@pytest.mark.parametrize(
    ("question", "passage", "rating", "reason"),
    [("q1/a", "p1", 6, "why"), ("q1/a", "p1", 3, " "), ("q1/z", "p1", 3, "why"), ("q1/a", "p99", 3, "why")],
)
def test_invalid_override_is_refused(own: Project, question: str, passage: str, rating: int, reason: str) -> None:
    with pytest.raises(InputError):
        add_override(own, question, passage, rating, reason, "ann")
    assert find_overrides(own) == []


def test_several_overrides_are_added_all_or_none(own: Project) -> None:
    for ratings, reason in (({}, "why"), ({"q1/a": 0, "q1/z": 0}, "why"), ({"q1/a": 0, "q1/b": 0}, " ")):
        with pytest.raises(InputError):
            override_all(own, "p1", ratings, reason, "ann")
        assert find_overrides(own) == []


def test_overrides_of_several_questions_are_withdrawn_together_or_not(own: Project) -> None:
    add_override(own, "q1/b", "p1", 3, "earlier", "bob")
    keys = override_all(own, "p1", {"q1/a": 0, "q1/b": 0}, "not relevant", "ann")
    assert label(own, "p1") == 0
    assert [one.reason for one in find_overrides(own)] == ["not relevant", "not relevant", "earlier"]
    withdraw_all(own, keys, "ann")
    assert [one.reason for one in find_overrides(own)] == ["earlier"]
    assert label(own, "p1") == 5
    keys = override_all(own, "p1", {"q1/a": 0, "q1/b": 0}, "not relevant", "ann")
    withdraw_by_key(own, keys[1], "bob")
    with refusal("unknown-override"):
        withdraw_all(own, keys, "ann")
    assert [one.key for one in find_overrides(own) if one.author == "ann"] == keys[:1]


def test_list_shows_effect_at_policy_bank_version(project: Project) -> None:
    ratings = {("Old words?", "p1"): 5, ("Old words?", "p2"): 0}
    fill(project, [Question("q1/a", "q1", "Old words?")], ratings, {"s": {"q1": ["p1", "p2"]}})
    add_override(project, "q1/a", "p1", 0, "no", "ann")
    save_version(project, [Question("q1/a", "q1", "New words?")], "reword", "ann")
    add_override(project, "q1/a", "p2", 4, "yes", "ann")
    said = {one.passage_id: (without, now) for one, without, now in override_labels(project, Policy(bank_version=1))}
    assert said == {"p1": (5, 0), "p2": (0, 0)}
    alone = override_labels(project, Policy(bank_version=1, overrides=False))
    assert [(one.passage_id, *found) for one, *found in alone] == [("p2", 0, 0), ("p1", 5, 5)]
    assert {one.passage_id: one.stale for one in find_overrides(project, version=1)} == {"p1": False, "p2": True}


def test_newer_override_hides_older_for_same_wording_and_passage(project: Project) -> None:
    bank = [Question("q1/a", "q1", "Same words?"), Question("q2/a", "q2", "Same words?")]
    fill(project, bank, {("Same words?", "p1"): 5}, {"s": {"q1": ["p1"], "q2": ["p1"]}})
    add_override(project, "q1/a", "p1", 1, "hardly", "ann")
    add_override(project, "q2/a", "p1", 2, "a bit", "bob")
    said = {one.question_id: (without, now) for one, without, now in override_labels(project, Policy())}
    assert said == {"q1/a": (2, 2), "q2/a": (1, 2)}
